//! Is the host quiet? Looked at before each repeat, and waited for where a clone was just written
//! to a disk.

use crate::progress::Job;
use crate::target::subject::Subject;
use observe::quiet::{disks_are_quiet, look, note_on};
use store::{RepeatId, Results, StoreError};

/// Looks at disks that are still busy, the first one included; each takes 0.4 s.
const LOOKS_MAX: u32 = 25;

/// Looks for what else the host does before a repeat, stores it, and notes what may disturb. Where
/// files lie on a real disk, it first waits for up to 10 s until the disks are at rest: the clone
/// has just been written to one of them.
pub(crate) fn look_at_host(
    results: &Results,
    repeat: RepeatId,
    subject: &Subject,
    job: &Job<'_>,
) -> Result<(), StoreError> {
    let mut own: Vec<u32> = subject.each().filter_map(Subject::pid).collect();
    own.push(std::process::id());
    let looks = if subject.has_written_disks() { LOOKS_MAX } else { 1 };
    let mut host = None;
    for _ in 0..looks {
        match look(&own) {
            Ok(seen) => host = Some(seen),
            Err(error) => {
                job.note(&format!("whether the host was quiet is not known: {error}"));
                return Ok(());
            }
        }
        if host.as_ref().is_some_and(disks_are_quiet) {
            break;
        }
    }
    let Some(host) = host else {
        return Ok(());
    };
    results.put(repeat, &[host])?;
    job.notes(note_on(&host));
    Ok(())
}
