//! What is done to files of emulated devices, handed to the journal where there is one.
//!
//! A change is over when who asked for it is told so. Names are recorded when they have changed; a
//! file whose name is taken away is kept under another one until that is stable.

use crate::files::{self, Open};
use crate::flight::Extent;
use crate::journal::{RecordedFile, WriteJournal, identify};
use crate::path::PathOf;
use crate::real::{self, keeping_errno};
use crate::removed::RemovedFile;
use crate::state::{ShimState, state};
use device::Role;
use device::cut::{EntryKind, EntryTicket, FileIdentity, NewEntry, WriteTraits};
use libc::{c_char, c_int, off_t};

/// The file of a descriptor, where it is to be recorded: on an emulated device, and with a name.
fn recorded(
    state: &ShimState,
    (fd, place): (c_int, usize),
    role: Role,
) -> Option<(&WriteJournal, RecordedFile)> {
    let journal = state.journal.as_ref()?;
    let device = state.device_of(role)?;
    // SAFETY: the call writes to where it is told to.
    let file = identify(|status| unsafe { libc::fstat(fd, status) })?;
    file.has_name.then(|| (journal, file.on(device).at(place)))
}

/// A write is about to begin.
pub(crate) fn write_begins(
    state: &ShimState,
    (fd, open): (c_int, Open),
    role: Role,
    extent: Extent,
) -> Option<EntryTicket> {
    if extent.bytes == 0 {
        return None;
    }
    let (journal, file) = recorded(state, (fd, open.place()), role)?;
    let traits = WriteTraits { direct: open.is_direct(), through: open.is_sync() };
    let (offset, length) = (extent.offset, extent.bytes);
    let entry = NewEntry { traits, offset, length, ..file.entry(EntryKind::Write) };
    journal.begin(fd, &entry)
}

/// A flush is about to begin.
pub(crate) fn flush_begins(
    state: &ShimState,
    (fd, open): (c_int, Open),
    role: Role,
) -> Option<EntryTicket> {
    let (journal, file) = recorded(state, (fd, open.place()), role)?;
    journal.ring.begin(&file.entry(EntryKind::Flush))
}

/// The flush of a directory is about to begin: it flushes what was logged on the device that the
/// directory is on.
pub(crate) fn directory_flush_begins(state: &ShimState, fd: c_int) -> Option<EntryTicket> {
    let journal = state.journal.as_ref()?;
    let path = PathOf::of_descriptor(fd)?;
    let device = state.device_of(state.role_in(path.bytes())?)?;
    let mut status = std::mem::MaybeUninit::<libc::stat>::uninit();
    // SAFETY: the status is ours, and read only where it was written.
    let is_directory = unsafe {
        libc::fstat(fd, status.as_mut_ptr()) == 0
            && status.assume_init().st_mode & libc::S_IFMT == libc::S_IFDIR
    };
    let entry = RecordedFile::NONE.on(device).entry(EntryKind::Flush);
    is_directory.then(|| journal.ring.begin(&entry)).flatten()
}

/// Bytes of a file are about to be written out, without a flush.
pub(crate) fn write_out_begins(
    state: &ShimState,
    (fd, open): (c_int, Open),
    extent: Extent,
) -> Option<EntryTicket> {
    let role = open.file()?.role();
    let (journal, file) = recorded(state, (fd, open.place()), role)?;
    let length = if extent.bytes == 0 { u64::MAX } else { extent.bytes };
    let entry = file.entry(EntryKind::SyncRange);
    journal.ring.begin(&NewEntry { offset: extent.offset, length, ..entry })
}

/// A file is about to have another length, which `of` makes of the one that it has.
pub(crate) fn length_begins(fd: c_int, of: impl FnOnce(u64) -> u64) -> Option<EntryTicket> {
    let (state, open) = (state()?, files::seen(fd)?);
    let (journal, file) = recorded(state, (fd, open.place()), open.file()?.role())?;
    let other = of(file.bytes);
    let entry = NewEntry { other, ..file.entry(EntryKind::Length) };
    (other != file.bytes).then(|| journal.begin(fd, &entry)).flatten()
}

/// Bytes of a file are about to become zeros.
pub(crate) fn hole_begins(fd: c_int, extent: Extent) -> Option<EntryTicket> {
    let (state, open) = (state()?, files::seen(fd)?);
    let (journal, file) = recorded(state, (fd, open.place()), open.file()?.role())?;
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

/// A file was made.
pub(crate) fn created(state: &ShimState, fd: c_int, path: &PathOf, place: usize) {
    let Some(role) = files::at(place).map(files::File::role) else { return };
    if let Some((journal, file)) = recorded(state, (fd, place), role) {
        let entry = file.entry(EntryKind::Create);
        journal.note(&NewEntry { names: [path.bytes(), b""], ..entry });
    }
}

/// Sets a file's length.
pub(crate) fn truncate(fd: c_int, bytes: off_t) -> c_int {
    let ticket = length_begins(fd, |_| u64::try_from(bytes).unwrap_or(0));
    let result = real::ftruncate(fd, bytes);
    over(ticket, result == 0);
    result
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
            let path = PathOf::of_name(at, name)?;
            let relative = state.relative(path.bytes())?;
            let role = state.every_file.unwrap_or_else(|| crate::names::role_of(relative));
            let device = state.device_of(role)?;
            let flags = libc::AT_SYMLINK_NOFOLLOW;
            // SAFETY: the program passes a name, and the call writes to where it is told to.
            let recorded = identify(|status| unsafe { libc::fstatat(at, name, status, flags) })?;
            let is_in = |watched: &Vec<u8>| {
                let rest = path.bytes().strip_prefix(watched.as_slice());
                rest.is_some_and(|rest| rest.first() == Some(&b'/'))
            };
            let directory = state.directories.iter().position(is_in)?;
            Some(NameBefore { journal, recorded: recorded.on(device), path, directory })
        })
    }

    /// Keeps the file under another name. Returns whether it is kept.
    pub(crate) fn keep(&self, at: c_int, name: *const c_char) -> bool {
        let removed = &self.journal.removed;
        let Some(to) = removed.name(self.directory, self.recorded.file.inode) else {
            return false;
        };
        // SAFETY: both names end with a zero byte.
        let link = || unsafe { libc::linkat(at, name, libc::AT_FDCWD, to.as_ptr(), 0) == 0 };
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
