//! Reads a journal after its process has died.

use super::journal::{
    ENTRY_WORDS, EntryKind, EntryWord, FileIdentity, HEADER_WORDS, HeaderWord, JOURNAL_DEVICES_MAX,
    MAGIC, PackedPart, READY, RESERVED, WriteTraits,
};
use std::collections::HashSet;
use std::ops::Range;

/// Why bytes are no journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JournalError {
    #[error("it is no journal of this version of mydyno")]
    NoJournal,
    /// Nothing that the death of a process can leave.
    #[error("its record at byte {at} is damaged")]
    Damaged { at: usize },
}

/// A change or a flush, as it was recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalEntry {
    pub kind: EntryKind,
    /// Where it was made.
    pub device: usize,
    pub traits: WriteTraits,
    pub file: FileIdentity,
    /// The event at which it began; they rise from entry to entry.
    pub began: u64,
    /// The event at which it was over; `None` where the process died before.
    pub over: Option<u64>,
    pub offset: u64,
    pub length: u64,
    /// Of the file before.
    pub old_length: u64,
    /// The new length, or the inode that a rename took a name from (0: none).
    pub other: u64,
    /// What of a write fills space that was unwritten: in one piece, for there is seldom more, and
    /// what else there is counts as written before.
    pub filled: Range<u64>,
    saved: Range<usize>,
}

impl JournalEntry {
    pub(super) fn end(&self) -> u64 {
        self.offset.saturating_add(self.length)
    }

    /// Whether it is a write that makes its file longer.
    pub(super) fn extends(&self) -> bool {
        self.kind == EntryKind::Write && self.end() > self.old_length
    }

    /// Whether it is a write into unwritten space.
    pub(super) fn fills(&self) -> bool {
        !self.filled.is_empty()
    }

    /// Whether file systems log it in their order: names, lengths that were set, and writes past
    /// the page cache that made a file longer or filled unwritten space.
    pub(super) fn is_logged(&self) -> bool {
        self.kind.changes_names_or_lengths()
            || (self.traits.direct && (self.extends() || self.fills()))
    }
}

/// What a process did to its files, from the oldest that is still known to the last.
#[derive(Clone, Debug)]
pub struct Journal {
    bytes: Vec<u8>,
    pub entries: Vec<JournalEntry>,
    /// Writes that were not stable when the ring had no room for them any more, and so count as
    /// written back by the device; and their bytes.
    pub forced_writes: u64,
    pub forced_bytes: u64,
    /// Changes that could not be recorded, and so count as written.
    pub unrecorded: u64,
    /// For each device: what began up to this event of names and lengths counts as written.
    pub(super) names_written: [u64; JOURNAL_DEVICES_MAX],
}

impl Journal {
    /// Decodes a journal's file.
    ///
    /// # Errors
    /// Where it is none, or of another version.
    pub fn decode(bytes: Vec<u8>) -> Result<Journal, JournalError> {
        let words = Words(&bytes);
        let header = |word: HeaderWord| words.at(word as usize);
        let ring_words = (bytes.len() / 8).saturating_sub(HEADER_WORDS) as u64;
        if header(HeaderWord::Magic) != Some(MAGIC) || ring_words == 0 {
            return Err(JournalError::NoJournal);
        }
        let of = |word| header(word).unwrap_or(0);
        let (mut position, head) = (of(HeaderWord::Tail), of(HeaderWord::Head));
        let mut entries = Vec::new();
        while position < head {
            let at = HEADER_WORDS + (position % ring_words) as usize;
            let damaged = JournalError::Damaged { at: at * 8 };
            let shape = words.at(at).ok_or(damaged)?;
            if shape >> 32 != 0
                && let Some(entry) = words.entry(at).ok_or(damaged)?
            {
                entries.push(entry);
            }
            match shape & u64::from(u32::MAX) {
                0 => return Err(damaged),
                length => position += length,
            }
        }
        without_earlier_files(&mut entries);
        let names_written = std::array::from_fn(|device| {
            words.at(HeaderWord::NamesWritten as usize + device).unwrap_or(0)
        });
        Ok(Journal {
            entries,
            forced_writes: of(HeaderWord::ForcedWrites),
            forced_bytes: of(HeaderWord::ForcedBytes),
            unrecorded: of(HeaderWord::Unrecorded),
            names_written,
            bytes,
        })
    }

    /// The bytes that a change replaced, from its offset (or its new length) on. Fewer than it is
    /// long where the file ended.
    pub fn replaced(&self, entry: &JournalEntry) -> &[u8] {
        self.bytes.get(entry.saved.clone()).unwrap_or_default()
    }

    /// The name of a file that was made or is gone, or the old and the new one.
    pub(super) fn names(&self, entry: &JournalEntry) -> [&[u8]; 2] {
        let mut names = self.replaced(entry).split(|byte| *byte == 0);
        [names.next().unwrap_or_default(), names.next().unwrap_or_default()]
    }
}

/// The bytes as words.
struct Words<'a>(&'a [u8]);

impl Words<'_> {
    fn at(&self, word: usize) -> Option<u64> {
        let bytes = self.0.get(word * 8..word * 8 + 8)?;
        bytes.try_into().map(u64::from_ne_bytes).ok()
    }

    /// The record that begins there; nothing where it never became ready.
    fn entry(&self, begin: usize) -> Option<Option<JournalEntry>> {
        let word = |word: EntryWord| self.at(begin + word as usize);
        let shape = word(EntryWord::Shape)?;
        let progress = word(EntryWord::Progress)?;
        if progress == RESERVED {
            return Some(None);
        }
        let saved = usize::try_from(word(EntryWord::SavedBytes)?).ok()?;
        let saved_begin = (begin + ENTRY_WORDS) * 8;
        let saved = saved_begin..saved_begin.checked_add(saved)?;
        self.0.get(saved.clone())?;
        let kind = EntryKind::from_code((shape >> 32) as u8)?;
        let (offset, other) = (word(EntryWord::Offset)?, word(EntryWord::Other)?);
        let is_write = kind == EntryKind::Write;
        Some(Some(JournalEntry {
            kind,
            device: usize::from((shape >> 40) as u8),
            traits: WriteTraits { direct: shape >> 48 & 1 != 0, through: shape >> 48 & 2 != 0 },
            file: FileIdentity {
                file_system: word(EntryWord::FileSystem)?,
                inode: word(EntryWord::Inode)?,
            },
            began: word(EntryWord::Began)?,
            over: (progress > READY).then_some(progress),
            offset,
            length: word(EntryWord::Length)?,
            old_length: word(EntryWord::OldLength)?,
            other: if is_write { 0 } else { other },
            filled: if is_write { PackedPart(other).at(offset) } else { 0..0 },
            saved,
        }))
    }
}

/// A file that was made may have the inode of one that is gone, whose removal is long stable then:
/// what was done to that one says nothing of any file that is there.
fn without_earlier_files(entries: &mut Vec<JournalEntry>) {
    let mut made = HashSet::new();
    let mut is_kept: Vec<bool> = Vec::with_capacity(entries.len());
    for entry in entries.iter().rev() {
        let is_flush = matches!(entry.kind, EntryKind::Flush | EntryKind::SyncRange);
        is_kept.push(is_flush || !made.contains(&entry.file));
        if entry.kind == EntryKind::Create {
            made.insert(entry.file);
        }
    }
    let mut is_kept = is_kept.into_iter().rev();
    entries.retain(|_| is_kept.next().unwrap_or(true));
}
