//! What workloads do with their databases besides transactions: what loads tell, the isolation
//! level of sessions, and what is proven before and after a run.

use crate::client::{Failed, Workload};
use crate::failures::failed_by;
use crate::merge::Merge;
use crate::run::RunReport;
use base::{Session, SessionResult};
use spec::Isolation;
use std::future::Future;
use std::time::Duration;

/// How far a load has come.
#[derive(Clone, Copy, Debug)]
pub struct LoadProgress {
    /// Bytes of rows generated and sent, those of an earlier, killed load included.
    pub bytes: u64,
    pub bytes_total: u64,
    /// Index builds done and to do, foreign keys counted as one; of a file, its statements.
    pub steps: u32,
    pub steps_total: u32,
}

/// What a load did.
#[derive(Clone, Debug, Default)]
pub struct LoadReport {
    /// Rows went by LOAD DATA LOCAL, not by multi-row INSERTs.
    pub is_local_infile: bool,
    pub tables: Vec<LoadedTable>,
    /// Bytes of rows sent by this call.
    pub bytes: u64,
    pub duration: Duration,
    /// CPU time of this process.
    pub client_cpu_ns: u64,
}

/// A table that was filled.
#[derive(Clone, Debug)]
pub struct LoadedTable {
    pub name: String,
    pub rows: u64,
    /// Of its rows as they were generated.
    pub checksum: u64,
}

/// Makes it the isolation level of the session's transactions.
///
/// # Errors
/// Where the server refuses.
pub async fn set_isolation<S: Session>(session: &mut S, isolation: Isolation) -> SessionResult<()> {
    let level = isolation.name().replace('-', " ").to_ascii_uppercase();
    let sql = format!("SET SESSION TRANSACTION ISOLATION LEVEL {level}");
    session.query(&sql).await.map(drop)
}

/// Asks a session's server whether it takes writes of this user, who may have a privilege that
/// `read_only` leaves them to.
///
/// # Errors
/// Why it does not.
pub async fn takes_writes<S: Session>(session: &mut S) -> Result<(), Failed> {
    let asked = match session.query("START TRANSACTION READ WRITE").await {
        Ok(_) => session.query("ROLLBACK").await.map(drop),
        Err(error) => Err(error),
    };
    asked.map_err(|error| failed_by(&error))
}

/// A workload that can be proven.
pub trait Proof: Workload {
    /// What the rows of a database add up to, read before and after a run.
    ///
    /// # Errors
    /// Where the server refuses.
    fn facts<S: Session>(&self, session: &mut S) -> impl Future<Output = SessionResult<Facts>>;

    /// Why the facts are not what they have to be after what the driver committed; of several
    /// databases, the sums of their facts.
    fn mismatch(&self, report: &RunReport, before: &Facts, after: &Facts) -> Option<String>;
}

/// Numbers that the rows of a database add up to. Only the workload knows what each means.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts(pub Vec<i64>);

/// Adds those of another database.
impl Merge for Facts {
    fn merge(&mut self, other: &Facts) {
        self.0.merge(&other.0);
    }
}
