//! TPC-C as a workload of the driver.

use crate::client::{Beside, ReplicaSession, TerminalClient, TimedSession};
use crate::cross_check::{RunConditions, mismatch};
use crate::database;
use crate::fresh::FreshOrders;
use crate::terminal_times::TERMINALS_PER_WAREHOUSE;
use crate::transactions::{Across, Outcome, PreparedSession, StatementSet};
use crate::witness::Witness;
use crate::xa::XaRun;
use crate::{Input, InputSource, RunConstants, ShardRanges, Transaction};
use base::{Connect, Random, Session, SessionResult, WarehouseRange, Warehouses};
use drive::streams::{INPUTS, MORE_INPUTS};
use drive::{
    Facts, Failed, Opening, Proof, RunReport, Schemas, Source, Timed, TransactionInfo,
    TransactionType, Workload, failed_by,
};
use spec::Topology;
use std::sync::Arc;
use store::StoredReplica;

/// What the terminals of a run have in common.
#[derive(Clone, Debug)]
pub struct TpccOptions {
    pub statements: StatementSet,
    /// Must be legal beside those of the population (clause 2.1.6.1).
    pub constants: RunConstants,
    /// Of each schema.
    pub warehouses: Warehouses,
    pub seed: u64,
    pub homes: Homes,
    /// Of each schema, those that no transaction is for too.
    pub configured: Warehouses,
    /// Numbers of open orders have no gaps: so mydyno loads a database, and all transactions leave
    /// it.
    pub open_orders_have_no_gaps: bool,
    /// Where several servers divide the warehouses.
    pub shards: Option<ShardRanges>,
    /// Transactions cross shards, by XA.
    pub xa: Option<XaRun>,
    /// Keeps what the connections are told, to be held against a database that was lost and
    /// recovered.
    pub witness: Option<Arc<Witness>>,
}

/// Which warehouses transactions are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Homes {
    /// Any one, anew for each transaction.
    None,
    /// Connections are bound to warehouses, in turn.
    Connections,
    /// Ten terminals in a row have one home warehouse and a district each (clauses 2.8.1.1, 4.2.2).
    /// Those of warehouses beyond the last work on the rows of the first ones, as they all are
    /// there again.
    Terminals,
}

/// Transactions over any kind of session.
pub struct TpccWorkload<C> {
    schemas: Schemas<C>,
    pub options: TpccOptions,
    /// Where reads go to replicas.
    fresh: Option<Arc<FreshOrders>>,
}

impl<C> TpccWorkload<C> {
    /// The inputs of a connection or of a terminal.
    fn inputs_of(&self, of: u32) -> InputSource {
        let options = &self.options;
        let random = Random::new(options.seed, &[INPUTS, u64::from(of)]);
        // The warehouses of its shard, or all.
        let server = self.schemas.writes_to(Opening { connection: of, earlier: 0 });
        let of_shard = options.shards.as_ref().and_then(|shards| shards.of_server(server));
        let range = of_shard.unwrap_or(WarehouseRange::all(options.warehouses));
        let warehouse = |n: u32| range.first() + n % range.count();
        let remote = match options.xa {
            Some(_) => WarehouseRange::all(options.warehouses),
            None => range,
        };
        let source =
            |home| InputSource::new(random, options.constants, range, home).with_remote(remote);
        let source = match options.homes {
            Homes::None => source(None),
            Homes::Connections => source(Some(warehouse(self.schemas.place(of)))),
            Homes::Terminals => source(Some(warehouse(of / TERMINALS_PER_WAREHOUSE)))
                .with_stock_level_district(of % TERMINALS_PER_WAREHOUSE + 1),
        };
        match options.statements {
            StatementSet::Clauses { .. } => source,
            StatementSet::TpccMysql { .. } => {
                source.with_whole_amounts(Random::new(options.seed, &[MORE_INPUTS, u64::from(of)]))
            }
        }
    }
}

impl<C: Connect + Clone + Sync> TpccWorkload<C> {
    /// Terminals on the databases that `schemas` reach.
    pub fn new(schemas: Schemas<C>, options: TpccOptions) -> TpccWorkload<C> {
        let reads = schemas.topology() == Topology::PrimaryReplicas;
        let fresh = || FreshOrders::new(options.warehouses.0, schemas.iter().count());
        TpccWorkload { fresh: reads.then(|| Arc::new(fresh())), schemas, options }
    }

    /// What was read from each server that is a replica, by its number from 0; none without one.
    pub fn replica_reads(&self) -> Vec<StoredReplica> {
        self.fresh.as_ref().map_or_else(Vec::new, |fresh| fresh.replica_reads())
    }

    /// What people should know of how replicas were watched.
    pub fn replica_note(&self) -> Option<String> {
        self.fresh.as_ref().and_then(|fresh| fresh.note())
    }

