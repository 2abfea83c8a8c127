//! Workloads of a file: TOML with weighted transactions, each a list of SQL statements whose
//! parameters are generated. `docs/oltp.md` has the keys.

use crate::generate::{Generator, Literal, Span};
use crate::script::{PARAMETERS_MAX, Script, ScriptCheck, ScriptStatement, ScriptTransaction};
use crate::sql::{created_table, is_bracket, named_parameters, verb};
use base::limits::TRANSACTION_TYPES_MAX;
use base::{line_and_column, lock};
use drive::TransactionInfo;
use serde::Deserialize;
use spec::RandType;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Mutex;
use toml::Spanned;
use xxhash_rust::xxh3::xxh3_64;

/// What a file says.
#[derive(Debug)]
pub struct WorkloadFile {
    pub script: Script,
    /// Of its text.
    pub(crate) xxh3: u64,
    pub(crate) setup: Vec<SetupStatement>,
}

impl WorkloadFile {
    /// Is it a table that the setup creates, if this is the schema of its name? Servers may have
    /// changed the case of its name.
    pub(crate) fn creates(&self, table: &str) -> bool {
        let mut created = self.setup.iter().filter_map(|of| created_table(&of.sql));
        created.any(|(_, name)| name.eq_ignore_ascii_case(table))
    }
}

/// A statement of `mydyno load`.
#[derive(Debug)]
pub(crate) struct SetupStatement {
    pub(crate) sql: String,
    /// How often it runs.
    pub(crate) times: u64,
    pub(crate) generators: Vec<Generator>,
    pub(crate) parameters: Vec<usize>,
}

/// What is wrong with a file, and on which line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {what}")]
pub struct FileError {
    pub line: usize,
    pub what: String,
}

