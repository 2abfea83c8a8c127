//! The rows of the results file as Rust types: one struct for each table, in the words and units of its columns.

use crate::cell_transactions::{CellTransaction, ThroughputMetric};
use crate::device_io::CellPlace;
use crate::histogram::Encoded;
use crate::ids::{CellId, LabId, LoadId, RepeatId};
use crate::presets::CellPreset;
use crate::row::{Bits, Columns, Elsewhere, Kind, Parts, Redacted, row};
use crate::values::word;
use hdrhistogram::Histogram;
use rusqlite::Row;
use std::borrow::Cow;

word!(
    /// How far a lab has come.
    LabStatus {
        Running = "running",
        Done = "done",
        /// At least one cell has no result, or the lab could not go on.
        Failed = "failed",
        /// Ended by the user, or its process is gone.
        Interrupted = "interrupted",
    }
);
word!(
    /// How far a repeat has come. Only `done` has numbers that may be shown.
    RepeatStatus {
        Running = "running",
        Done = "done",
        Failed = "failed",
        Skipped = "skipped",
    }
);
word!(
    /// Part of a run that an interval belongs to. A transaction belongs to the interval in which it ended.
    Phase {
        Warmup = "warmup",
        Window = "window",
        /// After the window, until the last transaction has ended.
        Drain = "drain",
    }
);
word!(
    /// When server variables were read.
    Moment {
        /// Before the window.
        Start = "start",
        /// After the window.
        End = "end",
    }
);
word!(
    /// How rows reached the server.
    LoadMethod {
        LocalInfile = "local_infile",
        Inserts = "inserts",
    }
);
word!(
    /// What the value of an input counter is.
    CounterUnit {
        /// hits / trials, 0..=1.
        Share = "share",
        /// hits / trials, any size (lines per order).
        Average = "average",
    }
);
word!(
    /// What an input counter says of the run.
    Verdict {
        /// In the band that the clause allows.
        Within = "within",
        /// Outside the band, but a right generator gives such a value in a run as short as this.
        Chance = "chance",
        /// Outside both.
        Outside = "outside",
        /// Nothing was counted.
        NoData = "no_data",
    }
);

