//! The write cache of a solid-state device: what is taken before the flash has it.

use super::cleaning::{Fill, TrimmedFlash};
use super::request::Moment;
use crate::profile::SolidState;

const PAGE_BYTES: f64 = 4096.0;
/// What is written one after the other over so many bytes leaves whole erase blocks behind, of
/// which nothing is copied. Shorter runs spare their share of it. More would be nearer to erase
/// blocks of all dies together, and cost a long file a part of its rate at each of its extents.
const RUN_BYTES: f64 = (1 << 20) as f64;

/// Flash that copies as much as after long random writing, but for this share, is where it stays.
const SETTLED_WITHIN: f64 = 0.05;

/// Fewer copies for a page than these take no time.
const COPIED_MIN: f64 = 1e-6;

/// What flash has written.
#[derive(Clone, Copy, Debug)]
pub struct Programmed {
    /// Those of the host, and what cleaning copied.
    pub bytes: u64,
    /// A page at a random place costs it what it does after long writing.
    pub is_settled: bool,
}

impl Programmed {
    /// Of a device without flash.
    pub const NOTHING: Programmed = Programmed { bytes: 0, is_settled: true };
}

/// The flash behind a cache.
#[derive(Clone, Copy, Debug)]
pub struct Flash {
    /// What holds live data.
    pub fill: Fill,
    /// What is erased; none after long writing.
    pub trimmed_bytes: Option<u64>,
}

/// A cache as a fluid: it knows how much is in it and when all of that will be out, but not which
/// part leaves when. So its cost is the same whatever its size.
#[derive(Debug, Default)]
pub struct WriteCache {
    capacity_bytes: f64,
    /// In the cache at `as_of_ns`; falls evenly until `empty_ns`.
    dirty_bytes: f64,
    as_of_ns: u64,
    empty_ns: u64,
    sequential_ns_per_byte: f64,
    /// What a random request costs at least, in time of the flash: its command.
    random_command_ns: f64,
    /// The cleaning that a page at a random place causes later, in the long run; and of it, what
    /// one copied page takes.
    cleaning_page_ns: f64,
    copy_ns: f64,
    /// Pages that flash writes for such a page in the long run; and until then, since its trim.
    amplification: f64,
    trimmed: Option<TrimmedFlash>,
    /// What flash has written.
    programmed_bytes: f64,
    /// Cleaning put off, and the most that erased space in reserve allows.
    debt_ns: f64,
    debt_max_ns: f64,
    /// Filled at the next write: see [`WriteCache::precondition`].
    fill: bool,
}

impl WriteCache {
    pub fn new(profile: &SolidState, flash: Flash) -> WriteCache {
        let sequential_ns_per_byte = 1e3 / profile.sequential_write_mb_per_s;
        let page_ns = PAGE_BYTES * sequential_ns_per_byte;
        let random_command_ns = profile.random_write_peak_iops.map_or(page_ns, |iops| 1e9 / iops);
        let cleaning_page_ns = 1e9 / profile.random_write_iops - random_command_ns.max(page_ns);
        let cleaning_page_ns = cleaning_page_ns.max(0.0);
        let amplification = flash.fill.amplification();
        let reserve_pages = profile.burst_bytes.unwrap_or(0) as f64 / PAGE_BYTES;
        WriteCache {
            capacity_bytes: profile.cache_bytes() as f64,
            sequential_ns_per_byte,
            random_command_ns,
            cleaning_page_ns,
            copy_ns: cleaning_page_ns / (amplification - 1.0).max(COPIED_MIN),
            amplification,
            trimmed: flash
                .trimmed_bytes
                .map(|bytes| TrimmedFlash::new(bytes as f64 / PAGE_BYTES, flash.fill)),
            debt_max_ns: reserve_pages * cleaning_page_ns,
            ..WriteCache::default()
        }
    }

    /// Brings it into the state after long random writing: nothing in reserve, and the cache full.
    /// What is trimmed has not been written for long.
    pub fn precondition(&mut self) {
        if self.trimmed.is_some() {
            return;
        }
        self.debt_ns = self.debt_max_ns;
        self.fill = true;
    }

    /// What flash has written, with what it copied.
    pub fn programmed(&self) -> Programmed {
        let now = self.trimmed.as_ref().map_or(self.amplification, TrimmedFlash::amplification);
        Programmed {
            bytes: self.programmed_bytes as u64,
            is_settled: (1.0 - now / self.amplification).abs() <= SETTLED_WITHIN,
        }
    }

    /// Until when the flash has something to do.
    pub fn empty_ns(&self) -> u64 {
        self.empty_ns
    }

