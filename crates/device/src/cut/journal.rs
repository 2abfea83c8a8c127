//! The journal's file: a header and a ring of records, as 64-bit words in native order.
//!
//! The shim maps it and appends; who cuts reads the file after the process has died. A record is in
//! two steps: room is taken under a short lock, and what the write is going to replace is read
//! straight into it; then the record is ready, and only then the write may begin. So a record that
//! is not ready is one of a write that has not happened, and is skipped. Nothing is allocated here
//! after [`JournalRing::new`].
//!
//! Time is the number of the last event. Every record has the number at which it began, and one at
//! which it was over, so that "began after that had ended" can be said of any two of them.

use super::rules::PowerLoss;
use super::unwritten::{UnwrittenSpace, blocks_behind, blocks_of, common};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// First word of a journal.
pub(super) const MAGIC: u64 = u64::from_le_bytes(*b"mydynoJ2");
/// Words before the ring.
pub(super) const HEADER_WORDS: usize = 64;
/// Devices that a journal tells apart.
pub const JOURNAL_DEVICES_MAX: usize = 16;

/// Words of the header.
#[derive(Clone, Copy)]
#[repr(usize)]
pub(super) enum HeaderWord {
    Magic,
    /// Where the next record goes, and where the oldest is: words since the begin, which a ring's
    /// length divides into places.
    Head,
    Tail,
    /// Writes that were not stable when their record made room for another, and their bytes.
    ForcedWrites,
    ForcedBytes,
    /// Changes that could not be recorded: longer than a quarter of the ring, of a file that could
    /// not be read, or of unwritten space in too many pieces.
    Unrecorded,
    /// For each device: changes of names and lengths that began up to this event count as written.
    NamesWritten,
}

const _: () = assert!(HeaderWord::NamesWritten as usize + JOURNAL_DEVICES_MAX <= HEADER_WORDS);

/// Words of a record, before its bytes.
#[derive(Clone, Copy)]
#[repr(usize)]
pub(super) enum EntryWord {
    /// The record's length in words, its kind, device and traits.
    Shape,
    /// The event at which it began.
    Began,
    /// [`RESERVED`], [`READY`], or the event at which it was over.
    Progress,
    FileSystem,
    Inode,
    Offset,
    Length,
    /// Of the file before.
    OldLength,
    /// [`NewEntry::other`]; of a write, [`packed`] what of it fills unwritten space.
    Other,
    /// Bytes that follow.
    SavedBytes,
    /// [`NewEntry::place`]
    Place,
}

pub(super) const ENTRY_WORDS: usize = EntryWord::Place as usize + 1;
pub(super) const RESERVED: u64 = 0;
pub(super) const READY: u64 = 1;

/// What a record is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum EntryKind {
    /// No record: the end of the ring, or one that was given up.
    #[default]
    Gap,
    Write,
    /// Of a file's data and of the metadata before it.
    Flush,
    /// `sync_file_range`: data go to the device, and no more is promised.
    SyncRange,
    /// A file has another length.
    Length,
    Create,
    Rename,
    Unlink,
}

impl EntryKind {
    pub(super) fn from_code(code: u8) -> Option<EntryKind> {
        use EntryKind::{Create, Flush, Gap, Length, Rename, SyncRange, Unlink, Write};
        let all = [Gap, Write, Flush, SyncRange, Length, Create, Rename, Unlink];
        all.into_iter().find(|kind| *kind as u8 == code)
    }

    pub(super) fn changes_names_or_lengths(self) -> bool {
        use EntryKind::{Create, Length, Rename, Unlink};
        matches!(self, Length | Create | Rename | Unlink)
    }
}

/// Which file it is, whatever its name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileIdentity {
    /// `st_dev`
    pub file_system: u64,
    pub inode: u64,
}

/// How a write was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WriteTraits {
    /// Past the page cache: when it is over, the device has it.
    pub direct: bool,
    /// `O_DSYNC`: when it is over, it is flushed.
    pub through: bool,
}

