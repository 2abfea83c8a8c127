//! The text of a workload file that digests make.

use super::digest::{Digest, DigestOptions};
use super::read::ObservedDigests;
use super::statement::DigestStatement;
use super::tables::{ColumnFacts, INSERTED_FACTOR, MadeTable, Numbers, ValueKind, toml_text};
use super::values::{DigestValue, ValueUse};
use std::collections::BTreeSet;
use std::fmt::Write;

/// A digest that the workload does not have.
#[derive(Debug)]
pub(super) struct LeftOut {
    pub(super) place: usize,
    pub(super) why: String,
}

/// What a file is made of.
pub(super) struct DigestText<'a> {
    pub(super) observed: &'a ObservedDigests,
    /// By the places of their digests.
    pub(super) kept: &'a [(usize, DigestStatement)],
    pub(super) left_out: &'a [LeftOut],
    pub(super) options: DigestOptions,
}

/// Digests that are told one by one; the others as a sum.
const LEFT_OUT_LINES_MAX: usize = 20;
/// Characters of a digest in a line on it.
const DIGEST_CHARS_MAX: usize = 60;

fn calls(digests: &[Digest]) -> u64 {
    digests.iter().map(|digest| digest.calls).sum()
}

fn percent((part, all): (u64, u64)) -> String {
    format!("{:.1} %", part as f64 * 100.0 / all.max(1) as f64)
}

/// A line for each digest that is left out, with its share of the calls.
pub(super) fn left_out_lines(observed: &ObservedDigests, left_out: &[LeftOut]) -> Vec<String> {
    let all = calls(&observed.digests);
    let share = |of: &LeftOut| percent((observed.digests[of.place].calls, all));
    let line = |of: &LeftOut| {
        let digest = &observed.digests[of.place].text;
        let short: String = digest.chars().take(DIGEST_CHARS_MAX).collect();
        let dots = if short.len() < digest.len() { "..." } else { "" };
        format!("{:>7} {short}{dots}: {}", share(of), of.why.replace('\n', " "))
    };
    let (told, others) = left_out.split_at(left_out.len().min(LEFT_OUT_LINES_MAX));
    let mut lines: Vec<String> = told.iter().map(line).collect();
    if !others.is_empty() {
        let sum = others.iter().map(|of| observed.digests[of.place].calls).sum();
        lines.push(format!("{:>7} {} others", percent((sum, all)), others.len()));
    }
    lines
}

