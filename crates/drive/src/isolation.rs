//! The isolation level of sessions.

use base::{Session, SessionError};
use spec::Isolation;

/// Makes it the isolation level of the session's transactions.
///
/// # Errors
/// Where the server refuses.
pub async fn set_isolation<S: Session>(
    session: &mut S,
    isolation: Isolation,
) -> Result<(), SessionError> {
    let level = isolation.name().replace('-', " ").to_ascii_uppercase();
    let sql = format!("SET SESSION TRANSACTION ISOLATION LEVEL {level}");
    session.query(&sql).await.map(drop)
}
