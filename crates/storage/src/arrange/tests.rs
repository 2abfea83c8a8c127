use super::{Arrangement, Arranger, Host, ServerFiles, parse_size};
use crate::backing::MemoryFiles;
use crate::variables::{ServerFamily, ServerKind};
use crate::{Place, Placement, StorageError};
use device::{Profile, Role, Setup};
use std::path::{Path, PathBuf};

fn files(family: ServerFamily, version: (u16, u16, u16)) -> ServerFiles {
    ServerFiles {
        binary: PathBuf::from("/x/mysqld"),
        kind: ServerKind { family, version },
        needed_bytes: 1 << 30,
        redo_bytes: 0,
        page_size_bytes: 16 << 10,
        set: Vec::new(),
    }
}

fn mysql_57() -> ServerFiles {
    files(ServerFamily::Mysql, (5, 7, 22))
}

fn mysql_80() -> ServerFiles {
    files(ServerFamily::Mysql, (8, 0, 36))
}

fn host(memory: Option<&Path>) -> Host {
    Host {
        memory_files: memory
            .map(|directory| MemoryFiles {
                directory: directory.to_owned(),
                free_bytes: 8 << 30,
            })
            .into_iter()
            .collect(),
        available_memory_bytes: Some(16 << 30),
        cores: 2,
        tag: "7".to_owned(),
    }
}

fn emulated(name: &str, at: Option<&Path>) -> Place {
    let profile = device::builtin("hdd-15k").unwrap();
    Place::Emulated {
        profile: Box::new(Profile {
            name: name.to_owned(),
            ..profile
        }),
        file: None,
        at: at.map(Path::to_owned),
    }
}

fn arranged(
    places: &[(Role, Place)],
    files: &ServerFiles,
    host: &Host,
) -> Result<(Arrangement, Setup), StorageError> {
    let placement = Placement {
        places: places.iter().cloned().collect(),
        ..Placement::default()
    };
    let mut arranger = Arranger::new(&placement, files, host);
    arranger.place_all()?;
    arranger.add_shim(Path::new("/x/libmydyno_shim.so"))?;
    let arrangement = arranger.arrangement;
    let text = String::from_utf8(arrangement.files[0].1.clone()).unwrap();
    Ok((arrangement, toml::from_str(&text).unwrap()))
}

fn variable<'a>(arrangement: &'a Arrangement, name: &str) -> Option<&'a str> {
    let mut set = arrangement.set.iter();
    set.find(|(n, _)| n == name)
        .map(|(_, value)| value.as_str())
}

#[test]
fn an_emulated_data_device_has_every_role() {
    let memory = tempfile::tempdir().unwrap();
    let base = memory.path().canonicalize().unwrap();
    let host = host(Some(&base));
    let places = [(Role::Data, emulated("slow", None))];
    let (arrangement, setup) = arranged(&places, &mysql_57(), &host).unwrap();
    assert_eq!(arrangement.data_directory, Some(base.join("mydyno-7")));
    assert_eq!(setup.devices.len(), 1);
    assert!(
        Role::ALL
            .iter()
            .all(|role| setup.device_of(*role) == Some(0))
    );
    assert_eq!(arrangement.devices.len(), Role::ALL.len());
    assert_eq!(arrangement.scratch, [base.join("mydyno-7-temp")]);
    assert_eq!(
        setup.doublewrite_in_system_tablespace,
        Some([1 << 20, 3 << 20])
    );
    assert_eq!(setup.cache.bytes, (1 << 30) / 100 * 50);
    assert_eq!(setup.directories.len(), 2);
    assert!(setup.spin);
    assert_eq!(
        variable(&arrangement, "innodb_flush_method"),
        Some("O_DIRECT")
    );
    let names: Vec<_> = arrangement.environment.iter().map(|(n, _)| n).collect();
    assert_eq!(names, ["LD_PRELOAD", "MYDYNO_SHIM_SETUP"]);
}

#[test]
fn without_memory_the_server_keeps_its_own_directory() {
    let places = [(Role::Data, emulated("slow", None))];
    let (arrangement, setup) = arranged(&places, &mysql_57(), &host(None)).unwrap();
    assert_eq!(arrangement.data_directory, None);
    assert!(arrangement.scratch.is_empty());
    assert_eq!(setup.directories, ["data", "tmp"]);
    assert!(arrangement.notes[0].contains("no tmpfs"));
}

