//! SQL text as people write it: named parameters, a `;` at the end.

use base::{SqlPiece, sql_pieces};

/// The statement with `?` in place of each `:name`, and the names in order. What stands in quotes
/// and comments stays; the `;` at the end goes.
///
/// # Errors
/// Why it is no statement.
pub(crate) fn named_parameters(sql: &str) -> Result<(String, Vec<String>), &'static str> {
    let mut out = String::with_capacity(sql.len());
    let mut names = Vec::new();
    let mut ends = Vec::new();
    // What routines are made of ends in one too.
    let has_several = matches!(&*verb(sql), "create" | "alter");
    for piece in sql_pieces(sql) {
        let is_code = !matches!(
            piece,
            SqlPiece::Comment(_) | SqlPiece::Other(' ' | '\t' | '\r' | '\n' | ';')
        );
        if let SqlPiece::Other(';') = piece {
            ends.push(out.len());
        } else if is_code && !ends.is_empty() {
            if !has_several {
                return Err("there are several statements; write each by itself");
            }
            ends.clear();
        }
        match piece {
            SqlPiece::Comment(text) | SqlPiece::Quoted(text) => out.push_str(text),
            SqlPiece::Parameter(name) => {
                names.push(name.to_owned());
                out.push('?');
            }
            SqlPiece::Other('?') => return Err("write :name where a parameter is to stand, not ?"),
            SqlPiece::Other(other) => out.push(other),
        }
    }
    if tokens(sql).all(|token| token == ";") {
        return Err("there is no statement in it");
    }
    for at in ends.into_iter().rev() {
        out.remove(at);
    }
    Ok((out, names))
}

/// Words, quoted texts and single characters of a statement, without its comments.
fn tokens(sql: &str) -> impl Iterator<Item = String> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    let mut all: Vec<String> = Vec::new();
    let (mut in_word, mut in_name) = (false, false);
    for piece in sql_pieces(sql) {
        let (joins, doubles) = (in_word, in_name);
        in_word = matches!(piece, SqlPiece::Other(c) if is_word(c));
        in_name = matches!(piece, SqlPiece::Quoted(text) if text.starts_with('`'));
        match piece {
            SqlPiece::Comment(_) => {}
            SqlPiece::Other(c) if c.is_whitespace() => {}
            SqlPiece::Other(c) => match all.last_mut() {
                Some(word) if joins && in_word => word.push(c),
                Some(_) | None => all.push(c.to_string()),
            },
            SqlPiece::Quoted(text) => match all.last_mut() {
                // Each half of a doubled backtick is a piece.
                Some(name) if doubles && in_name => *name += &text[..text.len() - 1],
                Some(_) | None => all.push(text.trim_matches('`').to_owned()),
            },
            SqlPiece::Parameter(name) => all.push(format!(":{name}")),
        }
    }
    all.into_iter()
}

/// What a statement does: its first word.
pub(crate) fn verb(sql: &str) -> String {
    let is_word = |token: &String| token.starts_with(|c: char| c.is_ascii_alphabetic());
    let first = tokens(sql).find(is_word);
    first.unwrap_or_else(|| "statement".to_owned()).to_ascii_lowercase()
}

/// The table that a statement creates, and its schema where that is named.
pub(crate) fn created_table(sql: &str) -> Option<(Option<String>, String)> {
    let mut tokens = tokens(sql).peekable();
    let mut is = |word: &str| tokens.next_if(|token| token.eq_ignore_ascii_case(word)).is_some();
    if !is("create") {
        return None;
    }
    let _is_anew = is("or") && is("replace");
    if !is("table") {
        return None;
    }
    let _is_lenient = is("if") && is("not") && is("exists");
    let name = tokens.next()?;
    match tokens.next()?.as_str() {
        "." => Some((Some(name), tokens.next()?)),
        _ => Some((None, name)),
    }
}

