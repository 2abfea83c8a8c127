use super::{Arrangement, Arranger, HostFacts, ServerFiles};
use crate::backing::MemoryFiles;
use crate::instance_group::InstanceGroup;
use crate::{StorageError, StorageResult};
use base::{DilatedClock, Dilation, ServerFamily, ServerRelease};
use device::{Profile, Role, Setup};
use spec::{DatabaseBytes, Place, Placement, Used, UsedShare};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn files(family: ServerFamily, version: (u16, u16, u16)) -> ServerFiles {
    ServerFiles {
        binary: PathBuf::from("/x/mysqld"),
        release: ServerRelease { family, version },
        needed_bytes: 1 << 30,
        redo_bytes: 0,
        page_size_bytes: 16 << 10,
        set: Vec::new(),
        is_named: false,
        group: InstanceGroup::of_one(),
        dilation: Dilation::NONE,
        cores: None,
        papers_bytes: 0,
    }
}

fn mysql_57() -> ServerFiles {
    files(ServerFamily::Mysql, (5, 7, 22))
}

fn mysql_80() -> ServerFiles {
    files(ServerFamily::Mysql, (8, 0, 36))
}

fn host(memory: Option<&Path>) -> HostFacts {
    HostFacts {
        memory_files: memory
            .map(|directory| MemoryFiles { directory: directory.to_owned(), free_bytes: 8 << 30 })
            .into_iter()
            .collect(),
        available_memory_bytes: Some(16 << 30),
        cores: 2,
        clock: DilatedClock { dilation: Dilation::NONE, origin_ns: 0 },
    }
}

fn emulated(name: &str, at: Option<&Path>) -> Place {
    let profile = device::builtin("hdd-15k").unwrap();
    Place::Emulated {
        profile: Box::new(Profile { name: name.to_owned(), ..profile }),
        file: None,
        at: at.map(Path::to_owned),
    }
}

fn arranged(
    places: &[(Role, Place)],
    files: &ServerFiles,
    host: &HostFacts,
) -> StorageResult<(Arrangement, Setup)> {
    arranged_as(0, places, files, host)
}

fn arranged_as(
    number: u32,
    places: &[(Role, Place)],
    files: &ServerFiles,
    host: &HostFacts,
) -> StorageResult<(Arrangement, Setup)> {
    let placement = Placement { places: places.iter().cloned().collect(), ..Placement::default() };
    let mut arranger = Arranger::new(&placement, files, host);
    arranger.tag = "7".to_owned();
    arranger.place_all()?;
    arranger.add_shim(number)?;
    let arrangement = arranger.arrangement;
    let text = String::from_utf8(arrangement.files[0].1.clone()).unwrap();
    Ok((arrangement, toml::from_str(&text).unwrap()))
}

fn variable<'a>(arrangement: &'a Arrangement, name: &str) -> Option<&'a str> {
    let mut set = arrangement.set.iter();
    set.find(|(n, _)| n == name).map(|(_, value)| value.as_str())
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
    assert!(Role::ALL.iter().all(|role| setup.device_of(*role) == Some(0)));
    assert_eq!(arrangement.devices.len(), Role::ALL.len());
    assert_eq!(arrangement.scratch, [base.join("mydyno-7-temp")]);
    assert_eq!(setup.doublewrite_in_system_tablespace, Some([1 << 20, 3 << 20]));
    assert_eq!(setup.cache.bytes, (1 << 30) / 100 * 50);
    assert_eq!(setup.directories.len(), 2);
    assert!(setup.spin);
    assert_eq!(variable(&arrangement, "innodb_flush_method"), Some("O_DIRECT"));
    assert!(arrangement.devices.iter().all(|device| device.emulated));
}

#[test]
fn a_server_with_one_core_has_none_to_spin_on() {
    let of = |cores| HostFacts::now(&ServerFiles { cores, ..mysql_57() }).cores;
    assert_eq!((of(Some(1)), of(Some(3)), of(None)), (1, 3, super::cores()));
    let places = [(Role::Data, emulated("slow", None))];
    let one = HostFacts { cores: of(Some(1)), ..host(None) };
    let (_, setup) = arranged(&places, &mysql_57(), &one).unwrap();
    assert!(!setup.spin);
}

#[test]
fn nothing_asked_is_nothing_told() {
    let nothing = super::arrange(&Placement::default(), &mysql_57()).unwrap();
    assert!(nothing.devices.is_empty() && nothing.files.is_empty());
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
    let roles = [Role::Redo, Role::Undo, Role::Doublewrite, Role::Binlog, Role::Temp];
    let places = roles.map(|role| (role, place()));
    let (arrangement, setup) = arranged(&places, &mysql_80(), &host(None)).unwrap();
    assert_eq!(arrangement.data_directory, None);
    assert_eq!(arrangement.scratch.len(), 5);
    let redo = path.join("mydyno-7-redo");
    assert_eq!(variable(&arrangement, "innodb_log_group_home_dir"), redo.to_str());
    assert!(variable(&arrangement, "innodb_undo_directory").is_some());
    assert!(variable(&arrangement, "innodb_doublewrite_dir").is_some());
    assert!(setup.roles.is_empty() && setup.devices.is_empty());
    assert_eq!(setup.doublewrite_in_system_tablespace, None);
    assert_eq!(setup.directories.len(), 6);
    assert!(arrangement.scratch.iter().all(|d| !d.exists()));
}

