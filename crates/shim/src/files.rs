//! Which descriptors are files that are seen, and which files they are. All tables are static; a
//! descriptor is looked up by one load.

use crate::limits::{DESCRIPTORS_MAX, FILES_MAX};
use crate::system::status;
use crate::{names, readers};
use base::lock;
use device::Role;
use std::os::raw::c_int;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// A file that is or was open. Its place outlives its descriptors, because its pages may still be
/// in the modelled cache.
pub(crate) struct File {
    /// What it is found by: the identity of its name, or one of the words below.
    key: AtomicU64,
    /// Where it lies on a device. It outlives the name.
    identity: AtomicU64,
    /// Role, and the bits below.
    traits: AtomicU32,
    descriptors: AtomicU32,
}

const ROLE_MASK: u32 = 0xff;
const SYSTEM_TABLESPACE: u32 = 1 << 8;
const MAY_BE_MAPPED: u32 = 1 << 9;

/// A place that was never used; who searches ends here.
const NEVER_USED: u64 = 0;
/// Nothing is left of the file.
const FREE_AGAIN: u64 = 1;
/// The file has no name, but has descriptors, or pages that are being dropped.
const NAMELESS: u64 = 2;

static DESCRIPTORS: [AtomicU64; DESCRIPTORS_MAX] = [const { AtomicU64::new(0) }; DESCRIPTORS_MAX];

static FILES: [File; FILES_MAX] = [const {
    File {
        key: AtomicU64::new(NEVER_USED),
        identity: AtomicU64::new(0),
        traits: AtomicU32::new(0),
        descriptors: AtomicU32::new(0),
    }
}; FILES_MAX];

/// Held while a place is taken or given back.
static CHANGING: Mutex<()> = Mutex::new(());

/// A descriptor that is seen, as one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Open(u64);

const FILE_MASK: u64 = 0xffff;
const DIRECT: u64 = 1 << 16;
const SYNC: u64 = 1 << 17;
const APPEND: u64 = 1 << 18;
const SEEN: u64 = 1 << 63;

impl Open {
    pub(crate) fn place(self) -> usize {
        (self.0 & FILE_MASK) as usize
    }

    pub(crate) fn file(self) -> &'static File {
        at(self.place())
    }

    /// The program asked for `O_DIRECT`.
    pub(crate) fn is_direct(self) -> bool {
        self.0 & DIRECT != 0
    }

    /// Each write is flushed.
    pub(crate) fn is_sync(self) -> bool {
        self.0 & SYNC != 0
    }

    pub(crate) fn is_append(self) -> bool {
        self.0 & APPEND != 0
    }

    fn with_flags(self, flags: c_int) -> Open {
        let bit = |flag: c_int, bit: u64| if flags & flag != 0 { bit } else { 0 };
        let bits =
            bit(libc::O_DIRECT, DIRECT) | bit(libc::O_DSYNC, SYNC) | bit(libc::O_APPEND, APPEND);
        Open(self.0 & !(DIRECT | SYNC | APPEND) | bits)
    }
}

impl File {
    fn key(&self) -> u64 {
        self.key.load(Ordering::SeqCst)
    }

    /// Which file it is for a device: [`names::identity_of`] the last name it had.
    pub(crate) fn identity(&self) -> u64 {
        self.identity.load(Ordering::Relaxed)
    }

    pub(crate) fn role(&self) -> Role {
        Role::ALL[(self.traits.load(Ordering::Relaxed) & ROLE_MASK) as usize]
    }

    pub(crate) fn is_system_tablespace(&self) -> bool {
        self.traits.load(Ordering::Relaxed) & SYSTEM_TABLESPACE != 0
    }

    pub(crate) fn may_be_mapped(&self) -> bool {
        self.traits.load(Ordering::Relaxed) & MAY_BE_MAPPED != 0
    }

    fn become_named(&self, relative: &[u8], role: Role) {
        let mut traits = role.index() as u32;
        if names::is_system_tablespace(relative) {
            traits |= SYSTEM_TABLESPACE;
        }
        if names::may_be_mapped(relative) {
            traits |= MAY_BE_MAPPED;
        }
        self.traits.store(traits, Ordering::Relaxed);
        let identity = names::identity_of(relative);
        self.identity.store(identity, Ordering::Relaxed);
        self.key.store(identity, Ordering::SeqCst);
    }
}

fn descriptor(fd: c_int) -> Option<&'static AtomicU64> {
    DESCRIPTORS.get(usize::try_from(fd).ok()?)
}

/// The file behind a descriptor, where it is one that is seen.
pub(crate) fn seen(fd: c_int) -> Option<Open> {
    let word = descriptor(fd)?.load(Ordering::Relaxed);
    (word & SEEN != 0).then_some(Open(word))
}

/// How long a file is.
pub(crate) fn file_bytes(fd: c_int) -> u64 {
    status(fd).map_or(0, |status| u64::try_from(status.st_size).unwrap_or(0))
}

/// The file of a place, which is one that this file gave.
pub(crate) fn at(place: usize) -> &'static File {
    &FILES[place]
}

/// A descriptor was opened: on a file that is seen, with these flags. Returns the file's place and
/// whether it was known before; `None` where tables are full, so that it is not seen.
pub(crate) fn open(fd: c_int, relative: &[u8], role: Role, flags: c_int) -> Option<(usize, bool)> {
    let word = descriptor(fd)?;
    let (place, is_known) = place_of(relative, role)?;
    readers::forget(fd);
    let open = Open(SEEN | place as u64).with_flags(flags);
    word.store(open.0, Ordering::Relaxed);
    Some((place, is_known))
}

