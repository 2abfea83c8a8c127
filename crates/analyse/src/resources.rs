//! Means of the window of one repeat, from its samples. `docs/json.md` describes the keys; METHODOLOGY.md says how each is computed.

use crate::bound::{Bound, Evidence, bound};
use crate::per_transaction::{self, PerTransaction};
use crate::price::{PriceResources, price};
use crate::samples::{Samples, Window};
use serde::Serialize;
use store::{Cell, MetricSource, Rates, Repeat, RepeatStatus, Results, StoreError, WindowTotals};

/// What a run used, and what bound it. `None` is not known: the source was not there, or the window was too short for two samples.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Resources {
    pub host: HostResources,
    pub disks: Vec<DiskResources>,
    pub server_process: ProcessResources,
    pub driver: DriverResources,
    pub server: ServerResources,
    pub power: PowerResources,
    pub price: PriceResources,
    pub per_transaction: PerTransaction,
    pub bound: Option<Bound>,
}

/// The machine that the driver runs on, which is the server's where that is private or local. Shares are of all cores together, 0 to 1.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HostResources {
    pub cpu_cores: Option<f64>,
    pub cpu_frequency_hz: Option<f64>,
    /// All but idle and iowait.
    pub cpu_busy_share: Option<f64>,
    pub cpu_user_share: Option<f64>,
    pub cpu_system_share: Option<f64>,
    pub cpu_iowait_share: Option<f64>,
    pub cpu_interrupt_share: Option<f64>,
    pub cpu_steal_share: Option<f64>,
    pub cpu_idle_share: Option<f64>,
    /// Derived: of the idle share, what fell into times with requests outstanding at emulated devices, whose waits are sleeps.
    pub emulated_iowait_share: Option<f64>,
    pub processes_running_mean: Option<f64>,
    pub context_switches_per_s: Option<f64>,
    pub pressure_cpu_some_share: Option<f64>,
    pub pressure_io_some_share: Option<f64>,
    pub pressure_io_full_share: Option<f64>,
    pub pressure_memory_some_share: Option<f64>,
    pub memory_available_bytes: Option<f64>,
    /// Of all interfaces, loopback included.
    pub network_received_bytes_per_s: Option<f64>,
    pub network_sent_bytes_per_s: Option<f64>,
}

/// One disk of that machine.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DiskResources {
    pub disk: String,
    pub read_per_s: Option<f64>,
    pub read_bytes_per_s: Option<f64>,
    pub read_await_us: Option<f64>,
    pub write_per_s: Option<f64>,
    pub write_bytes_per_s: Option<f64>,
    pub write_await_us: Option<f64>,
    pub flush_per_s: Option<f64>,
    pub queue_depth_mean: Option<f64>,
    pub busy_share: Option<f64>,
}

/// The server's process, where it is a child or a named server of mydyno.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProcessResources {
    /// CPU seconds per second.
    pub cpu_cores_used: Option<f64>,
    pub resident_bytes: Option<f64>,
    pub threads: Option<f64>,
    pub read_bytes_per_s: Option<f64>,
    pub written_bytes_per_s: Option<f64>,
}

/// mydyno itself.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DriverResources {
    pub cpu_cores_used: Option<f64>,
    pub resident_bytes: Option<f64>,
    /// Of the time, that the busiest of the threads that carry connections was on a core; and that it was ready but had none.
    pub busiest_thread_cpu_share: Option<f64>,
    pub busiest_thread_run_wait_share: Option<f64>,
}

/// What the server says of itself.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ServerResources {
    pub statements_per_s: Option<f64>,
    pub threads_running_mean: Option<f64>,
    pub buffer_pool_hit_share: Option<f64>,
    pub buffer_pool_dirty_share: Option<f64>,
    pub pages_read_per_s: Option<f64>,
    pub pages_written_per_s: Option<f64>,
    pub pages_flushed_per_s: Option<f64>,
    pub doublewrite_pages_per_s: Option<f64>,
    pub data_reads_per_s: Option<f64>,
    pub data_writes_per_s: Option<f64>,
    pub data_fsyncs_per_s: Option<f64>,
    pub log_writes_per_s: Option<f64>,
    pub log_fsyncs_per_s: Option<f64>,
    pub log_written_bytes_per_s: Option<f64>,
    pub checkpoint_age_bytes: Option<f64>,
    pub row_lock_waits_per_s: Option<f64>,
    pub row_lock_wait_mean_us: Option<f64>,
    /// Transactions that waited for a row lock, in the mean.
    pub row_lock_waiting_mean: Option<f64>,
    pub deadlocks_per_s: Option<f64>,
    pub history_list_entries: Option<f64>,
}

