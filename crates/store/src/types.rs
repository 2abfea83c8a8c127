//! The rows of the results file as Rust types: one struct for each table, in the words and units of
//! its columns.

use crate::cell_transactions::{CellTransaction, ThroughputMetric};
use crate::device_io::CellPlace;
use crate::ids::{CellId, LabId, LoadId, RepeatId};
use crate::presets::CellPreset;
use crate::row::{Bits, Elsewhere, Parts, Redacted, RedactedPlan, row};
use crate::values::word;

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
    /// How rows reached the server.
    LoadMethod {
        LocalInfile = "local_infile",
        Inserts = "inserts",
    }
);

/// What a list of labs has of their cells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabEngines {
    pub cells: u32,
    /// Each once, by commas.
    pub engines: String,
}

row! {
    /// A lab about to start.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct NewLab {
        /// The name of the plan, or of the command.
        pub name: String,
        /// The plan file as given; `None` where a single command measures.
        pub plan: Option<String> as RedactedPlan,
        /// The command line as typed, without passwords; of `--power-command` the program only.
        pub command_line: String as Redacted,
        /// The version of the program that measured.
        pub mydyno_version: String,
        /// Repeats of all cells that the plan asks for; `None` without a plan.
        pub turns: Option<u32>,
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
        /// As [`NewLab::turns`].
        pub turns: Option<u32>,
        /// Did what came out decide what was measured next (`advise`, `tune`)? Then p-values and
        /// intervals of so many repeats do not hold.
        pub adaptive: bool,
        /// `running`, `done`, `failed` (the machine ended it; of a command that measures one cell,
        /// that has no result: failed cells of a plan leave it `done`), `interrupted` (by the user,
        /// its process is gone, or only a shard is there).
        pub status: LabStatus,
        /// Why it failed or was interrupted.
        pub reason: Option<String>,
        pub started_utc_ns: i64,
        /// `None` while the lab runs.
        pub finished_utc_ns: Option<i64>,
    }

    /// What is measured: one combination of the matrix.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct NewCell {
        /// Place in the lab, from 1: the order of the plan.
        pub ordinal: u32,
        /// The engine as `--engine` or the plan names it: `mysql-5.7`, or in a plan the path of a
        /// server's binary.
        pub engine: String,
        /// The version as the server tells it: `5.7.22-log`.
        pub server_version: String,
        /// `mysql`, `mariadb` or `percona`.
        pub flavour: String,
        /// `tcp`, `tcp+tls` or `unix`: what was used, not what was asked for.
        pub transport: String,
        /// DSN without password.
        pub target: String as Redacted,
        /// `tpcc`, `tpcc-spec`, `tpcc-mysql` or another workload's name.
        pub workload: String,
        /// What its throughput counts, per minute: `nopm` (new orders of TPC-C) or `tpm` (primary
        /// transactions of other workloads).
        pub throughput_metric: ThroughputMetric,
        /// How statements travel: `statements`, `pipelined`, `batched`, `procedures`.
        pub style: String,
        /// Warehouses with rows that the run uses; `None` where the workload has none, as `home`
        /// and `foreign_keys`.
        pub warehouses: Option<u32>,
        pub connections: u32,
        /// Whether connections are bound to warehouses; `None` where the workload has none.
        pub home: Option<bool>,
        /// Whether the schema has foreign keys.
        pub foreign_keys: Option<bool>,
        /// Partitions of each table whose primary key has the warehouse; 0 where none is
        /// partitioned.
        pub partitions: u32,
        /// Whether HISTORY has a primary key, which TPC-C does not give it.
        pub history_key: Option<bool>,
        /// Isolation level of the sessions, as `repeatable-read`.
        pub isolation: Option<String>,
        /// The warm-up as planned: the most, where it is automatic. What it was is in `repeat`.
        pub warmup_ns: u64,
        /// The window as planned, or the most. What it was is in `repeat`.
        pub window_ns: u64,
        /// The interval as planned.
        pub interval_ns: u64,
        /// Whether the warm-up ends when the server is steady.
        pub warmup_auto: bool,
        /// Whether the window ends when its mean throughput is known to `precision_share`.
        pub window_auto: bool,
        /// Half the width of the mean's 95 % confidence interval that is asked for, as a share of
        /// the mean; `None` where the window is not automatic.
        pub precision_share: Option<f64>,
        /// The seed as the plan or the command has it: 64 bits, shown negative from 2^63.
        pub seed: u64 as Bits,
        /// Schemas that connections are spread over (`--schemas`), each with so many warehouses; 1
        /// where there is one.
        pub schemas: u32,
        /// Servers that were driven together (`instances` of a plan, `--instances`), each with a
        /// database of so many warehouses; connections are divided among them, and every number of
        /// a repeat is of all of them together. `target`, server variables and server status are
        /// those of the first.
        pub instances: u32,
        /// Cores that these servers were kept to, all of them together (`cores` of a plan,
        /// `--cores`); `None` where they had all that they found. Which ones is in `repeat`.
        pub cores: Option<u32>,
        /// How often the server describes the columns of results: `always`, `cached` (once for each
        /// statement) or `omitted` (as the client asked for).
        pub result_metadata: Option<String>,
        /// Terminals of workload `tpcc-spec`; `None` for the other workloads.
        pub terminals: Option<u32>,
        /// Warehouses of the database besides `warehouses`, with rows and without terminals (clause
        /// 4.2.2); `None` for other workloads than `tpcc-spec`.
        pub inactive_warehouses: Option<u32>,
        /// The rate of an open loop: `500/s`, or `80%` of the capacity; `None` for a closed loop
        /// and for terminals.
        pub rate_asked: Option<String>,
        /// How transactions of an open loop arrive: `poisson` or `uniform`.
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
    pub struct StoredCell {
        pub id: CellId,
        pub lab: LabId = "lab_id",
        pub what: NewCell as Parts = "",
    }
}

