//! What a measurement is asked to be.

use crate::preflight::PreparedStatements;
use base::Warehouses;
use std::time::Duration;
use tpcc::Style;
use tpcc::tpcc_mysql::{self, DEVIATIONS, Decision, FAILING_CHECKS};

/// What to run.
#[derive(Clone, Debug)]
pub struct RunSpec {
    pub workload: Workload,
    pub style: Style,
    pub connections: u32,
    pub warmup: Duration,
    pub window: Duration,
    pub interval: Duration,
    pub seed: u64,
    /// Warehouses to use; all that the database has where none are named.
    pub warehouses: Option<Warehouses>,
    pub home: bool,
    /// Run the eighteen checks after the run.
    pub checks: bool,
    /// What else names this cell: server variables that were set.
    pub settings: Vec<(String, String)>,
}

/// What is driven.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workload {
    /// Transactions of clause 2 without keying and think time.
    Tpcc,
    /// Terminals with keying and think times, as clause 5 has them.
    TpccSpec,
    /// The statement sequence of tpcc-mysql.
    TpccMysql,
}

impl Workload {
    pub const ALL: [Workload; 3] = [Workload::Tpcc, Workload::TpccSpec, Workload::TpccMysql];

    /// The name on the command line and in results.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Workload::Tpcc => "tpcc",
            Workload::TpccSpec => "tpcc-spec",
            Workload::TpccMysql => "tpcc-mysql",
        }
    }

    /// What each connection holds.
    pub(crate) fn prepared_statements(self, style: Style) -> PreparedStatements {
        PreparedStatements(match self {
            Workload::Tpcc | Workload::TpccSpec => style.prepared_statements(),
            Workload::TpccMysql => tpcc_mysql::PREPARED_STATEMENTS,
        })
    }
}

/// What a reader of results of workload `tpcc-mysql` should know.
pub(crate) fn tpcc_mysql_notes() -> [String; 3] {
    let list = |decision| {
        let of_it = DEVIATIONS.iter().filter(|one| one.decision == decision);
        of_it.map(|one| one.short).collect::<Vec<_>>().join("; ")
    };
    [
        format!(
            "workload tpcc-mysql keeps of that tool: {}",
            list(Decision::Kept)
        ),
        format!(
            "workload tpcc-mysql does as it should be: {}",
            list(Decision::Fixed)
        ),
        format!(
            "after workload tpcc-mysql the checks {} cannot hold any more; load the database anew before they are asked",
            FAILING_CHECKS.join(", ")
        ),
    ]
}