/// A descriptor is closed, or not to be seen any longer. Returns the place of a file that has no
/// name and now no descriptor either: its pages are to be dropped, and then [`release`] gives the
/// place back.
pub(crate) fn close(fd: c_int) -> Option<usize> {
    let word = descriptor(fd)?;
    if word.load(Ordering::Relaxed) == 0 {
        return None;
    }
    let open = Open(word.swap(0, Ordering::Relaxed));
    if open.0 & SEEN == 0 {
        return None;
    }
    let file = open.file();
    // Either this sees that the name is gone or `forget` sees that the descriptor is, or both do.
    let is_last = file.descriptors.fetch_sub(1, Ordering::SeqCst) == 1;
    (is_last && file.key() == NAMELESS).then_some(open.place())
}

/// Nothing of a file without a name is left: another may have its place.
pub(crate) fn release(place: usize) {
    let (from, to) = (NAMELESS, FREE_AGAIN);
    // Where two saw that it was over, one comes too late, and the place is not its any more.
    let _ = at(place).key.compare_exchange(from, to, Ordering::SeqCst, Ordering::SeqCst);
}

/// `to`, which was closed, is now what `from` is. Returns whether it can be seen as that is.
pub(crate) fn duplicate(from: c_int, to: c_int) -> bool {
    let Some(open) = seen(from) else { return true };
    let Some(word) = descriptor(to) else { return false };
    open.file().descriptors.fetch_add(1, Ordering::Relaxed);
    word.store(open.0, Ordering::Relaxed);
    true
}

/// The flags of an open file were set.
pub(crate) fn set_flags(fd: c_int, flags: c_int) {
    if let (Some(word), Some(open)) = (descriptor(fd), seen(fd)) {
        // Only these can be changed; O_DSYNC stays what it was.
        let kept = if open.is_sync() { libc::O_DSYNC } else { 0 };
        let flags = flags & !libc::O_DSYNC | kept;
        word.store(open.with_flags(flags).0, Ordering::Relaxed);
    }
}

/// Takes the place of a file for one more descriptor, and tells whether it was known before.
fn place_of(relative: &[u8], role: Role) -> Option<(usize, bool)> {
    let _changing = lock(&CHANGING);
    let identity = names::identity_of(relative);
    let place = find(identity).or_else(|| find_free(identity))?;
    let file = at(place);
    let is_known = file.key() == identity;
    if !is_known {
        file.become_named(relative, role);
    }
    file.descriptors.fetch_add(1, Ordering::Relaxed);
    Some((place, is_known))
}

fn probes(identity: u64) -> impl Iterator<Item = usize> {
    (0..FILES_MAX).map(move |step| (identity as usize).wrapping_add(step) % FILES_MAX)
}

fn find(identity: u64) -> Option<usize> {
    for place in probes(identity) {
        match at(place).key() {
            NEVER_USED => break,
            found if found == identity => return Some(place),
            _ => {}
        }
    }
    // A file that was renamed is still where its first name led.
    FILES.iter().position(|file| file.key() == identity)
}

fn find_free(identity: u64) -> Option<usize> {
    probes(identity).find(|place| matches!(at(*place).key(), NEVER_USED | FREE_AGAIN))
}

/// The place of the file of this name, if it has one.
pub(crate) fn named(relative: &[u8]) -> Option<usize> {
    find(names::identity_of(relative))
}

/// The file of this name is gone. Who has it open goes on with it. Returns whether nobody has: its
/// pages are to be dropped, and then [`release`] gives the place back.
pub(crate) fn forget(place: usize) -> bool {
    let _changing = lock(&CHANGING);
    let file = at(place);
    file.key.store(NAMELESS, Ordering::SeqCst);
    file.descriptors.load(Ordering::SeqCst) == 0
}

/// The file has another name now, and with it perhaps another role. Its place stays, because
/// descriptors and pages refer to it.
pub(crate) fn rename(place: usize, relative: &[u8], role: Role) {
    let _changing = lock(&CHANGING);
    at(place).become_named(relative, role);
}

#[cfg(test)]
mod tests {
    use super::{at, close, duplicate, forget, named, open, release, rename, seen};
    use device::Role;

    /// One test, because the tables are the process's; numbers that no descriptor of the tests has.
    #[test]
    fn places_are_found_and_given_back() {
        let new_place = |fd, name: &[u8]| match open(fd, name, Role::Data, 0) {
            Some((place, false)) => place,
            other => panic!("{other:?}"),
        };
        let first = new_place(9000, b"a");
        assert_eq!(named(b"a"), Some(first));
        rename(first, b"b", Role::Data);
        assert_eq!((named(b"a"), named(b"b")), (None, Some(first)));
        // What was renamed is what is opened by its new name.
        assert_eq!(open(9001, b"b", Role::Data, 0), Some((first, true)));
        assert_eq!(seen(9001).unwrap().place(), first);
        let second = new_place(9002, b"a");
        assert_ne!(second, first);

        // Files without a name are still where they were on the device, and keep their places until
        // their pages are dropped.
        let identities = || [first, second].map(|place| at(place).identity());
        let before = identities();
        assert!(!forget(first) && !forget(second));
        assert_eq!(identities(), before);
        assert_ne!(before[0], before[1]);
        assert!(duplicate(9002, 9003));
        assert_eq!((close(9002), close(9003)), (None, Some(second)));
        let third = new_place(9002, b"a");
        assert_ne!(third, second);
        release(second);
        assert_eq!((close(9000), close(9001)), (None, Some(first)));
        release(first);
        assert_eq!((close(9002), named(b"a")), (None, Some(third)));
        assert!(forget(third));
        release(third);
        new_place(9000, b"b");
        assert_eq!(close(9000), None);
    }
}
