//! The text of MySQL option files: what `mysql` and `mysqld` read, parsed and written. Pure; files
//! are the caller's.

/// What stands behind a backslash, and what it means.
const ESCAPES: [(char, char); 6] =
    [('b', '\u{8}'), ('t', '\t'), ('n', '\n'), ('r', '\r'), ('\\', '\\'), ('"', '"')];
/// What needs no backslash, and may have one.
const ONLY_READ: [(char, char); 2] = [('s', ' '), ('\'', '\'')];

/// One meaningful line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum OptionLine {
    /// `[client]`
    Group(String),
    /// `name` or `name = value`; dashes of the name are underscores.
    Setting { name: String, value: Option<String> },
    /// `!include FILE`
    Include(String),
    /// `!includedir DIRECTORY`
    IncludeDirectory(String),
}

/// The meaningful lines of a file with their numbers, or the line that is not well formed and why.
pub(crate) fn parse(text: &str) -> Result<Vec<(usize, OptionLine)>, (usize, String)> {
    // Editors of other systems leave a byte order mark.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines = text.lines().map(str::trim).zip(1..);
    let meaningful = lines.filter(|(line, _)| !line.is_empty() && !line.starts_with(['#', ';']));
    let parsed = meaningful.map(|(line, number)| {
        let parsed = match line.chars().next() {
            Some('[') => group(line),
            Some('!') => directive(line),
            _ => setting(line),
        };
        parsed.map(|parsed| (number, parsed)).map_err(|why| (number, why))
    });
    parsed.collect()
}

fn group(line: &str) -> Result<OptionLine, String> {
    let (name, _) = line[1..].split_once(']').ok_or("the group has no closing bracket")?;
    Ok(OptionLine::Group(name.trim().to_owned()))
}

fn directive(line: &str) -> Result<OptionLine, String> {
    let (word, argument) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let argument = argument.trim();
    if argument.is_empty() {
        return Err(format!("`{word}` names nothing"));
    }
    match word {
        "!include" => Ok(OptionLine::Include(argument.to_owned())),
        "!includedir" => Ok(OptionLine::IncludeDirectory(argument.to_owned())),
        _ => Err(format!("`{word}` is unknown; the directives are !include and !includedir")),
    }
}

fn setting(line: &str) -> Result<OptionLine, String> {
    let line = without_comment(line).trim();
    let (name, value) = match line.split_once('=') {
        Some((name, value)) => (name, Some(unquoted(value.trim()))),
        None => (line, None),
    };
    let name = name.trim().trim_start_matches("--").replace('-', "_");
    if name.is_empty() {
        return Err("a value without a name".to_owned());
    }
    Ok(OptionLine::Setting { name, value })
}

/// Cuts a comment that starts in the middle of a line: a `#` outside of quotes. (A `;` starts one
/// only at the start.)
fn without_comment(line: &str) -> &str {
    let mut quote = None;
    let mut escaped = false;
    for (at, c) in line.char_indices() {
        match (c, quote) {
            _ if escaped => {
                escaped = false;
                continue;
            }
            ('\\', Some(_)) => escaped = true,
            ('\'' | '"', None) => quote = Some(c),
            (c, Some(q)) if c == q => quote = None,
            ('#', None) => return &line[..at],
            _ => {}
        }
    }
    line
}

/// Takes enclosing quotes off and reads the escapes \b \t \n \r \\ \s \" \'; any other backslash
/// stays.
fn unquoted(value: &str) -> String {
    let inner =
        ['"', '\''].iter().find_map(|q| value.strip_prefix(*q)?.strip_suffix(*q)).unwrap_or(value);
    let mut text = String::with_capacity(inner.len());
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        let mut all = ESCAPES.iter().chain(&ONLY_READ);
        let is_next = |(letter, _): &&(char, char)| chars.as_str().starts_with(*letter);
        match all.find(is_next).filter(|_| c == '\\') {
            Some((_, meant)) => {
                text.push(*meant);
                chars.next();
            }
            None => text.push(c),
        }
    }
    text
}

/// A value as an option file holds it, quoted where its characters ask for it.
pub(crate) fn quoted(value: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:,+%@*".contains(c);
    if !value.is_empty() && value.chars().all(plain) {
        return value.to_owned();
    }
    let escaped = value.chars().map(|c| match ESCAPES.iter().find(|(_, meant)| *meant == c) {
        Some((letter, _)) => format!("\\{letter}"),
        None => c.to_string(),
    });
    format!("\"{}\"", escaped.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::{OptionLine, parse, quoted};
    use proptest::prelude::*;

    fn values(text: &str) -> Vec<(String, Option<String>)> {
        parse(text)
            .unwrap()
            .into_iter()
            .filter_map(|(_, line)| match line {
                OptionLine::Setting { name, value } => Some((name, value)),
                _ => None,
            })
            .collect()
    }

    #[test]
    fn the_syntax_of_mysql() {
        let text = "\u{feff}# comment\n; comment\n[client]\n user = bob \nssl-mode=REQUIRED # why\n\
            password=\"a#b\\\"c\"\ncompress\ndir=C:\\\\new\\sfolder\\x\n  [ mydyno ]\n!include \
            other.cnf\n!includedir /etc/d\n--host=h\nempty=\nnone=''\n";
        let lines = parse(text).unwrap();
        assert_eq!(lines[0], (3, OptionLine::Group("client".into())));
        assert!(lines.contains(&(9, OptionLine::Group("mydyno".into()))));
        assert!(lines.contains(&(10, OptionLine::Include("other.cnf".into()))));
        assert!(lines.contains(&(11, OptionLine::IncludeDirectory("/etc/d".into()))));
        let some = |s: &str| Some(s.to_owned());
        assert_eq!(
            values(text),
            [
                ("user".to_owned(), some("bob")),
                ("ssl_mode".to_owned(), some("REQUIRED")),
                ("password".to_owned(), some("a#b\"c")),
                ("compress".to_owned(), None),
                ("dir".to_owned(), some("C:\\new folder\\x")),
                ("host".to_owned(), some("h")),
                ("empty".to_owned(), some("")),
                ("none".to_owned(), some("")),
            ]
        );
        for (bad, line) in [("\n[client", 2), ("!frob x", 1), ("!include", 1), ("a=b\n=c", 2)] {
            assert_eq!(parse(bad).unwrap_err().0, line, "{bad}");
        }
    }

    proptest! {
        #[test]
        fn parsing_never_panics(text in "\\PC*") {
            let _ = parse(&text);
        }

        #[test]
        fn parsing_lines_never_panics(text in "[\\[\\]!#;=\"'\\\\a-z \n-]{0,80}") {
            let _ = parse(&text);
        }

        #[test]
        fn values_come_back(value in "[^\u{0}]{0,40}") {
            // A line break that Rust's `lines` knows is escaped, everything else travels as it is.
            let text = format!("[client]\npassword = {}\n", quoted(&value));
            prop_assert_eq!(values(&text), vec![("password".to_owned(), Some(value))]);
        }
    }
}
