//! How devices work: one by itself, or several behind one address space, striped, mirrored, or
//! both.

use super::cache::{Flash, Programmed};
use super::disk::DiskModel;
use super::request::{Access, Completion, Full, RequestState, Ticket};
use super::slots::{OUTSTANDING_MAX, Slots};
use super::solid_state::SolidStateModel;
use crate::page::AccessKind;
use crate::profile::{self, SolidState};
use std::ops::Range;

#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "there are a few per process, and a box would cost each request an access to memory"
)]
pub enum Model {
    SolidState(SolidStateModel),
    Disk(DiskModel),
    /// Its members are none of these.
    Array(ArrayModel),
}

impl Model {
    pub fn new(profile: &profile::Profile, seed: u64) -> Model {
        match (&profile.solid_state, &profile.disk, &profile.array) {
            (Some(solid), _, None) => {
                let random_write_iops = solid.random_write_iops_at(profile.occupancy());
                let fill = solid.fill_at(profile.occupancy());
                let flash = Flash { fill, trimmed_bytes: profile.trimmed_bytes };
                let solid = SolidState { random_write_iops, ..solid.clone() };
                Model::SolidState(SolidStateModel::new(&solid, flash, seed))
            }
            (None, Some(disk), None) => {
                Model::Disk(DiskModel::new(disk, profile.capacity_bytes, profile.occupancy()))
            }
            _ => Model::Array(ArrayModel::new(profile, seed)),
        }
    }

    pub fn precondition(&mut self) {
        match self {
            Model::SolidState(solid) => solid.precondition(),
            Model::Disk(_) => {}
            Model::Array(array) => array.precondition(),
        }
    }

    pub fn programmed(&self) -> Programmed {
        match self {
            Model::SolidState(solid) => solid.programmed(),
            Model::Disk(_) => Programmed::NOTHING,
            Model::Array(array) => array.programmed(),
        }
    }

    fn has_room(&self) -> bool {
        match self {
            Model::Disk(disk) => disk.slots.has_room(),
            Model::SolidState(_) | Model::Array(_) => true,
        }
    }

    pub fn outstanding(&self) -> usize {
        match self {
            Model::SolidState(_) => 0,
            Model::Disk(disk) => disk.slots.used(),
            Model::Array(array) => array.outstanding(),
        }
    }

    /// How long a member of an array would let a request wait.
    fn wait_ns(&self, now_ns: u64, access: &Access) -> u64 {
        match self {
            Model::SolidState(solid) => solid.wait_ns(now_ns),
            Model::Disk(disk) => disk.wait_ns(now_ns, access),
            Model::Array(_) => 0,
        }
    }

    pub fn submit(&mut self, now_ns: u64, access: Access) -> Result<RequestState, Full> {
        match self {
            Model::SolidState(solid) => Ok(RequestState::Decided(solid.submit(now_ns, access))),
            Model::Disk(disk) => disk.submit(now_ns, access),
            Model::Array(array) => array.submit(now_ns, access),
        }
    }

    pub fn poll(&mut self, now_ns: u64, ticket: Ticket) -> RequestState {
        match self {
            Model::SolidState(_) => RequestState::at_once(now_ns),
            Model::Disk(disk) => disk.poll(now_ns, ticket),
            Model::Array(array) => array.poll(now_ns, ticket),
        }
    }
}

/// What is known of a request whose parts are not all decided.
#[derive(Clone, Copy, Debug)]
struct ArrayRequest {
    completion: Completion,
    /// The first of the moments at which one of its parts can be asked for; `None` where all are
    /// decided.
    ask_again_ns: Option<u64>,
}

