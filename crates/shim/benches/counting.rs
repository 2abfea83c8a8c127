//! What the shim adds to a request where it only counts, and where it records writes to an emulated
//! device for a loss of power: `cargo bench -p shim --bench counting`.
//!
//! This program runs itself as a child, with the shim and without it in turn, on a file in memory,
//! where a request costs least and the shim relatively most. Threads of a server meet at the
//! counters too: the second table has two of them.
#![expect(clippy::print_stdout, reason = "the tables are what it is for")]
#![expect(dead_code, reason = "the tests' modules have more than a benchmark needs")]
#![expect(unsafe_code, reason = "libaio is C")]

#[path = "../tests/shim/common.rs"]
mod common;
#[path = "../tests/shim/libaio.rs"]
mod libaio;

use common::{Aligned, Bench, Told, open, tell};
use device::page::Snapshot;
use device::{JournalSetup, Role, Setup};
use libaio::{Context, Event, block};
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Instant;

const FILE: &str = "t.ibd";
const FILE_BYTES: u64 = 64 << 20;
/// A page of InnoDB.
const BYTES: usize = 16 << 10;
const REQUESTS: u64 = 100_000;
const ROUNDS: usize = 11;
const OPERATIONS: [&str; 5] = ["pread", "pwrite", "fsync", "libaio read", "libaio write"];

fn main() {
    if let Some((threads, files)) = common::job() {
        let threads = threads.parse().expect("the parent passes a number");
        for operation in OPERATIONS {
            tell(operation, child(operation, threads, &files));
        }
        return;
    }
    for threads in ["1", "2"] {
        table(threads);
    }
}

/// How requests are done; the first is without the shim.
const WAYS: [&str; 4] = ["bare", "counted", "emulated", "recorded"];

/// What the shim is told for each of them.
fn setups(bench: &Bench) -> [Setup; 4] {
    let emulated = bench.setup.clone();
    let counted = Setup { devices: Vec::new(), roles: Vec::new(), ..emulated.clone() };
    let file = bench.directory.path().join("journal").display().to_string();
    let journal = Some(JournalSetup { file, ring_bytes: 128 << 20 });
    [counted.clone(), counted, emulated.clone(), Setup { journal, ..emulated }]
}

fn table(threads: &str) {
    let mut bench = Bench::new(&[Role::Data]);
    bench.fill(FILE, FILE_BYTES as usize);
    let setups = setups(&bench);
    let mut rounds = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        let told: Vec<Told> = WAYS
            .iter()
            .zip(&setups)
            .map(|(way, setup)| {
                bench.setup = setup.clone();
                // Not armed: no request waits for its device.
                fs::write(&bench.setup.page, Snapshot::fresh()).expect("it is in memory");
                match *way {
                    "bare" => common::told(bench.job(threads).env_remove("LD_PRELOAD")),
                    _ => bench.run(threads),
                }
            })
            .collect();
        rounds.push(OPERATIONS.map(|operation| {
            told.iter().map(|told| told.get(operation) as i64).collect::<Vec<i64>>()
        }));
    }
    println!("\nns a request, {threads} thread(s), median of {ROUNDS} rounds\n");
    println!("| request | {} | counting costs | recording costs |", WAYS.join(" | "));
    println!("| --- | --- | --- | --- | --- | --- | --- |");
    for (at, operation) in OPERATIONS.iter().enumerate() {
        let median_of = |value: &dyn Fn(&[i64]) -> i64| {
            let mut values: Vec<i64> = rounds.iter().map(|round| value(&round[at])).collect();
            values.sort_unstable();
            values[ROUNDS / 2].to_string()
        };
        let way = |way: usize| median_of(&|round| round[way]);
        let cells = [way(0), way(1), way(2), way(3)];
        let counting = median_of(&|round| round[1] - round[0]);
        let recording = median_of(&|round| round[3] - round[2]);
        println!("| {operation} | {} | {counting} | {recording} |", cells.join(" | "));
    }
}

/// Returns the mean time of a request in ns.
fn child(operation: &str, threads: u64, files: &Path) -> u64 {
    let began = Instant::now();
    std::thread::scope(|scope| {
        for thread in 0..threads {
            scope.spawn(move || requests(operation, &open(&files.join(FILE), 0), thread));
        }
    });
    began.elapsed().as_nanos() as u64 / REQUESTS
}

fn requests(operation: &str, file: &File, thread: u64) {
    let mut memory = Aligned([0; 65536]);
    let buffer = &mut memory.0[..BYTES];
    let context = Context::new();
    let mut events = [Event::default(); 1];
    for request in 0..REQUESTS {
        let offset = (request * 7919 + thread * 31) * BYTES as u64 % FILE_BYTES;
        let is_done = match operation {
            "pread" => file.read_at(buffer, offset).is_ok(),
            "pwrite" => file.write_at(buffer, offset).is_ok(),
            "fsync" => file.sync_all().is_ok(),
            libaio => {
                let opcode = u16::from(libaio == "libaio write");
                let mut blocks = [block(file, opcode, (buffer.as_ptr(), BYTES as u64), offset)];
                context.submit(&mut blocks) == 1 && context.get(1, &mut events, None) == 1
            }
        };
        assert!(is_done, "{operation} failed");
    }
    assert_eq!(context.destroy(), 0);
}
