//! sysbench's OLTP, as its release 1.0.20 has it: tables, rows, statements, and the distribution of
//! what they ask for. Numbers compare with those of that tool at equal tables and connections.

use crate::generate::{Generator, Span, write_groups};
use crate::script::{Constant, Script, ScriptCheck, ScriptStatement, ScriptTransaction};
use base::{Random, Session, SessionError, SessionResult};
use drive::TransactionInfo;
use spec::OltpMix::{
    self, Delete, Insert, PointSelect, PointSelectUniform, RandomPoints, RandomRanges, ReadOnly,
    ReadOnlyUniform, ReadWrite, ReadWriteUniform, UpdateIndex, UpdateNonIndex, WriteOnly,
    WriteOnlyUniform,
};
use spec::{RandType, SbtestTables};
use std::io::Write;

/// Of the tables and rows: what is loaded under another one is another database.
pub(crate) const TABLES_VERSION: u32 = 1;
/// Rows that a range query reads.
const RANGE_SIZE: i64 = 100;
const POINT_SELECTS: usize = 10;
/// Values of k that a statement of `select_random_points` asks for, and ranges of the other.
const RANDOM_VALUES: usize = 10;
/// From the first to the last value of these ranges.
const RANDOM_RANGE_DELTA: i64 = 5;
/// Groups of digits in the columns c and pad.
const C_GROUPS: u32 = 10;
const PAD_GROUPS: u32 = 5;
/// Tables that one statement asks for: some hundreds overrun the stack of a server's thread (1436).
const TABLES_OF_QUERY: usize = 50;
/// Rows that one statement of a load stores at most.
const CHUNK_ROWS: u32 = 20_000;

const fn only(name: &'static str, row_bytes: Option<u64>) -> [TransactionInfo; 1] {
    [TransactionInfo { name, is_primary: true, is_deferred: false, share: 1.0, row_bytes }]
}

/// The only type of a mix.
pub(crate) fn types(mix: OltpMix) -> &'static [TransactionInfo] {
    match mix {
        ReadWrite | ReadWriteUniform => const { &only("read_write", None) },
        ReadOnly | ReadOnlyUniform => const { &only("read_only", Some(0)) },
        WriteOnly | WriteOnlyUniform => const { &only("write_only", None) },
        PointSelect | PointSelectUniform => const { &only("point_select", Some(0)) },
        UpdateIndex => const { &only("update_index", None) },
        UpdateNonIndex => const { &only("update_non_index", None) },
        Insert => const { &only("insert", None) },
        Delete => const { &only("delete", None) },
        RandomPoints => const { &only("random_points", Some(0)) },
        RandomRanges => const { &only("random_ranges", Some(0)) },
    }
}

/// A transaction that is being put together.
struct Builder {
    tables: SbtestTables,
    /// Of ids.
    rand_type: RandType,
    generators: Vec<Generator>,
    steps: Vec<ScriptStatement>,
}

impl Builder {
    fn value(&mut self, generator: Generator) -> usize {
        self.generators.push(generator);
        self.generators.len() - 1
    }

    /// Any of the tables.
    fn table(&mut self) -> usize {
        let to = i64::from(self.tables.count) - 1;
        self.value(Generator::Uniform(Span { from: 0, to }))
    }

    fn id(&mut self) -> usize {
        let to = i64::from(self.tables.rows);
        self.value(Generator::of(self.rand_type, Span { from: 1, to }))
    }

    /// A statement on a table; `{}` stands for its number.
    fn step(&mut self, kind: &'static str, table: usize, sql: &str, parameters: Vec<usize>) {
        let numbers = 1..=self.tables.count;
        self.steps.push(ScriptStatement {
            kind,
            variants: numbers.map(|n| sql.replace("{}", &n.to_string())).collect(),
            picked_by: Some(table),
            parameters,
        });
    }

