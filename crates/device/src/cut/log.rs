//! What a file system had not logged when the power went, and what is lost with it.
//!
//! Names, lengths and the filling of unwritten space are logged in the order in which they happen.
//! A write fills space when it is over, so that of two that are under way at once, either may be
//! the one that is lost.

use super::choice::Chance;
use super::decode::{Journal, JournalEntry};
use super::journal::{EntryKind, FileIdentity};
use super::stable::EntryPromise;
use super::unwritten::{blocks_behind, blocks_of, common, without};
use crate::model::random::ModelRandom;
use std::collections::HashMap;
use std::ops::Range;

/// What the log of one device has lost.
pub(super) struct LostLog {
    /// All that began from this event on.
    first: u64,
    /// Entries before it: writes that happened behind all that is logged.
    writes: Vec<usize>,
    /// What began from here on was logged behind something that is lost.
    late: u64,
}

impl LostLog {
    /// Chooses what is lost of the changes that need not be there; by `chance` they are kept.
    pub(super) fn draw(
        journal: &Journal,
        promises: &[EntryPromise],
        device: usize,
        chance: Chance,
        random: &mut ModelRandom,
    ) -> LostLog {
        let entries = journal.entries.iter().enumerate();
        let of_device: Vec<(usize, &JournalEntry)> =
            entries.filter(|(_, entry)| entry.is_logged() && entry.device == device).collect();
        let is_promised = |index: usize| promises[index].logged;
        let promised = of_device.iter().rposition(|(index, _)| is_promised(*index));
        let begin = promised.map_or(0, |at| at + 1);
        let kept = begin + chance.of(of_device.len() - begin, random);
        let first = of_device.get(kept).map_or(u64::MAX, |(_, entry)| entry.began);
        let before = of_device.get(..kept).unwrap_or_default();
        let last = before.last().map_or(0, |(_, entry)| entry.began);
        let happened = |index: usize| promises[index].happened;
        let is_filling = |entry: &JournalEntry| entry.kind == EntryKind::Write && !entry.extends();
        let may_be_lost = |(index, entry): &&(usize, &JournalEntry)| {
            is_filling(entry) && !is_promised(*index) && happened(*index).is_none_or(|at| at > last)
        };
        let free = before.iter().filter(may_be_lost).map(|(index, _)| *index);
        let writes: Vec<usize> = free.filter(|_| !chance.falls(random)).collect();
        // What began while space was being filled need not be behind that.
        let behind = of_device.iter().skip(kept).filter_map(|(index, entry)| {
            if is_filling(entry) { happened(*index) } else { Some(entry.began) }
        });
        let late = writes.iter().filter_map(|index| happened(*index)).chain(behind).min();
        LostLog { first, late: late.unwrap_or(u64::MAX), writes }
    }
}

/// What is lost of an entry with what was not logged.
#[derive(Clone)]
pub(super) struct LostEntry {
    /// The log has lost the entry itself.
    pub(super) is_lost: bool,
    /// Where its file ends at most, because what made it longer is lost; what was written behind
    /// that is lost with it.
    pub(super) end: u64,
    /// Blocks that read as zeros whatever was written to them.
    pub(super) unread: Vec<Range<u64>>,
}

/// What is lost of a file so far.
struct FileLoss {
    end: u64,
    unread: Vec<Range<u64>>,
}

impl LostEntry {
    /// For each entry of the journal. `logs` are those of the devices, in their order.
    pub(super) fn of_each(
        journal: &Journal,
        promises: &[EntryPromise],
        logs: &[LostLog],
    ) -> Vec<LostEntry> {
        let mut files: HashMap<FileIdentity, FileLoss> = HashMap::new();
        let entries = journal.entries.iter().zip(promises).enumerate();
        let lost = entries.map(|(index, (entry, promise))| {
            let new = || FileLoss { end: u64::MAX, unread: Vec::new() };
            let file = files.entry(entry.file).or_insert_with(new);
            let log = logs.get(entry.device);
            let is_lost = entry.is_logged()
                && log.is_some_and(|log| entry.began >= log.first || log.writes.contains(&index));
            // What the page cache has is logged when it is written, which is later still.
            let is_late = log.is_some_and(|log| entry.began >= log.late);
            let is_unfilled = is_lost || (is_late && !promise.logged && !entry.traits.direct);
            file.add(entry, (is_lost, is_late && !promise.written, is_unfilled));
            LostEntry { is_lost, end: file.end, unread: file.unread_of(entry) }
        });
        lost.collect()
    }
}

impl FileLoss {
    fn add(&mut self, entry: &JournalEntry, (is_lost, is_late, is_unfilled): (bool, bool, bool)) {
        let end = match entry.kind {
            EntryKind::Create if is_lost => 0,
            EntryKind::Length if is_lost => entry.old_length.min(entry.other),
            EntryKind::Write if is_late && entry.extends() => entry.old_length,
            _ => u64::MAX,
        };
        self.end = self.end.min(end);
        match entry.kind {
            EntryKind::Length => self.read(&(blocks_behind(entry.other)..u64::MAX)),
            EntryKind::Write if entry.fills() => {
                let filled = blocks_of(&entry.filled);
                self.read(&filled);
                if is_unfilled {
                    self.unread.push(filled);
                }
            }
            _ => {}
        }
    }

    /// What is in these blocks is none of what is lost.
    fn read(&mut self, blocks: &Range<u64>) {
        let rest = |unread| without(unread, blocks);
        self.unread = self.unread.iter().flat_map(rest).collect();
    }

    fn unread_of(&self, entry: &JournalEntry) -> Vec<Range<u64>> {
        if entry.kind != EntryKind::Write {
            return Vec::new();
        }
        let parts = self.unread.iter().map(|part| common(part, &(entry.offset..entry.end())));
        parts.filter(|part| !part.is_empty()).collect()
    }
}
