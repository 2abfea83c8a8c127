//! What a server says of itself as a replica.

use base::{Row, Session, SessionError, SessionResult};
use wire::Connection;

/// The older name first: MySQL 8.4 forgot it, and MySQL before 8.0.22 and MariaDB before 10.5 do
/// not know the newer one.
const STATUS: [&str; 2] = ["SHOW SLAVE STATUS", "SHOW REPLICA STATUS"];
/// Columns of it, from 0, which have kept their places.
const RECEIVES: usize = 10;
const APPLIES: usize = 11;
const SECONDS_BEHIND: usize = 32;
const RECEIVING_ERROR: usize = 35;
const APPLYING_ERROR: usize = 37;

/// How a replica replicates, in its words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplicaStatus {
    /// `Yes` where the thread runs that receives what its source writes.
    pub receives: String,
    /// `Yes` where those run that apply it.
    pub applies: String,
    pub receiving_error: String,
    pub applying_error: String,
    /// `None` where it does not know.
    pub seconds_behind: Option<i64>,
}

impl ReplicaStatus {
    fn of(row: &Row<'_>) -> ReplicaStatus {
        ReplicaStatus {
            receives: row.text(RECEIVES),
            applies: row.text(APPLIES),
            receiving_error: row.text(RECEIVING_ERROR),
            applying_error: row.text(APPLYING_ERROR),
            seconds_behind: row.int(SECONDS_BEHIND).ok(),
        }
    }

    /// Does it receive and apply?
    pub fn replicates(&self) -> bool {
        self.receives == "Yes" && self.applies == "Yes"
    }

    /// Does it still connect to its source, after what it knows without a fault? MySQL and MariaDB
    /// have a word of their own for it.
    pub fn is_connecting(&self) -> bool {
        ["Connecting", "Preparing"].contains(&self.receives.as_str())
            && self.receiving_error.is_empty()
            && self.applies == "Yes"
    }
}

/// How this server replicates; `None` where it is no replica.
///
/// # Errors
/// Where it refuses by either name, or is gone.
pub async fn replica_status(session: &mut Connection) -> SessionResult<Option<ReplicaStatus>> {
    let [older, newer] = STATUS;
    match session.query(older).await {
        Ok(answer) => return Ok(answer.row(0).map(|row| ReplicaStatus::of(&row))),
        Err(SessionError::Server { .. }) => {}
        Err(error) => return Err(error),
    }
    let answer = session.query(newer).await?;
    Ok(answer.row(0).map(|row| ReplicaStatus::of(&row)))
}