/// What is to be recorded.
#[derive(Clone, Copy, Debug, Default)]
pub struct NewEntry<'a> {
    pub kind: EntryKind,
    pub device: u8,
    pub traits: WriteTraits,
    pub file: FileIdentity,
    /// Which of the ring's places the file has, for as long as it is known.
    pub place: usize,
    pub offset: u64,
    pub length: u64,
    /// Length of the file before, as the host says.
    pub file_bytes: u64,
    /// The new length ([`EntryKind::Length`]), or the inode of the file that a name was taken from
    /// ([`EntryKind::Rename`]; 0: none). Of writes, the journal knows it.
    pub other: u64,
    /// The name, or the old and the new one; absolute.
    pub names: [&'a [u8]; 2],
}

impl NewEntry<'_> {
    /// How many bytes the record needs beside its words: those that are lost by the change, or
    /// names with a zero behind each.
    fn replaced_bytes(&self) -> u64 {
        match self.kind {
            EntryKind::Write => self.file_bytes.saturating_sub(self.offset).min(self.length),
            EntryKind::Length => self.file_bytes.saturating_sub(self.other),
            EntryKind::Create | EntryKind::Rename | EntryKind::Unlink => {
                self.names.iter().map(|name| name.len() as u64 + 1).sum()
            }
            EntryKind::Gap | EntryKind::Flush | EntryKind::SyncRange => 0,
        }
    }

    /// Whether the record keeps bytes of the file, not names.
    fn replaces_bytes(&self) -> bool {
        matches!(self.kind, EntryKind::Write | EntryKind::Length)
    }
}

/// A record that was begun.
#[derive(Clone, Copy, Debug)]
pub struct EntryTicket {
    position: u64,
    /// The event at which it began.
    pub began: u64,
    kind: EntryKind,
    device: u8,
    place: usize,
    /// Bytes that [`JournalRing::room`] has for what is replaced.
    pub replaced_bytes: u64,
}

impl EntryTicket {
    pub fn is_flush(&self) -> bool {
        self.kind == EntryKind::Flush
    }
}

/// Length of a journal's file with a ring of so many bytes, rounded to words.
pub fn journal_bytes(ring_bytes: u64) -> u64 {
    HEADER_WORDS as u64 * 8 + ring_bytes / 8 * 8
}

/// What is known of the file at a place.
#[derive(Clone, Default)]
struct PlaceState {
    /// When the last of its flushes that are over began.
    flushed: u64,
    /// Where the furthest of its writes ends that were begun.
    end: u64,
    unwritten: UnwrittenSpace,
}

struct RingState {
    head: u64,
    tail: u64,
    events: u64,
    places: Vec<PlaceState>,
    /// When the last flush of each device that is over began.
    flushed: [u64; JOURNAL_DEVICES_MAX],
}

/// Appends to a journal.
pub struct JournalRing<'a> {
    header: &'a [AtomicU64],
    ring: &'a [AtomicU64],
    rules: Vec<PowerLoss>,
    state: Mutex<RingState>,
}

