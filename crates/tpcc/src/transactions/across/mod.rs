//! New-Order and Payment over several shards: what they do on each shard is a branch of an XA
//! transaction (see `xa` for the order in which branches are prepared and end).
//!
//! All transactions lock rows in one order: what is of their own warehouse, then stock by
//! warehouse, shard after shard, also where statements are pipelined. Two that waited for each
//! other on two servers would do so until a lock wait times out, as neither server sees the circle.

mod branches;
mod work;

use super::{Outcome, PreparedSession, StatementSet, TransactionError};
use crate::ShardRanges;
use crate::database::schema_name;
use crate::input::{Input, UNUSED_ITEM};
use crate::lock::{Lock, take_lock};
use crate::xa::{BranchId, ShardName, XaOwner, XaRun, resolve_own};
use base::{Connect, Session, SessionError, SessionResult};
use branches::{Branch, Branches};
use drive::{
    Failed, FailureKind, Opening, Schemas, StatementTime, StatementTimes, Timed, failed_by,
};
use std::time::Duration;
use std::{fmt, iter};
use work::work;

/// How long a server may take to end the session that this one follows.
const LEAVING_WAIT: Duration = Duration::from_secs(10);

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
        let mut branches = self.branches(home, input)?;
        let ended = match work(&mut branches, input).await {
            Ok(Outcome::RolledBack) => {
                branches.roll_back().await?;
                return Ok(Outcome::RolledBack);
            }
            Ok(outcome) => branches.commit().await.map(|broken| (outcome, broken)),
            Err(failure) => Err(failure),
        };
        if ended.as_ref().is_err_and(TransactionError::is_to_roll_back) {
            branches.roll_back().await?;
        }
        if ended.as_ref().is_err_and(TransactionError::needs_prepare) {
            for session in iter::once(home).chain(self.others.iter_mut().flatten()) {
                session.prepare_anew().await?;
            }
        }
        let (outcome, broken) = ended?;
        self.broken = broken;
        Ok(outcome)
    }

    /// The branches that a transaction needs.
    fn branches<'a>(
        &'a mut self,
        home: &'a mut PreparedSession<S>,
        input: &Input,
    ) -> SessionResult<Branches<'a, S>> {
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
            Ok(Branch { server, id: id(server), on: of.single()? })
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

    /// Has another shard closed its connection?
    pub(crate) fn is_closed(&self) -> bool {
        self.others.iter().flatten().any(|other| other.session().is_closed())
    }

    /// The sessions, to close them.
    pub(crate) fn into_sessions(self) -> impl Iterator<Item = S> {
        self.others.into_iter().flatten().map(PreparedSession::into_session)
    }
}

impl<S: Session> Across<Timed<S>> {
    /// Opens a session on each shard of a run; the first of what is returned is that on its own.
    /// What an earlier one of this connection has left prepared is resolved before.
    ///
    /// # Errors
    /// Why one cannot be opened; [`FailureKind::Lost`] where a later call may succeed.
    pub(crate) async fn open<C: Connect<Session = S>>(
        schemas: &Schemas<C>,
        which: Opening,
        (run, shards): (&XaRun, &ShardRanges),
        statements: StatementSet,
    ) -> Result<(PreparedSession<Timed<S>>, Across<Timed<S>>), Failed> {
        let owner = run.owner(which.connection);
        let home = schemas.writes_to(which);
        let mut sessions = Vec::new();
        for server in 0..schemas.iter().count() {
            let mut session = schemas.connect(server).await?;
            hold(&mut session, owner).await?;
            sessions.push(session);
        }
        if which.earlier > 0 {
            let resolved = resolve_own(&mut shards.sessions(&mut sessions), owner).await;
            resolved.map_err(|error| lost("unresolved", error))?;
        }
        let mut names = Vec::new();
        let mut others = Vec::new();
        for (mut session, range) in sessions.into_iter().zip(shards.iter()) {
            let schema = schema_name(&mut session).await;
            let schema = schema.map_err(|error| lost("schema", error))?;
            names.push(ShardName::new(&schema, range.first()));
            let opened = PreparedSession::open(Timed::new(session), statements).await;
            let mut opened = opened.map_err(|error| failed_by(&error))?;
            // What set it up is of no transaction.
            opened.session_mut().begin();
            others.push(Some(opened));
        }
        let own = others.get_mut(home).and_then(Option::take);
        let own = own.ok_or_else(|| lost("shards", "the connection has no shard of its own"))?;
        let across = Across {
            run: run.clone(),
            owner,
            shards: shards.clone(),
            names,
            home,
            others,
            broken: None,
            times: Vec::new(),
        };
        Ok((own, across))
    }

    /// Forgets the statements so far.
    pub(crate) fn begin(&mut self) {
        self.times.clear();
    }

    /// Runs one transaction to its end, on as many shards as it needs; see
    /// [`PreparedSession::run`].
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
        for of in iter::once(home).chain(self.others.iter_mut().flatten()) {
            self.times.extend_from_slice(of.session().times().times);
            of.session_mut().begin();
        }
    }

    /// Those since `begin`.
    pub(crate) fn times<'a>(&'a self, home: &'a Timed<S>) -> StatementTimes<'a> {
        StatementTimes { kinds: home.times().kinds, times: &self.times }
    }
}

/// Takes the lock that tells others that this connection lives, on one server.
async fn hold<S: Session>(session: &mut S, owner: XaOwner) -> Result<(), Failed> {
    match take_lock(session, &owner.to_string(), LEAVING_WAIT).await {
        Ok(Lock::Held) => Ok(()),
        Ok(Lock::Busy) => Err(lost("busy", "the server has not ended the session before this one")),
        Ok(Lock::Forbidden(why)) => Err(Failed {
            kind: FailureKind::Fatal,
            code: "no_locks".into(),
            message: format!(
                "transactions over shards need named locks, which the server has not: {why}"
            ),
        }),
        Err(error) => Err(match error {
            SessionError::Server { .. } => failed_by(&error),
            gone => lost("lost", gone),
        }),
    }
}

fn lost(code: &'static str, why: impl fmt::Display) -> Failed {
    let kind = FailureKind::Lost { in_doubt: false };
    Failed { kind, code: code.into(), message: why.to_string() }
}

#[cfg(test)]
mod tests;
