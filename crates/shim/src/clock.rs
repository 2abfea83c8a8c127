//! Time, and waiting for it.
//!
//! All that the shim counts and models is in the program's time, which may be dilated. Its own
//! waits are made of what this host's cores and timers need, so they are in real time, read and
//! slept past the library that dilates the program's.
//!
//! A sleeping thread wakes late by what the scheduler needs, some 15 us on an idle machine. So a
//! wait ends its sleep early, by as much as sleeps have lately overslept, and passes the rest
//! awake. It never returns early. An idle core wakes later the longer it has slept, so that a long
//! sleep ends in a short one.

use base::{CLOCK_VARIABLE, DilatedClock};
use preload::Function;
use rustix::io::Errno;
use rustix::thread::futex;
use rustix::time::{ClockId, Timespec};
use std::cell::Cell;
use std::num::{NonZeroU32, NonZeroU64};
use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

/// The estimates of the oversleep go no further than this.
const MEDIAN_MAX_NS: u64 = 100_000;
const HIGH_MAX_NS: u64 = 200_000;
/// Where the high estimate is beyond this, and the program keeps cores busy, threads wait for
/// cores.
const BUSY_FROM_NS: u64 = 150_000;
/// A program that uses less than this part of the cores leaves them idle. Where sleeps are late all
/// the same, it is a virtual machine whose idle cores take long to wake.
const BUSY_PART_OF_CORES: u64 = 4;
/// How often the program's CPU time is looked at, which costs some microseconds.
const LOOK_EVERY_NS: u64 = 100_000_000;
const MARGIN_MAX_NS: u64 = 80_000;
/// The margin on a busy machine, at most.
const BUSY_MARGIN_NS: u64 = 15_000;
const MARGIN_MIN_NS: u64 = 2_000;
/// A sleep longer than this is two: the last begins so long before its end. A core of a virtual
/// machine that has been idle for some milliseconds wakes up to 190 us late.
const LONG_NS: u64 = 400_000;
const LAST_NS: u64 = 300_000;
/// The step by which one sleep moves an estimate.
const STEP_NS: u64 = 500;
/// One of this many sleeps is later than the high estimate.
const HIGH_IS_ONE_IN: u64 = 50;

/// How late a sleep usually is: half of them are later than the first, one in fifty is later than
/// the second.
static OVERSLEEP_MEDIAN_NS: AtomicU64 = AtomicU64::new(12_000);
static OVERSLEEP_HIGH_NS: AtomicU64 = AtomicU64::new(30_000);

/// When the program's CPU time was looked at, what it was, and whether it kept the cores busy until
/// then.
static LOOKED_NS: AtomicU64 = AtomicU64::new(0);
static CPU_TIME_NS: AtomicU64 = AtomicU64::new(0);
static IS_BUSY: AtomicBool = AtomicBool::new(false);

thread_local! {
    static IS_PRECISE: Cell<bool> = const { Cell::new(false) };
    static SPUN_NS: Cell<u64> = const { Cell::new(0) };
    static LATE_NS: Cell<u64> = const { Cell::new(0) };
}

/// The program's clock, where it is another than the real one.
static DILATED: OnceLock<DilatedClock> = OnceLock::new();

/// Finds the program's clock.
///
/// # Errors
/// Where it is no clock, or the program would have another one than its devices.
pub(crate) fn prepare() -> Result<(), String> {
    let Some(clock) = DilatedClock::of_variable(std::env::var_os(CLOCK_VARIABLE))? else {
        return Ok(());
    };
    // The loader goes on without a library that it cannot load.
    let behind = Function::new(c"clock_gettime", c"").find();
    // SAFETY: the C library is loaded, as the shim needs it too; the texts end with zero bytes.
    let c_library = unsafe {
        let library = libc::dlopen(c"libc.so.6".as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD);
        libc::dlsym(library, c"clock_gettime".as_ptr())
    };
    if behind == c_library {
        return Err(format!(
            "time is dilated ({CLOCK_VARIABLE}), but no clock is preloaded behind the shim"
        ));
    }
    DILATED.get_or_init(|| clock);
    Ok(())
}

/// Time that this thread has passed awake in [`wait_until`], since it began.
pub(crate) fn spun_ns() -> u64 {
    dilated_duration_ns(SPUN_NS.get())
}