    fn point_selects(&mut self, count: usize) {
        let table = self.table();
        for _ in 0..count {
            let id = self.id();
            let sql = "SELECT c FROM sbtest{} WHERE id=?";
            self.step("point_select", table, sql, vec![id]);
        }
    }

    fn reads(&mut self) {
        self.point_selects(POINT_SELECTS);
        const RANGES: [(&str, &str, &str); 4] = [
            ("simple_range", "c", ""),
            ("sum_range", "SUM(k)", ""),
            ("order_range", "c", " ORDER BY c"),
            ("distinct_range", "DISTINCT c", " ORDER BY c"),
        ];
        for (kind, columns, order) in RANGES {
            let table = self.table();
            let first = self.id();
            let last = self.value(Generator::Offset { of: first, plus: RANGE_SIZE - 1 });
            let sql = format!("SELECT {columns} FROM sbtest{{}} WHERE id BETWEEN ? AND ?{order}");
            self.step(kind, table, &sql, vec![first, last]);
        }
    }

    fn index_update(&mut self) {
        let (table, id) = (self.table(), self.id());
        let sql = "UPDATE sbtest{} SET k=k+1 WHERE id=?";
        self.step("index_update", table, sql, vec![id]);
    }

    fn non_index_update(&mut self) {
        let (table, c) = (self.table(), self.value(Generator::DigitGroups(C_GROUPS)));
        let id = self.id();
        let sql = "UPDATE sbtest{} SET c=? WHERE id=?";
        self.step("non_index_update", table, sql, vec![c, id]);
    }

    fn delete(&mut self, [table, id]: [usize; 2]) {
        self.step("delete", table, "DELETE FROM sbtest{} WHERE id=?", vec![id]);
    }

    fn insert(&mut self, [table, id]: [usize; 2]) {
        let k = self.id();
        let c = self.value(Generator::DigitGroups(C_GROUPS));
        let pad = self.value(Generator::DigitGroups(PAD_GROUPS));
        let sql = "INSERT INTO sbtest{} (id, k, c, pad) VALUES (?, ?, ?, ?)";
        self.step("insert", table, sql, vec![id, k, c, pad]);
    }

    fn writes(&mut self) {
        self.index_update();
        self.non_index_update();
        let row = [self.table(), self.id()];
        self.delete(row);
        self.insert(row);
    }

    /// A statement on values of k, which these two scripts ask of the first table alone.
    fn on_first(&mut self, kind: &'static str, sql: String, parameters: Vec<usize>) {
        self.steps.push(ScriptStatement { kind, variants: vec![sql], picked_by: None, parameters });
    }

    fn random_points(&mut self) {
        let values: Vec<usize> = (0..RANDOM_VALUES).map(|_| self.id()).collect();
        let list = ["?"; RANDOM_VALUES].join(", ");
        let sql = format!("SELECT id, k, c, pad FROM sbtest1 WHERE k IN ({list})");
        self.on_first("random_points", sql, values);
    }

    fn random_ranges(&mut self) {
        let mut values = Vec::new();
        for _ in 0..RANDOM_VALUES {
            let of = self.id();
            values.extend([of, self.value(Generator::Offset { of, plus: RANDOM_RANGE_DELTA })]);
        }
        let ranges = ["k BETWEEN ? AND ?"; RANDOM_VALUES].join(" OR ");
        let sql = format!("SELECT count(k) FROM sbtest1 WHERE {ranges}");
        self.on_first("random_ranges", sql, values);
    }
}

/// Has a table the rows 1 to N before each transaction and after it?
pub(crate) fn keeps_rows(mix: OltpMix) -> bool {
    !matches!(mix, Insert | Delete)
}

