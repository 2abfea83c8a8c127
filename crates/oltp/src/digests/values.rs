//! What the values of a statement are: lists of them get a length, and each the column that it is
//! compared with or stored in.

use super::tables::TableFacts;
use super::tokens::DigestToken;

/// A value of a statement.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct DigestValue {
    /// Places of table and column.
    pub(super) column: Option<(usize, usize)>,
    pub(super) kind: ValueUse,
    pub(super) sample: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ValueUse {
    /// It is compared with a column.
    Compared,
    /// The end of a range that begins with another value of the statement.
    EndOf(usize),
    Like,
    /// It is stored in a row that is inserted.
    Inserted,
    /// It is assigned to a column of a row that is there.
    Assigned,
    Limit,
    Offset,
    /// Of a sum, or of an interval.
    Amount,
    Unknown,
}

/// What names of a statement mean.
pub(super) struct StatementScope<'a> {
    pub(super) facts: &'a [TableFacts],
    /// Names and aliases, with the places of their tables; the one that is changed is the first.
    pub(super) named: &'a [(String, usize)],
    /// That a call examines or changes.
    pub(super) rows: f64,
}

/// Values of lists and rows that a statement is given.
const VALUES_OF_LISTS_MAX: usize = 60;
/// Of a list whose length is not known.
const LIST_DEFAULT: usize = 3;

const COMPARISONS: [&str; 8] = ["=", "<=>", "<", ">", "<=", ">=", "!=", "<>"];

