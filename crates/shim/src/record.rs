//! What is done to files of emulated devices, handed to the journal where there is one.
//!
//! A change is over when who asked for it is told so. Names are recorded when they have changed; a
//! file whose name is taken away is kept under another one until that is stable.

use crate::files::{self, Open};
use crate::flight::Extent;
use crate::journal::{RecordedFile, WriteJournal, identify};
use crate::path::{PathOf, of_name};
use crate::removed::RemovedFile;
use crate::state::{ShimState, state};
use crate::system::status;
use device::Role;
use device::cut::{EntryKind, EntryTicket, FileIdentity, NewEntry, WriteTraits};
use device::page::AccessKind;
use libc::{c_char, c_int};
use preload::keeping_errno;
use rustix::fs::FileType;

/// The file of a descriptor, where it is to be recorded: on an emulated device, and with a name.
fn recorded(
    state: &ShimState,
    (fd, place): (c_int, usize),
    role: Role,
) -> Option<(&WriteJournal, RecordedFile)> {
    let journal = state.journal.as_ref()?;
    let device = state.device_of(role)?;
    let file = identify(&status(fd)?)?;
    file.has_name.then(|| (journal, file.on(device).at(place)))
}

/// The file of a descriptor that is seen, where it is to be recorded, by the role of the whole.
fn recorded_whole(fd: c_int) -> Option<(&'static WriteJournal, RecordedFile)> {
    let (state, open) = (state()?, files::seen(fd)?);
    recorded(state, (fd, open.place()), open.file().role())
}

/// A write or a flush is about to begin. Of reads nothing is recorded.
pub(crate) fn begins(
    state: &ShimState,
    (fd, open): (c_int, Open),
    (role, kind): (Role, AccessKind),
    extent: Extent,
) -> Option<EntryTicket> {
    if kind == AccessKind::Read || (kind == AccessKind::Write && extent.bytes == 0) {
        return None;
    }
    let (journal, file) = recorded(state, (fd, open.place()), role)?;
    if kind == AccessKind::Flush {
        return journal.ring.begin(&file.entry(EntryKind::Flush));
    }
    let traits = WriteTraits { direct: open.is_direct(), through: open.is_sync() };
    let (offset, length) = (extent.offset, extent.bytes);
    let entry = NewEntry { traits, offset, length, ..file.entry(EntryKind::Write) };
    journal.begin(fd, &entry)
}

/// The flush of a directory is about to begin: it flushes what was logged on the device that the
/// directory is on.
pub(crate) fn directory_flush_begins(state: &ShimState, fd: c_int) -> Option<EntryTicket> {
    let journal = state.journal.as_ref()?;
    let path = PathOf::of_descriptor(fd)?;
    let device = state.device_of(state.role_in(path.bytes())?)?;
    let is_directory = FileType::from_raw_mode(status(fd)?.st_mode).is_dir();
    let entry = RecordedFile::NONE.on(device).entry(EntryKind::Flush);
    is_directory.then(|| journal.ring.begin(&entry)).flatten()
}

/// Bytes of a file are about to be written out, without a flush.
pub(crate) fn write_out_begins(fd: c_int, extent: Extent) -> Option<EntryTicket> {
    let (journal, file) = recorded_whole(fd)?;
    let length = if extent.bytes == 0 { u64::MAX } else { extent.bytes };
    let entry = file.entry(EntryKind::SyncRange);
    journal.ring.begin(&NewEntry { offset: extent.offset, length, ..entry })
}

/// A file is about to have another length, which `of` makes of the one that it has.
pub(crate) fn length_begins(fd: c_int, of: impl FnOnce(u64) -> u64) -> Option<EntryTicket> {
    let (journal, file) = recorded_whole(fd)?;
    let other = of(file.bytes);
    let entry = NewEntry { other, ..file.entry(EntryKind::Length) };
    (other != file.bytes).then(|| journal.begin(fd, &entry)).flatten()
}