impl<'a> JournalRing<'a> {
    /// A journal in words that are all zero, of files at so many places on devices with these
    /// rules. `None` where it is too short to be one.
    pub fn new(
        words: &'a [AtomicU64],
        places: usize,
        rules: Vec<PowerLoss>,
    ) -> Option<JournalRing<'a>> {
        let (header, ring) = words.split_at_checked(HEADER_WORDS)?;
        if ring.len() < 64 * ENTRY_WORDS {
            return None;
        }
        let state = RingState {
            head: 0,
            tail: 0,
            // Numbers that no record's progress has otherwise.
            events: READY,
            places: vec![PlaceState::default(); places],
            flushed: [0; JOURNAL_DEVICES_MAX],
        };
        let journal = JournalRing { header, ring, rules, state: Mutex::new(state) };
        journal.set_header(HeaderWord::Magic, MAGIC);
        Some(journal)
    }

    /// Takes room for a record. Where nothing is to be saved it is ready; else it is when
    /// [`JournalRing::ready`] says so. `None` where it cannot be recorded, which is counted: then
    /// the change counts as written.
    pub fn begin(&self, entry: &NewEntry) -> Option<EntryTicket> {
        let replaced_bytes = entry.replaced_bytes();
        let words = ENTRY_WORDS as u64 + replaced_bytes.div_ceil(8);
        let mut state = self.lock();
        state.events += 1;
        let began = state.events;
        let before = state.note_space(entry);
        if before.forgets_space {
            self.add_header(HeaderWord::Unrecorded, 1);
        }
        if words > self.ring.len() as u64 / 4 {
            drop(state);
            self.unrecorded(entry, began);
            return None;
        }
        let position = self.make_room(&mut state, words);
        let ticket = EntryTicket {
            position,
            began,
            kind: entry.kind,
            device: entry.device,
            place: entry.place,
            replaced_bytes,
        };
        let WriteTraits { direct, through } = entry.traits;
        let traits = u64::from(direct) | u64::from(through) << 1;
        let shape =
            words | (entry.kind as u64) << 32 | u64::from(entry.device) << 40 | traits << 48;
        // Bytes of a file are saved by the caller, who then says that it is ready.
        let is_ready = !entry.replaces_bytes() || replaced_bytes == 0;
        for (word, value) in [
            (EntryWord::Shape, shape),
            (EntryWord::Began, began),
            (EntryWord::Progress, if is_ready { READY } else { RESERVED }),
            (EntryWord::FileSystem, entry.file.file_system),
            (EntryWord::Inode, entry.file.inode),
            (EntryWord::Offset, entry.offset),
            (EntryWord::Length, entry.length),
            (EntryWord::OldLength, before.length),
            (EntryWord::Other, before.other),
            (EntryWord::SavedBytes, if is_ready { replaced_bytes } else { 0 }),
            (EntryWord::Place, entry.place as u64),
        ] {
            self.set(position, word, value);
        }
        if !entry.replaces_bytes() {
            self.write_names(&ticket, entry.names);
        }
        state.head = position + words;
        self.set_header(HeaderWord::Head, state.head);
        Some(ticket)
    }

    /// Where the bytes that are replaced are to be written, from the first word's begin.
    pub fn room(&self, ticket: &EntryTicket) -> &'a [AtomicU64] {
        let begin = self.index(ticket.position) + ENTRY_WORDS;
        let words = ticket.replaced_bytes.div_ceil(8) as usize;
        &self.ring[begin..begin + words]
    }

    /// So many bytes were saved: the change may begin.
    pub fn ready(&self, ticket: &EntryTicket, saved_bytes: u64) {
        self.set(ticket.position, EntryWord::SavedBytes, saved_bytes);
        self.set(ticket.position, EntryWord::Progress, READY);
    }

    /// The change is over, as far as who asked for it knows. Returns that event.
    pub fn finish(&self, ticket: &EntryTicket) -> u64 {
        let mut state = self.lock();
        state.events += 1;
        if ticket.position >= state.tail {
            self.set(ticket.position, EntryWord::Progress, state.events);
        }
        let lies = self.rules.get(usize::from(ticket.device)).is_some_and(PowerLoss::lies);
        if ticket.kind == EntryKind::Flush && !lies {
            if let Some(place) = state.places.get_mut(ticket.place) {
                place.flushed = place.flushed.max(ticket.began);
            }
            if let Some(flushed) = state.flushed.get_mut(usize::from(ticket.device)) {
                *flushed = (*flushed).max(ticket.began);
            }
        }
        state.events
    }

    /// The change was refused by the host: it is none. `is_counted` where it was made nevertheless
    /// and nobody knows what it replaced.
    pub fn give_up(&self, ticket: &EntryTicket, is_counted: bool) {
        // First, because who makes room waits for it while the state is locked. One that was ready
        // may have made room: then its words are another's.
        if ticket.position >= self.header[HeaderWord::Tail as usize].load(Ordering::Acquire) {
            let progress = &self.ring[self.index(ticket.position) + EntryWord::Progress as usize];
            let _ =
                progress.compare_exchange(RESERVED, READY, Ordering::Release, Ordering::Relaxed);
        }
        let mut state = self.lock();
        if ticket.position >= state.tail {
            let shape = self.word(ticket.position, EntryWord::Shape) & u64::from(u32::MAX);
            self.set(ticket.position, EntryWord::Shape, shape);
        }
        if let Some(place) = state.places.get_mut(ticket.place) {
            place.end = 0;
        }
        drop(state);
        if is_counted {
            self.add_header(HeaderWord::Unrecorded, 1);
        }
    }

    /// Another file has this place now.
    pub fn forget_place(&self, place: usize) {
        if let Some(place) = self.lock().places.get_mut(place) {
            *place = PlaceState::default();
        }
    }

    /// When the last flush of a device that is over, and did not lie, began: what was over before
    /// it is on the device.
    pub fn flushed(&self, device: u8) -> u64 {
        self.lock().flushed.get(usize::from(device)).copied().unwrap_or(0)
    }

    /// Changes of names and lengths of a device that began up to this event count as written.
    pub fn names_are_written(&self, device: u8, up_to: u64) {
        if usize::from(device) < JOURNAL_DEVICES_MAX {
            let word = HeaderWord::NamesWritten as usize + usize::from(device);
            self.header[word].fetch_max(up_to, Ordering::Release);
        }
    }

    fn unrecorded(&self, entry: &NewEntry, began: u64) {
        self.add_header(HeaderWord::Unrecorded, 1);
        if entry.kind.changes_names_or_lengths() {
            self.names_are_written(entry.device, began);
        }
    }

    fn lock(&self) -> MutexGuard<'_, RingState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Drops the oldest records until there is room for so many words in one piece. Returns where.
    fn make_room(&self, state: &mut RingState, words: u64) -> u64 {
        let ring_words = self.ring.len() as u64;
        let left = ring_words - state.head % ring_words;
        let gap = if left < words { left } else { 0 };
        while state.head + gap + words - state.tail > ring_words {
            self.drop_oldest(state);
        }
        // Before anything of what was dropped is overwritten.
        self.set_header(HeaderWord::Tail, state.tail);
        if gap > 0 {
            self.set(state.head, EntryWord::Shape, gap);
        }
        state.head + gap
    }

    fn drop_oldest(&self, state: &mut RingState) {
        let position = state.tail;
        let shape = self.word(position, EntryWord::Shape);
        state.tail += (shape & u64::from(u32::MAX)).max(1);
        if shape >> 32 == 0 {
            return;
        }
        // It reads what it replaces into the ring: a matter of microseconds.
        while self.word(position, EntryWord::Progress) == RESERVED {
            std::thread::yield_now();
        }
        let is_write = (shape >> 32) as u8 == EntryKind::Write as u8;
        if is_write && !self.is_stable(state, position) {
            self.add_header(HeaderWord::ForcedWrites, 1);
            self.add_header(HeaderWord::ForcedBytes, self.word(position, EntryWord::Length));
        }
    }

    /// Whether a write is one that the device has promised.
    fn is_stable(&self, state: &RingState, position: u64) -> bool {
        let word = |word| self.word(position, word);
        let shape = word(EntryWord::Shape);
        let over = word(EntryWord::Progress);
        if over <= READY {
            return false;
        }
        let (direct, through) = (shape >> 48 & 1 != 0, shape >> 48 & 2 != 0);
        let place = state.places.get(word(EntryWord::Place) as usize);
        let device = usize::from((shape >> 40) as u8);
        let flushed = state.flushed.get(device).copied().unwrap_or(0);
        let end = word(EntryWord::Offset).saturating_add(word(EntryWord::Length));
        let is_logged = end > word(EntryWord::OldLength) || word(EntryWord::Other) != 0;
        let rules = self.rules.get(device);
        let keeps = rules.is_some_and(|rules| rules.volatile_bytes == 0) && !is_logged;
        (through && !rules.is_some_and(PowerLoss::lies))
            || place.is_some_and(|place| over < place.flushed)
            || (direct && (keeps || over < flushed))
    }

    fn write_names(&self, ticket: &EntryTicket, names: [&[u8]; 2]) {
        let [first, second] = names;
        let mut bytes = first.iter().chain(&[0]).chain(second).chain(&[0]);
        for word in self.room(ticket) {
            let mut value = [0; 8];
            for (byte, from) in value.iter_mut().zip(bytes.by_ref()) {
                *byte = *from;
            }
            word.store(u64::from_ne_bytes(value), Ordering::Relaxed);
        }
    }

    fn index(&self, position: u64) -> usize {
        (position % self.ring.len() as u64) as usize
    }

    fn word(&self, position: u64, word: EntryWord) -> u64 {
        self.ring[self.index(position) + word as usize].load(Ordering::Acquire)
    }

    fn set(&self, position: u64, word: EntryWord, value: u64) {
        self.ring[self.index(position) + word as usize].store(value, Ordering::Release);
    }

    fn set_header(&self, word: HeaderWord, value: u64) {
        self.header[word as usize].store(value, Ordering::Release);
    }

    fn add_header(&self, word: HeaderWord, value: u64) {
        self.header[word as usize].fetch_add(value, Ordering::Relaxed);
    }
}