/// What it drew.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct PowerResources {
    /// Mean of the external meter's readings, where there is one, else of the processors' energy counters.
    pub watts_mean: Option<f64>,
    pub measured_by: Option<PowerMeter>,
    pub nopm_per_watt: Option<f64>,
}

/// What measured power.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PowerMeter {
    /// The user's command: what that meter stands at.
    Meter,
    /// The processor packages alone: no memory, no storage, no fans.
    Rapl,
}

/// What a repeat used; `None` where it failed or was not sampled.
///
/// # Errors
/// The file cannot be read.
pub fn resources(
    results: &Results,
    repeat: &Repeat,
    cell: &Cell,
    totals: &WindowTotals,
) -> Result<Option<Resources>, StoreError> {
    let samples = Samples::read(results, repeat.id)?;
    let done = repeat.status == RepeatStatus::Done;
    let Some(result) = repeat
        .result
        .as_ref()
        .filter(|_| done && !samples.is_empty())
    else {
        return Ok(None);
    };
    let window = Window {
        start_ns: cell.what.warmup_ns,
        end_ns: cell.what.warmup_ns + result.measured_window_ns,
    };
    let of_window = OfWindow {
        samples: &samples,
        window,
    };
    let mut resources = of_window.resources();
    let emulated = cell.what.places.iter().any(|place| place.emulated);
    if emulated {
        resources.host.emulated_iowait_share = of_window.emulated_iowait(&resources.host);
    }
    let window_s = result.measured_window_ns as f64 / 1e9;
    let nopm = Rates::of(repeat, totals).nopm;
    resources.power.nopm_per_watt = nopm
        .zip(resources.power.watts_mean.filter(|watts| *watts > 0.0))
        .map(|(nopm, watts)| nopm / watts);
    if let Some(io) = results.device_io(repeat.id)? {
        resources.price = price(&io.shim.setup, nopm);
    }
    resources.per_transaction = per_transaction::of(&of_window, &resources, totals, window_s);
    resources.bound = bound(&evidence(&of_window, &resources, totals, window_s));
    Ok(Some(resources))
}

/// The numbers that the verdict is made of.
fn evidence(
    of_window: &OfWindow<'_>,
    resources: &Resources,
    totals: &WindowTotals,
    window_s: f64,
) -> Evidence {
    let in_transactions_ns: u64 = totals.values().map(|of| of.latency_sum_ns).sum();
    Evidence {
        in_transactions_mean: in_transactions_ns as f64 / 1e9 / window_s,
        cpu_busy_share: resources.host.cpu_busy_share,
        driver_cpu_share: resources.driver.busiest_thread_cpu_share,
        driver_run_wait_share: resources.driver.busiest_thread_run_wait_share,
        lock_waiting_mean: resources.server.row_lock_waiting_mean,
        reading_mean: of_window.reading_mean(),
        redo_busy_share: of_window.redo_busy_share(),
    }
}

/// The samples of a window.
pub(crate) struct OfWindow<'a> {
    pub(crate) samples: &'a Samples,
    pub(crate) window: Window,
}

use MetricSource::{Host, Power, Process, Server, Shim};

