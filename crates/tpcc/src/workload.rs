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
    use crate::input::StockLevel;
    use crate::tests::scripted::{Reply, ScriptedServer, now, shard_of};
    use crate::{CustomerId, NewOrder};
    use drive::{Attempt, Client};
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

    fn options(homes: Homes) -> TpccOptions {
        TpccOptions {
            statements: StatementSet::Clauses {
                style: Style::Statements,
                isolation: Isolation::RepeatableRead,
            },
            constants: RunConstants::for_run(None, 1),
            warehouses: Warehouses(2),
            seed: 1,
            homes,
            configured: Warehouses(2),
            open_orders_have_no_gaps: true,
            shards: None,
            xa: None,
            witness: None,
        }
    }

    #[test]
    fn terminals_have_a_warehouse_and_a_district_of_their_own() {
        let schemas = Schemas::new((), Vec::new(), Topology::Apart);
        let workload = TpccWorkload { schemas, options: options(Homes::Terminals), fresh: None };
        for terminal in 0..20 {
            let expected = (terminal / 10 + 1, terminal % 10 + 1);
            assert_eq!(place(&workload, terminal), expected);
        }
        // Of warehouses without rows: those of the others, in turn.
        assert_eq!(place(&workload, 20), (1, 1));
        assert_eq!(place(&workload, 39), (2, 10));
        assert_eq!(place(&workload, 9_990), (2, 1));
    }

    /// The warehouses that 40 inputs of a connection are for.
    fn warehouses(workload: &TpccWorkload<ScriptedServer>, connection: u32) -> Vec<u32> {
        let mut source = workload.source(connection);
        let mut all: Vec<u32> = (0..40)
            .map(|_| match source.draw(TransactionType(3)) {
                Input::Delivery(delivery) => delivery.warehouse,
                other => panic!("{other:?}"),
            })
            .collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    #[test]
    fn connections_are_bound_to_warehouses_in_turn_or_to_none() {
        let server = ScriptedServer::of_replies(Vec::new());
        let of = |homes, others, topology| {
            let schemas = Schemas::new(server.clone(), others, topology);
            TpccWorkload::new(schemas, options(homes))
        };
        let bound = of(Homes::Connections, Vec::new(), Topology::Apart);
        let homes: Vec<_> = (0..4).map(|connection| warehouses(&bound, connection)).collect();
        assert_eq!(homes, [vec![1], vec![2], vec![1], vec![2]]);
        // Each of two schemas has all warehouses.
        let apart = of(Homes::Connections, vec![server.clone()], Topology::Apart);
        let homes: Vec<_> = (0..4).map(|connection| warehouses(&apart, connection)).collect();
        assert_eq!(homes, [vec![1], vec![1], vec![2], vec![2]]);
        let free = of(Homes::None, Vec::new(), Topology::Apart);
        assert_eq!(warehouses(&free, 0), [1, 2]);
        let (same, other) = (free.with_seed(1), free.with_seed(2));
        let first = |of: &TpccWorkload<ScriptedServer>| of.source(0).draw(TransactionType(4));
        assert_eq!(first(&same), first(&free));
        assert_ne!(first(&other), first(&free));
    }

    #[test]
    fn connections_of_a_shard_are_for_its_warehouses() {
        let server = ScriptedServer::of_replies(Vec::new());
        let shard = |range| shard_of(Warehouses(4), range);
        let shards: Vec<_> =
            WarehouseRange::all(Warehouses(4)).divided(2).into_iter().map(shard).collect();
        let shards = Some(ShardRanges::of(&shards).unwrap());
        let options =
            TpccOptions { shards, warehouses: Warehouses(4), ..options(Homes::Connections) };
        let schemas = Schemas::new(server.clone(), vec![server.clone()], Topology::Shards);
        let workload = TpccWorkload::new(schemas, options);
        let homes: Vec<_> = (0..5).map(|connection| warehouses(&workload, connection)).collect();
        assert_eq!(homes, [vec![1], vec![3], vec![2], vec![4], vec![1]]);
    }

    #[test]
    fn reads_go_to_a_replica_which_may_be_behind() {
        let primary = ScriptedServer::of_replies(vec![
            ("lock_district", Reply::row("3005|0.02")),
            ("select_customer", Reply::row("0.1|BAR|GC|0.05")),
            ("select_item", Reply::row("1.00|name|data")),
            ("lock_stock", Reply::row("50|dist|data")),
        ]);
        let behind = ScriptedServer::of_replies(vec![
            ("select_next_order", Reply::row(3_005)),
            ("select_low_stock", Reply::row(4)),
        ]);
        let replica = primary.beside("replica: ", behind);
        let schemas =
            Schemas::new(primary.clone(), vec![replica.clone()], Topology::PrimaryReplicas);
        let workload = TpccWorkload::new(schemas, options(Homes::None));
        assert_eq!(workload.replica_note(), None);
        let mut client = now(workload.open(Opening { connection: 0, earlier: 0 }));
        let client = client.as_mut().unwrap_or_else(|failed| panic!("{failed:?}"));
        primary.sent();
        client.begin();
        let before = client.statements();
        let customer = CustomerId { warehouse: 1, district: 2, number: 3 };
        let order = Input::NewOrder(NewOrder::of_items(customer, &[5]));
        assert_eq!(now(client.attempt(&order)), Attempt::Committed);
        let on_primary = primary.sent();
        assert!(on_primary.iter().all(|sql| !sql.starts_with("replica")), "{on_primary:?}");
        assert_eq!(client.statement_times().times.len(), on_primary.len());
        let level = StockLevel { warehouse: 1, district: 2, threshold: 15 };
        assert_eq!(now(client.attempt(&Input::StockLevel(level))), Attempt::Committed);
        let on_replica = primary.sent();
        assert_eq!(on_replica[0], "replica: select_next_order(1, 2)");
        assert_eq!(client.statement_times().times.len(), on_replica.len());
        let sent = on_primary.len() + on_replica.len();
        assert_eq!(client.statements() - before, sent as u64);
        // It saw all orders below 3005, and that one was committed.
        let reads: Vec<_> =
            workload.replica_reads().iter().map(|of| (of.reads, of.stale_reads)).collect();
        assert_eq!(reads, [(0, 0), (1, 1)]);
    }
}
