//! What a run used, from samples in a results file: each number by hand.

use analyse::{BoundBy, PowerMeter, measurement};
use std::collections::BTreeSet;
use store::{
    CellPlace, IntervalRow, Metric, MetricIds, MetricKind, MetricSource, NewCell, NewLab,
    NewRepeat, Phase, RepeatFailure, RepeatId, RepeatResult, Results, SampleBatch, empty_histogram,
};
use tempfile::TempDir;

const S: u64 = 1_000_000_000;

/// A lab on an emulated disk: a warm-up of 1 s, a window of 2 s with 400 new orders and 200 payments of 40 ms each, so that 12 were
/// under way in the mean.
fn running() -> (TempDir, Results, RepeatId) {
    let directory = tempfile::tempdir().unwrap();
    let results = Results::create_or_open(&directory.path().join("mydyno.db")).unwrap();
    let lab = results.begin_lab(&NewLab::default()).unwrap();
    let place = CellPlace {
        role: "data".to_owned(),
        device: "hdd-15k".to_owned(),
        emulated: true,
        backing: "tmpfs /dev/shm".to_owned(),
    };
    let cell = NewCell {
        ordinal: 1,
        warehouses: 1,
        connections: 16,
        schemas: 1,
        warmup_ns: S,
        window_ns: 2 * S,
        interval_ns: S,
        places: vec![place],
        ..NewCell::default()
    };
    let repeat = NewRepeat {
        cell: results.begin_cell(lab, &cell).unwrap(),
        ordinal: 1,
        my_cnf: None,
    };
    let repeat = results.begin_repeat(&repeat).unwrap();
    let interval = |transaction: &str, committed: u64| IntervalRow {
        phase: Phase::Window,
        start_offset_ns: S,
        end_offset_ns: 3 * S,
        transaction: transaction.to_owned(),
        committed,
        rolled_back: 0,
        deadlocks: 0,
        lock_wait_timeouts: 0,
        other_retries: 0,
        errors: 0,
        latency: empty_histogram(),
        latency_sum_ns: committed * 40_000_000,
        latency_max_ns: 40_000_000,
        latency_out_of_bounds: 0,
    };
    let rows = [interval("new_order", 400), interval("payment", 200)];
    results.append_intervals(repeat, &rows).unwrap();
    (directory, results, repeat)
}

/// Samples at 0, 1, 2 and 3 s: a counter that rises by so much a second, or a gauge that stays.
fn sample(
    results: &Results,
    repeat: RepeatId,
    metrics: &[(MetricSource, MetricKind, &str, &str, i64)],
) {
    let batch = |second: u64| SampleBatch {
        at_offset_ns: second * S,
        values: metrics
            .iter()
            .map(|(source, kind, name, label, value)| {
                let metric = Metric {
                    source: *source,
                    name: (*name).to_owned(),
                    label: (*label).to_owned(),
                    kind: *kind,
                };
                let value = match kind {
                    // What was before the window does not count.
                    MetricKind::Counter if second == 0 => -value * 7,
                    MetricKind::Counter => value * second as i64,
                    MetricKind::Gauge => *value,
                };
                (metric, value)
            })
            .collect(),
    };
    let batches: Vec<SampleBatch> = (0..4).map(batch).collect();
    results
        .append_samples(repeat, &mut MetricIds::default(), &batches)
        .unwrap();
}

fn finish(results: &Results, repeat: RepeatId) {
    let result = RepeatResult {
        measured_window_ns: 2 * S,
        ..RepeatResult::default()
    };
    results.finish_repeat(repeat, &result).unwrap();
}

use MetricKind::{Counter, Gauge};
use MetricSource::{Host, Power, Process, Server, Shim};

const METRICS: [(MetricSource, MetricKind, &str, &str, i64); 27] = [
    (Host, Gauge, "cpu_cores", "", 2),
    (Host, Gauge, "cpu_frequency_hz", "", 3_000_000_000),
    (Host, Counter, "cpu_user_ns", "", 400_000_000),
    (Host, Counter, "cpu_system_ns", "", 150_000_000),
    (Host, Counter, "cpu_irq_ns", "", 0),
    (Host, Counter, "cpu_softirq_ns", "", 50_000_000),
    (Host, Counter, "cpu_steal_ns", "", 0),
    (Host, Counter, "cpu_iowait_ns", "", 100_000_000),
    (Host, Counter, "cpu_idle_ns", "", 1_300_000_000),
    (Host, Counter, "disk_reads", "vda", 100),
    (Host, Counter, "disk_read_ns", "vda", 200_000_000),
    (Host, Counter, "network_sent_bytes", "lo", 1_000),
    (Host, Counter, "network_sent_bytes", "eth0", 500),
    (Process, Counter, "cpu_user_ns", "server", 300_000_000),
    (Process, Counter, "cpu_system_ns", "server", 100_000_000),
    (Process, Counter, "cpu_ns", "driver-0", 200_000_000),
    (Process, Counter, "run_wait_ns", "driver-0", 10_000_000),
    (Server, Counter, "buffer_pool_read_requests", "", 10_000),
    (Server, Counter, "buffer_pool_reads", "", 250),
    (Server, Counter, "row_lock_waits", "", 5),
    (Server, Counter, "row_lock_time_ms", "", 2_000),
    (Shim, Counter, "busy_ns", "data", 900_000_000),
    (Shim, Counter, "read_response_ns", "data", 8_000_000_000),
    (Shim, Counter, "write_bytes", "data", 3_000_000),
    (Shim, Counter, "write_bytes", "redo", 600_000),
    (Shim, Counter, "flushes", "redo", 150),
    (Power, Gauge, "power_mw", "meter", 200_000),
];