    /// Takes a write, which ends a run of so many bytes; answers when there was room for it. Writes
    /// are taken in their order.
    pub fn admit(&mut self, now_ns: u64, bytes: u32, run: RunLength) -> u64 {
        let mut from_ns = now_ns.max(self.as_of_ns);
        if self.fill {
            self.fill = false;
            let pages = self.capacity_bytes / PAGE_BYTES;
            let drain_ns = pages * (self.random_command_ns + self.cleaning_page_ns);
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
        let cost_ns = self.cost_ns(bytes, run);
        self.empty_ns = self.empty_ns.max(from_ns).saturating_add(cost_ns as u64);
        from_ns
    }

    /// Has the cache drain later by what a read takes of the device. So a mix of both takes the sum
    /// of what its parts take: with 70 % reads, the sheets of Intel's P3700 and P3600 and of
    /// Micron's 5100 MAX have 81 to 111 % of that.
    pub fn wait_for_reads(&mut self, Moment(from_ns): Moment, time_ns: f64) {
        if self.empty_ns > from_ns {
            self.empty_ns = self.empty_ns.saturating_add(time_ns as u64);
        }
        // Who waits for room waits longer.
        if self.as_of_ns > from_ns {
            self.as_of_ns = self.as_of_ns.saturating_add(time_ns as u64);
        }
    }

    /// Empties what is in the cache, and has the flash busy with a flush for so long after that;
    /// answers when that is over. Writes that wait for room are none of it: they come later.
    pub fn flush(&mut self, Moment(from_ns): Moment, time_ns: u64) -> u64 {
        // Where some wait, it is as full as it will be when the last of them gets its room.
        let drain_ns = self.empty_ns.saturating_sub(self.as_of_ns.max(from_ns));
        self.empty_ns = self.empty_ns.max(from_ns).saturating_add(time_ns);
        from_ns.saturating_add(drain_ns).saturating_add(time_ns)
    }

    fn cost_ns(&mut self, bytes: f64, RunLength(run_bytes): RunLength) -> f64 {
        let random_share = (1.0 - run_bytes as f64 / RUN_BYTES).max(0.0);
        let pages = (bytes / PAGE_BYTES).ceil().max(1.0);
        let program_ns = bytes.max(PAGE_BYTES) * self.sequential_ns_per_byte;
        let command_ns = (self.random_command_ns - program_ns).max(0.0) * random_share;
        let amplification = match &mut self.trimmed {
            Some(flash) => flash.write(pages * random_share),
            None => self.amplification,
        };
        let copied_pages = pages * (amplification - 1.0) * random_share;
        self.programmed_bytes += bytes + copied_pages * PAGE_BYTES;
        let cleaning_ns = copied_pages * self.copy_ns;
        let due_ns = (self.debt_ns + cleaning_ns - self.debt_max_ns).clamp(0.0, cleaning_ns);
        self.debt_ns += cleaning_ns - due_ns;
        program_ns + command_ns + due_ns
    }
}

const STREAMS: usize = 8;
const CANDIDATES: usize = 16;
/// A writer of a log begins with the block that it left half full.
const REWRITTEN_BYTES: u64 = 16 << 10;

/// Bytes that were written, or read, one after the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunLength(pub u64);

/// Where it began and ended; nothing ends at 0, which marks what is unused.
#[derive(Clone, Copy, Debug, Default)]
struct StreamRun {
    start: u64,
    end: u64,
}

impl StreamRun {
    fn length(self) -> RunLength {
        RunLength(self.end.saturating_sub(self.start))
    }
}

/// Which requests go on where an earlier one ended. What has gone on once is kept apart, so that
/// random ones between do not push a log out.
#[derive(Debug, Default)]
pub struct Streams {
    streams: [StreamRun; STREAMS],
    used: [u64; STREAMS],
    candidates: [StreamRun; CANDIDATES],
    clock: u64,
}

impl Streams {
    /// The run that ends with this request.
    pub fn run(&mut self, address: u64, bytes: u32) -> RunLength {
        self.clock += 1;
        let end = address.saturating_add(u64::from(bytes));
        let ends_here = |run: &StreamRun| {
            run.end != 0 && address <= run.end && run.end <= address.saturating_add(REWRITTEN_BYTES)
        };
        // A block written again ends before what followed it, and may begin before all of it.
        let with_this =
            |run: StreamRun| StreamRun { start: run.start.min(address), end: run.end.max(end) };
        if let Some(found) = self.streams.iter().position(ends_here) {
            return self.keep(found, with_this(self.streams[found]));
        }
        if let Some(found) = self.candidates.iter_mut().find(|run| ends_here(run)) {
            let run = with_this(std::mem::take(found));
            let ages = self.used.iter().enumerate();
            let oldest = ages.min_by_key(|(_, used)| **used).map_or(0, |(n, _)| n);
            return self.keep(oldest, run);
        }
        let run = StreamRun { start: address, end };
        self.candidates[(self.clock % CANDIDATES as u64) as usize] = run;
        run.length()
    }

    fn keep(&mut self, place: usize, run: StreamRun) -> RunLength {
        self.streams[place] = run;
        self.used[place] = self.clock;
        run.length()
    }
}