/// The document, as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WorkloadDocument {
    #[serde(default)]
    setup: Vec<SetupTable>,
    transaction: Vec<Spanned<TransactionTable>>,
    #[serde(default)]
    check: Vec<ScriptCheck>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SetupTable {
    sql: Spanned<String>,
    times: Option<u64>,
    #[serde(default)]
    parameters: Parameters,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TransactionTable {
    name: Spanned<String>,
    weight: Option<Spanned<f64>>,
    primary: Option<bool>,
    statements: Vec<Spanned<String>>,
    #[serde(default)]
    parameters: Parameters,
}

type Parameters = BTreeMap<String, Spanned<ParameterKind>>;

/// How a parameter is generated.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
enum ParameterKind {
    Uniform {
        from: i64,
        to: i64,
    },
    Special {
        from: i64,
        to: i64,
    },
    Gaussian {
        from: i64,
        to: i64,
    },
    Pareto {
        from: i64,
        to: i64,
        h: Option<f64>,
    },
    #[serde(alias = "zipfian")]
    Zipf {
        from: i64,
        to: i64,
        exponent: Option<f64>,
    },
    Sequence {
        from: i64,
    },
    String {
        length: u32,
        from: Option<i64>,
        to: Option<i64>,
    },
    OneOf(Vec<toml::Value>),
    Offset {
        of: String,
        plus: i64,
    },
}

/// What is wrong, and which bytes of the text are.
type WrongSpan = (Range<usize>, String);

/// Reads the text of a file.
///
/// # Errors
/// The first thing that is wrong, with its line.
pub fn read(text: &str) -> Result<WorkloadFile, FileError> {
    let line = |span: &Range<usize>| line_and_column(text, span.start).0;
    let document: WorkloadDocument = toml::from_str(text).map_err(|error| {
        let line = line(&error.span().unwrap_or(0..0));
        let written = text.lines().nth(line - 1).unwrap_or_default().trim();
        let has_null = written.to_ascii_lowercase().contains("null");
        let hint = if has_null { "; NULL is { null = true }" } else { "" };
        FileError { line, what: format!("`{written}`: {}{hint}", error.message()) }
    })?;
    file_of(document, xxh3_64(text.as_bytes()))
        .map_err(|(span, what)| FileError { line: line(&span), what })
}

fn file_of(document: WorkloadDocument, xxh3: u64) -> Result<WorkloadFile, WrongSpan> {
    let count = document.transaction.len();
    if count == 0 || count > TRANSACTION_TYPES_MAX {
        let what = format!(
            "transaction: there are {count}, and a workload has 1 to {TRANSACTION_TYPES_MAX}"
        );
        return Err((0..0, what));
    }
    let mut types: Vec<TransactionInfo> = Vec::new();
    let mut transactions = Vec::new();
    for table in document.transaction {
        let span = table.span();
        let table = table.into_inner();
        let name = table.name.get_ref();
        let is_name = |c: char| c.is_alphanumeric() || c == '_';
        if name.is_empty() || !name.chars().all(is_name) {
            let what = format!("name: {name:?} is not made of letters, digits and _");
            return Err((table.name.span(), what));
        }
        if types.iter().any(|known| known.name == name) {
            return Err((table.name.span(), format!("name: there are two transactions {name:?}")));
        }
        types.push(TransactionInfo {
            name: interned(name),
            is_primary: table.primary.unwrap_or(true),
            is_deferred: false,
            share: table.weight.as_ref().map_or(1.0, |weight| *weight.get_ref()),
            row_bytes: None,
        });
        transactions.push(transaction(table, span)?);
    }
    if !types.iter().any(|of| of.is_primary) {
        let what = "primary: no transaction is, so that there would be no throughput".to_owned();
        return Err((0..0, what));
    }
    let setup = document.setup.into_iter().map(setup);
    let setup = setup.collect::<Result<_, _>>()?;
    let (types, checks) = (types_of(types), document.check);
    let script = Script { types, transactions, checks, constant: None };
    Ok(WorkloadFile { script, xxh3, setup })
}

fn setup(table: SetupTable) -> Result<SetupStatement, WrongSpan> {
    let mut named = NamedParameters::new("setup".to_owned(), table.parameters)?;
    let (sql, parameters) = named.statement(&table.sql)?;
    let generators = named.all_used(table.sql.span())?;
    Ok(SetupStatement { sql, times: table.times.unwrap_or(1), generators, parameters })
}

fn transaction(
    table: TransactionTable,
    span: Range<usize>,
) -> Result<ScriptTransaction, WrongSpan> {
    let of = format!("transaction {:?}", table.name.get_ref());
    let is_weight = |weight: f64| weight.is_finite() && weight > 0.0;
    if let Some(weight) = table.weight.filter(|weight| !is_weight(*weight.get_ref())) {
        let (span, weight) = (weight.span(), weight.get_ref());
        let what = format!("{of}, weight: {weight} is no weight; name a number above 0");
        return Err((span, what));
    }
    if table.statements.is_empty() {
        return Err((span, format!("{of}, statements: there is none")));
    }
    let mut named = NamedParameters::new(of, table.parameters)?;
    let mut steps = Vec::new();
    for (index, written) in table.statements.iter().enumerate() {
        if is_bracket(written.get_ref()) {
            let what = format!(
                "{}, statements: BEGIN and COMMIT stand around several statements by themselves; \
                 leave them out",
                named.of
            );
            return Err((written.span(), what));
        }
        let (sql, parameters) = named.statement(written)?;
        steps.push(ScriptStatement {
            kind: interned(&format!("{}_{}", verb(&sql), index + 1)),
            variants: vec![sql],
            picked_by: None,
            parameters,
        });
    }
    let generators = named.all_used(span)?;
    Ok(ScriptTransaction { generators, steps })
}

/// The parameters of the setup or of a transaction, which `of` says to people.
struct NamedParameters {
    of: String,
    names: Vec<String>,
    generators: Vec<Generator>,
    /// Does a statement have it?
    used: Vec<bool>,
}

impl NamedParameters {
    /// An offset stands behind what it is of.
    fn new(of: String, parameters: Parameters) -> Result<NamedParameters, WrongSpan> {
        let is_offset = |kind: &ParameterKind| matches!(kind, ParameterKind::Offset { .. });
        let mut all: Vec<_> = parameters.into_iter().collect();
        all.sort_by_key(|(_, kind)| is_offset(kind.get_ref()));
        let mut names: Vec<String> = Vec::new();
        let mut generators = Vec::new();
        for (name, kind) in all {
            let span = kind.span();
            let generator = generator(kind.into_inner(), &names);
            let wrong = |why| (span, format!("{of}, parameters.{name}: {why}"));
            generators.push(generator.map_err(wrong)?);
            names.push(name);
        }
        let used = vec![false; names.len()];
        Ok(NamedParameters { of, names, generators, used })
    }

    /// The statement with `?` for its parameters, and their places.
    fn statement(&mut self, written: &Spanned<String>) -> Result<(String, Vec<usize>), WrongSpan> {
        let of = &self.of;
        let (sql, parameters) = named_parameters(written.get_ref())
            .map_err(|why| (written.span(), format!("{of}: {why}")))?;
        if parameters.len() > PARAMETERS_MAX {
            let count = parameters.len();
            let what =
                format!("{of}: a statement has {count} parameters, and {PARAMETERS_MAX} at most");
            return Err((written.span(), what));
        }
        let mut places = Vec::new();
        for parameter in parameters {
            let Some(place) = self.names.iter().position(|name| *name == parameter) else {
                let what = format!(
                    "{of}: the statement has the parameter :{parameter}, and `parameters` has none \
                     of that name"
                );
                return Err((written.span(), what));
            };
            self.used[place] = true;
            places.push(place);
        }
        Ok((sql, places))
    }

    /// The generators, all of which statements use.
    fn all_used(self, span: Range<usize>) -> Result<Vec<Generator>, WrongSpan> {
        let NamedParameters { of, names, generators, used } = self;
        match names.iter().zip(used).find(|(_, is_used)| !*is_used) {
            Some((name, _)) => {
                Err((span, format!("{of}, parameters.{name}: no statement has :{name}")))
            }
            None => Ok(generators),
        }
    }
}

fn generator(kind: ParameterKind, names: &[String]) -> Result<Generator, String> {
    let span = |from: i64, to: i64| match from <= to {
        true => Ok(Span { from, to }),
        false => Err(format!("from {from} is above to {to}")),
    };
    Ok(match kind {
        ParameterKind::Uniform { from, to } => Generator::of(RandType::Uniform, span(from, to)?),
        ParameterKind::Gaussian { from, to } => Generator::of(RandType::Gaussian, span(from, to)?),
        ParameterKind::Special { from, to } => Generator::of(RandType::Special, span(from, to)?),
        ParameterKind::Pareto { from, to, h } => {
            let rand_type = h.map_or(Ok(RandType::PARETO), |h| RandType::PARETO.with(h))?;
            Generator::of(rand_type, span(from, to)?)
        }
        ParameterKind::Zipf { from, to, exponent } => {
            let with = |exponent| RandType::ZIPFIAN.with(exponent);
            let rand_type = exponent.map_or(Ok(RandType::ZIPFIAN), with)?;
            Generator::of(rand_type, span(from, to)?)
        }
        ParameterKind::Sequence { from } => Generator::Sequence(from.into()),
        ParameterKind::String { length, .. } if length > STRING_MAX => {
            return Err(format!("length {length} is above {STRING_MAX}"));
        }
        ParameterKind::String { length, from: Some(from), to: Some(to) } => {
            Generator::Number(span(from, to)?, length)
        }
        ParameterKind::String { length, from: None, to: None } => Generator::Text(length),
        ParameterKind::String { .. } => {
            return Err("from and to belong together; name both, or none".to_owned());
        }
        ParameterKind::OneOf(values) if values.is_empty() => {
            return Err("the list is empty".to_owned());
        }
        ParameterKind::OneOf(values) => {
            Generator::OneOf(values.into_iter().map(literal).collect::<Result<_, _>>()?)
        }
        ParameterKind::Offset { of, plus } => {
            let place = names.iter().position(|name| *name == of);
            let of =
                place.ok_or_else(|| format!("there is no parameter {of:?} to be offset from"))?;
            Generator::Offset { of, plus }
        }
    })
}

fn literal(value: toml::Value) -> Result<Literal, String> {
    match value {
        toml::Value::Integer(value) => Ok(Literal::Int(value)),
        toml::Value::Boolean(value) => Ok(Literal::Int(value.into())),
        toml::Value::Float(value) if value.is_finite() => Ok(Literal::Decimal(value.to_string())),
        toml::Value::String(text) => Ok(Literal::Text(text)),
        // As MySQL writes them.
        toml::Value::Datetime(time) if time.offset.is_none() => {
            Ok(Literal::Text(time.to_string().replace('T', " ")))
        }
        toml::Value::Table(table) if is_null(&table) => Ok(Literal::Null),
        other => Err(format!(
            "{other} is no number, string or date without a time zone, nor {{ null = true }}"
        )),
    }
}

fn is_null(table: &toml::Table) -> bool {
    table.len() == 1 && table.get("null") == Some(&toml::Value::Boolean(true))
}

/// Longest string that is generated.
const STRING_MAX: u32 = 65_535;

/// What lives as long as the program, as results are kept under it: each is kept once, however
/// often a file is read.
fn kept<T: PartialEq + ?Sized>(
    all: &Mutex<Vec<&'static T>>,
    new: &T,
    leak: impl FnOnce() -> &'static T,
) -> &'static T {
    let mut all = lock(all);
    if let Some(known) = all.iter().find(|known| **known == new) {
        return known;
    }
    let new = leak();
    all.push(new);
    new
}

