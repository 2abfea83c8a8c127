//! The numbers of cells that a lab shows side by side.

use super::missing::has_result;
use crate::format::{in_words_of, significant, trimmed, truncated};
use crate::model::{CellView, LabView, RepeatView};
use analyse::{MeanValue, Resources};
use std::sync::LazyLock;
use store::{DeviceSummary, TransactionTotals, WindowTotals};

/// A number of a cell.
pub struct CellNumber {
    title: &'static str,
    unit: &'static str,
    of: Of,
    /// For people.
    pub shown: fn(f64) -> String,
    /// Does it range over decades, as response times do?
    pub is_logarithmic: bool,
}

/// Where a number comes from.
enum Of {
    /// The mean of the repeats.
    Repeat(fn(&RepeatView) -> Option<f64>),
    /// The same of what a repeat used.
    Used(UsedOf),
    Cell(fn(&CellView) -> Option<f64>),
    /// The requests of a role; `None` where it had none.
    Role(&'static str, fn(&DeviceSummary) -> Option<f64>),
}

type UsedOf = fn(&Resources) -> Option<f64>;

impl CellNumber {
    /// `Throughput`, `Reads of data`. Titles and units are written for TPC-C.
    pub fn title(&self, view: &LabView) -> String {
        match self.of {
            Of::Role(role, _) => format!("{} {role}", self.title),
            _ => in_words_of(view.metric(), self.title),
        }
    }

    pub fn unit(&self, view: &LabView) -> String {
        in_words_of(view.metric(), self.unit)
    }

    /// By which the charts of a page find it: `Throughput, NOPM`.
    pub fn key(&self, view: &LabView) -> String {
        format!("{}, {}", self.title(view), self.unit(view))
    }

