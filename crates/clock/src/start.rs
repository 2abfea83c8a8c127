//! Taking over, before the program begins. Where that fails the process ends: it must not run in
//! another time than its devices.

use crate::clocks::{Clocks, Timeline, take_over};
use crate::passed::CTime;
use crate::real;
use base::{CLOCK_VARIABLE, DilatedClock};

#[used]
#[unsafe(link_section = ".init_array")]
static START: extern "C" fn() = start;

extern "C" fn start() {
    real::find_all();
    let Some(text) = std::env::var_os(CLOCK_VARIABLE).filter(|text| !text.is_empty()) else {
        return;
    };
    let Some(clock) = text.to_str().and_then(DilatedClock::parse) else {
        preload::end_unfit(&format!(
            "clock: {CLOCK_VARIABLE} is {text:?}, which is no clock (8@123456789)"
        ));
    };
    if !clock.dilation.is_none() {
        take_over(dilated(clock));
    }
}

/// Each clock begins to be slower at the same moment, which only one of them tells.
fn dilated(monotonic: DilatedClock) -> Clocks {
    let of = |now_ns: u64, passed_ns: u64| DilatedClock {
        origin_ns: now_ns.saturating_sub(passed_ns),
        ..monotonic
    };
    let passed_ns = || now_ns(Timeline::Monotonic).saturating_sub(monotonic.origin_ns);
    let ticks = u64::try_from(real::times(std::ptr::null_mut())).unwrap_or(0);
    // SAFETY: asks for a number.
    let per_s = u64::try_from(unsafe { libc::sysconf(libc::_SC_CLK_TCK) }).unwrap_or(100);
    let passed_ticks = u128::from(passed_ns()) * u128::from(per_s) / 1_000_000_000;
    Clocks {
        dilated: Timeline::ALL.map(|timeline| match timeline {
            Timeline::Monotonic => monotonic,
            other => of(now_ns(other), passed_ns()),
        }),
        ticks: of(ticks, passed_ticks as u64),
        durations: DilatedClock { origin_ns: 0, ..monotonic },
    }
}

fn now_ns(timeline: Timeline) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    real::clock_gettime(timeline.clock(), &raw mut time);
    time.ns().unwrap_or(0)
}
