//! What a device had promised when its power goes: a journal of what was written and flushed, and
//! the images that may be left of it. `docs/power-cut.md` says it for people.
//!
//! A process under the shim is killed, and the host keeps every byte that it wrote. The journal has
//! what each write replaced, so the state at any earlier moment can be had back: from the newest to
//! the oldest, changes are undone; then those that a device and a file system may have kept are
//! done again. Which they may keep, and which they must, is decided here from the records alone.

mod apply;
mod choice;
mod decode;
mod journal;
mod log;
mod rules;
mod stable;
mod unwritten;

pub use apply::{CutFiles, apply};
pub use choice::{CutCounts, CutImage};
pub use decode::{Journal, JournalEntry, JournalError};
pub use journal::{
    EntryKind, EntryTicket, FileIdentity, JOURNAL_DEVICES_MAX, JournalRing, NewEntry, WriteTraits,
    journal_bytes,
};
pub use rules::{FileSystem, PowerLoss};
