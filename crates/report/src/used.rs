//! What a cell used, in the mean of its windows.

use crate::format::{or_na, significant, trimmed};
use crate::model::{CellView, RepeatView};
use crate::table::{shown, shown_as};
use analyse::{DiskResources, HostMachine, IoCountedBy, PowerMeter, Resources, Table};
use itertools::Itertools;
use maud::{Markup, html};

/// A number of what was used, with its title and unit.
type UsedNumber<R = Resources> = (&'static str, &'static str, fn(&R) -> Option<f64>);

fn percent(share: Option<f64>) -> Option<f64> {
    share.map(|share| share * 100.0)
}

/// Millions of them: bytes as MB, cycles as millions.
fn mega(value: Option<f64>) -> Option<f64> {
    value.map(|value| value / 1e6)
}

fn thousands(value: Option<f64>) -> Option<f64> {
    value.map(|value| value / 1e3)
}

const CORES: &str = "% of all cores";
const TIME: &str = "% of time";

const HOST: [UsedNumber; 15] = [
    ("Cores", "", |r| r.host.cpu_cores),
    ("Frequency", "GHz", |r| r.host.cpu_frequency_hz.map(|hz| hz / 1e9)),
    ("Busy", CORES, |r| percent(r.host.cpu_busy_share)),
    ("User", CORES, |r| percent(r.host.cpu.user)),
    ("System", CORES, |r| percent(r.host.cpu.system)),
    ("Interrupts", CORES, |r| percent(r.host.cpu.interrupt)),
    ("Steal", CORES, |r| percent(r.host.cpu.steal)),
    ("I/O wait", CORES, |r| percent(r.host.cpu.iowait)),
    ("Emulated I/O wait, derived from idle", CORES, |r| percent(r.host.emulated_iowait_share)),
    ("Idle", CORES, |r| percent(r.host.cpu.idle)),
    ("Some thread waited for a core (PSI)", TIME, |r| percent(r.host.pressure_cpu_some_share)),
    ("Some thread waited for storage (PSI)", TIME, |r| percent(r.host.pressure_io_some_share)),
    ("Context switches", "1/s", |r| r.host.context_switches_per_s),
    ("Network, received and sent", "MB/s", |r| {
        let host = &r.host;
        mega(Some(host.network_received_bytes_per_s? + host.network_sent_bytes_per_s?))
    }),
    ("Memory available", "MB", |r| mega(r.host.memory_available_bytes)),
];

const PROCESSES: [UsedNumber; 8] = [
    ("Server", "cores", |r| r.server_process.cpu_cores_used),
    ("Server, memory", "MB", |r| mega(r.server_process.resident_bytes)),
    ("Server, read", "MB/s", |r| mega(r.server_process.read_bytes_per_s)),
    ("Server, written", "MB/s", |r| mega(r.server_process.written_bytes_per_s)),
    ("mydyno", "cores", |r| r.driver.cpu_cores_used),
    ("mydyno, memory", "MB", |r| mega(r.driver.resident_bytes)),
    ("mydyno, busiest thread on a core", TIME, |r| percent(r.driver.busiest_thread_cpu_share)),
    ("mydyno, that thread waiting for a core", TIME, |r| {
        percent(r.driver.busiest_thread_run_wait_share)
    }),
];

const PER_TRANSACTION: [UsedNumber; 9] = [
    ("Path length", "thousand cycles", |r| thousands(r.per_transaction.path_length_cycles)),
    ("CPU of the host", "µs", |r| r.per_transaction.host_cpu_us),
    ("CPU of the server", "µs", |r| r.per_transaction.server_cpu_us),
    ("CPU of mydyno", "µs", |r| r.per_transaction.driver_cpu_us),
    ("Read from storage", "bytes", |r| r.per_transaction.read_bytes),
    ("Written to storage", "bytes", |r| r.per_transaction.written_bytes),
    ("Flushes", "", |r| r.per_transaction.flushes),
    ("Rows changed", "bytes", |r| r.per_transaction.row_bytes),
    ("Write amplification", "bytes written per byte of rows", |r| {
        r.per_transaction.write_amplification
    }),
];

