//! New-Order and Payment over several shards: what they do on each shard is a branch of an XA
//! transaction (see `xa` for the order in which branches are prepared and end).
//!
//! All transactions lock rows in one order: what is of their own warehouse, then stock by
//! warehouse, shard after shard, also where statements are pipelined. Two that waited for each
//! other on two servers would do so until a lock wait times out, as neither server sees the circle.

mod new_order;
mod open;
mod payment;

use super::single::Single;
use super::{Outcome, PreparedSession, TransactionError};
use crate::ShardRanges;
use crate::input::{Input, UNUSED_ITEM};
use crate::xa::{BranchId, ShardName, XaOwner, XaRun};
use base::{Session, SessionError};
use drive::{StatementTime, StatementTimes, Timed};
pub(crate) use open::AcrossOptions;

/// The sessions of a connection on the other shards than its own, and what names its transactions.
pub(crate) struct Across<S> {
    run: XaRun,
    owner: XaOwner,
    shards: ShardRanges,
    /// Of each shard, by the number of its server.
    names: Vec<ShardName>,
    home: usize,
    /// By the number of the server; none at home.
    others: Vec<Option<PreparedSession<S>>>,
    /// Why a transaction that is committed has a branch that is not: so the sessions are of no more
    /// use, and those that are opened next commit it.
    broken: Option<SessionError>,
    /// Of the statements on all shards.
    times: Vec<StatementTime>,
}

/// What a transaction does on one shard.
struct Branch<'a, S> {
    server: usize,
    id: BranchId,
    session: &'a mut S,
    single: &'a mut Single,
}

/// Those of a transaction.
struct Branches<'a, S> {
    shards: &'a ShardRanges,
    /// That of its own warehouse, which decides.
    home: Branch<'a, S>,
    others: Vec<Branch<'a, S>>,
}

impl<S: Session> Across<S> {
    /// Is there anything to do on another shard? An unused item has no stock.
    fn crosses(&self, input: &Input) -> bool {
        self.warehouses(input).any(|warehouse| self.shards.server_of(warehouse) != Some(self.home))
    }

    /// Warehouses whose rows it uses beside its own.
    fn warehouses(&self, input: &Input) -> impl Iterator<Item = u32> {
        let (lines, customer) = match input {
            Input::NewOrder(order) => (order.lines(), None),
            Input::Payment(payment) => (&[][..], Some(payment.customer_warehouse)),
            _ => (&[][..], None),
        };
        let used = lines.iter().filter(|line| line.item != UNUSED_ITEM);
        used.map(|line| line.supply_warehouse).chain(customer)
    }

    /// Runs a transaction that crosses shards to its end. After a [`TransactionError::Statement`]
    /// of the server or a missing row it has been rolled back on all shards, and the sessions are
    /// ready for the next try.
    ///
    /// # Errors
    /// Any [`TransactionError`].
    async fn run(
        &mut self,
        home: &mut PreparedSession<S>,
        input: &Input,
    ) -> Result<Outcome, TransactionError> {
        let ended = {
            let mut branches = self.branches(home, input)?;
            let done = match branches.work(input).await {
                Ok(Outcome::RolledBack) => {
                    branches.roll_back().await?;
                    return Ok(Outcome::RolledBack);
                }
                Ok(outcome) => branches.commit().await.map(|broken| (outcome, broken)),
                Err(failure) => Err(failure),
            };
            if done.as_ref().is_err_and(TransactionError::is_to_roll_back) {
                branches.roll_back().await?;
            }
            done
        };
        match ended {
            Ok((outcome, broken)) => {
                self.broken = broken;
                Ok(outcome)
            }
            Err(failure) => {
                if failure.needs_prepare() {
                    home.prepare_anew().await?;
                    for other in self.others.iter_mut().flatten() {
                        other.prepare_anew().await?;
                    }
                }
                Err(failure)
            }
        }
    }

    /// The branches that a transaction needs.
    fn branches<'a>(
        &'a mut self,
        home: &'a mut PreparedSession<S>,
        input: &Input,
    ) -> Result<Branches<'a, S>, SessionError> {
        let mut needed = vec![false; self.others.len()];
        for warehouse in self.warehouses(input) {
            let server = self.shards.server_of(warehouse);
            let needs = server.and_then(|server| needed.get_mut(server)).ok_or_else(|| {
                SessionError::Unexpected(format!("no shard has warehouse {warehouse}"))
            })?;
            *needs = true;
        }
        let global = self.run.next(self.owner);
        let (names, home_name) = (&self.names, self.names[self.home]);
        let id = |server: usize| BranchId::new(global, names[server], home_name);
        let branch = |server: usize, of: &'a mut PreparedSession<S>| {
            let (session, single) = of.single()?;
            Ok(Branch { server, id: id(server), session, single })
        };
        let mut others = Vec::new();
        for (server, other) in self.others.iter_mut().enumerate() {
            if let (true, Some(other)) = (needed[server], other) {
                others.push(branch(server, other)?);
            }
        }
        Ok(Branches { shards: &self.shards, home: branch(self.home, home)?, others })
    }

    /// Statements sent so far on the other shards.
    pub(crate) fn statements(&self) -> u64 {
        self.others.iter().flatten().map(|other| other.session().statements()).sum()
    }

    /// The sessions, to close them.
    pub(crate) fn into_sessions(self) -> impl Iterator<Item = S> {
        self.others.into_iter().flatten().map(PreparedSession::into_session)
    }
}

