//! The legal images by their definitions, without regard to time: every subset of the parts of
//! writes is tried, and what is legal is made by doing what was kept, from the begin on.
//!
//! Each rule has a switch. The tests turn every one of them off, and must then see a difference.

use crate::history::{Act, Contents, Done, Killed, MemoryFiles, NAMES, device_of, identity};
use device::cut::{CutFiles, FileIdentity, PowerLoss};
use std::collections::BTreeSet;
use std::ops::Range;

/// A rule that can be turned off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// A flush promises what was over when it began, not when it ended.
    FlushesCoverWhatWasOver,
    /// A flush that is not over promises nothing.
    FlushesPromiseAtTheirEnd,
    /// A flush promises nothing of what the page cache has of other files.
    PageCacheIsFlushedByFile,
    /// A flush empties the device's cache, whosever writes are in it.
    FlushesEmptyTheDevice,
    /// What is over and past the page cache is stable where the cache survives.
    ProtectedCachesSurvive,
    /// A write that is not over may be lost.
    UnderWayIsUnstable,
    /// A write is not torn inside of an atomic unit.
    UnitsAreAtomic,
    /// A write may be torn between them.
    WritesAreTorn,
    /// What the page cache writes has all earlier writes of a unit.
    PagesAreCoherent,
    /// Names and lengths are lost from the last on.
    LogsKeepTheirOrder,
    /// A file made longer through the page cache is so only behind all that was logged before.
    LengthsComeLater,
    /// Of a file made longer, blocks come as wholes.
    BlocksComeWithTheirLength,
    /// `O_DSYNC`
    WriteThroughIsStable,
    /// Writing out brings data to the device, and is no flush.
    WriteOutIsNoFlush,
    WriteOutArrives,
    /// A flush that lies promises nothing.
    LiesPromiseNothing,
    /// What a cache cannot hold it has written.
    CachesHaveASize,
}

impl Rule {
    pub const ALL: [Rule; 17] = [
        Rule::FlushesCoverWhatWasOver,
        Rule::FlushesPromiseAtTheirEnd,
        Rule::PageCacheIsFlushedByFile,
        Rule::FlushesEmptyTheDevice,
        Rule::ProtectedCachesSurvive,
        Rule::UnderWayIsUnstable,
        Rule::UnitsAreAtomic,
        Rule::WritesAreTorn,
        Rule::PagesAreCoherent,
        Rule::LogsKeepTheirOrder,
        Rule::LengthsComeLater,
        Rule::BlocksComeWithTheirLength,
        Rule::WriteThroughIsStable,
        Rule::WriteOutIsNoFlush,
        Rule::WriteOutArrives,
        Rule::LiesPromiseNothing,
        Rule::CachesHaveASize,
    ];
}

/// A part of a write that is there or not.
#[derive(Clone, Debug)]
struct Atom {
    act: usize,
    range: Range<u64>,
    /// The bytes that the page cache writes with it; empty: past the page cache.
    with: Range<u64>,
}

pub struct Reference<'a> {
    done: &'a [Done],
    rules: PowerLoss,
    off: Option<Rule>,
}