/// Time by which its sleeps there ended behind their due times: where that is long, it was ready to
/// run, but no core was free.
pub(crate) fn late_ns() -> u64 {
    dilated_duration_ns(LATE_NS.get())
}

/// The time of the program's monotonic clock.
pub(crate) fn now_ns() -> u64 {
    let now_ns = real_now_ns();
    DILATED.get().map_or(now_ns, |clock| clock.dilated_ns(now_ns))
}

/// When the real clock is so late (`u64::MAX`: never).
fn real_ns(dilated_ns: u64) -> u64 {
    DILATED.get().map_or(dilated_ns, |clock| clock.real_ns(dilated_ns))
}

/// What a real duration is in the program's time.
pub(crate) fn dilated_duration_ns(ns: u64) -> u64 {
    DILATED.get().map_or(ns, |clock| DilatedClock { origin_ns: 0, ..*clock }.dilated_ns(ns))
}

/// CPU time of this thread, in the program's time: what a core does in a second it does in less of
/// a dilated one. Unlike the other clock it is a call of the kernel.
pub(crate) fn thread_cpu_ns() -> u64 {
    dilated_duration_ns(read(ClockId::ThreadCPUTime))
}

fn real_now_ns() -> u64 {
    read(ClockId::Monotonic)
}

fn read(clock: ClockId) -> u64 {
    let time = rustix::time::clock_gettime(clock);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// As the kernel has it.
pub(crate) fn timespec_of(ns: u64) -> Timespec {
    Timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as i64 }
}

/// Threads sleep 50 us longer than asked unless they say that they mind.
fn be_precise() {
    if !IS_PRECISE.replace(true) {
        let _ = rustix::thread::set_current_timer_slack(Some(NonZeroU64::MIN));
    }
}

/// How long before its end a sleep has to be over, in the program's time.
pub(crate) fn margin_ns(spin: bool) -> u64 {
    dilated_duration_ns(real_margin_ns(spin))
}

/// How long before its end a sleep has to be over. Where spinning is allowed nearly all sleeps end
/// before what they wait for; where it is not, half of them, so that lateness is small on both
/// sides and the rest is short. So it is on a busy machine too: to spin for more would keep cores
/// from those who have work.
fn real_margin_ns(spin: bool) -> u64 {
    let high_ns = OVERSLEEP_HIGH_NS.load(Ordering::Relaxed);
    if spin && (high_ns < BUSY_FROM_NS || !IS_BUSY.load(Ordering::Relaxed)) {
        high_ns.min(MARGIN_MAX_NS)
    } else {
        let median_ns = OVERSLEEP_MEDIAN_NS.load(Ordering::Relaxed);
        median_ns.min(BUSY_MARGIN_NS)
    }
}

/// When to look at the clock again, on the way from one time to another.
fn next_stop_ns(Range { start, end: until_ns }: Range<u64>) -> u64 {
    if until_ns.saturating_sub(start) > LONG_NS { until_ns - LAST_NS } else { until_ns }
}

/// Looks, now and then, at how busy the program has kept its cores.
fn look_at_cores(now_ns: u64) {
    let looked_ns = LOOKED_NS.load(Ordering::Relaxed);
    let passed_ns = now_ns.saturating_sub(looked_ns);
    let relaxed = Ordering::Relaxed;
    if passed_ns < LOOK_EVERY_NS
        || LOOKED_NS.compare_exchange(looked_ns, now_ns, relaxed, relaxed).is_err()
    {
        return;
    }
    let cpu_time_ns = read(ClockId::ProcessCPUTime);
    let used_ns = cpu_time_ns.saturating_sub(CPU_TIME_NS.swap(cpu_time_ns, relaxed));
    // Of the program: a server may bind the thread that looks.
    let program = Some(rustix::process::getpid());
    let cores = rustix::thread::sched_getaffinity(program).map_or(1, |cores| cores.count());
    let busy_ns = passed_ns * u64::from(cores) / BUSY_PART_OF_CORES;
    IS_BUSY.store(used_ns >= busy_ns, relaxed);
}

