//! TPC-C as a workload of the driver.

use crate::checks::run_checks;
use crate::cross_check::{RunConditions, mismatch};
use crate::database;
use crate::fresh::{FreshOrders, ReplicaReads};
use crate::terminal_times::TERMINALS_PER_WAREHOUSE;
use crate::transactions::{Outcome, PreparedSession, TransactionError};
use crate::{Input, InputCounters, InputSource, RunConstants, Transaction, tpcc_mysql};
use base::{Connect, DateTime, Random, Session, SessionError, Warehouses};
use drive::streams::{INPUTS, MORE_INPUTS};
use drive::{
    Attempt, CheckResult, Client, Facts, Failed, FailureKind, Opening, Proof, RunReport, Schemas,
    Source, StatementTimes, Timed, TransactionInfo, TransactionType, Workload, WorkloadCounters,
    failed_by, failed_in_commit,
};
use spec::{Isolation, Style, Topology};
use std::sync::Arc;

/// What the terminals of a run have in common.
#[derive(Clone, Copy, Debug)]
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
}

/// Which statements the transactions send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatementSet {
    /// Those of clause 2.
    Clauses { style: Style, isolation: Isolation },
    /// Those of tpcc-mysql, at the server's own level where none is named.
    TpccMysql { isolation: Option<Isolation> },
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
    options: TpccOptions,
    /// Where reads go to replicas.
    fresh: Option<Arc<FreshOrders>>,
}

