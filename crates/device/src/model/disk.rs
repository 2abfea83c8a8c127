//! A disk: one arm that does one thing at a time, and chooses the next when it is free.
//!
//! A choice is made for the moment at which the head became free or a request came to an idle disk,
//! among what had arrived by then, whatever the moment at which it is computed. So answers do not
//! depend on how often anybody asks.

use super::mechanics::{Mechanics, ReadAhead};
use super::request::{Access, Completion, Full, Moment, RequestState, Ticket};
use super::slots::{OUTSTANDING_MAX, Slots};
use crate::page::AccessKind;
use crate::profile;

/// Writes in the cache, however short.
const DIRTY_MAX: usize = 1024;
/// Waiting counts for an eighth of positioning, so that nothing starves. Less of it would let a 15k
/// disk do three times as much with 32 outstanding as with one; real ones do about twice as much.
const AGEING: u64 = 8;

#[derive(Clone, Copy, Debug)]
pub(super) struct DiskRequest {
    access: Access,
    arrived_ns: u64,
    sequence: u64,
    /// Acknowledged writes before a flush that are not on the platter yet.
    writes_before: usize,
    decided: Option<Completion>,
}

/// A write in the cache.
#[derive(Clone, Copy, Debug)]
struct Dirty {
    address: u64,
    bytes: u32,
    sequence: u64,
}

#[derive(Debug)]
pub struct DiskModel {
    overhead_ns: u64,
    queue_depth: usize,
    flush_ns: u64,
    flush_lies: bool,
    link_ns_per_byte: f64,
    cache_bytes: u64,
    mechanics: Mechanics,
    ahead: ReadAhead,
    pub(super) slots: Slots<DiskRequest>,
    /// Requests for the arm, and writes that find the cache full, each in the order of arrival;
    /// flushes.
    waiting: Vec<u32>,
    stalled: Vec<u32>,
    flushes: Vec<u32>,
    /// The writes in the cache, by address.
    dirty: Vec<Dirty>,
    dirty_bytes: u64,
    dirty_since_ns: u64,
    /// The last choice was one from the cache: the next is not, where both wait.
    drained_last: bool,
    sequence: u64,
    /// When the last write from the cache is on the platter.
    drained_ns: u64,
}

impl DiskModel {
    pub fn new(profile: &profile::Disk, capacity_bytes: u64, occupancy: f64) -> DiskModel {
        let overhead_ns = (profile.command_overhead_us() * 1e3) as u64;
        DiskModel {
            overhead_ns,
            queue_depth: profile.queue_depth.unwrap_or(32) as usize,
            flush_ns: (profile.flush_us.unwrap_or(100.0) * 1e3) as u64,
            flush_lies: profile.flush_lies.unwrap_or(false),
            link_ns_per_byte: 1e3 / profile.interface_mb_per_s(),
            cache_bytes: profile.write_cache_bytes.unwrap_or(0),
            mechanics: Mechanics::new(profile, capacity_bytes, occupancy),
            ahead: ReadAhead::new(profile.read_ahead_bytes.unwrap_or(1 << 20)),
            slots: Slots::new(),
            waiting: Vec::with_capacity(OUTSTANDING_MAX),
            stalled: Vec::with_capacity(OUTSTANDING_MAX),
            flushes: Vec::with_capacity(OUTSTANDING_MAX),
            dirty: Vec::with_capacity(DIRTY_MAX),
            dirty_bytes: 0,
            dirty_since_ns: 0,
            drained_last: false,
            sequence: 0,
            drained_ns: 0,
        }
    }

    /// How long a read that comes now would about wait: queue and arm.
    pub fn wait_ns(&self, now_ns: u64, access: &Access) -> u64 {
        let busy_ns = self.mechanics.free_ns.saturating_sub(now_ns);
        let queue = self.waiting.len() as u64;
        let queue_ns = (self.mechanics.revolution_ns / 2).saturating_mul(queue);
        busy_ns.saturating_add(queue_ns).saturating_add(self.mechanics.seek_ns(access.address))
    }

