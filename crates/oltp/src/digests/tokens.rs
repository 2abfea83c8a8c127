//! Texts of digests, as `performance_schema` normalizes them: `?` for a value, `?, ...` and `(...)`
//! for lists of them, `/* , ... */` for more rows of the same.

use base::{SqlPiece, sql_pieces};

/// A part of a digest's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum DigestToken {
    /// A keyword, a number, or a name without quotes: MariaDB has such.
    Word(String),
    /// In backquotes, without them.
    Name(String),
    /// `?`, with what stands there in a sample.
    Value(Option<String>),
    /// `?, ...`
    Values,
    /// `(...)`
    List,
    /// `/* , ... */`
    More,
    Symbol(String),
}

impl DigestToken {
    pub(super) fn symbol(text: &str) -> DigestToken {
        DigestToken::Symbol(text.to_owned())
    }

    pub(super) fn is_symbol(&self, text: &str) -> bool {
        matches!(self, DigestToken::Symbol(symbol) if symbol == text)
    }

    pub(super) fn is_word(&self, word: &str) -> bool {
        matches!(self, DigestToken::Word(text) if text.eq_ignore_ascii_case(word))
    }

    /// What may be the name of a table or a column.
    pub(super) fn name(&self) -> Option<&str> {
        match self {
            DigestToken::Word(text) | DigestToken::Name(text) => Some(text),
            DigestToken::Value(_)
            | DigestToken::Values
            | DigestToken::List
            | DigestToken::More
            | DigestToken::Symbol(_) => None,
        }
    }

    /// About as many bytes as the server keeps of it.
    fn bytes(&self) -> usize {
        match self {
            DigestToken::Name(name) => 4 + name.len(),
            _ => 2,
        }
    }
}

/// Symbols of two characters and more, the longest first.
const SYMBOLS: [&str; 12] =
    ["->>", "<=>", "->", "<=", ">=", "<>", "!=", ":=", "||", "&&", "<<", ">>"];

fn is_word_char(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}

/// The tokens of a digest's text, or of a statement, whose literals are values then.
pub(super) fn tokens(text: &str) -> Vec<DigestToken> {
    let pieces: Vec<SqlPiece<'_>> = sql_pieces(text.trim()).collect();
    let mut out = Vec::new();
    let mut rest = &pieces[..];
    while let Some(first) = rest.first() {
        let (used, token) = match *first {
            SqlPiece::Comment("/* , ... */") => (1, Some(DigestToken::More)),
            SqlPiece::Comment(_) => (1, None),
            SqlPiece::Quoted(text) => quoted(text, rest),
            SqlPiece::Parameter(name) => (1, Some(DigestToken::Symbol(format!(":{name}")))),
            SqlPiece::Other(c) if c.is_whitespace() => (1, None),
            SqlPiece::Other(_) => coded(rest),
        };
        out.extend(token);
        rest = &rest[used..];
    }
    out
}