impl<C> TpccWorkload<C> {
    /// The inputs of a connection or of a terminal.
    fn inputs_of(&self, of: u32) -> InputSource {
        let options = &self.options;
        let random = Random::new(options.seed, &[INPUTS, u64::from(of)]);
        let warehouse = |n: u32| n % options.warehouses.0 + 1;
        let source = |home| InputSource::new(random, options.constants, options.warehouses, home);
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

impl<C: Connect + Sync> TpccWorkload<C> {
    /// Terminals on the databases that `schemas` reach.
    pub fn new(schemas: Schemas<C>, options: TpccOptions) -> TpccWorkload<C> {
        let reads = schemas.topology() == Topology::PrimaryReplicas;
        let fresh = || FreshOrders::new(options.warehouses.0, schemas.iter().count());
        TpccWorkload { fresh: reads.then(|| Arc::new(fresh())), schemas, options }
    }

    /// What was read from each server that is a replica, by its number from 0; none without one.
    pub fn replica_reads(&self) -> Vec<ReplicaReads> {
        self.fresh.as_ref().map_or_else(Vec::new, |fresh| fresh.replica_reads())
    }

    /// The same transactions with other inputs.
    pub fn with_seed(&self, seed: u64) -> TpccWorkload<C>
    where
        C: Clone,
    {
        TpccWorkload::new(self.schemas.clone(), TpccOptions { seed, ..self.options })
    }
}

impl<C: Connect + Sync> Proof for TpccWorkload<C> {
    async fn facts<S: Session>(&self, session: &mut S) -> Result<Facts, SessionError> {
        Ok(database::sums(session).await?.into())
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

    async fn checks<S: Session>(
        &self,
        session: &mut S,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Vec<CheckResult>, SessionError> {
        run_checks(session, self.options.configured.0, progress).await
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
        let terminal = self.session(server).await?;
        let reader = match (self.schemas.reads_from(which), &self.fresh) {
            (Some(replica), Some(fresh)) => Some(Reader {
                terminal: self.session(replica).await?,
                replica,
                fresh: Arc::clone(fresh),
                was_asked: false,
            }),
            _ => None,
        };
        Ok(TerminalClient { server, terminal, reader, outcome: Outcome::Committed })
    }
}

impl<C: Connect + Sync> TpccWorkload<C> {
    /// A session on one of the servers, with its statements.
    async fn session(&self, server: usize) -> Result<TimedSession<C>, Failed> {
        let session = Timed::new(self.schemas.connect(server).await?);
        let opened = match self.options.statements {
            StatementSet::Clauses { style, isolation } => {
                let opened = PreparedSession::open(session, style, isolation).await;
                opened.map(AnySession::Clauses)
            }
            StatementSet::TpccMysql { isolation } => {
                let opened = tpcc_mysql::TpccMysqlSession::open(session, isolation).await;
                opened.map(AnySession::TpccMysql)
            }
        };
        opened.map_err(|error| failed_by(&error))
    }
}

/// A session with the statements of a set.
enum AnySession<S> {
    Clauses(PreparedSession<S>),
    TpccMysql(tpcc_mysql::TpccMysqlSession<S>),
}

impl<S: Session> AnySession<S> {
    fn session(&self) -> &S {
        match self {
            AnySession::Clauses(terminal) => terminal.session(),
            AnySession::TpccMysql(terminal) => terminal.session(),
        }
    }

    fn into_session(self) -> S {
        match self {
            AnySession::Clauses(terminal) => terminal.into_session(),
            AnySession::TpccMysql(terminal) => terminal.into_session(),
        }
    }
}

impl<S: Session> AnySession<Timed<S>> {
    fn begin(&mut self) {
        match self {
            AnySession::Clauses(terminal) => terminal.session_mut().begin(),
            AnySession::TpccMysql(terminal) => {
                terminal.begin();
                terminal.session_mut().begin();
            }
        }
    }

    async fn run(&mut self, input: &Input) -> Result<Outcome, TransactionError> {
        match self {
            AnySession::Clauses(terminal) => terminal.run(input).await,
            AnySession::TpccMysql(terminal) => terminal.run(input).await,
        }
    }
}

type TimedSession<C> = AnySession<Timed<<C as Connect>::Session>>;

/// The session of a connection that only reads.
struct Reader<C: Connect> {
    terminal: TimedSession<C>,
    /// The number of its server.
    replica: usize,
    fresh: Arc<FreshOrders>,
    /// It had the last transaction.
    was_asked: bool,
}

impl<C: Connect> Reader<C> {
    async fn run(&mut self, input: &Input) -> Result<Outcome, TransactionError> {
        let begin = self.fresh.now();
        let outcome = self.terminal.run(input).await?;
        self.fresh.read(self.replica, input, outcome, begin);
        Ok(outcome)
    }
}

/// One connection.
pub struct TerminalClient<C: Connect> {
    /// Which of several it writes to.
    server: usize,
    terminal: TimedSession<C>,
    /// Where reads go to a replica.
    reader: Option<Reader<C>>,
    /// Of the last try that ended well.
    outcome: Outcome,
}

impl Source for InputSource {
    type Operation = Input;

    fn deal(&mut self) -> TransactionType {
        InputSource::deal(self).into()
    }

    fn draw(&mut self, transaction: TransactionType) -> Input {
        self.input_of(Transaction::ALL[transaction.index()])
    }
}

impl<C: Connect> Client for TerminalClient<C> {
    type Operation = Input;

    fn server(&self) -> usize {
        self.server
    }

    fn begin(&mut self) {
        self.terminal.begin();
        if let Some(reader) = &mut self.reader {
            reader.terminal.begin();
        }
    }

    async fn attempt(&mut self, input: &Input) -> Attempt {
        let input = input.tried_at(DateTime::now);
        let only_reads = matches!(input, Input::OrderStatus(_) | Input::StockLevel(_));
        let result = match &mut self.reader {
            Some(reader) if only_reads => reader.run(&input).await,
            _ => self.terminal.run(&input).await,
        };
        if let Some(reader) = &mut self.reader {
            reader.was_asked = only_reads;
            if let (Input::NewOrder(order), Ok(Outcome::Ordered(number))) = (&input, &result) {
                reader.fresh.committed(order, *number);
            }
        }
        match result {
            Err(failure) => Attempt::Failed(classify(&failure)),
            Ok(outcome) => {
                self.outcome = outcome;
                match outcome {
                    Outcome::RolledBack => Attempt::RolledBack,
                    _ => Attempt::Committed,
                }
            }
        }
    }

    fn statements(&self) -> u64 {
        let of_reader = self.reader.as_ref().map_or(0, |of| of.terminal.session().statements());
        self.terminal.session().statements() + of_reader
    }

    fn statement_times(&self) -> StatementTimes<'_> {
        match &self.reader {
            Some(reader) if reader.was_asked => reader.terminal.session().times(),
            _ => self.terminal.session().times(),
        }
    }

    fn count(&self, input: &Input, counters: &mut WorkloadCounters) {
        InputCounters::count(input, self.outcome, counters);
    }

    async fn close(self) {
        C::close(self.terminal.into_session().into_inner()).await;
        if let Some(reader) = self.reader {
            C::close(reader.terminal.into_session().into_inner()).await;
        }
    }
}

fn classify(failure: &TransactionError) -> Failed {
    match failure {
        TransactionError::Statement(error) => failed_by(error),
        TransactionError::InDoubt(error) => failed_in_commit(error),
        TransactionError::MissingRow(_) => Failed {
            kind: FailureKind::Fatal,
            code: "missing_row".into(),
            message: failure.to_string(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::SessionError;

    #[test]
    fn what_ends_a_commit_leaves_it_in_doubt() {
        let killed = SessionError::Lost("reset".to_owned());
        let failed = classify(&TransactionError::InDoubt(killed.clone()));
        assert_eq!(failed.kind, FailureKind::Lost { in_doubt: true });
        let failed = classify(&TransactionError::Statement(killed));
        assert_eq!(failed.kind, FailureKind::Lost { in_doubt: false });
    }

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