/// The setting that says how several servers belong together (`--topology`).
pub const TOPOLOGY_SETTING: &str = "topology";

impl NewCell {
    /// How several servers belong together; `None` where there is one, or each has a database of
    /// its own.
    pub fn topology(&self) -> Option<&str> {
        let found = self.settings.iter().find(|(name, _)| name == TOPOLOGY_SETTING);
        found.map(|(_, topology)| topology.as_str())
    }

    /// The only type of transactions that its throughput counts; `None` where there are several.
    pub fn only_primary(&self) -> Option<&str> {
        let mut primary = self.transactions.iter().filter(|of| of.is_primary);
        let first = primary.next()?;
        primary.next().is_none().then_some(first.name.as_str())
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
    pub struct StoredCheck {
        /// The name, for programs.
        pub name: String,
        /// The title, for people.
        pub title: String,
        /// The clause of TPC-C, or of mydyno's METHODOLOGY.
        pub clause: String,
        pub passed: bool,
        pub offending_rows: u64,
        /// A JSON array of a few offending rows.
        pub examples_json: String,
        pub duration_ns: u64,
    }

    /// One population of a database.
    #[derive(Clone, Debug, PartialEq)]
    pub struct StoredLoad {
        /// The lab that it was made for; `None` for `mydyno load`.
        pub lab: Option<LabId> = "lab_id",
        /// DSN without password.
        pub target: String as Redacted,
        pub engine: String,
        pub server_version: String,
        /// `None` where the workload has none, as `foreign_keys`.
        pub warehouses: Option<u32>,
        /// As in `cell`.
        pub seed: u64 as Bits,
        pub threads: u32,
        /// `local_infile` or `inserts`.
        pub method: LoadMethod,
        pub foreign_keys: Option<bool>,
        /// As in `cell`.
        pub partitions: u32,
        /// As in `cell`.
        pub history_key: Option<bool>,
        pub started_utc_ns: i64,
        pub finished_utc_ns: i64,
        /// The duration by the monotonic clock.
        pub duration_ns: u64,
        /// Bytes of rows that were sent to the server.
        pub total_bytes: u64,
        pub client_cpu_ns: u64,
        pub client_peak_rss_bytes: Option<u64>,
        pub tables: Vec<StoredLoadTable> as Elsewhere,
    }
}

impl StoredLoad {
    /// Rows of all tables.
    pub fn total_rows(&self) -> u64 {
        self.tables.iter().map(|table| table.rows).sum()
    }
}

row! {
    /// One table of a population.
    #[derive(Clone, Debug, PartialEq)]
    pub struct StoredLoadTable {
        pub name: String = "table_name",
        pub rows: u64 = "table_rows",
        /// The checksum of the rows as they were generated, as text: the same for the same seed.
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