/// A quoted text, of which each half of a doubled quote is a piece.
fn quoted(text: &str, rest: &[SqlPiece<'_>]) -> (usize, Option<DigestToken>) {
    let quote = &text[..1];
    let mut whole = String::new();
    let same = rest.iter().map_while(|piece| match piece {
        SqlPiece::Quoted(half) if half.starts_with(quote) => Some(*half),
        _ => None,
    });
    let mut used = 0;
    for half in same {
        whole += half;
        used += 1;
    }
    let inner = whole.get(1..whole.len().max(2) - 1).unwrap_or_default();
    let plain = inner.replace(&quote.repeat(2), quote);
    let token =
        if quote == "`" { DigestToken::Name(plain) } else { DigestToken::Value(Some(plain)) };
    (used, Some(token))
}

/// What is not quoted, from its first character on.
fn coded(rest: &[SqlPiece<'_>]) -> (usize, Option<DigestToken>) {
    let chars = rest.iter().map_while(|piece| match piece {
        SqlPiece::Other(c) => Some(*c),
        _ => None,
    });
    let text: String = chars.take(256).collect();
    for (written, token) in [("(...)", DigestToken::List), ("?, ...", DigestToken::Values)] {
        if text.starts_with(written) {
            return (written.len(), Some(token));
        }
    }
    if text.starts_with('?') {
        return (1, Some(DigestToken::Value(None)));
    }
    let is_number = text.starts_with(|c: char| c.is_ascii_digit());
    let is_in = |c: char| is_word_char(c) || is_number && c == '.';
    let word: String = text.chars().take_while(|c| is_in(*c)).collect();
    if !word.is_empty() {
        let used = word.chars().count();
        let token =
            if is_number { DigestToken::Value(Some(word)) } else { DigestToken::Word(word) };
        return (used, Some(token));
    }
    let symbol = SYMBOLS.iter().find(|symbol| text.starts_with(**symbol));
    let symbol = symbol.map_or_else(|| text.chars().take(1).collect(), |of| (*of).to_owned());
    (symbol.chars().count(), Some(DigestToken::Symbol(symbol)))
}

/// Is a digest cut off? Servers say so by `...`, but not all of them: what has filled its room is
/// taken for cut off, and so is what has open parentheses.
pub(super) fn is_cut(text: &str, tokens: &[DigestToken], bytes_max: usize) -> bool {
    /// Of a token that found no room.
    const NAME_BYTES_MAX: usize = 68;
    let text = text.trim_end();
    let count = |symbol| tokens.iter().filter(|token| token.is_symbol(symbol)).count();
    let bytes: usize = tokens.iter().map(DigestToken::bytes).sum();
    text.ends_with("...") && !text.ends_with("?, ...")
        || count("(") != count(")")
        || bytes + NAME_BYTES_MAX > bytes_max
}

/// The digest with what stands for its values in a statement that it was made of; `None` where
/// that is cut off or another one.
pub(super) fn with_sample(digest: &[DigestToken], sample: &str) -> Option<Vec<DigestToken>> {
    let sample = tokens(sample);
    let mut rest = &sample[..];
    let mut out: Vec<DigestToken> = Vec::new();
    for token in digest {
        let taken = match token {
            DigestToken::Value(_) => value(rest)?,
            DigestToken::Values => values(rest)?,
            DigestToken::List => list(rest)?,
            DigestToken::More => {
                let mut taken = 0;
                while rest.get(taken).is_some_and(|token| token.is_symbol(",")) {
                    taken += 1 + list(&rest[taken + 1..])?;
                }
                taken
            }
            DigestToken::Word(_) | DigestToken::Name(_) | DigestToken::Symbol(_) => {
                let same = rest.first()?;
                let is_same = match (token, same) {
                    (DigestToken::Symbol(a), DigestToken::Symbol(b)) => a == b,
                    // Synonyms: INT is INTEGER in a digest.
                    _ => token.name().is_some() && same.name().is_some(),
                };
                if !is_same {
                    return None;
                }
                out.push(token.clone());
                rest = &rest[1..];
                continue;
            }
        };
        let mut sign = "";
        for token in &rest[..taken] {
            match token {
                // It is a part of its value.
                DigestToken::Symbol(symbol) if is_sign(symbol) => sign = symbol,
                DigestToken::Value(Some(text)) => {
                    let signed = format!("{}{text}", sign.trim_start_matches('+'));
                    out.push(DigestToken::Value(Some(signed)));
                    sign = "";
                }
                other => out.push(other.clone()),
            }
        }
        rest = &rest[taken..];
    }
    rest.iter().all(|token| token.is_symbol(";")).then_some(out)
}

fn is_sign(symbol: &str) -> bool {
    symbol == "-" || symbol == "+"
}

/// How many tokens of a statement are one value.
fn value(rest: &[DigestToken]) -> Option<usize> {
    match rest {
        [DigestToken::Value(_), ..] => Some(1),
        [word, ..] if ["NULL", "TRUE", "FALSE"].iter().any(|of| word.is_word(of)) => Some(1),
        [DigestToken::Symbol(sign), DigestToken::Value(_), ..] if is_sign(sign) => Some(2),
        _ => None,
    }
}

fn values(rest: &[DigestToken]) -> Option<usize> {
    let mut taken = value(rest)?;
    while rest.get(taken).is_some_and(|token| token.is_symbol(",")) {
        let Some(next) = value(&rest[taken + 1..]) else { break };
        taken += 1 + next;
    }
    Some(taken)
}

fn list(rest: &[DigestToken]) -> Option<usize> {
    let inner = rest.split_first().filter(|(open, _)| open.is_symbol("("))?.1;
    let taken = values(inner)?;
    inner.get(taken).filter(|close| close.is_symbol(")"))?;
    Some(taken + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(tokens: &[DigestToken]) -> String {
        let word = |token: &DigestToken| match token {
            DigestToken::Word(text) | DigestToken::Symbol(text) => text.clone(),
            DigestToken::Name(name) => format!("`{name}`"),
            DigestToken::Value(Some(text)) => format!("<{text}>"),
            DigestToken::Value(None) => "?".to_owned(),
            DigestToken::Values => "?, ...".to_owned(),
            DigestToken::List => "(...)".to_owned(),
            DigestToken::More => "/* , ... */".to_owned(),
        };
        tokens.iter().map(word).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn digests_are_read_as_servers_write_them() {
        for text in [
            "SELECT `a``b` FROM `s` . `t` WHERE ID IN (...) AND `d` <=> ? LIMIT ?, ...",
            "INSERT INTO `t` ( `a` ) VALUES ( ?, ... , NOW ( ) ) , (...) /* , ... */",
        ] {
            assert_eq!(written(&tokens(&format!("{text} "))).replace("`a`b`", "`a``b`"), text);
        }
    }

    #[test]
    fn what_is_cut_off_is_found() {
        let is_cut = |text: &str| is_cut(text, &tokens(text), 1024);
        for whole in ["SELECT ? LIMIT ?, ...", "SELECT ? FROM `t` WHERE `a` IN (...)"] {
            assert!(!is_cut(whole), "{whole}");
        }
        let long = format!("SELECT {}", "`some_column` , ".repeat(60));
        for cut in ["SELECT `a` FROM ...", "SELECT ( `a` , `b` ", &long] {
            assert!(is_cut(cut), "{cut}");
        }
    }

    #[test]
    fn a_sample_says_what_the_values_are() {
        let digest =
            tokens("SELECT * FROM `t` WHERE `a` = ? AND `b` IN (...) AND `c` = ? LIMIT ?, ...");
        let sample = "select * from t where a = -5 and b in (1, 'it''s') /* x */ and c=NULL \
                      limit 1.5,2;";
        let all = with_sample(&digest, sample).unwrap();
        assert_eq!(
            written(&all),
            "SELECT * FROM `t` WHERE `a` = <-5> AND `b` IN ( <1> , <it's> ) AND `c` = NULL LIMIT \
             <1.5> , <2>"
        );
        let sum = tokens("UPDATE `t` SET `a` = `a` + ?");
        let all = with_sample(&sum, "update t set a=a+1").unwrap();
        assert_eq!(written(&all), "UPDATE `t` SET `a` = `a` + <1>");
        let rows = tokens("INSERT INTO `t` VALUES (...) /* , ... */");
        let all = with_sample(&rows, "INSERT INTO t VALUES (1,2),(3,4)").unwrap();
        assert_eq!(written(&all), "INSERT INTO `t` VALUES ( <1> , <2> ) , ( <3> , <4> )");
        for other in ["SELECT * FROM t WHERE a = ...", "SELECT 1", "INSERT INTO t VALUES (1,2"] {
            assert_eq!(with_sample(&digest, other), None);
            assert_eq!(with_sample(&rows, other), None);
        }
    }
}