const SERVER: [UsedNumber; 18] = [
    ("Statements", "1/s", |r| r.server.statements_per_s),
    ("Threads running", "", |r| r.server.threads_running_mean),
    ("Buffer pool, hits", "% of page requests", |r| percent(r.server.buffer_pool_hit_share)),
    ("Buffer pool, dirty", "% of pages", |r| percent(r.server.buffer_pool_dirty_share)),
    ("Pages read", "1/s", |r| r.server.pages_read_per_s),
    ("Pages written", "1/s", |r| r.server.pages_written_per_s),
    ("Pages flushed", "1/s", |r| r.server.pages_flushed_per_s),
    ("Doublewrite pages", "1/s", |r| r.server.doublewrite_pages_per_s),
    ("Reads of files", "1/s", |r| r.server.data_reads_per_s),
    ("fsyncs, redo included", "1/s", |r| r.server.data_fsyncs_per_s),
    ("fsyncs of redo", "1/s", |r| r.server.log_fsyncs_per_s),
    ("Redo written", "MB/s", |r| mega(r.server.log_written_bytes_per_s)),
    ("Checkpoint age", "MB", |r| mega(r.server.checkpoint_age_bytes)),
    ("Row-lock waits", "1/s", |r| r.server.row_lock_waits_per_s),
    ("Row-lock wait, mean of one", "ms", |r| thousands(r.server.row_lock_wait_mean_us)),
    ("Transactions waiting for row locks", "", |r| r.server.row_lock_waiting_mean),
    ("Deadlocks", "1/s", |r| r.server.deadlocks_per_s),
    ("Undo that purge has to do", "entries", |r| r.server.history_list_entries),
];

/// What the processors counted themselves: shown only where they did, which few virtual machines
/// let them.
const COUNTED: [UsedNumber; 2] = [
    ("Cycles", "thousand", |r| thousands(r.per_transaction.cycles)),
    ("Instructions", "thousand", |r| thousands(r.per_transaction.instructions)),
];

/// Power and money: shown only where something measured or has a price.
const POWER: [UsedNumber; 2] = [
    ("Power, mean", "W", |r| r.power.watts_mean),
    ("New orders per minute", "per W", |r| r.power.nopm_per_watt),
];
const PRICE: [UsedNumber; 2] = [
    ("Price of the devices", "USD", |r| r.price.devices_usd),
    ("New orders per minute", "per USD", |r| r.price.nopm_per_usd),
];

/// The tables of a cell; nothing where none of its repeats was sampled.
pub fn used_section(cell: &CellView) -> Markup {
    let sampled = sampled(cell).count();
    html! {
        @if sampled > 0 {
            h3 { "What it used" }
            p.soft.small {
                "Means of the window"
                @if sampled > 1 {
                    " over " (sampled) " repeats; ± is the 95 % confidence interval of the mean" }
                ". NA: not known here."
            }
            div.columns {
                div {
                    (group(cell, host_title(cell), &HOST)) (group(cell, "Processes", &PROCESSES))
                    (power_and_price(cell))
                }
                div { (one_transaction(cell)) (group(cell, "Server", &SERVER)) }
            }
            (disks_table(cell))
        }
    }
}

fn sampled(cell: &CellView) -> impl Iterator<Item = &Resources> {
    cell.counted().filter_map(RepeatView::resources)
}

/// Whose machine it was.
fn host_title(cell: &CellView) -> &'static str {
    match sampled(cell).find_map(|resources| resources.host.machine) {
        Some(HostMachine::Driver) => "Host, of server and mydyno",
        Some(HostMachine::Exporter) => "Host of the server, by its exporter",
        None => "Host of the server",
    }
}

fn one_transaction(cell: &CellView) -> Markup {
    let each = || sampled(cell).map(|resources| &resources.per_transaction);
    let is_counted = each().any(|each| each.cycles.is_some());
    let bytes_by = each().find_map(|each| each.io_counted_by);
    html! {
        (group(cell, "One transaction", &PER_TRANSACTION))
        @if let Some(by) = bytes_by {
            p.soft.small {
                "Bytes and flushes as "
                @match by {
                    IoCountedBy::Shim => "the shim counted them, of all roles.",
                    IoCountedBy::Server => "the server says of InnoDB's files.",
                    IoCountedBy::Process => "the kernel counted bytes of the server's process, and \
                        the server its fsyncs.",
                }
            }
        }
        @if is_counted { (group(cell, "One transaction, by the processors' counters", &COUNTED)) }
    }
}

