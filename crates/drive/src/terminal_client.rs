//! TPC-C terminals as clients of the engine.

use crate::client::{Attempt, Client, Failed, FailureKind, Opening, Workload};
use crate::schemas::Schemas;
use base::{Connect, Random, SessionError, Warehouses};
use std::borrow::Cow;
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
    /// Connections are bound to warehouses, in turn.
    pub home: bool,
}

/// Transactions of clause 2 over any kind of session.
pub struct TpccWorkload<C> {
    schemas: Schemas<C>,
    options: TpccOptions,
}

/// The random stream of inputs; pauses have another.
pub(crate) const INPUTS: u64 = 1;
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
    type Client = TerminalClient<C>;

    async fn open(&self, which: Opening) -> Result<TerminalClient<C>, Failed> {
        let session = self.schemas.connect(which.connection).await?;
        let options = &self.options;
        let terminal = Terminal::open(session, options.style)
            .await
            .map_err(|error| failed_by(&error))?;
        let random = Random::new(
            options.seed,
            &[INPUTS, u64::from(which.connection), u64::from(which.losses)],
        );
        let home = options
            .home
            .then(|| self.schemas.place(which.connection) % options.warehouses.0 + 1);
        Ok(TerminalClient {
            terminal,
            inputs: InputSource::new(random, options.constants, options.warehouses, home),
            drawn: None,
            outcome: Outcome::Committed,
        })
    }
}

/// One connection.
pub struct TerminalClient<C: Connect> {
    terminal: Terminal<C::Session>,
    inputs: InputSource,
    drawn: Option<Input>,
    /// Of the last try that ended well.
    outcome: Outcome,
}

impl<C: Connect> Client for TerminalClient<C> {
    fn draw(&mut self) -> Transaction {
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

pub(crate) fn attempt_of(outcome: Outcome) -> Attempt {
    match outcome {
        Outcome::RolledBack => Attempt::RolledBack,
        Outcome::Committed | Outcome::Delivered { .. } => Attempt::Committed,
    }
}

pub(crate) fn classify(failure: &Failure) -> Failed {
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
        // The server ends this session: shutdown (1053), killed query or connection (1317, 1927).
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
