//! TPC-C terminals as clients of the engine.

use crate::client::{Attempt, Client, Failed, FailureKind, Opening, Source, Workload};
use crate::schemas::Schemas;
use crate::streams::INPUTS;
use crate::timed::{StatementTimes, Timed};
use base::{Connect, Random, SessionError, Warehouses};
use std::borrow::Cow;
use tpcc::pacing::TERMINALS_PER_WAREHOUSE;
use tpcc::transactions::{Failure, Outcome, Style, Terminal};
use tpcc::{Input, InputCounters, InputSource, RunConstants, Transaction};

/// What the terminals of a run have in common.
#[derive(Clone, Copy, Debug)]
pub struct TpccOptions {
    pub style: Style,
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

/// ER_CHECKREAD: MariaDB's answer, with innodb_snapshot_isolation, to a locking read of a row changed since the snapshot.
const ER_CHECKREAD: u16 = 1020;

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
        let terminal = Terminal::open(Timed::new(session), self.options.style)
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
        let result = self.terminal.run(input).await;
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

/// What a try came to; how it ended well is kept in `ended`.
pub(crate) fn attempt_of(result: Result<Outcome, Failure>, ended: &mut Outcome) -> Attempt {
    match result {
        Err(failure) => Attempt::Failed(classify(&failure)),
        Ok(outcome) => {
            *ended = outcome;
            match outcome {
                Outcome::RolledBack => Attempt::RolledBack,
                Outcome::Committed | Outcome::Delivered { .. } => Attempt::Committed,
            }
        }
    }
}

fn classify(failure: &Failure) -> Failed {
    match failure {
        Failure::Statement(error) => failed_by(error),
        Failure::InDoubt(_) => Failed {
            kind: FailureKind::Lost { in_doubt: true },
            code: "lost_in_commit".into(),
            message: failure.to_string(),
        },
        Failure::MissingRow(_) => Failed {
            kind: FailureKind::Fatal,
            code: "missing_row".into(),
            message: failure.to_string(),
        },
    }
}

pub(crate) fn failed_by(error: &SessionError) -> Failed {
    let lost = FailureKind::Lost { in_doubt: false };
    let (kind, code) = match error {
        SessionError::Server { .. } if error.is_deadlock() => (FailureKind::Deadlock, None),
        SessionError::Server { .. } if error.is_lock_wait_timeout() => {
            (FailureKind::LockWaitTimeout, None)
        }
        SessionError::Server {
            code: ER_CHECKREAD, ..
        } => (FailureKind::Conflict, None),
        // The server ends this session: shutdown (1053), killed connection (1927 of MariaDB).
        SessionError::Server {
            code: 1053 | 1927, ..
        } => (lost, None),
        SessionError::Server { .. } => (FailureKind::Fatal, None),
        SessionError::Lost(_) => (lost, Some("lost")),
        // The protocol is out of step, so the connection is of no more use.
        SessionError::Unexpected(_) => (lost, Some("unexpected_answer")),
    };
    let code = match (code, error.code()) {
        (Some(word), _) => Cow::Borrowed(word),
        (None, Some(number)) => Cow::Owned(number.to_string()),
        (None, None) => Cow::Borrowed("unknown"),
    };
    Failed {
        kind,
        code,
        message: error.to_string(),
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