impl DigestText<'_> {
    /// What is told beside the file, too.
    pub(super) fn told(&self) -> Vec<String> {
        let ObservedDigests { schema, digests, lost, executed, .. } = self.observed;
        let (all, kept) = (calls(digests), self.kept_calls());
        let mut lines = vec![format!(
            "{} of {} digests of schema {schema} are in the workload: {} of {all} calls",
            self.kept.len(),
            digests.len(),
            percent((kept, all))
        )];
        if !self.left_out.is_empty() {
            lines.push("Left out, with their shares of the calls:".to_owned());
            lines.extend(left_out_lines(self.observed, self.left_out));
        }
        if *lost > 0 {
            lines.push(format!(
                "{lost} calls, of all schemas, found no room for their digests; raise \
                 performance_schema_digests_size"
            ));
        }
        if *executed > 0 {
            lines.push(format!(
                "{executed} executions, of all schemas, were of statements that the server \
                 prepared, and these have no digests: applications that prepare are not seen here"
            ));
        }
        lines
    }

    fn kept_calls(&self) -> u64 {
        self.kept.iter().map(|(place, _)| self.observed.digests[*place].calls).sum()
    }

    /// The whole file.
    pub(super) fn written(&self) -> String {
        let ObservedDigests { version, tables, .. } = self.observed;
        let mut out = format!(
            "# Made by `mydyno workload from-digests` of a server {version}; edit it as you like.\n\
             # docs/oltp.md has the keys.\n#\n"
        );
        for line in self.told() {
            let _ = writeln!(out, "# {line}");
        }
        out += "#\n\
            # A digest does not say which statements were in one transaction: each is one by\n\
            # itself here. Put those that belong together into the `statements` of one.\n\
            # Values are drawn uniformly; where few are hot, write pareto or zipfian.\n\
            \n# The tables, with rows that are made up: `mydyno load` makes them. On a copy of\n\
            # the server's own rows, leave it out.\n";
        let used: BTreeSet<usize> =
            self.kept.iter().flat_map(|(_, of)| of.tables.iter().copied()).collect();
        let made: Vec<(usize, MadeTable<'_>)> = used
            .into_iter()
            .map(|place| (place, MadeTable::of(&tables[place], self.options.rows_max)))
            .collect();
        for (_, table) in &made {
            table.setup(&mut out);
        }
        let mut names = BTreeSet::new();
        for (place, statement) in self.kept {
            self.transaction(&mut out, *place, (statement, &made), &mut names);
        }
        out
    }

    fn transaction(
        &self,
        out: &mut String,
        place: usize,
        (statement, made): (&DigestStatement, &[(usize, MadeTable<'_>)]),
        names: &mut BTreeSet<String>,
    ) {
        let digest = &self.observed.digests[place];
        let table_of = |place: usize| made.iter().find(|(of, _)| *of == place).map(|(_, of)| of);
        let table = statement.tables.first().and_then(|place| table_of(*place));
        let table = table.map_or("nothing", |table| &table.facts.name);
        let name = unused(names, &format!("{}_{table}", statement.verb.to_lowercase()));
        let share = percent((digest.calls, self.kept_calls()));
        let _ = write!(out, "\n# {share} of the calls here");
        let each = |sum: u64| sum as f64 / digest.calls.max(1) as f64;
        for (rows, what) in [
            (digest.rows_examined, "examined"),
            (digest.rows_sent, "sent"),
            (digest.rows_affected, "changed"),
        ] {
            if rows > 0 {
                let _ = write!(out, "; {:.1} rows {what}", each(rows));
            }
        }
        let mut own = BTreeSet::new();
        let (mut parameters, mut called) = (String::new(), Vec::<String>::new());
        for value in &statement.values {
            let of = value.column.and_then(|(table, column)| {
                let table = table_of(table)?;
                Some(ColumnOf { table, place: column, column: &table.facts.columns[column] })
            });
            let name = match (value.kind, &of) {
                (ValueUse::Limit, _) => "limit",
                (ValueUse::Offset, _) => "offset",
                (ValueUse::Amount, _) => "amount",
                (_, Some(of)) => &of.column.name,
                (_, None) => "value",
            };
            let name = unused(&mut own, name);
            let (how, comment) = how_drawn(value, of.as_ref(), statement, &called);
            let _ = writeln!(parameters, "parameters.{name} = {how}  # {comment}");
            called.push(name);
        }
        let sql = statement.sql_with(|value| format!(":{}", called[value]));
        let (calls, sql) = (digest.calls, toml_text(&sql));
        let _ = writeln!(out, "\n[[transaction]]\nname = \"{name}\"\nweight = {calls}");
        let _ = write!(out, "statements = [{sql}]\n{parameters}");
    }
}

/// A name of letters, digits and `_` that nothing else has.
fn unused(names: &mut BTreeSet<String>, wanted: &str) -> String {
    let is_right = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut name: String = wanted.chars().map(|c| if is_right(c) { c } else { '_' }).collect();
    if !name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        name.insert(0, '_');
    }
    let numbered = (2..).map(|number| format!("{name}_{number}"));
    let mut all = std::iter::once(name.clone()).chain(numbered);
    let found = all.find(|name| !names.contains(name)).unwrap_or(name);
    names.insert(found.clone());
    found
}

/// A column of a table as it is made.
struct ColumnOf<'a> {
    table: &'a MadeTable<'a>,
    place: usize,
    column: &'a ColumnFacts,
}

impl ColumnOf<'_> {
    /// Its name and type, and what the server has in it.
    fn comment(&self) -> String {
        let ColumnFacts { name, column_type, range, .. } = self.column;
        let short: String = column_type.chars().take(DIGEST_CHARS_MAX).collect();
        let range = range.map_or_else(String::new, |(from, to)| format!(", {from} to {to}"));
        format!("{}.{name} {short}{range}", self.table.facts.name).replace(['\n', '\r'], " ")
    }

    fn is_key(&self) -> bool {
        let mut keys = self.table.facts.keys.iter().filter(|key| key.is_unique);
        keys.any(|key| key.columns.last().is_some_and(|(place, _)| *place == self.place))
    }

    /// How many values of an integer stand in a range of so many rows.
    fn range_of(&self, rows: f64) -> u64 {
        let numbers = self.table.numbers[self.place].map_or(1, |numbers| numbers.count);
        let of_a_row = numbers as f64 / self.table.rows.max(1) as f64;
        ((rows * of_a_row).round() as u64).clamp(1, numbers) - 1
    }
}

fn uniform((from, to): (i64, i64)) -> String {
    format!("{{ uniform = {{ from = {from}, to = {to} }} }}")
}

fn one_of(value: &str) -> String {
    format!("{{ one_of = [{value}] }}")
}

/// What the statement had once, as TOML.
fn sampled(sample: &str) -> String {
    let is_number = sample.parse::<i64>().is_ok();
    one_of(&if is_number { sample.to_owned() } else { toml_text(sample) })
}

const MONTHS: &str = "{ one_of = [2025-01-01, 2025-03-01, 2025-05-01, 2025-07-01, 2025-09-01, \
                      2025-11-01] }";