/// Moves both estimates toward what a sleep has shown: from when it was due to end to when it did.
fn learn(Range { start, end: now_ns }: Range<u64>) {
    let overslept_ns = now_ns.saturating_sub(start);
    look_at_cores(now_ns);
    let toward = |estimate: &AtomicU64, max_ns: u64, up_ns: u64, down_ns: u64| {
        let old = estimate.load(Ordering::Relaxed);
        let new = if overslept_ns > old { old + up_ns } else { old.saturating_sub(down_ns) };
        estimate.store(new.clamp(MARGIN_MIN_NS, max_ns), Ordering::Relaxed);
    };
    toward(&OVERSLEEP_MEDIAN_NS, MEDIAN_MAX_NS, STEP_NS / 2, STEP_NS / 2);
    let down_ns = STEP_NS / HIGH_IS_ONE_IN;
    toward(&OVERSLEEP_HIGH_NS, HIGH_MAX_NS, STEP_NS - down_ns, down_ns);
}

/// Waits until a time, or returns at once where it has passed. Returns the nanoseconds passed
/// awake.
pub(crate) fn wait_until(due_ns: u64, spin: bool) -> u64 {
    let due_ns = real_ns(due_ns);
    let asleep_from = real_now_ns();
    let awake_from = sleep_until(due_ns.saturating_sub(real_margin_ns(spin)));
    let mut now = awake_from;
    while now < due_ns {
        std::hint::spin_loop();
        now = real_now_ns();
    }
    if awake_from > due_ns && asleep_from < due_ns {
        LATE_NS.set(LATE_NS.get() + (awake_from - due_ns));
    }
    SPUN_NS.set(SPUN_NS.get() + (now - awake_from));
    dilated_duration_ns(now - awake_from)
}

/// Sleeps until a real time, and some microseconds longer. Returns what time it is then.
fn sleep_until(wake_ns: u64) -> u64 {
    let mut now = real_now_ns();
    while now < wake_ns {
        be_precise();
        let stop_ns = next_stop_ns(now..wake_ns);
        let until = timespec_of(stop_ns);
        // A signal ends the sleep early, and it is begun again.
        let slept = rustix::thread::clock_nanosleep_absolute(ClockId::Monotonic, &until);
        now = real_now_ns();
        if slept.is_ok() && stop_ns == wake_ns {
            learn(wake_ns..now);
        }
    }
    now
}

/// How a wait for a word ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Woken {
    Changed,
    Time,
    Signal,
}

/// Sleeps while `word` is `seen`, until a time (`u64::MAX`: for ever). Long sleeps end before that,
/// with [`Woken::Time`].
pub(crate) fn wait_on(word: &AtomicU32, seen: u32, until_ns: u64) -> Woken {
    be_precise();
    let until_ns = real_ns(until_ns);
    let stop_ns = match until_ns {
        u64::MAX => u64::MAX,
        until_ns => next_stop_ns(real_now_ns()..until_ns),
    };
    let until = (stop_ns < u64::MAX).then(|| timespec_of(stop_ns));
    let flags = futex::Flags::PRIVATE;
    match futex::wait_bitset(word, flags, seen, until.as_ref(), NonZeroU32::MAX) {
        Err(Errno::TIMEDOUT) => {
            if stop_ns == until_ns {
                learn(until_ns..real_now_ns());
            }
            Woken::Time
        }
        Err(Errno::INTR) => Woken::Signal,
        _ => Woken::Changed,
    }
}

pub(crate) fn wake_all(word: &AtomicU32) {
    let _ = futex::wake(word, futex::Flags::PRIVATE, i32::MAX as u32);
}

#[cfg(test)]
mod tests {
    use super::{Woken, now_ns, wait_on, wait_until};
    use std::sync::atomic::AtomicU32;

    #[test]
    fn waits_never_end_early() {
        for spin in [true, false] {
            for wait_ns in [0, 1_000, 50_000, 300_000] {
                let due_ns = now_ns() + wait_ns;
                wait_until(due_ns, spin);
                assert!(now_ns() >= due_ns);
            }
        }
    }

    #[test]
    fn words_and_times_wake() {
        let word = AtomicU32::new(3);
        assert_eq!(wait_on(&word, 2, u64::MAX), Woken::Changed);
        let until_ns = now_ns() + 100_000;
        assert_eq!(wait_on(&word, 3, until_ns), Woken::Time);
        assert!(now_ns() >= until_ns);
    }
}