    pub fn of(&self, cell: &CellView) -> MeanValue {
        match self.of {
            Of::Repeat(number) => cell.repeated(number),
            Of::Used(number) => cell.repeated(|repeat| number(repeat.resources()?)),
            Of::Cell(number) => MeanValue::of_repeats(number(cell).as_slice()),
            Of::Role(role, number) => cell.repeated(|repeat| {
                number(repeat.summary().devices.iter().find(|device| device.role == role)?)
            }),
        }
    }
}

const fn metric(title: &'static str, unit: &'static str, of: Of) -> CellNumber {
    CellNumber { title, unit, of, shown: significant, is_logarithmic: false }
}

const fn used(title: &'static str, unit: &'static str, of: UsedOf) -> CellNumber {
    metric(title, unit, Of::Used(of))
}

/// A share of all cores.
const fn share(title: &'static str, percent: UsedOf) -> CellNumber {
    let shown = |percent| trimmed(percent, 2);
    CellNumber { shown, ..used(title, "% of all cores", percent) }
}

const fn response(title: &'static str, of: Of) -> CellNumber {
    CellNumber { is_logarithmic: true, ..metric(title, "ms", of) }
}

pub static THROUGHPUT: CellNumber = CellNumber {
    shown: truncated,
    ..metric("Throughput", "NOPM", Of::Repeat(|repeat| repeat.rates().nopm))
};
pub static P95: CellNumber =
    response("New-order p95", Of::Repeat(|repeat| Some(repeat.primary_ns(0.95)? / 1e6)));
pub static MAXIMUM: CellNumber =
    response("New-order maximum", Of::Cell(|cell| Some(cell.primary_max_ns()? as f64 / 1e6)));
/// Of all types.
pub static RETRIES: CellNumber = metric(
    "Retries",
    "per 1,000 committed",
    Of::Repeat(|repeat| retries_per_1000_committed(&repeat.totals)),
);
static MEAN: CellNumber =
    response("New-order mean", Of::Repeat(|repeat| Some(repeat.primary.mean_ns()? / 1e6)));
static P90: CellNumber =
    response("New-order p90", Of::Repeat(|repeat| Some(repeat.primary_ns(0.9)? / 1e6)));

/// What clients saw.
pub static DELIVERED: [&CellNumber; 5] = [&THROUGHPUT, &P95, &MAXIMUM, &MEAN, &P90];

/// Tries of a window that were made again; `None` where nothing was committed.
fn retries_per_1000_committed(totals: &WindowTotals) -> Option<f64> {
    let sum = |number: fn(&TransactionTotals) -> u64| {
        totals.iter().map(|(_, of)| number(of)).sum::<u64>()
    };
    let committed = sum(|of| of.committed);
    (committed > 0).then(|| sum(TransactionTotals::retries) as f64 * 1e3 / committed as f64)
}

/// What the machine did.
static MACHINE: [CellNumber; 3] = [
    share("CPU, user and system", |r| Some((r.host.cpu.user? + r.host.cpu.system?) * 100.0)),
    share("I/O wait", |r| Some(r.host.cpu.iowait? * 100.0)),
    share("Emulated I/O wait, derived from idle", |r| Some(r.host.emulated_iowait_share? * 100.0)),
];

/// A kind of requests: what stands before the role, its unit, its number.
pub type Requests = (&'static str, &'static str, fn(&DeviceSummary) -> Option<f64>);
pub const READS: Requests = ("Reads of", "1/s", |device| device.read.as_ref()?.per_s);
pub const WRITES: Requests = ("Writes of", "1/s", |device| device.write.as_ref()?.per_s);
const READ: Requests = ("Read from", "MB/s", |device| device.read.as_ref()?.mb_per_s);
const WRITTEN: Requests = ("Written to", "MB/s", |device| device.write.as_ref()?.mb_per_s);
const FLUSHES: Requests = ("Flushes of", "1/s", |device| device.flush.as_ref()?.per_s);

/// By role, as the shim counted.
const STORAGE: [(&str, &[Requests]); 6] = [
    ("data", &[READS, WRITES, READ, WRITTEN]),
    ("undo", &[READS, WRITES, READ, WRITTEN]),
    ("doublewrite", &[WRITES, WRITTEN]),
    ("redo", &[WRITES, WRITTEN, FLUSHES]),
    ("binlog", &[WRITES, WRITTEN, FLUSHES]),
    ("temp", &[READS, WRITES, READ, WRITTEN]),
];

static STORAGE_BY_ROLE: LazyLock<Vec<CellNumber>> = LazyLock::new(|| {
    let by_role = STORAGE.iter().flat_map(|&(role, kinds)| {
        kinds.iter().map(move |&(title, unit, number)| metric(title, unit, Of::Role(role, number)))
    });
    by_role.collect()
});

/// The same as the server says, where nobody counted by role in some cell.
static STORAGE_BY_SERVER: [CellNumber; 4] = [
    used("Reads, as the server says", "1/s", |r| r.server.data_reads_per_s),
    used("Writes, as the server says", "1/s", |r| r.server.data_writes_per_s),
    used("Writes of redo, as the server says", "1/s", |r| r.server.log_writes_per_s),
    used("Written to redo, as the server says", "MB/s", |r| {
        Some(r.server.log_written_bytes_per_s? / 1e6)
    }),
];

/// What a transaction, a watt and a dollar gave.
static COSTS: [CellNumber; 4] = [
    used("Path length", "thousand cycles per transaction", |r| {
        Some(r.per_transaction.path_length_cycles? / 1e3)
    }),
    used("CPU of the server", "µs per transaction", |r| r.per_transaction.server_cpu_us),
    used("New orders per minute", "per W", |r| r.power.nopm_per_watt),
    used("New orders per minute", "per USD of the devices", |r| r.price.nopm_per_usd),
];

/// What is known of what the cells used of the machine.
pub fn used_of_machine(view: &LabView) -> Vec<&'static CellNumber> {
    let by_role = LazyLock::force(&STORAGE_BY_ROLE);
    let is_known =
        |number: &&CellNumber| view.cells.iter().any(|cell| number.of(cell).mean.is_some());
    let is_counted = |cell: &CellView| by_role.iter().any(|number| number.of(cell).mean.is_some());
    let mut numbers: Vec<&CellNumber> = MACHINE.iter().chain(by_role).collect();
    let mut measured = view.cells.iter().filter(|cell| has_result(cell));
    if !measured.all(is_counted) {
        numbers.extend(&STORAGE_BY_SERVER);
    }
    numbers.extend(&COSTS);
    numbers.retain(is_known);
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;
    use store::CellTransaction;

    fn of_type(
        name: &str,
        committed: u64,
        totals: TransactionTotals,
    ) -> (CellTransaction, TransactionTotals) {
        let of = CellTransaction { name: name.to_owned(), ..CellTransaction::default() };
        (of, TransactionTotals { committed, ..totals })
    }

    #[test]
    fn retries_of_all_types_and_causes_count() {
        let deadlocks = TransactionTotals {
            deadlocks: 3,
            lock_wait_timeouts: 1,
            ..TransactionTotals::default()
        };
        let others =
            TransactionTotals { other_retries: 2, rolled_back: 90, ..TransactionTotals::default() };
        let types = [of_type("new_order", 400, deadlocks), of_type("payment", 100, others)];
        assert_eq!(retries_per_1000_committed(&types.into_iter().collect()), Some(12.0));
    }

    #[test]
    fn without_commits_there_is_no_number() {
        let failed = TransactionTotals { deadlocks: 3, ..TransactionTotals::default() };
        let types = [of_type("new_order", 0, failed)];
        assert_eq!(retries_per_1000_committed(&types.into_iter().collect()), None);
        assert_eq!(retries_per_1000_committed(&WindowTotals::default()), None);
    }
}
