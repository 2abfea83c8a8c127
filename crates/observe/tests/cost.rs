//! What observing costs, as CPU time of the thread that does it: all sources of a run on a private server under the shim.

mod common;

use common::read;
use device::page::Snapshot;
use observe::{
    HostSource, PerfSource, ProcessSource, ServerSource, ShimSource, Source, ThreadSource,
};
use rustix::time::{ClockId, clock_gettime};
use server::{Home, Instance, InstanceOptions, install};
use std::sync::mpsc::channel;
use std::thread::Builder;
use storage::ShimPage;

const ROUNDS: i64 = 20;
/// In a debug build on two cores. Once a second, that is half a percent of a core.
const ROUND_NS_MAX: i64 = 5_000_000;
/// As many as a driver has on a machine of 16 cores.
const DRIVERS: usize = 16;
const ENGINE: &str = "mysql-8.0";

fn thread_cpu_ns() -> i64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

/// A server with the least that it takes to be asked.
fn start_server(home: &Home) -> Instance {
    let build = install(&Home::from_env().unwrap(), ENGINE, None, &mut |_| {}).unwrap();
    let set = [
        ("innodb_buffer_pool_size", "64M"),
        ("innodb_log_file_size", "48M"),
    ];
    let options = InstanceOptions {
        set: set
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .to_vec(),
        ..InstanceOptions::default()
    };
    Instance::start(home, &build, options).unwrap()
}

#[test]
fn a_round_is_cheap() {
    let directory = tempfile::tempdir().unwrap();
    let home = Home::at(directory.path().join("home")).unwrap();
    let server = start_server(&home);
    std::fs::write(directory.path().join(ShimPage::FILE), Snapshot::fresh()).unwrap();
    let mut ends = Vec::new();
    for number in 0..DRIVERS {
        let (end, ended) = channel::<()>();
        let builder = Builder::new().name(format!("driver-{number}"));
        // Until the other end goes away.
        let thread = builder.spawn(move || ended.recv().is_err()).unwrap();
        ends.push((end, thread));
    }
    let sources: [Box<dyn Source>; 7] = [
        Box::new(HostSource::new()),
        Box::new(PerfSource::new()),
        Box::new(ProcessSource::new("mydyno", std::process::id())),
        Box::new(ProcessSource::new("server", server.pid())),
        Box::new(ThreadSource::new("driver-")),
        Box::new(ServerSource::new(server.connect_options())),
        Box::new(ShimSource::new(ShimPage::of(directory.path()))),
    ];
    let mut sources = sources.map(|source| (source, 0));
    for (source, _) in &mut sources {
        // Opening files, and a session, is done once.
        read(source.as_mut());
    }
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
    // Two for each of the threads, and many more of the host, the server and the shim.
    let least = ROUNDS as usize * (2 * DRIVERS + 20 + 40 + 80);
    assert!(values >= least, "{values} values in {ROUNDS} rounds");
    assert!(total_ns < ROUND_NS_MAX * ROUNDS, "{total_ns} ns");
}
