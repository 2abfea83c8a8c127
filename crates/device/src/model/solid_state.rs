//! A device without moving parts. Everything is decided when it arrives: nothing is reordered, so
//! nothing has to wait for what may come.

use super::cache::{Flash, Programmed, Streams, WriteCache};
use super::random::{ModelRandom, Spread};
use super::request::{Access, Completion, Moment};
use super::slots::OUTSTANDING_MAX;
use crate::page::AccessKind;
use crate::profile;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// A flash page: a read of more occupies more units.
const UNIT_BYTES: u32 = 16 << 10;
/// A read is spread over this many units at most, each of which reads several pages of a long one.
const PARTS_MAX: u32 = 8;
/// Writes of a page each that a device may have before it, of those that wait: NCQ's.
const WRITES_HELD: f64 = 32.0;

/// Reads go to the unit that is free first. Data lie on fixed dies in truth, and random reads
/// collide there; a sheet's IOPS were measured with those collisions, and so contain them. With
/// collisions in the model too, `units` would have to be a number that no one can look up, so that
/// the sheet came out.
#[derive(Debug)]
pub struct SolidStateModel {
    random: ModelRandom,
    spread: Spread,
    units: Units,
    /// Mean time on a unit, idle and while the cache drains.
    unit_ns: f64,
    unit_writing_ns: f64,
    /// From one command's start to the next one's.
    read_command_ns: f64,
    write_command_ns: f64,
    /// When all commands that came have begun, and when all reads.
    command_free_ns: f64,
    read_command_free_ns: f64,
    /// The link, per direction; that of writes is one for both where it is half duplex.
    read_free_ns: f64,
    write_free_ns: f64,
    half_duplex: bool,
    media_read_ns_per_byte: f64,
    link_ns_per_byte: f64,
    /// The time of a write, without its transfer.
    write_ns: f64,
    flush_ns: f64,
    /// Whether a flush waits for the cache to be empty.
    flush_drains: bool,
    cache: WriteCache,
    streams: Streams,
    read_streams: Streams,
    held: HeldWrites,
    /// Whether a flush has the link for itself.
    is_exclusive: bool,
    /// Writes since the last flush.
    unflushed: bool,
    /// The last flush: when it begins, and when it is over.
    flush_begins_ns: u64,
    flushed_ns: u64,
}

impl SolidStateModel {
    pub fn new(profile: &profile::SolidState, flash: Flash, seed: u64) -> SolidStateModel {
        let link_ns_per_byte = 1e3 / profile.interface_mb_per_s();
        let transfer_ns = 4096.0 * link_ns_per_byte;
        let writing_us =
            profile.read_latency_while_writing_us.unwrap_or(profile.read_latency_us * 2.0);
        let fastest = profile.random_read_iops.max(profile.peak_iops());
        SolidStateModel {
            random: ModelRandom::new(seed),
            spread: Spread::new(profile.latency_variation.unwrap_or(0.2)),
            units: Units::new(profile.units()),
            unit_ns: (profile.read_latency_us * 1e3 - transfer_ns).max(0.0),
            unit_writing_ns: (writing_us * 1e3 - transfer_ns).max(0.0),
            read_command_ns: 1e9 / profile.random_read_iops,
            write_command_ns: 1e9 / fastest,
            command_free_ns: 0.0,
            read_command_free_ns: 0.0,
            read_free_ns: 0.0,
            write_free_ns: 0.0,
            half_duplex: profile.interface_half_duplex.unwrap_or(false),
            media_read_ns_per_byte: 1e3 / profile.sequential_read_mb_per_s,
            link_ns_per_byte,
            write_ns: (profile.write_latency_us * 1e3 - transfer_ns).max(0.0),
            flush_ns: profile.flush_us * 1e3,
            flush_drains: !profile.power_loss_protected && profile.flush_lies != Some(true),
            cache: WriteCache::new(profile, flash),
            streams: Streams::default(),
            read_streams: Streams::default(),
            held: HeldWrites::new(profile.flush_queue_depth.unwrap_or(0)),
            is_exclusive: profile.flush_queue_depth.is_some(),
            unflushed: false,
            flush_begins_ns: 0,
            flushed_ns: 0,
        }
    }

    pub fn precondition(&mut self) {
        self.cache.precondition();
    }

    pub fn programmed(&self) -> Programmed {
        self.cache.programmed()
    }

    pub fn submit(&mut self, now_ns: u64, access: Access) -> Completion {
        match access.kind {
            AccessKind::Read => self.read(now_ns, access),
            AccessKind::Write => self.write(now_ns, access),
            AccessKind::Flush => self.flush(now_ns),
        }
    }