/// The transactions of a mix on these tables.
pub(crate) fn script(mix: OltpMix, rand_type: RandType, tables: SbtestTables) -> Script {
    let mut builder = Builder { tables, rand_type, generators: Vec::new(), steps: Vec::new() };
    match mix {
        ReadWrite | ReadWriteUniform => {
            builder.reads();
            builder.writes();
        }
        ReadOnly | ReadOnlyUniform => builder.reads(),
        WriteOnly | WriteOnlyUniform => builder.writes(),
        PointSelect | PointSelectUniform => builder.point_selects(1),
        UpdateIndex => builder.index_update(),
        UpdateNonIndex => builder.non_index_update(),
        Insert => {
            // The server counts on where the id is 0.
            let row = [builder.table(), builder.value(Generator::Uniform(Span::of(0)))];
            builder.insert(row);
        }
        Delete => {
            let row = [builder.table(), builder.id()];
            builder.delete(row);
        }
        RandomPoints => builder.random_points(),
        RandomRanges => builder.random_ranges(),
    }
    let Builder { generators, steps, .. } = builder;
    let ends = |n: u32| format!("(SELECT MIN(id) + MAX(id) FROM sbtest{n})");
    let ends: Vec<String> = (1..=tables.count).map(ends).collect();
    let keeps_rows = keeps_rows(mix);
    Script {
        types: types(mix),
        transactions: vec![ScriptTransaction { generators, steps }],
        checks: match keeps_rows {
            true => (1..=tables.count).map(|n| check(n, tables)).collect(),
            false => Vec::new(),
        },
        constant: keeps_rows.then(|| Constant {
            what: "the first and the last id of each table",
            sql: ends
                .chunks(TABLES_OF_QUERY)
                .map(|ends| format!("SELECT {}", ends.join(" + ")))
                .collect(),
        }),
    }
}

/// A row that was deleted was inserted again, and ids are a primary key: as many rows as at first.
fn check(table: u32, SbtestTables { rows, .. }: SbtestTables) -> ScriptCheck {
    ScriptCheck {
        name: format!("sbtest{table}"),
        title: format!("sbtest{table} has the rows 1 to {rows}, each once"),
        sql: format!(
            "SELECT found, lowest, highest FROM (SELECT COUNT(*) AS found, MIN(id) AS lowest, \
             MAX(id) AS highest FROM sbtest{table}) AS counted \
             WHERE found <> {rows} OR lowest <> 1 OR highest <> {rows}"
        ),
    }
}

/// What stands in the comment of a table of ours while it is being filled, and behind.
pub(crate) const COMMENT_LOADING: &str = "mydyno: loading";
pub(crate) const COMMENT: &str = "mydyno";

pub(crate) fn create_sql(table: u32, options: &str) -> String {
    format!(
        "CREATE TABLE sbtest{table} (\n  id INTEGER NOT NULL AUTO_INCREMENT,\n  \
         k INTEGER DEFAULT '0' NOT NULL,\n  c CHAR(120) DEFAULT '' NOT NULL,\n  \
         pad CHAR(60) DEFAULT '' NOT NULL,\n  PRIMARY KEY (id)\n) ENGINE = InnoDB \
         {options} COMMENT = '{COMMENT_LOADING}'"
    )
}

pub(crate) fn index_sql(table: u32) -> String {
    format!("CREATE INDEX k_{table} ON sbtest{table} (k)")
}

/// The rows of a table, in the order of their ids. Equal seeds give equal rows.
pub(crate) struct SbtestRows {
    random: Random,
    ids: std::ops::RangeInclusive<u32>,
    k: Span,
}

impl SbtestRows {
    pub(crate) fn new(seed: u64, table: u32, tables: SbtestTables) -> SbtestRows {
        SbtestRows {
            random: Random::new(seed, &[u64::from(table)]),
            ids: 1..=tables.rows,
            k: Span { from: 1, to: i64::from(tables.rows) },
        }
    }

    /// Appends the rows of the next statement as lines of LOAD DATA: a tab between fields, a
    /// newline after each row. False where there are no more.
    pub(crate) fn next_lines(&mut self, lines: &mut Vec<u8>) -> bool {
        let before = lines.len();
        for id in self.ids.by_ref().take(CHUNK_ROWS as usize) {
            let k = self.k.special(&mut self.random);
            // Writing to a vector cannot fail.
            let _ = write!(lines, "{id}\t{k}\t");
            write_groups(lines, C_GROUPS, &mut self.random);
            lines.push(b'\t');
            write_groups(lines, PAD_GROUPS, &mut self.random);
            lines.push(b'\n');
        }
        lines.len() > before
    }
}

