//! One connection of a run: its session, and those that it has on other servers beside it.

use crate::fresh::FreshOrders;
use crate::transactions::{Across, Outcome, PreparedSession, TransactionError};
use crate::witness::Witness;
use crate::{Input, InputCounters};
use base::{Connect, DateTime, Session};
use drive::{
    Attempt, Client, Failed, FailureKind, StatementTimes, Timed, WorkloadCounters, failed_by,
    failed_in_commit, takes_writes,
};
use std::iter;
use std::sync::Arc;

/// Of a connection.
pub(crate) type TimedSession<C> = PreparedSession<Timed<<C as Connect>::Session>>;

fn begin<S: Session>(terminal: &mut PreparedSession<Timed<S>>) {
    terminal.begin();
    terminal.session_mut().begin();
}

/// A session that only reads, from a replica.
pub(crate) struct ReplicaSession<C: Connect> {
    pub(crate) terminal: TimedSession<C>,
    /// The number of its server.
    pub(crate) replica: usize,
    pub(crate) fresh: Arc<FreshOrders>,
    /// It had the last transaction.
    pub(crate) was_asked: bool,
}

impl<C: Connect> ReplicaSession<C> {
    /// Runs a transaction here, where it only reads, else on the primary.
    async fn run(
        &mut self,
        primary: &mut TimedSession<C>,
        input: &Input,
    ) -> Result<Outcome, TransactionError> {
        self.was_asked = matches!(input, Input::OrderStatus(_) | Input::StockLevel(_));
        if self.was_asked {
            let begin = self.fresh.now();
            let outcome = self.terminal.run(input).await?;
            self.fresh.read(self.replica, input, outcome, begin);
            return Ok(outcome);
        }
        let outcome = primary.run(input).await?;
        if let (Input::NewOrder(order), Outcome::Ordered(number)) = (input, outcome) {
            self.fresh.committed(order, number);
        }
        Ok(outcome)
    }
}

/// What a connection has on other servers than the one that it writes to.
pub(crate) enum Beside<C: Connect> {
    Nothing,
    Replica(Box<ReplicaSession<C>>),
    /// Where transactions cross shards.
    Shards(Across<Timed<C::Session>>),
}

/// One connection.
pub struct TerminalClient<C: Connect> {
    /// Which of several it writes to.
    pub(crate) server: usize,
    pub(crate) terminal: TimedSession<C>,
    pub(crate) beside: Beside<C>,
    /// Of the last try that ended well.
    pub(crate) outcome: Outcome,
    pub(crate) witness: Option<Arc<Witness>>,
}

/// A try that a witness is told of: how it ended, or that it was dropped, as where a load ends that
/// waits for answers no longer. Whether such a transaction commits nobody will say.
struct WitnessedTry<'a> {
    witness: Option<&'a Witness>,
    input: &'a Input,
}

impl WitnessedTry<'_> {
    fn ended(mut self, result: &Result<Outcome, TransactionError>) {
        let Some(witness) = self.witness.take() else { return };
        match result {
            Ok(outcome) => witness.acknowledged(self.input, *outcome),
            Err(TransactionError::InDoubt(_)) => witness.in_doubt(self.input),
            Err(_) => {}
        }
    }
}

impl Drop for WitnessedTry<'_> {
    fn drop(&mut self) {
        if let Some(witness) = self.witness {
            witness.in_doubt(self.input);
        }
    }
}

impl<C: Connect> Client for TerminalClient<C> {
    type Operation = Input;

    fn server(&self) -> usize {
        self.server
    }

    fn begin(&mut self) {
        begin(&mut self.terminal);
        match &mut self.beside {
            Beside::Nothing => {}
            Beside::Replica(reader) => begin(&mut reader.terminal),
            Beside::Shards(across) => across.begin(),
        }
    }