impl<'a> Reference<'a> {
    pub fn new(killed: &'a Killed, rules: PowerLoss, off: Option<Rule>) -> Reference<'a> {
        Reference { done: &killed.done, rules, off }
    }

    fn on(&self, rule: Rule) -> bool {
        self.off != Some(rule)
    }

    /// All legal images, or `None` where there are too many subsets to try.
    pub fn images(&self, bits_max: usize) -> Option<BTreeSet<Contents>> {
        let logged: Vec<usize> = (0..self.done.len()).filter(|act| self.is_logged(*act)).collect();
        let mut images = BTreeSet::new();
        for kept in 0..1_u32 << logged.len() {
            let is_kept = |bit: usize| kept >> bit & 1 == 1;
            let lost = logged.iter().enumerate().filter(|(bit, _)| !is_kept(*bit));
            let lost: Vec<usize> = lost.map(|(_, act)| *act).collect();
            if !self.is_legal_log(&logged, &lost) {
                continue;
            }
            let atoms = self.atoms(&lost);
            let must: Vec<bool> = (0..self.done.len())
                .map(|act| self.is_stable(act) || (logged.contains(&act) && !lost.contains(&act)))
                .collect();
            let free: Vec<usize> =
                (0..atoms.len()).filter(|atom| !must[atoms[*atom].act]).collect();
            if free.len() + logged.len() > bits_max {
                return None;
            }
            for subset in 0..1_u32 << free.len() {
                let has = |atom: usize| match free.binary_search(&atom) {
                    Ok(bit) => subset >> bit & 1 == 1,
                    Err(_) => true,
                };
                if self.is_legal(&atoms, &has, &must) {
                    images.insert(self.image(&atoms, &has, &lost));
                }
            }
        }
        Some(images)
    }

    fn write(&self, act: usize) -> Option<(&Range<u64>, bool, bool)> {
        match &self.done[act].act {
            Act::Write { at, traits } => Some((at, traits.direct, traits.through)),
            _ => None,
        }
    }

    fn device(&self, act: usize) -> u8 {
        device_of(self.done[act].file)
    }

    fn extends(&self, act: usize) -> bool {
        self.write(act).is_some_and(|(at, _, _)| at.end > self.done[act].old_length)
    }

    fn is_logged(&self, act: usize) -> bool {
        match &self.done[act].act {
            Act::SetLength(_) | Act::Create | Act::Rename { .. } | Act::Unlink => true,
            Act::Write { traits, .. } => traits.direct && self.extends(act),
            _ => false,
        }
    }

    /// The event by which a flush has seen what was before it.
    fn seen(&self, flush: usize) -> u64 {
        let done = &self.done[flush];
        match self.on(Rule::FlushesCoverWhatWasOver) {
            true => done.began,
            false => done.over.unwrap_or(done.began),
        }
    }

    fn flushes(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.done.len()).filter(|act| {
            let done = &self.done[*act];
            let is_flush = match done.act {
                Act::Flush | Act::FlushDirectory => true,
                Act::WriteOut => !self.on(Rule::WriteOutIsNoFlush),
                _ => false,
            };
            is_flush && (done.over.is_some() || !self.on(Rule::FlushesPromiseAtTheirEnd))
        })
    }

    fn is_on(&self, flush: usize, device: u8) -> bool {
        matches!(self.done[flush].act, Act::FlushDirectory) || self.device(flush) == device
    }

    fn is_own(&self, flush: usize, act: usize) -> bool {
        let is_file = !matches!(self.done[flush].act, Act::FlushDirectory);
        (is_file && self.done[flush].file == self.done[act].file)
            || (!self.on(Rule::PageCacheIsFlushedByFile) && self.is_on(flush, self.device(act)))
    }

    fn over(&self, act: usize) -> Option<u64> {
        let done = &self.done[act];
        match self.on(Rule::UnderWayIsUnstable) {
            true => done.over,
            false => Some(done.over.unwrap_or(done.began)),
        }
    }

    fn end_of_flush(&self, flush: usize) -> u64 {
        self.done[flush].over.unwrap_or(self.done[flush].began)
    }

    /// When the device has a write.
    fn arrived(&self, act: usize) -> Option<u64> {
        let over = self.over(act)?;
        let (_, direct, through) = self.write(act)?;
        if direct || (through && self.on(Rule::WriteThroughIsStable)) {
            return Some(over);
        }
        let own = self.flushes().filter(|f| self.is_own(*f, act) && self.seen(*f) > over);
        let out = (0..self.done.len()).filter(|out| {
            let done = &self.done[*out];
            matches!(done.act, Act::WriteOut)
                && self.on(Rule::WriteOutArrives)
                && done.file == self.done[act].file
                && done.over.is_some()
                && done.began > over
        });
        own.chain(out).map(|flush| self.end_of_flush(flush)).min()
    }

