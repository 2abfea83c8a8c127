//! Taking over, before the program begins. Where that fails the process ends: it must not run in
//! another time than its devices.

use crate::clocks::{CLOCKS_MAX, Clocks, TIMELINES, take_over};
use crate::read_hooks::real;
use crate::translated::CTime;
use base::{CLOCK_VARIABLE, DilatedClock};
use libc::clockid_t;

#[used]
#[unsafe(link_section = ".init_array")]
static START: extern "C" fn() = start;

extern "C" fn start() {
    match DilatedClock::of_variable(std::env::var_os(CLOCK_VARIABLE)) {
        Ok(clock) => clock.map(dilated).into_iter().for_each(take_over),
        Err(why) => preload::end_unfit(&format!("clock: {why}")),
    }
}

/// Each clock leaves the real one at the same moment, which only one of them tells.
fn dilated(monotonic: DilatedClock) -> Clocks {
    let of = |now_ns: u64, passed_ns: u64| DilatedClock {
        origin_ns: now_ns.saturating_sub(passed_ns),
        ..monotonic
    };
    let passed_ns = || now_ns(libc::CLOCK_MONOTONIC).saturating_sub(monotonic.origin_ns);
    let mut by_number = [None; CLOCKS_MAX];
    for timeline in TIMELINES {
        let dilated = match timeline[0] {
            libc::CLOCK_MONOTONIC => monotonic,
            other => of(now_ns(other), passed_ns()),
        };
        timeline.iter().for_each(|clock| by_number[*clock as usize] = Some(dilated));
    }
    // By how much a thread may sleep too long, 50 us, is no more of a clock that runs faster. All
    // threads have it from this one.
    let slack_ns = 50_000.0 * monotonic.dilation.factor().min(1.0);
    // SAFETY: passes numbers.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, slack_ns as libc::c_ulong) };
    let ticks = u64::try_from(real::times(std::ptr::null_mut())).unwrap_or(0);
    // SAFETY: asks for a number.
    let per_s = u64::try_from(unsafe { libc::sysconf(libc::_SC_CLK_TCK) }).unwrap_or(100);
    let passed_ticks = u128::from(passed_ns()) * u128::from(per_s) / 1_000_000_000;
    Clocks {
        by_number,
        ticks: of(ticks, passed_ticks as u64),
        durations: DilatedClock { origin_ns: 0, ..monotonic },
    }
}

fn now_ns(clock: clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    real::clock_gettime(clock, &raw mut time);
    time.ns().unwrap_or(0)
}