/// Another role with a directory of its own leaves temporary files where they would be without it.
#[test]
fn temporary_files_follow_data_or_their_place() {
    let disk = tempfile::tempdir().unwrap();
    let base = disk.path().canonicalize().unwrap();
    let place = |name: &str| {
        let path = base.join(name);
        std::fs::create_dir_all(&path).unwrap();
        Place::Directory(path)
    };
    let of = |places: &[(Role, Place)]| {
        let (arrangement, _) = arranged(places, &mysql_80(), &host(None)).unwrap();
        variable(&arrangement, "tmpdir").map(PathBuf::from)
    };
    let places = [(Role::Data, place("data")), (Role::Redo, place("log"))];
    assert_eq!(of(&places), Some(base.join("data/mydyno-7-temp")));
    let with_temp = [&places[..], &[(Role::Temp, place("temp"))]].concat();
    assert_eq!(of(&with_temp), Some(base.join("temp/mydyno-7-temp")));
    assert_eq!(of(&places[1..]), None);
}

#[test]
fn what_cannot_be_placed_says_so() {
    let disk = tempfile::tempdir().unwrap();
    let place = || Place::Directory(disk.path().to_owned());
    let on = |role| arranged(&[(role, place())], &mysql_57(), &host(None));
    let error = on(Role::Doublewrite).unwrap_err();
    assert!(matches!(error, StorageError::NotPlaceable { role: "doublewrite", .. }));
    let (arrangement, _) = on(Role::Undo).unwrap();
    assert!(arrangement.notes[0].contains("undo stays"));
    // It is where data is, whatever was asked for.
    let places = [(Role::Undo, emulated("slow", None))];
    let (arrangement, setup) = arranged(&places, &mysql_57(), &host(None)).unwrap();
    assert!(arrangement.devices.iter().all(|device| !device.emulated));
    assert_eq!(setup.device_of(Role::Undo), None);

    let mut files = mysql_57();
    files.set = vec![("loose-innodb-log-group-home-dir".into(), "/y".into())];
    let error = arranged(&[(Role::Redo, place())], &files, &host(None)).unwrap_err();
    assert!(error.to_string().contains("--redo"), "{error}");

    files.needed_bytes = u64::MAX;
    let error = arranged(&[(Role::Data, place())], &files, &host(None)).unwrap_err();
    assert!(matches!(error, StorageError::Disk { .. }));
    let mut files = mysql_57();
    files.redo_bytes = u64::MAX;
    let error = arranged(&[(Role::Redo, place())], &files, &host(None)).unwrap_err();
    let words = error.to_string();
    assert!(words.contains("files of redo need"), "{words}");
    for path in ["/nonexistent/x", "/etc/passwd"] {
        let places = [(Role::Redo, Place::Directory(PathBuf::from(path)))];
        let error = arranged(&places, &mysql_57(), &host(None)).unwrap_err();
        assert!(matches!(error, StorageError::BadDirectory { .. }), "{error}");
    }
}

#[test]
fn an_emulated_log_beside_real_data_is_in_memory() {
    let memory = tempfile::tempdir().unwrap();
    let host = host(Some(memory.path()));
    let places =
        [(Role::Redo, emulated("slow", None)), (Role::Doublewrite, emulated("slow", None))];
    let (arrangement, setup) = arranged(&places, &mysql_57(), &host).unwrap();
    assert_eq!(arrangement.scratch, [memory.path().join("mydyno-7-redo")]);
    assert_eq!(setup.device_of(Role::Data), None);
    assert_eq!(setup.device_of(Role::Doublewrite), Some(0));
    assert!(arrangement.notes.iter().any(|n| n.contains("where data is")));
}

#[test]
fn a_log_in_memory_needs_room_for_itself_only() {
    let memory = tempfile::tempdir().unwrap();
    let host = host(Some(memory.path()));
    let mut files = mysql_57();
    // More than the host's memory, but not of the log.
    (files.needed_bytes, files.redo_bytes) = (100 << 30, 1 << 30);
    let redo = |name| (Role::Redo, emulated(name, None));
    let (arrangement, _) = arranged(&[redo("slow")], &files, &host).unwrap();
    assert_eq!(arrangement.scratch.len(), 1);
    // Five gigabytes and half of one more, and what they may grow by, are more than the eight that
    // there are.
    files.redo_bytes = 5 << 30;
    let places = [redo("slow"), (Role::Binlog, emulated("slow", None))];
    let (arrangement, _) = arranged(&places, &files, &host).unwrap();
    assert_eq!(arrangement.scratch.len(), 1);
}

