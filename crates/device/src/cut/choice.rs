//! Which of the images that a loss of power may leave: chosen by a seed.
//!
//! What is not promised may be there or not. Three things bind the choice. A device writes each
//! aligned atomic unit of a write as a whole or not at all. The page cache writes a page as it then
//! is, so who finds one of its writes there finds the earlier ones of that unit, too. And a file
//! system logs names and lengths in their order, so that those which are lost are the last.

use super::decode::{Journal, JournalEntry};
use super::journal::{EntryKind, FileIdentity};
use super::rules::PowerLoss;
use super::stable::Promises;
use crate::model::random::ModelRandom;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// A page of the page cache, and a block of the file system.
const PAGE_BYTES: u64 = 4096;

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
    /// The image of a seed. `devices` are those that the journal's entries name, in their order.
    pub fn choose(journal: &Journal, devices: &[PowerLoss], seed: u64) -> CutImage {
        let mut random = ModelRandom::new(seed);
        let style = CutStyle::draw(&mut random);
        let promises = Promises::of(journal, devices);
        let first_lost: Vec<u64> = (0..devices.len())
            .map(|device| {
                let kept = promises.logged.get(device).copied().unwrap_or(0);
                first_lost(journal, device, kept, style, &mut random)
            })
            .collect();
        let mut chooser = Chooser { journal, devices, promises, first_lost, style, random };
        chooser.choose()
    }

    /// The first entry of which not all is kept: before it, nothing is to be done.
    pub(super) fn begin(&self) -> usize {
        self.kept.iter().take_while(|kept| **kept == KeptParts::All).count()
    }
}

/// The event at which the first logged change of a device began that is lost; those up to `kept`
/// are not.
fn first_lost(
    journal: &Journal,
    device: usize,
    kept: u64,
    style: CutStyle,
    random: &mut ModelRandom,
) -> u64 {
    let of_device = |entry: &&JournalEntry| {
        entry.is_logged() && entry.device == Some(device) && entry.began > kept
    };
    let unsure: Vec<u64> =
        journal.entries.iter().filter(of_device).map(|entry| entry.began).collect();
    let at = match style {
        CutStyle::Least => 0,
        CutStyle::Most => unsure.len(),
        CutStyle::Writes(_) | CutStyle::Units => below(random, unsure.len() + 1),
    };
    unsure.get(at).copied().unwrap_or(u64::MAX)
}

/// A number below that.
fn below(random: &mut ModelRandom, end: usize) -> usize {
    let product = u128::from(random.bits()) * end as u128;
    (product >> 64) as usize
}

struct Chooser<'a> {
    journal: &'a Journal,
    devices: &'a [PowerLoss],
    promises: Promises,
    first_lost: Vec<u64>,
    style: CutStyle,
    random: ModelRandom,
}

