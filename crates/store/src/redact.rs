//! Passwords never reach the file, whatever the caller passes on.

/// `text` without the passwords of URLs (`scheme://user:password@host`), of `--password=...`, `--password ...`
/// and of option-file lines `password = ...`.
#[must_use]
pub fn redact(text: &str) -> String {
    text.split_inclusive('\n').map(redact_line).collect()
}

/// What stands for a password.
pub(crate) const HIDDEN: &str = "***";

fn redact_line(line: &str) -> String {
    let trimmed = line.trim_start();
    if let Some((key, _)) = trimmed.split_once('=')
        && is_password_key(key.trim())
    {
        let end = if line.ends_with('\n') { "\n" } else { "" };
        return format!("{}= {HIDDEN}{end}", &line[..line.find('=').unwrap_or(0)]);
    }
    let mut result = String::with_capacity(line.len());
    let mut hide_next = false;
    for word in line.split_inclusive(char::is_whitespace) {
        let body = word.trim_end_matches(char::is_whitespace);
        let space = &word[body.len()..];
        if body.is_empty() {
            result.push_str(space);
            continue;
        }
        if std::mem::take(&mut hide_next) && !body.starts_with("--") {
            result.push_str(HIDDEN);
        } else if body == "--password" {
            hide_next = true;
            result.push_str(body);
        } else if let Some(at) = body.find("--password=") {
            result.push_str(&body[..at + "--password=".len()]);
            result.push_str(HIDDEN);
        } else {
            result.push_str(&redact_url(body));
        }
        result.push_str(space);
    }
    result
}

fn is_password_key(key: &str) -> bool {
    let key = key
        .trim_matches(|c: char| c == '"' || c == '\'')
        .replace('-', "_")
        .to_ascii_lowercase();
    !key.contains(char::is_whitespace)
        && !key.starts_with("__")
        && (key == "password" || key.ends_with("_password") || key == "wsrep_sst_auth")
}

/// The password ends at the last `@` of the word's authority: passwords may hold `@`, host names cannot.
fn redact_url(word: &str) -> String {
    let Some(scheme_end) = word.find("://") else {
        return word.to_owned();
    };
    let rest = &word[scheme_end + 3..];
    let authority_end = match rest.rfind('@') {
        Some(at) => at,
        None => return word.to_owned(),
    };
    match rest[..authority_end].find(':') {
        Some(colon) => format!(
            "{}{}:{HIDDEN}{}",
            &word[..scheme_end + 3],
            &rest[..colon],
            &rest[authority_end..]
        ),
        None => word.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::redact;

    #[test]
    fn passwords_are_taken_out() {
        for (given, kept) in [
            (
                "mysql://root:geheim@db:3306/tpcc",
                "mysql://root:***@db:3306/tpcc",
            ),
            (
                "mysql://root:a@b:c/d@db/tpcc?x=1",
                "mysql://root:***@db/tpcc?x=1",
            ),
            ("mysql://root@db:3306/tpcc", "mysql://root@db:3306/tpcc"),
            (
                "mydyno run --dsn mysql://u:p@h/d -c 8",
                "mydyno run --dsn mysql://u:***@h/d -c 8",
            ),
            (
                "mydyno run --dsn='mysql://u:p@h/d'",
                "mydyno run --dsn='mysql://u:***@h/d'",
            ),
            ("run --password=x y", "run --password=*** y"),
            ("run --password x y", "run --password *** y"),
            (
                "[client]\npassword = geheim\nuser=a\n",
                "[client]\npassword = ***\nuser=a\n",
            ),
            ("master-password=\"x y\"\n", "master-password= ***\n"),
            ("innodb_io_capacity = 200\n", "innodb_io_capacity = 200\n"),
            (
                "default_password_lifetime = 0\n",
                "default_password_lifetime = 0\n",
            ),
        ] {
            assert_eq!(redact(given), kept);
        }
    }
}
