//! The shared page: what a process under the shim has done, as 64-bit words in native order.
//!
//! The shim maps the page and adds to its words; readers read the file and decode it. A word is
//! written whole, so a reader sees each of them old or new; words that belong together may differ
//! by a request that is under way. Counters only grow. A reader takes two copies and subtracts.

use crate::role::Role;
use std::ffi::CStr;

/// First word of a page.
pub const MAGIC: u64 = u64::from_le_bytes(*b"mydyno01");

/// Words of one process, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Global {
    Magic,
    /// Set by the shim when it has taken over: the process id.
    Process,
    /// Written by who started the process: while 0, nothing waits and caches are not filled, but
    /// everything is counted; 1 emulates.
    Armed,
    /// The signal of a crash (SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT) that the process came to
    /// handle; 0: none.
    CrashSignal,
    /// 1 where the crashing thread was inside the shim.
    CrashInside,
    /// Attempts to use io_uring that were refused, so that the server falls back to what the shim
    /// sees.
    UringRefused,
    /// Requests that were not modelled because more were outstanding than the model holds.
    ModelFull,
    /// Files that were not seen because too many were open.
    FilesUnseen,
    /// Attempts to map a file of an emulated device into memory that were refused.
    MapsRefused,
    /// 4 KiB pages that buffered reads found in the modelled cache, and that they did not.
    CacheHits,
    CacheMisses,
    /// Pages now in the cache, and those of them that are dirty.
    CachePages,
    CacheDirtyPages,
    /// What the emulation itself cost: time in the model, its calls, time spun before due times.
    ModelNs,
    ModelCalls,
    SpinNs,
    /// Threads that serve a client: time from each message of it to the next wait for one; of it,
    /// time that they slept, as InnoDB does where it finds no free page, that they were blocked by
    /// other threads, and that they spun before due times.
    SessionActiveNs,
    SessionSleepNs,
    SessionBlockedNs,
    SessionSpinNs,
    /// Written by who started the process: what is wrong with its devices now
    /// ([`crate::DeviceFault::word`]); 0: nothing.
    Fault,
    /// Written by who measures the process: 1 where threads that begin to serve a client are not
    /// looked at, neither named nor timed.
    NoAccount,
}

/// The name that the shim gives to threads which serve a client.
pub const SESSION_THREAD: &CStr = c"mydyno-session";

/// How many words of the process there are; a role's begin at multiples of [`ROLE_WORDS`] behind
/// them.
pub const GLOBAL_WORDS: usize = 32;

/// Kinds of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessKind {
    Read,
    Write,
    Flush,
}

impl AccessKind {
    pub const ALL: [AccessKind; 3] = [AccessKind::Read, AccessKind::Write, AccessKind::Flush];

    pub fn name(self) -> &'static str {
        match self {
            AccessKind::Read => "read",
            AccessKind::Write => "write",
            AccessKind::Flush => "flush",
        }
    }
}

/// Words of one role that are no kind's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum OfRole {
    /// Requests at the device now, and the most there were.
    Outstanding,
    OutstandingMax,
    /// Time with at least one request outstanding, until the program fetched its completion; and
    /// the sum over requests of the time each was (mean queue depth = its rise by the time that
    /// passed).
    BusyNs,
    OutstandingNs,
    /// Emulated requests that somebody waited for when they were due, those of them that completed
    /// within 2 % of the response time or 20 us of their due time, and the sum of how late they
    /// were.
    Judged,
    WithinTolerance,
    LateNs,
    /// Emulated requests for which the host needed longer than the model.
    Overruns,
    /// Bytes that the flash of its emulated device wrote for its writes, copies included.
    ProgrammedBytes,
    /// 1 while the flash of its emulated device copies less, or more, than after long random
    /// writing.
    Unsettled,
}

const OF_ROLE_WORDS: usize = 16;

/// Words of one kind of one role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum OfKind {
    Requests,
    Bytes,
    ResponseSumNs,
    ResponseMaxNs,
    /// On the device, without waiting in its queue; emulated devices only.
    ServiceSumNs,
    ServiceMaxNs,
    /// As of a role, of this kind alone.
    Judged,
    LateNs,
    /// Time that threads which serve a client waited in them.
    SessionNs,
}

const OF_KIND_WORDS: usize = 9;
const KIND_WORDS: usize = OF_KIND_WORDS + 2 * BUCKETS;
pub const ROLE_WORDS: usize = OF_ROLE_WORDS + AccessKind::ALL.len() * KIND_WORDS;

