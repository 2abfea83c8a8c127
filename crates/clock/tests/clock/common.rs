//! Running this test's own program in dilated time.

use base::{CLOCK_VARIABLE, DilatedClock, Dilation};
use libc::{c_int, clockid_t, timespec};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Mutex, OnceLock, PoisonError};

/// Names the job of a child, which is this program.
const JOB: &str = "MYDYNO_CLOCK_TEST_JOB";

/// The library, built if it is not there.
pub fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let test = std::env::current_exe().unwrap();
        let target = test.ancestors().nth(2).unwrap();
        let mut build = Command::new(env!("CARGO"));
        build.args(["build", "--quiet", "-p", "clock"]);
        if target.ends_with("release") {
            build.arg("--release");
        }
        // Tests are told to say their times by it; cargo would build dependencies anew for it.
        build.env_remove("RUSTC_BOOTSTRAP").current_dir(env!("CARGO_MANIFEST_DIR"));
        assert!(build.status().unwrap().success(), "the library does not build");
        target.join("libmydyno_clock.so")
    })
}

/// The job of this process, where it is a child.
pub fn job() -> Option<String> {
    std::env::var(JOB).ok()
}

/// A child under the library, with this text for a clock.
pub fn command(name: &str, clock: Option<&str>) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "child", "--nocapture"]).env(JOB, name);
    command.env("LD_PRELOAD", library()).env_remove(CLOCK_VARIABLE);
    command.envs(clock.map(|clock| (CLOCK_VARIABLE, clock)));
    command
}

/// A clock that has been dilated for a while.
pub fn clock_text(factor: f64) -> String {
    let dilation = Dilation::new(factor).unwrap();
    DilatedClock { dilation, origin_ns: now_ns(libc::CLOCK_MONOTONIC) - 2_000_000_000 }.to_string()
}

/// Runs a job in a time that is so much slower. Times are compared: one at a time.
pub fn run(name: &str, factor: f64) {
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let mut command = command(name, Some(&clock_text(factor)));
    has_run(&command.env("MYDYNO_CLOCK_TEST_FACTOR", factor.to_string()).output().unwrap());
}

/// Of a child. A name that no test has would be a success of none.
pub fn has_run(output: &Output) {
    must_succeed(output);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("ok. 1 passed"), "{said}");
}

pub fn must_succeed(output: &Output) {
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {said}{errors}", output.status);
}

/// What lasts so long of the real clock, of the machine and its ticks, in this child's time, where
/// that runs faster.
pub fn at_least_real(ns: u64) -> u64 {
    (ns as f64 / factor().min(1.0)) as u64
}

/// How much slower this child's time is.
pub fn factor() -> f64 {
    std::env::var("MYDYNO_CLOCK_TEST_FACTOR").unwrap().parse().unwrap()
}

/// What a program is told.
pub fn now_ns(clock: clockid_t) -> u64 {
    let mut time = spec(0);
    // SAFETY: the time is ours.
    assert_eq!(unsafe { libc::clock_gettime(clock, &raw mut time) }, 0);
    ns(time)
}

/// What it is not told.
pub fn real_now_ns(clock: clockid_t) -> u64 {
    type ClockGettime = extern "C" fn(clockid_t, *mut timespec) -> c_int;
    static REAL: OnceLock<ClockGettime> = OnceLock::new();
    let real = REAL.get_or_init(|| {
        let flags = libc::RTLD_LAZY | libc::RTLD_NOLOAD;
        // SAFETY: the texts end with zeros, and the function has this type.
        unsafe {
            let library = libc::dlopen(c"libc.so.6".as_ptr(), flags);
            let found = libc::dlsym(library, c"clock_gettime".as_ptr());
            assert!(!found.is_null());
            std::mem::transmute::<*mut libc::c_void, ClockGettime>(found)
        }
    });
    let mut time = spec(0);
    assert_eq!(real(clock, &raw mut time), 0);
    ns(time)
}

pub fn spec(ns: u64) -> timespec {
    timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as i64 }
}

pub fn ns(time: timespec) -> u64 {
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// A moment of the program's clock and of the real one.
#[derive(Clone, Copy)]
pub struct Moment {
    dilated_ns: u64,
    real_ns: u64,
}

impl Moment {
    pub fn now() -> Moment {
        Moment {
            dilated_ns: now_ns(libc::CLOCK_MONOTONIC),
            real_ns: real_now_ns(libc::CLOCK_MONOTONIC),
        }
    }

    /// Time since then, which both clocks must agree about, but for what a busy machine does to
    /// this thread between the readings.
    pub fn passed_ns(self) -> u64 {
        let now = Moment::now();
        let (dilated_ns, real_ns) = (now.dilated_ns - self.dilated_ns, now.real_ns - self.real_ns);
        let apart_ns = (dilated_ns as f64 * factor() - real_ns as f64).abs();
        assert!(apart_ns < BUSY_NS as f64, "{dilated_ns} ns dilated, {real_ns} ns real");
        dilated_ns
    }
}

/// A machine that does other things holds a test up for no longer than this.
pub const BUSY_NS: u64 = 2_000_000_000;

/// Waits by `wait`, which is to wait for so long. It never waits too short. Where time runs faster,
/// a wait that does not is too long each time; of those that do, some are no longer than they
/// should be on a busy machine too.
pub fn takes(name: &str, asked_ns: u64, mut wait: impl FnMut()) {
    const ATTEMPTS: u32 = 20;
    let is_faster = (0..ATTEMPTS).any(|_| {
        let passed_ns = takes_at_least(name, asked_ns, &mut wait);
        factor() >= 1.0 || passed_ns < at_least_real(asked_ns) * 9 / 10
    });
    assert!(is_faster, "{name}: it takes as long as in real time");
}

/// The same of a wait that cannot be repeated, or that the kernel counts in its ticks, which may be
/// longer than the wait; what passed.
pub fn takes_at_least(name: &str, asked_ns: u64, wait: impl FnOnce()) -> u64 {
    let begun = Moment::now();
    wait();
    let passed_ns = begun.passed_ns();
    assert!(passed_ns >= asked_ns, "{name}: {passed_ns} ns, not {asked_ns}");
    assert!(
        passed_ns < asked_ns + at_least_real(BUSY_NS),
        "{name}: {passed_ns} ns, not {asked_ns}"
    );
    passed_ns
}
