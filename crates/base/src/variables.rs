//! Server variables by name, as servers read names.

/// Dashes are underscores and case does not matter.
pub fn variable_name(text: &str) -> String {
    text.trim().to_ascii_lowercase().replace('-', "_")
}

/// The value that `set` gives a variable, which may be written with `loose_`; the last one counts.
pub fn given_in<'a>(set: &'a [(String, String)], name: &str) -> Option<&'a str> {
    let mut all = set.iter().rev();
    let found = all.find(|(given, _)| variable_name(given).trim_start_matches("loose_") == name);
    found.map(|(_, value)| value.as_str())
}

/// Bytes of a server's redo log, by its variables and its status; `None` where it does not say.
pub fn redo_log_bytes(
    variable: impl Fn(&str) -> Option<f64>,
    status: impl Fn(&str) -> Option<f64>,
) -> Option<f64> {
    if let Some(capacity) = variable("innodb_redo_log_capacity") {
        // The variable does not tell of a size that the older variables gave.
        return status("Innodb_redo_log_capacity_resized").or(Some(capacity));
    }
    // MariaDB has one file since 10.5.
    let files = variable("innodb_log_files_in_group").unwrap_or(1.0);
    Some(variable("innodb_log_file_size")? * files)
}

/// Is the value of this variable, or key of an option file, a password?
pub fn is_secret(name: &str) -> bool {
    let name = variable_name(name.trim_matches(['"', '\'']));
    !name.contains(char::is_whitespace)
        && !name.starts_with("__")
        && (name == "password" || name.ends_with("_password") || name == "wsrep_sst_auth")
        // Which says what a server does with those of others.
        && name != "disconnect_on_expired_password"
}

#[cfg(test)]
mod tests {
    use super::{given_in, is_secret, redo_log_bytes};

    #[test]
    fn passwords_are_known_by_their_names() {
        for name in ["password", "Master-Password", "\"report_password\"", "wsrep_sst_auth"] {
            assert!(is_secret(name), "{name}");
        }
        for name in ["default_password_lifetime", "disconnect_on_expired_password", "a password"] {
            assert!(!is_secret(name), "{name}");
        }
    }

    #[test]
    fn redo_as_servers_name_it() {
        let bytes = |variables: &[(&str, f64)], status: &[(&str, f64)]| {
            let of = |all: &[(&str, f64)], name: &str| {
                all.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
            };
            redo_log_bytes(|name| of(variables, name), |name| of(status, name))
        };
        let files = [("innodb_log_file_size", 50_331_648.0), ("innodb_log_files_in_group", 2.0)];
        assert_eq!(bytes(&files, &[]), Some(100_663_296.0));
        assert_eq!(bytes(&files[..1], &[]), Some(50_331_648.0));
        let capacity = ("innodb_redo_log_capacity", 104_857_600.0);
        let newer = [files[0], files[1], capacity];
        assert_eq!(bytes(&newer, &[]), Some(104_857_600.0));
        // What is in use, where the older variables gave another size.
        let resized = ("Innodb_redo_log_capacity_resized", 201_326_592.0);
        assert_eq!(bytes(&newer, &[resized]), Some(201_326_592.0));
        assert_eq!(bytes(&[], &[resized]), None);
    }

    #[test]
    fn names_as_servers_read_them_and_the_last_counts() {
        let set = [
            ("innodb_page_size", "4K"),
            (" Loose-InnoDB-Page-Size", "8K"),
            ("innodb_page_size_x", "1"),
        ];
        let set = set.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(given_in(&set, "innodb_page_size"), Some("8K"));
        assert_eq!(given_in(&set, "innodb_page"), None);
    }
}
