//! The clocks, dilated.

use base::DilatedClock;
use libc::clockid_t;
use std::sync::OnceLock;

/// Clocks that run alike, and so have one origin. The first is read for all of them.
pub(crate) const TIMELINES: [&[clockid_t]; 5] = [
    &[libc::CLOCK_REALTIME, libc::CLOCK_REALTIME_COARSE, libc::CLOCK_REALTIME_ALARM],
    &[libc::CLOCK_MONOTONIC, libc::CLOCK_MONOTONIC_COARSE],
    &[libc::CLOCK_MONOTONIC_RAW],
    &[libc::CLOCK_BOOTTIME, libc::CLOCK_BOOTTIME_ALARM],
    &[libc::CLOCK_TAI],
];

/// More than the number of any clock that is dilated.
pub(crate) const CLOCKS_MAX: usize = 16;

/// What the program is told instead of the real time.
#[derive(Debug)]
pub(crate) struct Clocks {
    /// By their numbers. `None` stays real: CPU time, and the clocks of devices.
    pub(crate) by_number: [Option<DilatedClock>; CLOCKS_MAX],
    /// The ticks that `times` counts.
    pub(crate) ticks: DilatedClock,
    /// For durations: its origin is 0.
    pub(crate) durations: DilatedClock,
}

impl Clocks {
    #[inline]
    pub(crate) fn dilated(&self, clock: clockid_t) -> Option<&DilatedClock> {
        self.by_number.get(usize::try_from(clock).ok()?)?.as_ref()
    }
}

static CLOCKS: OnceLock<Clocks> = OnceLock::new();

/// `None` where every call is passed through: without a clock, and before it has been read.
#[inline]
pub(crate) fn clocks() -> Option<&'static Clocks> {
    CLOCKS.get()
}

pub(crate) fn take_over(clocks: Clocks) {
    CLOCKS.get_or_init(|| clocks);
}
