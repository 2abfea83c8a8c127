//! A workload file from the digests of a server: the mix of its statements, with values drawn from
//! what its tables have, and tables like them. Values of rows stay where they are: of tables only
//! ranges of indexed integers, counts and lengths are taken.

mod digest;
mod read;
mod statement;
mod tables;
#[cfg(test)]
mod tests;
mod tokens;
mod values;
mod write;

pub use crate::digests::digest::{DigestError, DigestOptions};
use crate::digests::read::ObservedDigests;
use crate::digests::statement::{DigestStatement, statement_of};
use crate::digests::write::{DigestText, LeftOut};
use base::Session;
use std::collections::BTreeSet;

/// A workload file, and what is to be told beside it.
#[derive(Debug)]
pub struct DigestWorkload {
    pub text: String,
    pub told: Vec<String>,
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
