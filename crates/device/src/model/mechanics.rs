//! Arm and platter: where the head is, and how long it takes to somewhere else.

use super::request::Moment;
use crate::profile::Disk;
use std::ops::Range;

/// The head that is there this little too late is in time: times are whole nanoseconds, and a
/// revolution for one is none.
const TOLERANCE_NS: u64 = 2000;

#[derive(Debug)]
pub struct Mechanics {
    capacity_bytes: f64,
    pub revolution_ns: u64,
    track_bytes: u64,
    ns_per_byte: f64,
    /// The time of a seek over a share d of the addresses is `shortest + root x sqrt(d) + linear x
    /// d`: accelerating and braking for short ones, travelling at full speed for long ones.
    shortest_ns: f64,
    root_ns: f64,
    linear_ns: f64,
    /// Where the head is when it is free.
    pub address: u64,
    pub free_ns: u64,
}

/// The outermost tracks pass so much more under the head than the mean of all.
const OUTER_GAIN: f64 = 0.2;

impl Mechanics {
    /// Of a disk of which that share, the outer tracks, is used.
    pub fn new(profile: &Disk, capacity_bytes: u64, occupancy: f64) -> Mechanics {
        let revolution_ns = (profile.revolution_us() * 1e3) as u64;
        let gain = 1.0 + OUTER_GAIN * (1.0 - occupancy);
        let ns_per_byte = 1e3 / (profile.sequential_mb_per_s * gain);
        let (least_ms, most_ms) = profile.seek_bounds_ms();
        let average_ns = (profile.average_seek_ms - least_ms) * 1e6;
        let most_ns = (most_ms - least_ms) * 1e6;
        // Between two random places, the mean of d is 1/3 and that of sqrt(d) is 8/15.
        let root_ns = (average_ns - most_ns / 3.0) * 5.0;
        Mechanics {
            capacity_bytes: capacity_bytes.max(1) as f64,
            revolution_ns: revolution_ns.max(1),
            track_bytes: ((revolution_ns as f64 / ns_per_byte) as u64).max(1),
            ns_per_byte,
            shortest_ns: least_ms * 1e6,
            root_ns,
            linear_ns: most_ns - root_ns,
            address: 0,
            free_ns: 0,
        }
    }

    pub fn transfer_ns(&self, bytes: u64) -> u64 {
        (bytes as f64 * self.ns_per_byte) as u64
    }

    /// How many bytes pass under the head in that time.
    pub fn bytes_in(&self, ns: u64) -> u64 {
        (ns as f64 / self.ns_per_byte) as u64
    }

    pub fn seek_ns(&self, address: u64) -> u64 {
        let distance = self.address.abs_diff(address);
        if distance < self.track_bytes {
            return 0;
        }
        let share = (distance as f64 / self.capacity_bytes).min(1.0);
        (self.shortest_ns + self.root_ns * share.sqrt() + self.linear_ns * share) as u64
    }

    /// From `at_ns` until the address is under a head that is on its track. Tracks are laid out so
    /// that a reader that goes on to the next one loses nothing.
    fn rotation_ns(&self, Moment(at_ns): Moment, address: u64) -> u64 {
        let sector_ns = self.transfer_ns(address % self.track_bytes);
        let wait_ns =
            (sector_ns + self.revolution_ns - at_ns % self.revolution_ns) % self.revolution_ns;
        if wait_ns + TOLERANCE_NS > self.revolution_ns { 0 } else { wait_ns }
    }

    /// From `begin_ns` until the transfer can begin.
    pub fn position_ns(&self, Moment(begin_ns): Moment, address: u64) -> u64 {
        if address == self.address && begin_ns <= self.free_ns.saturating_add(TOLERANCE_NS) {
            return 0;
        }
        let seek_ns = self.seek_ns(address);
        seek_ns + self.rotation_ns(Moment(begin_ns.saturating_add(seek_ns)), address)
    }

    /// Reads or writes; answers when that is over.
    pub fn transfer(&mut self, begin: Moment, address: u64, bytes: u32) -> u64 {
        let position_ns = self.position_ns(begin, address);
        let time_ns = position_ns.saturating_add(self.transfer_ns(u64::from(bytes)));
        self.address = address.saturating_add(u64::from(bytes));
        self.free_ns = begin.0.saturating_add(time_ns);
        self.free_ns
    }
}

/// What the disk reads on behind a reader while nothing else is to do. One run of addresses is
/// kept.
#[derive(Debug, Default)]
pub struct ReadAhead {
    length_bytes: u64,
    start: u64,
    /// The head was here at that time, and has read on since, up to `limit`.
    reached: u64,
    reached_ns: u64,
    limit: u64,
    reading: bool,
}

impl ReadAhead {
    pub fn new(length_bytes: u64) -> ReadAhead {
        ReadAhead { length_bytes, ..ReadAhead::default() }
    }

    /// A read from the platter has ended.
    pub fn begin(&mut self, bytes: Range<u64>, Moment(end_ns): Moment) {
        self.start = bytes.start;
        self.reached = bytes.end;
        self.reached_ns = end_ns;
        self.limit = bytes.end.saturating_add(self.length_bytes);
        self.reading = true;
    }

    fn filled(&self, at_ns: u64, mechanics: &Mechanics) -> u64 {
        let passed_ns = at_ns.saturating_sub(self.reached_ns);
        let reached = self.reached.saturating_add(mechanics.bytes_in(passed_ns));
        reached.min(self.limit)
    }

    /// The head goes elsewhere.
    pub fn stop(&mut self, at_ns: u64, mechanics: &Mechanics) {
        if self.reading {
            self.limit = self.filled(at_ns, mechanics);
            self.reading = false;
        }
    }

    /// Whether these bytes are in the buffer, or will be without the head going elsewhere.
    pub fn has(&self, address: u64, bytes: u32) -> bool {
        self.start <= address && address.saturating_add(u64::from(bytes)) <= self.limit
    }

    /// The time at which bytes that it has are in the buffer. The head reads on behind them.
    pub fn take(&mut self, Moment(begin_ns): Moment, end: u64, mechanics: &mut Mechanics) -> u64 {
        if !self.reading {
            return begin_ns;
        }
        let filled = self.filled(begin_ns, mechanics);
        if filled == self.limit {
            // It had stopped there, and waits for the platter to come round.
            self.reached = filled;
            let wait_ns = mechanics.rotation_ns(Moment(begin_ns), filled);
            self.reached_ns = begin_ns.saturating_add(wait_ns);
        }
        let missing = end.saturating_sub(self.reached);
        let there_ns = self.reached_ns.saturating_add(mechanics.transfer_ns(missing));
        self.limit = self.limit.max(end.saturating_add(self.length_bytes));
        mechanics.address = end.max(filled);
        if end <= filled {
            return begin_ns;
        }
        mechanics.free_ns = mechanics.free_ns.max(there_ns);
        there_ns.max(begin_ns)
    }
}
