//! The OLTP workloads of sysbench.

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
