//! Counting, on the page that is shared with who started the process.

use device::Role;
use device::page::{
    AccessKind, Global, Histogram, OfKind, OfRole, OfStack, PAGE_WORDS, bucket_of, bucket_word,
    global_word, kind_word, role_word, stack_word,
};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// Beside the larger of this and [`TOLERANCE_PART`] of the response time, a completion is not on
/// time.
const TOLERANCE_NS: u64 = 20_000;
const TOLERANCE_PART: u64 = 50;

/// A stack has its place within so many.
const STACK_PROBES: usize = 32;

/// A hash that is not 0.
fn key_of(addresses: &[u64]) -> u64 {
    addresses.iter().fold(1, |key, address| device::mix(key ^ address)).max(1)
}

/// How far a completion may be from its due time.
pub(crate) fn tolerance_ns(response_ns: u64) -> u64 {
    (response_ns / TOLERANCE_PART).max(TOLERANCE_NS)
}

/// The page, of which each word that is counted in has its place ([`device::page`]), and what is
/// needed to count time with requests outstanding.
pub(crate) struct Meter {
    words: &'static [AtomicU64; PAGE_WORDS],
    began_ns: u64,
    queues: [OutstandingMeter; Role::ALL.len()],
}

/// A request as it is counted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CountedRequest {
    pub(crate) role: Role,
    pub(crate) kind: AccessKind,
    pub(crate) began_ns: u64,
}

impl Meter {
    pub(crate) fn new(words: &'static [AtomicU64; PAGE_WORDS], now_ns: u64) -> Meter {
        Meter {
            words,
            began_ns: now_ns,
            queues: [const { OutstandingMeter(AtomicU64::new(0)) }; Role::ALL.len()],
        }
    }

    fn add_at(&self, index: usize, value: u64) {
        self.words[index].fetch_add(value, Ordering::Relaxed);
    }

    fn raise_at(&self, index: usize, value: u64) {
        if self.words[index].load(Ordering::Relaxed) < value {
            self.words[index].fetch_max(value, Ordering::Relaxed);
        }
    }

    fn word(&self, word: Global) -> &AtomicU64 {
        &self.words[global_word(word)]
    }

    pub(crate) fn get(&self, word: Global) -> u64 {
        self.word(word).load(Ordering::Relaxed)
    }

    pub(crate) fn set(&self, word: Global, value: u64) {
        self.word(word).store(value, Ordering::Relaxed);
    }

    /// Sets what nobody has set yet.
    pub(crate) fn set_first(&self, word: Global, value: u64) {
        let _ = self.word(word).compare_exchange(0, value, Ordering::Relaxed, Ordering::Relaxed);
    }

    pub(crate) fn add(&self, word: Global, value: u64) {
        self.add_at(global_word(word), value);
    }

    pub(crate) fn count(&self, role: Role, word: OfRole, value: u64) {
        self.add_at(role_word(role, word), value);
    }

    pub(crate) fn set_of(&self, role: Role, word: OfRole, value: u64) {
        self.words[role_word(role, word)].store(value, Ordering::Relaxed);
    }

    pub(crate) fn is_armed(&self) -> bool {
        self.get(Global::Armed) != 0
    }

    /// A request goes to the device.
    pub(crate) fn begin(&self, role: Role, kind: AccessKind, began_ns: u64) -> CountedRequest {
        let since_ns = began_ns.saturating_sub(self.began_ns);
        let outstanding = self.queues[role.index()].enter(since_ns);
        self.count(role, OfRole::Outstanding, 1);
        self.raise_at(role_word(role, OfRole::OutstandingMax), outstanding);
        CountedRequest { role, kind, began_ns }
    }

    /// It has come back; `bytes` is `None` where it failed and is no request.
    pub(crate) fn end(&self, counted: CountedRequest, ended_ns: u64, bytes: Option<u64>) {
        let CountedRequest { role, kind, began_ns } = counted;
        let response_ns = ended_ns.saturating_sub(began_ns);
        let busy_ns = self.queues[role.index()].leave(ended_ns.saturating_sub(self.began_ns));
        self.count(role, OfRole::BusyNs, busy_ns);
        self.count(role, OfRole::OutstandingNs, response_ns);
        self.count(role, OfRole::Outstanding, 1_u64.wrapping_neg());
        let Some(bytes) = bytes else { return };
        self.add_at(kind_word(role, kind, OfKind::Requests), 1);
        self.add_at(kind_word(role, kind, OfKind::Bytes), bytes);
        self.add_at(kind_word(role, kind, OfKind::ResponseSumNs), response_ns);
        self.raise_at(kind_word(role, kind, OfKind::ResponseMaxNs), response_ns);
        let bucket = bucket_of(response_ns);
        self.add_at(bucket_word(role, kind, Histogram::Response, bucket), 1);
    }

