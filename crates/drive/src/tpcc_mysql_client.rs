//! Connections of workload `tpcc-mysql` as clients of the engine.

use crate::client::{Attempt, Client, Failed, Opening, Source, Workload};
use crate::failures::{attempt_of, failed_by};
use crate::schemas::Schemas;
use crate::streams::{AMOUNTS, INPUTS};
use crate::timed::{StatementTimes, Timed};
use base::{Connect, DateTime, Random, Warehouses};
use tpcc::tpcc_mysql::{Inputs, Terminal};
use tpcc::transactions::{Isolation, Outcome};
use tpcc::{Input, InputCounters, RunConstants, Transaction};

/// What the connections of a run have in common.
#[derive(Clone, Copy, Debug)]
pub struct TpccMysqlOptions {
    /// The server's own where none is named.
    pub isolation: Option<Isolation>,
    pub constants: RunConstants,
    /// Of each schema.
    pub warehouses: Warehouses,
    pub seed: u64,
}

/// The statements of tpcc-mysql over any kind of session.
pub struct TpccMysqlWorkload<C> {
    schemas: Schemas<C>,
    options: TpccMysqlOptions,
}

impl<C: Connect + Sync> TpccMysqlWorkload<C> {
    /// Connections to the databases that `schemas` reach.
    #[must_use]
    pub fn new(schemas: Schemas<C>, options: TpccMysqlOptions) -> TpccMysqlWorkload<C> {
        TpccMysqlWorkload { schemas, options }
    }
}

impl<C: Connect + Sync> Workload for TpccMysqlWorkload<C> {
    type Operation = Input;
    type Source = Inputs;
    type Client = TpccMysqlClient<C>;

    fn source(&self, of: u32) -> Inputs {
        let options = &self.options;
        let stream = |stream| Random::new(options.seed, &[stream, of.into()]);
        let (inputs, amounts) = (stream(INPUTS), stream(AMOUNTS));
        Inputs::new(inputs, amounts, options.constants, options.warehouses)
    }

    fn database(&self, connection: u32) -> usize {
        self.schemas.number(connection)
    }

    async fn open(&self, which: Opening) -> Result<TpccMysqlClient<C>, Failed> {
        let session = self.schemas.connect(which.connection).await?;
        let terminal = Terminal::open(Timed::new(session), self.options.isolation)
            .await
            .map_err(|error| failed_by(&error))?;
        Ok(TpccMysqlClient {
            terminal,
            outcome: Outcome::Committed,
        })
    }
}

impl Source for Inputs {
    type Operation = Input;

    fn deal(&mut self) -> Transaction {
        Inputs::deal(self)
    }

    fn draw(&mut self, transaction: Transaction) -> Input {
        self.input_of(transaction)
    }
}

/// One connection.
pub struct TpccMysqlClient<C: Connect> {
    terminal: Terminal<Timed<C::Session>>,
    /// Of the last try that ended well.
    outcome: Outcome,
}

impl<C: Connect> Client for TpccMysqlClient<C> {
    type Operation = Input;

    fn begin(&mut self) {
        self.terminal.begin();
        self.terminal.session_mut().begin();
    }

    async fn attempt(&mut self, input: &Input) -> Attempt {
        let result = self.terminal.run(&input.tried_at(DateTime::now)).await;
        attempt_of(result, &mut self.outcome)
    }

    fn statements(&self) -> u64 {
        self.terminal.statements()
    }

    fn statement_times(&self) -> StatementTimes<'_> {
        self.terminal.session().times()
    }

    fn count_inputs(&self, input: &Input, counters: &mut InputCounters) {
        counters.add(input, self.outcome);
    }

    async fn close(self) {
        C::close(self.terminal.into_session().into_inner()).await;
    }
}
