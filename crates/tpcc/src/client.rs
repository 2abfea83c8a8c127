//! One connection of a run: its session, and those that it has on other servers beside it.

use crate::fresh::FreshOrders;
use crate::transactions::{Across, Outcome, PreparedSession, TransactionError};
use crate::witness::Witness;
use crate::{Input, InputCounters, tpcc_mysql};
use base::{Connect, DateTime, Session};
use drive::{
    Attempt, Client, Failed, FailureKind, StatementTimes, Timed, WorkloadCounters, failed_by,
    failed_in_commit,
};
use std::sync::Arc;

/// A session with the statements of a set.
pub(crate) enum AnySession<S> {
    Clauses(PreparedSession<S>),
    TpccMysql(tpcc_mysql::TpccMysqlSession<S>),
}

impl<S: Session> AnySession<Timed<S>> {
    fn session(&self) -> &Timed<S> {
        match self {
            AnySession::Clauses(terminal) => terminal.session(),
            AnySession::TpccMysql(terminal) => terminal.session(),
        }
    }

    fn into_session(self) -> S {
        match self {
            AnySession::Clauses(terminal) => terminal.into_session().into_inner(),
            AnySession::TpccMysql(terminal) => terminal.into_session().into_inner(),
        }
    }

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

/// Of a connection.
pub(crate) type TimedSession<C> = AnySession<Timed<<C as Connect>::Session>>;

/// A session that only reads, from a replica.
pub(crate) struct ReplicaSession<C: Connect> {
    terminal: TimedSession<C>,
    /// The number of its server.
    replica: usize,
    fresh: Arc<FreshOrders>,
    /// It had the last transaction.
    was_asked: bool,
}

impl<C: Connect> ReplicaSession<C> {
    pub(crate) fn new(
        terminal: TimedSession<C>,
        replica: usize,
        fresh: Arc<FreshOrders>,
    ) -> ReplicaSession<C> {
        ReplicaSession { terminal, replica, fresh, was_asked: false }
    }

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
    server: usize,
    terminal: TimedSession<C>,
    beside: Beside<C>,
    /// Of the last try that ended well.
    outcome: Outcome,
    witness: Option<Arc<Witness>>,
}

impl<C: Connect> TerminalClient<C> {
    pub(crate) fn new(
        server: usize,
        terminal: TimedSession<C>,
        beside: Beside<C>,
        witness: Option<Arc<Witness>>,
    ) -> TerminalClient<C> {
        TerminalClient { server, terminal, beside, outcome: Outcome::Committed, witness }
    }

    /// Tells the witness how a transaction ended.
    fn witness(&self, input: &Input, result: &Result<Outcome, TransactionError>) {
        let Some(witness) = &self.witness else { return };
        match result {
            Ok(outcome) => witness.acknowledged(input, *outcome),
            Err(TransactionError::InDoubt(_)) => witness.in_doubt(input),
            Err(_) => {}
        }
    }
}

impl<C: Connect> Client for TerminalClient<C> {
    type Operation = Input;

    fn server(&self) -> usize {
        self.server
    }

    fn begin(&mut self) {
        self.terminal.begin();
        match &mut self.beside {
            Beside::Nothing => {}
            Beside::Replica(reader) => reader.terminal.begin(),
            Beside::Shards(across) => across.begin(),
        }
    }

    async fn attempt(&mut self, input: &Input) -> Attempt {
        let input = input.tried_at(DateTime::now);
        let result = match (&mut self.beside, &mut self.terminal) {
            (Beside::Replica(reader), primary) => reader.run(primary, &input).await,
            (Beside::Shards(across), AnySession::Clauses(home)) => {
                across.run_any(home, &input).await
            }
            (_, terminal) => terminal.run(&input).await,
        };
        self.witness(&input, &result);
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
        let beside = match &self.beside {
            Beside::Nothing => 0,
            Beside::Replica(reader) => reader.terminal.session().statements(),
            Beside::Shards(across) => across.statements(),
        };
        self.terminal.session().statements() + beside
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

    async fn close(self) {
        C::close(self.terminal.into_session()).await;
        match self.beside {
            Beside::Nothing => {}
            Beside::Replica(reader) => C::close(reader.terminal.into_session()).await,
            Beside::Shards(across) => {
                for session in across.into_sessions() {
                    C::close(session.into_inner()).await;
                }
            }
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
}