fn power_and_price(cell: &CellView) -> Markup {
    let metered = sampled(cell).find_map(|resources| resources.power.measured_by);
    let priced = sampled(cell).any(|resources| resources.price.devices_usd.is_some());
    html! {
        @match metered {
            Some(PowerMeter::Rapl) =>
                (group(cell, "Power of the processor packages alone", &POWER)),
            Some(PowerMeter::Meter) => (group(cell, "Power of what the meter stands at", &POWER)),
            None => {}
        }
        @if priced { (group(cell, "Price", &PRICE)) }
    }
}

fn group(cell: &CellView, title: &str, rows: &[UsedNumber]) -> Markup {
    let several = sampled(cell).count() > 1;
    let known = rows.iter().map(|(name, unit, number)| {
        (*name, *unit, cell.repeated(|repeat| number(repeat.resources()?)))
    });
    let table = Table::of(known)
        .words(title, |(name, ..)| *name)
        .numbers("Mean", |(_, unit, of)| or_na(of.mean, |mean| in_unit(mean, unit)))
        .when(several, |table| {
            table.numbers("±", |(.., of)| {
                html! { span.soft { (of.half_width().map(significant).unwrap_or_default()) } }
            })
        })
        .words("Unit", |(_, unit, _)| html! { span.soft.small { (unit) } });
    shown_as("used", "", table)
}

/// Shares tell most near 100 %, where three digits are too few.
fn in_unit(value: f64, unit: &str) -> String {
    if unit.starts_with('%') { trimmed(value, 2) } else { significant(value) }
}

const DISK: [UsedNumber<DiskResources>; 9] = [
    ("Reads", "1/s", |d| d.read_per_s),
    ("Read", "MB/s", |d| mega(d.read_bytes_per_s)),
    ("One read", "ms", |d| thousands(d.read_await_us)),
    ("Writes", "1/s", |d| d.write_per_s),
    ("Written", "MB/s", |d| mega(d.write_bytes_per_s)),
    ("One write", "ms", |d| thousands(d.write_await_us)),
    ("Flushes", "1/s", |d| d.flush_per_s),
    ("Queue", "mean", |d| d.queue_depth_mean),
    ("Busy", "%", |d| percent(d.busy_share)),
];

fn disks_table(cell: &CellView) -> Markup {
    let disks = sampled(cell).flat_map(|resources| &resources.disks);
    let busy = disks.filter(|of| of.read_per_s != Some(0.0) || of.write_per_s != Some(0.0));
    let names = busy.map(|disk| disk.disk.as_str()).sorted_unstable().dedup();
    let mean = |name: &str, (_, unit, number): &UsedNumber<DiskResources>| {
        let of_repeat = |repeat: &RepeatView| {
            let disks = &repeat.resources()?.disks;
            number(disks.iter().find(|disk| disk.disk == name)?)
        };
        or_na(cell.repeated(of_repeat).mean, |mean| in_unit(mean, unit))
    };
    let mut table = Table::of(names).words("Disk", |name| *name);
    for column in &DISK {
        table = table.numbers_in((column.0, column.1), |name| mean(name, column));
    }
    let caption = "Disks of the host that did anything; an emulated device is none of them.";
    html! {
        @if !table.rows().is_empty() {
            (shown(caption, table))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{PER_TRANSACTION, in_unit};

    #[test]
    fn numbers_have_the_digits_that_mean_something() {
        assert_eq!(in_unit(99.87, "% of page requests"), "99.87");
        assert_eq!(in_unit(0.0, "%"), "0");
        assert_eq!(in_unit(12_345.6, "MB"), "12,346");
    }

    #[test]
    fn path_length_is_in_thousands() {
        let (title, unit, _) = PER_TRANSACTION[0];
        assert_eq!((title, unit), ("Path length", "thousand cycles"));
    }
}