/// How a value is drawn, and why so.
fn how_drawn(
    value: &DigestValue,
    of: Option<&ColumnOf<'_>>,
    statement: &DigestStatement,
    called: &[String],
) -> (String, String) {
    let by_sample = value.sample.as_deref().map(|sample| {
        let column = of.map_or_else(String::new, |of| format!("{}: ", of.comment()));
        (sampled(sample), format!("{column}of a sample"))
    });
    let default = |how: String, what: &str| {
        by_sample.clone().unwrap_or_else(|| (how, format!("{what}: a default, to be edited")))
    };
    let Some(of) = of else {
        return match value.kind {
            ValueUse::Limit => {
                let rows = (statement.rows_sent.ceil() as i64).max(1);
                let by_rows = (uniform((rows, rows)), "as many rows as a call sends".to_owned());
                by_sample.unwrap_or(by_rows)
            }
            ValueUse::Offset => default(uniform((0, 0)), "rows before the first"),
            ValueUse::Amount => default(uniform((1, 1)), "an amount"),
            ValueUse::Like => default(one_of("'a%'"), "a pattern"),
            ValueUse::Compared
            | ValueUse::EndOf(_)
            | ValueUse::Inserted
            | ValueUse::Assigned
            | ValueUse::Unknown => default(uniform((1, 1)), "its column was not found"),
        };
    };
    let comment = of.comment();
    let kind = of.column.kind();
    let numbers = of.table.numbers[of.place];
    match (value.kind, numbers) {
        (ValueUse::Like, _) => default(one_of("'a%'"), &format!("{comment}: a pattern")),
        (ValueUse::EndOf(start), Some(_)) if kind == ValueKind::Int => {
            let plus = of.range_of(statement.rows);
            let how = format!("{{ offset = {{ of = \"{}\", plus = {plus} }} }}", called[start]);
            (how, format!("{comment}: about {:.1} rows, as a call examines", statement.rows))
        }
        (ValueUse::Inserted, Some(numbers)) if of.is_key() => {
            let room = of.column.room(numbers.from).max(numbers.count + 1);
            let (how, is_new) = match kind {
                ValueKind::Int => {
                    let from = numbers.from.saturating_add_unsigned(numbers.count);
                    (uniform((from, numbers.from.saturating_add_unsigned(room))), true)
                }
                ValueKind::Text => {
                    let to = room.min(numbers.count.saturating_mul(INSERTED_FACTOR)) as i64;
                    let span = Numbers { count: to as u64, ..numbers };
                    (text_of(of, span, numbers.count as i64), true)
                }
                ValueKind::Date
                | ValueKind::DateTime
                | ValueKind::Time
                | ValueKind::Year
                | ValueKind::Enum
                | ValueKind::Bit
                | ValueKind::Json
                | ValueKind::Other => (drawn(of, numbers), false),
            };
            let new = if is_new { ": behind the rows that are loaded" } else { "" };
            (how, format!("{comment}{new}"))
        }
        (_, Some(numbers)) if !numbers.is_default => (drawn(of, numbers), comment),
        (_, Some(numbers)) => default(drawn(of, numbers), &format!("{comment}: no statistics")),
        (_, None) => unnumbered(value, of, by_sample),
    }
}

/// The same of a column that no number is made for.
fn unnumbered(
    value: &DigestValue,
    of: &ColumnOf<'_>,
    by_sample: Option<(String, String)>,
) -> (String, String) {
    let comment = of.comment();
    let (how, why) = match (of.column.kind(), value.kind) {
        (ValueKind::Text, used) => {
            let length = of.table.text_length(of.column);
            let is_stored = matches!(used, ValueUse::Inserted | ValueUse::Assigned);
            let no_statistics = format!("{comment}: no statistics: a default, to be edited");
            let why = if is_stored { comment } else { no_statistics };
            (format!("{{ string = {{ length = {length} }} }}"), why)
        }
        (ValueKind::Json, _) => (one_of("'{}'"), format!("{comment}: a default, to be edited")),
        (
            ValueKind::Int
            | ValueKind::Date
            | ValueKind::DateTime
            | ValueKind::Time
            | ValueKind::Year
            | ValueKind::Enum
            | ValueKind::Bit
            | ValueKind::Other,
            _,
        ) => (one_of("{ null = true }"), format!("{comment}: a default, to be edited")),
    };
    by_sample.unwrap_or((how, why))
}

/// Any value that the rows have.
fn drawn(of: &ColumnOf<'_>, numbers: Numbers) -> String {
    let last = numbers.count.max(1) - 1;
    let from = |first: i64| uniform((first, first.saturating_add_unsigned(last)));
    match of.column.kind() {
        ValueKind::Int => from(numbers.from),
        ValueKind::Text => text_of(of, numbers, 0),
        ValueKind::Date | ValueKind::DateTime => MONTHS.to_owned(),
        ValueKind::Time => one_of("00:00:30, 00:01:00"),
        ValueKind::Year => from(1970),
        ValueKind::Enum => from(1),
        ValueKind::Bit => from(0),
        ValueKind::Json | ValueKind::Other => one_of("{ null = true }"),
    }
}

/// A number as text with zeros before it.
fn text_of(of: &ColumnOf<'_>, numbers: Numbers, from: i64) -> String {
    let to = (numbers.count.max(1) - 1) as i64;
    let loaded = of.table.numbers[of.place].unwrap_or(numbers);
    let length = of.table.number_length(of.column, loaded);
    format!("{{ string = {{ length = {length}, from = {from}, to = {} }} }}", to.max(from))
}
