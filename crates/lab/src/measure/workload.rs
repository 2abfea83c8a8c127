//! What TPC-C and its server make of a load.

use crate::measure::preflight::PreparedStatements;
use spec::{Isolation, Load, WorkloadKind, defaults};
use store::{CellTransaction, ThroughputMetric};
use tpcc::tpcc_mysql::{self, DEVIATIONS, Decision, FAILING_CHECKS};
use tpcc::{Transaction, prepared_statements};

/// What each connection of this load holds.
pub(crate) fn prepared_statements_of(load: &Load) -> PreparedStatements {
    PreparedStatements(match &load.workload {
        WorkloadKind::Tpcc | WorkloadKind::TpccSpec => prepared_statements(load.style),
        WorkloadKind::TpccMysql => tpcc_mysql::PREPARED_STATEMENTS,
    })
}

/// What the throughput of a workload counts.
pub(crate) fn metric_of(workload: &WorkloadKind) -> ThroughputMetric {
    match workload {
        WorkloadKind::Tpcc | WorkloadKind::TpccSpec | WorkloadKind::TpccMysql => {
            ThroughputMetric::Nopm
        }
    }
}

/// The types of a workload's transactions, as results name them.
pub(crate) fn transactions_of(workload: &WorkloadKind) -> Vec<CellTransaction> {
    match workload {
        WorkloadKind::Tpcc | WorkloadKind::TpccSpec | WorkloadKind::TpccMysql => {
            let types = Transaction::ALL.into_iter().zip(Transaction::TYPES);
            let types = types.map(|(transaction, info)| CellTransaction {
                name: info.name.to_owned(),
                is_primary: info.is_primary,
                row_bytes: Some(transaction.row_bytes()),
            });
            types.collect()
        }
    }
}

/// The isolation level of its sessions, on a server with these variables.
pub(crate) fn isolation_on(load: &Load, variables: &[(String, String)]) -> Option<String> {
    match (load.isolation, &load.workload) {
        (Some(named), _) => Some(named.name().to_owned()),
        (None, WorkloadKind::Tpcc | WorkloadKind::TpccSpec) => {
            Some(defaults::ISOLATION.name().to_owned())
        }
        (None, WorkloadKind::TpccMysql) => {
            let of_server = |(name, _): &&(String, String)| {
                name == "transaction_isolation" || name == "tx_isolation"
            };
            let found = variables.iter().find(of_server);
            found.map(|(_, value)| value.to_ascii_lowercase())
        }
    }
}

/// What a reader should know of results at this isolation level.
pub(crate) fn isolation_note(isolation: &str) -> Option<String> {
    let demanded = [defaults::ISOLATION, Isolation::Serializable].map(Isolation::name);
    (!demanded.contains(&isolation)).then(|| {
        format!(
            "isolation level {isolation} is weaker than TPC-C demands: New-Order, Payment, Delivery and Order-Status must not \
             see phantoms or rows that change between two reads (clause 3.4.1); compare it with runs at the same level only"
        )
    })
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

#[cfg(test)]
mod tests {
    use super::isolation_note;

    #[test]
    fn a_level_below_the_demanded_one_is_told() {
        assert_eq!(isolation_note("repeatable-read"), None);
        assert_eq!(isolation_note("serializable"), None);
        for weaker in ["read-committed", "read-uncommitted"] {
            let note = isolation_note(weaker).unwrap();
            assert!(note.contains(weaker) && note.contains("3.4.1"), "{note}");
        }
    }
}
