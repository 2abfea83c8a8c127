//! What a digest does: its tables, and the columns that its values are compared with or stored in,
//! as far as its text says.

use super::digest::Digest;
use super::tables::{TableFacts, quoted};
use super::tokens::{DigestToken, is_cut, tokens, with_sample};
use super::values::{DigestValue, StatementScope};
use crate::script::PARAMETERS_MAX;

/// A statement that a workload may have.
#[derive(Clone, Debug)]
pub(super) struct DigestStatement {
    pub(super) verb: String,
    /// Places of its tables, each once.
    pub(super) tables: Vec<usize>,
    /// Its text: SQL between its values, which are one less.
    pub(super) sql: Vec<String>,
    pub(super) values: Vec<DigestValue>,
    /// Rows that a call examines or changes.
    pub(super) rows: f64,
    /// Rows that a call sends.
    pub(super) rows_sent: f64,
}

impl DigestStatement {
    /// Its SQL with `mark` of each value.
    pub(super) fn sql_with(&self, mark: impl Fn(usize) -> String) -> String {
        let mut out = String::new();
        for (place, part) in self.sql.iter().enumerate() {
            out += part;
            if place < self.values.len() {
                out += &mark(place);
            }
        }
        out
    }
}

/// Reads a digest.
///
/// # Errors
/// Why a workload cannot have it.
pub(super) fn statement_of(
    digest: &Digest,
    schema: &str,
    facts: &[TableFacts],
    bytes_max: usize,
) -> Result<DigestStatement, String> {
    let written = tokens(&digest.text);
    let verb = written.iter().find_map(DigestToken::name).unwrap_or_default().to_ascii_uppercase();
    match verb.as_str() {
        "SELECT" | "INSERT" | "REPLACE" | "UPDATE" | "DELETE" | "WITH" => {}
        "BEGIN" | "START" | "COMMIT" | "ROLLBACK" => {
            return Err("begins or ends a transaction".to_owned());
        }
        "CALL" => return Err("calls a procedure, which is not made".to_owned()),
        _ => return Err("no statement that reads or changes rows of tables".to_owned()),
    }
    if is_cut(&digest.text, &written, bytes_max) {
        return Err("cut off; raise max_digest_length and performance_schema_max_digest_length \
                    to have it whole"
            .to_owned());
    }
    let at = |word| written.iter().position(|token: &DigestToken| token.is_word(word));
    let is_row = verb == "INSERT" || verb == "REPLACE";
    if is_row && at("SELECT").is_some_and(|at_select| at("VALUES").is_none_or(|at| at_select < at))
    {
        return Err("copies rows (INSERT ... SELECT), whose keys may be there already".to_owned());
    }
    let is_variable = |token: &DigestToken| token.is_symbol("@");
    if written.iter().any(is_variable) {
        return Err("uses variables of the session or the server".to_owned());
    }
    let sampled = digest.sample.as_deref().and_then(|sample| with_sample(&written, sample));
    let mut tokens = sampled.unwrap_or(written);
    let named = tables_of(&mut tokens, schema, facts)?;
    let calls = digest.calls.max(1) as f64;
    let changed = digest.rows_affected as f64 / calls;
    let rows = if verb == "SELECT" || verb == "WITH" {
        digest.rows_examined as f64 / calls
    } else {
        changed
    };
    let scope = StatementScope { facts, named: &named, rows };
    let tokens = scope.with_lists(&tokens);
    let tokens = with_literals(tokens);
    let values = scope.values(&tokens);
    if values.len() > PARAMETERS_MAX {
        return Err(format!("has {} values, and {PARAMETERS_MAX} at most are run", values.len()));
    }
    let mut tables: Vec<usize> = Vec::new();
    for (_, table) in &named {
        if !tables.contains(table) {
            tables.push(*table);
        }
    }
    let sql = sql_parts(&tokens);
    let rows_sent = digest.rows_sent as f64 / calls;
    Ok(DigestStatement { verb, tables, sql, values, rows, rows_sent })
}

/// The tables that a statement names, by their aliases too. Their schema is left out of the
/// statement, and they are written as the server has them.
fn tables_of(
    tokens: &mut Vec<DigestToken>,
    schema: &str,
    facts: &[TableFacts],
) -> Result<Vec<(String, usize)>, String> {
    let mut named = Vec::new();
    // Whether FROM is that of a query, in each open parenthesis: EXTRACT has one, too.
    let mut queries = vec![true];
    let mut is_expected = false;
    let mut at = 0;
    while at < tokens.len() {
        let is = |at: usize, word: &str| tokens.get(at).is_some_and(|token| token.is_word(word));
        let is_symbol = |at: usize, of: &str| tokens.get(at).is_some_and(|it| it.is_symbol(of));
        let before = |words: &[&str]| at > 0 && words.iter().any(|word| is(at - 1, word));
        let first = at == 0;
        if is_symbol(at, "(") {
            queries.push(is(at + 1, "SELECT") || is_expected);
        } else if is_symbol(at, ")") {
            queries.pop();
        }
        let begins = is(at, "FROM") && queries.last() == Some(&true)
            || ["JOIN", "INTO", "STRAIGHT_JOIN"].iter().any(|word| is(at, word))
            || is(at, "UPDATE") && !before(&["FOR", "KEY"])
            || first && (is(at, "INSERT") || is(at, "REPLACE"));
        let goes_on = ["IGNORE", "LOW_PRIORITY", "DELAYED", "HIGH_PRIORITY"];
        if begins || is_expected && goes_on.iter().any(|word| is(at, word)) {
            (is_expected, at) = (true, at + 1);
            continue;
        }
        let name = tokens[at].name().map(str::to_owned);
        let Some(name) = name.filter(|_| is_expected) else {
            is_expected &= is_symbol(at, "(") && !is(at + 1, "SELECT");
            at += 1;
            continue;
        };
        if is_symbol(at + 1, ".") {
            if !name.eq_ignore_ascii_case(schema) {
                return Err(format!("reads or changes another schema, {name}"));
            }
            tokens.drain(at..at + 2);
            continue;
        }
        let is_named = |of: &&TableFacts| of.name == name;
        let is_like = |of: &&TableFacts| of.name.eq_ignore_ascii_case(&name);
        let known = facts.iter().find(is_named).or_else(|| facts.iter().find(is_like));
        if let Some(known) = known {
            if known.is_view {
                return Err(format!("reads the view {name}, which is not made"));
            }
            // Without quotes where it had none, so that its digest stays the same.
            tokens[at] = match tokens[at] {
                DigestToken::Word(_) => DigestToken::Word(known.name.clone()),
                _ => DigestToken::Name(known.name.clone()),
            };
            let place = facts.iter().position(|of| of.name == known.name).unwrap_or_default();
            named.push((known.name.clone(), place));
            let alias = at + 1 + usize::from(tokens.get(at + 1).is_some_and(|of| of.is_word("AS")));
            if let Some(DigestToken::Name(alias)) = tokens.get(alias) {
                named.push((alias.clone(), place));
            }
        } else if !is_derived(tokens, &name) {
            return Err(format!("there is no table {name} (any more)"));
        }
        at += 1;
        let is_alias =
            |token: &DigestToken| token.is_word("AS") || matches!(token, DigestToken::Name(_));
        while tokens.get(at).is_some_and(is_alias) {
            at += 1;
        }
        is_expected = tokens.get(at).is_some_and(|token| token.is_symbol(","));
        at += usize::from(is_expected);
    }
    Ok(named)
}

