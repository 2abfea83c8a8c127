//! TPC-C terminals as clients of the engine.

use crate::client::{Attempt, Client, Failed, Opening, Source, Workload};
use crate::failures::{attempt_of, failed_by};
use crate::schemas::Schemas;
use crate::streams::INPUTS;
use crate::timed::{StatementTimes, Timed};
use base::{Connect, DateTime, Random, Warehouses};
use tpcc::pacing::TERMINALS_PER_WAREHOUSE;
use tpcc::transactions::{Isolation, Outcome, Style, Terminal};
use tpcc::{Input, InputCounters, InputSource, RunConstants, Transaction};

/// What the terminals of a run have in common.
#[derive(Clone, Copy, Debug)]
pub struct TpccOptions {
    pub style: Style,
    pub isolation: Isolation,
    /// Must be legal beside those of the population (clause 2.1.6.1).
    pub constants: RunConstants,
    pub warehouses: Warehouses,
    pub seed: u64,
    pub homes: Homes,
}

/// Which warehouses transactions are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Homes {
    /// Any one, anew for each transaction.
    None,
    /// Connections are bound to warehouses, in turn.
    Connections,
    /// Ten terminals in a row have one home warehouse and a district each (clauses 2.8.1.1, 4.2.2). Those of warehouses beyond
    /// the last work on the rows of the first ones, as they all are there again.
    Terminals,
}

impl TpccOptions {
    /// The inputs of a connection, which has this place among those of its schema, or of a terminal.
    fn source(&self, of: u32, place: u32) -> InputSource {
        let random = Random::new(self.seed, &[INPUTS, u64::from(of)]);
        let warehouse = |n: u32| n % self.warehouses.0 + 1;
        let source = |home| InputSource::new(random, self.constants, self.warehouses, home);
        match self.homes {
            Homes::None => source(None),
            Homes::Connections => source(Some(warehouse(place))),
            Homes::Terminals => source(Some(warehouse(of / TERMINALS_PER_WAREHOUSE)))
                .with_stock_level_district(of % TERMINALS_PER_WAREHOUSE + 1),
        }
    }
}

/// Transactions of clause 2 over any kind of session.
pub struct TpccWorkload<C> {
    schemas: Schemas<C>,
    options: TpccOptions,
}

impl<C: Connect + Sync> TpccWorkload<C> {
    /// Terminals on the databases that `schemas` reach.
    #[must_use]
    pub fn new(schemas: Schemas<C>, options: TpccOptions) -> TpccWorkload<C> {
        TpccWorkload { schemas, options }
    }
}

impl<C: Connect + Sync> Workload for TpccWorkload<C> {
    type Operation = Input;
    type Source = InputSource;
    type Client = TerminalClient<C>;

    fn source(&self, of: u32) -> InputSource {
        self.options.source(of, self.schemas.place(of))
    }

    fn database(&self, connection: u32) -> usize {
        self.schemas.number(connection)
    }

    async fn open(&self, which: Opening) -> Result<TerminalClient<C>, Failed> {
        let session = self.schemas.connect(which.connection).await?;
        let terminal = Terminal::open(
            Timed::new(session),
            self.options.style,
            self.options.isolation,
        )
        .await
        .map_err(|error| failed_by(&error))?;
        Ok(TerminalClient {
            terminal,
            outcome: Outcome::Committed,
        })
    }
}

/// One connection.
pub struct TerminalClient<C: Connect> {
    terminal: Terminal<Timed<C::Session>>,
    /// Of the last try that ended well.
    outcome: Outcome,
}

impl Source for InputSource {
    type Operation = Input;

    fn deal(&mut self) -> Transaction {
        InputSource::deal(self)
    }

    fn draw(&mut self, transaction: Transaction) -> Input {
        self.input_of(transaction)
    }
}

impl<C: Connect> Client for TerminalClient<C> {
    type Operation = Input;

    fn begin(&mut self) {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// (warehouse, district) of the Stock-Levels of a terminal.
    fn place(options: &TpccOptions, terminal: u32) -> (u32, u32) {
        let mut source = options.source(terminal, terminal);
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
            style: Style::Statements,
            isolation: Isolation::RepeatableRead,
            constants: RunConstants::for_run(None, 1),
            warehouses: Warehouses(2),
            seed: 1,
            homes: Homes::Terminals,
        };
        for terminal in 0..20 {
            let expected = (terminal / 10 + 1, terminal % 10 + 1);
            assert_eq!(place(&options, terminal), expected);
        }
        // Of warehouses without rows: those of the others, in turn.
        assert_eq!(place(&options, 20), (1, 1));
        assert_eq!(place(&options, 39), (2, 10));
        assert_eq!(place(&options, 9_990), (2, 1));
    }
}