    pub fn submit(&mut self, now_ns: u64, access: Access) -> Result<RequestState, Full> {
        self.advance(now_ns);
        if access.kind == AccessKind::Flush && self.flush_lies {
            let (due_ns, service_ns) = (now_ns.saturating_add(self.flush_ns), self.flush_ns);
            return Ok(RequestState::Decided(Completion { due_ns, service_ns }));
        }
        self.sequence += 1;
        // Without a cache, what is acknowledged is on the platter.
        let writes_before = if access.kind == AccessKind::Flush { self.dirty.len() } else { 0 };
        let request = DiskRequest {
            access,
            arrived_ns: now_ns,
            sequence: self.sequence,
            writes_before,
            decided: None,
        };
        let kind = access.kind;
        if kind == AccessKind::Write && self.cache_bytes > 0 && self.stalled.is_empty() {
            let completion = if self.replaces(access) {
                Some(self.cached(now_ns, access.bytes))
            } else {
                self.admit(now_ns, access, request.sequence)
            };
            if let Some(completion) = completion {
                return Ok(RequestState::Decided(completion));
            }
        } else if kind == AccessKind::Flush && writes_before == 0 {
            return Ok(RequestState::Decided(self.flushed(now_ns)));
        }
        let slot = self.slots.insert(request).ok_or(Full)?;
        match kind {
            AccessKind::Flush => self.flushes.push(slot),
            AccessKind::Write if self.cache_bytes > 0 => self.stalled.push(slot),
            _ => self.waiting.push(slot),
        }
        Ok(self.poll(now_ns, Ticket(slot)))
    }

    pub fn poll(&mut self, now_ns: u64, ticket: Ticket) -> RequestState {
        self.advance(now_ns);
        match self.slots.get(ticket.0).map(|request| request.decided) {
            Some(None) => {
                let next_ns = self.next_choice_ns().unwrap_or(now_ns);
                let ask_again_ns = next_ns.max(now_ns.saturating_add(1));
                RequestState::Queued { ticket, ask_again_ns }
            }
            decided => {
                self.slots.remove(ticket.0);
                // A slot without a request is one that was never given out.
                let at_once = RequestState::at_once(now_ns);
                decided.flatten().map_or(at_once, RequestState::Decided)
            }
        }
    }

    fn link_ns(&self, bytes: u32) -> u64 {
        (f64::from(bytes) * self.link_ns_per_byte) as u64
    }

    fn flushed(&self, arrived_ns: u64) -> Completion {
        Completion {
            due_ns: arrived_ns.max(self.drained_ns).saturating_add(self.flush_ns),
            service_ns: self.flush_ns,
        }
    }

    /// Where the first write in the cache is that does not lie before this address.
    fn place_of(&self, address: u64) -> usize {
        self.dirty.partition_point(|dirty| dirty.address < address)
    }

    /// Whether the cache has a write of these bytes, which this one then replaces.
    fn replaces(&self, access: Access) -> bool {
        let there = self.dirty.get(self.place_of(access.address));
        there.is_some_and(|it| it.address == access.address && it.bytes >= access.bytes)
    }

    /// `None` where it is full.
    fn admit(&mut self, now_ns: u64, access: Access, sequence: u64) -> Option<Completion> {
        let bytes = self.dirty_bytes + u64::from(access.bytes);
        let fits = bytes <= self.cache_bytes || self.dirty.is_empty();
        if !fits || self.dirty.len() >= DIRTY_MAX {
            return None;
        }
        if self.dirty.is_empty() {
            self.dirty_since_ns = now_ns;
        }
        let dirty = Dirty { address: access.address, bytes: access.bytes, sequence };
        self.dirty.insert(self.place_of(access.address), dirty);
        self.dirty_bytes = bytes;
        Some(self.cached(now_ns, access.bytes))
    }

    fn cached(&self, now_ns: u64, bytes: u32) -> Completion {
        let service_ns = self.overhead_ns + self.link_ns(bytes);
        Completion { due_ns: now_ns.saturating_add(service_ns), service_ns }
    }

    /// The moment of the next choice, if there is anything to choose.
    fn next_choice_ns(&self) -> Option<u64> {
        let arrived_ns = |slot: &u32| self.slots.get(*slot).map(|request| request.arrived_ns);
        let waiting = self.waiting.first().and_then(arrived_ns);
        let dirty = (!self.dirty.is_empty()).then_some(self.dirty_since_ns);
        let first_ns = waiting.into_iter().chain(dirty).min()?;
        Some(first_ns.max(self.mechanics.free_ns))
    }

    /// Makes all choices up to now. Each takes a request away, so this ends.
    fn advance(&mut self, now_ns: u64) {
        while let Some(at_ns) = self.next_choice_ns().filter(|at_ns| *at_ns <= now_ns) {
            let full = self.dirty.len() * 4 >= DIRTY_MAX * 3
                || self.dirty_bytes.saturating_mul(4) >= self.cache_bytes.saturating_mul(3);
            let pressed = full || !self.flushes.is_empty();
            let drain = pressed && !self.drained_last && !self.dirty.is_empty();
            match self.choose(at_ns) {
                Some(place) if !drain => self.serve(at_ns, place),
                _ if self.dirty.is_empty() => break,
                _ => self.drain(at_ns),
            }
        }
    }

