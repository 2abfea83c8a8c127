//! A workload file from what a server has counted.

use crate::error::{LabResult, unfit};
use crate::progress::Job;
use crate::target::sessions::with_session_until;
use crate::target::subject::Subject;
use oltp::{DigestOptions, DigestWorkload, workload_from_digests};

/// Makes a workload file of the digests of the subject's schema.
///
/// # Errors
/// Where the target names no schema, and any [`oltp::DigestError`].
pub fn workload_of_digests(
    subject: &Subject,
    options: DigestOptions,
    job: &Job<'_>,
) -> LabResult<DigestWorkload> {
    if subject.connect.schema.is_none() {
        return Err(unfit(
            "the target names no schema, and digests are taken of one; add it: \
             mysql://user@host:3306/shop",
        ));
    }
    with_session_until(&subject.connector()?, job.stop, async |session| {
        Ok(workload_from_digests(session, options).await?)
    })
}
