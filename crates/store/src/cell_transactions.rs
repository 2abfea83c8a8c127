//! The types of transactions that a cell's workload has, by name.

use crate::ids::{CellId, RepeatId};
use crate::row::row;
use crate::values::word;
use crate::{Results, StoreError};
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
    /// A type of transactions of a cell's workload.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub struct CellTransaction {
        /// The name, as `transaction_type` in other tables: `new_order`, `payment`, `order_status`,
        /// `delivery`, `stock_level` of TPC-C.
        pub name: String,
        /// Whether throughput counts transactions of this type.
        pub is_primary: bool,
        /// Bytes of rows that one transaction changes, as long as rows typically are; 0 where it
        /// only reads, `None` where nobody knows.
        pub row_bytes: Option<u64>,
    }
}

impl CellTransaction {
    /// Does a transaction of this type change rows? One that nobody knows may.
    pub fn changes_rows(&self) -> bool {
        self.row_bytes != Some(0)
    }
}

/// Keys and columns of documents that tell of throughput in TPC-C's words.
const KEYS: [&str; 11] = [
    "nopm",
    "nopm_by_instance",
    "nopm_half_width",
    "nopm_per_watt",
    "nopm_per_usd",
    "new_order_p50_us",
    "new_order_p95_us",
    "new_order_p99_us",
    "new_order_max_us",
    "statements_per_new_order",
    "client_cpu_s_per_1000_new_orders",
];

impl ThroughputMetric {
    /// What a key or column of a document is called in that of a workload with this throughput.
    pub fn key(self, key: &str) -> Cow<'_, str> {
        if self == ThroughputMetric::Nopm || !KEYS.contains(&key) {
            return key.into();
        }
        let key = key.replace("nopm", self.as_str());
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

impl Results {
    pub(crate) fn transactions_of_cell(
        &self,
        cell: CellId,
    ) -> Result<Vec<CellTransaction>, StoreError> {
        let sql = "SELECT * FROM cell_transaction WHERE cell_id = ?1 ORDER BY ordinal";
        self.rows(sql, [cell])
    }

    /// The types of transactions of a repeat's workload, in the workload's order.
    pub fn transactions(&self, repeat: RepeatId) -> Result<Vec<CellTransaction>, StoreError> {
        self.transactions_of_cell(self.repeat(repeat)?.cell)
    }
}