    /// The place in the queue of the request that is served next: the shortest time to its first
    /// byte, and older ones favoured.
    fn choose(&self, at_ns: u64) -> Option<usize> {
        let candidates = self.waiting.iter().take(self.queue_depth).enumerate();
        let requests = candidates.filter_map(|(place, slot)| Some((place, self.slots.get(*slot)?)));
        let arrived = requests.filter(|(_, request)| request.arrived_ns <= at_ns);
        let scored = arrived.map(|(place, request)| {
            let access = &request.access;
            let is_there = self.ahead.has(access.address, access.bytes);
            let cost_ns = if access.kind == AccessKind::Read && is_there {
                0
            } else {
                let begin_ns = at_ns.max(request.arrived_ns.saturating_add(self.overhead_ns));
                self.mechanics.position_ns(Moment(begin_ns), access.address)
            };
            let age_ns = at_ns - request.arrived_ns;
            (cost_ns as i64 - (age_ns / AGEING) as i64, place)
        });
        scored.min().map(|(_, place)| place)
    }

    fn serve(&mut self, at_ns: u64, place: usize) {
        self.drained_last = false;
        let slot = self.waiting.remove(place);
        let Some(DiskRequest { access, arrived_ns, .. }) = self.slots.get(slot).copied() else {
            return;
        };
        let begin_ns = at_ns.max(arrived_ns.saturating_add(self.overhead_ns));
        let end = access.address.saturating_add(u64::from(access.bytes));
        let due_ns = if access.kind != AccessKind::Read {
            self.ahead.stop(at_ns, &self.mechanics);
            self.mechanics.transfer(Moment(begin_ns), access.address, access.bytes)
        } else if self.ahead.has(access.address, access.bytes) {
            let there_ns = self.ahead.take(Moment(begin_ns), end, &mut self.mechanics);
            there_ns.saturating_add(self.link_ns(access.bytes))
        } else {
            let end_ns = self.mechanics.transfer(Moment(begin_ns), access.address, access.bytes);
            self.ahead.begin(access.address..end, Moment(end_ns));
            end_ns
        };
        let service_ns = due_ns.saturating_sub(at_ns.max(arrived_ns));
        self.decide(slot, Completion { due_ns, service_ns });
    }

    /// Writes one from the cache, which has one: upwards over the addresses, then from the first
    /// again.
    fn drain(&mut self, at_ns: u64) {
        self.drained_last = true;
        let ahead = self.place_of(self.mechanics.address);
        let place = if ahead < self.dirty.len() { ahead } else { 0 };
        let dirty = self.dirty.remove(place);
        self.dirty_bytes = self.dirty_bytes.saturating_sub(u64::from(dirty.bytes));
        self.ahead.stop(at_ns, &self.mechanics);
        let end_ns = self.mechanics.transfer(Moment(at_ns), dirty.address, dirty.bytes);
        self.drained_ns = end_ns;
        self.on_platter(dirty.sequence);
        self.unstall(end_ns);
    }

    /// Room in the cache: those that wait for it go in.
    fn unstall(&mut self, at_ns: u64) {
        let mut moved = 0;
        while let Some(slot) = self.stalled.get(moved).copied()
            && let Some(it) = self.slots.get(slot).copied()
            // Flushes that came meanwhile do not wait for it.
            && let Some(completion) =
                self.admit(at_ns.max(it.arrived_ns), it.access, self.sequence + 1)
        {
            self.sequence += 1;
            self.decide(slot, completion);
            moved += 1;
        }
        self.stalled.drain(..moved);
    }

    /// A write is on the platter, which flushes behind it have waited for.
    fn on_platter(&mut self, sequence: u64) {
        let mut place = 0;
        while let Some(slot) = self.flushes.get(place).copied() {
            place += 1;
            let Some(flush) = self.slots.get_mut(slot) else {
                continue;
            };
            if flush.sequence < sequence {
                continue;
            }
            flush.writes_before = flush.writes_before.saturating_sub(1);
            if flush.writes_before == 0 {
                let arrived_ns = flush.arrived_ns;
                place -= 1;
                self.flushes.remove(place);
                let completion = self.flushed(arrived_ns);
                self.decide(slot, completion);
            }
        }
    }

    fn decide(&mut self, slot: u32, completion: Completion) {
        if let Some(request) = self.slots.get_mut(slot) {
            request.decided = Some(completion);
        }
    }
}
