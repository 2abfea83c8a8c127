//! Statements without a server that prepares them: SQL text with its parameters as literals. Pure.

use base::{Param, SqlPiece, sql_pieces};
use std::fmt;
use std::io::Write;

/// The parts of a statement between its parameters: one more than those. A `?` in quotes or in a
/// comment is none.
pub(crate) fn parts(sql: &str) -> Vec<String> {
    let (mut parts, mut part) = (Vec::new(), String::new());
    for piece in sql_pieces(sql) {
        match piece {
            SqlPiece::Comment(text) | SqlPiece::Quoted(text) => part.push_str(text),
            SqlPiece::Parameter(name) => part.extend([":", name]),
            SqlPiece::Other('?') => parts.push(std::mem::take(&mut part)),
            SqlPiece::Other(other) => part.push(other),
        }
    }
    parts.push(part);
    parts
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
    // Writing to a Vec cannot fail.
    let mut put = |text: fmt::Arguments<'_>| drop(out.write_fmt(text));
    match param {
        Param::Null => put(format_args!("NULL")),
        Param::Int(value) => put(format_args!("{value}")),
        Param::Cents(cents) => put(format_args!("{cents}")),
        Param::Time(time) => put(format_args!("'{time}'")),
        Param::Decimal(digits) => out.extend_from_slice(digits),
        // What a backslash means is for the server's sql_mode to say.
        Param::Text(text) if text.contains(&b'\\') || text.contains(&0) => {
            put(format_args!("x'"));
            text.iter().for_each(|byte| put(format_args!("{byte:02x}")));
            put(format_args!("'"));
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
        // Code to servers is no comment; a label has a colon.
        assert_eq!(written("/*!80000 SELECT ? */ :top", &[7.into()]), "/*!80000 SELECT 7 */ :top");
    }
}