row! {
    /// A lab about to start.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct NewLab {
        pub name: String,
        /// The plan file as given; `None` where a single command measures.
        pub plan: Option<String> as Redacted,
        /// As typed; passwords are taken out on storing.
        pub command_line: String as Redacted,
        pub mydyno_version: String,
        /// Hardware and system: CPU model, cores, memory, kernel, file system, ...
        pub host_facts: Vec<(String, String)> as Elsewhere,
    }

    /// A lab as stored.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Lab {
        pub id: LabId,
        pub name: String,
        pub plan: Option<String>,
        pub command_line: String,
        pub mydyno_version: String,
        pub status: LabStatus,
        pub reason: Option<String>,
        pub started_utc_ns: i64,
        pub finished_utc_ns: Option<i64>,
    }

    /// What is measured: one combination of the matrix.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct NewCell {
        /// Place in the lab, from 1; the order of the plan.
        pub ordinal: u32,
        /// As `--engine` or the plan has it: `mysql-5.7`, or in a plan the path of a server's binary.
        pub engine: String,
        /// As the server says: `5.7.22-log`.
        pub server_version: String,
        /// `mysql`, `mariadb` or `percona`.
        pub flavour: String,
        /// `tcp`, `tcp+tls` or `unix`.
        pub transport: String,
        /// DSN; a password is taken out on storing.
        pub target: String as Redacted,
        pub workload: String,
        pub throughput_metric: ThroughputMetric,
        pub style: String,
        /// `None` where the workload has none, as the next two.
        pub warehouses: Option<u32>,
        pub connections: u32,
        /// Connections are bound to warehouses.
        pub home: Option<bool>,
        pub foreign_keys: Option<bool>,
        /// Of each table that is split by warehouses; 0 where none is.
        pub partitions: u32,
        /// HISTORY has a primary key; `None` where that was not looked at.
        pub history_key: Option<bool>,
        /// Of the sessions: `repeatable-read`.
        pub isolation: Option<String>,
        /// The most, where it is automatic.
        pub warmup_ns: u64,
        pub window_ns: u64,
        pub interval_ns: u64,
        /// Ends when the server is steady.
        pub warmup_auto: bool,
        /// Ends when its mean throughput is known to `precision_share`.
        pub window_auto: bool,
        /// Half the width of the mean's 95 % interval, as a share of the mean; of an automatic window.
        pub precision_share: Option<f64>,
        /// As the plan or the command has it; each repeat has a seed of its own for its inputs.
        pub seed: u64 as Bits,
        /// That connections are spread over, each with so many warehouses; 1 without `--schemas`.
        pub schemas: u32,
        /// Servers that are driven together, each with a database of its own; else 1.
        pub instances: u32,
        /// How often the server describes the columns of results: `always`, `cached` or `omitted`.
        pub result_metadata: Option<String>,
        /// Of workload `tpcc-spec`.
        pub terminals: Option<u32>,
        /// Of the database: with rows and without terminals, besides `warehouses`; `None` too in files of a format before 11.
        pub inactive_warehouses: Option<u32>,
        /// `500/s`, `80%`.
        pub rate_asked: Option<String>,
        /// `poisson` or `uniform`.
        pub arrivals: Option<String>,
        /// Where its files are, by role; empty where mydyno did not place them.
        pub places: Vec<CellPlace> as Elsewhere,
        /// The types of its transactions, in the workload's order.
        pub transactions: Vec<CellTransaction> as Elsewhere,
        /// What else tells this cell from its neighbours: preset, `innodb_io_capacity`, ...
        pub settings: Vec<(String, String)> as Elsewhere,
        /// What became of the preset that its server was started with.
        pub preset: Option<CellPreset> as Elsewhere,
    }

    /// A cell as stored.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Cell {
        pub id: CellId,
        pub lab: LabId = "lab_id",
        pub what: NewCell as Parts = "",
    }

    /// A repeat about to start.
    #[derive(Clone, Debug, PartialEq)]
    pub struct NewRepeat {
        pub cell: CellId = "cell_id",
        /// From 1. Measuring the same ordinal again is a new attempt; the earlier ones stay in the file.
        pub ordinal: u32,
        /// The server's option file, where it is ours.
        pub my_cnf: Option<String> as Redacted,
        /// What the inputs of its transactions derive from; `None` where it is not driven.
        pub seed: Option<u64> as Bits,
        /// Threads of the driver that carry its connections; `None` where it is not driven.
        pub driver_threads: Option<u32>,
    }

    /// A repeat as stored.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Repeat {
        pub id: RepeatId,
        pub cell: CellId = "cell_id",
        pub ordinal: u32,
        /// From 1; the highest one counts.
        pub attempt: u32,
        /// The block of the lab in which it was measured, see [`crate::Block`]; the ordinal in files of a
        /// format before 11 and outside labs.
        pub block: u32 as BlockOrOrdinal,
        pub status: RepeatStatus,
        /// Of a failed or skipped one: `lock_wait_timeout`, `server_died`, `interrupted_process`, ...
        pub reason_code: Option<String>,
        pub reason: Option<String>,
        pub started_utc_ns: i64,
        pub finished_utc_ns: Option<i64>,
        /// What was measured; a failed repeat has it only where it failed after its window.
        pub result: Option<RepeatResult> as Parts = "",
        /// New orders that ended in the window and are in no interval: 0, but in files that were begun
        /// with a format before 11. `None` where such a file does not tell.
        pub new_orders_left_out: Option<u64>,
        pub my_cnf: Option<String>,
        pub log_tail: Option<String>,
        /// As [`NewRepeat::seed`]; `None` too in files of a format before 11, where its cell has it.
        pub seed: Option<u64> as Bits,
        /// As [`NewRepeat::driver_threads`]; `None` too in files of a format before 11.
        pub driver_threads: Option<u32>,
    }
}

/// A block; where it is NULL, the ordinal.
struct BlockOrOrdinal;

impl Kind<u32> for BlockOrOrdinal {
    fn put<'a>(
        column: Cow<'static, str>,
        value: &'a u32,
        into: &mut Columns<'a>,
    ) -> rusqlite::Result<()> {
        into.add(column, (*value).into());
        Ok(())
    }

    fn get(row: &Row<'_>, column: &str) -> rusqlite::Result<u32> {
        let block: Option<u32> = row.get(column)?;
        block.map_or_else(|| row.get("ordinal"), Ok)
    }
}

impl NewCell {
    /// The only type of transactions that its throughput counts; `None` where there are several.
    pub fn only_primary(&self) -> Option<&str> {
        let mut primary = self.transactions.iter().filter(|of| of.is_primary);
        let first = primary.next()?;
        primary.next().is_none().then_some(first.name.as_str())
    }
}

impl Repeat {
    /// Length of the warm-up before the window, which begins so long after the start of the run.
    pub fn warmup_ns(&self, cell: &NewCell) -> u64 {
        let measured = self.result.as_ref().and_then(|of| of.warmup_measured_ns);
        measured.unwrap_or(cell.warmup_ns)
    }

