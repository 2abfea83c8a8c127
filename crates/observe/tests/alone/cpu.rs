//! CPU time, as host, process and thread tell it, is what was used. One test, so that nothing else
//! runs in its process.

use crate::alone;
use crate::common::read;
use observe::{HostSource, ProcessSource, Readings, ThreadSource};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use rustix::time::{ClockId, clock_gettime};
use std::sync::mpsc::{Sender, channel};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};
use store::MetricSource::{self, Host, Process};

/// Ticks are 10 ms, and other programs may run: a difference of 5 % or of three ticks is none.
const TOLERANCE_SHARE: f64 = 0.05;
const TOLERANCE_NS: f64 = 30e6;

fn clock_ns(clock: ClockId) -> i64 {
    let time = clock_gettime(clock);
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

fn value(readings: &Readings, source: MetricSource, name: &str, label: &str) -> i64 {
    let found = readings.values().iter().find(|(metric, _)| {
        metric.source == source && metric.name == name && metric.label == label
    });
    found.unwrap_or_else(|| panic!("no {name} of {label:?}")).1
}

fn tolerance_ns(expected_ns: i64) -> f64 {
    (expected_ns as f64 * TOLERANCE_SHARE).max(TOLERANCE_NS)
}

fn assert_close(what: &str, measured_ns: i64, expected_ns: i64) {
    let difference_ns = (measured_ns - expected_ns).abs() as f64;
    println!("{what}: {measured_ns} ns, expected {expected_ns} ns");
    assert!(
        difference_ns <= tolerance_ns(expected_ns),
        "{what}: {measured_ns} ns, expected {expected_ns} ns"
    );
}

/// User and nice, and system, of all cores, read from /proc/stat without the code under test.
fn own_reading_ns() -> [i64; 2] {
    let text = std::fs::read_to_string("/proc/stat").unwrap();
    let line = text.lines().next().unwrap();
    let ticks: Vec<i64> =
        line.split_whitespace().skip(1).map(|word| word.parse().unwrap()).collect();
    let tick_ns = 1_000_000_000 / rustix::param::clock_ticks_per_second() as i64;
    [(ticks[0] + ticks[1]) * tick_ns, ticks[2] * tick_ns]
}

/// Reads the host between two own readings: each of its values lies between theirs.
fn checked_host(source: &mut HostSource) -> Readings {
    let before = own_reading_ns();
    let readings = read(source);
    let after = own_reading_ns();
    for (index, name) in ["cpu_user_ns", "cpu_system_ns"].into_iter().enumerate() {
        let told = value(&readings, Host, name, "");
        assert!(
            (before[index]..=after[index]).contains(&told),
            "{name}: {told} is not within {before:?} and {after:?}"
        );
    }
    readings
}

/// A thread that works, tells what CPU time that took, and lives on until it is let go.
struct Worker {
    used_ns: std::sync::mpsc::Receiver<i64>,
    go: Sender<()>,
    thread: JoinHandle<()>,
}

impl Worker {
    /// `work` is done when [`Worker::go`] is called.
    fn new(name: &str, work: impl FnOnce() + Send + 'static) -> Worker {
        let (sender, used_ns) = channel();
        let (go, gone) = channel();
        let (started, has_started) = channel();
        let body = move || {
            started.send(()).unwrap();
            gone.recv().unwrap();
            let before_ns = clock_ns(ClockId::ThreadCPUTime);
            work();
            let used_ns = clock_ns(ClockId::ThreadCPUTime) - before_ns;
            sender.send(used_ns).unwrap();
            gone.recv().unwrap();
        };
        let builder = Builder::new().name(name.to_owned());
        let thread = builder.spawn(body).unwrap();
        // A thread gives itself its name when it begins.
        has_started.recv().unwrap();
        Worker { used_ns, go, thread }
    }

    fn go(&self) {
        self.go.send(()).unwrap();
    }

    fn used_ns(&self) -> i64 {
        self.used_ns.recv().unwrap()
    }

    fn end(self) {
        self.go();
        self.thread.join().unwrap();
    }
}

fn one_busy_thread() {
    let mut host = HostSource::default();
    let mut process = ProcessSource::new("mydyno", std::process::id());
    let mut threads = ThreadSource::new("spinner-");
    let spinner = Worker::new("spinner-7", || {
        let begin_ns = clock_ns(ClockId::ThreadCPUTime);
        while clock_ns(ClockId::ThreadCPUTime) < begin_ns + 1_000_000_000 {
            for _ in 0..100_000 {
                std::hint::spin_loop();
            }
        }
    });
    let (host_before, process_before, threads_before) =
        (checked_host(&mut host), read(&mut process), read(&mut threads));
    let clock_before_ns = clock_ns(ClockId::ProcessCPUTime);
    spinner.go();
    let used_ns = spinner.used_ns();
    let clock_rise_ns = clock_ns(ClockId::ProcessCPUTime) - clock_before_ns;
    let (host_after, process_after, threads_after) =
        (checked_host(&mut host), read(&mut process), read(&mut threads));
    spinner.end();

    let of = |readings: &Readings, name| value(readings, Process, name, "mydyno");
    let process_rise = |name| of(&process_after, name) - of(&process_before, name);
    let user_ns = process_rise("cpu_user_ns");
    let system_ns = process_rise("cpu_system_ns");
    assert_close("user time of the process", user_ns, used_ns);
    assert_close("its CPU time", user_ns + system_ns, clock_rise_ns);
    let of = |readings: &Readings| value(readings, Process, "cpu_ns", "spinner-7");
    let thread_ns = of(&threads_after) - of(&threads_before);
    assert_close("CPU time of the thread", thread_ns, used_ns);

    let of = |readings: &Readings| value(readings, Host, "cpu_user_ns", "");
    let host_ns = of(&host_after) - of(&host_before);
    println!("user time of the host: {host_ns} ns, of which ours is {used_ns} ns");
    assert!(
        host_ns as f64 >= used_ns as f64 - tolerance_ns(used_ns),
        "{host_ns} ns, ours is {used_ns} ns"
    );
    // The total is that of the cores, as each was read: within a tick of each.
    let cores: Vec<i64> = host_after
        .values()
        .iter()
        .filter(|(metric, _)| metric.name == "cpu_user_ns" && !metric.label.is_empty())
        .map(|(_, value)| *value)
        .collect();
    let total_ns: i64 = cores.iter().sum();
    let told_ns = of(&host_after);
    assert!(cores.len() as i64 == value(&host_after, Host, "cpu_cores", ""));
    // Cores that are offline are in the total only.
    assert!(total_ns <= told_ns + 20_000_000 * cores.len() as i64, "{cores:?} {told_ns}");
}

/// Two threads on one core: each waits while the other runs.
fn two_threads_on_one_core() {
    let allowed = sched_getaffinity(None).unwrap();
    let core = (0..CpuSet::MAX_CPU).find(|core| allowed.is_set(*core));
    let mut one = CpuSet::new();
    one.set(core.unwrap());
    let spin = move || {
        sched_setaffinity(None, &one).unwrap();
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_millis(500) {
            std::hint::spin_loop();
        }
    };
    let mut process = ProcessSource::new("mydyno", std::process::id());
    let mut threads = ThreadSource::new("pinned-");
    let workers = ["pinned-0", "pinned-1"].map(|name| Worker::new(name, spin));
    let (process_before, threads_before) = (read(&mut process), read(&mut threads));
    let kept = |readings: &Readings| {
        let mut names = readings.values().iter().map(|(metric, _)| &metric.name);
        names.any(|name| name == "run_wait_ns")
    };
    if !kept(&process_before) {
        println!("not tried: this kernel does not tell for how long threads wait");
        workers.into_iter().for_each(Worker::end);
        return;
    }
    for worker in &workers {
        worker.go();
    }
    let used_ns: i64 = workers.iter().map(Worker::used_ns).sum();
    let (process_after, threads_after) = (read(&mut process), read(&mut threads));
    workers.into_iter().for_each(Worker::end);

    let of = |readings: &Readings, label| value(readings, Process, "run_wait_ns", label);
    let rise = |label| of(&threads_after, label) - of(&threads_before, label);
    let threads_ns = rise("pinned-0") + rise("pinned-1");
    let process_ns = of(&process_after, "mydyno") - of(&process_before, "mydyno");
    println!(
        "two threads ran {used_ns} ns and waited {threads_ns} ns, their process {process_ns} ns"
    );
    // Each had the core or waited for it, for half a second.
    assert!(used_ns + threads_ns >= 950_000_000, "{used_ns} {threads_ns}");
    assert!(threads_ns > 0);
    // The process waits as its threads do, and this one that reads.
    assert!(
        process_ns as f64 >= threads_ns as f64 * (1.0 - TOLERANCE_SHARE),
        "{process_ns} {threads_ns}"
    );
    assert!(process_ns <= threads_ns + 500_000_000, "{process_ns}");
}

#[test]
fn cpu_times_are_those_that_were_used() {
    alone("cpu::cpu_times_are_those_that_were_used", || {
        one_busy_thread();
        two_threads_on_one_core();
    });
}
