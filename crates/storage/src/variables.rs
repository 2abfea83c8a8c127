//! Which server variables put the files of a role into a directory of their own, on which server.

use crate::error::{StorageError, StorageResult};
use base::{ServerFamily, ServerRelease, Since, given_in, value_of};
use device::Role;
use std::path::Path;

/// An extent of InnoDB, from which its doublewrite buffer in the system tablespace is taken, has at
/// least so many bytes and pages.
const EXTENT_BYTES_MIN: u64 = 1 << 20;
const EXTENT_PAGES_MIN: u64 = 64;
/// The temporary tablespace as servers have it by default.
const TEMP_TABLESPACE: &str = "ibtmp1:12M:autoextend";
/// More levels than any path has; one too many stays at the root.
const LEVELS_TO_ROOT: usize = 32;

/// Files of its own for the doublewrite buffer, and nothing of it in the system tablespace.
const DOUBLEWRITE_FILES: Since = Since::mysql((8, 0, 20));
/// In Percona Server, until it has [`DOUBLEWRITE_FILES`].
const PARALLEL_DOUBLEWRITE: Since = Since::mysql((5, 7, 11));
/// Undo in tablespaces of its own, where nothing else is said.
const UNDO_TABLESPACES: Since = Since::mysql((8, 0, 0)).or_mariadb((11, 0, 0));
/// Two of them, whatever is said.
const UNDO_TABLESPACES_ALWAYS: Since = Since::mysql((8, 0, 14));
/// A tablespace for temporary tables.
const TEMP_TABLESPACE_FILE: Since = Since::mysql((5, 7, 0)).or_mariadb((10, 2, 2));
/// Another for each session.
const SESSION_TEMP_TABLESPACES: Since = Since::mysql((8, 0, 13));

/// Undo in tablespaces of its own, where `innodb_undo_tablespaces` is `asked`.
pub(crate) fn has_undo_tablespaces(release: ServerRelease, asked: Option<&str>) -> bool {
    match asked.and_then(|count| count.trim().parse::<u32>().ok()) {
        Some(count) if !release.has(UNDO_TABLESPACES_ALWAYS) => count > 0,
        _ => release.has(UNDO_TABLESPACES),
    }
}

/// Bytes of the system tablespace that are the doublewrite buffer: the second and the third extent
/// of it.
pub(crate) fn doublewrite_in_system_tablespace(
    release: ServerRelease,
    page_size_bytes: u32,
) -> Option<[u64; 2]> {
    let extent_bytes = EXTENT_BYTES_MIN.max(u64::from(page_size_bytes) * EXTENT_PAGES_MIN);
    (!release.has(DOUBLEWRITE_FILES)).then_some([extent_bytes, 3 * extent_bytes])
}

/// The variables that put a role's files into `directory`.
pub(crate) fn variables_of(
    release: ServerRelease,
    role: Role,
    directory: &Path,
) -> StorageResult<Vec<(&'static str, String)>> {
    let is_percona = release.family == ServerFamily::Percona;
    let refuse = |why| Err(StorageError::NotPlaceable { role: role.name(), why });
    let path = directory.display().to_string();
    Ok(match role {
        Role::Data => Vec::new(),
        Role::Redo => vec![("innodb_log_group_home_dir", path)],
        Role::Undo => vec![("innodb_undo_directory", path)],
        Role::Doublewrite if release.has(DOUBLEWRITE_FILES) => {
            vec![("innodb_doublewrite_dir", path)]
        }
        Role::Doublewrite if is_percona && release.has(PARALLEL_DOUBLEWRITE) => {
            vec![("innodb_parallel_doublewrite_path", format!("{path}/xb_doublewrite"))]
        }
        Role::Doublewrite => {
            return refuse(
                "its doublewrite buffer is in the system tablespace, which is data; MySQL 8.0.20 \
                 and Percona Server 5.7.11 are the first with files for it. An emulated device can \
                 have it: name a profile without a directory"
                    .to_owned(),
            );
        }
        Role::Binlog => vec![("log_bin", format!("{path}/binlog"))],
        Role::Temp if release.has(TEMP_TABLESPACE_FILE) && path.contains([':', ';']) => {
            return refuse(format!(
                "innodb_temp_data_file_path cannot hold {path}, which has a colon or a semicolon \
                 in it"
            ));
        }
        Role::Temp => temp_variables(release, path),
    })
}

fn temp_variables(release: ServerRelease, path: String) -> Vec<(&'static str, String)> {
    let mut variables = vec![("tmpdir", path.clone())];
    if release.has(TEMP_TABLESPACE_FILE) {
        // InnoDB reads it from the data directory on, whatever it begins with: up to the root, and
        // down.
        let to_root = "../".repeat(LEVELS_TO_ROOT);
        let from_root = path.trim_start_matches('/');
        let file = format!("{to_root}{from_root}/{TEMP_TABLESPACE}");
        variables.push(("innodb_temp_data_file_path", file));
    }
    if release.has(SESSION_TEMP_TABLESPACES) {
        variables.push(("innodb_temp_tablespaces_dir", path));
    }
    variables
}

