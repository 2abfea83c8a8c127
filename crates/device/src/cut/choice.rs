//! Which of the images that a loss of power may leave: chosen by a seed.
//!
//! What is not promised may be there or not. Four things bind the choice. A device writes each
//! aligned atomic unit of a write as a whole or not at all. The page cache writes a page as it then
//! is, so who finds one of its writes there finds the earlier ones of that unit, too. A device has
//! lost no more than its cache holds. And what a file system has not logged is lost with all that
//! builds on it (`log`).

use super::decode::{Journal, JournalEntry};
use super::journal::{EntryKind, FileIdentity};
use super::log::{LostEntry, LostLog};
use super::rules::{FileSystem, PowerLoss};
use super::stable::EntryPromise;
use super::unwritten::{BLOCK_BYTES, blocks_of, common, without};
use crate::model::random::ModelRandom;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// What is kept of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum KeptParts {
    All,
    /// These ranges of a write; of other changes, nothing. Those of a write that may make its file
    /// longer may do so.
    Parts {
        ranges: Vec<Range<u64>>,
        may_extend: bool,
    },
}

impl KeptParts {
    fn none() -> KeptParts {
        KeptParts::Parts { ranges: Vec::new(), may_extend: false }
    }
}

/// One image that a loss of power may leave.
#[derive(Clone, Debug)]
pub struct CutImage {
    /// For each entry of the journal.
    pub(super) kept: Vec<KeptParts>,
    pub counts: CutCounts,
}

/// What a loss of power took, in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CutCounts {
    /// Writes that were not stable, and their bytes.
    pub unstable_writes: u64,
    pub unstable_bytes: u64,
    /// Of these: of which nothing is kept, and of which a part is.
    pub lost_writes: u64,
    pub torn_writes: u64,
    /// Changes of names and lengths that are lost.
    pub lost_names: u64,
}

/// How an image is chosen. All of them are legal; what goes wrong under one may not under another.
#[derive(Clone, Copy, Debug)]
enum CutStyle {
    /// What was promised and nothing else.
    Least,
    /// Everything that was written.
    Most,
    /// Writes as wholes, this many of 256; one in eight is torn.
    Writes(u64),
    /// Each atomic unit by itself.
    Units,
}

impl CutStyle {
    fn draw(random: &mut ModelRandom) -> CutStyle {
        match random.bits() >> 61 {
            0 => CutStyle::Least,
            1 => CutStyle::Most,
            2..=4 => CutStyle::Writes(random.bits() >> 56),
            _ => CutStyle::Units,
        }
    }
}

/// A part of a write that is kept or lost as a whole.
struct WriteUnit {
    range: Range<u64>,
    /// What it has in common with other writes of the page cache: sectors or pages, by number.
    shared: Range<u64>,
}

impl CutImage {
    /// The image of a seed. `devices` are those that the journal's entries name, in their order;
    /// the files of all of them are on file systems of this kind.
    pub fn choose(
        journal: &Journal,
        devices: &[PowerLoss],
        file_system: FileSystem,
        seed: u64,
    ) -> CutImage {
        let mut random = ModelRandom::new(seed);
        let style = CutStyle::draw(&mut random);
        let promises = EntryPromise::of_each(journal, devices);
        let chance = match style {
            CutStyle::Least => Chance::NEVER,
            CutStyle::Most => Chance::ALWAYS,
            CutStyle::Writes(_) | CutStyle::Units => Chance::EVEN,
        };
        let logs: Vec<LostLog> = (0..devices.len())
            .map(|device| LostLog::draw(journal, &promises, device, chance, &mut random))
            .collect();
        let lost = LostEntry::of_each(journal, &promises, &logs);
        let left = devices.iter().map(|rules| rules.volatile_bytes).collect();
        let mut chooser =
            Chooser { journal, devices, file_system, promises, lost, left, style, random };
        chooser.choose()
    }

    /// The first entry of which not all is kept: before it, nothing is to be done.
    pub(super) fn begin(&self) -> usize {
        self.kept.iter().take_while(|kept| **kept == KeptParts::All).count()
    }
}

struct Chooser<'a> {
    journal: &'a Journal,
    devices: &'a [PowerLoss],
    file_system: FileSystem,
    /// For each entry of the journal.
    promises: Vec<EntryPromise>,
    /// For each entry of the journal.
    lost: Vec<LostEntry>,
    /// For each device: bytes of its cache that may still be lost. What has come to it and is lost
    /// was in its cache; which of it a cache keeps longest nobody promises.
    left: Vec<u64>,
    style: CutStyle,
    random: ModelRandom,
}

/// What later changes demand of earlier ones.
#[derive(Default)]
struct LaterChanges {
    /// Sectors or pages that the page cache wrote.
    shared: HashSet<(FileIdentity, u64)>,
    /// Files that have replaced others, since that event.
    replacing: HashMap<FileIdentity, u64>,
}

