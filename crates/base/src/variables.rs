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
    use super::{given_in, is_secret};

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
