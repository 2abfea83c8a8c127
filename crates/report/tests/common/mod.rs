//! Labs that look like real ones and are the same in every run.

pub mod browser;
mod observed;
mod storage;

use base::Random;
use observed::{Beside, observe};
use spec::RampLimits;
use std::path::Path;
use storage::{device_io, places};
use store::{
    CellId, InputCounter, IntervalRow, JudgedNumber, JudgedUnit, LabId, LabStatus, LoadMethod,
    Moment, NewCell, NewLab, NewRamp, NewRepeat, Phase, RepeatFailure, RepeatId, RepeatResult,
    RepeatStatus, Results, StoredBand, StoredCheck, StoredFailure, StoredLoad, StoredLoadTable,
    TimeTotals, TransactionTime, empty_histogram,
};
use testkit::SECOND_NS;

/// What a fixture lab consists of.
pub struct Shape {
    pub name: &'static str,
    pub engines: &'static [&'static str],
    /// Emulated, with data on each of them; none: not placed.
    pub devices: &'static [&'static str],
    pub connections: &'static [u32],
    /// Values of `innodb_io_capacity` with what each does to throughput, by which it is multiplied;
    /// none: not set.
    pub capacities: &'static [(&'static str, f64)],
    pub repeats: u32,
    pub warmup_s: u64,
    pub window_s: u64,
    pub interval_s: u64,
    /// The cell with this ordinal fails in the middle.
    pub failing_cell: Option<u32>,
    /// The server of the cell with this ordinal never started; the lab is of a plan, which says
    /// where data goes.
    pub unstarted_cell: Option<u32>,
    /// The user ended the windows of the cell with this ordinal early.
    pub cut_cell: Option<u32>,
    /// Samples were taken beside the load.
    pub observed: bool,
    /// All cells are points of a ramp.
    pub is_ramp: bool,
}

pub const ONE_CELL: Shape = Shape {
    name: "run",
    engines: &["mysql-5.7"],
    devices: &[],
    connections: &[32],
    capacities: &[],
    repeats: 1,
    warmup_s: 10,
    window_s: 60,
    interval_s: 1,
    failing_cell: None,
    unstarted_cell: None,
    cut_cell: None,
    observed: false,
    is_ramp: false,
};

/// The ramp of a fixture, and those that are not its own.
pub fn new_ramp(repeat: u32) -> NewRamp {
    NewRamp { ordinal: 1, repeat, limits: RampLimits::default() }
}

/// 2026-01-01 00:00:00 UTC.
const EPOCH_NS: i64 = 1_767_225_600_000_000_000;
/// Transaction types with their share of the mix and their response time against a new order's.
const TYPES: [(&str, f64, f64); 5] = [
    ("new_order", 0.45, 1.0),
    ("payment", 0.43, 0.45),
    ("order_status", 0.04, 0.3),
    ("delivery", 0.04, 2.6),
    ("stock_level", 0.04, 0.8),
];

/// Makes the lab in a new results file.
pub fn build(path: &Path, shape: &Shape) -> (Results, LabId) {
    let results = Results::create_or_open(path).unwrap();
    let lab = results.begin_lab(&new_lab(shape)).unwrap();
    results
        .record_note(lab, "innodb_checksum_algorithm=none is not known to this server; left out")
        .unwrap();
    let load = results.record_load(&new_load(lab)).unwrap();
    results.record_checks(load, &checks(true)).unwrap();
    let mut ordinal = 0;
    let devices: Vec<Option<&str>> = match shape.devices {
        [] => vec![None],
        devices => devices.iter().copied().map(Some).collect(),
    };
    let capacities: Vec<Option<&(&str, f64)>> = match shape.capacities {
        [] => vec![None],
        capacities => capacities.iter().map(Some).collect(),
    };
    let mut on = Vec::new();
    for engine in shape.engines {
        for capacity in &capacities {
            on.extend(devices.iter().map(|device| (*engine, *capacity, *device)));
        }
    }
    for (engine, capacity, device) in on {
        for &connections in shape.connections {
            ordinal += 1;
            let new = planned_cell(shape, engine, (capacity, device), (ordinal, connections));
            if shape.unstarted_cell == Some(ordinal) {
                never_start(&results, lab, new, shape.repeats);
                continue;
            }
            let cell = results.begin_cell(lab, &new).unwrap();
            for repeat in 1..=shape.repeats {
                let fails = shape.failing_cell == Some(ordinal);
                measure(
                    &results,
                    cell,
                    shape,
                    &Point {
                        ordinal,
                        connections,
                        repeat,
                        fails,
                        factor: capacity.map_or(1.0, |(_, factor)| *factor),
                        device,
                    },
                );
            }
        }
    }
    let status = if shape.failing_cell.is_some() { LabStatus::Failed } else { LabStatus::Done };
    let reason = shape.failing_cell.map(|_| "one cell has no result");
    results.finish_lab(lab, status, reason).unwrap();
    (results, lab)
}

