//! The legal images by their definitions, without regard to time: every subset of the parts of
//! writes is tried, and what is legal is made by doing what was kept, from the begin on.
//!
//! Each rule has a switch. The tests turn every one of them off, and must then see a difference.

use super::history::{Act, Contents, Done, Killed, MemoryFiles, NAMES, device_of, identity};
use device::cut::{CutFiles, FileIdentity, FileSystem, PowerLoss};
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
    /// What a cache cannot hold it has written, and no cache says what.
    CachesHaveASize,
    /// A write into space that was never written is logged, and until then reads as zeros.
    UnwrittenSpaceIsLogged,
    /// What is written over it is lost with it.
    UnwrittenSpaceTakesMoreAlong,
    /// It is logged when it is over, not when it begins.
    SpaceIsFilledAtTheEnd,
    /// A block of it comes as a whole.
    BlocksAreFilledAsWholes,
    /// Where a file replaces another one, its data come with its name: ext4.
    RenamesBringData,
    /// A flush of a directory promises nothing of other devices.
    DirectoriesAreOfOneDevice,
}

impl Rule {
    pub const ALL: [Rule; 23] = [
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
        Rule::UnwrittenSpaceIsLogged,
        Rule::UnwrittenSpaceTakesMoreAlong,
        Rule::SpaceIsFilledAtTheEnd,
        Rule::BlocksAreFilledAsWholes,
        Rule::RenamesBringData,
        Rule::DirectoriesAreOfOneDevice,
    ];
}

/// A part of a write that is there or not.
#[derive(Clone, Debug)]
struct Atom {
    act: usize,
    range: Range<u64>,
    /// The bytes that the page cache writes with it; empty: past the page cache.
    with: Range<u64>,
    /// Blocks of it that read as zeros.
    unread: Vec<u64>,
}

impl Atom {
    /// What of it can be seen.
    fn parts(&self) -> Vec<Range<u64>> {
        let (begin, end) = (self.range.start, self.range.end);
        let blocks = (begin / 4096..end.div_ceil(4096)).filter(|at| !self.unread.contains(at));
        blocks.map(|at| begin.max(at * 4096)..end.min((at + 1) * 4096)).collect()
    }
}

pub struct Reference<'a> {
    done: &'a [Done],
    rules: PowerLoss,
    file_system: FileSystem,
    off: Option<Rule>,
    /// For each act: the blocks that it fills, by number.
    filled: Vec<Vec<u64>>,
}