impl ArrayRequest {
    /// Adds what is known of a part, which is kept in `place` where it is not decided.
    fn add(&mut self, part: RequestState, place: &mut Option<Ticket>) {
        match part {
            RequestState::Decided(Completion { due_ns, service_ns }) => {
                self.completion.due_ns = self.completion.due_ns.max(due_ns);
                self.completion.service_ns = self.completion.service_ns.max(service_ns);
            }
            RequestState::Queued { ticket, ask_again_ns } => {
                *place = Some(ticket);
                let first_ns = self.ask_again_ns.map_or(ask_again_ns, |ns| ns.min(ask_again_ns));
                self.ask_again_ns = Some(first_ns);
            }
        }
    }
}

#[derive(Debug)]
struct ArrayMember {
    model: Model,
    /// Where the last read ended.
    read_to: u64,
    /// By slot of the array, its part of that request: it has at most one.
    parts: Vec<Option<Ticket>>,
}

#[derive(Debug)]
pub struct ArrayModel {
    /// Members with different data, and how many have the same.
    columns: u64,
    mirrors: usize,
    stripe_bytes: u64,
    members: Vec<ArrayMember>,
    /// The first member is gone; it ends what it has begun.
    is_degraded: bool,
    slots: Slots<ArrayRequest>,
    /// The mirror that is asked first where both are equally busy.
    turn: usize,
}

impl ArrayModel {
    /// An array without members, where the profile is not valid, completes everything at once.
    pub fn new(profile: &profile::Profile, seed: u64) -> ArrayModel {
        let (occupancy, trimmed_bytes) = (profile.occupancy(), profile.trimmed_bytes);
        let profile = profile.array.as_ref();
        let member = profile.and_then(profile::Array::profile);
        let member = member.filter(|member| member.array.is_none());
        let part = |bytes: u64| bytes / profile.map_or(1, |array| u64::from(array.columns()));
        let member = member.map(|member| profile::Profile {
            trimmed_bytes: trimmed_bytes.map(part),
            ..member.occupied(occupancy)
        });
        let unit = |n: u32| {
            // Members with one seed would move in step.
            let seed = seed.wrapping_add(u64::from(n).wrapping_mul(0x9e37_79b9_7f4a_7c15));
            let model = Model::new(member.as_ref()?, seed);
            let parts = (0..OUTSTANDING_MAX).map(|_| None).collect();
            Some(ArrayMember { model, read_to: 0, parts })
        };
        let members: Vec<ArrayMember> =
            (0..profile.map_or(0, |array| array.members)).filter_map(unit).collect();
        let columns = profile.map_or(0, profile::Array::columns).min(members.len() as u32);
        ArrayModel {
            columns: u64::from(columns),
            mirrors: members.len().checked_div(columns as usize).unwrap_or(0),
            stripe_bytes: profile.and_then(|array| array.stripe_bytes).unwrap_or(u64::MAX),
            is_degraded: false,
            slots: Slots::new(),
            members,
            turn: 0,
        }
    }

    pub fn precondition(&mut self) {
        self.members.iter_mut().for_each(|member| member.model.precondition());
    }

    pub fn programmed(&self) -> Programmed {
        let members = self.members.iter().map(|member| member.model.programmed());
        members.fold(Programmed::NOTHING, |all, of| Programmed {
            bytes: all.bytes + of.bytes,
            is_settled: all.is_settled && of.is_settled,
        })
    }

    pub fn lose_member(&mut self) -> bool {
        self.is_degraded = self.members.len() > 1;
        self.mirrors > 1
    }

    pub fn outstanding(&self) -> usize {
        let members = self.members.iter().map(|member| member.model.outstanding());
        members.max().unwrap_or(0).max(self.slots.used())
    }

    pub fn submit(&mut self, now_ns: u64, access: Access) -> Result<RequestState, Full> {
        // All parts or none: what is on some members only could not be taken back.
        if !self.members.iter().all(|member| member.model.has_room()) {
            return Err(Full);
        }
        let completion = Completion { due_ns: now_ns, service_ns: 0 };
        let mut request = ArrayRequest { completion, ask_again_ns: None };
        let slot = self.slots.insert(request).ok_or(Full)?;
        self.split(now_ns, access, slot, &mut request);
        Ok(self.keep_if_open(slot, request))
    }