impl StatementScope<'_> {
    /// The columns that an INSERT has values for.
    fn inserted(&self, tokens: &[DigestToken]) -> Vec<Option<(usize, usize)>> {
        let Some((name, table)) = self.named.first() else { return Vec::new() };
        let at = tokens.iter().position(|token| token.name() == Some(name.as_str()));
        let behind = at.map_or(&[][..], |at| &tokens[at + 1..]);
        match behind.split_first() {
            Some((open, names)) if open.is_symbol("(") => {
                let names = names.iter().take_while(|token| !token.is_symbol(")"));
                let names = names.filter(|token| !token.is_symbol(","));
                names.map(|token| self.column(None, token.name()?)).collect()
            }
            _ => (0..self.facts[*table].columns.len()).map(|at| Some((*table, at))).collect(),
        }
    }

    fn column(&self, qualifier: Option<&str>, name: &str) -> Option<(usize, usize)> {
        self.named.iter().find_map(|(alias, table)| {
            let is_it = qualifier.is_none_or(|qualifier| qualifier.eq_ignore_ascii_case(alias));
            let mut columns = self.facts[*table].columns.iter();
            let at = columns.position(|of| is_it && of.name.eq_ignore_ascii_case(name))?;
            Some((*table, at))
        })
    }

    /// The column whose name ends before `end`.
    fn column_before(&self, tokens: &[DigestToken], end: usize) -> Option<(usize, usize)> {
        let end = if tokens[..end].last()?.is_word("NOT") { end - 1 } else { end };
        match &tokens[..end] {
            [.., qualifier, dot, name] if dot.is_symbol(".") => {
                self.column(Some(qualifier.name()?), name.name()?)
            }
            [.., name] => self.column(None, name.name()?),
            [] => None,
        }
    }

    /// The statement with as many values as its lists may have had.
    pub(super) fn with_lists(&self, tokens: &[DigestToken]) -> Vec<DigestToken> {
        let inserted = self.inserted(tokens).len().max(1);
        let mut out: Vec<DigestToken> = Vec::new();
        // The last row, and where parentheses are open.
        let (mut is_of_rows, mut row, mut open) = (false, 0..0, Vec::new());
        for (at, token) in tokens.iter().enumerate() {
            let before = |count: usize, word: &str| {
                at.checked_sub(count).is_some_and(|at| tokens[at].is_word(word))
            };
            let opens =
                |count: usize| at.checked_sub(count).is_some_and(|at| tokens[at].is_symbol("("));
            is_of_rows |= token.is_word("VALUES") || token.is_word("VALUE");
            is_of_rows &= !token.is_word("ON");
            let values = |count: usize| {
                let all =
                    (0..count).flat_map(|_| [DigestToken::symbol(","), DigestToken::Value(None)]);
                all.skip(1)
            };
            match token {
                DigestToken::List if before(1, "DECIMAL") => {
                    out.push(DigestToken::symbol("(10, 2)"));
                }
                DigestToken::List => {
                    let of_others = if is_of_rows { inserted } else { 2 };
                    let count = self.list_length(tokens, at).unwrap_or(of_others);
                    let start = out.len();
                    out.push(DigestToken::symbol("("));
                    out.extend(values(count));
                    out.push(DigestToken::symbol(")"));
                    row = start..out.len();
                }
                DigestToken::More => {
                    let width = row.len() / 2;
                    let rows = if is_of_rows { self.rows.round() as usize } else { LIST_DEFAULT };
                    let rows = rows.min(VALUES_OF_LISTS_MAX / width.max(1)).max(2);
                    for _ in 1..rows {
                        let again = out[row.clone()].to_vec();
                        out.push(DigestToken::symbol(","));
                        out.extend(again);
                    }
                }
                DigestToken::Values if is_of_rows && opens(1) => {
                    // The others of the row stand behind them.
                    let rest = row_items(&tokens[at + 1..]);
                    out.extend(values(inserted.saturating_sub(rest).max(2)));
                }
                DigestToken::Values => out.extend(values(2)),
                DigestToken::Word(word) if word == "_charset" && opens(1) => {
                    out.pop();
                    open.pop();
                }
                token if token.is_symbol(")") && before(1, "_charset") => {}
                DigestToken::Word(_)
                | DigestToken::Name(_)
                | DigestToken::Value(_)
                | DigestToken::Symbol(_) => {
                    if token.is_symbol("(") {
                        open.push(out.len());
                    }
                    out.push(token.clone());
                    if token.is_symbol(")") {
                        row = open.pop().unwrap_or(0)..out.len();
                    }
                }
            }
        }
        out
    }

    /// How many values the list of an IN has: as many as it compares them with, or, where they are
    /// keys of rows, about as many as rows are found. None of other lists.
    fn list_length(&self, tokens: &[DigestToken], at: usize) -> Option<usize> {
        let before = |count: usize| at.checked_sub(count).map(|at| &tokens[at]);
        if before(2).is_some_and(|of| of.is_word("IN")) && before(1)?.is_symbol("(") {
            let left = tokens[..at - 2].iter().rev().take_while(|token| !token.is_symbol("("));
            return Some(left.filter(|token| token.is_symbol(",")).count() + 1);
        }
        before(1).filter(|of| of.is_word("IN"))?;
        let is_key = self.column_before(tokens, at - 1).is_some_and(|(table, column)| {
            let mut keys = self.facts[table].keys.iter();
            keys.any(|key| key.is_unique && key.columns.len() == 1 && key.columns[0].0 == column)
        });
        let rows = self.rows.round() as usize;
        Some(if is_key && rows > 1 { rows.min(VALUES_OF_LISTS_MAX) } else { LIST_DEFAULT })
    }

    /// The values of a statement without lists, in their order.
    pub(super) fn values(&self, tokens: &[DigestToken]) -> Vec<DigestValue> {
        let inserted = self.inserted(tokens);
        let mut values: Vec<DigestValue> = Vec::new();
        // Ranges that have begun, with their columns.
        let mut begun: Vec<usize> = Vec::new();
        let (mut is_of_rows, mut is_set) = (false, false);
        let (mut depth, mut item) = (0, 0);
        for (at, token) in tokens.iter().enumerate() {
            let before = |word: &str| at > 0 && tokens[at - 1].is_word(word);
            if token.is_word("VALUES") || token.is_word("VALUE") {
                is_of_rows = values.is_empty();
            } else if token.is_word("SET") || token.is_word("UPDATE") && before("KEY") {
                (is_of_rows, is_set) = (false, true);
            } else if token.is_word("WHERE") {
                is_set = false;
            }
            match token {
                DigestToken::Symbol(symbol) if symbol == "(" => {
                    depth += 1;
                    item = if depth == 1 { 0 } else { item };
                }
                DigestToken::Symbol(symbol) if symbol == ")" => depth -= 1,
                DigestToken::Symbol(symbol) if symbol == "," && depth == 1 => item += 1,
                _ => {}
            }
            let DigestToken::Value(sample) = token else { continue };
            let is_edge = |at: usize| {
                tokens.get(at).is_some_and(|of| [",", "(", ")"].iter().any(|it| of.is_symbol(it)))
            };
            let (mut kind, mut column) = self.use_of(tokens, at);
            if is_of_rows && depth == 1 && is_edge(at - 1) && is_edge(at + 1) {
                (kind, column) = (ValueUse::Inserted, inserted.get(item).copied().flatten());
            } else if is_set && kind == ValueUse::Compared {
                let is_row = tokens[0].is_word("INSERT") || tokens[0].is_word("REPLACE");
                let is_row = is_row && tokens[..at].iter().all(|token| !token.is_word("ON"));
                kind = if is_row { ValueUse::Inserted } else { ValueUse::Assigned };
            } else if column.is_some() && at > 0 {
                let is = |of: &[&str]| of.iter().any(|of| tokens[at - 1].is_symbol(of));
                let other = begun.iter().copied().find(|of| values[*of].column == column);
                if is(&["<", "<="]) || before("AND") {
                    kind = other.map_or(kind, ValueUse::EndOf);
                    begun.retain(|of| Some(*of) != other);
                } else if is(&[">", ">="]) || before("BETWEEN") {
                    begun.push(values.len());
                }
            }
            values.push(DigestValue { column, kind, sample: sample.clone() });
        }
        values
    }

    /// What the value at this place is for, as what stands around it says.
    fn use_of(&self, tokens: &[DigestToken], at: usize) -> (ValueUse, Option<(usize, usize)>) {
        let symbol = |at: usize, all: &[&str]| {
            tokens.get(at).is_some_and(|token| all.iter().any(|of| token.is_symbol(of)))
        };
        let behind = |back: usize, word: &str| {
            at.checked_sub(back).is_some_and(|at| tokens[at].is_word(word))
        };
        let compared = |end: usize| match self.column_before(tokens, end) {
            Some(column) => (ValueUse::Compared, Some(column)),
            None => (ValueUse::Unknown, None),
        };
        if at == 0 {
            return (ValueUse::Unknown, None);
        }
        // Over the values before it, to the parenthesis of a list.
        let is_listed =
            |at: &usize| matches!(tokens[*at], DigestToken::Value(_)) || symbol(*at, &[","]);
        let open = (0..at).rev().find(|at| !is_listed(at)).unwrap_or(0);
        if behind(1, "OFFSET") || behind(1, "LIMIT") && symbol(at + 1, &[","]) {
            (ValueUse::Offset, None)
        } else if behind(1, "LIMIT") || behind(3, "LIMIT") && symbol(at - 1, &[","]) {
            (ValueUse::Limit, None)
        } else if behind(1, "LIKE") {
            (ValueUse::Like, self.column_before(tokens, at - 1))
        } else if behind(1, "BETWEEN") || symbol(at - 1, &COMPARISONS) {
            compared(at - 1)
        } else if behind(1, "AND") && behind(3, "BETWEEN") {
            compared(at - 3)
        } else if symbol(open, &["("]) && open > 1 && tokens[open - 1].is_word("IN") {
            compared(open - 1)
        } else if symbol(at + 1, &COMPARISONS) {
            let end = if symbol(at + 3, &["."]) { at + 5 } else { at + 3 };
            compared(end.min(tokens.len()))
        } else if behind(1, "INTERVAL") || symbol(at - 1, &["+", "-", "*", "/", "%"]) {
            (ValueUse::Amount, None)
        } else {
            (ValueUse::Unknown, None)
        }
    }
}

/// Items of a row behind what stands there.
fn row_items(rest: &[DigestToken]) -> usize {
    let (mut depth, mut items) = (0_i32, 0);
    for token in rest {
        match token {
            DigestToken::Symbol(symbol) if symbol == "(" => depth += 1,
            DigestToken::Symbol(symbol) if symbol == ")" => depth -= 1,
            DigestToken::Symbol(symbol) if symbol == "," && depth == 0 => items += 1,
            _ => {}
        }
        if depth < 0 {
            break;
        }
    }
    items
}
