//! The workloads, as a measurement has them: what is driven on the databases of a target, and what
//! a load makes of it.

use crate::error::{LabError, LabResult, WhileDoing, unfit};
use crate::measure::pacing::Concurrency;
use crate::measure::seeds;
use crate::target::schemas::{self, Inspected};
use crate::target::sessions::with_session;
use base::{Connect, Warehouses, now_utc_ns, value_of};
use drive::{Facts, Merge, Proof, RunReport, Schemas, TransactionInfo, Workload as _};
use itertools::Itertools;
use oltp::file::WorkloadFile;
use oltp::{ScriptOptions, ScriptWorkload};
use spec::{DatabaseKind, Isolation, Load, ScriptKind, Style, WorkloadKind, defaults};
use std::iter;
use std::sync::Arc;
use store::{CellTransaction, StoredCheck, ThroughputMetric};
use tpcc::tpcc_mysql::{self, DEVIATIONS, Decision, FAILING_CHECKS};
use tpcc::xa::XaRun;
use tpcc::{
    CheckSet, Database, Homes, RunConstants, ShardRanges, StatementSet, Table, TpccOptions,
    TpccWorkload, Transaction, Witness, prepared_statements, run_checks,
};
use wire::{Connection, Connector};

/// Checks of so many warehouses run side by side: it is the server's cores that they wait for.
const CHECK_SESSIONS: u32 = 4;

/// A workload of any crate.
pub(crate) enum AnyWorkload {
    Tpcc(TpccWorkload<Connector>),
    Script(ScriptWorkload<Connector>),
}

/// The same for each crate's workload.
macro_rules! of_each {
    ($any:expr, $workload:ident => $value:expr) => {
        match $any {
            $crate::measure::workload::AnyWorkload::Tpcc($workload) => $value,
            $crate::measure::workload::AnyWorkload::Script($workload) => $value,
        }
    };
}
pub(crate) use of_each;

impl AnyWorkload {
    /// The same transactions with other inputs.
    pub(crate) fn with_seed(&self, seed: u64) -> AnyWorkload {
        match self {
            AnyWorkload::Tpcc(workload) => AnyWorkload::Tpcc(workload.with_seed(seed)),
            AnyWorkload::Script(workload) => AnyWorkload::Script(workload.with_seed(seed)),
        }
    }

    /// The types of its transactions.
    pub(crate) fn types(&self) -> &'static [TransactionInfo] {
        of_each!(self, workload => workload.transactions())
    }

    /// What the databases add up to.
    ///
    /// # Errors
    /// Where a server refuses.
    pub(crate) fn facts(&self, databases: &Schemas<Connector>) -> LabResult<Facts> {
        let mut all = Facts::default();
        for connector in databases.databases() {
            all.merge(&self.facts_of(connector)?);
        }
        Ok(all)
    }

    /// What one database adds up to.
    ///
    /// # Errors
    /// As [`AnyWorkload::facts`].
    pub(crate) fn facts_of(&self, database: &Connector) -> LabResult<Facts> {
        with_session(database, async |session| {
            let facts = of_each!(self, workload => workload.facts(session).await);
            facts.doing("reading what the rows of the database add up to")
        })
    }

    pub(crate) fn tpcc(&self) -> Option<&TpccWorkload<Connector>> {
        if let AnyWorkload::Tpcc(workload) = self { Some(workload) } else { None }
    }

    /// See [`Proof::mismatch`].
    pub(crate) fn mismatch(
        &self,
        report: &RunReport,
        (before, after): (&Facts, &Facts),
    ) -> Option<String> {
        of_each!(self, workload => workload.mismatch(report, before, after))
    }

    /// The warehouses of each server, where they are divided.
    pub(crate) fn shards(&self) -> Option<&ShardRanges> {
        self.tpcc()?.options.shards.as_ref()
    }

    /// Proves a database consistent; of TPC-C a set of checks may be asked. An empty list where
    /// there is nothing to prove it by.
    ///
    /// # Errors
    /// Where the server refuses or is gone.
    pub(crate) async fn checks(
        &self,
        connector: &Connector,
        set: CheckSet,
        progress: &mut dyn FnMut(u64, u64),
    ) -> LabResult<Vec<StoredCheck>> {
        let mut first = connector.connect().await?;
        let mut others = Vec::new();
        let warehouses = self.tpcc().map_or(Warehouses(0), |of| of.options.configured);
        for _ in 1..warehouses.0.min(CHECK_SESSIONS) {
            // The account may be allowed no more of them.
            let Ok(session) = connector.connect().await else { break };
            others.push(session);
        }
        let checks = match self {
            AnyWorkload::Tpcc(_) => {
                run_checks((&mut first, &mut others), set, warehouses, progress).await
            }
            AnyWorkload::Script(workload) => workload.checks(&mut first, progress).await,
        };
        for session in iter::once(first).chain(others) {
            Connector::close(session).await;
        }
        checks.doing("checking the database")
    }
}