/// Is it the name of a query in the statement (WITH)?
fn is_derived(tokens: &[DigestToken], name: &str) -> bool {
    let mut threes = tokens.windows(3);
    let begins = |of: &[DigestToken]| of[1].is_word("AS") && of[2].is_symbol("(");
    name.eq_ignore_ascii_case("DUAL") || threes.any(|of| of[0].name() == Some(name) && begins(of))
}

/// Literals that cannot be parameters: places in ORDER BY, lengths of types, digits of NOW().
fn with_literals(tokens: Vec<DigestToken>) -> Vec<DigestToken> {
    let mut out: Vec<DigestToken> = Vec::new();
    let mut is_list_of_places = false;
    for token in tokens {
        let last = |count: usize| out.len().checked_sub(count).map(|at| &out[at]);
        let is_last = |count, words: &[&str]| {
            last(count).is_some_and(|token| words.iter().any(|word| token.is_word(word)))
        };
        if token.is_word("BY") {
            is_list_of_places = true;
        } else if ["LIMIT", "FOR", "HAVING", "UNION", "ORDER"].iter().any(|of| token.is_word(of)) {
            is_list_of_places = false;
        }
        let DigestToken::Value(sample) = &token else {
            out.push(token);
            continue;
        };
        let is_comma = last(1).is_some_and(|token| token.is_symbol(","));
        let is_open = last(1).is_some_and(|token| token.is_symbol("("));
        let is_length = |words: &[&str]| is_open && is_last(2, words);
        let times = ["NOW", "SYSDATE", "CURRENT_TIMESTAMP", "CURTIME", "UTC_TIMESTAMP"];
        let types = ["CHAR", "CHARACTER", "NCHAR", "BINARY", "DECIMAL", "TIME", "DATETIME"];
        let literal = if is_last(1, &["BY"]) || is_comma && is_list_of_places {
            "1"
        } else if is_length(&times) || is_length(&types) && is_last(3, &["AS"]) {
            "6"
        } else if is_last(1, &["SEPARATOR"]) {
            "','"
        } else if last(1).is_some_and(|token| token.is_symbol("->") || token.is_symbol("->>")) {
            "'$.a'"
        } else {
            out.push(token);
            continue;
        };
        let is_number = |of: &&String| of.bytes().all(|byte| byte.is_ascii_digit());
        let literal = sample.as_ref().filter(is_number).map_or(literal, String::as_str);
        let literal = DigestToken::symbol(literal);
        out.push(literal);
    }
    out
}

/// May it be the name of a function?
fn is_function(token: &DigestToken) -> bool {
    const OTHERS: [&str; 16] = [
        "IN", "VALUES", "VALUE", "AND", "OR", "NOT", "ON", "WHERE", "AS", "FROM", "JOIN", "USING",
        "EXISTS", "SELECT", "WHEN", "THEN",
    ];
    matches!(token, DigestToken::Word(_)) && !OTHERS.iter().any(|word| token.is_word(word))
}

/// The text between the values.
fn sql_parts(tokens: &[DigestToken]) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut joins = true;
    let mut last: Option<&DigestToken> = None;
    for token in tokens {
        let is_tight = [".", ",", ")"].iter().any(|of| token.is_symbol(of))
            // Without IGNORE_SPACE no space stands between a function and its parenthesis.
            || token.is_symbol("(") && last.is_some_and(is_function);
        if let Some(part) = parts.last_mut().filter(|_| !joins && !is_tight) {
            part.push(' ');
        }
        let text = match token {
            DigestToken::Word(text) | DigestToken::Symbol(text) => text.clone(),
            DigestToken::Name(name) => quoted(name),
            DigestToken::Values | DigestToken::List | DigestToken::More => String::new(),
            DigestToken::Value(_) => {
                parts.push(String::new());
                String::new()
            }
        };
        if let Some(part) = parts.last_mut() {
            part.push_str(&text);
        }
        joins = token.is_symbol(".") || token.is_symbol("(");
        last = Some(token);
    }
    parts
}
