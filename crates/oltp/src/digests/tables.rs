//! What the tables have, as far as ranges, counts and lengths tell, and the rows that `mydyno load`
//! makes up like them: each column has numbers from 0 on, of which its values are made.

use std::collections::BTreeMap;
use std::fmt::Write;

/// A table of the server.
#[derive(Clone, Debug, Default)]
pub(super) struct TableFacts {
    pub(super) name: String,
    pub(super) is_view: bool,
    /// About as many.
    pub(super) rows: u64,
    pub(super) row_bytes: u64,
    pub(super) columns: Vec<ColumnFacts>,
    /// The primary key first, then the unique ones.
    pub(super) keys: Vec<KeyFacts>,
    /// What SHOW CREATE TABLE says.
    pub(super) create: String,
}

#[derive(Clone, Debug, Default)]
pub(super) struct ColumnFacts {
    pub(super) name: String,
    /// As in `int(11) unsigned`.
    pub(super) column_type: String,
    pub(super) length: Option<u64>,
    pub(super) is_generated: bool,
    /// Of an integer that begins an index, or follows the smallest values of those before it there.
    pub(super) range: Option<(i64, i64)>,
    /// By a histogram.
    pub(super) distinct: Option<u64>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct KeyFacts {
    pub(super) is_unique: bool,
    /// Places of its columns, each with the distinct values of the key up to it.
    pub(super) columns: Vec<(usize, Option<u64>)>,
}

/// How values of a type are made of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ValueKind {
    Int,
    Text,
    Date,
    DateTime,
    Time,
    Year,
    Enum,
    Bit,
    Json,
    /// SET, and shapes.
    Other,
}

/// So many times the texts of a unique key are left for rows that are inserted: any of them, which
/// should not meet.
pub(super) const INSERTED_FACTOR: u64 = 1_000_000_000;

/// The first day of all dates that are made up.
const FIRST_DAY: &str = "'2025-01-01'";

impl ColumnFacts {
    fn type_name(&self) -> String {
        let is_end = |c: char| !c.is_ascii_alphanumeric();
        self.column_type.split(is_end).next().unwrap_or_default().to_ascii_lowercase()
    }

    pub(super) fn kind(&self) -> ValueKind {
        match self.type_name().as_str() {
            "tinyint" | "smallint" | "mediumint" | "int" | "bigint" | "decimal" | "float"
            | "double" => ValueKind::Int,
            "date" => ValueKind::Date,
            "datetime" | "timestamp" => ValueKind::DateTime,
            "time" => ValueKind::Time,
            "year" => ValueKind::Year,
            "enum" => ValueKind::Enum,
            "bit" => ValueKind::Bit,
            "json" => ValueKind::Json,
            name if ["char", "text", "blob", "binary"].iter().any(|of| name.ends_with(of)) => {
                ValueKind::Text
            }
            _ => ValueKind::Other,
        }
    }

    pub(super) fn is_integer(&self) -> bool {
        self.type_name().ends_with("int")
    }

    /// How many numbers its type has values for, from `from` on.
    pub(super) fn room(&self, from: i64) -> u64 {
        const AMPLE: u64 = 1_000_000_000_000;
        let bits = match self.type_name().as_str() {
            "tinyint" => 7,
            "smallint" => 15,
            "mediumint" => 23,
            "int" => 31,
            "bit" => return 2,
            "year" => return 130,
            "enum" => return self.column_type.matches("','").count() as u64 + 1,
            "time" => return 3_000_000,
            // Before 2038.
            "timestamp" => return 6_500_000,
            "date" => return 2_000_000,
            "decimal" => {
                let digits = self.column_type.split(['(', ')', ',']);
                let mut digits = digits.skip(1).map_while(|number| number.parse::<u32>().ok());
                let whole = digits.next().unwrap_or(10) - digits.next().unwrap_or(0).min(10);
                return 10_u64.pow(whole.clamp(1, 12)) - 1;
            }
            _ if self.kind() == ValueKind::Text => {
                return 10_u64.pow(self.length.unwrap_or(12).clamp(1, 12) as u32);
            }
            _ => return AMPLE,
        };
        let bits = bits + u32::from(self.column_type.contains("unsigned"));
        ((1_i64 << bits) - 1).saturating_sub(from).max(1) as u64
    }
}

