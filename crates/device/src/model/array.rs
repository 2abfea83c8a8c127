//! Several devices behind one address space: striped, mirrored, or both.

use super::disk::DiskModel;
use super::request::{Access, Completion, Full, RequestPart};
use super::slots::{OUTSTANDING_MAX, Slots};
use super::solid_state::SolidStateModel;
use crate::page::AccessKind;
use crate::profile;

/// One device that is no array.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "there are a few per process, and a box would cost each request an access to memory"
)]
pub enum MemberModel {
    SolidState(SolidStateModel),
    Disk(DiskModel),
}

impl MemberModel {
    /// `None` where the profile is none of a single device.
    pub fn new(profile: &profile::Profile, seed: u64) -> Option<MemberModel> {
        if let Some(solid) = &profile.solid_state {
            return Some(MemberModel::SolidState(SolidStateModel::new(solid, seed)));
        }
        let disk = profile.disk.as_ref()?;
        Some(MemberModel::Disk(DiskModel::new(disk, profile.capacity_bytes)))
    }

    pub fn precondition(&mut self) {
        if let MemberModel::SolidState(solid) = self {
            solid.precondition();
        }
    }

    fn has_room(&self) -> bool {
        match self {
            MemberModel::SolidState(_) => true,
            MemberModel::Disk(disk) => disk.has_room(),
        }
    }

    pub fn outstanding(&self) -> usize {
        match self {
            MemberModel::SolidState(_) => 0,
            MemberModel::Disk(disk) => disk.outstanding(),
        }
    }

    fn wait_ns(&self, now_ns: u64, access: &Access) -> u64 {
        match self {
            MemberModel::SolidState(solid) => solid.wait_ns(now_ns),
            MemberModel::Disk(disk) => disk.wait_ns(now_ns, access),
        }
    }

    pub fn submit(&mut self, now_ns: u64, access: Access) -> Result<RequestPart, Full> {
        match self {
            MemberModel::SolidState(solid) => {
                Ok(RequestPart::Decided(solid.submit(now_ns, access)))
            }
            MemberModel::Disk(disk) => disk.submit(now_ns, access),
        }
    }

    pub fn poll(&mut self, now_ns: u64, slot: u32) -> RequestPart {
        match self {
            MemberModel::SolidState(_) => {
                RequestPart::Decided(Completion { due_ns: now_ns, service_ns: 0 })
            }
            MemberModel::Disk(disk) => disk.poll(now_ns, slot),
        }
    }

    pub fn ask_again_ns(&self, now_ns: u64) -> u64 {
        match self {
            MemberModel::SolidState(_) => now_ns.saturating_add(1),
            MemberModel::Disk(disk) => disk.ask_again_ns(now_ns),
        }
    }
}

/// What is known of a request whose parts are not all decided.
#[derive(Clone, Copy, Debug)]
struct Whole {
    due_ns: u64,
    service_ns: u64,
    parts_open: u32,
}

impl Whole {
    fn add(&mut self, part: Completion) {
        self.due_ns = self.due_ns.max(part.due_ns);
        self.service_ns = self.service_ns.max(part.service_ns);
    }

    fn completion(&self) -> Completion {
        Completion { due_ns: self.due_ns, service_ns: self.service_ns }
    }
}

#[derive(Debug)]
pub struct ArrayModel {
    /// Members with different data, and how many have the same.
    columns: u64,
    mirrors: usize,
    stripe_bytes: u64,
    members: Vec<MemberModel>,
    /// The first member is gone; it ends what it has begun.
    is_degraded: bool,
    /// Where the last read of each member ended.
    read_to: Vec<u64>,
    slots: Slots<Whole>,
    /// For each slot, the members' slots of its parts: a request has at most one part on a member.
    parts: Vec<Option<u32>>,
    /// The mirror that is asked first where both are equally busy.
    turn: usize,
}

