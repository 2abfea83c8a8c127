//! What one transaction cost. Transactions are those of all types that ended in the window.

use crate::load::WindowLoad;
use crate::resources::{IoCountedBy, OfWindow, Resources};
use base::document;
use store::MetricSource::{Host, Server, Shim};
use store::{NewCell, WindowTotals};

/// Roles of the files that pages are in, and of those that a commit waits for.
const PAGES: [&str; 3] = ["data", "undo", "doublewrite"];
const LOGS: [&str; 2] = ["redo", "binlog"];

/// Bytes a second that were read and written, with who counted them: the first that counted any.
fn bytes_per_s(
    of_window: &OfWindow<'_>,
    resources: &Resources,
) -> Option<(IoCountedBy, Option<f64>, Option<f64>)> {
    let of_shim = |name: &str| of_window.total(Shim, name);
    let of_server = |name: &str| of_window.mean(Server, name, "");
    let process = &resources.server_process;
    [
        (IoCountedBy::Shim, of_shim("read_bytes"), of_shim("write_bytes")),
        (IoCountedBy::Server, of_server("data_read_bytes"), of_server("data_written_bytes")),
        // The last: of small writes to the page cache the kernel may count many times too much.
        (IoCountedBy::Process, process.read_bytes_per_s, process.written_bytes_per_s),
    ]
    .into_iter()
    .find(|(_, read, written)| read.is_some() || written.is_some())
}

document! {
    /// Means per transaction, of which some have ended.
    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    pub struct PerTransaction from (
        of_window: &OfWindow<'_>,
        resources: &Resources,
        totals: &WindowTotals,
        load: &WindowLoad,
        cell: &NewCell
    );
    let each = |amount_per_s: Option<f64>| amount_per_s.map(|amount| amount / load.ended_per_s);
    let each_us = |cores: Option<f64>| each(cores).map(|s| s * 1e6);
    let host = &resources.host;
    let host_cores =
        of_window.cpu().executed().zip(host.cpu_cores).map(|(share, cores)| share * cores);
    let counted = |name: &str| each(of_window.mean(Host, name, ""));
    let flushes_per_s = of_window.total(Shim, "flushes").or(resources.server.data_fsyncs_per_s);
    let bytes = bytes_per_s(of_window, resources);
    let written_bytes = each(bytes.and_then(|(_, _, written)| written));
    // What was rolled back has left no row.
    let of_types = totals.iter();
    let row_bytes = of_types.map(|(of, ended)| Some(of.row_bytes? as f64 * ended.committed as f64));
    let row_bytes = row_bytes.sum::<Option<f64>>();
    let row_bytes = row_bytes.map(|bytes| bytes / totals.completed() as f64);
    let asked = |name: &str, roles: &[&str]| {
        let known = roles.iter().map(|role| of_window.mean(Shim, name, role));
        each(known.sum::<Option<f64>>())
    };
    {
        /// Requests as the shim counted them by role, whoever made them. Pages are in data, undo
        /// and doublewrite, logs are redo and the binary log.
        pub data_reads: Option<f64> = asked("reads", &PAGES),
        pub data_writes: Option<f64> = asked("writes", &PAGES),
        pub log_flushes: Option<f64> = asked("flushes", &LOGS),
        /// Pages of 4 KiB that buffered reads found in the modelled page cache; `None` without an
        /// emulated device.
        pub page_cache_hits: Option<f64> =
            asked("cache_hits", &[""]).filter(|_| cell.places.iter().any(|place| place.emulated)),
        /// Cycles of the host: frequency x cores x utilisation / transactions per second, as the
        /// white papers have it.
        pub path_length_cycles: Option<f64> =
            each(host_cores.zip(host.cpu_frequency_hz).map(|(cores, hz)| cores * hz)),
        /// That the host's processors counted themselves.
        pub cycles: Option<f64> = counted("cycles"),
        pub instructions: Option<f64> = counted("instructions"),
        /// CPU time of the host, of the server's process, and of mydyno.
        pub host_cpu_us: Option<f64> = each_us(host_cores),
        pub server_cpu_us: Option<f64> = each_us(resources.server_process.cpu_cores_used),
        pub driver_cpu_us: Option<f64> = each_us(resources.driver.cpu_cores_used),
        /// What went from and to storage.
        pub read_bytes: Option<f64> = each(bytes.and_then(|(_, read, _)| read)),
        pub written_bytes: Option<f64> = written_bytes,
        /// Of the shim, else of the server.
        pub flushes: Option<f64> = each(flushes_per_s),
        /// Who counted the bytes.
        pub io_counted_by: Option<IoCountedBy> = bytes.map(|(counted_by, _, _)| counted_by),
        /// Bytes of rows that transactions inserted, changed or deleted, each row as long as clause
        /// 4.2.2 says.
        pub row_bytes: Option<f64> = row_bytes,
        /// Bytes written for each of those.
        pub write_amplification: Option<f64> = written_bytes
            .zip(row_bytes.filter(|bytes| *bytes > 0.0))
            .map(|(written, bytes)| written / bytes),
    }
}