pub fn new_lab(shape: &Shape) -> NewLab {
    let facts = [
        ("cpu_model", "Intel(R) Xeon(R) Platinum 8481C CPU @ 2.70GHz"),
        ("cpu_cores", "2"),
        ("memory_bytes", "8351072256"),
        ("kernel", "6.1.0-28-amd64"),
        ("os", "Debian GNU/Linux 12"),
        ("file_system", "ext4 on /dev/vda1"),
    ];
    NewLab {
        name: shape.name.to_owned(),
        plan: Some("[lab]\nname = \"x </script><script>alert(1)</script>\"\n".to_owned()),
        command_line: "mydyno run --dsn mysql://bench:geheim@127.0.0.1:3306/tpcc -c 32".to_owned(),
        mydyno_version: "0.1.0".to_owned(),
        turns: None,
        host_facts: facts.map(|(key, value)| (key.to_owned(), value.to_owned())).to_vec(),
    }
}

pub fn new_cell(shape: &Shape, engine: &str, ordinal: u32, connections: u32) -> NewCell {
    NewCell {
        ordinal,
        engine: engine.to_owned(),
        server_version: if engine == "mysql-5.7" { "5.7.22-log" } else { "8.0.15" }.to_owned(),
        target: "mysql://bench:geheim@127.0.0.1:3306/tpcc".to_owned(),
        connections,
        warmup_ns: shape.warmup_s * SECOND_NS,
        window_ns: shape.window_s * SECOND_NS,
        interval_ns: shape.interval_s * SECOND_NS,
        seed: 1,
        settings: vec![("preset".to_owned(), "config-3".to_owned())],
        ..testkit::cell()
    }
}

/// A cell of the lab, with what tells it apart.
fn planned_cell(
    shape: &Shape,
    engine: &str,
    (capacity, device): (Option<&(&str, f64)>, Option<&str>),
    (ordinal, connections): (u32, u32),
) -> NewCell {
    let mut new = NewCell {
        places: device.map(places).unwrap_or_default(),
        ..new_cell(shape, engine, ordinal, connections)
    };
    let mut set = |name: &str, value: &str| new.settings.push((name.to_owned(), value.to_owned()));
    if let Some((value, _)) = capacity {
        set("innodb_io_capacity", value);
    }
    if let (Some(_), Some(device)) = (shape.unstarted_cell, device) {
        set("data", device);
        // Known once there is a server.
        if shape.unstarted_cell != Some(ordinal) {
            set("scale", "10 warehouses");
        }
    }
    new
}

/// What the plan says of a cell is all that is known of it.
pub fn never_start(results: &Results, lab: LabId, cell: NewCell, repeats: u32) {
    let planned = NewCell {
        flavour: String::new(),
        transport: String::new(),
        target: String::new(),
        places: Vec::new(),
        ..cell
    };
    let cell = results.begin_planned_cell(lab, &planned).unwrap();
    for ordinal in 1..=repeats {
        let repeat = testkit::begin(results, cell, ordinal);
        testkit::fail(results, repeat, "server_did_not_start");
    }
}

