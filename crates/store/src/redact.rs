//! Passwords never reach the file, whatever the caller passes on. A plan is more than lines: see
//! `redact_plan`.

use base::is_secret;

/// `text` without the passwords of URLs (`scheme://user:password@host`), of `--password=...`,
/// `--password ...` and of option-file lines `password = ...`.
pub fn redact(text: &str) -> String {
    text.split_inclusive('\n').map(redact_line).collect()
}

/// The option whose value is a command of the user's, which may hold a password in any form.
const POWER_COMMAND: &str = "--power-command";

/// A command line for the file: each argument without its passwords, of `--power-command` the
/// program only, quoted so that a shell reads the same arguments.
pub fn command_line(arguments: &[String]) -> String {
    let before = std::iter::once("").chain(arguments.iter().map(String::as_str));
    let word = |(before, argument): (&str, &String)| quoted(&without_secrets(before, argument));
    before.zip(arguments).map(word).collect::<Vec<_>>().join(" ")
}

/// An argument that follows `before`.
fn without_secrets(before: &str, argument: &str) -> String {
    match argument.split_once('=') {
        _ if before == POWER_COMMAND => program_of(argument),
        Some((POWER_COMMAND, command)) => format!("{POWER_COMMAND}={}", program_of(command)),
        _ => without_password(before, argument),
    }
}

fn without_password(before: &str, word: &str) -> String {
    if before == "--password" && !word.starts_with("--") {
        return HIDDEN.to_owned();
    }
    // Its option may stand behind other text.
    let option = |key: &str| key.rfind("--").map_or(0, |dashes| dashes + 2);
    let mut keys = word.match_indices('=').map(|(end, _)| &word[..end]);
    match keys.find(|key| is_secret(&key[option(key)..])) {
        Some(key) => format!("{key}={HIDDEN}"),
        None => redact_url(word),
    }
}

/// `ipmitool ***` for `PASSWORD=secret ipmitool -P secret`; a program without arguments stays as it
/// is.
pub(crate) fn program_of(command: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-+./".contains(c);
    let mut words = command.split_whitespace().skip_while(|word| word.contains('='));
    match words.next().filter(|program| program.chars().all(is_plain)) {
        Some(program) if command.trim() == program => program.to_owned(),
        Some(program) => format!("{program} {HIDDEN}"),
        None => HIDDEN.to_owned(),
    }
}

/// As a word of a shell. Of an option with its value only the value is quoted.
fn quoted(argument: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-+./:=@,%".contains(c);
    if !argument.is_empty() && argument.chars().all(is_plain) {
        return argument.to_owned();
    }
    let (option, value) = match argument.split_once('=') {
        Some((option, value)) if option.starts_with("--") && option.chars().all(is_plain) => {
            argument.split_at(argument.len() - value.len())
        }
        _ => ("", argument),
    };
    format!("{option}'{}'", value.replace('\'', "'\\''"))
}

/// What stands for a password.
pub(crate) const HIDDEN: &str = "***";

/// The value of a server variable, unless that is a password.
pub(crate) fn hidden_where_secret<'a>(name: &str, value: &'a str) -> &'a str {
    if is_secret(name) && !value.is_empty() { HIDDEN } else { value }
}

fn redact_line(line: &str) -> String {
    if let Some((key, _)) = line.split_once('=')
        && is_secret(key.trim())
    {
        let end = if line.ends_with('\n') { "\n" } else { "" };
        return format!("{key}= {HIDDEN}{end}");
    }
    let mut result = String::with_capacity(line.len());
    let mut before = "";
    for word in line.split_inclusive(char::is_whitespace) {
        let body = word.trim_end_matches(char::is_whitespace);
        if !body.is_empty() {
            result.push_str(&without_password(before, body));
            before = body;
        }
        result.push_str(&word[body.len()..]);
    }
    result
}

