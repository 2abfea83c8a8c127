//! What it costs to record a response time, which happens once per transaction, and to time the
//! statements of one: `cargo bench -p drive --bench recording`. The bound of the first is 100 ns; a
//! statement costs two readings of the clock, which are most of it, and a count in a histogram.

use base::Random;
use criterion::{Criterion, Throughput};
use drive::Times;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Response times to choose from, so that neither cache nor branch prediction knows the next one.
const LATENCIES: usize = 1 << 12;

/// Kinds of statements that follow each other.
const KINDS: usize = 45;

/// Response times between 100 us and 1 s, as many in each decade.
fn latencies_ns() -> Vec<u64> {
    let mut random = Random::new(1, &[]);
    let mut latency_ns = || 1e5 * 10f64.powf(4.0 * random.unit());
    (0..LATENCIES).map(|_| latency_ns() as u64).collect()
}

fn main() {
    let mut criterion = Criterion::default()
        .configure_from_args()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1));
    let latencies_ns = latencies_ns();
    let mut times = Times::default();
    // The histogram is made by the first one.
    times.record(1_000_000);
    let mut next = latencies_ns.iter().cycle();
    let mut group = criterion.benchmark_group("recording");
    group.throughput(Throughput::Elements(1));
    group.bench_function("one_response_time", |b| {
        b.iter(|| {
            if let Some(latency_ns) = next.next() {
                black_box(&mut times).record(black_box(*latency_ns));
            }
        });
    });
    let mut kinds: Vec<Times> = vec![Times::default(); KINDS];
    let mut timed: Vec<(usize, u64)> = Vec::with_capacity(KINDS);
    // As a session and a recorder do it: two readings of the clock, a list, then the histograms.
    group.throughput(Throughput::Elements(KINDS as u64));
    group.bench_function("statements_of_a_transaction", |b| {
        b.iter(|| {
            timed.clear();
            for kind in 0..KINDS {
                let begin = Instant::now();
                let latency_ns = next.next().copied().unwrap_or(0);
                let ns = black_box(latency_ns) + begin.elapsed().as_nanos() as u64;
                timed.push((kind, ns));
            }
            for (kind, ns) in &timed {
                black_box(&mut kinds)[*kind].record_coarsely(*ns);
            }
        });
    });
    group.finish();
    criterion.final_summary();
}
