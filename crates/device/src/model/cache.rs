//! The write cache of a solid-state device: what is taken before the flash has it.

use super::request::Moment;
use crate::profile::SolidState;

const PAGE_BYTES: f64 = 4096.0;
/// A random write costs no more pages' worth of extra work than this: longer ones fill flash pages
/// as sequential ones do.
const RANDOM_PAGES_MAX: f64 = 16.0;

/// A cache as a fluid: it knows how much is in it and when all of that will be out, but not which
/// part leaves when. So its cost is the same whatever its size.
#[derive(Debug)]
pub struct WriteCache {
    capacity_bytes: f64,
    /// In the cache at `as_of_ns`; falls evenly until `empty_ns`.
    dirty_bytes: f64,
    as_of_ns: u64,
    empty_ns: u64,
    sequential_ns_per_byte: f64,
    /// Program time of a random page, and the cleaning that it causes later.
    random_page_ns: f64,
    cleaning_page_ns: f64,
    /// Cleaning put off, and the most that erased space in reserve allows.
    debt_ns: f64,
    debt_max_ns: f64,
    /// Filled at the next write: see [`WriteCache::precondition`].
    fill: bool,
}

impl WriteCache {
    pub fn new(profile: &SolidState) -> WriteCache {
        let random_page_ns = 1e9 / profile.peak_iops();
        let cleaning_page_ns = 1e9 / profile.random_write_iops - random_page_ns;
        let reserve_pages = profile.burst_bytes.unwrap_or(0) as f64 / PAGE_BYTES;
        WriteCache {
            capacity_bytes: profile.cache_bytes() as f64,
            dirty_bytes: 0.0,
            as_of_ns: 0,
            empty_ns: 0,
            sequential_ns_per_byte: 1e3 / profile.sequential_write_mb_per_s,
            random_page_ns,
            cleaning_page_ns: cleaning_page_ns.max(0.0),
            debt_ns: 0.0,
            debt_max_ns: reserve_pages * cleaning_page_ns.max(0.0),
            fill: false,
        }
    }

    /// Brings it into the state after long random writing: nothing in reserve, and the cache full.
    pub fn precondition(&mut self) {
        self.debt_ns = self.debt_max_ns;
        self.fill = true;
    }

    /// Until when the flash has something to do.
    pub fn empty_ns(&self) -> u64 {
        self.empty_ns
    }

    /// Takes a write; answers when there was room for it. Writes are taken in their order.
    pub fn admit(&mut self, now_ns: u64, bytes: u32, sequential: bool) -> u64 {
        let mut from_ns = now_ns.max(self.as_of_ns);
        if self.fill {
            self.fill = false;
            let page_ns = self.random_page_ns + self.cleaning_page_ns;
            let drain_ns = self.capacity_bytes / PAGE_BYTES * page_ns;
            self.dirty_bytes = self.capacity_bytes;
            self.as_of_ns = from_ns;
            self.empty_ns = from_ns.saturating_add(drain_ns as u64);
        }
        let bytes = f64::from(bytes);
        let room_bytes = (self.capacity_bytes - bytes).max(0.0);
        let left_ns = self.empty_ns.saturating_sub(self.as_of_ns) as f64;
        let mut dirty_bytes = if from_ns < self.empty_ns {
            self.dirty_bytes * ((self.empty_ns - from_ns) as f64 / left_ns)
        } else {
            self.debt_ns = (self.debt_ns - (from_ns - self.empty_ns) as f64).max(0.0);
            0.0
        };
        if dirty_bytes > room_bytes {
            let keep_ns = left_ns * (room_bytes / self.dirty_bytes);
            from_ns = from_ns.max(self.empty_ns.saturating_sub(keep_ns as u64));
            dirty_bytes = room_bytes;
        }
        self.as_of_ns = from_ns;
        self.dirty_bytes = dirty_bytes + bytes;
        let cost_ns = self.cost_ns(bytes, sequential);
        self.empty_ns = self.empty_ns.max(from_ns).saturating_add(cost_ns as u64);
        from_ns
    }

    /// The flash is busy with something else for so long, after all that is in the cache; answers
    /// when that is over.
    pub fn occupy(&mut self, Moment(from_ns): Moment, time_ns: u64) -> u64 {
        self.empty_ns = self.empty_ns.max(from_ns).saturating_add(time_ns);
        self.empty_ns
    }

    fn cost_ns(&mut self, bytes: f64, sequential: bool) -> f64 {
        let plain_ns = bytes * self.sequential_ns_per_byte;
        if sequential {
            return plain_ns;
        }
        let pages = (bytes / PAGE_BYTES).ceil().clamp(1.0, RANDOM_PAGES_MAX);
        let extra_ns = self.random_page_ns - PAGE_BYTES * self.sequential_ns_per_byte;
        let cleaning_ns = pages * self.cleaning_page_ns;
        let due_ns = (self.debt_ns + cleaning_ns - self.debt_max_ns).clamp(0.0, cleaning_ns);
        self.debt_ns += cleaning_ns - due_ns;
        plain_ns.max(PAGE_BYTES * self.sequential_ns_per_byte) + pages * extra_ns.max(0.0) + due_ns
    }
}

const STREAMS: usize = 8;
const CANDIDATES: usize = 16;
/// A writer of a log begins with the block that it left half full.
const REWRITTEN_BYTES: u64 = 16 << 10;

/// Which writes go on where an earlier one ended. What has gone on once is kept apart, so that
/// random writes between do not push a log out.
#[derive(Debug, Default)]
pub struct Streams {
    streams: [u64; STREAMS],
    used: [u64; STREAMS],
    candidates: [u64; CANDIDATES],
    clock: u64,
}

impl Streams {
    /// Whether the write is one of a sequence, of which it is then the end.
    pub fn goes_on(&mut self, address: u64, bytes: u32) -> bool {
        self.clock += 1;
        let end = address.saturating_add(u64::from(bytes));
        // Nothing ends at 0, which marks what is unused.
        let ends_here = |stream: &u64| {
            *stream != 0 && address <= *stream && *stream <= address.saturating_add(REWRITTEN_BYTES)
        };
        if let Some(found) = self.streams.iter().position(ends_here) {
            self.keep(found, end);
            return true;
        }
        if let Some(found) = self.candidates.iter_mut().find(|stream| ends_here(stream)) {
            *found = 0;
            let ages = self.used.iter().enumerate();
            let oldest = ages.min_by_key(|(_, used)| **used).map_or(0, |(n, _)| n);
            self.streams[oldest] = 0;
            self.keep(oldest, end);
            return true;
        }
        self.candidates[(self.clock % CANDIDATES as u64) as usize] = end;
        false
    }

    fn keep(&mut self, place: usize, end: u64) {
        // A block written again ends before what followed it.
        self.streams[place] = end.max(self.streams[place]);
        self.used[place] = self.clock;
    }
}