/// The password ends at the last `@` of the word's authority: passwords may hold `@`, host names
/// cannot.
pub(crate) fn redact_url(word: &str) -> String {
    let hidden = || {
        let (scheme, rest) = word.split_once("://")?;
        let (login, host) = rest.rsplit_once('@')?;
        let (user, _) = login.split_once(':')?;
        Some(format!("{scheme}://{user}:{HIDDEN}@{host}"))
    };
    hidden().unwrap_or_else(|| word.to_owned())
}

#[cfg(test)]
mod tests {
    use super::{command_line, redact};
    use std::process::Command;

    #[test]
    fn passwords_are_taken_out() {
        for (given, kept) in [
            ("mysql://root:geheim@db:3306/tpcc", "mysql://root:***@db:3306/tpcc"),
            ("mysql://root:a@b:c/d@db/tpcc?x=1", "mysql://root:***@db/tpcc?x=1"),
            ("mysql://root@db:3306/tpcc", "mysql://root@db:3306/tpcc"),
            ("mydyno run --dsn mysql://u:p@h/d -c 8", "mydyno run --dsn mysql://u:***@h/d -c 8"),
            ("mydyno run --dsn='mysql://u:p@h/d'", "mydyno run --dsn='mysql://u:***@h/d'"),
            ("run --password=x y", "run --password=*** y"),
            ("run --password x y", "run --password *** y"),
            ("[client]\npassword = geheim\nuser=a\n", "[client]\npassword = ***\nuser=a\n"),
            ("master-password=\"x y\"\n", "master-password= ***\n"),
            ("innodb_io_capacity = 200\n", "innodb_io_capacity = 200\n"),
            ("default_password_lifetime = 0\n", "default_password_lifetime = 0\n"),
        ] {
            assert_eq!(redact(given), kept);
        }
    }

    fn line_of(arguments: &[&str]) -> String {
        let arguments: Vec<String> = arguments.iter().map(|&one| one.to_owned()).collect();
        command_line(&arguments)
    }

    #[test]
    fn a_command_line_has_no_secrets() {
        for (given, kept) in [
            (
                &["run", "--power-command", "ipmitool -I lanplus -P geheim dcmi"][..],
                "run --power-command 'ipmitool ***'",
            ),
            (
                &["run", "--power-command=ipmitool -P geheim", "-c", "8"],
                "run --power-command='ipmitool ***' -c 8",
            ),
            (
                &["--power-command", "IPMI_PASSWORD=geheim ipmitool -E dcmi"],
                "--power-command 'ipmitool ***'",
            ),
            (&["--power-command", "/opt/watts"], "--power-command /opt/watts"),
            (&["--power-command", "$(cat geheim)"], "--power-command '***'"),
            (&["--power-command", "X=geheim"], "--power-command '***'"),
            (&["--dsn", "mysql://u:ge heim@h/d", "-w", "2"], "--dsn 'mysql://u:***@h/d' -w 2"),
            (
                &["--host-metrics=http://u:geheim@h:9100/metrics"],
                "--host-metrics='http://u:***@h:9100/metrics'",
            ),
            (
                &["--password", "geheim", "--password=ge heim", "x"],
                "--password '***' --password='***' x",
            ),
            (&["--set", "x_password=geheim"], "--set 'x_password=***'"),
        ] {
            let line = line_of(given);
            assert_eq!(line, kept);
            // The store redacts what it is given once more.
            assert!(!redact(&line).contains("heim"), "{line}");
        }
    }

    #[test]
    fn a_shell_reads_the_same_arguments() {
        let given = [
            "mydyno", "it's", "", "a b", "$HOME", "*", "--set", "a=b c", "--x=y;z", "\"q\"",
            "a\\b", "~", "#", "!x",
        ];
        let script = format!("printf '%s\\n' {}", line_of(&given));
        let read = Command::new("sh").args(["-c", &script]).output().unwrap();
        let words = String::from_utf8(read.stdout).unwrap();
        assert_eq!(words.lines().collect::<Vec<_>>(), given);
        assert_eq!(line_of(&["mydyno", "run", "-c", "8"]), "mydyno run -c 8");
    }
}
