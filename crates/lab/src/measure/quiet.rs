//! Is the host quiet? Looked at before each repeat, and waited for where a clone was just written
//! to a disk.

use crate::measure::measurement::Measurement;
use crate::target::subject::Subject;
use observe::quiet::{disks_are_quiet, look, note_on};
use store::StoreError;

/// Looks at disks that are still busy, the first one included; each takes 0.4 s.
const LOOKS_MAX: u32 = 25;

impl Measurement<'_, '_> {
    /// Looks for what else the host does before a repeat, stores it, and notes what may disturb.
    /// Where files lie on a real disk, it first waits for up to 10 s until the disks are at rest:
    /// the clone has just been written to one of them.
    pub(crate) fn look_at_host(&self) -> Result<(), StoreError> {
        let mut own: Vec<u32> = self.subject.each().filter_map(Subject::pid).collect();
        own.push(std::process::id());
        let mut looks = if self.subject.has_written_disks() { LOOKS_MAX } else { 1 };
        let host = loop {
            looks -= 1;
            match look(&own) {
                Ok(host) if looks == 0 || disks_are_quiet(&host) => break host,
                Ok(_) => {}
                Err(error) => {
                    self.job.note(&format!("whether the host was quiet is not known: {error}"));
                    return Ok(());
                }
            }
        };
        self.results.put(self.repeat, &[host])?;
        self.job.notes(note_on(&host));
        Ok(())
    }
}