fn new_load(lab: LabId) -> StoredLoad {
    let tables = [
        ("warehouse", 10),
        ("district", 100),
        ("customer", 300_000),
        ("history", 300_000),
        ("new_orders", 90_000),
        ("orders", 300_000),
        ("order_line", 3_001_170),
        ("stock", 1_000_000),
        ("item", 100_000),
    ];
    StoredLoad {
        lab: Some(lab),
        target: "mysql://bench@127.0.0.1:3306/tpcc".to_owned(),
        engine: "mysql-5.7".to_owned(),
        server_version: "5.7.22-log".to_owned(),
        warehouses: Some(10),
        seed: 1,
        threads: 2,
        method: LoadMethod::LocalInfile,
        foreign_keys: Some(true),
        partitions: 0,
        history_key: Some(false),
        started_utc_ns: EPOCH_NS,
        finished_utc_ns: EPOCH_NS + 16_400_000_000,
        duration_ns: 16_400_000_000,
        total_bytes: 741_000_000,
        client_cpu_ns: 4_300_000_000,
        client_peak_rss_bytes: Some(38_000_000),
        tables: tables
            .map(|(name, rows)| StoredLoadTable {
                name: name.to_owned(),
                rows,
                checksum: format!("{:016x}", Random::new(1, &[rows]).bits()),
            })
            .to_vec(),
    }
}

/// One measurement of the fixture.
struct Point {
    ordinal: u32,
    connections: u32,
    repeat: u32,
    fails: bool,
    /// Of throughput.
    factor: f64,
    device: Option<&'static str>,
}

fn begin(results: &Results, shape: &Shape, new: &NewRepeat) -> RepeatId {
    if shape.is_ramp {
        let lab = results.labs().unwrap()[0].id;
        let ramp = results.begin_ramp(lab, &new_ramp(1)).unwrap();
        results.begin_ramp_point(ramp, new).unwrap()
    } else {
        results.begin_repeat(new).unwrap()
    }
}

fn measure(results: &Results, cell: CellId, shape: &Shape, point: &Point) {
    let my_cnf = "[mysqld]\ninnodb_buffer_pool_size = 4G\ninnodb_flush_method = O_DIRECT\n";
    let new = NewRepeat { my_cnf: Some(my_cnf.to_owned()), ..testkit::repeat(cell, point.repeat) };
    let id = begin(results, shape, &new);
    results.record_server(id, Moment::Start, &variables("200"), &[]).unwrap();
    let mut random = Random::new(7, &[u64::from(point.ordinal), u64::from(point.repeat)]);
    let total_s = shape.warmup_s + shape.window_s;
    let mut committed = 0;
    let mut rows = Vec::new();
    for start_s in (0..total_s).step_by(shape.interval_s as usize) {
        if point.fails && start_s > shape.warmup_s + shape.window_s / 3 {
            break;
        }
        for (name, share, slow) in TYPES {
            let row = interval(&mut random, shape, point, &OfType { name, share, slow, start_s });
            committed += if name == "new_order" { row.committed } else { 0 };
            rows.push(row);
        }
        if rows.len() > 500 {
            results.put(id, &rows).unwrap();
            rows.clear();
        }
    }
    results.put(id, &rows).unwrap();
    if shape.observed {
        let failed_after_s = shape.warmup_s + shape.window_s / 3;
        let beside = Beside {
            total_s: if point.fails { failed_after_s } else { total_s },
            connections: point.connections,
            has_shim: !shape.devices.is_empty(),
        };
        observe(results, id, &beside);
    }
    if let Some(device) = point.device {
        let io = device_io(shape.window_s, device);
        results.record_device_io(id, &io).unwrap();
    }
    if point.fails {
        let failure = RepeatFailure {
            reason_code: "server_died".to_owned(),
            reason: "the server on 127.0.0.1:3306 closed all connections and its process ended by \
                signal 9"
                .to_owned(),
            log_tail: Some(
                "2026-01-01T00:00:40Z 0 [Note] InnoDB: page_cleaner: 1000ms intended \
                loop took 4012ms.\n"
                    .to_owned(),
            ),
        };
        results.fail_repeat(id, &failure).unwrap();
        return;
    }
    let is_cut = shape.cut_cell == Some(point.ordinal);
    finish(results, id, shape, (committed, is_cut));
}

