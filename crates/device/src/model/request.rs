//! Requests to a device, and what is known of them. Times are nanoseconds of the caller's clock.

use crate::page::AccessKind;

/// A moment, in nanoseconds, where it stands beside an address.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment(pub u64);

/// One request to a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    pub kind: AccessKind,
    /// On the device ([`crate::device_address`]); of no meaning for a flush.
    pub address: u64,
    pub bytes: u32,
}

/// A request under way.
#[derive(Debug, PartialEq, Eq)]
pub struct Ticket(pub(super) u32);

/// What is known of a request.
#[derive(Debug, PartialEq, Eq)]
pub enum RequestState {
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

impl RequestState {
    pub(super) fn at_once(now_ns: u64) -> RequestState {
        RequestState::Decided(Completion { due_ns: now_ns, service_ns: 0 })
    }
}
