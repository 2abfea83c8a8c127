//! The OLTP workloads of sysbench.

use serde::Serialize;

/// Which statements of sysbench's OLTP a transaction has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum OltpMix {
    ReadWrite,
    ReadOnly,
    WriteOnly,
    /// One SELECT by primary key, without BEGIN and COMMIT.
    PointSelect,
}

/// The tables sbtest1, sbtest2 and so on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct SbtestTables {
    pub count: u32,
    /// Of each table.
    pub rows: u32,
}
