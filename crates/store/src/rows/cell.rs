//! Cells: what is measured, where its files are, and what its server was configured with.

use crate::row::{Bits, Columns, Nested, Redacted, Skipped, Stored, row};
use crate::values::{CellId, LabId, NamedTexts, word};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

word!(
    /// What the throughput of a workload counts: its primary transactions per minute.
    #[derive(Default)]
    ThroughputMetric {
        /// New orders of TPC-C.
        #[default]
        Nopm = "nopm",
        /// Transactions of other workloads.
        Tpm = "tpm",
    }
);

row! {
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
        pub places: Vec<CellPlace> as Skipped,
        /// The types of its transactions, in the workload's order.
        pub transactions: Vec<CellTransaction> as Skipped,
        /// What else tells this cell from its neighbours: preset, `innodb_io_capacity`, ...
        pub settings: NamedTexts as Skipped,
        /// What became of the preset that its server was started with.
        pub preset: Option<CellPreset> as Skipped,
    }

    /// A cell as stored.
    #[derive(Clone, Debug, PartialEq)]
    pub struct StoredCell {
        pub id: CellId,
        pub lab: LabId = "lab_id",
        pub what: NewCell as Nested = "",
    }

    /// Where the files of one role are.
    #[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
    #[serde(deny_unknown_fields)]
    pub struct CellPlace in "cell_place" by "role" {
        /// `data`, `redo`, `undo`, `doublewrite`, `binlog` or `temp`.
        pub role: String,
        /// The profile's name, or what the real device is called.
        pub device: String,
        /// Whether the device is emulated.
        pub emulated: bool,
        /// How much of an emulated device held live data, where that was asked for: `5 % used,
        /// fresh`.
        pub used: Option<String>,
        /// 16 hexadecimal digits of the figures of an emulated device's profile, by which a lab
        /// that goes on sees that they were changed; `None` of servers of `server start`.
        #[serde(skip)]
        pub profile_fingerprint: Option<String>,
        /// Where the bytes really are.
        pub backing: String,
    }

    /// A type of transactions of a cell's workload.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub struct CellTransaction in "cell_transaction" by "ordinal" {
        /// The name, as `transaction_type` in other tables: `new_order`, `payment`, `order_status`,
        /// `delivery`, `stock_level` of TPC-C.
        pub name: String,
        /// Whether throughput counts transactions of this type.
        pub is_primary: bool,
        /// Bytes of rows that one transaction changes, as long as rows typically are; 0 where it
        /// only reads, `None` where nobody knows.
        pub row_bytes: Option<u64>,
    }

    /// A preset, translated for the server of a cell.
    #[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
    #[serde(deny_unknown_fields)]
    pub struct CellPreset in "cell_preset" by "cell_id" {
        /// The name of the preset: `config-1`, ...
        pub name: String,
        /// The warehouses to which its sizes are in the papers' proportion; `None` where they are
        /// the papers' own sizes.
        pub scaled_to_warehouses: Option<u32>,
        /// In the order of the papers.
        pub variables: Vec<PresetVariable> as Skipped,
    }

    /// What became of one variable.
    #[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
    #[serde(deny_unknown_fields)]
    pub struct PresetVariable in "preset_variable" by "ordinal" {
        /// The variable in the papers' name.
        pub variable: String,
        /// The papers' value; empty where the papers have none.
        pub asked: String,
        /// `kept`, `renamed`, `folded` (into another variable), `scaled` (to the warehouses),
        /// `clamped` (to what the server takes), `added` (not of the papers, and needed), `placed`
        /// (a path, which places decide), `unknown` (to this server, and not set) or `overridden`
        /// (by `--set`, by `set` of the plan, or for the number of connections).
        pub fate: String,
        /// The server's variable that was set, where one was.
        pub became_variable: Option<String>,
        /// Its value.
        pub became_value: Option<String> as Redacted,
        /// The reason, for people.
        pub reason: Option<String>,
    }
}

/// The setting that says how several servers belong together (`--topology`).
pub const TOPOLOGY_SETTING: &str = "topology";

impl NewCell {
    /// Is there a column of this name?
    pub fn has_column(name: &str) -> bool {
        let (cell, mut columns) = (NewCell::default(), Columns::default());
        let is_put = cell.put("", &mut columns).is_ok();
        is_put && columns.names(str::to_owned).split(", ").any(|column| column == name)
    }

    /// How several servers belong together; `None` where there is one, or each has a database of
    /// its own.
    pub fn topology(&self) -> Option<&str> {
        base::value_of(&self.settings, TOPOLOGY_SETTING)
    }

    /// The only type of transactions that its throughput counts; `None` where there are several.
    pub fn only_primary(&self) -> Option<&str> {
        let mut primary = self.transactions.iter().filter(|of| of.is_primary);
        let first = primary.next()?;
        primary.next().is_none().then_some(first.name.as_str())
    }
}

impl CellTransaction {
    /// Does a transaction of this type change rows? One that nobody knows may.
    pub fn changes_rows(&self) -> bool {
        self.row_bytes != Some(0)
    }
}

/// Keys and columns of documents that tell of throughput in TPC-C's words.
const KEYS: [&str; 12] = [
    "nopm",
    "nopm_by_instance",
    "nopm_half_width",
    "nopm_per_watt",
    "nopm_per_usd",
    "new_order_p50_us",
    "new_order_p95_us",
    "new_order_p99_us",
    "new_order_max_us",
    "new_order_at_least",
    "statements_per_new_order",
    "client_cpu_s_per_1000_new_orders",
];

impl ThroughputMetric {
    /// What a key or column of a document is called in that of a workload with this throughput.
    pub fn key(self, key: &str) -> Cow<'_, str> {
        if self == ThroughputMetric::Nopm || !KEYS.contains(&key) {
            return key.into();
        }
        let key = key.replace("nopm", self.name());
        key.replace("new_order", self.transaction()).into()
    }

    /// What people call it.
    pub fn title(self) -> &'static str {
        match self {
            ThroughputMetric::Nopm => "NOPM",
            ThroughputMetric::Tpm => "TPM",
        }
    }

    /// What people call one of the transactions that it counts.
    pub fn transaction(self) -> &'static str {
        match self {
            ThroughputMetric::Nopm => "new order",
            ThroughputMetric::Tpm => "transaction",
        }
    }
}