impl<S: Session> Across<Timed<S>> {
    /// Forgets the statements so far.
    pub(crate) fn begin(&mut self) {
        self.times.clear();
    }

    /// Runs one transaction to its end, on as many shards as it needs; see [`PreparedSession::run`].
    ///
    /// # Errors
    /// Any [`TransactionError`].
    pub(crate) async fn run_any(
        &mut self,
        home: &mut PreparedSession<Timed<S>>,
        input: &Input,
    ) -> Result<Outcome, TransactionError> {
        if let Some(broken) = &self.broken {
            return Err(TransactionError::Statement(broken.clone()));
        }
        let result = match self.crosses(input) {
            true => self.run(home, input).await,
            false => home.run(input).await,
        };
        self.add_times(home);
        result
    }

    /// Adds those of a try on all shards.
    fn add_times(&mut self, home: &mut PreparedSession<Timed<S>>) {
        for of in std::iter::once(home).chain(self.others.iter_mut().flatten()) {
            self.times.extend_from_slice(of.session().times().times);
            of.session_mut().begin();
        }
    }

    /// Those since `begin`.
    pub(crate) fn times<'a>(&'a self, home: &'a Timed<S>) -> StatementTimes<'a> {
        StatementTimes { kinds: home.times().kinds, times: &self.times }
    }
}

impl<'a, S: Session> Branches<'a, S> {
    /// The server of this warehouse's shard.
    fn server_of(&self, warehouse: u32) -> usize {
        self.shards.server_of(warehouse).unwrap_or(self.home.server)
    }

    /// That of the shard on this server.
    fn on(&mut self, server: usize) -> &mut Branch<'a, S> {
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

    /// Does everything up to the end of the transaction.
    async fn work(&mut self, input: &Input) -> Result<Outcome, TransactionError> {
        for branch in self.each() {
            branch.session.query(&format!("XA START {}", branch.id)).await?;
        }
        match input {
            Input::NewOrder(order) => new_order::new_order(self, order).await,
            Input::Payment(payment) => payment::payment(self, payment).await,
            _ => Err(SessionError::Unexpected("only orders and payments cross".to_owned()).into()),
        }
    }

    /// Prepares all branches and commits them. Returns why one is not committed, where the
    /// transaction is.
    async fn commit(&mut self) -> Result<Option<SessionError>, TransactionError> {
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
    async fn roll_back(&mut self) -> Result<(), SessionError> {
        for branch in &mut self.others {
            branch.roll_back().await?;
        }
        self.home.roll_back().await
    }
}

impl<S: Session> Branch<'_, S> {
    async fn prepare(&mut self) -> Result<(), SessionError> {
        self.session.queue_query(&format!("XA END {}", self.id))?;
        self.session.queue_query(&format!("XA PREPARE {}", self.id))?;
        self.session.answer().await?;
        self.session.answer().await.map(drop)
    }

    async fn end(&mut self, verb: &str) -> Result<(), SessionError> {
        self.session.query(&format!("XA {verb} {}", self.id)).await.map(drop)
    }

    /// Rolls back what the branch has done, whatever state it is in.
    ///
    /// # Errors
    /// [`SessionError::Lost`] where it may not be rolled back: the session is of no more use.
    async fn roll_back(&mut self) -> Result<(), SessionError> {
        /// There is no such branch, or none any more.
        const XAER_NOTA: u16 = 1397;
        /// The server has rolled it back by itself: without a reason, after a time-out or a
        /// deadlock.
        const ROLLED_BACK: [u16; 3] = [1402, 1613, 1614];
        let lost = |error| SessionError::Lost(format!("XA ROLLBACK failed: {error}"));
        self.session.discard().await?;
        match self.end("END").await {
            // It had ended, or a deadlock has doomed it.
            Ok(()) | Err(SessionError::Server { .. }) => {}
            Err(error) => return Err(lost(error)),
        }
        match self.end("ROLLBACK").await {
            Ok(()) => Ok(()),
            Err(error)
                if error
                    .code()
                    .is_some_and(|code| code == XAER_NOTA || ROLLED_BACK.contains(&code)) =>
            {
                Ok(())
            }
            Err(error) => Err(lost(error)),
        }
    }
}
