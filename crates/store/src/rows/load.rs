//! Populations of databases.

use crate::row::{Bits, Redacted, Skipped, row};
use crate::values::{LabId, word};

word!(
    /// How rows reached the server.
    LoadMethod {
        LocalInfile = "local_infile",
        Inserts = "inserts",
    }
);

row! {
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
        pub tables: Vec<StoredLoadTable> as Skipped,
    }

    /// One table of a population.
    #[derive(Clone, Debug, PartialEq, serde::Serialize)]
    pub struct StoredLoadTable in "load_table" by "ordinal" {
        pub name: String = "table_name",
        pub rows: u64 = "table_rows",
        /// The checksum of the rows as they were generated, as text: the same for the same seed.
        pub checksum: String,
    }
}

impl StoredLoad {
    /// Rows of all tables.
    pub fn total_rows(&self) -> u64 {
        self.tables.iter().map(|table| table.rows).sum()
    }
}
