//! The OLTP workloads of sysbench.

use crate::defaults;

/// Which statements of sysbench's OLTP a transaction has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OltpMix {
    ReadWrite,
    ReadOnly,
    WriteOnly,
    /// One SELECT by primary key, without BEGIN and COMMIT.
    PointSelect,
}

/// The tables sbtest1, sbtest2 and so on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SbtestTables {
    pub count: u32,
    /// Of each table.
    pub rows: u32,
}

impl Default for SbtestTables {
    fn default() -> SbtestTables {
        SbtestTables {
            count: defaults::SBTEST_TABLES,
            rows: defaults::SBTEST_ROWS,
        }
    }
}