    async fn attempt(&mut self, input: &Input) -> Attempt {
        let input = input.tried_at(DateTime::now);
        let witnessed = WitnessedTry { witness: self.witness.as_deref(), input: &input };
        let result = match (&mut self.beside, &mut self.terminal) {
            (Beside::Replica(reader), primary) => reader.run(primary, &input).await,
            (Beside::Shards(across), home) => across.run_any(home, &input).await,
            (Beside::Nothing, terminal) => terminal.run(&input).await,
        };
        witnessed.ended(&result);
        match result {
            Err(failure) => return Attempt::Failed(classify(&failure)),
            Ok(outcome) => self.outcome = outcome,
        }
        match self.outcome {
            Outcome::RolledBack => Attempt::RolledBack,
            _ => Attempt::Committed,
        }
    }

    fn statements(&self) -> u64 {
        let beside = match &self.beside {
            Beside::Nothing => 0,
            Beside::Replica(reader) => reader.terminal.session().statements(),
            Beside::Shards(across) => across.statements(),
        };
        self.terminal.session().statements() + beside
    }

    fn is_closed(&self) -> bool {
        let is_closed_beside = match &self.beside {
            Beside::Nothing => false,
            Beside::Replica(reader) => reader.terminal.session().is_closed(),
            Beside::Shards(across) => across.is_closed(),
        };
        self.terminal.session().is_closed() || is_closed_beside
    }

    fn statement_times(&self) -> StatementTimes<'_> {
        let session = self.terminal.session();
        match &self.beside {
            Beside::Replica(reader) if reader.was_asked => reader.terminal.session().times(),
            Beside::Shards(across) => across.times(session),
            _ => session.times(),
        }
    }

    fn count(&self, input: &Input, counters: &mut WorkloadCounters) {
        InputCounters::count(input, self.outcome, counters);
    }

    async fn takes_writes(&mut self) -> Result<(), Failed> {
        takes_writes(self.terminal.session_mut()).await
    }

    async fn close(self) {
        let others = match self.beside {
            Beside::Nothing => Vec::new(),
            Beside::Replica(reader) => vec![reader.terminal.into_session()],
            Beside::Shards(across) => across.into_sessions().collect(),
        };
        for session in iter::once(self.terminal.into_session()).chain(others) {
            C::close(session.into_inner()).await;
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
    use crate::tests::scripted::{Reply, ScriptedServer, now};
    use crate::transactions::StatementSet;
    use crate::{InputSource, RunConstants, Transaction};
    use base::{Random, SessionError, Warehouses};
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Waker};

    fn no_rows() -> ScriptedServer {
        ScriptedServer::of_replies(Vec::new())
    }

    /// A payment whose answer a load does not wait for any longer may be there or not, whichever
    /// statement it waited for.
    #[test]
    fn what_is_dropped_is_in_doubt() {
        let constants = RunConstants::for_run(None, 1);
        let mut source = InputSource::new(Random::new(1, &[1]), constants, Warehouses(1), None);
        let payment = source.input_of(Transaction::Payment);
        for silent in ["update_warehouse", "select_warehouse"] {
            let witness = Arc::new(now(Witness::begin(&mut no_rows().session())).unwrap());
            let session =
                Timed::new(ScriptedServer::of_replies(vec![(silent, Reply::Silence)]).session());
            let statements = StatementSet::TpccMysql { isolation: None };
            let terminal = now(PreparedSession::open(session, statements)).unwrap();
            let mut client = TerminalClient::<ScriptedServer> {
                server: 0,
                terminal,
                beside: Beside::Nothing,
                outcome: Outcome::Committed,
                witness: Some(Arc::clone(&witness)),
            };
            {
                let mut attempt = pin!(client.attempt(&payment));
                let polled = attempt.as_mut().poll(&mut Context::from_waker(Waker::noop()));
                assert!(polled.is_pending(), "at {silent}");
            }
            let report = now(witness.compare_with(&mut no_rows().session())).unwrap();
            assert_eq!(report.rows[1].in_doubt, 1, "at {silent}");
        }
    }

    #[test]
    fn what_ends_a_commit_leaves_it_in_doubt() {
        let killed = SessionError::Lost("reset".to_owned());
        let failed = classify(&TransactionError::InDoubt(killed.clone()));
        assert_eq!(failed.kind, FailureKind::Lost { in_doubt: true });
        let failed = classify(&TransactionError::Statement(killed));
        assert_eq!(failed.kind, FailureKind::Lost { in_doubt: false });
    }
}