    /// How much has come to a device since that event.
    fn arrived_since(&self, device: u8, since: u64) -> u64 {
        let writes = (0..self.done.len()).filter(|act| self.device(*act) == device);
        let bytes = writes.filter_map(|act| {
            let (at, _, _) = self.write(act)?;
            (self.arrived(act)? > since).then_some(at.end - at.start)
        });
        bytes.sum()
    }

    fn is_drained(&self, device: u8, at: u64) -> bool {
        match self.rules.volatile_bytes {
            0 => self.on(Rule::ProtectedCachesSurvive),
            bytes => self.on(Rule::CachesHaveASize) && self.arrived_since(device, at) >= bytes,
        }
    }

    fn lies(&self) -> bool {
        self.rules.flush_lies && self.on(Rule::LiesPromiseNothing) && self.rules.volatile_bytes > 0
    }

    /// A flush keeps its promise where it does not lie, or when the cache has had to give up what
    /// it brought.
    fn holds(&self, flush: usize, device: u8) -> bool {
        !self.lies() || {
            let arrived = self.arrived_since(device, self.end_of_flush(flush));
            arrived >= self.rules.volatile_bytes
        }
    }

    fn is_flushed(&self, act: usize) -> bool {
        let (Some(over), Some(arrived)) = (self.over(act), self.arrived(act)) else {
            return false;
        };
        let device = self.device(act);
        self.flushes().filter(|flush| self.holds(*flush, device)).any(|flush| {
            let empties = self.is_on(flush, device) && self.on(Rule::FlushesEmptyTheDevice);
            (self.is_own(flush, act) && self.seen(flush) > over)
                || (empties && self.seen(flush) > arrived)
        })
    }

    fn is_stable(&self, act: usize) -> bool {
        let Some(arrived) = self.arrived(act) else { return false };
        let through = self.write(act).is_some_and(|(_, _, through)| through)
            && self.on(Rule::WriteThroughIsStable);
        let drained = self.is_drained(self.device(act), arrived);
        self.is_flushed(act)
            || (through && (drained || !self.lies()))
            || (drained && !self.extends(act))
    }

    /// Whether these logged acts may be lost.
    fn is_legal_log(&self, logged: &[usize], lost: &[usize]) -> bool {
        let has_later = |first: &usize| {
            let mut kept = logged.iter().filter(|act| !lost.contains(act));
            kept.any(|act| act > first && self.device(*act) == self.device(*first))
        };
        if self.on(Rule::LogsKeepTheirOrder) && lost.iter().any(has_later) {
            return false;
        }
        !lost.iter().any(|act| {
            let device = self.device(*act);
            let is_flushed = self.flushes().any(|flush| {
                self.is_on(flush, device)
                    && self.holds(flush, device)
                    && self.over(*act).is_some_and(|over| over < self.seen(flush))
            });
            let through = self.write(*act).is_some_and(|(_, _, through)| through);
            is_flushed || (through && self.is_stable(*act))
        })
    }

    /// Where the file of a write ends at most, as what made it longer is lost.
    fn end(&self, act: usize, lost: &[usize]) -> u64 {
        let earlier = (0..=act).filter(|earlier| self.done[*earlier].file == self.done[act].file);
        let ends = earlier.filter_map(|earlier| {
            let done = &self.done[earlier];
            let is_late = self.on(Rule::LengthsComeLater)
                && lost
                    .iter()
                    .any(|lost| *lost < earlier && self.device(*lost) == self.device(earlier));
            match done.act {
                Act::Create if lost.contains(&earlier) => Some(0),
                Act::SetLength(length) if lost.contains(&earlier) => {
                    Some(length.min(done.old_length))
                }
                Act::Write { .. } if lost.contains(&earlier) => Some(done.old_length),
                Act::Write { .. } if self.extends(earlier) && !self.is_logged(earlier) => {
                    (is_late && !self.is_stable(earlier)).then_some(done.old_length)
                }
                _ => None,
            }
        });
        ends.min().unwrap_or(u64::MAX)
    }