fn interned(name: &str) -> &'static str {
    static NAMES: Mutex<Vec<&'static str>> = Mutex::new(Vec::new());
    kept(&NAMES, name, || name.to_owned().leak())
}

/// The same of lists of types, whose shares are weights yet.
fn types_of(mut types: Vec<TransactionInfo>) -> &'static [TransactionInfo] {
    static TYPES: Mutex<Vec<&'static [TransactionInfo]>> = Mutex::new(Vec::new());
    let weights: f64 = types.iter().map(|of| of.share).sum();
    for of in &mut types {
        of.share /= weights;
    }
    kept(&TYPES, &types, || types.clone().leak())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHOP: &str = include_str!("../../../plans/shop.workload.toml");

    fn wrong(text: &str) -> String {
        read(text).unwrap_err().to_string()
    }

    #[test]
    fn the_example_is_right() {
        let file = read(SHOP).unwrap();
        let names: Vec<&str> = file.script.types.iter().map(|of| of.name).collect();
        assert_eq!(names, ["browse", "buy", "restock"]);
        assert_eq!(file.script.checks.len(), 1);
        assert!(file.script.transactions[1].steps.len() > 1);
        assert_eq!(file.script.transactions[0].steps.len(), 1);
        let again = read(SHOP).unwrap();
        assert!(std::ptr::eq(file.script.types, again.script.types));
    }

    #[test]
    fn errors_name_line_and_key() {
        let transaction = "[[transaction]]\nname = \"a\"\n";
        let with = |rest: &str| wrong(&format!("{transaction}{rest}"));
        for (message, words) in [
            (with("statements = [\"SELECT 1\"]\n[x]\n"), ["line 4", "`x`"]),
            (with("statments = []\n"), ["line 3", "`statments`"]),
            (with(""), ["line 1", "`statements`"]),
            (with("statements = []\n"), ["line 1", "statements"]),
            (with("statements = [\n\"SELECT :id\",\n]\n"), ["line 4", "parameter :id"]),
            (with("statements = [\"SELECT 1\"]\nweight = -1\n"), ["line 4", "weight"]),
            (
                with(
                    "statements = [\"SELECT 1\"]\nparameters.id = { uniform = { from = 1, to = 2 } \
                     }\n",
                ),
                ["line 1", "parameters.id"],
            ),
            (
                with(
                    "statements = [\"SELECT :id\"]\nparameters.id = { uniform = { from = 3, to = 2 \
                     } }\n",
                ),
                ["line 4", "parameters.id"],
            ),
            (
                with(
                    "statements = [\"SELECT :id\"]\nparameters.id = { uniform = { from = 3, upto = \
                     2 } }\n",
                ),
                ["line 4", "upto"],
            ),
            (
                with("statements = [\"SELECT :id\"]\nparameters.id = { one_of = [nan] }\n"),
                ["line 4", "nan"],
            ),
            (with("statements = [\"SELECT 1; SELECT 2\"]\n"), ["line 3", "several"]),
            (
                with("statements = [\"SELECT :id\"]\nparameters.id = { one_of = [NULL] }\n"),
                ["line 4", "null = true"],
            ),
            (with("statements = [\n\"begin\",\n\"SELECT 1\"]\n"), ["line 4", "BEGIN and COMMIT"]),
            (
                with(
                    "statements = [\"SELECT :id\"]\nparameters.id = { offset = { of = \"x\", plus \
                     = 1 } }\n",
                ),
                ["line 4", "\"x\""],
            ),
        ] {
            assert!(words.iter().all(|word| message.contains(word)), "{message}");
        }
    }
}
