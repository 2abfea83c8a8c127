//! What servers asked of their storage, as the shim counted it.

use crate::row::{Nested, Skipped, row};
use crate::totals::TimeTotals;
use crate::values::word;

word!(
    /// What a request asks of a device.
    RequestKind {
        Read = "read",
        Write = "write",
        Flush = "flush",
    }
);

/// What a server asked of its storage in the window, as the shim counted it.
#[derive(Clone, Debug, Default)]
pub struct DeviceIo {
    pub shim: ShimFacts,
    /// Those that had requests, or a place of their own.
    pub roles: Vec<RoleIo>,
}

row! {
    /// Counters of one role.
    #[derive(Clone, Debug, Default)]
    pub struct RoleIo in "role_io" by "role" {
        /// As in `cell_place`.
        pub role: String,
        /// Time between the two readings; what rates are computed from.
        pub counted_ns: u64,
        /// Most requests at the device at once, since the server started; of several servers the
        /// most of any one.
        pub outstanding_max: u64,
        /// Time with at least one request outstanding; of several servers (`instances`) the mean of
        /// their own, while other counters are sums and `outstanding_max` and the largest response
        /// times the greatest of any one.
        pub busy_ns: u64,
        /// Sum over requests of the time each was outstanding; by `counted_ns` it is the mean queue
        /// depth.
        pub outstanding_ns: u64,
        /// Emulated requests that somebody waited for when they were due.
        pub judged: u64,
        /// Those of them that completed within 2 % of the response time or 20 us of their due time;
        /// the share is the fidelity.
        pub within_tolerance: u64,
        /// The sum of how late they were.
        pub late_ns: u64,
        /// Emulated requests, judged or not, for which the host needed longer than the model.
        pub overruns: u64,
        pub requests: Vec<RequestIo> as Skipped,
    }

    /// Requests of one kind of one role.
    #[derive(Clone, Debug)]
    pub struct RequestIo in "role_request" by "kind" {
        /// `read`, `write` or `flush`.
        pub kind: RequestKind,
        pub requests: u64,
        pub bytes: u64,
        /// From submission to completion. The sum is exact, the maximum to a sixteenth, and the
        /// histogram from buckets no wider than a sixteenth of their values.
        pub response: TimeTotals as Nested,
        /// On the device, without waiting in its queue; of emulated devices only. As exact as the
        /// response times.
        pub service: TimeTotals as Nested,
    }

    /// What the shim counted for the whole process.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub struct ShimFacts in "shim" by "repeat_id" {
        /// What it was told, as TOML: every figure of every device, and the size of the page cache.
        pub setup: String,
        /// 4 KiB pages of buffered reads that the modelled page cache had, in the window.
        pub cache_hits: u64,
        /// 4 KiB pages of buffered reads that it had not.
        pub cache_misses: u64,
        /// Pages in it at the end of the window.
        pub cache_pages: u64,
        /// Those of them that were not yet written back.
        pub cache_dirty_pages: u64,
        /// Attempts to use io_uring that were refused, so that the server falls back to what the
        /// shim sees; since the server started.
        pub uring_refused: u64,
        /// Requests that were not modelled because too many were outstanding; since the server
        /// started.
        pub model_full: u64,
        /// Files that were not seen because too many were open; since the server started.
        pub files_unseen: u64,
        /// Attempts to map a file of an emulated device into memory that were refused; since the
        /// server started.
        pub maps_refused: u64,
        /// Time in the model, which is what the emulation cost in the window.
        pub model_ns: u64,
        /// Calls of the model.
        pub model_calls: u64,
        /// Time spun before due times.
        pub spin_ns: u64,
    }
}

impl RoleIo {
    /// Requests that an emulated device has served, whether or not somebody waited for them.
    pub fn emulated_requests(&self) -> u64 {
        let served = |request: &RequestIo| request.service.histogram.len();
        self.requests.iter().map(served).sum()
    }
}

/// The order in which roles are shown.
pub(crate) fn rank(role: &str) -> usize {
    const ORDER: [&str; 6] = ["data", "redo", "undo", "doublewrite", "binlog", "temp"];
    let place = ORDER.iter().position(|known| *known == role);
    place.unwrap_or(ORDER.len())
}
