//! What one transaction cost. Transactions are those of all types that completed in the window.

use crate::resources::{OfWindow, Resources};
use serde::Serialize;
use store::{MetricSource, WindowTotals};

/// Means per transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct PerTransaction {
    /// Cycles of the host: frequency x cores x utilisation / transactions per second, as the white papers have it.
    pub path_length_cycles: Option<f64>,
    /// CPU time of the host, of the server's process, and of mydyno.
    pub host_cpu_us: Option<f64>,
    pub server_cpu_us: Option<f64>,
    pub driver_cpu_us: Option<f64>,
    /// What went from and to devices: of all roles where they are counted, else of the server's process.
    pub read_bytes: Option<f64>,
    pub written_bytes: Option<f64>,
    pub flushes: Option<f64>,
    /// Bytes of rows that transactions inserted, changed or deleted, each row as long as clause 4.2.2 says.
    pub row_bytes: Option<f64>,
    /// Bytes to devices for each of those.
    pub write_amplification: Option<f64>,
}

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

/// Bytes of rows that one transaction of a type changes.
fn row_bytes_of(transaction: &str) -> f64 {
    match transaction {
        "new_order" => DISTRICT + ORDER + NEW_ORDER + LINES * (ORDER_LINE + STOCK),
        "payment" => WAREHOUSE + DISTRICT + CUSTOMER + HISTORY,
        "delivery" => DELIVERED * (NEW_ORDER + ORDER + LINES * ORDER_LINE + CUSTOMER),
        _ => 0.0,
    }
}

pub(crate) fn of(
    of_window: &OfWindow<'_>,
    resources: &Resources,
    totals: &WindowTotals,
    window_s: f64,
) -> PerTransaction {
    let completed: u64 = totals.values().map(store::Totals::completed).sum();
    if completed == 0 || window_s <= 0.0 {
        return PerTransaction::default();
    }
    let per_s = completed as f64 / window_s;
    let each = |amount_per_s: Option<f64>| amount_per_s.map(|amount| amount / per_s);
    let each_us = |cores: Option<f64>| each(cores).map(|s| s * 1e6);
    let host = &resources.host;
    let host_cores = host
        .cpu_busy_share
        .zip(host.cpu_cores)
        .map(|(share, cores)| share * cores);
    let counted = |name: &str| of_window.total_per_s(MetricSource::Shim, name);
    let process = &resources.server_process;
    // What was rolled back has left no row.
    let row_bytes: f64 = totals
        .iter()
        .map(|(name, of)| row_bytes_of(name) * of.committed as f64)
        .sum();
    let written = counted("write_bytes").or(process.written_bytes_per_s);
    PerTransaction {
        path_length_cycles: each(
            host_cores
                .zip(host.cpu_frequency_hz)
                .map(|(cores, hz)| cores * hz),
        ),
        host_cpu_us: each_us(host_cores),
        server_cpu_us: each_us(process.cpu_cores_used),
        driver_cpu_us: each_us(resources.driver.cpu_cores_used),
        read_bytes: each(counted("read_bytes").or(process.read_bytes_per_s)),
        written_bytes: each(written),
        flushes: each(counted("flushes")),
        row_bytes: Some(row_bytes / completed as f64),
        write_amplification: written
            .filter(|_| row_bytes > 0.0)
            .map(|written| written * window_s / row_bytes),
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
