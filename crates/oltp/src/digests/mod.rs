//! A workload file from the digests of a server: the mix of its statements, with values drawn from
//! what its tables have, and tables like them. Values of rows stay where they are: of tables only
//! ranges of indexed integers, counts and lengths are taken.

mod read;
mod statement;
mod tables;
#[cfg(test)]
mod tests;
mod tokens;
mod values;
mod write;

use crate::digests::read::ObservedDigests;
use crate::digests::statement::{DigestStatement, statement_of};
use crate::digests::write::{DigestText, LeftOut};
use base::{Exit, Session, SessionError};
use std::collections::BTreeSet;

/// What to take.
#[derive(Clone, Copy, Debug)]
pub struct DigestOptions {
    /// Statements, the most frequent ones.
    pub top: usize,
    /// TextRows of a table that is made up.
    pub rows_max: u64,
    /// Values of sampled statements.
    pub samples: bool,
}

/// A workload file, and what is to be told beside it.
#[derive(Debug)]
pub struct DigestWorkload {
    pub text: String,
    pub told: Vec<String>,
}

/// Why there is none.
#[derive(Debug, thiserror::Error)]
pub enum DigestError {
    #[error(
        "performance_schema is off on this server, and digests are in it; start the server with \
         performance_schema=ON and let the application run"
    )]
    Off,
    #[error(
        "performance_schema counts no digests, its consumer {consumer} is off; run UPDATE \
         performance_schema.setup_consumers SET ENABLED = 'YES' WHERE NAME = '{consumer}', and let \
         the application run"
    )]
    ConsumerOff { consumer: String },
    #[error(
        "this user may not read {what} ({error}); run GRANT SELECT ON performance_schema.* TO it, \
         and GRANT SELECT on the schema, or name another user"
    )]
    NoRights { what: String, error: SessionError },
    #[error(
        "no digest of schema {schema} is of a statement that a workload can run; let the \
         application run first, and mind that statements which the server prepares have no digests \
         before MySQL 9 ({executed} executions):\n{left_out}"
    )]
    NothingToRun { schema: String, executed: u64, left_out: String },
    #[error("reading {what} failed: {error}")]
    Failed { what: String, error: SessionError },
}

impl DigestError {
    /// What the shell is told.
    pub fn exit(&self) -> Exit {
        match self {
            DigestError::Failed { error: SessionError::Lost(_), .. } => Exit::ServerFailed,
            DigestError::Failed { .. } => Exit::Failed,
            DigestError::Off
            | DigestError::ConsumerOff { .. }
            | DigestError::NoRights { .. }
            | DigestError::NothingToRun { .. } => Exit::Environment,
        }
    }
}

/// A row of `events_statements_summary_by_digest`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Digest {
    text: String,
    calls: u64,
    rows_affected: u64,
    rows_sent: u64,
    rows_examined: u64,
    /// A statement as it came, where it is asked for.
    sample: Option<String>,
}

/// Makes a workload file of what the server has counted for the schema of this session.
///
/// # Errors
/// Any [`DigestError`].
pub async fn workload_from_digests<S: Session>(
    session: &mut S,
    options: DigestOptions,
) -> Result<DigestWorkload, DigestError> {
    let mut observed = read::observe(session, options.samples).await?;
    let mut kept: Vec<(usize, DigestStatement)> = Vec::new();
    let mut left_out: Vec<LeftOut> = Vec::new();
    for (place, digest) in observed.digests.iter().enumerate() {
        let ObservedDigests { schema, tables, digest_bytes, .. } = &observed;
        let statement = match statement_of(digest, schema, tables, *digest_bytes) {
            Ok(_) if kept.len() == options.top => Err("beyond --top".to_owned()),
            Ok(statement) => {
                let sql = statement.sql_with(|_| "?".to_owned());
                read::prepared(session, &sql).await?.map(|()| statement)
            }
            Err(why) => Err(why),
        };
        match statement {
            Ok(statement) => kept.push((place, statement)),
            Err(why) => left_out.push(LeftOut { place, why }),
        }
    }
    if kept.is_empty() {
        let left_out = write::left_out_lines(&observed, &left_out).join("\n");
        let ObservedDigests { schema, executed, .. } = observed;
        return Err(DigestError::NothingToRun { schema, executed, left_out });
    }
    let used: BTreeSet<usize> = kept.iter().flat_map(|(_, of)| of.tables.clone()).collect();
    for table in used {
        read::look_into(session, &mut observed.tables[table]).await?;
    }
    let text = DigestText { observed: &observed, kept: &kept, left_out: &left_out, options };
    Ok(DigestWorkload { text: text.written(), told: text.told() })
}