/// About as much as the rows take as lines.
pub(crate) fn bytes_estimate(tables: SbtestTables) -> u64 {
    const OF_ROW: u64 = 192;
    u64::from(tables.count) * u64::from(tables.rows) * OF_ROW
}

/// About as much as the tables take on disk.
pub(crate) fn database_bytes_estimate(tables: SbtestTables) -> u64 {
    bytes_estimate(tables) * 5 / 4
}

/// Why a schema is not one of sysbench.
#[derive(Debug, thiserror::Error)]
pub enum SbtestError {
    #[error("looking for the tables of sysbench failed: {0}")]
    Session(#[from] SessionError),
    #[error(
        "the schema has no table sbtest1 with rows; run `mydyno load --workload sysbench-oltp`, or \
         sysbench's prepare"
    )]
    NoTables,
    #[error("a load of these tables has not ended; load them anew with --force")]
    Loading,
    #[error(
        "sbtest1 has {found} of {LOOKED_FOR} ids that were looked for between 1 and {rows}, so \
         that many statements would find no row: sysbench's prepare leaves gaps where \
         auto_increment_increment is above 1, as on a cluster; load the tables by `mydyno load \
         --force`"
    )]
    Gaps { found: i64, rows: u32 },
}

/// The tables of the session's schema, ours or those that sysbench made.
///
/// # Errors
/// Any [`SbtestError`].
pub(crate) async fn inspect<S: Session>(session: &mut S) -> Result<SbtestTables, SbtestError> {
    let mut count = 0;
    for (name, comment) in tables_of(session).await? {
        if !is_sbtest(&name) {
            continue;
        }
        if comment == COMMENT_LOADING {
            return Err(SbtestError::Loading);
        }
        count += 1;
    }
    if count == 0 {
        return Err(SbtestError::NoTables);
    }
    let answer = session.query("SELECT MAX(id) FROM sbtest1").await?;
    match u32::try_from(answer.int().ok().flatten().unwrap_or(0)) {
        Ok(rows) if rows > 0 => Ok(SbtestTables { count, rows }),
        _ => Err(SbtestError::NoTables),
    }
}

/// Ids that are looked for, and how many of them have to be there.
const LOOKED_FOR: u32 = 100;
const FOUND_MIN: i64 = 90;

/// Has the first table the rows that statements will ask for?
///
/// # Errors
/// [`SbtestError::Gaps`] where it has not.
pub(crate) async fn require_rows<S: Session>(
    session: &mut S,
    SbtestTables { rows, .. }: SbtestTables,
) -> Result<(), SbtestError> {
    if rows < LOOKED_FOR {
        return Ok(());
    }
    let id = |n: u32| 1 + u64::from(rows - 1) * u64::from(n) / u64::from(LOOKED_FOR - 1);
    let ids: Vec<String> = (0..LOOKED_FOR).map(|n| id(n).to_string()).collect();
    let sql = format!("SELECT COUNT(*) FROM sbtest1 WHERE id IN ({})", ids.join(", "));
    match session.query(&sql).await?.int()?.unwrap_or(0) {
        found if found < FOUND_MIN => Err(SbtestError::Gaps { found, rows }),
        _ => Ok(()),
    }
}

/// Is it one of sysbench's tables, by its name?
pub fn is_sbtest(table: &str) -> bool {
    let number = table.strip_prefix("sbtest");
    number.is_some_and(|number| number.parse::<u32>().is_ok())
}