/// The numbers of a column's rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Numbers {
    /// Of the first value.
    pub(super) from: i64,
    pub(super) count: u64,
    /// A row has the number of its place divided by this; else any of them.
    pub(super) divisor: Option<u64>,
    /// No two rows have the same.
    pub(super) is_unique: bool,
    /// It was not found in statistics.
    pub(super) is_default: bool,
}

/// A table as `mydyno load` makes it.
#[derive(Clone, Debug)]
pub(super) struct MadeTable<'a> {
    pub(super) facts: &'a TableFacts,
    pub(super) rows: u64,
    /// By column; texts of which nothing is known are random.
    pub(super) numbers: Vec<Option<Numbers>>,
    /// Rows may collide in a unique key.
    is_lenient: bool,
}

impl<'a> MadeTable<'a> {
    pub(super) fn of(facts: &'a TableFacts, rows_max: u64) -> MadeTable<'a> {
        let mut made = MadeTable {
            facts,
            rows: rows_of(facts).min(rows_max),
            numbers: vec![None; facts.columns.len()],
            is_lenient: false,
        };
        for key in &facts.keys {
            if key.is_unique { made.add_unique(key) } else { made.add_index(key, rows_max) }
        }
        for (place, column) in facts.columns.iter().enumerate() {
            let count = match (column.distinct, column.kind()) {
                (Some(distinct), _) => distinct,
                (None, ValueKind::Text | ValueKind::Json | ValueKind::Other) => continue,
                (None, ValueKind::Date) => 365,
                // Minutes.
                (None, ValueKind::DateTime) => 365 * 24 * 60,
                (None, ValueKind::Enum | ValueKind::Bit) => u64::MAX,
                (None, ValueKind::Int | ValueKind::Time | ValueKind::Year) => 100,
            };
            let is_default = column.distinct.is_none();
            made.add(place, Numbers { is_default, ..any_of(column, count) });
        }
        made
    }

    /// Keeps the first that is said of a column.
    fn add(&mut self, place: usize, numbers: Numbers) {
        if let Some(none @ None) = self.numbers.get_mut(place) {
            *none = Some(numbers);
        }
    }

    /// Columns of a unique key count as the digits of a number do: the last one fastest.
    fn add_unique(&mut self, key: &KeyFacts) {
        let has = |place: usize| self.numbers[place];
        if key.columns.iter().any(|(place, _)| has(*place).is_some_and(|of| of.is_unique)) {
            return;
        }
        let open: Vec<usize> =
            (0..key.columns.len()).filter(|at| has(key.columns[*at].0).is_none()).collect();
        // Others count already: then one of its own has to tell the rows apart.
        let is_whole = open.len() == key.columns.len();
        let counting = if is_whole { &open[..] } else { &open[..open.len().min(1)] };
        let (mut divisor, mut left) = (1, self.rows.max(1));
        for (turn, at) in counting.iter().rev().enumerate() {
            let column = &self.facts.columns[key.columns[*at].0];
            let is_last = turn + 1 == counting.len();
            let from = column.range.map_or(1, |(from, _)| from);
            let digits = if is_last { left } else { distinct_of(key, *at, column).min(left) };
            let count = digits.clamp(1, column.room(from));
            let numbers = Numbers {
                from,
                count,
                divisor: Some(divisor),
                is_unique: counting.len() == 1 && count >= left,
                is_default: false,
            };
            self.add(key.columns[*at].0, numbers);
            (divisor, left) = (divisor * count, left.div_ceil(count));
        }
        self.is_lenient |= left > 1;
    }

    fn add_index(&mut self, key: &KeyFacts, rows_max: u64) {
        for (at, (place, _)) in key.columns.iter().enumerate() {
            let column = &self.facts.columns[*place];
            let count = distinct_of(key, at, column).min(rows_max);
            self.add(*place, any_of(column, count));
        }
    }

    /// About as many characters as a text of this table has.
    pub(super) fn text_length(&self, column: &ColumnFacts) -> u64 {
        let texts = self.facts.columns.iter().filter(|of| of.kind() == ValueKind::Text).count();
        let others = (self.facts.columns.len() - texts) as u64 * 6;
        let share = self.facts.row_bytes.saturating_sub(others) / texts.max(1) as u64;
        share.clamp(1, column.length.unwrap_or(20).clamp(1, 8_000))
    }

    /// How long a text is that has a number in it.
    pub(super) fn number_length(&self, column: &ColumnFacts, numbers: Numbers) -> u64 {
        // What is inserted later has more digits.
        let digits = (numbers.count.saturating_mul(INSERTED_FACTOR)).to_string().len() as u64;
        self.text_length(column).max(digits).min(column.length.unwrap_or(20).max(1))
    }

    /// The value of a number, as SQL.
    fn sql(&self, column: &ColumnFacts, numbers: Numbers, number: &str) -> String {
        match column.kind() {
            ValueKind::Int => format!("{} + {number}", numbers.from),
            ValueKind::Text => {
                format!("LPAD({number}, {}, '0')", self.number_length(column, numbers))
            }
            ValueKind::Date => format!("{FIRST_DAY} + INTERVAL {number} DAY"),
            ValueKind::DateTime => format!("{FIRST_DAY} + INTERVAL {number} MINUTE"),
            ValueKind::Time => format!("SEC_TO_TIME({number})"),
            ValueKind::Year => format!("1970 + {number}"),
            ValueKind::Enum => format!("1 + {number}"),
            ValueKind::Bit => number.to_owned(),
            ValueKind::Json | ValueKind::Other => "NULL".to_owned(),
        }
    }

    /// The tables of `[[setup]]` that make it.
    pub(super) fn setup(&self, out: &mut String) {
        let TableFacts { name, rows, row_bytes, columns, .. } = self.facts;
        let _ = write!(out, "\n# {name}: about {rows} rows of {row_bytes} bytes");
        if self.rows < *rows {
            let _ = write!(out, ", of which {} are made (--rows-max)", self.rows);
        }
        let _ = writeln!(out, "\n[[setup]]\nsql = {}", toml_text(&created(&self.facts.create)));
        let (mut names, mut values) = (Vec::new(), Vec::new());
        let mut parameters = BTreeMap::new();
        for (column, numbers) in columns.iter().zip(&self.numbers) {
            if column.is_generated {
                continue;
            }
            let own = format!("c{}", names.len() + 1);
            let value = match (numbers, column.kind()) {
                (Some(of @ Numbers { divisor: Some(divisor), .. }), _) => {
                    parameters.insert("row".to_owned(), "{ sequence = { from = 0 } }".to_owned());
                    let number = match (*divisor, of.is_unique) {
                        (_, true) => ":row".to_owned(),
                        (1, false) => format!(":row % {}", of.count),
                        (divisor, false) => format!("(:row DIV {divisor}) % {}", of.count),
                    };
                    self.sql(column, *of, &number)
                }
                // A statement has 64 parameters at most.
                _ if parameters.len() > 60 => self.sql(column, any_of(column, 1), "0"),
                (Some(of), _) => {
                    let last = of.count - 1;
                    let uniform = format!("{{ uniform = {{ from = 0, to = {last} }} }}");
                    parameters.insert(own.clone(), uniform);
                    self.sql(column, *of, &format!(":{own}"))
                }
                (None, ValueKind::Text) => {
                    let length = self.text_length(column);
                    let string = format!("{{ string = {{ length = {length} }} }}");
                    parameters.insert(own.clone(), string);
                    format!(":{own}")
                }
                (None, ValueKind::Json) => "'{}'".to_owned(),
                (None, _) => continue,
            };
            names.push(quoted(&column.name));
            values.push(value);
        }
        if self.rows == 0 || names.is_empty() {
            return;
        }
        let ignore = if self.is_lenient { "IGNORE " } else { "" };
        let (names, values) = (names.join(", "), values.join(", "));
        let sql = format!("INSERT {ignore}INTO {} ({names}) VALUES ({values})", quoted(name));
        let _ = writeln!(out, "\n[[setup]]\nsql = {}\ntimes = {}", toml_text(&sql), self.rows);
        for (parameter, how) in parameters {
            let _ = writeln!(out, "parameters.{parameter} = {how}");
        }
    }
}

/// Where a key of one integer has hardly any gaps, its range counts better than statistics.
fn rows_of(facts: &TableFacts) -> u64 {
    let single = facts.keys.iter().find(|key| key.is_unique && key.columns.len() == 1);
    let range = single.and_then(|key| facts.columns[key.columns[0].0].range);
    let numbers = range.map_or(0, |(from, to)| to.abs_diff(from).saturating_add(1));
    let is_close = numbers >= facts.rows / 5 * 4 && numbers <= facts.rows.saturating_mul(2);
    if is_close { numbers } else { facts.rows }
}

/// About how many values the column of a key has beside one value of those before it.
fn distinct_of(key: &KeyFacts, at: usize, column: &ColumnFacts) -> u64 {
    let up_to = |at: usize| key.columns[at].1;
    let before = if at == 0 { Some(1) } else { up_to(at - 1) };
    let counted = up_to(at).zip(before).map(|(all, before)| all.div_ceil(before.max(1)));
    let range = column.range.map(|(from, to)| to.abs_diff(from).saturating_add(1));
    let known = [counted, range].into_iter().flatten().min();
    column.distinct.filter(|_| at > 0).or(known).unwrap_or(100).max(1)
}

/// So many values, of which a row has any.
fn any_of(column: &ColumnFacts, count: u64) -> Numbers {
    let from = column.range.map_or(0, |(from, _)| from);
    let count = count.clamp(1, column.room(from));
    Numbers { from, count, divisor: None, is_unique: false, is_default: false }
}

/// CREATE TABLE without what only the original has: its counter, and references to other tables,
/// which rows that are made up do not respect.
fn created(create: &str) -> String {
    let lines: Vec<&str> =
        create.lines().filter(|line| !line.starts_with("  CONSTRAINT ")).collect();
    let mut out = String::new();
    for (line, next) in lines.iter().zip(lines[1..].iter().map(Some).chain([None])) {
        let is_end = next.is_some_and(|next| next.starts_with(')'));
        let line = if is_end { line.trim_end_matches(',') } else { line };
        let line = if line.starts_with(')') { without_counter(line) } else { line.to_owned() };
        out += &line;
        out += if next.is_some() { "\n" } else { "" };
    }
    out
}

fn without_counter(options: &str) -> String {
    let words = options.split(' ').filter(|word| !word.starts_with("AUTO_INCREMENT="));
    words.collect::<Vec<_>>().join(" ")
}

pub(super) fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// A string of TOML.
pub(super) fn toml_text(text: &str) -> String {
    let is_plain = |c: char| !c.is_control() || c == '\n' || c == '\t';
    if text.contains("'''") || text.ends_with('\'') || !text.chars().all(is_plain) {
        return toml::Value::String(text.to_owned()).to_string();
    }
    if text.contains(['\n', '\'']) {
        let newline = if text.contains('\n') { "\n" } else { "" };
        return format!("'''{newline}{text}{newline}'''");
    }
    format!("'{text}'")
}
