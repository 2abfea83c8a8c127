//! A device at work.

mod array;
mod cache;
pub(crate) mod cleaning;
mod disk;
mod mechanics;
pub(crate) mod random;
mod request;
mod slots;
mod solid_state;

use crate::page::AccessKind;
use crate::profile::{Limits, Profile};
use array::Model;

pub use cache::Programmed;
pub use request::{Access, Completion, Full, RequestState, Ticket};

/// A device with its queues. All memory is taken when it is made; nothing is allocated later.
#[derive(Debug)]
pub struct Device {
    used_bytes: u64,
    gate: Gate,
    model: Model,
}

impl Device {
    /// A device that has nothing to do, with an empty cache. The profile is a valid one
    /// ([`Profile::validate`]); one that does not say how it works completes everything at once.
    pub fn new(profile: &Profile, seed: u64) -> Device {
        Device {
            used_bytes: profile.used_bytes(),
            gate: Gate::new(profile.limits.unwrap_or_default()),
            model: Model::new(profile, seed),
        }
    }

    /// Bytes from the first address on over which data lie.
    pub fn used_bytes(&self) -> u64 {
        self.used_bytes
    }

    /// Requests that hold a place of the model: those not decided, and those decided that nobody
    /// has asked for since.
    pub fn outstanding(&self) -> usize {
        self.model.outstanding()
    }

    /// What the flash of all members has written.
    pub fn programmed(&self) -> Programmed {
        self.model.programmed()
    }

    /// Brings a solid-state device into the state in which long random writing leaves it: no erased
    /// space in reserve, and from the next write on a full cache. A disk needs none, and what is
    /// trimmed ([`Profile::trimmed_bytes`]) is not in it.
    pub fn precondition(&mut self) {
        self.model.precondition();
    }

    /// One device is gone for good: the first member of an array, or the only one. Returns whether
    /// its data are somewhere else, so that requests can go on.
    pub fn lose_member(&mut self) -> bool {
        match &mut self.model {
            Model::Array(array) => array.lose_member(),
            Model::SolidState(_) | Model::Disk(_) => false,
        }
    }

    /// A request arrives. Times may come a little out of order, as threads do.
    ///
    /// # Errors
    /// [`Full`] where it cannot be held; the caller lets it pass unmodelled.
    pub fn submit(&mut self, now_ns: u64, mut access: Access) -> Result<RequestState, Full> {
        // Nothing lies beyond the end, whatever is asked for.
        access.address = access.address.min(self.used_bytes);
        let from_ns = self.gate.pass(now_ns, access);
        self.model.submit(from_ns, access)
    }

    /// Asks again for what was queued.
    pub fn poll(&mut self, now_ns: u64, ticket: Ticket) -> RequestState {
        self.model.poll(now_ns, ticket)
    }
}

/// A provider's limits: requests pass one after the other, at most so many and so many bytes in a
/// time. Without credit for idle time: what a volume does when it is used up is what a database
/// sees.
#[derive(Debug)]
struct Gate {
    request_ns: f64,
    ns_per_byte: f64,
    request_bytes: u64,
    requests_free_ns: f64,
    bytes_free_ns: f64,
    is_open: bool,
}

impl Gate {
    fn new(limits: Limits) -> Gate {
        Gate {
            request_ns: limits.iops.map_or(0.0, |iops| 1e9 / iops),
            ns_per_byte: limits.mb_per_s.map_or(0.0, |mb_per_s| 1e3 / mb_per_s),
            request_bytes: limits.request_bytes(),
            requests_free_ns: 0.0,
            bytes_free_ns: 0.0,
            is_open: limits.iops.is_none() && limits.mb_per_s.is_none(),
        }
    }

    /// When the request may go to the device.
    fn pass(&mut self, now_ns: u64, access: Access) -> u64 {
        if self.is_open || access.kind == AccessKind::Flush {
            return now_ns;
        }
        let bytes = u64::from(access.bytes);
        let requests = bytes.div_ceil(self.request_bytes.max(1)).max(1);
        let begin_ns = (now_ns as f64).max(self.requests_free_ns).max(self.bytes_free_ns);
        self.requests_free_ns = begin_ns + requests as f64 * self.request_ns;
        self.bytes_free_ns = begin_ns + bytes as f64 * self.ns_per_byte;
        (begin_ns as u64).max(now_ns)
    }
}