    /// The same transactions with other inputs.
    pub fn with_seed(&self, seed: u64) -> TpccWorkload<C> {
        TpccWorkload::new(self.schemas.clone(), TpccOptions { seed, ..self.options.clone() })
    }
}

impl<C: Connect + Sync> Proof for TpccWorkload<C> {
    async fn facts<S: Session>(&self, session: &mut S) -> SessionResult<Facts> {
        database::facts(session).await
    }

    fn mismatch(&self, report: &RunReport, before: &Facts, after: &Facts) -> Option<String> {
        let known = RunConditions {
            open_orders_have_no_gaps: self.options.open_orders_have_no_gaps,
            commits_each_district: matches!(
                self.options.statements,
                StatementSet::TpccMysql { .. }
            ),
        };
        mismatch(report, &before.into(), &after.into(), known)
    }
}

impl<C: Connect + Sync> Workload for TpccWorkload<C> {
    type Operation = Input;
    type Source = InputSource;
    type Client = TerminalClient<C>;

    fn transactions(&self) -> &'static [TransactionInfo] {
        Transaction::TYPES
    }

    fn source(&self, of: u32) -> InputSource {
        self.inputs_of(of)
    }

    async fn open(&self, which: Opening) -> Result<TerminalClient<C>, Failed> {
        let server = self.schemas.writes_to(which);
        let statements = self.options.statements;
        let shared = self.options.xa.as_ref().zip(self.options.shards.as_ref());
        let (terminal, beside) = match shared {
            Some(shared) if matches!(statements, StatementSet::Clauses { .. }) => {
                let (own, across) = Across::open(&self.schemas, which, shared, statements).await?;
                (own, Beside::Shards(across))
            }
            _ => (self.session(server).await?, self.reader(which).await?),
        };
        let witness = self.options.witness.clone();
        Ok(TerminalClient { server, terminal, beside, outcome: Outcome::Committed, witness })
    }
}

impl<C: Connect + Sync> TpccWorkload<C> {
    /// What a connection reads from, where that is another server than it writes to.
    async fn reader(&self, which: Opening) -> Result<Beside<C>, Failed> {
        let (Some(replica), Some(fresh)) = (self.schemas.reads_from(which), &self.fresh) else {
            return Ok(Beside::Nothing);
        };
        let (terminal, fresh) = (self.session(replica).await?, Arc::clone(fresh));
        let reader = ReplicaSession { terminal, replica, fresh, was_asked: false };
        Ok(Beside::Replica(Box::new(reader)))
    }

    /// A session on one of the servers, with its statements.
    async fn session(&self, server: usize) -> Result<TimedSession<C>, Failed> {
        let session = Timed::new(self.schemas.connect(server).await?);
        let opened = PreparedSession::open(session, self.options.statements).await;
        opened.map_err(|error| failed_by(&error))
    }
}

impl Source for InputSource {
    type Operation = Input;

    fn deal(&mut self) -> TransactionType {
        TransactionType(InputSource::deal(self) as u8)
    }

    fn draw(&mut self, transaction: TransactionType) -> Input {
        self.input_of(Transaction::ALL[transaction.index()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use spec::{Isolation, Style};

    /// (warehouse, district) of the Stock-Levels of a terminal.
    fn place(workload: &TpccWorkload<()>, terminal: u32) -> (u32, u32) {
        let mut source = workload.inputs_of(terminal);
        let mut places: Vec<(u32, u32)> = (0..200)
            .map(|_| match source.input_of(Transaction::StockLevel) {
                Input::StockLevel(level) => (level.warehouse, level.district),
                other => panic!("{other:?}"),
            })
            .collect();
        places.dedup();
        assert_eq!(places.len(), 1, "{places:?}");
        places[0]
    }

    #[test]
    fn terminals_have_a_warehouse_and_a_district_of_their_own() {
        let options = TpccOptions {
            statements: StatementSet::Clauses {
                style: Style::Statements,
                isolation: Isolation::RepeatableRead,
            },
            constants: RunConstants::for_run(None, 1),
            warehouses: Warehouses(2),
            seed: 1,
            homes: Homes::Terminals,
            configured: Warehouses(2),
            open_orders_have_no_gaps: true,
            shards: None,
            xa: None,
            witness: None,
        };
        let workload = TpccWorkload {
            schemas: Schemas::new((), Vec::new(), Topology::Apart),
            options,
            fresh: None,
        };
        for terminal in 0..20 {
            let expected = (terminal / 10 + 1, terminal % 10 + 1);
            assert_eq!(place(&workload, terminal), expected);
        }
        // Of warehouses without rows: those of the others, in turn.
        assert_eq!(place(&workload, 20), (1, 1));
        assert_eq!(place(&workload, 39), (2, 10));
        assert_eq!(place(&workload, 9_990), (2, 1));
    }
}
