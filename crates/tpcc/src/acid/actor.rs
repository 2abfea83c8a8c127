//! Who takes part in a test: sessions whose transactions stop on demand, and one that looks on.

use super::finding::{AcidError, AcidResult};
use super::halting::{Halt, Halting};
use crate::Input;
use crate::transactions::{
    Outcome, PreparedSession, StatementSet, TransactionError, only_row, require,
};
use base::{Connect, Session, SessionError};
use drive::{FailureKind, failed_by, set_isolation};
use reactor::sleep_until;
use spec::{Isolation, Style};
use std::cell::Cell;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::Poll;
use std::time::{Duration, Instant};

const READ: &str = "what a test reads";
/// Tries of a transaction that the server rolls back to let another one through.
const TRIES_MAX: u32 = 5;
/// A server makes its list of transactions anew only for who has not read it for 0.1 s.
const LOOK_EVERY: Duration = Duration::from_millis(150);
/// How long a transaction may neither end nor wait for a lock. A statement takes milliseconds.
const UNDECIDED_MAX: Duration = Duration::from_secs(30);

/// How a transaction ends that was stopped before.
#[derive(Clone, Copy)]
pub(super) enum End {
    Commit,
    Rollback,
}

impl End {
    pub(super) fn sql(self) -> &'static str {
        match self {
            End::Commit => "COMMIT",
            End::Rollback => "ROLLBACK",
        }
    }
}

/// A session of a test, T1 or T2 of clause 3.4.2.
pub(super) struct Actor<S> {
    terminal: PreparedSession<Halting<S>>,
    pub(super) halt: Rc<Halt>,
    pub(super) connection: i64,
    /// The server's errors after which a transaction was tried again.
    pub(super) tried_again: Vec<String>,
}

impl<S: Session> Actor<S> {
    pub(super) async fn open<C: Connect<Session = S>>(
        connect: &C,
        isolation: Isolation,
    ) -> AcidResult<Actor<S>> {
        let mut session = connect.connect_or(AcidError::Connect).await?;
        let connection = number(&mut session, "SELECT CONNECTION_ID()").await?;
        let session = Halting::new(session);
        let halt = Rc::clone(&session.halt);
        let statements = StatementSet::Clauses { style: Style::Statements, isolation };
        let terminal = PreparedSession::open(session, statements).await?;
        Ok(Actor { terminal, halt, connection, tried_again: Vec::new() })
    }

    /// Runs a transaction to its end.
    pub(super) async fn run(&mut self, input: &Input) -> AcidResult<Outcome> {
        for _ in 1..TRIES_MAX {
            match self.terminal.run(input).await {
                Err(TransactionError::Statement(error)) if is_to_try_again(&error) => {
                    self.tried_again.push(error.to_string());
                }
                ended => return Ok(ended?),
            }
        }
        Ok(self.terminal.run(input).await?)
    }

    /// Runs a transaction and stops before its end, which [`Actor::end`] sends.
    pub(super) async fn run_open(&mut self, input: &Input) -> AcidResult<Outcome> {
        self.halt.before_end.set(true);
        let outcome = self.run(input).await;
        self.halt.before_end.set(false);
        outcome
    }

    /// Ends the transaction that is open.
    pub(super) async fn end(&mut self, how: End) -> AcidResult<()> {
        self.sql(how.sql()).await
    }

    /// Runs SQL in the transaction that is open, or begins one.
    pub(super) async fn sql(&mut self, sql: &str) -> AcidResult<()> {
        self.terminal.session_mut().query(sql).await?;
        Ok(())
    }

    /// Reads a number in the transaction that is open; `None` where there is no row.
    pub(super) async fn read(&mut self, sql: &str) -> AcidResult<Option<i64>> {
        Ok(self.terminal.session_mut().query(sql).await?.int()?)
    }

    pub(super) fn into_session(self) -> S {
        self.terminal.into_session().session
    }
}

/// Did the server roll a transaction back to let another one through?
fn is_to_try_again(error: &SessionError) -> bool {
    matches!(failed_by(error).kind, FailureKind::Deadlock | FailureKind::Conflict)
}