/// The file before a change.
struct FileBefore {
    length: u64,
    /// [`EntryWord::Other`]
    other: u64,
    /// Its unwritten space is in more pieces than can be known.
    forgets_space: bool,
}

/// A part of a write as a word: how far behind the write's offset it begins, and its length.
pub(super) struct PackedPart(pub(super) u64);

impl PackedPart {
    fn of(part: &Range<u64>, offset: u64) -> PackedPart {
        let from = part.start.saturating_sub(offset);
        PackedPart(from << 32 | (part.end - part.start) & u64::from(u32::MAX))
    }

    /// The part of a write with this offset.
    pub(super) fn at(&self, offset: u64) -> Range<u64> {
        let from = offset.saturating_add(self.0 >> 32);
        from..from.saturating_add(self.0 & u64::from(u32::MAX))
    }
}

impl RingState {
    /// The file's length before a change, and what the change fills of it: writes that are under
    /// way count, so that a change that began later is undone to what the earlier one makes of it.
    fn note_space(&mut self, entry: &NewEntry) -> FileBefore {
        let mut before =
            FileBefore { length: entry.file_bytes, other: entry.other, forgets_space: false };
        let Some(place) = self.places.get_mut(entry.place) else {
            return before;
        };
        before.length = before.length.max(place.end);
        match entry.kind {
            EntryKind::Write => {
                let written = entry.offset..entry.offset.saturating_add(entry.length);
                let skipped = blocks_behind(before.length)..blocks_of(&written).start;
                before.forgets_space |= place.unwritten.set(&skipped, true);
                let filled = common(&place.unwritten.first_in(&blocks_of(&written)), &written);
                before.other =
                    if filled.is_empty() { 0 } else { PackedPart::of(&filled, entry.offset).0 };
                before.forgets_space |= place.unwritten.set(&blocks_of(&written), false);
                place.end = before.length.max(written.end);
            }
            EntryKind::Length => {
                let ends = [before.length, entry.other].map(blocks_behind);
                let is_longer = entry.other > before.length;
                let changed = if is_longer { ends[0]..ends[1] } else { ends[1]..u64::MAX };
                before.forgets_space |= place.unwritten.set(&changed, is_longer);
                place.end = entry.other;
            }
            EntryKind::Create => *place = PlaceState::default(),
            _ => {}
        }
        before
    }
}
