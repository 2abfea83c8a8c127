//! What one transaction cost. Transactions are those of all types that ended in the window.

use crate::load::{Intervals, Load};
use crate::resources::{IoCountedBy, OfWindow, PerTransaction, Resources};
use store::MetricSource::{Host, Server, Shim};
use store::NewCell;

/// Typical lengths of rows in bytes (clause 4.2.2).
const WAREHOUSE: f64 = 89.0;
const DISTRICT: f64 = 95.0;
const CUSTOMER: f64 = 655.0;
const HISTORY: f64 = 46.0;
const NEW_ORDER: f64 = 8.0;
const ORDER: f64 = 24.0;
const ORDER_LINE: f64 = 54.0;
const STOCK: f64 = 306.0;
/// Lines of an order in the mean, and orders that a Delivery delivers: one for each district (clauses 2.4.1.3 and 2.7.4.2).
const LINES: f64 = 10.0;
const DELIVERED: f64 = 10.0;

/// Roles of the files that pages are in, and of those that a commit waits for.
const PAGES: [&str; 3] = ["data", "undo", "doublewrite"];
const LOGS: [&str; 2] = ["redo", "binlog"];

/// Bytes of rows that one transaction of a type changes.
fn row_bytes_of(transaction: &str) -> f64 {
    match transaction {
        "new_order" => DISTRICT + ORDER + NEW_ORDER + LINES * (ORDER_LINE + STOCK),
        "payment" => WAREHOUSE + DISTRICT + CUSTOMER + HISTORY,
        "delivery" => DELIVERED * (NEW_ORDER + ORDER + LINES * ORDER_LINE + CUSTOMER),
        _ => 0.0,
    }
}

/// Does a transaction of a type change rows? One that nobody knows may.
pub(crate) fn changes_rows(transaction: &str) -> bool {
    !matches!(transaction, "order_status" | "stock_level")
}

/// Bytes a second that were read and written, with who counted them: the first that counted any.
fn bytes_per_s(
    of_window: &OfWindow<'_>,
    resources: &Resources,
) -> Option<(IoCountedBy, Option<f64>, Option<f64>)> {
    let of_shim = |name: &str| of_window.total(Shim, name);
    let of_server = |name: &str| of_window.mean(Server, name, "");
    let process = &resources.server_process;
    [
        (
            IoCountedBy::Shim,
            of_shim("read_bytes"),
            of_shim("write_bytes"),
        ),
        (
            IoCountedBy::Server,
            of_server("data_read_bytes"),
            of_server("data_written_bytes"),
        ),
        // The last: of small writes to the page cache the kernel may count many times too much.
        (
            IoCountedBy::Process,
            process.read_bytes_per_s,
            process.written_bytes_per_s,
        ),
    ]
    .into_iter()
    .find(|(_, read, written)| read.is_some() || written.is_some())
}

pub(crate) fn of(
    of_window: &OfWindow<'_>,
    resources: &Resources,
    intervals: &Intervals,
    load: &Load,
    cell: &NewCell,
) -> PerTransaction {
    let completed = intervals.completed();
    if completed == 0 {
        return PerTransaction::default();
    }
    let each = |amount_per_s: Option<f64>| amount_per_s.map(|amount| amount / load.ended_per_s);
    let each_us = |cores: Option<f64>| each(cores).map(|s| s * 1e6);
    let host = &resources.host;
    let host_cores = of_window
        .cpu()
        .executed()
        .zip(host.cpu_cores)
        .map(|(share, cores)| share * cores);
    let counted = |name: &str| each(of_window.mean(Host, name, ""));
    let flushes_per_s = of_window
        .total(Shim, "flushes")
        .or(resources.server.data_fsyncs_per_s);
    let bytes = bytes_per_s(of_window, resources);
    let written_bytes = each(bytes.and_then(|(_, _, written)| written));
    // What was rolled back has left no row.
    let row_bytes = intervals
        .window
        .iter()
        .map(|(name, of)| row_bytes_of(name) * of.committed as f64)
        .sum::<f64>()
        / completed as f64;
    let asked = |name: &str, roles: &[&str]| {
        let known = roles.iter().map(|role| of_window.mean(Shim, name, role));
        each(known.sum::<Option<f64>>())
    };
    PerTransaction {
        data_reads: asked("reads", &PAGES),
        data_writes: asked("writes", &PAGES),
        log_flushes: asked("flushes", &LOGS),
        page_cache_hits: asked("cache_hits", &[""])
            .filter(|_| cell.places.iter().any(|place| place.emulated)),
        path_length_cycles: each(
            host_cores
                .zip(host.cpu_frequency_hz)
                .map(|(cores, hz)| cores * hz),
        ),
        cycles: counted("cycles"),
        instructions: counted("instructions"),
        host_cpu_us: each_us(host_cores),
        server_cpu_us: each_us(resources.server_process.cpu_cores_used),
        driver_cpu_us: each_us(resources.driver.cpu_cores_used),
        read_bytes: each(bytes.and_then(|(_, read, _)| read)),
        written_bytes,
        flushes: each(flushes_per_s),
        io_counted_by: bytes.map(|(counted_by, _, _)| counted_by),
        row_bytes: Some(row_bytes),
        write_amplification: written_bytes
            .filter(|_| row_bytes > 0.0)
            .map(|written| written / row_bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::row_bytes_of;

    #[test]
    fn rows_are_as_long_as_the_clauses_say() {
        assert_eq!(
            row_bytes_of("new_order"),
            95.0 + 24.0 + 8.0 + 540.0 + 3060.0
        );
        assert_eq!(row_bytes_of("payment"), 885.0);
        assert_eq!(row_bytes_of("delivery"), 80.0 + 240.0 + 5400.0 + 6550.0);
        assert_eq!(row_bytes_of("stock_level"), 0.0);
    }
}