/// Runs a transaction until it stops after the statement that its session waits for; an error where
/// it ends before.
pub(super) async fn until_halted<T>(
    halt: &Halt,
    mut transaction: Pin<&mut impl Future<Output = AcidResult<T>>>,
) -> AcidResult<()> {
    poll_fn(|context| match transaction.as_mut().poll(context) {
        Poll::Ready(Ok(_)) => Poll::Ready(Err(AcidError::NotHalted)),
        Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
        Poll::Pending if halt.halted.get() => Poll::Ready(Ok(())),
        Poll::Pending => Poll::Pending,
    })
    .await
}

/// A session beside the tests: reads what is committed, and asks the server who waits.
pub(super) struct Onlooker<S>(pub(super) S);

impl<S: Session> Onlooker<S> {
    pub(super) async fn open<C: Connect<Session = S>>(connect: &C) -> AcidResult<Onlooker<S>> {
        let mut session = connect.connect_or(AcidError::Connect).await?;
        set_isolation(&mut session, Isolation::RepeatableRead).await?;
        Ok(Onlooker(session))
    }

    /// A number that is committed.
    pub(super) async fn number(&mut self, sql: &str) -> AcidResult<i64> {
        number(&mut self.0, sql).await
    }

    /// An amount of money that is committed, in cents.
    pub(super) async fn cents(&mut self, sql: &str) -> AcidResult<i64> {
        Ok(only_row(&self.0.query(sql).await?, READ)?.cents(0)?.0)
    }

    /// Rows that are committed, as text: columns joined by `|`.
    pub(super) async fn rows(&mut self, sql: &str) -> AcidResult<Vec<String>> {
        let answer = self.0.query(sql).await?;
        Ok(answer.rows().map(|row| row.texts().join("|")).collect())
    }

    /// Runs statements in one transaction.
    pub(super) async fn change(&mut self, statements: &[String]) -> AcidResult<()> {
        self.0.query("START TRANSACTION").await?;
        for sql in statements {
            self.0.query(sql).await?;
        }
        self.0.query("COMMIT").await?;
        Ok(())
    }

    /// Changes one row.
    pub(super) async fn change_row(&mut self, sql: &str) -> AcidResult<()> {
        let changed = self.0.query(sql).await?.affected_rows;
        Ok(require(changed == 1, "what a test sets back")?)
    }

    /// Runs the transaction of a connection until it has ended or, by the server's word, waits for
    /// a lock; then there is no output, and it goes on with the next call that awaits it.
    pub(super) async fn until_waits<T>(
        &mut self,
        connection: i64,
        mut transaction: Pin<&mut impl Future<Output = T>>,
    ) -> AcidResult<Option<T>> {
        let over = Cell::new(false);
        let mut output = None;
        let mut looking = pin!(self.look(connection, &over));
        // The look goes to its end too: what is asked has to be answered before anything else.
        poll_fn(|context| {
            if output.is_none()
                && let Poll::Ready(ended) = transaction.as_mut().poll(context)
            {
                output = Some(ended);
                over.set(true);
            }
            looking.as_mut().poll(context)
        })
        .await?;
        Ok(output)
    }

    /// Looks until a connection waits for a lock, or is `over`.
    async fn look(&mut self, connection: i64, over: &Cell<bool>) -> AcidResult<()> {
        let waits = format!(
            "SELECT COUNT(*) FROM information_schema.innodb_trx \
             WHERE trx_mysql_thread_id={connection} AND trx_state='LOCK WAIT'"
        );
        let deadline = Instant::now() + UNDECIDED_MAX;
        loop {
            sleep_until(Instant::now() + LOOK_EVERY).await;
            if over.get() || self.number(&waits).await? > 0 {
                return Ok(());
            }
            if Instant::now() >= deadline {
                return Err(AcidError::Undecided);
            }
        }
    }
}

async fn number<S: Session>(session: &mut S, sql: &str) -> AcidResult<i64> {
    Ok(only_row(&session.query(sql).await?, READ)?.int(0)?)
}