    /// Was it measured over its whole window?
    pub fn is_whole(&self) -> bool {
        let was_cut = self
            .result
            .as_ref()
            .is_some_and(|result| result.interrupted);
        self.status == RepeatStatus::Done && !was_cut
    }

    /// The reason of a repeat that failed by itself; `None` where it was only interrupted or there was no room, which says nothing of
    /// its cell.
    pub fn own_failure(&self) -> Option<&str> {
        let code = self.reason_code.as_deref();
        code.filter(|code| !["interrupted", "interrupted_process", DISK_FULL].contains(code))
    }
}

row! {
    /// What one finished measurement counted besides its intervals.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct RepeatResult {
        pub window_started_utc_ns: i64,
        pub window_ended_utc_ns: i64,
        /// Length of the warm-up as it was; `None` in files of a format before 7, where it was as planned.
        pub warmup_measured_ns: Option<u64>,
        /// Was the server steady when an automatic warm-up ended?
        pub warmup_steady: Option<bool>,
        /// Length of the window by the monotonic clock; rates are computed from it.
        pub measured_window_ns: u64,
        /// How well an automatic window knows its mean: as [`NewCell::precision_share`].
        pub window_precision_share: Option<f64>,
        /// The window was ended early by the user.
        pub interrupted: bool,
        /// User and system time of mydyno over the window.
        pub client_cpu_ns: u64,
        pub client_peak_rss_bytes: Option<u64>,
        /// Statements sent over the window.
        pub statements: u64,
        /// New orders that the driver saw committed over the whole run, warm-up and drain included.
        /// `None` where the workload has none, as the next one.
        pub committed_new_orders: Option<u64>,
        /// New orders of the whole run whose COMMIT had no answer.
        pub in_doubt_new_orders: Option<u64>,
        /// Sum of `d_next_o_id` before and after the whole run.
        pub district_next_o_id_sum_before: Option<i64>,
        pub district_next_o_id_sum_after: Option<i64>,
        /// Connections made again after a loss, over the whole run.
        pub reconnects: u64,
        /// Transactions of all types per second that a closed loop did, where the rate was asked for as a share of it.
        pub capacity_per_s: Option<f64>,
        /// How well that is known: half the width of its 95 % interval, as a share of it.
        pub capacity_precision_share: Option<f64>,
        /// Of the schedule: transactions of all types per second.
        pub rate_per_s: Option<f64>,
        /// New orders per minute of terminals that wait for nothing but their users, with the standard deviation that chance gives.
        pub ceiling_nopm: Option<f64>,
        pub ceiling_deviation_nopm: Option<f64>,
        /// Of workload `tpcc-spec`: new orders that began and ended in the window (clause 5.4.2).
        pub new_orders_within_window: Option<u64>,
        /// Of workload `tpcc-spec`: deliveries that were queued or under way at the end of the window.
        pub pending_deliveries: Option<u64>,
        /// New orders per minute of those within the window / (12.86 x warehouses with terminals).
        pub efficiency: Option<f64>,
    }
}

/// [`RepeatFailure::reason_code`] where the server's files had no room.
pub const DISK_FULL: &str = "disk_full";

row! {
    /// Why a repeat has no result.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct RepeatFailure {
        /// A word for programs: `lock_wait_timeout`, `server_died`, `load_failed`, `timed_out`, `check_failed`, ...
        pub reason_code: String,
        /// A sentence for people.
        pub reason: String as Redacted,
        /// The last lines of the server's error log.
        pub log_tail: Option<String> as Redacted,
    }

    /// One transaction type in one interval.
    #[derive(Clone, Debug)]
    pub struct IntervalRow {
        pub phase: Phase,
        /// From the start of the run (the first warm-up transaction).
        pub start_offset_ns: u64,
        pub end_offset_ns: u64,
        /// As [`crate::CellTransaction::name`].
        pub transaction: String = "transaction_type",
        pub committed: u64,
        /// Deliberate rollbacks (clause 2.4.1.4).
        pub rolled_back: u64,
        /// Tries that ended in a deadlock and were made again.
        pub deadlocks: u64,
        /// Tries that ended in a lock wait timeout and were made again.
        pub lock_wait_timeouts: u64,
        /// Tries made again for any other cause.
        pub other_retries: u64,
        /// Transactions given up.
        pub errors: u64,
        /// Response times of committed and rolled back transactions in ns, retries included.
        pub latency: Histogram<u64> as Encoded = "latency_histogram_ns",
        /// Exact sum and maximum of the same response times.
        pub latency_sum_ns: u64,
        pub latency_max_ns: u64,
        /// Response times above the histogram's bound: in the sum and maximum, not in the histogram.
        pub latency_out_of_bounds: u64,
    }

    /// Failed tries of one transaction type by error, over the whole run.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Failure {
        pub transaction: String = "transaction_type",
        /// The server's number, or `lost` for a lost connection.
        pub error_code: String,
        pub occurrences: u64,
        pub first_message: String as Redacted,
    }

    /// A clause-5 counter of the inputs that were generated, with the band that the clause allows.
    #[derive(Clone, Debug, PartialEq)]
    pub struct InputCounter {
        pub name: String,
        /// For people: `remote order lines`.
        pub title: String,
        pub unit: CounterUnit,
        pub hits: u64,
        pub trials: u64,
        pub value: Option<f64>,
        pub allowed: Band as Parts,
        /// Where a right generator lands with 99.9 % probability in a run of so many trials.
        pub chance: Band as Parts,
        pub verdict: Verdict,
    }

    /// A range; a missing end is open.
    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    pub struct Band {
        pub low: Option<f64>,
        pub high: Option<f64>,
    }
}

