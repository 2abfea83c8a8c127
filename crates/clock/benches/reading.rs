//! What the clock adds to the reading of time: `cargo bench -p clock --bench reading`.
//!
//! This program runs itself as a child, without the library, with it alone, and with a clock for
//! it, in turn.
#![expect(clippy::print_stdout, reason = "the table is what it is for")]
#![expect(dead_code, reason = "the tests' module has more than a benchmark needs")]
#![expect(unsafe_code, reason = "C functions are called as the programs under the library do it")]

#[path = "../tests/clock/common.rs"]
mod common;

use common::{clock_text, command, now_ns, real_now_ns};
use std::process::Command;

const CALLS: u64 = 2_000_000;
const ROUNDS: usize = 11;
const CLOCKS: [(&str, libc::clockid_t); 3] = [
    ("CLOCK_MONOTONIC", libc::CLOCK_MONOTONIC),
    ("CLOCK_REALTIME", libc::CLOCK_REALTIME),
    ("CLOCK_REALTIME_COARSE", libc::CLOCK_REALTIME_COARSE),
];

fn main() {
    if common::job().is_some() {
        let times = CLOCKS.map(|(_, clock)| ns_per_call(clock).to_string());
        println!("{}", times.join(" "));
        return;
    }
    let mut bare = command("reading", None);
    bare.env_remove("LD_PRELOAD");
    let mut ways = [bare, command("reading", None), command("reading", Some(&clock_text(8.0)))];
    let mut rounds = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        rounds.push(ways.each_mut().map(told));
    }
    println!("\nns a call of clock_gettime, median of {ROUNDS} rounds\n");
    println!("| clock | bare | without a clock | dilated |\n| --- | --- | --- | --- |");
    for (at, (name, _)) in CLOCKS.iter().enumerate() {
        let median_of = |way: usize| {
            let mut values: Vec<f64> = rounds.iter().map(|round| round[way][at]).collect();
            values.sort_by(f64::total_cmp);
            values[ROUNDS / 2]
        };
        let [bare, forwarded, dilated] = [0, 1, 2].map(median_of);
        println!("| {name} | {bare:.1} | {forwarded:.1} | {dilated:.1} |");
    }
}

fn told(command: &mut Command) -> Vec<f64> {
    let output = command.output().expect("this program runs");
    common::must_succeed(&output);
    let text = String::from_utf8(output.stdout).expect("a child prints numbers");
    text.split_whitespace().map(|word| word.parse().expect("a child prints numbers")).collect()
}

fn ns_per_call(clock: libc::clockid_t) -> f64 {
    let begun_ns = real_now_ns(libc::CLOCK_MONOTONIC);
    for _ in 0..CALLS {
        std::hint::black_box(now_ns(clock));
    }
    (real_now_ns(libc::CLOCK_MONOTONIC) - begun_ns) as f64 / CALLS as f64
}