/// A load on the databases that are there.
pub(crate) struct Fitted {
    pub(crate) workload: AnyWorkload,
    pub(crate) concurrency: Concurrency,
    /// Of TPC-C.
    pub(crate) tpcc: Option<Inspected>,
    /// Prepared ones that each connection holds.
    pub(crate) statements: u32,
    /// What a CALL returns is not known when it is prepared, so answers are described.
    pub(crate) has_calls: bool,
    /// The size of the database, where it is no TPC-C one.
    pub(crate) settings: Vec<(String, String)>,
    /// Tables whose storage engine has no transactions, each with it.
    pub(crate) untransactional: Vec<String>,
}

impl Fitted {
    /// Refuses tables that cannot roll back under transactions which write. Who writes a workload
    /// of his own knows what he wants of them.
    ///
    /// # Errors
    /// [`LabError::Unfit`] with the tables.
    pub(crate) fn require_transactions(&self, workload: &WorkloadKind) -> LabResult<()> {
        let writes = self.workload.types().iter().any(|of_type| of_type.row_bytes != Some(0));
        let is_own = matches!(workload, WorkloadKind::Script(ScriptKind::File(_)));
        if self.untransactional.is_empty() || is_own || !writes {
            return Ok(());
        }
        let (engines, first) = (self.untransactional.join(", "), &self.untransactional[0]);
        let table = first.split(' ').next().unwrap_or_default();
        Err(unfit(format!(
            "tables without transactions: {engines}; what is rolled back or tried again would \
             stay in them, and no check could tell. Convert them (ALTER TABLE {table} \
             ENGINE=InnoDB), load them anew, or name a workload that only reads"
        )))
    }

    /// What a reader of results should know of such tables.
    pub(crate) fn note_of_tables(&self) -> Option<String> {
        let engines = self.untransactional.join(", ");
        (!engines.is_empty()).then(|| {
            format!(
                "tables without transactions: {engines}; statements on them are neither rolled \
                 back nor isolated, and checks prove nothing of that"
            )
        })
    }
}

/// Finds out what the databases are, and makes the workload for them; `seed` is that of the inputs,
/// and a witness is told how each transaction of TPC-C ends.
///
/// # Errors
/// Where there is no database for this workload, or the file of the workload is wrong.
pub(crate) fn fit(
    databases: &Schemas<Connector>,
    load: &Load,
    seed: u64,
    witness: Option<Arc<Witness>>,
) -> LabResult<Fitted> {
    let databases = &databases.map(|connector| connector.preparing(!load.no_prepare));
    let kind = match &load.workload {
        WorkloadKind::Script(kind) => kind,
        WorkloadKind::Tpcc | WorkloadKind::TpccSpec | WorkloadKind::TpccMysql => {
            return fit_tpcc(databases, load, seed, witness);
        }
    };
    let is_own = |table: &str| match kind {
        ScriptKind::SysbenchOltp(_) => oltp::is_sbtest(table),
        ScriptKind::File(_) => true,
    };
    let kind = (kind, load.rand_type);
    let look = async |session: &mut Connection| oltp::fit(kind, read_workload, session).await;
    let (script, database) = with_session(databases.first(), look)?;
    for other in databases.others() {
        if with_session(other, look)?.1 != database {
            return Err(unfit(
                "the schemas differ in their tables; load all with one `mydyno load --schemas`",
            ));
        }
    }
    let (statements, has_calls) = (script.prepared_statements(), script.has_calls());
    let options = ScriptOptions { isolation: load.isolation, seed };
    let workload = ScriptWorkload::new(databases.clone(), Arc::new(script), options);
    Ok(Fitted {
        concurrency: Concurrency::without_terminals(load),
        tpcc: None,
        statements,
        has_calls,
        settings: settings_of(&DatabaseKind::Script(database)),
        untransactional: schemas::untransactional(databases, is_own)?,
        workload: AnyWorkload::Script(workload),
    })
}

/// Reads the file of a workload.
///
/// # Errors
/// Where it cannot be read, or what is wrong in it.
pub(crate) fn read_workload(path: &str) -> LabResult<WorkloadFile> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| unfit(format!("cannot read the workload {path}: {error}")))?;
    oltp::file::read(&text).map_err(|error| LabError::BadWorkload { path: path.to_owned(), error })
}

/// The size of a database, as what else tells cells apart.
pub(crate) fn settings_of(database: &DatabaseKind) -> Vec<(String, String)> {
    database.sizes().into_iter().map(|(name, size)| (name.to_owned(), size.to_string())).collect()
}