#[test]
fn logs_share_a_device_that_data_does_not() {
    let memory = tempfile::tempdir().unwrap();
    let host = host(Some(memory.path()));
    let places = [
        (Role::Data, emulated("a", None)),
        (Role::Redo, emulated("a", None)),
        (Role::Doublewrite, emulated("a", None)),
        (Role::Binlog, emulated("b", None)),
    ];
    let (arrangement, setup) = arranged(&places, &mysql_57(), &host).unwrap();
    let device = |role| setup.device_of(role).unwrap();
    assert_eq!((device(Role::Data), device(Role::Undo)), (0, 0));
    assert_eq!((device(Role::Redo), device(Role::Doublewrite)), (1, 1));
    assert_eq!(device(Role::Binlog), 2);
    assert_ne!(setup.devices[0].seed, setup.devices[1].seed);
    // Told apart by name: no variable, but a binary log has to be there.
    assert_eq!(variable(&arrangement, "innodb_log_group_home_dir"), None);
    assert_eq!(variable(&arrangement, "log_bin"), Some("binlog"));
}

#[test]
fn real_directories_take_variables() {
    let disk = tempfile::tempdir().unwrap();
    let path = disk.path().canonicalize().unwrap();
    let place = || Place::Directory(disk.path().to_owned());
    let roles = [
        Role::Redo,
        Role::Undo,
        Role::Doublewrite,
        Role::Binlog,
        Role::Temp,
    ];
    let places = roles.map(|role| (role, place()));
    let (arrangement, setup) = arranged(&places, &mysql_80(), &host(None)).unwrap();
    assert_eq!(arrangement.data_directory, None);
    assert_eq!(arrangement.scratch.len(), 5);
    let redo = path.join("mydyno-7-redo");
    assert_eq!(
        variable(&arrangement, "innodb_log_group_home_dir"),
        redo.to_str()
    );
    assert!(variable(&arrangement, "innodb_undo_directory").is_some());
    assert!(variable(&arrangement, "innodb_doublewrite_dir").is_some());
    assert!(setup.roles.is_empty() && setup.devices.is_empty());
    assert_eq!(setup.doublewrite_in_system_tablespace, None);
    assert_eq!(setup.directories.len(), 6);
    assert!(arrangement.scratch.iter().all(|d| !d.exists()));
}

#[test]
fn what_cannot_be_placed_says_so() {
    let disk = tempfile::tempdir().unwrap();
    let place = || Place::Directory(disk.path().to_owned());
    let on = |role| arranged(&[(role, place())], &mysql_57(), &host(None));
    let error = on(Role::Doublewrite).unwrap_err();
    assert!(matches!(
        error,
        StorageError::NotPlaceable {
            role: "doublewrite",
            ..
        }
    ));
    let (arrangement, _) = on(Role::Undo).unwrap();
    assert!(arrangement.notes[0].contains("undo stays"));

    let mut files = mysql_57();
    files.set = vec![("loose-innodb-log-group-home-dir".into(), "/y".into())];
    let error = arranged(&[(Role::Redo, place())], &files, &host(None)).unwrap_err();
    assert!(error.to_string().contains("--redo"), "{error}");

    files.needed_bytes = u64::MAX;
    let error = arranged(&[(Role::Data, place())], &files, &host(None)).unwrap_err();
    assert!(matches!(error, StorageError::Disk { .. }));
    for path in ["/nonexistent/x", "/etc/passwd"] {
        let places = [(Role::Redo, Place::Directory(PathBuf::from(path)))];
        let error = arranged(&places, &mysql_57(), &host(None)).unwrap_err();
        assert!(
            matches!(error, StorageError::BadDirectory { .. }),
            "{error}"
        );
    }
}

#[test]
fn an_emulated_log_beside_real_data_is_in_memory() {
    let memory = tempfile::tempdir().unwrap();
    let host = host(Some(memory.path()));
    let places = [
        (Role::Redo, emulated("slow", None)),
        (Role::Doublewrite, emulated("slow", None)),
    ];
    let (arrangement, setup) = arranged(&places, &mysql_57(), &host).unwrap();
    assert_eq!(arrangement.scratch, [memory.path().join("mydyno-7-redo")]);
    assert_eq!(setup.device_of(Role::Data), None);
    assert_eq!(setup.device_of(Role::Doublewrite), Some(0));
    assert!(
        arrangement
            .notes
            .iter()
            .any(|n| n.contains("where data is"))
    );
}

#[test]
fn sizes() {
    assert_eq!(parse_size("3G"), Some(3 << 30));
    assert_eq!(parse_size(" 128m"), Some(128 << 20));
    assert_eq!(parse_size("77"), Some(77));
    assert_eq!(parse_size("x"), None);
    assert_eq!(parse_size(""), None);
}