    /// How long a read that comes now would wait.
    pub fn wait_ns(&self, now_ns: u64) -> u64 {
        let begin_ns = self.read_begins_ns(now_ns as f64) as u64;
        begin_ns.max(self.units.first_free_ns()).saturating_sub(now_ns)
    }

    /// Controller and link bound how soon one request follows another, not how long each takes:
    /// they are spacings of beginnings. As queues behind the units they would hand out what is
    /// ready in the order of arrival, which no device does.
    ///
    /// When a read begins: of the writes before it, behind those alone that the device may hold.
    /// Of what waits in front of it Linux sends reads first (block/mq-deadline.c), or the queues
    /// of NVMe take turns.
    fn read_begins_ns(&self, now_ns: f64) -> f64 {
        let behind = |free_ns: f64, each_ns: f64| free_ns.min(now_ns + WRITES_HELD * each_ns);
        let page_ns = f64::from(UNIT_BYTES) * self.link_ns_per_byte;
        let link_ns = if self.half_duplex { behind(self.write_free_ns, page_ns) } else { 0.0 };
        let commands_ns = behind(self.command_free_ns, self.write_command_ns);
        let reads_ns = self.read_command_free_ns.max(self.read_free_ns);
        now_ns.max(commands_ns).max(link_ns).max(reads_ns)
    }

    fn begin_read(&mut self, now_ns: u64, link_ns: f64) -> u64 {
        let now_ns = now_ns as f64;
        let begin_ns = self.read_begins_ns(now_ns);
        self.read_command_free_ns = begin_ns + self.read_command_ns;
        self.read_free_ns = begin_ns + link_ns;
        // What it has overtaken comes later.
        self.command_free_ns = self.command_free_ns.max(now_ns) + self.read_command_ns;
        self.command_free_ns = self.command_free_ns.max(self.read_command_free_ns);
        if self.half_duplex {
            self.write_free_ns = (self.write_free_ns.max(now_ns) + link_ns).max(self.read_free_ns);
        }
        begin_ns as u64
    }

    fn begin_write(&mut self, now_ns: u64, link_ns: f64) -> u64 {
        let begin_ns = (now_ns as f64).max(self.command_free_ns).max(self.write_free_ns);
        self.command_free_ns = begin_ns + self.write_command_ns;
        self.write_free_ns = begin_ns + link_ns;
        begin_ns as u64
    }

    fn read(&mut self, now_ns: u64, access: Access) -> Completion {
        let bytes = f64::from(access.bytes);
        let media_ns = bytes * self.media_read_ns_per_byte;
        let begin_ns = self.begin_read(now_ns, media_ns).max(now_ns);
        let transfer_ns = (bytes * self.link_ns_per_byte) as u64;
        let run = self.read_streams.run(access.address, access.bytes);
        let (ready_ns, service_ns) = if run.0 > u64::from(access.bytes) {
            // The device has read ahead: it is in memory, as a write would be.
            let mean_ns = self.unit_ns.min(self.write_ns);
            let time_ns = (mean_ns * self.spread.sample(&mut self.random)) as u64;
            (begin_ns.saturating_add(time_ns), time_ns)
        } else {
            self.read_units(begin_ns, access.bytes)
        };
        Completion {
            due_ns: ready_ns.saturating_add(transfer_ns),
            service_ns: service_ns.saturating_add(transfer_ns),
        }
    }

    /// When the flash has been read, and the longest time that a unit took for its part.
    fn read_units(&mut self, begin_ns: u64, bytes: u32) -> (u64, u64) {
        let writing = self.cache.empty_ns() > begin_ns;
        let mean_ns = if writing { self.unit_writing_ns } else { self.unit_ns };
        let pages = bytes.div_ceil(UNIT_BYTES).max(1);
        let parts = pages.min(PARTS_MAX);
        let part_ns = mean_ns * f64::from(pages.div_ceil(parts));
        let (mut ready_ns, mut service_ns) = (begin_ns, 0);
        for _ in 0..parts {
            let time_ns = (part_ns * self.spread.sample(&mut self.random)) as u64;
            ready_ns = ready_ns.max(self.units.occupy(Moment(begin_ns), time_ns));
            service_ns = service_ns.max(time_ns);
        }
        let media_ns = f64::from(bytes) * self.media_read_ns_per_byte;
        self.cache.wait_for_reads(Moment(begin_ns), media_ns.max(self.read_command_ns));
        (ready_ns, service_ns)
    }