impl OfWindow<'_> {
    pub(crate) fn per_s(&self, source: MetricSource, name: &str, label: &str) -> Option<f64> {
        self.samples.per_s(self.window, source, name, label)
    }

    fn mean(&self, source: MetricSource, name: &str, label: &str) -> Option<f64> {
        self.samples.mean(self.window, source, name, label)
    }

    /// Over all labels that have a rate.
    pub(crate) fn total_per_s(&self, source: MetricSource, name: &str) -> Option<f64> {
        let labels = self.samples.labels(source, name);
        labels
            .filter_map(|label| self.per_s(source, name, label))
            .reduce(|a, b| a + b)
    }

    fn resources(&self) -> Resources {
        let mut disks: Vec<DiskResources> = self
            .samples
            .labels(Host, "disk_reads")
            .map(|disk| self.disk(disk))
            .collect();
        disks.sort_by(|a, b| a.disk.cmp(&b.disk));
        Resources {
            host: self.host(),
            disks,
            server_process: ProcessResources {
                cpu_cores_used: self.cores_used("server"),
                resident_bytes: self.mean(Process, "resident_bytes", "server"),
                threads: self.mean(Process, "threads", "server"),
                read_bytes_per_s: self.per_s(Process, "read_bytes", "server"),
                written_bytes_per_s: self.per_s(Process, "written_bytes", "server"),
            },
            driver: self.driver(),
            server: self.server(),
            power: self.power(),
            price: PriceResources::default(),
            per_transaction: PerTransaction::default(),
            bound: None,
        }
    }

    fn host(&self) -> HostResources {
        let cores = self.mean(Host, "cpu_cores", "");
        let of_cores = |name: &str| {
            let ns_per_s = self.per_s(Host, name, "")?;
            Some(ns_per_s / 1e9 / cores?)
        };
        let pressure = |name: &str| Some(self.per_s(Host, name, "")? / 1e6);
        let user = of_cores("cpu_user_ns");
        let system = of_cores("cpu_system_ns");
        let steal = of_cores("cpu_steal_ns");
        let interrupt = plus(of_cores("cpu_irq_ns"), of_cores("cpu_softirq_ns"));
        HostResources {
            cpu_cores: cores,
            cpu_frequency_hz: self.frequency_hz(),
            cpu_busy_share: plus(plus(user, system), plus(interrupt, steal)),
            cpu_user_share: user,
            cpu_system_share: system,
            cpu_iowait_share: of_cores("cpu_iowait_ns"),
            cpu_interrupt_share: interrupt,
            cpu_steal_share: steal,
            cpu_idle_share: of_cores("cpu_idle_ns"),
            emulated_iowait_share: None,
            processes_running_mean: self.mean(Host, "processes_running", ""),
            context_switches_per_s: self.per_s(Host, "context_switches", ""),
            pressure_cpu_some_share: pressure("pressure_cpu_some_us"),
            pressure_io_some_share: pressure("pressure_io_some_us"),
            pressure_io_full_share: pressure("pressure_io_full_us"),
            pressure_memory_some_share: pressure("pressure_memory_some_us"),
            memory_available_bytes: self.mean(Host, "memory_available_bytes", ""),
            network_received_bytes_per_s: self.total_per_s(Host, "network_received_bytes"),
            network_sent_bytes_per_s: self.total_per_s(Host, "network_sent_bytes"),
        }
    }

    /// Of the whole run: it is read seldom, as that is slow on large machines.
    fn frequency_hz(&self) -> Option<f64> {
        let whole = Window {
            start_ns: 0,
            end_ns: u64::MAX / 2,
        };
        self.samples.mean(whole, Host, "cpu_frequency_hz", "")
    }

    fn disk(&self, disk: &str) -> DiskResources {
        let per_s = |name: &str| self.per_s(Host, name, disk);
        let await_us = |ns: &str, count: &str| {
            let count = per_s(count)?;
            (count > 0.0).then(|| per_s(ns).map(|ns| ns / count / 1e3))?
        };
        DiskResources {
            disk: disk.to_owned(),
            read_per_s: per_s("disk_reads"),
            read_bytes_per_s: per_s("disk_read_bytes"),
            read_await_us: await_us("disk_read_ns", "disk_reads"),
            write_per_s: per_s("disk_writes"),
            write_bytes_per_s: per_s("disk_write_bytes"),
            write_await_us: await_us("disk_write_ns", "disk_writes"),
            flush_per_s: per_s("disk_flushes"),
            queue_depth_mean: per_s("disk_queue_ns").map(|ns| ns / 1e9),
            busy_share: per_s("disk_busy_ns").map(|ns| ns / 1e9),
        }
    }

    fn cores_used(&self, process: &str) -> Option<f64> {
        let user = self.per_s(Process, "cpu_user_ns", process);
        let system = self.per_s(Process, "cpu_system_ns", process);
        plus(user, system).map(|ns| ns / 1e9)
    }

    fn driver(&self) -> DriverResources {
        let cpu = |thread: &str| self.per_s(Process, "cpu_ns", thread);
        let busiest = self
            .samples
            .labels(Process, "cpu_ns")
            .max_by(|a, b| cpu(a).unwrap_or(0.0).total_cmp(&cpu(b).unwrap_or(0.0)));
        let share = |ns: Option<f64>| ns.map(|ns| ns / 1e9);
        DriverResources {
            cpu_cores_used: self.cores_used("mydyno"),
            resident_bytes: self.mean(Process, "resident_bytes", "mydyno"),
            busiest_thread_cpu_share: share(busiest.and_then(cpu)),
            busiest_thread_run_wait_share: share(
                busiest.and_then(|thread| self.per_s(Process, "run_wait_ns", thread)),
            ),
        }
    }

    fn server(&self) -> ServerResources {
        let per_s = |name: &str| self.per_s(Server, name, "");
        let mean = |name: &str| self.mean(Server, name, "");
        let hit_share = || {
            let requests = per_s("buffer_pool_read_requests")?;
            let reads = per_s("buffer_pool_reads")?;
            (requests > 0.0).then(|| 1.0 - reads / requests)
        };
        let lock_waits = per_s("row_lock_waits");
        let lock_ms = per_s("row_lock_time_ms");
        let lock_mean_us = || {
            let waits = lock_waits?;
            (waits > 0.0).then(|| lock_ms.map(|ms| ms * 1e3 / waits))?
        };
        ServerResources {
            statements_per_s: per_s("questions"),
            threads_running_mean: mean("threads_running"),
            buffer_pool_hit_share: hit_share(),
            buffer_pool_dirty_share: mean("buffer_pool_pages_dirty")
                .zip(mean("buffer_pool_pages_total"))
                .filter(|(_, total)| *total > 0.0)
                .map(|(dirty, total)| dirty / total),
            pages_read_per_s: per_s("pages_read"),
            pages_written_per_s: per_s("pages_written"),
            pages_flushed_per_s: per_s("buffer_pool_pages_flushed"),
            doublewrite_pages_per_s: per_s("doublewrite_pages"),
            data_reads_per_s: per_s("data_reads"),
            data_writes_per_s: per_s("data_writes"),
            data_fsyncs_per_s: per_s("data_fsyncs"),
            log_writes_per_s: per_s("log_writes"),
            log_fsyncs_per_s: per_s("log_fsyncs"),
            log_written_bytes_per_s: per_s("log_written_bytes"),
            checkpoint_age_bytes: mean("checkpoint_age_bytes"),
            row_lock_waits_per_s: lock_waits,
            row_lock_wait_mean_us: lock_mean_us(),
            row_lock_waiting_mean: lock_ms.map(|ms| ms / 1e3),
            deadlocks_per_s: per_s("deadlocks"),
            history_list_entries: mean("history_list_entries"),
        }
    }

    fn power(&self) -> PowerResources {
        let by_meter = self.mean(Power, "power_mw", "meter").map(|mw| mw / 1e3);
        let by_rapl = || self.total_per_s(Power, "energy_uj").map(|uj| uj / 1e6);
        let (watts_mean, measured_by) = match by_meter {
            Some(watts) => (Some(watts), Some(PowerMeter::Meter)),
            None => (by_rapl(), by_rapl().map(|_| PowerMeter::Rapl)),
        };
        PowerResources {
            watts_mean,
            measured_by,
            nopm_per_watt: None,
        }
    }

    /// The share of time with requests outstanding is that of the busiest role: roles overlap, so that together it may be more.
    fn emulated_iowait(&self, host: &HostResources) -> Option<f64> {
        let busiest = self
            .samples
            .labels(Shim, "busy_ns")
            .filter_map(|role| self.per_s(Shim, "busy_ns", role))
            .reduce(f64::max)?;
        Some(host.cpu_idle_share? * (busiest / 1e9).min(1.0))
    }

    /// Reads of data that were outstanding, in the mean: by the shim's count where there is one, else by the machine's disks.
    fn reading_mean(&self) -> Option<f64> {
        let of_shim = self.per_s(Shim, "read_response_ns", "data");
        let outstanding_ns = of_shim.or_else(|| self.total_per_s(Host, "disk_read_ns"));
        outstanding_ns.map(|ns| ns / 1e9)
    }

    /// Of the time, that the redo log's device had requests.
    fn redo_busy_share(&self) -> Option<f64> {
        self.per_s(Shim, "busy_ns", "redo").map(|ns| ns / 1e9)
    }
}

fn plus(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    Some(a? + b?)
}
