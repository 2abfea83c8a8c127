//! What a file is for, by its name.

use device::Role;

/// The role of a file, by its path below the directory that is watched.
pub(crate) fn role_of(relative: &[u8]) -> Role {
    let mut parts = relative.rsplit(|byte| *byte == b'/');
    let name = parts.next().unwrap_or_default();
    let is_in = |directory: &[u8]| parts.clone().any(|part| part == directory);
    if is_in(b"#innodb_redo") || name.starts_with(b"ib_logfile") {
        return Role::Redo;
    }
    if name.ends_with(b".dblwr") || name.starts_with(b"xb_doublewrite") {
        return Role::Doublewrite;
    }
    if is_in(b"#innodb_temp")
        || name.starts_with(b"ibtmp")
        || name.starts_with(b"#")
        || name.ends_with(b" (deleted)")
    {
        return Role::Temp;
    }
    let is_undo = name.strip_prefix(b"undo").is_some_and(|rest| {
        rest.first().is_some_and(|byte| *byte == b'_' || byte.is_ascii_digit())
    });
    if is_undo || name.ends_with(b".ibu") {
        return Role::Undo;
    }
    if is_binlog(name) {
        return Role::Binlog;
    }
    Role::Data
}

/// The role of the files in a directory of the data directory, by its path below that.
pub(crate) fn role_in(relative: &[u8]) -> Role {
    let mut parts = relative.split(|byte| *byte == b'/');
    match parts.find(|part| part.first() == Some(&b'#')) {
        Some(b"#innodb_redo") => Role::Redo,
        Some(b"#innodb_temp") => Role::Temp,
        _ => Role::Data,
    }
}

/// The role that has a directory of its own, by the directory's name: `mydyno-...-redo`. Others
/// have temporary files.
pub(crate) fn role_of_directory(path: &[u8]) -> Role {
    let name = path.rsplit(|byte| *byte == b'-').next().unwrap_or_default();
    Role::ALL.into_iter().find(|role| role.name().as_bytes() == name).unwrap_or(Role::Temp)
}

/// `binlog.000001`, `host-bin.000001` and the index beside them.
fn is_binlog(name: &[u8]) -> bool {
    let Some(dot) = name.iter().rposition(|byte| *byte == b'.') else {
        return false;
    };
    let (stem, suffix) = name.split_at(dot);
    let suffix = suffix.get(1..).unwrap_or_default();
    let is_number = suffix.len() >= 6 && suffix.iter().all(u8::is_ascii_digit);
    stem.windows(3).any(|part| part == b"bin") && (is_number || suffix == b"index")
}

/// The system tablespace, in which some servers keep the doublewrite buffer.
pub(crate) fn is_system_tablespace(relative: &[u8]) -> bool {
    relative == b"ibdata1" || relative.ends_with(b"/ibdata1")
}

/// The log of the transaction coordinator: the server writes it through a mapping of its own and
/// does not start without. A page per transaction coordinated, so nothing that storage would feel.
pub(crate) fn may_be_mapped(relative: &[u8]) -> bool {
    relative == b"tc.log" || relative.ends_with(b"/tc.log")
}

/// Which file it is, in every run: a hash (FNV-1a) of its path below the watched directory. Never
/// 0, 1 or 2, which mark places without a name.
pub(crate) fn identity_of(relative: &[u8]) -> u64 {
    let hash = relative.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3_u64)
    });
    hash.max(3)
}

#[cfg(test)]
mod tests {
    use super::{identity_of, role_in, role_of, role_of_directory};
    use device::Role;

    #[test]
    fn names_tell_roles() {
        let roles = [
            ("ib_logfile0", Role::Redo),
            ("ib_logfile101", Role::Redo),
            ("#innodb_redo/#ib_redo7_tmp", Role::Redo),
            ("#ib_16384_0.dblwr", Role::Doublewrite),
            ("xb_doublewrite", Role::Doublewrite),
            ("undo_001", Role::Undo),
            ("undo001", Role::Undo),
            ("more.ibu", Role::Undo),
            ("tpcc/undoing.ibd", Role::Data),
            ("ibtmp1", Role::Temp),
            ("#innodb_temp/temp_1.ibt", Role::Temp),
            ("tpcc/#sql-1a2b_3.ibd", Role::Temp),
            ("ibXyZ123 (deleted)", Role::Temp),
            ("binlog.000001", Role::Binlog),
            ("host-bin.1000001", Role::Binlog),
            ("mysql-bin.index", Role::Binlog),
            ("bin.ibd", Role::Data),
            ("ibdata1", Role::Data),
            ("tpcc/stock.ibd", Role::Data),
            ("", Role::Data),
        ];
        for (name, role) in roles {
            assert_eq!(role_of(name.as_bytes()), role, "{name}");
        }
    }

    #[test]
    fn directories_have_the_role_of_their_files() {
        let roles = [
            ("", Role::Data),
            ("/tpcc", Role::Data),
            ("/#innodb_redo", Role::Redo),
            ("/#innodb_temp", Role::Temp),
        ];
        for (name, role) in roles {
            assert_eq!(role_in(name.as_bytes()), role, "{name}");
        }
        assert_eq!(role_of_directory(b"/dev/shm/mydyno-0123-redo"), Role::Redo);
        assert_eq!(role_of_directory(b"/dev/shm/mydyno-0123-binlog"), Role::Binlog);
        assert_eq!(role_of_directory(b"/dev/shm/mydyno-0123-temp"), Role::Temp);
        assert_eq!(role_of_directory(b"/srv/tmp"), Role::Temp);
    }

    #[test]
    fn identities_differ() {
        assert_ne!(identity_of(b"a"), identity_of(b"b"));
        assert!(identity_of(b"") > 2);
    }
}