impl ArrayModel {
    /// An array without members, where the profile is not valid, completes everything at once.
    pub fn new(profile: &profile::Array, seed: u64) -> ArrayModel {
        let member = profile.profile();
        let unit = |n: u64| {
            // Members with one seed would move in step.
            let seed = seed.wrapping_add(n.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            member.as_ref().and_then(|member| MemberModel::new(member, seed))
        };
        let members: Vec<MemberModel> = (0..u64::from(profile.members)).filter_map(unit).collect();
        let columns = (profile.columns() as usize).min(members.len());
        let mirrors = members.len().checked_div(columns).unwrap_or(0);
        ArrayModel {
            columns: columns as u64,
            mirrors,
            stripe_bytes: profile.stripe_bytes.unwrap_or(u64::MAX),
            is_degraded: false,
            read_to: vec![0; members.len()],
            slots: Slots::new(),
            parts: vec![None; OUTSTANDING_MAX * members.len()],
            members,
            turn: 0,
        }
    }

    pub fn precondition(&mut self) {
        self.members.iter_mut().for_each(MemberModel::precondition);
    }

    pub fn lose_member(&mut self) -> bool {
        self.is_degraded = true;
        self.mirrors > 1
    }

    pub fn outstanding(&self) -> usize {
        let members = self.members.iter().map(MemberModel::outstanding);
        members.max().unwrap_or(0).max(self.slots.used())
    }

    pub fn submit(&mut self, now_ns: u64, access: Access) -> Result<RequestPart, Full> {
        // All parts or none: what is on some members only could not be taken back.
        if !self.slots.has_room() || !self.members.iter().all(MemberModel::has_room) {
            return Err(Full);
        }
        let whole = Whole { due_ns: now_ns, service_ns: 0, parts_open: 0 };
        let slot = self.slots.insert(whole).ok_or(Full)?;
        self.split(now_ns, access, slot);
        Ok(self.settle(slot, now_ns))
    }

    pub fn poll(&mut self, now_ns: u64, slot: u32) -> RequestPart {
        let begin = slot as usize * self.members.len();
        for (member, unit) in self.members.iter_mut().enumerate() {
            let Some(place) = self.parts.get_mut(begin + member) else {
                break;
            };
            let Some(part) = *place else { continue };
            if let RequestPart::Decided(completion) = unit.poll(now_ns, part) {
                *place = None;
                if let Some(whole) = self.slots.get_mut(slot) {
                    whole.add(completion);
                    whole.parts_open = whole.parts_open.saturating_sub(1);
                }
            }
        }
        self.settle(slot, now_ns)
    }

    /// The first of the moments at which one of its parts can be asked for.
    pub fn ask_again_ns(&self, now_ns: u64, slot: u32) -> u64 {
        let begin = slot as usize * self.members.len();
        let open = |member: &(usize, &MemberModel)| {
            let part = self.parts.get(begin + member.0);
            part.is_some_and(Option::is_some)
        };
        let members = self.members.iter().enumerate().filter(open);
        let times = members.map(|(_, unit)| unit.ask_again_ns(now_ns));
        times.min().unwrap_or(now_ns.saturating_add(1))
    }

    fn settle(&mut self, slot: u32, now_ns: u64) -> RequestPart {
        match self.slots.get(slot) {
            Some(whole) if whole.parts_open > 0 => RequestPart::Queued(slot),
            Some(whole) => {
                let completion = whole.completion();
                self.slots.remove(slot);
                RequestPart::Decided(completion)
            }
            None => RequestPart::Decided(Completion { due_ns: now_ns, service_ns: 0 }),
        }
    }

    /// Stripes that follow each other on a member are one part: a request has as many parts as
    /// columns, at most.
    fn split(&mut self, now_ns: u64, access: Access, slot: u32) {
        if self.columns == 0 {
            return;
        }
        if access.kind == AccessKind::Flush {
            for member in self.first_there()..self.members.len() {
                self.part(now_ns, access, slot, member);
            }
            return;
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
            let mirrors = mirrors.start.max(self.first_there())..mirrors.end;
            if access.kind == AccessKind::Read {
                let member = self.nearest(now_ns, &part, mirrors);
                self.part(now_ns, part, slot, member);
            } else {
                for member in mirrors {
                    self.part(now_ns, part, slot, member);
                }
            }
        }
    }

    /// The first member that is not gone.
    fn first_there(&self) -> usize {
        usize::from(self.is_degraded)
    }

    /// The mirror to read from: the disk that has just read what comes before, else the one that
    /// waits least.
    fn nearest(&mut self, now_ns: u64, part: &Access, mirrors: std::ops::Range<usize>) -> usize {
        self.turn = self.turn.wrapping_add(1);
        let first = mirrors.start;
        let mut best = (u64::MAX, first);
        for n in 0..mirrors.len() {
            let member = first + (n + self.turn) % mirrors.len();
            let Some(unit) = self.members.get(member) else {
                continue;
            };
            let goes_on = self.read_to.get(member) == Some(&part.address);
            if goes_on && matches!(unit, MemberModel::Disk(_)) {
                return member;
            }
            let wait_ns = unit.wait_ns(now_ns, part);
            if wait_ns < best.0 {
                best = (wait_ns, member);
            }
        }
        best.1
    }

    fn part(&mut self, now_ns: u64, access: Access, slot: u32, member: usize) {
        let count = self.members.len();
        let Some(unit) = self.members.get_mut(member) else {
            return;
        };
        if access.kind == AccessKind::Read
            && let Some(read_to) = self.read_to.get_mut(member)
        {
            *read_to = access.address.saturating_add(u64::from(access.bytes));
        }
        let Some(whole) = self.slots.get_mut(slot) else {
            return;
        };
        match unit.submit(now_ns, access) {
            Ok(RequestPart::Decided(completion)) => whole.add(completion),
            Ok(RequestPart::Queued(part)) => {
                whole.parts_open += 1;
                if let Some(place) = self.parts.get_mut(slot as usize * count + member) {
                    *place = Some(part);
                }
            }
            // Room was looked for before.
            Err(Full) => {}
        }
    }
}
