//! States for tests of what shows them.

use crate::state::{About, State};
use analyse::RunProgress;
use base::{Dilation, Warehouses};
use drive::{Interval, Phase};
use std::ops::Range;
use std::time::Duration;
use store::MetricSource::{self, Host, Process, Shim};
use store::{Metric, MetricKind, SampleBatch};
use tpcc::Transaction;

pub(crate) const S: u64 = 1_000_000_000;

/// An interval with so many committed new orders, each of 10 ms, half as many payments, of which
/// one deadlocked, and nothing else.
pub fn interval(phase: Phase, seconds: Range<f64>, new_orders: u64) -> Interval {
    let offset_ns = |s: f64| (s * S as f64) as u64;
    let offsets_ns = offset_ns(seconds.start)..offset_ns(seconds.end);
    let mut interval = Interval::new(Transaction::TYPES, phase, offsets_ns);
    let of_type = [(new_orders, 10_000_000), (new_orders / 2, 4_000_000)];
    for (stats, (committed, ns)) in interval.transactions.iter_mut().zip(of_type) {
        stats.committed = committed;
        for _ in 0..committed {
            stats.latency.record(ns);
        }
    }
    interval.transactions[1].deadlocks = 1;
    interval
}

pub(crate) fn run(elapsed_s: u64, total: Duration, in_warmup: bool) -> RunProgress {
    let elapsed = Duration::from_secs(elapsed_s);
    RunProgress { elapsed, total, in_warmup, ..RunProgress::default() }
}

/// What a source said `at_s` seconds after the start: source, name, label, value; names that end
/// in `cores` are gauges.
pub(crate) fn batch(at_s: f64, values: &[(MetricSource, &str, &str, i64)]) -> SampleBatch {
    let value = |(source, name, label, value): &(MetricSource, &str, &str, i64)| {
        let kind = if name.ends_with("cores") { MetricKind::Gauge } else { MetricKind::Counter };
        let metric =
            Metric { source: *source, name: (*name).to_owned(), label: (*label).to_owned(), kind };
        (metric, *value)
    };
    SampleBatch {
        at_offset_ns: (at_s * S as f64) as u64,
        values: values.iter().map(value).collect(),
    }
}

/// A run on mysql-5.7 with 8 connections in second 30 of 70: 200 new orders/s, a host of 4 cores,
/// a shim that counts.
pub fn in_window() -> State {
    let mut state = State::default();
    state.about = About {
        target: "mysql-5.7".to_owned(),
        workload: "tpcc".to_owned(),
        style: "statements".to_owned(),
        dilation: Dilation::NONE,
    };
    state.begin_run(Transaction::TYPES, Warehouses(10), 8);
    for second in 0..30 {
        let phase = if second < 10 { Phase::Warmup } else { Phase::Window };
        let (start_s, end_s) = (f64::from(second), f64::from(second + 1));
        state.end_interval(&interval(phase, start_s..end_s, 200));
        let cpu_ns = i64::from(second) * 1_000_000_000;
        let values = [
            (Host, "cpu_cores", "", 4),
            (Host, "cpu_user_ns", "", 2 * cpu_ns),
            (Host, "cpu_system_ns", "", cpu_ns / 2),
            (Host, "cpu_iowait_ns", "", cpu_ns / 5),
            (Host, "cpu_irq_ns", "", 0),
            (Host, "cpu_softirq_ns", "", 0),
            (Host, "cpu_steal_ns", "", 0),
            (Process, "cpu_user_ns", "server", 3 * cpu_ns / 2),
            (Process, "cpu_system_ns", "server", cpu_ns / 4),
            (Shim, "reads", "data", i64::from(second) * 1234),
            (Shim, "read_bytes", "data", i64::from(second) * 20_000_000),
            (Shim, "writes", "data", i64::from(second) * 567),
            (Shim, "write_bytes", "data", i64::from(second) * 9_000_000),
            (Shim, "flushes", "data", i64::from(second) * 3),
            (Shim, "reads", "redo", 0),
            (Shim, "writes", "redo", i64::from(second) * 890),
            (Shim, "flushes", "redo", i64::from(second) * 445),
            (Shim, "reads", "", 5),
        ];
        state.take_samples(&[batch(end_s, &values)]);
    }
    state.run_goes_on(run(30, Duration::from_secs(70), false));
    state
}
