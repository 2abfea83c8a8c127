//! What must be there after a loss of power: what was flushed, or was on a device that keeps it.

use super::decode::{Journal, JournalEntry};
use super::journal::{EntryKind, FileIdentity};
use super::rules::PowerLoss;
use std::collections::HashMap;

/// A flush of a file, or the writing out of a part of it, that is over.
#[derive(Clone, Copy)]
struct EndedFlush {
    began: u64,
    over: u64,
}

/// Which flushes of a device made something stable: those that were over before an event, of which
/// the last began then.
struct DurableFlushes {
    began: u64,
    before: u64,
}

/// What is promised of each entry.
pub(super) struct Promises {
    /// For each entry: a write whose bytes are stable.
    pub(super) written: Vec<bool>,
    /// For each device: the last of its logged changes that is stable began then. Logs keep their
    /// order, so all before it are, too.
    pub(super) logged: Vec<u64>,
}

/// Flushes of one journal, in their order.
struct Flushes<'a> {
    journal: &'a Journal,
    devices: &'a [PowerLoss],
    /// Of each file, with the event at which the earliest was over of it and those behind it.
    of_file: HashMap<FileIdentity, Vec<EndedFlush>>,
    ranges: HashMap<FileIdentity, Vec<&'a JournalEntry>>,
    /// For each device.
    durable: Vec<DurableFlushes>,
}

impl Promises {
    pub(super) fn of(journal: &Journal, devices: &[PowerLoss]) -> Promises {
        let mut flushes = Flushes::of(journal, devices);
        let arrived: Vec<Option<u64>> =
            journal.entries.iter().map(|entry| flushes.arrived(entry)).collect();
        let filled: Vec<u64> = devices
            .iter()
            .enumerate()
            .map(|(device, rules)| filled_since(journal, &arrived, device, rules))
            .collect();
        flushes.find_durable(&filled);
        let entries = journal.entries.iter().zip(&arrived);
        let written: Vec<bool> =
            entries.map(|(entry, arrived)| flushes.is_stable(entry, *arrived, &filled)).collect();
        let logged = (0..devices.len()).map(|device| flushes.logged(device, &written)).collect();
        Promises { written, logged }
    }
}

impl<'a> Flushes<'a> {
    fn of(journal: &'a Journal, devices: &'a [PowerLoss]) -> Flushes<'a> {
        let mut of_file: HashMap<FileIdentity, Vec<EndedFlush>> = HashMap::new();
        let mut ranges: HashMap<FileIdentity, Vec<&JournalEntry>> = HashMap::new();
        for entry in &journal.entries {
            match (entry.kind, entry.over) {
                (EntryKind::Flush, Some(over)) => {
                    let ended = EndedFlush { began: entry.began, over };
                    of_file.entry(entry.file).or_default().push(ended);
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
        Flushes { journal, devices, of_file, ranges, durable: Vec::new() }
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

    /// Flushes make stable what they cover, unless they lie: then it is stable when as much as the
    /// cache holds has come to the device behind it.
    fn find_durable(&mut self, filled: &[u64]) {
        for (device, (rules, filled)) in self.devices.iter().zip(filled).enumerate() {
            let before = if rules.lies() { *filled } else { u64::MAX };
            let flushes = self.journal.entries.iter().filter(|entry| {
                entry.kind == EntryKind::Flush
                    && entry.is_on(device)
                    && entry.over.is_some_and(|over| over < before)
            });
            let began = flushes.map(|flush| flush.began).max().unwrap_or(0);
            self.durable.push(DurableFlushes { began, before });
        }
    }

    fn is_stable(&self, entry: &JournalEntry, arrived: Option<u64>, filled: &[u64]) -> bool {
        let (Some(arrived), Some(device)) = (arrived, entry.device) else {
            return false;
        };
        let (Some(rules), Some(durable)) = (self.devices.get(device), self.durable.get(device))
        else {
            return true;
        };
        let drained = filled.get(device).is_some_and(|since| arrived < *since);
        let own = entry.over.and_then(|over| self.own_flush(entry.file, over));
        let is_flushed =
            durable.began > arrived || own.is_some_and(|own| own.over < durable.before);
        let is_acknowledged = is_flushed || (entry.traits.through && (drained || !rules.lies()));
        // A longer file needs its length, which no cache of data has.
        is_acknowledged || (drained && !entry.extends())
    }

    fn logged(&self, device: usize, written: &[bool]) -> u64 {
        let durable = self.durable.get(device).map_or(0, |durable| durable.began);
        let known = self.journal.names_written.get(device).copied().unwrap_or(0);
        let entries = self.journal.entries.iter().zip(written);
        let stable = entries.filter(|(entry, written)| {
            entry.is_logged()
                && entry.device == Some(device)
                && (entry.over.is_some_and(|over| over < durable)
                    || (entry.traits.through && **written))
        });
        stable.map(|(entry, _)| entry.began).max().unwrap_or(0).max(known)
    }
}

/// When bytes came to a device and how many, the last first.
fn arrivals(
    journal: &Journal,
    arrived: &[Option<u64>],
    device: usize,
) -> impl Iterator<Item = (u64, u64)> + use<> {
    let writes = journal.entries.iter().zip(arrived);
    let mut arrivals: Vec<(u64, u64)> = writes
        .filter(|(entry, _)| entry.device == Some(device))
        .filter_map(|(entry, at)| Some(((*at)?, entry.length)))
        .collect();
    arrivals.sort_unstable_by(|a, b| b.cmp(a));
    arrivals.into_iter()
}

/// The event since which as much has come to a device as its cache holds: what it had before, it
/// has written. That is a promise of the cache's size, not of a flush.
fn filled_since(
    journal: &Journal,
    arrived: &[Option<u64>],
    device: usize,
    rules: &PowerLoss,
) -> u64 {
    let (mut bytes, mut since) = (0, u64::MAX);
    for (at, length) in arrivals(journal, arrived, device) {
        if bytes >= rules.volatile_bytes {
            break;
        }
        bytes += length;
        since = at;
    }
    if bytes >= rules.volatile_bytes { since } else { 0 }
}