fn finish(results: &Results, id: RepeatId, shape: &Shape, (committed, is_cut): (u64, bool)) {
    results.record_server(id, Moment::End, &variables("2000"), &[]).unwrap();
    results.put(id, &inputs()).unwrap();
    results.record_checks(id, &checks(true)).unwrap();
    let deadlock = StoredFailure {
        transaction: "payment".to_owned(),
        error_code: "1213".to_owned(),
        occurrences: 41,
        first_message: "Deadlock found when trying to get lock; try restarting transaction"
            .to_owned(),
    };
    results.put(id, &[deadlock]).unwrap();
    let window_ns = shape.window_s * SECOND_NS;
    let result = RepeatResult {
        window_started_utc_ns: EPOCH_NS + (shape.warmup_s * SECOND_NS).cast_signed(),
        window_ended_utc_ns: EPOCH_NS + (shape.warmup_s * SECOND_NS + window_ns).cast_signed(),
        measured_window_ns: if is_cut { window_ns / 4 } else { window_ns },
        interrupted: is_cut,
        client_cpu_ns: window_ns / 5,
        client_peak_rss_bytes: Some(21_000_000),
        statements: committed * 62,
        committed_new_orders: Some(committed),
        in_doubt_new_orders: Some(0),
        district_next_o_id_sum_before: Some(300_100),
        district_next_o_id_sum_after: Some(300_100 + committed.cast_signed()),
        ..RepeatResult::default()
    };
    results.finish_repeat(id, &result).unwrap();
}

/// Statements of all repeats that are done: ten kinds, of which the last takes longest.
pub fn spend_on_statements(results: &Results) {
    let labs = results.labs().unwrap();
    let cells = labs.iter().flat_map(|lab| results.cells(lab.id).unwrap());
    let repeats = cells.flat_map(|cell| results.repeats(cell.id).unwrap());
    for repeat in repeats.filter(|repeat| repeat.status == RepeatStatus::Done) {
        let of_type = |transaction: &str| TransactionTime {
            transaction: transaction.to_owned(),
            transactions: 1,
            response_ns: 70_000_000,
            queued_ns: 0,
            paused_ns: 100_000,
        };
        let statements: Vec<_> = ["new_order", "payment"]
            .iter()
            .flat_map(|of| (1..=10).map(move |kind| (of, kind)))
            .map(|(of, kind)| {
                let us = kind * 1_000 + u64::from(repeat.ordinal) * 50;
                testkit::statement(of, &format!("statement_{kind}"), &[us])
            })
            .collect();
        let types = ["new_order", "payment"].map(of_type);
        results.put(repeat.id, &types).unwrap();
        results.put(repeat.id, &statements).unwrap();
    }
}

struct OfType {
    name: &'static str,
    share: f64,
    slow: f64,
    start_s: u64,
}

/// Throughput grows with connections and levels off, ramps up in the warm-up, and dips in a
/// checkpoint every 45 s.
fn interval(random: &mut Random, shape: &Shape, point: &Point, of: &OfType) -> IntervalRow {
    let connections = f64::from(point.connections);
    let peak_per_s = 900.0 * connections / (connections + 14.0)
        * (1.0 + 0.06 * f64::from(point.ordinal % 3))
        * point.factor;
    let ramp = ((of.start_s as f64 + 2.0) / (shape.warmup_s as f64 + 2.0)).min(1.0).sqrt();
    let dip = if of.start_s % 45 < 4 { 0.62 } else { 1.0 };
    let noise = 0.95 + 0.1 * random.unit();
    let count = (peak_per_s * of.share * ramp * dip * noise) as u64 * shape.interval_s;
    let typical_ms = connections / peak_per_s * 1000.0 * of.slow / dip / ramp;
    let mut latency = empty_histogram();
    let (mut sum, mut max) = (0, 0);
    let steps = count.clamp(1, 48);
    for step in 0..steps {
        let times = count * (step + 1) / steps - count * step / steps;
        // A long tail: a thousandth of the transactions takes about ten times as long.
        let u = random.unit();
        let ns = (typical_ms * 1e6 * (0.4 + 0.5 * (-(1.0 - u).ln())).powf(1.25)) as u64 + 90_000;
        latency.record_n(ns, times).unwrap();
        sum += ns * times;
        max = if times > 0 { max.max(ns) } else { max };
    }
    let rolled_back = if of.name == "new_order" { count / 100 } else { 0 };
    IntervalRow {
        phase: if of.start_s < shape.warmup_s { Phase::Warmup } else { Phase::Window },
        start_offset_ns: of.start_s * SECOND_NS,
        end_offset_ns: (of.start_s + shape.interval_s) * SECOND_NS,
        committed: count - rolled_back,
        rolled_back,
        deadlocks: u64::from(of.name == "payment" && random.unit() < 0.4),
        latency: TimeTotals { histogram: latency, sum_ns: sum, max_ns: max, out_of_bounds: 0 },
        ..testkit::window(0, of.name, 0)
    }
}