/// Variables that can put files of a role elsewhere than into the data directory.
const PATHS: [(Role, &str); 12] = [
    (Role::Data, "innodb_data_home_dir"),
    (Role::Data, "innodb_data_file_path"),
    (Role::Redo, "innodb_log_group_home_dir"),
    (Role::Undo, "innodb_undo_directory"),
    (Role::Doublewrite, "innodb_doublewrite_dir"),
    (Role::Doublewrite, "innodb_doublewrite_file"),
    (Role::Doublewrite, "innodb_parallel_doublewrite_path"),
    (Role::Binlog, "log_bin"),
    (Role::Temp, "tmpdir"),
    (Role::Temp, "innodb_tmpdir"),
    (Role::Temp, "innodb_temp_data_file_path"),
    (Role::Temp, "innodb_temp_tablespaces_dir"),
];

/// Refuses variables of the user's that put files outside of where data is placed: results would
/// name the device of their role for them. Those that places have `arranged` are replaced by them.
///
/// # Errors
/// [`StorageError::Outside`] names the place to use.
pub fn require_inside(
    data_is_placed: bool,
    set: &[(String, String)],
    arranged: &[(String, String)],
) -> StorageResult<()> {
    let leaves = |value: &str| {
        let value = value.trim();
        let value = value.strip_prefix("./").unwrap_or(value);
        value.contains('/') || value == ".."
    };
    let is_outside = |(_, name): &(Role, &str)| {
        value_of(arranged, name).is_none() && given_in(set, name).is_some_and(leaves)
    };
    match PATHS.into_iter().find(is_outside).filter(|_| data_is_placed) {
        Some((role, variable)) => Err(StorageError::Outside { role: role.name(), variable }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::{doublewrite_in_system_tablespace, has_undo_tablespaces, variables_of};
    use base::{ServerFamily, ServerRelease};
    use device::Role;
    use std::path::Path;

    fn server(family: ServerFamily, version: (u16, u16, u16)) -> ServerRelease {
        ServerRelease { family, version }
    }

    fn names(server: ServerRelease, role: Role) -> Option<Vec<&'static str>> {
        let variables = variables_of(server, role, Path::new("/mnt/x")).ok()?;
        Some(variables.into_iter().map(|(name, _)| name).collect())
    }

    #[test]
    fn doublewrite_by_server() {
        use ServerFamily::{MariaDb, Mysql, Percona};
        for (family, version, variable, buffer) in [
            (Mysql, (5, 7, 22), None, true),
            (Mysql, (8, 0, 19), None, true),
            (Mysql, (8, 0, 20), Some("innodb_doublewrite_dir"), false),
            (Percona, (5, 7, 11), Some("innodb_parallel_doublewrite_path"), true),
            (Percona, (8, 4, 0), Some("innodb_doublewrite_dir"), false),
            (MariaDb, (10, 11, 19), None, true),
        ] {
            let server = server(family, version);
            assert_eq!(names(server, Role::Doublewrite), variable.map(|name| vec![name]));
            let bytes = doublewrite_in_system_tablespace(server, 16 << 10);
            assert_eq!(bytes, buffer.then_some([1 << 20, 3 << 20]));
        }
        let old = server(Mysql, (5, 7, 22));
        let at = |page: u32| doublewrite_in_system_tablespace(old, page).unwrap();
        assert_eq!(at(4 << 10), [1 << 20, 3 << 20]);
        // Pages 64 to 192.
        assert_eq!(at(64 << 10), [4 << 20, 12 << 20]);
    }

    #[test]
    fn undo_by_server() {
        use ServerFamily::{MariaDb, Mysql};
        for (family, version, asked, has) in [
            (Mysql, (5, 7, 22), None, false),
            (Mysql, (5, 7, 22), Some("3"), true),
            (Mysql, (8, 0, 15), None, true),
            (Mysql, (8, 0, 15), Some("0"), true),
            (MariaDb, (10, 11, 19), None, false),
            (MariaDb, (11, 4, 2), None, true),
            (MariaDb, (11, 4, 2), Some("0"), false),
        ] {
            assert_eq!(has_undo_tablespaces(server(family, version), asked), has);
        }
    }

    #[test]
    fn temp_by_server() {
        use ServerFamily::{MariaDb, Mysql};
        let of = |family, version| names(server(family, version), Role::Temp).unwrap();
        assert_eq!(of(MariaDb, (10, 1, 13)), ["tmpdir"]);
        assert_eq!(of(Mysql, (5, 7, 22)).len(), 2);
        assert_eq!(of(Mysql, (8, 0, 15)).len(), 3);
        let new = server(Mysql, (8, 0, 15));
        assert!(variables_of(new, Role::Temp, Path::new("/mnt/a:b")).is_err());
        let all = variables_of(new, Role::Temp, Path::new("/mnt/x")).unwrap();
        assert!(all[1].1.ends_with("../mnt/x/ibtmp1:12M:autoextend"));
    }
}
