//! The branches of an XA transaction, and the order in which they are prepared and end.

use crate::ShardRanges;
use crate::transactions::on_session::OnSession;
use crate::transactions::outcome::{StepResult, TransactionError};
use crate::transactions::single::Single;
use crate::xa::BranchId;
use base::{Session, SessionError, SessionResult};

/// What a transaction does on one shard.
pub(super) struct Branch<'a, S> {
    pub(super) server: usize,
    pub(super) id: BranchId,
    pub(super) on: OnSession<'a, S, Single>,
}

/// Those of a transaction.
pub(super) struct Branches<'a, S> {
    pub(super) shards: &'a ShardRanges,
    /// That of its own warehouse, which decides.
    pub(super) home: Branch<'a, S>,
    pub(super) others: Vec<Branch<'a, S>>,
}

impl<'a, S: Session> Branches<'a, S> {
    /// The server of this warehouse's shard.
    pub(super) fn server_of(&self, warehouse: u32) -> usize {
        self.shards.server_of(warehouse).unwrap_or(self.home.server)
    }

    /// That of the shard on this server.
    pub(super) fn on(&mut self, server: usize) -> &mut Branch<'a, S> {
        let other = self.others.iter().position(|other| other.server == server);
        match other {
            Some(other) => &mut self.others[other],
            None => &mut self.home,
        }
    }

    /// All of them, that which decides first.
    fn each(&mut self) -> impl Iterator<Item = &mut Branch<'a, S>> {
        std::iter::once(&mut self.home).chain(&mut self.others)
    }

    /// Begins all of them.
    pub(super) async fn start(&mut self) -> SessionResult<()> {
        for branch in self.each() {
            branch.on.session.query(&format!("XA START {}", branch.id)).await?;
        }
        Ok(())
    }

    /// Prepares all branches and commits them. Returns why one is not committed, where the
    /// transaction is.
    pub(super) async fn commit(&mut self) -> StepResult<Option<SessionError>> {
        for branch in self.each() {
            branch.prepare().await?;
        }
        if let Err(error) = self.home.end("COMMIT").await {
            // Whatever it says, the shards tell what became of it.
            let lost = SessionError::Lost(format!("XA COMMIT failed: {error}"));
            return Err(TransactionError::InDoubt(lost));
        }
        let mut broken = None;
        for branch in &mut self.others {
            if let Err(error) = branch.end("COMMIT").await {
                broken = Some(SessionError::Lost(format!(
                    "a committed transaction's branch is still prepared: {error}"
                )));
            }
        }
        Ok(broken)
    }

    /// Rolls all branches back, that which decides last.
    pub(super) async fn roll_back(&mut self) -> SessionResult<()> {
        for branch in &mut self.others {
            branch.roll_back().await?;
        }
        self.home.roll_back().await
    }
}

impl<S: Session> Branch<'_, S> {
    async fn prepare(&mut self) -> SessionResult<()> {
        self.on.session.queue_query(&format!("XA END {}", self.id))?;
        self.on.session.queue_query(&format!("XA PREPARE {}", self.id))?;
        self.on.session.answer().await?;
        self.on.session.answer().await.map(drop)
    }

    async fn end(&mut self, verb: &str) -> SessionResult<()> {
        self.on.session.query(&format!("XA {verb} {}", self.id)).await.map(drop)
    }

    /// Rolls back what the branch has done, whatever state it is in.
    ///
    /// # Errors
    /// [`SessionError::Lost`] where it may not be rolled back: the session is of no more use.
    async fn roll_back(&mut self) -> SessionResult<()> {
        /// There is no such branch, or none any more.
        const XAER_NOTA: u16 = 1397;
        /// The server has rolled it back by itself: without a reason, after a time-out or a
        /// deadlock.
        const ROLLED_BACK: [u16; 3] = [1402, 1613, 1614];
        let lost = |error| SessionError::Lost(format!("XA ROLLBACK failed: {error}"));
        self.on.session.discard().await?;
        match self.end("END").await {
            // It had ended, or a deadlock has doomed it.
            Ok(()) | Err(SessionError::Server { .. }) => {}
            Err(error) => return Err(lost(error)),
        }
        match self.end("ROLLBACK").await {
            Ok(()) => Ok(()),
            Err(SessionError::Server { code, .. })
                if code == XAER_NOTA || ROLLED_BACK.contains(&code) =>
            {
                Ok(())
            }
            Err(error) => Err(lost(error)),
        }
    }
}
