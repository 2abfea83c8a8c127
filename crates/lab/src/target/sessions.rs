//! Sessions of set-up, proof and sampling: each is a connection that is used once.

use crate::error::{LabError, LabResult};
use base::{Connect, Session, SessionError, limits};
use drive::Schemas;
use std::sync::atomic::AtomicBool;
use std::time::Instant;
use tpcc::{ShardRanges, ShardSession};
use wire::{Connection, Connector};

/// What tells a server from all others, however it is reached.
pub(crate) const IDENTITY: &str =
    "SELECT CONCAT_WS('|', @@GLOBAL.hostname, @@GLOBAL.port, @@GLOBAL.datadir)";

/// The first value of an answer; empty where there is none.
pub(crate) async fn text(session: &mut Connection, sql: &str) -> Result<String, SessionError> {
    Ok(session.query(sql).await?.row(0).map_or_else(String::new, |row| row.text(0)))
}

/// Connects, uses the session and closes it: for what a server answers at once. It is given up
/// after [`limits::ANSWER_TIMEOUT`].
pub(crate) fn with_session<T>(
    connector: &Connector,
    use_it: impl AsyncFnOnce(&mut Connection) -> LabResult<T>,
) -> LabResult<T> {
    answered(on(connector, use_it))
}

async fn on<T>(
    connector: &Connector,
    use_it: impl AsyncFnOnce(&mut Connection) -> LabResult<T>,
) -> LabResult<T> {
    let mut session = connector.connect().await?;
    let result = use_it(&mut session).await;
    Connector::close(session).await;
    result
}

/// Runs `asking` to its end on this thread. A server that stands still after a login answers
/// nothing for ever.
pub(crate) fn answered<T>(asking: impl Future<Output = LabResult<T>>) -> LabResult<T> {
    let answered = reactor::timeout_at(Instant::now() + limits::ANSWER_TIMEOUT, asking);
    reactor::block_on(answered).map_err(LabError::Reactor)?.unwrap_or_else(|_| {
        let why = format!(
            "it accepts connections and has answered nothing for {} s: it stands still, or a lock \
             holds it (SHOW PROCESSLIST); try again when it answers",
            limits::ANSWER_TIMEOUT.as_secs()
        );
        Err(LabError::Session { doing: "ask the server", error: SessionError::Lost(why) })
    })
}

/// As [`with_session`], given up when `stop` is set.
pub(crate) fn with_session_until<T>(
    connector: &Connector,
    stop: &AtomicBool,
    use_it: impl AsyncFnOnce(&mut Connection) -> LabResult<T>,
) -> LabResult<T> {
    until(stop, on(connector, use_it))
}

/// Connects to each shard, uses the sessions and closes them.
pub(crate) async fn on_shards<T>(
    servers: &Schemas<Connector>,
    shards: &ShardRanges,
    use_them: impl AsyncFnOnce(&mut [ShardSession<'_, Connection>]) -> LabResult<T>,
) -> LabResult<T> {
    let mut sessions = Vec::new();
    for connector in servers.iter() {
        sessions.push(connector.connect().await?);
    }
    let result = use_them(&mut shards.sessions(&mut sessions)).await;
    for session in sessions {
        Connector::close(session).await;
    }
    result
}

/// Runs `future` to its end, or until `stop` is set.
pub(crate) fn until<T>(
    stop: &AtomicBool,
    future: impl Future<Output = LabResult<T>>,
) -> LabResult<T> {
    let ended = reactor::block_on_unless(stop, future).map_err(LabError::Reactor)?;
    ended.unwrap_or(Err(LabError::Interrupted))
}