impl<'a> Reference<'a> {
    pub fn new(
        killed: &'a Killed,
        (rules, file_system): (PowerLoss, FileSystem),
        off: Option<Rule>,
    ) -> Reference<'a> {
        let done = &killed.done;
        let filled = match off {
            Some(Rule::UnwrittenSpaceIsLogged) => vec![Vec::new(); done.len()],
            _ => filled(done),
        };
        Reference { done, rules, file_system, off, filled }
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
                .map(|act| {
                    self.is_stable(act)
                        || (logged.contains(&act) && !lost.contains(&act))
                        || self.is_brought(act, &lost)
                })
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
            Act::Write { traits, .. } => {
                traits.direct && (self.extends(act) || !self.filled[act].is_empty())
            }
            _ => false,
        }
    }

    /// The act that filled a block to which another act wrote: the last one, itself included, since
    /// the file ended before the block.
    fn filler(&self, act: usize, block: u64) -> Option<usize> {
        let file = self.done[act].file;
        for earlier in (0..=act).rev().filter(|earlier| self.done[*earlier].file == file) {
            match self.done[earlier].act {
                Act::SetLength(length) if length.div_ceil(4096) <= block => return None,
                Act::Write { .. } if self.filled[earlier].contains(&block) => return Some(earlier),
                _ => {}
            }
        }
        None
    }

    /// The act and, where it fills space and does no more, the later writes to that.
    fn writes_to_space(&self, act: usize) -> impl Iterator<Item = usize> + '_ {
        (act..self.done.len()).filter(move |later| {
            let is_same = self.done[*later].file == self.done[act].file && !self.extends(act);
            let at = self.write(*later).map(|(at, _, _)| at.start / 4096..at.end.div_ceil(4096));
            let touches = |block: &u64| at.as_ref().is_some_and(|at| at.contains(block));
            *later == act || (is_same && self.filled[act].iter().any(touches))
        })
    }

    /// When a logged act had happened. Space is filled with the first of the writes to it that the
    /// device has.
    fn happened(&self, act: usize) -> Option<u64> {
        match self.write(act) {
            Some(_) => self.writes_to_space(act).filter_map(|write| self.arrived(write)).min(),
            None => self.over(act),
        }
    }

    /// Whether what is logged of a write was flushed.
    fn is_space_flushed(&self, act: usize) -> bool {
        self.writes_to_space(act).any(|write| self.is_flushed(write) || self.is_through(write))
    }

    /// Whether a write was flushed at once.
    fn is_through(&self, act: usize) -> bool {
        let through = self.write(act).is_some_and(|(_, _, through)| through);
        through
            && self.on(Rule::WriteThroughIsStable)
            && self.arrived(act).is_some()
            && !self.lies()
    }

    /// Whether it is logged for the space that it fills alone.
    fn is_filling(&self, act: usize) -> bool {
        self.write(act).is_some() && self.is_logged(act) && !self.extends(act)
    }

    /// Whether an act that is lost takes the next one along, because that was logged later.
    fn is_before(&self, lost: usize, next: usize) -> bool {
        let is_loose = self.is_filling(lost) && self.on(Rule::SpaceIsFilledAtTheEnd);
        match is_loose {
            true => self.happened(lost).is_some_and(|at| at < self.done[next].began),
            false => lost < next,
        }
    }

    /// Whether something that was logged earlier is lost.
    fn is_late(&self, act: usize, lost: &[usize]) -> bool {
        let mut lost = lost.iter().filter(|lost| self.device(**lost) == self.device(act));
        lost.any(|lost| self.is_before(*lost, act))
    }

    /// Whether what an act wrote to a block reads as zeros, because the block was not filled.
    fn is_unread(&self, act: usize, block: u64, lost: &[usize]) -> bool {
        let filler = self.filler(act, block);
        let filler = filler.filter(|by| *by == act || self.on(Rule::UnwrittenSpaceTakesMoreAlong));
        filler.is_some_and(|by| match self.is_logged(by) {
            true => lost.contains(&by),
            false => {
                self.on(Rule::LengthsComeLater)
                    && self.is_late(by, lost)
                    && !self.is_space_flushed(by)
            }
        })
    }

    /// Whether the data of a write come with the name of its file.
    fn is_brought(&self, act: usize, lost: &[usize]) -> bool {
        let mut renames = (act..self.done.len()).filter(|rename| {
            let done = &self.done[*rename];
            matches!(done.act, Act::Rename { .. })
                && done.replaced.is_some()
                && done.file == self.done[act].file
                && !lost.contains(rename)
        });
        self.file_system == FileSystem::Ext4
            && self.on(Rule::RenamesBringData)
            && !self.lies()
            && self.write(act).is_some()
            && renames.any(|by| self.over(act).is_some_and(|over| over < self.done[by].began))
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
        let is_wide = matches!(self.done[flush].act, Act::FlushDirectory)
            && !self.on(Rule::DirectoriesAreOfOneDevice);
        is_wide || self.device(flush) == device
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

    fn keeps(&self) -> bool {
        self.rules.volatile_bytes == 0 && self.on(Rule::ProtectedCachesSurvive)
    }

    fn lies(&self) -> bool {
        self.rules.flush_lies && self.on(Rule::LiesPromiseNothing) && self.rules.volatile_bytes > 0
    }

    fn is_flushed(&self, act: usize) -> bool {
        let (Some(over), Some(arrived)) = (self.over(act), self.arrived(act)) else {
            return false;
        };
        let device = self.device(act);
        !self.lies()
            && self.flushes().any(|flush| {
                let empties = self.is_on(flush, device) && self.on(Rule::FlushesEmptyTheDevice);
                (self.is_own(flush, act) && self.seen(flush) > over)
                    || (empties && self.seen(flush) > arrived)
            })
    }

    fn is_stable(&self, act: usize) -> bool {
        if self.arrived(act).is_none() {
            return false;
        }
        self.is_flushed(act)
            || self.is_through(act)
            || (self.keeps() && !self.extends(act) && self.filled[act].is_empty())
    }

    /// Whether these logged acts may be lost.
    fn is_legal_log(&self, logged: &[usize], lost: &[usize]) -> bool {
        let has_later = |first: &usize| {
            let mut kept = logged.iter().filter(|act| !lost.contains(act));
            kept.any(|act| self.is_before(*first, *act) && self.device(*act) == self.device(*first))
        };
        if self.on(Rule::LogsKeepTheirOrder) && lost.iter().any(has_later) {
            return false;
        }
        !lost.iter().any(|act| {
            let device = self.device(*act);
            let is_flushed = |flush: usize| {
                self.is_on(flush, device)
                    && self.over(*act).is_some_and(|over| over < self.seen(flush))
            };
            match self.write(*act) {
                Some(_) => self.is_space_flushed(*act),
                None => !self.lies() && self.flushes().any(is_flushed),
            }
        })
    }

    /// Where the file of a write ends at most, as what made it longer is lost.
    fn end(&self, act: usize, lost: &[usize]) -> u64 {
        let earlier = (0..=act).filter(|earlier| self.done[*earlier].file == self.done[act].file);
        let ends = earlier.filter_map(|earlier| {
            let done = &self.done[earlier];
            let is_late = self.on(Rule::LengthsComeLater)
                && self.is_late(earlier, lost)
                && !self.is_stable(earlier);
            match done.act {
                Act::Create if lost.contains(&earlier) => Some(0),
                Act::SetLength(length) if lost.contains(&earlier) => {
                    Some(length.min(done.old_length))
                }
                Act::Write { .. } if lost.contains(&earlier) && self.extends(earlier) => {
                    Some(done.old_length)
                }
                Act::Write { .. } if self.extends(earlier) && !self.is_logged(earlier) => {
                    is_late.then_some(done.old_length)
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
                let fills = self.filled[act].contains(&(from / 4096));
                let unit = match direct {
                    true => atomic,
                    false if is_longer && self.on(Rule::BlocksComeWithTheirLength) => 4096,
                    false if fills && self.on(Rule::BlocksAreFilledAsWholes) => 4096,
                    false => atomic.min(4096),
                };
                let unit = from / unit * unit..(from / unit + 1) * unit;
                let to = match self.on(Rule::WritesAreTorn) {
                    true => unit.end.min(end),
                    false => end,
                };
                let with = if direct { 0..0 } else { unit.start..unit.end.max(to) };
                let unread: Vec<u64> = (from / 4096..to.div_ceil(4096))
                    .filter(|block| self.is_unread(act, *block, lost))
                    .collect();
                if unread.len() as u64 * 4096 < to.next_multiple_of(4096) - from / 4096 * 4096 {
                    atoms.push(Atom { act, range: from..to, with, unread });
                }
                from = to;
            }
        }
        atoms
    }

    /// Whether what was lost has been in the caches.
    fn is_in_caches(&self, atoms: &[Atom], has: &dyn Fn(usize) -> bool) -> bool {
        let is_bounded = self.on(Rule::CachesHaveASize) && self.rules.volatile_bytes > 0;
        let bytes = |device: u8| -> u64 {
            let lost = atoms.iter().enumerate().filter(|(at, atom)| {
                !has(*at) && self.device(atom.act) == device && self.arrived(atom.act).is_some()
            });
            lost.flat_map(|(_, atom)| atom.parts()).map(|part| part.end - part.start).sum()
        };
        let fits = [0, 1].into_iter().all(|device| bytes(device) <= self.rules.volatile_bytes);
        (!is_bounded && !self.keeps()) || fits
    }

    fn is_legal(&self, atoms: &[Atom], has: &dyn Fn(usize) -> bool, must: &[bool]) -> bool {
        self.is_in_caches(atoms, has)
            && atoms.iter().enumerate().all(|(at, atom)| {
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
                        for part in atom.parts() {
                            write(&mut files, file, (part, act as u8 + 1), may_extend);
                        }
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

/// The blocks that acts fill, by number: those that their file had gained and that nobody had
/// written to, in one piece.
fn filled(done: &[Done]) -> Vec<Vec<u64>> {
    let mut unwritten: Vec<BTreeSet<u64>> = vec![BTreeSet::new(); NAMES.len()];
    let fill = |done: &Done| {
        let unwritten = &mut unwritten[done.file];
        let ends = |length: u64| length.div_ceil(4096);
        match &done.act {
            Act::SetLength(length) if *length > done.old_length => {
                unwritten.extend(ends(done.old_length)..ends(*length));
            }
            Act::SetLength(length) => unwritten.retain(|block| *block < ends(*length)),
            Act::Create => unwritten.clear(),
            Act::Write { at, .. } => {
                unwritten.extend(ends(done.old_length)..at.start / 4096);
                let own = at.start / 4096..ends(at.end);
                let first = unwritten.range(own.clone()).next().copied().unwrap_or(own.end);
                let piece: Vec<u64> =
                    (first..own.end).take_while(|block| unwritten.contains(block)).collect();
                unwritten.retain(|block| !own.contains(block));
                return piece;
            }
            _ => {}
        }
        Vec::new()
    };
    done.iter().map(fill).collect()
}
