//! Statements without a server that prepares them: SQL text with its parameters as literals. Pure.

use crate::packet::write_cents;
use base::Param;
use std::fmt::Write;

/// The parts of a statement between its parameters: one more than those. A `?` in quotes or in a
/// comment is none.
pub(crate) fn parts(sql: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut rest = sql;
    while let Some(first) = rest.chars().next() {
        let len = match first {
            '\'' | '"' | '`' => quoted(rest, first),
            '#' => line(rest),
            '-' if rest.starts_with("--") && !rest[2..].starts_with(|c: char| c > ' ') => {
                line(rest)
            }
            '/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
            '?' => {
                parts.push(String::new());
                rest = &rest[1..];
                continue;
            }
            other => other.len_utf8(),
        };
        let (taken, more) = rest.split_at(len);
        if let Some(part) = parts.last_mut() {
            part.push_str(taken);
        }
        rest = more;
    }
    parts
}

/// The length of the quoted text that `sql` begins with.
fn quoted(sql: &str, quote: char) -> usize {
    let mut chars = sql.char_indices().skip(1);
    while let Some((at, c)) = chars.next() {
        match c {
            // A quote that is doubled begins another text, right behind this one.
            _ if c == quote => return at + 1,
            '\\' if quote != '`' => drop(chars.next()),
            _ => {}
        }
    }
    sql.len()
}

/// The length of the line that `sql` begins with.
fn line(sql: &str) -> usize {
    sql.find('\n').unwrap_or(sql.len())
}

/// Appends a statement of these parts with its parameters.
pub(crate) fn put_statement(out: &mut Vec<u8>, parts: &[String], params: &[Param<'_>]) {
    for (index, part) in parts.iter().enumerate() {
        out.extend_from_slice(part.as_bytes());
        if let Some(param) = params.get(index) {
            put_literal(out, param);
        }
    }
}

fn put_literal(out: &mut Vec<u8>, param: &Param<'_>) {
    match param {
        Param::Null => out.extend_from_slice(b"NULL"),
        Param::Int(value) => out.extend_from_slice(value.to_string().as_bytes()),
        Param::Cents(cents) => {
            let mut digits = [0; 24];
            let start = write_cents(&mut digits, cents.0);
            out.extend_from_slice(&digits[start..]);
        }
        Param::Decimal(digits) => out.extend_from_slice(digits),
        // What a backslash means is for the server's sql_mode to say.
        Param::Text(text) if text.contains(&b'\\') || text.contains(&0) => {
            let mut hex = String::from("x'");
            for byte in *text {
                // Writing to a String cannot fail.
                let _ = write!(hex, "{byte:02x}");
            }
            out.extend_from_slice(hex.as_bytes());
            out.push(b'\'');
        }
        Param::Text(text) => {
            out.push(b'\'');
            for byte in *text {
                out.push(*byte);
                if *byte == b'\'' {
                    out.push(b'\'');
                }
            }
            out.push(b'\'');
        }
        Param::Time(time) => out.extend_from_slice(format!("'{time}'").as_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::{Cents, DateTime};

    fn written(sql: &str, params: &[Param<'_>]) -> String {
        let parts = parts(sql);
        assert_eq!(parts.len(), params.len() + 1, "{sql}");
        let mut out = Vec::new();
        put_statement(&mut out, &parts, params);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn every_kind_of_parameter_is_a_literal() {
        let params = [
            Param::Null,
            Param::Int(-7),
            Param::Cents(Cents(-105)),
            Param::Text("Zoë's".as_bytes()),
            Param::Text(b"a\\'b"),
            Param::Time(DateTime::from_unix_s(1_767_225_600)),
        ];
        assert_eq!(
            written("CALL p(?,?, ?,?,?,?)", &params),
            "CALL p(NULL,-7, -1.05,'Zoë''s',x'615c2762','2026-01-01 00:00:00')"
        );
    }

    #[test]
    fn a_question_mark_in_quotes_or_in_a_comment_is_no_parameter() {
        for sql in [
            "SELECT '?', \"?\", `?`, 'it''s ?', 'a\\'?'",
            "SELECT 1 -- ?\n, 2 # it's ?\n, 3 /* ? ' */",
            "SELECT 'open ?",
            "SELECT 1 /* open ?",
        ] {
            assert_eq!(written(sql, &[]), sql);
        }
        assert_eq!(written("SELECT 5--?, '?', ?", &[1.into(), 2.into()]), "SELECT 5--1, '?', 2");
    }
}