fn close(actual: Option<f64>, expected: f64) {
    let actual = actual.unwrap();
    assert!(
        (actual - expected).abs() <= 1e-9 * expected.abs(),
        "{actual} {expected}"
    );
}

#[test]
fn means_and_costs_are_those_of_the_window() {
    let (_directory, results, repeat) = running();
    sample(&results, repeat, &METRICS);
    finish(&results, repeat);
    let resources = measurement(&results, repeat).unwrap().resources.unwrap();
    let host = &resources.host;
    close(host.cpu_user_share, 0.2);
    close(host.cpu_busy_share, 0.3);
    close(host.cpu_idle_share, 0.65);
    close(host.emulated_iowait_share, 0.65 * 0.9);
    close(host.network_sent_bytes_per_s, 1_500.0);
    assert_eq!(host.context_switches_per_s, None);
    let disk = &resources.disks[0];
    assert_eq!((disk.disk.as_str(), disk.write_per_s), ("vda", None));
    close(disk.read_await_us, 2_000.0);
    close(resources.server_process.cpu_cores_used, 0.4);
    close(resources.driver.busiest_thread_cpu_share, 0.2);
    close(resources.server.buffer_pool_hit_share, 0.975);
    close(resources.server.row_lock_wait_mean_us, 400_000.0);
    close(resources.server.row_lock_waiting_mean, 2.0);
    // 300 transactions a second, 600 ms of CPU a second.
    let each = &resources.per_transaction;
    close(each.path_length_cycles, 3e9 * 0.6 / 300.0);
    close(each.host_cpu_us, 2_000.0);
    close(each.written_bytes, 12_000.0);
    close(each.flushes, 0.5);
    let row_bytes = (400.0 * 3727.0 + 200.0 * 885.0) / 600.0;
    close(each.row_bytes, row_bytes);
    close(each.write_amplification, 12_000.0 / row_bytes);
    close(resources.power.watts_mean, 200.0);
    assert_eq!(resources.power.measured_by, Some(PowerMeter::Meter));
    // 200 new orders a second.
    close(resources.power.nopm_per_watt, 12_000.0 / 200.0);
    // 12 under way, 2 behind locks, 8 reads.
    let bound = resources.bound.unwrap();
    assert_eq!(bound.by, BoundBy::ReadIo);
    assert!(bound.because.contains("8.0 reads"), "{}", bound.because);
}

#[test]
fn what_failed_or_was_not_sampled_has_no_resources() {
    let (_directory, results, repeat) = running();
    finish(&results, repeat);
    assert_eq!(measurement(&results, repeat).unwrap().resources, None);
    sample(&results, repeat, &METRICS);
    assert!(measurement(&results, repeat).unwrap().resources.is_some());
    let failure = RepeatFailure {
        reason_code: "check_failed".to_owned(),
        reason: String::new(),
        log_tail: None,
    };
    results.fail_repeat(repeat, &failure).unwrap();
    assert_eq!(measurement(&results, repeat).unwrap().resources, None);
}

fn keys(value: &serde_json::Value, into: &mut BTreeSet<String>) {
    match value {
        serde_json::Value::Object(map) => {
            for (key, value) in map {
                into.insert(key.clone());
                keys(value, into);
            }
        }
        serde_json::Value::Array(values) => values.iter().for_each(|value| keys(value, into)),
        _ => {}
    }
}

#[test]
fn every_key_is_described() {
    let (_directory, results, repeat) = running();
    sample(&results, repeat, &METRICS);
    finish(&results, repeat);
    let document = serde_json::to_value(measurement(&results, repeat).unwrap()).unwrap();
    let mut actual = BTreeSet::new();
    keys(&document["resources"], &mut actual);
    assert!(actual.contains("path_length_cycles"));
    actual.insert("resources".to_owned());
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/json.md");
    let text = std::fs::read_to_string(path).unwrap();
    let described: BTreeSet<String> = text
        .lines()
        .flat_map(|line| line.split('`').skip(1).step_by(2))
        .map(str::to_owned)
        .collect();
    let missing: Vec<_> = actual.difference(&described).collect();
    assert!(
        missing.is_empty(),
        "docs/json.md does not describe {missing:?}"
    );
}
