//! Opening the sessions of a connection on all shards.

use super::Across;
use crate::database::schema_name;
use crate::lock::{Lock, take_lock};
use crate::shards::ShardRanges;
use crate::transactions::{PreparedSession, StatementSet};
use crate::xa::{ShardName, XaOwner, XaRun, resolve_own};
use base::{Connect, Session, SessionError};
use drive::{Failed, FailureKind, Opening, Schemas, Timed, failed_by};
use std::fmt;
use std::time::Duration;

/// How long a server may take to end the session that this one follows.
const LEAVING_WAIT: Duration = Duration::from_secs(10);

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
            others.push(Some(opened.map_err(|error| failed_by(&error))?));
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