#[test]
fn a_named_server_may_have_its_data_directory_made() {
    let disk = tempfile::tempdir().unwrap();
    let base = disk.path().canonicalize().unwrap();
    let place = |path: &Path| [(Role::Data, Place::Directory(path.to_owned()))];
    let mut files = mysql_57();
    let path = base.join("new");
    let error = arranged(&place(&path), &files, &host(None)).unwrap_err();
    assert!(matches!(error, StorageError::BadDirectory { .. }));
    files.is_named = true;
    let (arrangement, setup) = arranged(&place(&path), &files, &host(None)).unwrap();
    assert_eq!(arrangement.data_directory.as_deref(), Some(&*path));
    assert_eq!(setup.directories[0], path.to_str().unwrap());
    let error = arranged(&place(&path.join("x")), &files, &host(None)).unwrap_err();
    assert!(matches!(error, StorageError::BadDirectory { .. }));
    // In one that is there, one is made.
    let (arrangement, _) = arranged(&place(&base), &files, &host(None)).unwrap();
    assert_eq!(arrangement.data_directory, Some(base.join("mydyno-7")));
}

#[test]
fn files_outside_of_their_device_are_refused() {
    let data = (Role::Data, emulated("slow", None));
    let at = |places: &[(Role, Place)], name: &str, value: &str| {
        let mut files = mysql_80();
        files.set = vec![(name.to_owned(), value.to_owned())];
        arranged(places, &files, &host(None)).map(|_| ())
    };
    for (name, flag) in [
        ("innodb-log-group-home-dir", "--redo"),
        ("innodb_undo_directory", "--undo"),
        ("innodb_data_home_dir", "--data"),
        ("log_bin", "--binlog"),
        ("tmpdir", "--temp"),
        ("innodb_temp_data_file_path", "--temp"),
    ] {
        let error = at(std::slice::from_ref(&data), name, "/mnt/ssd/x").unwrap_err();
        assert!(error.to_string().contains(flag), "{error}");
    }
    // On a device of its own, but in the data directory.
    let redo = (Role::Redo, emulated("fast", None));
    let both = [data.clone(), redo.clone()];
    assert!(at(&both, "innodb_log_group_home_dir", "/mnt/ssd").is_err());
    for (name, value) in
        [("log_bin", "binlog"), ("innodb_undo_directory", "./"), ("innodb_log_file_size", "1G")]
    {
        at(&both, name, value).unwrap();
    }
    // Data is where the server has it, and nothing is said of the rest.
    at(&[redo], "tmpdir", "/tmp").unwrap();
}

#[test]
fn servers_together_share_devices_and_divide_the_page_cache() {
    let memory = tempfile::tempdir().unwrap();
    let of = |number, count| {
        let mut server = mysql_57();
        server.group = InstanceGroup { count, memory: (count > 1).then(|| "m".to_owned()) };
        let data = (Role::Data, emulated("d", None));
        arranged_as(number, &[data], &server, &host(Some(memory.path()))).unwrap()
    };
    let (_, alone) = of(0, 1);
    let (_, second) = of(1, 2);
    assert_eq!(alone.sharing, None);
    assert_eq!(second.sharing.unwrap().process, 1);
    assert_eq!(second.cache.bytes, alone.cache.bytes / 2);
    assert_eq!(second.devices, alone.devices);
    // 1 GiB and its growth fit into 8 GiB of memory files five times: all servers are there, or
    // none.
    for (count, is_in_memory) in [(5, true), (6, false)] {
        for number in 0..count {
            let (arrangement, _) = of(number, count);
            assert_eq!(arrangement.data_directory.is_some(), is_in_memory);
        }
    }
}

#[test]
fn servers_together_have_directories_of_their_own() {
    let base = tempfile::tempdir().unwrap();
    let mut server = mysql_57();
    server.needed_bytes = 0;
    server.group = InstanceGroup { count: 3, memory: None };
    let place = Place::Directory(base.path().to_owned());
    let placement = Placement { places: [(Role::Data, place)].into(), ..Placement::default() };
    let all = super::arrange_all(&placement, &server).unwrap();
    let directories: BTreeSet<_> = all.iter().map(|one| &one.data_directory).collect();
    assert_eq!((all.len(), directories.len()), (3, 3));
}

#[test]
fn a_device_has_room_for_the_database_where_it_is_used() {
    let used = |share| {
        let share = Used { share, is_fresh: false };
        let places = [(Role::Data, emulated("slow", None))].into();
        let placement = Placement { places, used: Some(share), ..Placement::default() };
        let database = DatabaseBytes { own: 6_000_000_000, papers: 60_000_000_000 };
        let placement = placement.occupied(database);
        let memory = tempfile::tempdir().unwrap();
        let host = host(Some(memory.path()));
        let places: Vec<_> = placement.places.into_iter().collect();
        arranged(&places, &mysql_57(), &host).map(|(_, setup)| setup.devices[0].profile.occupancy)
    };
    assert_eq!(used(UsedShare::Of(0.05)).unwrap(), Some(0.05));
    // Of 600 GB.
    assert_eq!(used(UsedShare::Auto).unwrap(), Some(0.1));
    let error = used(UsedShare::Of(0.001)).unwrap_err().to_string();
    assert!(error.contains("and slow has 572 MiB for them") && error.contains("--used"), "{error}");
}
