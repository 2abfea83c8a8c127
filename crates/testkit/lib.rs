//! Results files for tests, written as a run writes them, in few words. Other crates have this one
//! as a dev-dependency only.

use hdrhistogram::Histogram;
use std::ops::Deref;
use std::path::PathBuf;
use store::{
    CellId, CellPlace, CellTransaction, IntervalRow, LabId, Metric, MetricKind, MetricSource,
    NewCell, NewLab, NewRepeat, Phase, RepeatFailure, RepeatId, RepeatResult, Results,
    StoredStatementTime, TimeTotals, empty_histogram,
};
use tempfile::TempDir;

pub const SECOND_NS: u64 = 1_000_000_000;
/// The response time of every transaction of [`window`].
pub const RESPONSE_NS: u64 = 40_000_000;

/// A results file with one lab. It goes away with this value.
pub struct Scratch {
    pub lab: LabId,
    results: Results,
    directory: TempDir,
}

impl Scratch {
    pub fn with(lab: &NewLab) -> Scratch {
        let directory = tempfile::tempdir().unwrap();
        let results = Results::create_or_open(&directory.path().join("mydyno.db")).unwrap();
        let lab = results.begin_lab(lab).unwrap();
        Scratch { lab, results, directory }
    }

    /// The results file.
    pub fn path(&self) -> PathBuf {
        self.directory.path().join("mydyno.db")
    }

    /// Begins a cell and its first repeat.
    pub fn begin(&self, cell: &NewCell) -> RepeatId {
        let cell = self.results.begin_cell(self.lab, cell).unwrap();
        begin(&self.results, cell, 1)
    }
}

impl Default for Scratch {
    fn default() -> Scratch {
        Scratch::with(&NewLab::default())
    }
}

impl Deref for Scratch {
    type Target = Results;

    fn deref(&self) -> &Results {
        &self.results
    }
}

/// A cell whose window has two intervals of a second.
pub fn cell() -> NewCell {
    NewCell {
        ordinal: 1,
        engine: "mysql-5.7".to_owned(),
        server_version: "5.7.22".to_owned(),
        flavour: "mysql".to_owned(),
        transport: "tcp".to_owned(),
        workload: "tpcc".to_owned(),
        style: "statements".to_owned(),
        warehouses: Some(10),
        connections: 8,
        home: Some(false),
        foreign_keys: Some(true),
        transactions: transactions(),
        window_ns: 2 * SECOND_NS,
        interval_ns: SECOND_NS,
        schemas: 1,
        instances: 1,
        ..NewCell::default()
    }
}

/// The types of TPC-C.
pub fn transactions() -> Vec<CellTransaction> {
    let types = [
        ("new_order", 3_727),
        ("payment", 885),
        ("order_status", 0),
        ("delivery", 12_270),
        ("stock_level", 0),
    ];
    let types = types.map(|(name, row_bytes)| CellTransaction {
        name: name.to_owned(),
        is_primary: name == "new_order",
        row_bytes: Some(row_bytes),
    });
    types.into()
}

/// A repeat without an option file and a seed.
pub fn repeat(cell: CellId, ordinal: u32) -> NewRepeat {
    NewRepeat::not_driven(cell, ordinal)
}

/// Begins that repeat.
pub fn begin(results: &Results, cell: CellId, ordinal: u32) -> RepeatId {
    results.begin_repeat(&repeat(cell, ordinal)).unwrap()
}

/// Transactions of one type, all committed in a window of this length, which is one interval.
pub fn window(window_ns: u64, transaction: &str, committed: u64) -> IntervalRow {
    let mut latency = empty_histogram();
    if committed > 0 {
        latency.record_n(RESPONSE_NS, committed).unwrap();
    }
    IntervalRow {
        phase: Phase::Window,
        start_offset_ns: 0,
        end_offset_ns: window_ns,
        transaction: transaction.to_owned(),
        committed,
        rolled_back: 0,
        deadlocks: 0,
        lock_wait_timeouts: 0,
        other_retries: 0,
        errors: 0,
        latency: TimeTotals {
            histogram: latency,
            sum_ns: committed * RESPONSE_NS,
            max_ns: RESPONSE_NS,
            out_of_bounds: 0,
        },
    }
}

/// Finishes a repeat with so many new orders in the window of its cell.
pub fn measure(results: &Results, repeat: RepeatId, new_orders: u64) {
    let cell = results.repeat(repeat).unwrap().cell;
    let window_ns = results.cell(cell).unwrap().what.window_ns;
    let rows = [window(window_ns, "new_order", new_orders)];
    results.put(repeat, &rows).unwrap();
    results.finish_repeat(repeat, &result(window_ns)).unwrap();
}

/// A result that says nothing but how long its window was.
pub fn result(window_ns: u64) -> RepeatResult {
    RepeatResult { measured_window_ns: window_ns, ..RepeatResult::default() }
}

/// Fails a repeat for this reason.
pub fn fail(results: &Results, repeat: RepeatId, reason_code: &str) {
    let failure = RepeatFailure { reason_code: reason_code.to_owned(), ..RepeatFailure::default() };
    results.fail_repeat(repeat, &failure).unwrap();
}

/// The files of a role on an emulated device.
pub fn place(role: &str, device: &str) -> CellPlace {
    CellPlace {
        role: role.to_owned(),
        device: device.to_owned(),
        emulated: true,
        used: None,
        profile_fingerprint: None,
        backing: "memory (/dev/shm)".to_owned(),
    }
}

pub fn metric((source, kind): (MetricSource, MetricKind), name: &str, label: &str) -> Metric {
    Metric { source, name: name.to_owned(), label: label.to_owned(), kind }
}

/// Executions of a kind of statement, with the two digits that the driver keeps.
pub fn statement(transaction: &str, kind: &str, times_us: &[u64]) -> StoredStatementTime {
    let mut histogram = Histogram::new_with_bounds(1_000, 3_600 * SECOND_NS, 2).unwrap();
    for us in times_us {
        histogram.record(us * 1_000).unwrap();
    }
    StoredStatementTime {
        transaction: transaction.to_owned(),
        kind: kind.to_owned(),
        times: TimeTotals {
            histogram,
            sum_ns: times_us.iter().sum::<u64>() * 1_000,
            max_ns: times_us.iter().max().copied().unwrap_or(0) * 1_000,
            out_of_bounds: 0,
        },
    }
}
