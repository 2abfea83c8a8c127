//! The end of a database that `mydyno load` made.

use crate::error::{LabResult, unfit};
use crate::measure::workload::read_workload;
use crate::progress::Job;
use crate::target::sessions::with_session_until;
use crate::target::subject::Subject;
use serde::Serialize;
use server::{Secret, render_dsn};
use spec::DatabaseKind;
use wire::Connector;

/// What was dropped in a schema.
#[derive(Serialize)]
pub struct DroppedDatabase {
    /// Its DSN, without a password.
    pub target: String,
    /// Tables and procedures.
    pub dropped: Vec<String>,
}

/// Drops what mydyno made of a database in all schemas of the subject.
///
/// # Errors
/// Where one holds tables of these names that mydyno did not make, or the server refuses.
pub fn drop_databases(
    subject: &Subject,
    database: &DatabaseKind,
    job: &Job<'_>,
) -> LabResult<Vec<DroppedDatabase>> {
    // Servers of one database write on the first.
    let is_one = subject.topology.is_one_database();
    let servers = subject.each().take(if is_one { 1 } else { usize::MAX });
    let mut all = Vec::new();
    for connect in servers.flat_map(Subject::targets) {
        if connect.schema.is_none() {
            return Err(unfit("the target names no schema; add one: mysql://user@host:3306/tpcc"));
        }
        let target = render_dsn(&connect, Secret::Hidden);
        let dropped = with_session_until(&Connector::new(connect)?, job.stop, async |session| {
            Ok(match database {
                DatabaseKind::Tpcc => tpcc::drop_database(session).await?,
                DatabaseKind::Script(of) => oltp::drop_tables(session, of, read_workload).await?,
            })
        })?;
        all.push(DroppedDatabase { target, dropped });
    }
    Ok(all)
}