/// The tables of the session's schema with their comments.
///
/// # Errors
/// Where the server refuses.
pub(crate) async fn tables_of<S: Session>(session: &mut S) -> SessionResult<Vec<(String, String)>> {
    let sql = "SELECT table_name, table_comment FROM information_schema.tables \
               WHERE table_schema = DATABASE() ORDER BY table_name";
    let answer = session.query(sql).await?;
    let rows = answer.rows().map(|row| (row.text(0), row.text(1)));
    Ok(rows.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::DrawnValues;

    const TABLES: SbtestTables = SbtestTables { count: 3, rows: 1_000 };

    fn kinds(mix: OltpMix) -> Vec<&'static str> {
        let script = script(mix, RandType::Special, TABLES);
        let steps = &script.transactions[0].steps;
        steps.iter().map(|step| step.kind).collect()
    }

    #[test]
    fn mixes_have_the_statements_of_sysbench() {
        let read_write = kinds(ReadWrite);
        // With BEGIN and COMMIT the 20 queries of a transaction that sysbench reports.
        assert_eq!(read_write.len(), 18);
        assert_eq!(read_write[..10], ["point_select"; 10]);
        assert_eq!(kinds(ReadOnly), read_write[..14]);
        assert_eq!(kinds(WriteOnly), read_write[14..]);
        assert_eq!(kinds(PointSelect), ["point_select"]);
        assert_eq!(script(ReadWrite, RandType::Special, TABLES).prepared_statements(), 27);
        for (mix, kind, prepared) in [
            (UpdateIndex, "index_update", 3),
            (UpdateNonIndex, "non_index_update", 3),
            (Insert, "insert", 3),
            (Delete, "delete", 3),
            (RandomPoints, "random_points", 1),
            (RandomRanges, "random_ranges", 1),
        ] {
            assert_eq!(kinds(mix), [kind]);
            let script = script(mix, RandType::Special, TABLES);
            assert_eq!(script.prepared_statements(), prepared);
            assert_eq!(script.checks.is_empty(), matches!(mix, Insert | Delete));
        }
    }

    #[test]
    fn ids_are_drawn_as_the_type_says() {
        // Three of four special ids are in the middle hundredth.
        let middle_share = |rand_type| {
            let script = script(ReadOnly, rand_type, TABLES);
            let transaction = &script.transactions[0];
            let mut random = Random::new(1, &[]);
            let ids = (0..4_000).map(|_| {
                let values = DrawnValues::drawn(&transaction.generators, &mut random);
                values.int(transaction.steps[0].parameters[0])
            });
            ids.filter(|id| (490..=510).contains(id)).count() as f64 / 4_000.0
        };
        let (special, uniform) = (middle_share(RandType::Special), middle_share(RandType::Uniform));
        assert!(special > 0.7 && uniform < 0.03, "{special} {uniform}");
    }

    #[test]
    fn values_fit_their_statements() {
        for mix in OltpMix::ALL {
            let script = script(mix, RandType::Special, TABLES);
            let transaction = &script.transactions[0];
            let mut random = Random::new(1, &[]);
            for _ in 0..100 {
                let values = DrawnValues::drawn(&transaction.generators, &mut random);
                for step in &transaction.steps {
                    let sql = &step.variants[step.variant(&values)];
                    assert_eq!(sql.matches('?').count(), step.parameters.len(), "{sql}");
                }
            }
        }
    }

    #[test]
    fn equal_seeds_give_equal_rows() {
        let all = |seed, table| {
            let mut rows = SbtestRows::new(seed, table, SbtestTables { count: 2, rows: 25_000 });
            let mut lines = Vec::new();
            while rows.next_lines(&mut lines) {}
            lines
        };
        let first = all(1, 1);
        assert_eq!(first, all(1, 1));
        assert_ne!(first, all(2, 1));
        assert_ne!(first, all(1, 2));
        let text = String::from_utf8(first).unwrap();
        assert_eq!(text.lines().count(), 25_000);
        let last: Vec<&str> = text.lines().last().unwrap().split('\t').collect();
        assert_eq!((last[0], last[2].len(), last[3].len()), ("25000", 119, 59));
    }
}
