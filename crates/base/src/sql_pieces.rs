//! SQL text by what a server takes as it stands, and what it looks into.

/// A part of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SqlPiece<'a> {
    Comment(&'a str),
    Quoted(&'a str),
    /// The name of `:name`.
    Parameter(&'a str),
    Other(char),
}

struct Pieces<'a> {
    rest: &'a str,
    /// The character before them.
    before: char,
}

impl<'a> Iterator for Pieces<'a> {
    type Item = SqlPiece<'a>;

    fn next(&mut self) -> Option<SqlPiece<'a>> {
        let rest = self.rest;
        let first = rest.chars().next()?;
        let after = &rest[first.len_utf8()..];
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let until = |end: &str| rest.find(end).map_or(rest.len(), |at| at + end.len());
        let starts_name = |c: char| is_name(c) && !c.is_ascii_digit();
        // `/*!` and `/*M!` are code to servers.
        let is_code = |text: &str| text.starts_with('!') || text.starts_with("M!");
        let is_space = |c: char| c.is_whitespace() || c.is_control();
        let (length, piece) = match first {
            '\'' | '"' | '`' => {
                let length = quoted_bytes(rest, first);
                (length, SqlPiece::Quoted(&rest[..length]))
            }
            '#' => (until("\n"), SqlPiece::Comment(&rest[..until("\n")])),
            '-' if after
                .strip_prefix('-')
                .is_some_and(|more| more.chars().next().is_none_or(is_space)) =>
            {
                (until("\n"), SqlPiece::Comment(&rest[..until("\n")]))
            }
            '/' if after.strip_prefix('*').is_some_and(|text| !is_code(text)) => {
                // The end is not `/*/`.
                let end = after[1..].find("*/").map_or(rest.len(), |at| at + 4);
                (end, SqlPiece::Comment(&rest[..end]))
            }
            // Behind a word it is the colon of a label.
            ':' if after.starts_with(starts_name) && !is_name(self.before) => {
                let length = after.find(|c| !is_name(c)).unwrap_or(after.len());
                (1 + length, SqlPiece::Parameter(&after[..length]))
            }
            other => (other.len_utf8(), SqlPiece::Other(other)),
        };
        self.before = rest[..length].chars().next_back().unwrap_or(first);
        self.rest = &rest[length..];
        Some(piece)
    }
}

/// How long the quoted text is that `text` begins with. Of a doubled quote each half is a text.
fn quoted_bytes(text: &str, quote: char) -> usize {
    let mut is_escaped = false;
    let end = text.char_indices().skip(1).find(|(_, c)| {
        let is_end = *c == quote && !is_escaped;
        is_escaped = *c == '\\' && quote != '`' && !is_escaped;
        is_end
    });
    end.map_or(text.len(), |(at, _)| at + 1)
}

/// The parts of a statement, in their order: together they are its text.
pub fn sql_pieces(sql: &str) -> impl Iterator<Item = SqlPiece<'_>> {
    Pieces { rest: sql, before: ' ' }
}
