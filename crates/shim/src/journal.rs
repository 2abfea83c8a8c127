//! The journal of what is done to files of emulated devices, where the setup asks for one: it tells
//! later what the devices would have lost with their power (`device::cut`). What a write replaces
//! is read before it, straight into the journal.

use crate::limits::FILES_MAX;
use crate::path::PathOf;
use crate::removed::Removed;
use crate::system::{map_shared, read_all};
use device::cut::{
    EntryKind, EntryTicket, FileIdentity, JournalRing, NewEntry, PowerLoss, journal_bytes,
};
use device::{JournalSetup, Setup};
use libc::{c_int, off_t};
use rustix::fs::{FileType, Mode, OFlags, Stat};
use std::fmt::Display;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::sync::atomic::AtomicU64;

/// No place of a file.
const NO_PLACE: usize = usize::MAX;

/// The journal of this process.
pub(crate) struct WriteJournal {
    pub(crate) ring: JournalRing<'static>,
    pub(crate) removed: Removed,
}

/// A file as it is recorded.
#[derive(Clone, Copy)]
pub(crate) struct RecordedFile {
    pub(crate) device: u8,
    place: usize,
    pub(crate) file: FileIdentity,
    pub(crate) bytes: u64,
    pub(crate) has_name: bool,
    pub(crate) has_one_name: bool,
}

impl WriteJournal {
    /// Makes the journal's file anew.
    ///
    /// # Errors
    /// Where it cannot be had.
    pub(crate) fn start(
        journal: &JournalSetup,
        setup: &Setup,
        directories: &[Vec<u8>],
    ) -> Result<WriteJournal, String> {
        let unfit =
            |why: &dyn Display| format!("the journal {} cannot be used: {why}", journal.file);
        let bytes = journal_bytes(journal.ring_bytes);
        allocate(&journal.file, bytes).map_err(|error| unfit(&error))?;
        let mapped = map_shared(&journal.file, bytes as usize, std::ptr::null_mut());
        let (_, mapped) = mapped.map_err(|why| unfit(&why))?;
        // SAFETY: mapped just now at this length, aligned to pages, never unmapped, and written by
        // atomic operations, or by the kernel where a record's owner alone has them.
        let words: &[AtomicU64] =
            unsafe { std::slice::from_raw_parts(mapped.cast(), bytes as usize / 8) };
        let rules: Vec<PowerLoss> =
            setup.devices.iter().map(|device| device.profile.power_loss()).collect();
        let ring = JournalRing::new(words, FILES_MAX, rules);
        let ring = ring.ok_or_else(|| unfit(&"its ring is too short"))?;
        Ok(WriteJournal { ring, removed: Removed::new(directories)? })
    }

    /// Records what is about to happen, with what it replaces of the descriptor's file.
    pub(crate) fn begin(&self, fd: c_int, entry: &NewEntry) -> Option<EntryTicket> {
        let ticket = self.ring.begin(entry)?;
        let from = match entry.kind {
            EntryKind::Write if ticket.replaced_bytes > 0 => entry.offset,
            EntryKind::Length if ticket.replaced_bytes > 0 => entry.other,
            _ => return Some(ticket),
        };
        let Some(saved_bytes) = self.save(fd, &ticket, from) else {
            self.ring.give_up(&ticket, true);
            return None;
        };
        self.ring.ready(&ticket, saved_bytes);
        Some(ticket)
    }

    /// Reads what is going to be replaced. `None` where that fails.
    fn save(&self, fd: c_int, ticket: &EntryTicket, from: u64) -> Option<u64> {
        let (room, bytes) = (self.ring.room(ticket), ticket.replaced_bytes as usize);
        assert!(bytes <= size_of_val(room), "a record has room for what it replaces");
        // SAFETY: so many bytes of the journal's mapping, which are this record's until it is over.
        // Other processes read them only after this one has died.
        let to = unsafe { std::slice::from_raw_parts_mut(room.as_ptr().cast_mut().cast(), bytes) };
        match read_all(fd, to, from) {
            Err(rustix::io::Errno::BADF) => {
                // It may be written only.
                let again = PathOf::link_of(fd)?;
                let flags = OFlags::RDONLY | OFlags::CLOEXEC;
                let file = rustix::fs::open(again.as_c_str(), flags, Mode::empty()).ok()?;
                read_all(file.as_raw_fd(), to, from).ok()
            }
            saved => saved.ok(),
        }
    }

    /// Records what has happened. Returns that event.
    pub(crate) fn note(&self, entry: &NewEntry) -> Option<u64> {
        let ticket = self.ring.begin(entry)?;
        Some(self.ring.finish(&ticket))
    }
}

/// Makes a file of zeros, for which there is space.
fn allocate(path: &str, bytes: u64) -> std::io::Result<()> {
    let file = File::create(path)?;
    // SAFETY: the descriptor is open.
    match unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, bytes as off_t) } {
        0 => Ok(()),
        error => Err(std::io::Error::from_raw_os_error(error)),
    }
}

/// A file as it is recorded, as far as it is a regular one.
pub(crate) fn identify(status: &Stat) -> Option<RecordedFile> {
    FileType::from_raw_mode(status.st_mode).is_file().then_some(RecordedFile {
        file: FileIdentity { file_system: status.st_dev, inode: status.st_ino },
        bytes: u64::try_from(status.st_size).unwrap_or(0),
        has_name: status.st_nlink > 0,
        has_one_name: status.st_nlink == 1,
        ..RecordedFile::NONE
    })
}

impl RecordedFile {
    /// Of no file, and the first device.
    pub(crate) const NONE: RecordedFile = RecordedFile {
        device: 0,
        place: NO_PLACE,
        file: FileIdentity { file_system: 0, inode: 0 },
        bytes: 0,
        has_name: false,
        has_one_name: false,
    };

    pub(crate) fn on(self, device: usize) -> RecordedFile {
        RecordedFile { device: device as u8, ..self }
    }

    pub(crate) fn at(self, place: usize) -> RecordedFile {
        RecordedFile { place, ..self }
    }

    /// A record of it, of which the rest is to be filled in.
    pub(crate) fn entry(self, kind: EntryKind) -> NewEntry<'static> {
        let RecordedFile { device, place, file, bytes: file_bytes, .. } = self;
        NewEntry { kind, device, file, place, file_bytes, ..NewEntry::default() }
    }
}