    /// What the model said of a request.
    pub(crate) fn serviced(&self, role: Role, kind: AccessKind, service_ns: u64) {
        self.add_at(kind_word(role, kind, OfKind::ServiceSumNs), service_ns);
        self.raise_at(kind_word(role, kind, OfKind::ServiceMaxNs), service_ns);
        let bucket = bucket_of(service_ns);
        self.add_at(bucket_word(role, kind, Histogram::Service, bucket), 1);
    }

    /// A request that somebody waited for came back at the end of `late` instead of its beginning.
    pub(crate) fn judge(&self, counted: CountedRequest, late: Range<u64>) {
        let CountedRequest { role, kind, began_ns } = counted;
        let response_ns = late.start.saturating_sub(began_ns);
        let late_ns = late.end.saturating_sub(late.start);
        self.add_at(kind_word(role, kind, OfKind::Judged), 1);
        self.add_at(kind_word(role, kind, OfKind::LateNs), late_ns);
        self.count(role, OfRole::Judged, 1);
        self.count(role, OfRole::LateNs, late_ns);
        if late_ns <= tolerance_ns(response_ns) {
            self.count(role, OfRole::WithinTolerance, 1);
        }
    }

    /// Adds to the time that sessions waited where these calls return to. Where there is no room
    /// for another place, it is not told of.
    pub(crate) fn waited_at(&self, addresses: &[u64], ns: u64) {
        let (key, relaxed) = (key_of(addresses), Ordering::Relaxed);
        let is_free_or_same = |stack: &usize| {
            let word = |of| &self.words[stack_word(*stack, of)];
            match word(OfStack::Key).compare_exchange(0, key, relaxed, relaxed) {
                Ok(_) => {
                    let words = &self.words[stack_word(*stack, OfStack::Addresses)..];
                    words.iter().zip(addresses).for_each(|(word, at)| word.store(*at, relaxed));
                    word(OfStack::Frames).store(addresses.len() as u64, Ordering::Release);
                    true
                }
                Err(other) => other == key,
            }
        };
        let mut near = (0..STACK_PROBES).map(|n| (key as usize).wrapping_add(n));
        if let Some(stack) = near.find(is_free_or_same) {
            self.add_at(stack_word(stack, OfStack::WaitedNs), ns);
        }
    }

    /// A thread that serves a client waited in a request for that long.
    pub(crate) fn session_waited(&self, role: Role, kind: AccessKind, ns: u64) {
        self.add_at(kind_word(role, kind, OfKind::SessionNs), ns);
    }
}

/// How many requests a role has outstanding and since when its busy time has not been counted, in
/// one word, so that threads count each moment once. Times are in units of 16 ns: the word holds 52
/// days.
struct OutstandingMeter(AtomicU64);

const COUNT_BITS: u32 = 16;
const COUNT_MASK: u64 = (1 << COUNT_BITS) - 1;
const UNIT_BITS: u32 = 4;

impl OutstandingMeter {
    /// Returns how many are outstanding now.
    fn enter(&self, now_ns: u64) -> u64 {
        let now = now_ns >> UNIT_BITS;
        let enter = |word: u64| match word & COUNT_MASK {
            // Another thread may have counted up to a moment later.
            0 => Some(now.max(word >> COUNT_BITS) << COUNT_BITS | 1),
            COUNT_MASK => None,
            _ => Some(word + 1),
        };
        let (Ok(old) | Err(old)) = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, enter);
        (old & COUNT_MASK) + 1
    }

    /// Returns the busy time since it was last counted.
    fn leave(&self, now_ns: u64) -> u64 {
        let now = now_ns >> UNIT_BITS;
        let leave = |word: u64| {
            let count = word & COUNT_MASK;
            let since = (word >> COUNT_BITS).max(now);
            (count > 0).then(|| since << COUNT_BITS | (count - 1))
        };
        let before = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, leave);
        before.map_or(0, |word| now.saturating_sub(word >> COUNT_BITS) << UNIT_BITS)
    }
}

#[cfg(test)]
mod tests {
    use super::OutstandingMeter;
    use std::sync::atomic::AtomicU64;

    #[test]
    fn busy_time_is_counted_once() {
        let queue = OutstandingMeter(AtomicU64::new(0));
        assert_eq!(queue.enter(1600), 1);
        assert_eq!(queue.enter(3200), 2);
        assert_eq!(queue.leave(4800), 3200);
        assert_eq!(queue.leave(6400), 1600);
        assert_eq!(queue.leave(8000), 0);
        assert_eq!(queue.enter(16000), 1);
        // A completion that is counted late, at the time it was due.
        assert_eq!(queue.enter(32000), 2);
        assert_eq!(queue.leave(17600), 1600);
        assert_eq!(queue.leave(32000), 14400);
    }
}