/// Bytes of a file are about to become zeros.
pub(crate) fn hole_begins(fd: c_int, extent: Extent) -> Option<EntryTicket> {
    let (journal, file) = recorded_whole(fd)?;
    let length = extent.bytes.min(file.bytes.saturating_sub(extent.offset));
    let entry = NewEntry { offset: extent.offset, length, ..file.entry(EntryKind::Write) };
    (length > 0).then(|| journal.begin(fd, &entry)).flatten()
}

/// What was begun is over; `is_done`: and has happened.
pub(crate) fn over(ticket: Option<EntryTicket>, is_done: bool) {
    let (Some(ticket), Some(journal)) = (ticket, state().and_then(|state| state.journal.as_ref()))
    else {
        return;
    };
    keeping_errno(|| {
        if !is_done {
            journal.ring.give_up(&ticket, false);
            return;
        }
        journal.ring.finish(&ticket);
        if ticket.is_flush() {
            journal.removed.forget_stable(&journal.ring);
        }
    });
}

/// Does what was begun by `call`: it has happened where that returns 0.
pub(crate) fn during(ticket: Option<EntryTicket>, call: impl FnOnce() -> c_int) -> c_int {
    let result = call();
    over(ticket, result == 0);
    result
}

/// A file was made.
pub(crate) fn created(state: &ShimState, fd: c_int, path: &PathOf, place: usize) {
    if let Some((journal, file)) = recorded(state, (fd, place), files::at(place).role()) {
        let entry = file.entry(EntryKind::Create);
        journal.note(&NewEntry { names: [path.bytes(), b""], ..entry });
    }
}

/// A name that is about to be taken away from a file.
pub(crate) struct NameBefore<'a> {
    pub(crate) journal: &'a WriteJournal,
    recorded: RecordedFile,
    pub(crate) path: PathOf,
    /// Which of the watched directories it is in.
    directory: usize,
}

impl<'a> NameBefore<'a> {
    /// `None` where it is none of a file on an emulated device, or nothing is recorded.
    pub(crate) fn of(state: &'a ShimState, at: c_int, name: *const c_char) -> Option<Self> {
        let journal = state.journal.as_ref()?;
        keeping_errno(|| {
            let (path, recorded) = of_name(at, name, |fd| {
                Some((PathOf::of_descriptor(fd)?, identify(&status(fd)?)?))
            })?;
            let (directory, relative) = state.below(path.bytes())?;
            let device = state.device_of(state.role_of(relative))?;
            Some(NameBefore { journal, recorded: recorded.on(device), path, directory })
        })
    }

    /// Keeps the file under another name. Returns whether it is kept.
    pub(crate) fn keep(&self, at: c_int, name: *const c_char) -> bool {
        let removed = &self.journal.removed;
        let Some(to) = removed.name(self.directory, self.recorded.file.inode) else {
            return false;
        };
        let to = to.as_c_str().as_ptr();
        // SAFETY: both names end with a zero byte.
        let link = || unsafe { libc::linkat(at, name, libc::AT_FDCWD, to, 0) == 0 };
        self.recorded.has_one_name && keeping_errno(link)
    }

    /// The name was not taken away.
    pub(crate) fn keep_no_more(&self) {
        self.journal.removed.unlink(self.directory, self.recorded.file.inode);
    }

    /// The name was taken away, as this entry says; the file is kept.
    pub(crate) fn is_gone(&self, entry: &NewEntry) {
        keeping_errno(|| {
            let Some(over) = self.journal.note(entry) else {
                self.keep_no_more();
                return;
            };
            let file = RemovedFile {
                device: self.recorded.device,
                directory: self.directory,
                inode: self.recorded.file.inode,
                over,
            };
            self.journal.removed.add(file, &self.journal.ring);
        });
    }

    /// A record of this file.
    pub(crate) fn entry(&self, kind: EntryKind) -> NewEntry<'_> {
        NewEntry { names: [self.path.bytes(), b""], ..self.recorded.entry(kind) }
    }

    pub(crate) fn file(&self) -> FileIdentity {
        self.recorded.file
    }
}