/// Places of the program in which a thread that serves a client slept or was blocked.
pub const STACKS: usize = 1024;
/// As many of its callers are kept, the nearest first.
pub const STACK_FRAMES: usize = 29;

/// Words of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum OfStack {
    /// A hash of its addresses; 0: there is none here.
    Key,
    WaitedNs,
    /// How many addresses there are; 0: they are being written.
    Frames,
    /// The first of them.
    Addresses,
}

const STACK_WORDS: usize = OfStack::Addresses as usize + STACK_FRAMES;
const STACKS_BEGIN: usize = GLOBAL_WORDS + Role::ALL.len() * ROLE_WORDS;
/// Length of a page.
pub const PAGE_WORDS: usize = STACKS_BEGIN + STACKS * STACK_WORDS;
pub const PAGE_BYTES: usize = PAGE_WORDS * 8;

/// A histogram has 16 buckets for each doubling, from 0 to 2^40 ns (18 minutes): no bucket is wider
/// than 1/16 of its values.
const SUB_BUCKETS: u64 = 16;
pub const BUCKETS: usize = 16 * 37;

/// Which histogram of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Histogram {
    Response,
    Service,
}

/// The bucket of a time; what is beyond the last is counted in it.
pub fn bucket_of(ns: u64) -> usize {
    if ns < SUB_BUCKETS {
        return ns as usize;
    }
    let shift = 63 - ns.leading_zeros() - SUB_BUCKETS.trailing_zeros();
    let bucket = (u64::from(shift) + 1) * SUB_BUCKETS + ((ns >> shift) - SUB_BUCKETS);
    (bucket as usize).min(BUCKETS - 1)
}

/// The smallest time of a bucket.
pub fn bucket_floor_ns(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    if bucket < SUB_BUCKETS {
        return bucket;
    }
    let shift = bucket / SUB_BUCKETS - 1;
    (SUB_BUCKETS + bucket % SUB_BUCKETS) << shift
}

pub fn global_word(word: Global) -> usize {
    word as usize
}

pub fn role_word(role: Role, word: OfRole) -> usize {
    role_begin(role) + word as usize
}

pub fn kind_word(role: Role, kind: AccessKind, word: OfKind) -> usize {
    kind_begin(role, kind) + word as usize
}

pub fn bucket_word(role: Role, kind: AccessKind, histogram: Histogram, bucket: usize) -> usize {
    kind_begin(role, kind) + OF_KIND_WORDS + histogram as usize * BUCKETS + bucket.min(BUCKETS - 1)
}

pub fn stack_word(stack: usize, word: OfStack) -> usize {
    STACKS_BEGIN + stack % STACKS * STACK_WORDS + word as usize
}

fn role_begin(role: Role) -> usize {
    GLOBAL_WORDS + role.index() * ROLE_WORDS
}

fn kind_begin(role: Role, kind: AccessKind) -> usize {
    role_begin(role) + OF_ROLE_WORDS + kind as usize * KIND_WORDS
}

/// Where sessions waited, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitStack<'a> {
    pub key: u64,
    pub waited_ns: u64,
    /// To which the calls return, the innermost first.
    pub addresses: &'a [u64],
}

/// A copy of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    words: Vec<u64>,
}

impl Snapshot {
    /// Decodes the bytes of a page; `None` where they are none.
    pub fn decode(bytes: &[u8]) -> Option<Snapshot> {
        let words = bytes.as_chunks().0.iter().copied().map(u64::from_ne_bytes);
        let is_page = bytes.len() == PAGE_BYTES && words.clone().next() == Some(MAGIC);
        is_page.then(|| Snapshot { words: words.collect() })
    }

    /// The bytes of a page of a process that has done nothing.
    pub fn fresh() -> Vec<u8> {
        let mut bytes = vec![0; PAGE_BYTES];
        bytes[..8].copy_from_slice(&MAGIC.to_ne_bytes());
        bytes
    }

    /// By how much each word rose since an earlier copy of the same page. What is no count has no
    /// meaning in it, [`Snapshot::stacks`] among them.
    #[must_use]
    pub fn since(&self, earlier: &Snapshot) -> Snapshot {
        let words = self.words.iter().zip(&earlier.words);
        Snapshot { words: words.map(|(now, then)| now.saturating_sub(*then)).collect() }
    }

    /// The sum of pages, word by word: what several processes have done. Stacks have no sum.
    pub fn sum(pages: impl IntoIterator<Item = Snapshot>) -> Snapshot {
        let mut words = vec![0_u64; PAGE_WORDS];
        for page in pages {
            for (sum, word) in words.iter_mut().zip(page.words) {
                *sum = sum.saturating_add(word);
            }
        }
        Snapshot { words }
    }

