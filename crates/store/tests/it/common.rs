//! A small lab, the same in every run.

use std::path::Path;
use store::{
    CellId, CellPlace, CellPreset, DeviceIo, IntervalRow, JudgedNumber, JudgedUnit, LabId, NewCell,
    NewLab, NewRepeat, Phase, PresetVariable, RepeatId, RepeatResult, RequestIo, RequestKind,
    Results, RoleIo, ShimFacts, StoredBand, StoredRequirement, TimeTotals, empty_histogram,
};
use testkit::SECOND_NS;

pub fn lab(results: &Results) -> LabId {
    let lab = NewLab {
        name: "test".to_owned(),
        command_line: "mydyno run --dsn mysql://u:geheim@h/d".to_owned(),
        mydyno_version: "0.1.0".to_owned(),
        host_facts: vec![("cpu_cores".to_owned(), "2".to_owned())],
        ..NewLab::default()
    };
    results.begin_lab(&lab).unwrap()
}

pub fn cell() -> NewCell {
    NewCell {
        target: "mysql://u:geheim@h:3306/d".to_owned(),
        warmup_ns: SECOND_NS,
        warmup_auto: true,
        window_auto: true,
        precision_share: Some(0.02),
        seed: u64::MAX,
        schemas: 2,
        settings: vec![("preset".to_owned(), "config-3".to_owned())],
        ..testkit::cell()
    }
}

/// A cell that has all that terminals and a schedule have.
pub fn paced_cell() -> NewCell {
    NewCell {
        result_metadata: Some("cached".to_owned()),
        terminals: Some(100),
        inactive_warehouses: Some(2),
        rate_asked: Some("80%".to_owned()),
        arrivals: Some("poisson".to_owned()),
        foreign_keys: Some(false),
        partitions: 4,
        ..cell()
    }
}

/// A cell with its files on two emulated devices.
pub fn placed_cell() -> NewCell {
    let place = |role: &str, device: &str| CellPlace {
        profile_fingerprint: Some(format!("figures of {device}")),
        ..testkit::place(role, device)
    };
    NewCell {
        places: vec![
            CellPlace { used: Some("8 % used".to_owned()), ..place("data", "hdd-15k") },
            place("redo", "nvme-pm1725"),
            place("temp", "hdd-15k"),
        ],
        ..cell()
    }
}

/// A preset of which one variable became another and one is not known.
pub fn preset() -> CellPreset {
    CellPreset {
        name: "config-3".to_owned(),
        scaled_to_warehouses: Some(10),
        variables: vec![
            PresetVariable {
                variable: "innodb_log_file_size".to_owned(),
                asked: "1G".to_owned(),
                fate: "folded".to_owned(),
                became_variable: Some("innodb_redo_log_capacity".to_owned()),
                became_value: Some("30M".to_owned()),
                reason: Some("3 files of 10M, as one size".to_owned()),
            },
            PresetVariable {
                variable: "query_cache_size".to_owned(),
                asked: "0".to_owned(),
                fate: "unknown".to_owned(),
                ..PresetVariable::default()
            },
        ],
    }
}

/// Two seconds of reads of 100 us each, on data alone.
pub fn device_io() -> DeviceIo {
    let mut times = TimeTotals::default();
    times.histogram.record_n(100_000, 1_000).unwrap();
    times.sum_ns = 100_000_000;
    times.max_ns = 110_000;
    let requests = RequestIo {
        kind: RequestKind::Read,
        requests: 1_000,
        bytes: 16_384_000,
        response: times.clone(),
        service: times,
    };
    DeviceIo {
        shim: ShimFacts {
            cache_hits: 3,
            cache_misses: 1,
            model_ns: 4_000,
            model_calls: 2,
            ..ShimFacts::default()
        },
        roles: vec![RoleIo {
            role: "data".to_owned(),
            counted_ns: 2 * SECOND_NS,
            outstanding_max: 9,
            busy_ns: SECOND_NS,
            outstanding_ns: 8 * SECOND_NS,
            judged: 1_000,
            within_tolerance: 990,
            late_ns: 2_000_000,
            overruns: 2,
            requests: vec![requests],
        }],
    }
}

/// A requirement of at least 2.
pub fn requirement(value: Option<f64>) -> StoredRequirement {
    let allowed = StoredBand { low: Some(2.0), high: None };
    StoredRequirement {
        name: "think_mean".to_owned(),
        title: "mean think time".to_owned(),
        clause: "5.2.5.4".to_owned(),
        judged: JudgedNumber::of(JudgedUnit::Seconds, value, allowed, allowed),
    }
}

/// A lab with one cell and one repeat that runs.
pub fn running(path: &Path) -> (Results, LabId, CellId, RepeatId) {
    running_as(path, cell())
}

/// The same with another cell.
pub fn running_as(path: &Path, cell: NewCell) -> (Results, LabId, CellId, RepeatId) {
    let results = Results::create_or_open(path).unwrap();
    let lab = lab(&results);
    let cell = results.begin_cell(lab, &cell).unwrap();
    let repeat = NewRepeat {
        my_cnf: Some("[client]\npassword = geheim\n".to_owned()),
        ..testkit::repeat(cell, 1)
    };
    let repeat = results.begin_repeat(&repeat).unwrap();
    (results, lab, cell, repeat)
}

/// One interval of new orders with these response times in us.
pub fn interval(second: u64, phase: Phase, latencies_us: &[u64]) -> IntervalRow {
    let mut latency = empty_histogram();
    for us in latencies_us {
        latency.record(us * 1_000).unwrap();
    }
    IntervalRow {
        phase,
        start_offset_ns: second * SECOND_NS,
        end_offset_ns: (second + 1) * SECOND_NS,
        committed: latencies_us.len() as u64 - 1,
        rolled_back: 1,
        deadlocks: 2,
        lock_wait_timeouts: 1,
        latency: TimeTotals {
            histogram: latency,
            sum_ns: latencies_us.iter().sum::<u64>() * 1_000,
            max_ns: latencies_us.iter().max().copied().unwrap_or(0) * 1_000,
            out_of_bounds: 0,
        },
        ..testkit::window(SECOND_NS, "new_order", 0)
    }
}

pub fn result() -> RepeatResult {
    RepeatResult {
        window_started_utc_ns: 1_767_225_601_000_000_000,
        window_ended_utc_ns: 1_767_225_603_000_000_000,
        warmup_measured_ns: Some(SECOND_NS / 2),
        warmup_steady: Some(true),
        measured_window_ns: 2 * SECOND_NS,
        window_precision_share: Some(0.015),
        client_cpu_ns: 30_000_000,
        client_peak_rss_bytes: Some(20_000_000),
        statements: 2_000,
        committed_new_orders: Some(300),
        in_doubt_new_orders: Some(1),
        district_next_o_id_sum_before: Some(300_100),
        district_next_o_id_sum_after: Some(300_401),
        ..RepeatResult::default()
    }
}
