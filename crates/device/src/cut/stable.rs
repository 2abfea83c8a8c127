//! What must be there after a loss of power: what was flushed, or was on a device that keeps it.

use super::decode::{Journal, JournalEntry};
use super::journal::{EntryKind, FileIdentity};
use super::rules::PowerLoss;
use super::unwritten::blocks_of;
use std::collections::HashMap;
use std::ops::Range;

/// A flush of a file, or the writing out of a part of it, that is over.
#[derive(Clone, Copy)]
struct EndedFlush {
    began: u64,
    over: u64,
}

/// What is promised of an entry.
pub(super) struct EntryPromise {
    /// It is a write whose bytes are stable.
    pub(super) written: bool,
    /// It is a write that has come to its device, which may have it in its cache.
    pub(super) arrived: bool,
    /// What of it the file system logs is logged, for good.
    pub(super) logged: bool,
    /// When all that the file system logs of it had happened.
    pub(super) happened: Option<u64>,
}

/// Flushes of one journal, in their order.
struct Flushes<'a> {
    devices: &'a [PowerLoss],
    /// Of each file, with the event at which the earliest was over of it and those behind it.
    of_file: HashMap<FileIdentity, Vec<EndedFlush>>,
    ranges: HashMap<FileIdentity, Vec<&'a JournalEntry>>,
    /// For each device: when the last flush that is over and did not lie began.
    durable: Vec<u64>,
}

impl EntryPromise {
    /// For each entry of the journal.
    pub(super) fn of_each(journal: &Journal, devices: &[PowerLoss]) -> Vec<EntryPromise> {
        let flushes = Flushes::of(journal, devices);
        let entries = || journal.entries.iter();
        let arrived: Vec<Option<u64>> = entries().map(|entry| flushes.arrived(entry)).collect();
        let flushed: Vec<bool> = entries()
            .zip(&arrived)
            .map(|(entry, arrived)| flushes.is_flushed(entry, *arrived))
            .collect();
        let (happened, filled) = fills(journal, &arrived, &flushed);
        let promises = entries().enumerate().map(|(index, entry)| {
            let durable = flushes.durable.get(entry.device).copied().unwrap_or(0);
            let known = journal.names_written.get(entry.device).copied().unwrap_or(0);
            let (arrived, happened) = (arrived[index].is_some(), happened[index]);
            let is_durable = happened.is_some_and(|at| at < durable);
            let is_write = entry.kind == EntryKind::Write;
            EntryPromise {
                written: flushed[index] || (arrived && flushes.is_kept(entry)),
                arrived,
                logged: filled[index] || entry.began <= known || (!is_write && is_durable),
                happened,
            }
        });
        promises.collect()
    }
}

impl<'a> Flushes<'a> {
    fn of(journal: &'a Journal, devices: &'a [PowerLoss]) -> Flushes<'a> {
        let mut of_file: HashMap<FileIdentity, Vec<EndedFlush>> = HashMap::new();
        let mut ranges: HashMap<FileIdentity, Vec<&JournalEntry>> = HashMap::new();
        let mut durable = vec![0; devices.len()];
        for entry in &journal.entries {
            match (entry.kind, entry.over) {
                (EntryKind::Flush, Some(over)) => {
                    let ended = EndedFlush { began: entry.began, over };
                    of_file.entry(entry.file).or_default().push(ended);
                    let keeps = devices.get(entry.device).is_some_and(|rules| !rules.lies());
                    if let Some(durable) = durable.get_mut(entry.device).filter(|_| keeps) {
                        *durable = entry.began.max(*durable);
                    }
                }
                (EntryKind::SyncRange, Some(_)) => {
                    ranges.entry(entry.file).or_default().push(entry);
                }
                _ => {}
            }
        }
        for flushes in of_file.values_mut() {
            let mut earliest = u64::MAX;
            for flush in flushes.iter_mut().rev() {
                earliest = earliest.min(flush.over);
                flush.over = earliest;
            }
        }
        Flushes { devices, of_file, ranges, durable }
    }

    /// When the device had all of a write: at its end where it went past the page cache, else when
    /// its file was flushed or written out.
    fn arrived(&self, entry: &JournalEntry) -> Option<u64> {
        let over = entry.over.filter(|_| entry.kind == EntryKind::Write)?;
        if entry.traits.direct || entry.traits.through {
            return Some(over);
        }
        let flushed = self.own_flush(entry.file, over).map(|flush| flush.over);
        let ranges = self.ranges.get(&entry.file).into_iter().flatten();
        let written_out = ranges
            .filter(|range| range.began > over)
            .filter(|range| range.offset <= entry.offset && range.end() >= entry.end())
            .filter_map(|range| range.over);
        flushed.into_iter().chain(written_out).min()
    }

    /// The first flush of a file that began after that.
    fn own_flush(&self, file: FileIdentity, after: u64) -> Option<EndedFlush> {
        let flushes = self.of_file.get(&file)?;
        flushes.get(flushes.partition_point(|flush| flush.began < after)).copied()
    }

    /// Whether a flush, of its file or of its device, has covered a write.
    fn is_flushed(&self, entry: &JournalEntry, arrived: Option<u64>) -> bool {
        let Some(arrived) = arrived else { return false };
        let lies = self.devices.get(entry.device).is_some_and(PowerLoss::lies);
        let durable = self.durable.get(entry.device).copied().unwrap_or(u64::MAX);
        let own = entry.over.and_then(|over| self.own_flush(entry.file, over));
        !lies && (durable > arrived || entry.traits.through || own.is_some())
    }

    /// Whether its device keeps a write that it has. A longer file needs its length, and filled
    /// space its log, which no device has before the file system gives it.
    fn is_kept(&self, entry: &JournalEntry) -> bool {
        let survives = self.devices.get(entry.device).is_some_and(|d| d.volatile_bytes == 0);
        survives && !entry.extends() && !entry.fills()
    }
}

/// Unwritten space that an entry fills.
struct FilledSpace {
    entry: usize,
    blocks: Range<u64>,
}

/// For each entry: when all that it changed had happened, and whether that was flushed. Space is
/// filled when the first of the writes to it has come to the device, whichever began first.
fn fills(
    journal: &Journal,
    arrived: &[Option<u64>],
    flushed: &[bool],
) -> (Vec<Option<u64>>, Vec<bool>) {
    let is_write = |entry: &JournalEntry| entry.kind == EntryKind::Write;
    let entries = || journal.entries.iter().zip(arrived);
    let at =
        |(entry, at): (&JournalEntry, &Option<u64>)| if is_write(entry) { *at } else { entry.over };
    let mut happened: Vec<Option<u64>> = entries().map(at).collect();
    let mut filled = flushed.to_vec();
    let mut spaces: HashMap<FileIdentity, Vec<FilledSpace>> = HashMap::new();
    let writes = entries().zip(flushed).enumerate();
    for (index, ((entry, arrived), flushed)) in writes.filter(|(_, ((e, _), _))| is_write(e)) {
        let blocks = blocks_of(&(entry.offset..entry.end()));
        for space in spaces.get(&entry.file).into_iter().flatten() {
            if space.blocks.start < blocks.end && blocks.start < space.blocks.end {
                happened[space.entry] = happened[space.entry].into_iter().chain(*arrived).min();
                filled[space.entry] |= *flushed;
            }
        }
        if entry.fills() && !entry.extends() {
            let space = FilledSpace { entry: index, blocks: blocks_of(&entry.filled) };
            spaces.entry(entry.file).or_default().push(space);
        }
    }
    (happened, filled)
}