impl Chooser<'_> {
    fn choose(&mut self) -> CutImage {
        let ends = self.ends();
        let mut shared = HashSet::new();
        let mut kept: Vec<KeptParts> = Vec::with_capacity(self.journal.entries.len());
        let entries = self.journal.entries.iter().zip(&ends).enumerate();
        // The page cache's later writes decide on its earlier ones.
        for (index, (entry, end)) in entries.rev() {
            kept.push(match entry.kind {
                EntryKind::Write => self.write(index, entry, *end, &mut shared),
                _ if self.is_lost(entry) => KeptParts::none(),
                _ => KeptParts::All,
            });
        }
        kept.reverse();
        let counts = self.count(&kept);
        CutImage { kept, counts }
    }

    /// Whether a change is one that the log has lost.
    fn is_lost(&self, entry: &JournalEntry) -> bool {
        let first_lost = entry.device.and_then(|device| self.first_lost.get(device));
        entry.is_logged() && first_lost.is_some_and(|first| entry.began >= *first)
    }

    /// For each entry: where its file ends at most, because what made it longer is lost; what was
    /// written behind that is lost with it.
    fn ends(&self) -> Vec<u64> {
        let mut ends: HashMap<FileIdentity, u64> = HashMap::new();
        let entries = self.journal.entries.iter().zip(&self.promises.written);
        let end = |(entry, written): (&JournalEntry, &bool)| {
            let first_lost = entry.device.and_then(|device| self.first_lost.get(device));
            let is_late = first_lost.is_some_and(|first| entry.began >= *first);
            let end = match entry.kind {
                EntryKind::Create if is_late => Some(0),
                EntryKind::Length if is_late => Some(entry.old_length.min(entry.other)),
                // Its length is logged when it is written, which is later still.
                EntryKind::Write if is_late && entry.extends() && !written => {
                    Some(entry.old_length)
                }
                _ => None,
            };
            let known = ends.entry(entry.file).or_insert(u64::MAX);
            *known = (*known).min(end.unwrap_or(u64::MAX));
            *known
        };
        entries.map(end).collect()
    }

    fn write(
        &mut self,
        index: usize,
        entry: &JournalEntry,
        end: u64,
        shared: &mut HashSet<(FileIdentity, u64)>,
    ) -> KeptParts {
        let is_stable = self.promises.written.get(index).copied().unwrap_or(true);
        let is_logged = entry.is_logged() && !self.is_lost(entry);
        let chance = match self.style {
            _ if is_stable || is_logged => Chance::ALWAYS,
            CutStyle::Least => Chance::NEVER,
            CutStyle::Most => Chance::ALWAYS,
            CutStyle::Units => Chance::EVEN,
            CutStyle::Writes(share) => match (self.random.bits() >> 61, self.random.bits() >> 56) {
                (0, _) => Chance::EVEN,
                (_, drawn) if drawn < share => Chance::ALWAYS,
                _ => Chance::NEVER,
            },
        };
        let mut ranges: Vec<Range<u64>> = Vec::new();
        for unit in self.units(entry, end).into_iter().rev() {
            let keys = unit.shared.map(|number| (entry.file, number));
            let is_kept =
                chance.falls(&mut self.random) || keys.clone().any(|key| shared.contains(&key));
            if !is_kept {
                continue;
            }
            shared.extend(keys);
            match ranges.last_mut() {
                Some(last) if last.start == unit.range.end => last.start = unit.range.start,
                _ => ranges.push(unit.range),
            }
        }
        ranges.reverse();
        let may_extend = end >= entry.end();
        let is_all = ranges.first().is_some_and(|range| *range == (entry.offset..entry.end()));
        match is_all && may_extend {
            true => KeptParts::All,
            false => KeptParts::Parts { ranges, may_extend },
        }
    }

    /// What of a write is kept or lost as a whole, up to where its file may end.
    fn units(&self, entry: &JournalEntry, end: u64) -> Vec<WriteUnit> {
        let rules = entry.device.and_then(|device| self.devices.get(device));
        let atomic = rules.map_or(PAGE_BYTES, |rules| rules.atomic_write_bytes.max(1));
        let sector = atomic.min(PAGE_BYTES);
        let end = entry.end().min(end);
        let mut units = Vec::new();
        let mut from = entry.offset;
        while from < end {
            let page_end = (from / PAGE_BYTES + 1) * PAGE_BYTES;
            let is_longer = page_end.min(end) > entry.old_length;
            // A length is logged when all that it covers of a block is there.
            let unit = match (entry.traits.direct, is_longer) {
                (true, _) => atomic,
                (false, true) => PAGE_BYTES,
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
        let entries = self.journal.entries.iter().zip(kept).zip(&self.promises.written);
        for ((entry, kept), written) in entries {
            let is_write = entry.kind == EntryKind::Write;
            if is_write && !written {
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
struct Chance(u64);

impl Chance {
    const NEVER: Chance = Chance(0);
    const EVEN: Chance = Chance(128);
    const ALWAYS: Chance = Chance(256);

    fn falls(self, random: &mut ModelRandom) -> bool {
        random.bits() >> 56 < self.0
    }
}