    pub fn global(&self, word: Global) -> u64 {
        self.words[global_word(word)]
    }

    pub fn of_role(&self, role: Role, word: OfRole) -> u64 {
        self.words[role_word(role, word)]
    }

    pub fn of_kind(&self, role: Role, kind: AccessKind, word: OfKind) -> u64 {
        self.words[kind_word(role, kind, word)]
    }

    /// Requests of a role that the model has served; 0 of what is on real storage.
    pub fn emulated_requests(&self, role: Role) -> u64 {
        let buckets = |kind| self.buckets(role, kind, Histogram::Service);
        AccessKind::ALL.into_iter().flat_map(buckets).sum()
    }

    /// Those of this process that are whole.
    pub fn stacks(&self) -> impl Iterator<Item = WaitStack<'_>> {
        (0..STACKS).filter_map(|stack| {
            let word = |of| self.words[stack_word(stack, of)];
            let frames = (word(OfStack::Frames) as usize).min(STACK_FRAMES);
            (frames > 0).then(|| WaitStack {
                key: word(OfStack::Key),
                waited_ns: word(OfStack::WaitedNs),
                addresses: &self.words[stack_word(stack, OfStack::Addresses)..][..frames],
            })
        })
    }

    /// Occurrences per bucket.
    pub fn buckets(&self, role: Role, kind: AccessKind, histogram: Histogram) -> &[u64] {
        let begin = bucket_word(role, kind, histogram, 0);
        &self.words[begin..begin + BUCKETS]
    }
}

#[cfg(test)]
mod tests {
    use super::{
        AccessKind, BUCKETS, GLOBAL_WORDS, Global, Histogram, OF_KIND_WORDS, OF_ROLE_WORDS, OfKind,
        OfRole, OfStack, PAGE_WORDS, Role, STACK_FRAMES, STACKS, Snapshot, WaitStack,
        bucket_floor_ns, bucket_of, bucket_word, stack_word,
    };

    #[test]
    fn buckets_are_in_order_and_narrow() {
        for bucket in 0..BUCKETS {
            assert_eq!(bucket_of(bucket_floor_ns(bucket)), bucket);
        }
        for ns in [0, 1, 15, 16, 17, 31, 32, 1000, 123_456_789] {
            let floor = bucket_floor_ns(bucket_of(ns));
            assert!(floor <= ns && ns - floor <= ns / 16, "{ns}: {floor}");
        }
        assert_eq!(bucket_of(u64::MAX), BUCKETS - 1);
        assert!(bucket_floor_ns(BUCKETS - 1) > 1 << 39);
    }

    #[test]
    fn words_have_room() {
        assert!((Global::Fault as usize) < GLOBAL_WORDS);
        assert!((OfRole::Unsettled as usize) < OF_ROLE_WORDS);
        assert!((OfKind::SessionNs as usize) < OF_KIND_WORDS);
        let last = bucket_word(Role::Temp, AccessKind::Flush, Histogram::Service, BUCKETS - 1);
        assert_eq!(last + 1, stack_word(0, OfStack::Key));
        assert_eq!(stack_word(STACKS - 1, OfStack::Addresses) + STACK_FRAMES, PAGE_WORDS);
    }

    #[test]
    fn stacks_are_those_that_are_whole() {
        let mut page = Snapshot::fresh();
        let mut put = |word: usize, value: u64| {
            page[word * 8..][..8].copy_from_slice(&value.to_ne_bytes());
        };
        // Its addresses are not there yet.
        put(stack_word(3, OfStack::Key), 30);
        for (word, value) in [(OfStack::Key, 7), (OfStack::WaitedNs, 500), (OfStack::Frames, 2)] {
            put(stack_word(STACKS - 1, word), value);
        }
        put(stack_word(STACKS - 1, OfStack::Addresses), 11);
        put(stack_word(STACKS - 1, OfStack::Addresses) + 1, 12);
        let page = Snapshot::decode(&page).unwrap();
        let stacks: Vec<_> = page.stacks().collect();
        assert_eq!(stacks, [WaitStack { key: 7, waited_ns: 500, addresses: &[11, 12] }]);
    }

    #[test]
    fn pages_are_decoded() {
        let page = Snapshot::decode(&Snapshot::fresh()).unwrap();
        assert_eq!(page.of_kind(Role::Redo, AccessKind::Write, OfKind::Bytes), 0);
        assert!(Snapshot::decode(&[0; 8]).is_none());
        assert!(Snapshot::decode(&vec![0; super::PAGE_BYTES]).is_none());
    }
}