impl Band {
    /// From `low` to `high`, both inside.
    pub fn between(low: f64, high: f64) -> Band {
        Band {
            low: Some(low),
            high: Some(high),
        }
    }

    /// Does `value` lie inside?
    pub fn contains(self, value: f64) -> bool {
        self.low.is_none_or(|low| value >= low) && self.high.is_none_or(|high| value <= high)
    }
}

impl Verdict {
    /// The verdict on a counter's value.
    pub fn of(value: Option<f64>, allowed: Band, chance: Band) -> Verdict {
        match value {
            None => Verdict::NoData,
            Some(value) if allowed.contains(value) => Verdict::Within,
            Some(value) if chance.contains(value) => Verdict::Chance,
            Some(_) => Verdict::Outside,
        }
    }
}

/// What checks were made on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckedOn {
    /// A database checked by itself.
    Lab(LabId),
    /// The database after a measurement.
    Repeat(RepeatId),
    /// The database after its population.
    Load(LoadId),
}

impl CheckedOn {
    /// The column that names it.
    pub(crate) fn key(self) -> (&'static str, i64) {
        match self {
            CheckedOn::Lab(id) => ("lab_id", id.0),
            CheckedOn::Repeat(id) => ("repeat_id", id.0),
            CheckedOn::Load(id) => ("load_id", id.0),
        }
    }
}

row! {
    /// One consistency condition or invariant, tried.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct CheckResult {
        pub name: String,
        pub title: String,
        pub clause: String,
        pub passed: bool,
        pub offending_rows: u64,
        /// A JSON array of a few offending rows.
        pub examples_json: String,
        pub duration_ns: u64,
    }

    /// One population of a database.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Load {
        /// The lab that it was made for, where there is one.
        pub lab: Option<LabId> = "lab_id",
        /// DSN; a password is taken out on storing.
        pub target: String as Redacted,
        pub engine: String,
        pub server_version: String,
        /// `None` where the workload has none, as `foreign_keys`.
        pub warehouses: Option<u32>,
        pub seed: u64 as Bits,
        pub threads: u32,
        pub method: LoadMethod,
        pub foreign_keys: Option<bool>,
        /// Of each table that is split by warehouses; 0 where none is.
        pub partitions: u32,
        /// HISTORY has a primary key; `None` where an earlier mydyno loaded it, which gave it none.
        pub history_key: Option<bool>,
        pub started_utc_ns: i64,
        pub finished_utc_ns: i64,
        pub duration_ns: u64,
        /// Bytes of rows sent to the server.
        pub total_bytes: u64,
        pub client_cpu_ns: u64,
        pub client_peak_rss_bytes: Option<u64>,
        pub tables: Vec<LoadTable> as Elsewhere,
    }
}

impl Load {
    /// Rows of all tables.
    pub fn total_rows(&self) -> u64 {
        self.tables.iter().map(|table| table.rows).sum()
    }
}

row! {
    /// One table of a population.
    #[derive(Clone, Debug, PartialEq)]
    pub struct LoadTable {
        pub name: String = "table_name",
        pub rows: u64 = "table_rows",
        /// As text: the same for the same seed.
        pub checksum: String,
    }
}

/// What a note is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoteOn {
    Lab(LabId),
    Repeat(RepeatId),
}

impl NoteOn {
    /// The column that names it.
    pub(crate) fn key(self) -> (&'static str, i64) {
        match self {
            NoteOn::Lab(id) => ("lab_id", id.0),
            NoteOn::Repeat(id) => ("repeat_id", id.0),
        }
    }
}