fn fit_tpcc(
    databases: &Schemas<Connector>,
    load: &Load,
    seed: u64,
    witness: Option<Arc<Witness>>,
) -> LabResult<Fitted> {
    let inspected = schemas::inspect(databases, load.warehouses)?;
    let database = &inspected.database;
    let concurrency = Concurrency::of(load, database.warehouses)?;
    let options_of_tables =
        database.table_options.clone().map(|options| ("table_options".to_owned(), options));
    let is_own = |name: &str| Table::ALL.iter().any(|table| table.name() == name);
    let is_tpcc_mysql = load.workload == WorkloadKind::TpccMysql;
    let options = TpccOptions {
        statements: if is_tpcc_mysql {
            StatementSet::TpccMysql { isolation: load.isolation }
        } else {
            StatementSet::Clauses {
                style: load.style,
                isolation: load.isolation.unwrap_or(defaults::ISOLATION),
            }
        },
        constants: RunConstants::for_run(database.c_load, seed),
        warehouses: concurrency.active,
        seed,
        homes: match concurrency.terminals {
            Some(_) => Homes::Terminals,
            None if load.home => Homes::Connections,
            None => Homes::None,
        },
        configured: database.warehouses,
        open_orders_have_no_gaps: database.c_load.is_some(),
        shards: inspected.shards.clone(),
        xa: xa_run(load, database)?,
        witness,
    };
    Ok(Fitted {
        workload: AnyWorkload::Tpcc(TpccWorkload::new(databases.clone(), options)),
        concurrency,
        statements: match is_tpcc_mysql {
            true => tpcc_mysql::PREPARED_STATEMENTS,
            false => prepared_statements(load.style),
        },
        has_calls: load.style == Style::Procedures,
        settings: options_of_tables.into_iter().collect(),
        untransactional: schemas::untransactional(databases, is_own)?,
        tpcc: Some(inspected),
    })
}

/// What names the transactions over shards, where there are any.
fn xa_run(load: &Load, database: &Database) -> LabResult<Option<XaRun>> {
    if !load.xa {
        return Ok(None);
    }
    if database.foreign_keys {
        return Err(unfit(
            "--xa: the shards have foreign keys, which cannot hold between servers; load them \
             anew with --foreign-keys=false (and --force)",
        ));
    }
    let unique = format!("{} {} {}", seeds::new_seed(), std::process::id(), now_utc_ns());
    Ok(Some(XaRun::new(&unique)))
}

/// What the throughput of a workload counts.
pub(crate) fn metric_of(workload: &WorkloadKind) -> ThroughputMetric {
    if workload.is_tpcc() { ThroughputMetric::Nopm } else { ThroughputMetric::Tpm }
}

/// The types of a workload's transactions, as results name them; those of a file are known when it
/// has been read.
pub(crate) fn transactions_of(workload: &WorkloadKind) -> Vec<CellTransaction> {
    cell_transactions(match workload {
        WorkloadKind::Tpcc | WorkloadKind::TpccSpec | WorkloadKind::TpccMysql => Transaction::TYPES,
        WorkloadKind::Script(workload) => oltp::types(workload),
    })
}

/// Types of transactions, as results name them.
pub(crate) fn cell_transactions(types: &[TransactionInfo]) -> Vec<CellTransaction> {
    let of_type = |info: &TransactionInfo| CellTransaction {
        name: info.name.to_owned(),
        is_primary: info.is_primary,
        row_bytes: info.row_bytes,
    };
    types.iter().map(of_type).collect()
}

/// The isolation level of its sessions, on a server with these variables.
pub(crate) fn isolation_on(load: &Load, variables: &[(String, String)]) -> Option<String> {
    let by_default = load.workload.is_by_the_clauses().then_some(defaults::ISOLATION);
    let asked = load.isolation.or(by_default).map(|level| level.name().to_owned());
    asked.or_else(|| {
        let mut names = ["transaction_isolation", "tx_isolation"].into_iter();
        names.find_map(|name| value_of(variables, name)).map(str::to_ascii_lowercase)
    })
}

/// What a reader should know of results at this isolation level.
pub(crate) fn isolation_note(isolation: &str) -> Option<String> {
    let demanded = [defaults::ISOLATION, Isolation::Serializable].map(Isolation::name);
    (!demanded.contains(&isolation)).then(|| {
        format!(
            "isolation level {isolation} is weaker than TPC-C demands: New-Order, Payment, \
             Delivery and Order-Status must not see phantoms or rows that change between two reads \
             (clause 3.4.1); compare it with runs at the same level only"
        )
    })
}

/// What a reader of results over these shards should know.
pub(crate) fn shards_note(shards: &ShardRanges, load: &Load) -> String {
    let how = match load.xa {
        true => "remote order lines and payments are of all of them, by XA transactions",
        false => {
            "transactions stay within one: remote order lines and payments are of other warehouses \
             of the same shard, where clauses 2.4.1.5 and 2.5.1.2 choose among all (--xa)"
        }
    };
    format!("the shards have {}; {how}", shards.iter().join(", "))
}

/// What a reader of results of workload `tpcc-mysql` should know.
pub(crate) fn tpcc_mysql_notes() -> [String; 3] {
    let list = |decision| {
        DEVIATIONS.iter().filter(|one| one.decision == decision).map(|one| one.short).join("; ")
    };
    [
        format!("workload tpcc-mysql keeps of that tool: {}", list(Decision::Kept)),
        format!("workload tpcc-mysql does as it should be: {}", list(Decision::Fixed)),
        format!(
            "after workload tpcc-mysql the checks {} cannot hold any more; load the database anew \
             before they are asked",
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