/// Does it begin or end a transaction?
pub(crate) fn is_bracket(sql: &str) -> bool {
    let mut words = tokens(sql).map(|token| token.to_ascii_lowercase());
    match (words.next().as_deref(), words.next().as_deref()) {
        (Some("begin" | "commit"), _) | (Some("start"), Some("transaction")) => true,
        (Some("rollback"), next) => next != Some("to"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_found_outside_of_quotes_and_comments() {
        let (sql, names) = named_parameters(
            "SELECT ':a', \":b\", `:c`, '\\':d', @x := 1 FROM t WHERE i = :id AND j=:last_2",
        )
        .unwrap();
        assert_eq!(names, ["id", "last_2"]);
        assert_eq!(sql, "SELECT ':a', \":b\", `:c`, '\\':d', @x := 1 FROM t WHERE i = ? AND j=?");
        for (written, sql) in [
            ("-- it's :no\nSELECT :a -- isn't :b", "-- it's :no\nSELECT ? -- isn't :b"),
            ("# it's\r\nSELECT :a # :b", "# it's\r\nSELECT ? # :b"),
            ("/* it's :b */ SELECT /*+ NO_ICP(t) */ :a", "/* it's :b */ SELECT /*+ NO_ICP(t) */ ?"),
            ("SELECT /*/ '; :b */ :a", "SELECT /*/ '; :b */ ?"),
            ("SELECT /*!80000 SQL_NO_CACHE :a */ 1", "SELECT /*!80000 SQL_NO_CACHE ? */ 1"),
            ("SELECT 5--:a", "SELECT 5--?"),
            ("SELECT 'it''s', 'a\\\\', :a", "SELECT 'it''s', 'a\\\\', ?"),
            ("SELECT `\\`, :a", "SELECT `\\`, ?"),
            ("SELECT :a;\n-- the end; really\n ", "SELECT ?\n-- the end; really\n "),
            ("SELECT 'ö;', :a ;;", "SELECT 'ö;', ? "),
            ("SELECT '?', :a # ?", "SELECT '?', ? # ?"),
        ] {
            assert_eq!(named_parameters(written), Ok((sql.to_owned(), vec!["a".to_owned()])));
        }
        let routine = "CREATE PROCEDURE p() top:LOOP SELECT 1; LEAVE top; END LOOP;";
        let (sql, names) = named_parameters(routine).unwrap();
        assert_eq!((sql.as_str(), names.len()), (routine.trim_end_matches(';'), 0));
    }

    #[test]
    fn what_is_no_statement_is_told() {
        for (written, word) in [
            ("SELECT 1; SELECT 2", "several"),
            ("SELECT * FROM t WHERE id = ?", ":name"),
            (" -- nothing\n;", "no statement"),
            ("", "no statement"),
        ] {
            assert!(named_parameters(written).unwrap_err().contains(word), "{written}");
        }
    }

    #[test]
    fn statements_are_known_by_their_words() {
        assert_eq!(verb("  (select 1)"), "select");
        assert_eq!(verb("/* it's */ Update t"), "update");
        assert_eq!(verb(""), "statement");
        for (sql, table) in [
            ("create table sale (id INT)", Some((None, "sale"))),
            (
                "-- the table `x`\nCREATE TABLE IF NOT EXISTS `the sale`(id INT)",
                Some((None, "the sale")),
            ),
            ("CREATE OR REPLACE TABLE a LIKE b", Some((None, "a"))),
            ("CREATE TABLE other.sale (id INT)", Some((Some("other"), "sale"))),
            ("CREATE TABLE `o`.`we``ird` (id INT)", Some((Some("o"), "we`ird"))),
            ("CREATE TEMPORARY TABLE sale (id INT)", None),
            ("CREATE VIEW a AS SELECT 1", None),
            ("INSERT INTO t VALUES ('create table a')", None),
        ] {
            let created = created_table(sql);
            let created = created.as_ref().map(|(of, name)| (of.as_deref(), name.as_str()));
            assert_eq!(created, table, "{sql}");
        }
        for sql in ["BEGIN", "start transaction read only", "-- x\nCommit;", "ROLLBACK"] {
            assert!(is_bracket(sql), "{sql}");
        }
        for sql in ["ROLLBACK TO a", "START REPLICA", "SAVEPOINT a"] {
            assert!(!is_bracket(sql), "{sql}");
        }
    }
}