fn variables(io_capacity: &str) -> Vec<(String, String)> {
    let mut all: Vec<(String, String)> =
        (0..60).map(|n| (format!("variable_{n:02}"), (n * 512).to_string())).collect();
    for (name, value) in [
        ("innodb_buffer_pool_size", "4294967296"),
        ("innodb_flush_log_at_trx_commit", "1"),
        ("innodb_flush_method", "O_DIRECT"),
        ("innodb_io_capacity", io_capacity),
        (
            "sql_mode",
            "ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,\
             ERROR_FOR_DIVISION_BY_ZERO",
        ),
        ("init_connect", "<script>alert('x')</script>"),
    ] {
        all.push((name.to_owned(), value.to_owned()));
    }
    all
}

fn counter(
    (name, title): (&str, &str),
    unit: JudgedUnit,
    (hits, trials): (u64, u64),
    (allowed, spread): (StoredBand, f64),
) -> InputCounter {
    let value = Some(hits as f64 / trials as f64);
    let middle = (allowed.low.unwrap_or(0.0) + allowed.high.unwrap_or(0.0)) / 2.0;
    let chance = StoredBand::between((middle - spread).max(0.0)..=middle + spread);
    InputCounter {
        name: name.to_owned(),
        title: title.to_owned(),
        hits,
        trials,
        judged: JudgedNumber::of(unit, value, allowed, chance),
    }
}

fn inputs() -> Vec<InputCounter> {
    let share = JudgedUnit::Share;
    let skipped = StoredBand { low: None, high: Some(0.01) };
    [
        (
            ("rollbacks", "New orders rolled back"),
            share,
            (182, 20_410),
            (StoredBand::between(0.009..=0.011), 0.0023),
        ),
        (
            ("order_lines", "Lines per order"),
            JudgedUnit::Average,
            (204_331, 20_410),
            (StoredBand::between(9.5..=10.5), 0.07),
        ),
        (
            ("remote_lines", "Lines from a remote warehouse"),
            share,
            (2_261, 204_331),
            (StoredBand::between(0.0095..=0.0105), 0.0007),
        ),
        (
            ("remote_payments", "Payments of remote customers"),
            share,
            (2_961, 19_503),
            (StoredBand::between(0.14..=0.16), 0.008),
        ),
        (
            ("payments_by_name", "Payments by last name"),
            share,
            (11_688, 19_503),
            (StoredBand::between(0.57..=0.63), 0.012),
        ),
        (
            ("skipped_deliveries", "Deliveries with a skipped district"),
            share,
            (0, 1_802),
            (skipped, 0.005),
        ),
    ]
    .into_iter()
    .map(|(names, unit, counts, bands)| counter(names, unit, counts, bands))
    .collect()
}

/// The twelve conditions; `passed` false makes the third one fail.
pub fn checks(passed: bool) -> Vec<StoredCheck> {
    (1..=12)
        .map(|n| StoredCheck {
            name: format!("condition_{n}"),
            title: format!("Condition {n} of the clause holds for every district"),
            clause: format!("3.3.2.{n}"),
            passed: passed || n != 3,
            offending_rows: if passed || n != 3 { 0 } else { 2 },
            examples: if passed || n != 3 {
                Vec::new()
            } else {
                ["w_id 1, d_id 7", "w_id 2, d_id 1"].map(str::to_owned).to_vec()
            },
            duration_ns: 31_000_000 * n,
        })
        .collect()
}
