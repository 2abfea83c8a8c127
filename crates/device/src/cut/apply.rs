//! Makes an image of the files as the process left them.

use super::choice::{CutImage, KeptParts};
use super::decode::{Journal, JournalEntry};
use super::journal::{EntryKind, FileIdentity};
use std::ops::Range;

/// The files that an image is made of. A file that is not there has no bytes, and nothing happens
/// to it.
pub trait CutFiles {
    type Error;

    /// The file's length; `None` where it is not there.
    fn length(&mut self, file: FileIdentity) -> Result<Option<u64>, Self::Error>;
    /// What of these bytes there is.
    fn read(&mut self, file: FileIdentity, range: Range<u64>) -> Result<Vec<u8>, Self::Error>;
    fn write(&mut self, file: FileIdentity, offset: u64, bytes: &[u8]) -> Result<(), Self::Error>;
    fn set_length(&mut self, file: FileIdentity, length: u64) -> Result<(), Self::Error>;
    /// Gives the file this name, whichever it has, and also where it has none any more.
    fn put(&mut self, file: FileIdentity, name: &[u8]) -> Result<(), Self::Error>;
    /// Takes the file's name away.
    fn remove(&mut self, file: FileIdentity) -> Result<(), Self::Error>;
}

/// Turns files as a process left them into an image: from the newest change to the oldest of which
/// not all is kept, all are undone, with what they wrote set aside; then what is kept of them is
/// done again. Names are only taken back, because those that are lost are the last.
pub fn apply<F: CutFiles>(
    journal: &Journal,
    image: &CutImage,
    files: &mut F,
) -> Result<(), F::Error> {
    let begin = image.begin();
    let entries = journal.entries.iter().zip(&image.kept).skip(begin);
    let mut written = Vec::new();
    for (entry, kept) in entries.clone().rev() {
        written.push(undo(journal, entry, kept, files)?);
    }
    for ((entry, kept), written) in entries.zip(written.into_iter().rev()) {
        redo(entry, kept, &written, files)?;
    }
    Ok(())
}

/// Returns what a write had written.
fn undo<F: CutFiles>(
    journal: &Journal,
    entry: &JournalEntry,
    kept: &KeptParts,
    files: &mut F,
) -> Result<Vec<u8>, F::Error> {
    let file = entry.file;
    let is_kept = *kept == KeptParts::All;
    let [first, second] = match entry.kind {
        EntryKind::Create | EntryKind::Rename | EntryKind::Unlink => journal.names(entry),
        _ => [&[][..], &[]],
    };
    match entry.kind {
        EntryKind::Write => {
            let written = files.read(file, entry.offset..entry.end())?;
            if files.length(file)?.is_some_and(|length| length > entry.old_length) {
                files.set_length(file, entry.old_length)?;
            }
            files.write(file, entry.offset, journal.replaced(entry))?;
            return Ok(written);
        }
        EntryKind::Length => {
            files.set_length(file, entry.old_length)?;
            files.write(file, entry.other, journal.replaced(entry))?;
        }
        EntryKind::Create if !is_kept => files.remove(file)?,
        EntryKind::Unlink if !is_kept => files.put(file, first)?,
        EntryKind::Rename if !is_kept => {
            files.put(file, first)?;
            if entry.other != 0 {
                files.put(FileIdentity { inode: entry.other, ..file }, second)?;
            }
        }
        _ => {}
    }
    Ok(Vec::new())
}

fn redo<F: CutFiles>(
    entry: &JournalEntry,
    kept: &KeptParts,
    written: &[u8],
    files: &mut F,
) -> Result<(), F::Error> {
    let whole = entry.offset..entry.end();
    let (ranges, may_extend) = match (entry.kind, kept) {
        (EntryKind::Length, KeptParts::All) => return files.set_length(entry.file, entry.other),
        (EntryKind::Write, KeptParts::All) => (std::slice::from_ref(&whole), entry.extends()),
        (EntryKind::Write, KeptParts::Parts { ranges, may_extend }) => {
            (ranges.as_slice(), *may_extend && entry.extends())
        }
        _ => return Ok(()),
    };
    for range in ranges {
        let length = match may_extend {
            true => u64::MAX,
            false => files.length(entry.file)?.unwrap_or(0),
        };
        let from = (range.start - entry.offset) as usize;
        let to = (range.end.min(length).saturating_sub(entry.offset)) as usize;
        if let Some(bytes) = written.get(from..to.min(written.len())) {
            files.write(entry.file, range.start, bytes)?;
        }
    }
    Ok(())
}
