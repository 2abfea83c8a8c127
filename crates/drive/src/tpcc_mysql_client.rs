//! Connections of workload `tpcc-mysql` as clients of the engine.

use crate::client::{Attempt, Client, Failed, Opening, Workload};
use crate::schemas::Schemas;
use crate::terminal_client::{INPUTS, attempt_of, classify, failed_by};
use base::{Connect, Random, Warehouses};
use tpcc::tpcc_mysql::{Inputs, Terminal};
use tpcc::transactions::Outcome;
use tpcc::{Input, InputCounters, RunConstants, Transaction};

/// The random stream of amounts of payments, beside that of the other inputs.
const AMOUNTS: u64 = 3;

/// What the connections of a run have in common.
#[derive(Clone, Copy, Debug)]
pub struct TpccMysqlOptions {
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
    type Client = TpccMysqlClient<C>;

    async fn open(&self, which: Opening) -> Result<TpccMysqlClient<C>, Failed> {
        let session = self.schemas.connect(which.connection).await?;
        let terminal = Terminal::open(session)
            .await
            .map_err(|error| failed_by(&error))?;
        let options = &self.options;
        let stream = |stream| {
            let path = [stream, which.connection.into(), which.losses.into()];
            Random::new(options.seed, &path)
        };
        let (inputs, amounts) = (stream(INPUTS), stream(AMOUNTS));
        Ok(TpccMysqlClient {
            terminal,
            inputs: Inputs::new(inputs, amounts, options.constants, options.warehouses),
            drawn: None,
            outcome: Outcome::Committed,
        })
    }
}

/// One connection.
pub struct TpccMysqlClient<C: Connect> {
    terminal: Terminal<C::Session>,
    inputs: Inputs,
    drawn: Option<Input>,
    /// Of the last try that ended well.
    outcome: Outcome,
}

impl<C: Connect> Client for TpccMysqlClient<C> {
    fn draw(&mut self) -> Transaction {
        self.terminal.begin();
        self.drawn.insert(self.inputs.next_input()).transaction()
    }

    async fn attempt(&mut self) -> Attempt {
        let input = self.drawn.get_or_insert_with(|| self.inputs.next_input());
        match self.terminal.run(input).await {
            Ok(outcome) => {
                self.outcome = outcome;
                attempt_of(outcome)
            }
            Err(failure) => Attempt::Failed(classify(&failure)),
        }
    }

    fn statements(&self) -> u64 {
        self.terminal.statements()
    }

    fn count_inputs(&self, counters: &mut InputCounters) {
        if let Some(input) = &self.drawn {
            counters.add(input, self.outcome);
        }
    }

    async fn close(self) {
        C::close(self.terminal.into_session()).await;
    }
}
