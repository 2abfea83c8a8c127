//! What observing costs, as CPU time of the thread that does it.

mod common;

use common::read;
use observe::{HostSource, ProcessSource, Source, ThreadSource};
use rustix::time::{ClockId, clock_gettime};
use std::sync::mpsc::channel;
use std::thread::Builder;

const ROUNDS: i64 = 20;
/// In a debug build on two cores. Once a second, that is half a percent of a core.
const ROUND_NS_MAX: i64 = 5_000_000;
/// As many as a driver has on a machine of 16 cores.
const DRIVERS: usize = 16;

fn thread_cpu_ns() -> i64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

#[test]
fn a_round_is_cheap() {
    let mut ends = Vec::new();
    for number in 0..DRIVERS {
        let (end, ended) = channel::<()>();
        let builder = Builder::new().name(format!("driver-{number}"));
        // Until the other end goes away.
        let thread = builder.spawn(move || ended.recv().is_err()).unwrap();
        ends.push((end, thread));
    }
    let mut sources: [(Box<dyn Source>, i64); 3] = [
        (Box::new(HostSource::new()), 0),
        (
            Box::new(ProcessSource::new("mydyno", std::process::id())),
            0,
        ),
        (Box::new(ThreadSource::new("driver-")), 0),
    ];
    let mut values = 0;
    for _ in 0..ROUNDS {
        for (source, cpu_ns) in &mut sources {
            let before_ns = thread_cpu_ns();
            let readings = read(source.as_mut());
            *cpu_ns += thread_cpu_ns() - before_ns;
            values += readings.values().len();
        }
    }
    for (end, thread) in ends {
        drop(end);
        assert!(thread.join().unwrap());
    }
    let round_us = |cpu_ns: i64| cpu_ns / ROUNDS / 1000;
    for (source, cpu_ns) in &sources {
        println!("{}: {} us a round", source.title(), round_us(*cpu_ns));
    }
    let total_ns: i64 = sources.iter().map(|(_, cpu_ns)| cpu_ns).sum();
    println!("together: {} us a round", round_us(total_ns));
    // Two for each of the threads, and many more of the host.
    let least = ROUNDS as usize * (2 * DRIVERS + 20);
    assert!(values >= least, "{values} values in {ROUNDS} rounds");
    assert!(total_ns < ROUND_NS_MAX * ROUNDS, "{total_ns} ns");
}