impl Chooser<'_> {
    fn choose(&mut self) -> CutImage {
        let mut later = LaterChanges::default();
        let mut kept: Vec<KeptParts> = Vec::with_capacity(self.journal.entries.len());
        // The page cache's later writes decide on its earlier ones.
        for (index, entry) in self.journal.entries.iter().enumerate().rev() {
            kept.push(match entry.kind {
                EntryKind::Write => self.write(index, entry, &mut later),
                _ if self.lost[index].is_lost => KeptParts::none(),
                _ => KeptParts::All,
            });
            if self.brings_data(index, entry) {
                later.replacing.insert(entry.file, entry.began);
            }
        }
        kept.reverse();
        let counts = self.count(&kept);
        CutImage { kept, counts }
    }

    /// Whether it is a rename that is there, and with it the data of its file.
    fn brings_data(&self, index: usize, entry: &JournalEntry) -> bool {
        entry.kind == EntryKind::Rename
            && entry.other != 0
            && self.file_system == FileSystem::Ext4
            && !self.lost[index].is_lost
            && self.devices.get(entry.device).is_some_and(|rules| !rules.lies())
    }

    fn write(&mut self, index: usize, entry: &JournalEntry, later: &mut LaterChanges) -> KeptParts {
        let LostEntry { is_lost, end, unread } = self.lost[index].clone();
        let is_stable = self.promises[index].written;
        let is_logged = entry.is_logged() && !is_lost;
        let replaced = later.replacing.get(&entry.file);
        let is_brought = replaced.is_some_and(|at| entry.over.is_some_and(|over| over < *at));
        let chance = match self.style {
            _ if is_stable || is_logged || is_brought => Chance::ALWAYS,
            CutStyle::Least => Chance::NEVER,
            CutStyle::Most => Chance::ALWAYS,
            CutStyle::Units => Chance::EVEN,
            CutStyle::Writes(share) => match (self.random.bits() >> 61, self.random.bits() >> 56) {
                (0, _) => Chance::EVEN,
                (_, drawn) if drawn < share => Chance::ALWAYS,
                _ => Chance::NEVER,
            },
        };
        let has_arrived = self.promises[index].arrived;
        let mut ranges: Vec<Range<u64>> = Vec::new();
        for unit in self.units(entry, end).into_iter().rev() {
            let keys = unit.shared.map(|number| (entry.file, number));
            let is_kept = chance.falls(&mut self.random)
                || keys.clone().any(|key| later.shared.contains(&key))
                || (has_arrived && !self.fits(entry.device, outside(&unit.range, &unread)));
            if !is_kept {
                continue;
            }
            later.shared.extend(keys);
            match ranges.last_mut() {
                Some(last) if last.start == unit.range.end => last.start = unit.range.start,
                _ => ranges.push(unit.range),
            }
        }
        ranges.reverse();
        for unread in &unread {
            ranges = ranges.iter().flat_map(|range| without(range, unread)).collect();
        }
        let may_extend = end >= entry.end();
        let is_all = ranges.first().is_some_and(|range| *range == (entry.offset..entry.end()));
        match is_all && may_extend {
            true => KeptParts::All,
            false => KeptParts::Parts { ranges, may_extend },
        }
    }

    /// Takes so many bytes from what may be lost of a device's cache, if there is as much.
    fn fits(&mut self, device: usize, bytes: u64) -> bool {
        let Some(left) = self.left.get_mut(device) else { return false };
        let rest = left.checked_sub(bytes);
        *left = rest.unwrap_or(*left);
        rest.is_some()
    }

    /// What of a write is kept or lost as a whole, up to where its file may end.
    fn units(&self, entry: &JournalEntry, end: u64) -> Vec<WriteUnit> {
        let rules = self.devices.get(entry.device);
        let atomic = rules.map_or(BLOCK_BYTES, |rules| rules.atomic_write_bytes.max(1));
        let sector = atomic.min(BLOCK_BYTES);
        let end = entry.end().min(end);
        let filled = blocks_of(&entry.filled);
        let mut units = Vec::new();
        let mut from = entry.offset;
        while from < end {
            let block_end = (from / BLOCK_BYTES + 1) * BLOCK_BYTES;
            // A length is logged when all that it covers of a block is there, and so is a block
            // that is filled.
            let is_new = block_end.min(end) > entry.old_length || filled.contains(&from);
            let unit = match (entry.traits.direct, is_new) {
                (true, _) => atomic,
                (false, true) => BLOCK_BYTES,
                (false, false) => sector,
            };
            let to = ((from / unit + 1) * unit).min(end);
            let begin = from / unit * unit;
            let shared = match entry.traits.direct {
                true => 0..0,
                false => begin / sector..(begin + unit) / sector,
            };
            units.push(WriteUnit { range: from..to, shared });
            from = to;
        }
        units
    }

    fn count(&self, kept: &[KeptParts]) -> CutCounts {
        let mut counts = CutCounts::default();
        let entries = self.journal.entries.iter().zip(kept).zip(&self.promises);
        for ((entry, kept), promise) in entries {
            let is_write = entry.kind == EntryKind::Write;
            if is_write && (!promise.written || *kept != KeptParts::All) {
                counts.unstable_writes += 1;
                counts.unstable_bytes += entry.length;
            }
            match kept {
                KeptParts::All => {}
                KeptParts::Parts { .. } if !is_write => counts.lost_names += 1,
                KeptParts::Parts { ranges, .. } if ranges.is_empty() => counts.lost_writes += 1,
                KeptParts::Parts { .. } => counts.torn_writes += 1,
            }
        }
        counts
    }
}

/// How many of 256 parts are kept.
#[derive(Clone, Copy)]
pub(super) struct Chance(u64);

impl Chance {
    const NEVER: Chance = Chance(0);
    const EVEN: Chance = Chance(128);
    const ALWAYS: Chance = Chance(256);

    pub(super) fn falls(self, random: &mut ModelRandom) -> bool {
        random.bits() >> 56 < self.0
    }

    /// How many of so many are kept, of which the last are lost.
    pub(super) fn of(self, count: usize, random: &mut ModelRandom) -> usize {
        match self.0 {
            0 => 0,
            256 => count,
            _ => {
                let product = u128::from(random.bits()) * (count as u128 + 1);
                (product >> 64) as usize
            }
        }
    }
}

/// How much of a range is outside of others, of which no two overlap.
fn outside(range: &Range<u64>, others: &[Range<u64>]) -> u64 {
    let inside = others.iter().map(|other| common(range, other));
    range.end - range.start - inside.map(|part| part.end.saturating_sub(part.start)).sum::<u64>()
}