    fn atoms(&self, lost: &[usize]) -> Vec<Atom> {
        let atomic = match self.on(Rule::UnitsAreAtomic) {
            true => self.rules.atomic_write_bytes,
            false => self.rules.atomic_write_bytes / 2,
        };
        let mut atoms = Vec::new();
        for act in 0..self.done.len() {
            let Some((at, direct, _)) = self.write(act) else { continue };
            let old_length = self.done[act].old_length;
            let end = at.end.min(self.end(act, lost));
            let mut from = at.start;
            while from < end {
                let page = from / 4096 * 4096..(from / 4096 + 1) * 4096;
                let is_longer = page.end.min(end) > old_length;
                let unit = match direct {
                    true => atomic,
                    false if is_longer && self.on(Rule::BlocksComeWithTheirLength) => 4096,
                    false => atomic.min(4096),
                };
                let unit = from / unit * unit..(from / unit + 1) * unit;
                let to = match self.on(Rule::WritesAreTorn) {
                    true => unit.end.min(end),
                    false => end,
                };
                let with = if direct { 0..0 } else { unit.start..unit.end.max(to) };
                atoms.push(Atom { act, range: from..to, with });
                from = to;
            }
        }
        atoms
    }

    fn is_legal(&self, atoms: &[Atom], has: &dyn Fn(usize) -> bool, must: &[bool]) -> bool {
        atoms.iter().enumerate().all(|(at, atom)| {
            if has(at) {
                return true;
            }
            // What is missing must neither be promised nor be in what was written later.
            let is_shared = |(later, other): (usize, &Atom)| {
                has(later)
                    && later > at
                    && self.done[other.act].file == self.done[atom.act].file
                    && other.with.start < atom.with.end
                    && atom.with.start < other.with.end
            };
            let shared = atoms.iter().enumerate().any(is_shared);
            !(must[atom.act] || shared && self.on(Rule::PagesAreCoherent))
        })
    }

    fn image(&self, atoms: &[Atom], has: &dyn Fn(usize) -> bool, lost: &[usize]) -> Contents {
        let mut files = MemoryFiles::begin();
        for (act, done) in self.done.iter().enumerate() {
            let file = identity(done.file);
            let is_lost = lost.contains(&act);
            match &done.act {
                Act::Write { at, .. } => {
                    let may_extend = self.extends(act) && self.end(act, lost) >= at.end;
                    let own = atoms.iter().enumerate().filter(|(_, atom)| atom.act == act);
                    for (_, atom) in own.filter(|(atom, _)| has(*atom)) {
                        let byte = act as u8 + 1;
                        write(&mut files, file, (atom.range.clone(), byte), may_extend);
                    }
                }
                Act::SetLength(length) if !is_lost => files.set_length(file, *length).unwrap(),
                Act::Create if !is_lost => {
                    files.bytes.insert(file, Vec::new());
                    files.names.insert(done.name.clone(), file);
                }
                Act::Rename { to } if !is_lost => {
                    files.names.remove(&done.name);
                    files.names.insert(NAMES[*to].to_owned(), file);
                }
                Act::Unlink if !is_lost => {
                    files.names.remove(&done.name);
                }
                _ => {}
            }
        }
        files.contents()
    }
}

fn write(
    files: &mut MemoryFiles,
    file: FileIdentity,
    (range, byte): (Range<u64>, u8),
    may_extend: bool,
) {
    let length = files.length(file).unwrap().unwrap_or(0);
    let end = if may_extend { range.end } else { range.end.min(length) };
    let bytes = vec![byte; end.saturating_sub(range.start) as usize];
    files.write(file, range.start, &bytes).unwrap();
}