    pub fn poll(&mut self, now_ns: u64, Ticket(slot): Ticket) -> RequestState {
        let Some(mut request) = self.slots.get(slot).copied() else {
            return RequestState::at_once(now_ns);
        };
        request.ask_again_ns = None;
        for member in &mut self.members {
            let place = &mut member.parts[slot as usize];
            if let Some(part) = place.take() {
                request.add(member.model.poll(now_ns, part), place);
            }
        }
        self.keep_if_open(slot, request)
    }

    fn keep_if_open(&mut self, slot: u32, request: ArrayRequest) -> RequestState {
        match (request.ask_again_ns, self.slots.get_mut(slot)) {
            (Some(ask_again_ns), Some(kept)) => {
                *kept = request;
                RequestState::Queued { ticket: Ticket(slot), ask_again_ns }
            }
            _ => {
                self.slots.remove(slot);
                RequestState::Decided(request.completion)
            }
        }
    }

    /// Stripes that follow each other on a member are one part: a request has as many parts as
    /// columns, at most.
    fn split(&mut self, now_ns: u64, access: Access, slot: u32, request: &mut ArrayRequest) {
        if self.columns == 0 {
            return;
        }
        if access.kind == AccessKind::Flush {
            let all = self.first_there()..self.members.len();
            return self.submit_parts(now_ns, access, slot, all, request);
        }
        let stripe = self.stripe_bytes;
        let end = access.address.saturating_add(u64::from(access.bytes.max(1)));
        let (first, last) = (access.address / stripe, (end - 1) / stripe);
        for index in first..=last.min(first.saturating_add(self.columns).saturating_sub(1)) {
            let column = index % self.columns;
            let last_here = last - (last - index) % self.columns;
            let skipped = if index == first { access.address % stripe } else { 0 };
            let filled = if last_here == last { (end - 1) % stripe + 1 } else { stripe };
            let from = (index / self.columns).saturating_mul(stripe) + skipped;
            let to = (last_here / self.columns).saturating_mul(stripe).saturating_add(filled);
            let part = Access {
                kind: access.kind,
                address: from,
                bytes: to.saturating_sub(from).min(u64::from(u32::MAX)) as u32,
            };
            let mirrors = column as usize * self.mirrors..(column as usize + 1) * self.mirrors;
            let mut members = mirrors.start.max(self.first_there())..mirrors.end;
            if access.kind == AccessKind::Read {
                let nearest = self.nearest(now_ns, &part, members);
                members = nearest..nearest + 1;
            }
            self.submit_parts(now_ns, part, slot, members, request);
        }
    }

    /// The first member that is not gone.
    fn first_there(&self) -> usize {
        usize::from(self.is_degraded)
    }

    /// The mirror to read from: the disk that has just read what comes before, else the one that
    /// waits least.
    fn nearest(&mut self, now_ns: u64, part: &Access, mirrors: Range<usize>) -> usize {
        self.turn = self.turn.wrapping_add(1);
        let first = mirrors.start;
        let mut best = (u64::MAX, first);
        for n in 0..mirrors.len() {
            let member = first + (n + self.turn) % mirrors.len();
            let ArrayMember { model, read_to, .. } = &self.members[member];
            if *read_to == part.address && matches!(model, Model::Disk(_)) {
                return member;
            }
            let wait_ns = model.wait_ns(now_ns, part);
            if wait_ns < best.0 {
                best = (wait_ns, member);
            }
        }
        best.1
    }

    fn submit_parts(
        &mut self,
        now_ns: u64,
        access: Access,
        slot: u32,
        members: Range<usize>,
        request: &mut ArrayRequest,
    ) {
        for member in &mut self.members[members] {
            if access.kind == AccessKind::Read {
                member.read_to = access.address.saturating_add(u64::from(access.bytes));
            }
            // Room was looked for before.
            if let Ok(part) = member.model.submit(now_ns, access) {
                request.add(part, &mut member.parts[slot as usize]);
            }
        }
    }
}
