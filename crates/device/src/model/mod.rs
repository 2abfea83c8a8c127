//! A device at work.

use crate::page::Kind;
use crate::profile::Profile;

/// One request to a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    pub kind: Kind,
    /// On the device ([`crate::device_address`]); of no meaning for a flush.
    pub address: u64,
    pub bytes: u32,
}

/// A request under way.
#[derive(Debug, PartialEq, Eq)]
pub struct Ticket(u32);

/// What is known of a request.
#[derive(Debug, PartialEq, Eq)]
pub enum Progress {
    /// It is, or will be, complete at that time; its ticket has been taken back.
    Decided(Completion),
    /// The device has not begun it: what comes until `ask_again_ns` may be served before it.
    Queued { ticket: Ticket, ask_again_ns: u64 },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    pub due_ns: u64,
    /// On the device, without waiting in its queue.
    pub service_ns: u64,
}

/// More requests are outstanding than the model holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// A device with its queues. All memory is taken when it is made; nothing is allocated later.
#[derive(Debug)]
pub struct Device {
    capacity_bytes: u64,
}

impl Device {
    #[must_use]
    pub fn new(profile: &Profile, _seed: u64) -> Device {
        Device {
            capacity_bytes: profile.capacity_bytes,
        }
    }

    #[must_use]
    pub fn capacity_bytes(&self) -> u64 {
        self.capacity_bytes
    }

    /// A request arrives. Times may come a little out of order, as threads do.
    ///
    /// # Errors
    /// [`Full`] where it cannot be held; the caller lets it pass unmodelled.
    pub fn submit(&mut self, now_ns: u64, access: Access) -> Result<Progress, Full> {
        let service_ns = 100_000 + u64::from(access.bytes);
        Ok(Progress::Decided(Completion {
            due_ns: now_ns + service_ns,
            service_ns,
        }))
    }

    /// A request that nobody waits for, such as the write-back of a page cache.
    ///
    /// # Errors
    /// As [`Device::submit`].
    pub fn submit_detached(&mut self, now_ns: u64, access: Access) -> Result<(), Full> {
        self.submit(now_ns, access).map(|_| ())
    }

    /// Asks again for what was queued.
    pub fn poll(&mut self, _now_ns: u64, _ticket: Ticket) -> Progress {
        Progress::Decided(Completion {
            due_ns: 0,
            service_ns: 0,
        })
    }
}