    fn write(&mut self, now_ns: u64, access: Access) -> Completion {
        let transfer_ns = f64::from(access.bytes) * self.link_ns_per_byte;
        let begin_ns = self.begin_write(now_ns, transfer_ns).max(now_ns);
        let run = self.streams.run(access.address, access.bytes);
        let taken_ns = self.cache.admit(begin_ns, access.bytes, run);
        let spread = self.spread.sample(&mut self.random);
        let service_ns = (self.write_ns * spread + transfer_ns) as u64;
        let due_ns = taken_ns.saturating_add(service_ns);
        self.held.add(Moment(now_ns), due_ns);
        self.unflushed = true;
        Completion { due_ns, service_ns }
    }

    /// What is not acknowledged is not owed. A protected cache need not be emptied, and one whose
    /// flush lies is not. A volatile one is, and the mapping written after it, during which the
    /// flash does nothing else: so two flushes take twice as long as one, unless nothing was
    /// written between them. Those that come while one waits to begin share it, and those that
    /// come while it is under way the next: kernels send one for all of them (Linux,
    /// block/blk-flush.c).
    fn flush(&mut self, now_ns: u64) -> Completion {
        let service_ns = (self.flush_ns * self.spread.sample(&mut self.random)) as u64;
        let idle_ns = service_ns.min(self.write_ns as u64);
        if self.flush_drains && now_ns < self.flush_begins_ns {
            return Completion { due_ns: self.flushed_ns, service_ns: 0 };
        }
        let is_next = self.is_exclusive && now_ns < self.flushed_ns;
        let from_ns = if is_next { self.flushed_ns } else { self.held.complete_ns(now_ns) };
        let due_ns = if !self.flush_drains {
            from_ns.saturating_add(service_ns)
        } else if is_next {
            // Nothing was written while the first held the link.
            self.flush_begins_ns = from_ns;
            from_ns.saturating_add(idle_ns)
        } else if self.unflushed {
            self.unflushed = false;
            self.flush_begins_ns = from_ns.max(self.flushed_ns);
            self.cache.flush(Moment(self.flush_begins_ns), service_ns)
        } else {
            from_ns.max(self.flushed_ns).saturating_add(idle_ns)
        };
        self.flushed_ns = self.flushed_ns.max(due_ns);
        if self.is_exclusive {
            self.command_free_ns = self.command_free_ns.max(self.flushed_ns as f64);
            self.read_command_free_ns = self.read_command_free_ns.max(self.flushed_ns as f64);
        }
        Completion { due_ns, service_ns: service_ns.min(due_ns - from_ns) }
    }
}

/// Writes that are not complete, where a flush has to wait for those that the device holds: on a
/// link whose flush is no command of its queue.
#[derive(Debug)]
struct HeldWrites {
    queue_depth: usize,
    /// In the order of arrival. Never longer than its capacity.
    due_ns: VecDeque<u64>,
}

impl HeldWrites {
    fn new(queue_depth: u32) -> HeldWrites {
        let places = if queue_depth == 0 { 0 } else { OUTSTANDING_MAX };
        HeldWrites { queue_depth: queue_depth as usize, due_ns: VecDeque::with_capacity(places) }
    }

    fn forget(&mut self, now_ns: u64) {
        while self.due_ns.front().is_some_and(|due_ns| *due_ns <= now_ns) {
            self.due_ns.pop_front();
        }
    }

    fn add(&mut self, Moment(now_ns): Moment, due_ns: u64) {
        self.forget(now_ns);
        if self.queue_depth > 0 && self.due_ns.len() < OUTSTANDING_MAX {
            self.due_ns.push_back(due_ns);
        }
    }

    /// When the device has nothing more to do of what it holds now.
    fn complete_ns(&mut self, now_ns: u64) -> u64 {
        self.forget(now_ns);
        self.due_ns
            .iter()
            .take(self.queue_depth)
            .fold(now_ns, |last_ns, due_ns| last_ns.max(*due_ns))
    }
}

/// When each unit is free, the first on top.
#[derive(Debug)]
struct Units {
    free_ns: BinaryHeap<Reverse<u64>>,
}

impl Units {
    fn new(units: u32) -> Units {
        Units { free_ns: vec![Reverse(0); units.max(1) as usize].into() }
    }

    fn first_free_ns(&self) -> u64 {
        self.free_ns.peek().map_or(0, |first| first.0)
    }

    /// Occupies the unit that is free first, from `begin_ns` at the earliest; answers until when.
    fn occupy(&mut self, Moment(begin_ns): Moment, time_ns: u64) -> u64 {
        let mut first = self.free_ns.peek_mut().expect("a device has a unit, which stays");
        let end_ns = first.0.max(begin_ns).saturating_add(time_ns);
        *first = Reverse(end_ns);
        end_ns
    }
}
