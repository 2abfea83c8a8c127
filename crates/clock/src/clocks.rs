//! The clocks, dilated.

use base::DilatedClock;
use libc::clockid_t;
use std::sync::OnceLock;

/// Clocks that run alike, and so have one origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Timeline {
    Realtime,
    Monotonic,
    MonotonicRaw,
    Boottime,
    Tai,
}

impl Timeline {
    pub(crate) const ALL: [Timeline; 5] = [
        Timeline::Realtime,
        Timeline::Monotonic,
        Timeline::MonotonicRaw,
        Timeline::Boottime,
        Timeline::Tai,
    ];

    /// `None` of what stays real: CPU time, and the clocks of devices.
    fn of(clock: clockid_t) -> Option<Timeline> {
        Some(match clock {
            libc::CLOCK_REALTIME | libc::CLOCK_REALTIME_COARSE | libc::CLOCK_REALTIME_ALARM => {
                Timeline::Realtime
            }
            libc::CLOCK_MONOTONIC | libc::CLOCK_MONOTONIC_COARSE => Timeline::Monotonic,
            libc::CLOCK_MONOTONIC_RAW => Timeline::MonotonicRaw,
            libc::CLOCK_BOOTTIME | libc::CLOCK_BOOTTIME_ALARM => Timeline::Boottime,
            libc::CLOCK_TAI => Timeline::Tai,
            _ => return None,
        })
    }

    /// The one that is read for all of them.
    pub(crate) fn clock(self) -> clockid_t {
        match self {
            Timeline::Realtime => libc::CLOCK_REALTIME,
            Timeline::Monotonic => libc::CLOCK_MONOTONIC,
            Timeline::MonotonicRaw => libc::CLOCK_MONOTONIC_RAW,
            Timeline::Boottime => libc::CLOCK_BOOTTIME,
            Timeline::Tai => libc::CLOCK_TAI,
        }
    }
}

/// What the program is told instead of the real time.
#[derive(Debug)]
pub(crate) struct Clocks {
    /// By [`Timeline`].
    pub(crate) dilated: [DilatedClock; Timeline::ALL.len()],
    /// The ticks that `times` counts.
    pub(crate) ticks: DilatedClock,
    /// For durations: its origin is 0.
    pub(crate) durations: DilatedClock,
}

impl Clocks {
    pub(crate) fn dilated(&self, clock: clockid_t) -> Option<&DilatedClock> {
        self.dilated.get(Timeline::of(clock)? as usize)
    }
}

static CLOCKS: OnceLock<Clocks> = OnceLock::new();

/// `None` where this library only forwards: without a clock, and before it has been read.
#[inline]
pub(crate) fn clocks() -> Option<&'static Clocks> {
    CLOCKS.get()
}

pub(crate) fn take_over(clocks: Clocks) {
    CLOCKS.get_or_init(|| clocks);
}
