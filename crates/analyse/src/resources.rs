//! Means of the window of one repeat, from its samples. `docs/json.md` describes the keys; METHODOLOGY.md says what they mean.

use crate::account::Account;
use crate::bound::Bound;
use crate::driver::Driver;
use crate::evidence::Measured;
use crate::load::{Intervals, Load};
use crate::per_transaction::{self, PerTransaction};
use crate::price::{PriceResources, price};
use crate::samples::{Samples, Window};
use crate::usage::{
    CpuShares, IoCounters, cores_used, emulated_iowait, lock_waiting, pool_dirty, pool_miss,
};
use serde::Serialize;
use store::{Cell, MetricSource, Rates, Repeat, RepeatStatus, Results, StoreError};

/// What a run used, and what bound it. `None` is not known: the source was not there, or its samples do not tell of the whole window.
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
    pub account: Option<Account>,
    pub bound: Option<Bound>,
}

/// The server's machine. Shares are of all cores together, 0 to 1.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HostResources {
    /// `None` where no machine was sampled.
    pub machine: Option<HostMachine>,
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

/// Whose machine was sampled as the server's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum HostMachine {
    /// mydyno's own: the server is on it too.
    Driver,
    /// That of the exporter which the user named.
    Exporter,
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

/// What a repeat used; `None` where it failed or was not sampled. `intervals` and `samples` are those of the repeat.
///
/// # Errors
/// The file cannot be read.
pub fn resources(
    results: &Results,
    (repeat, cell): (&Repeat, &Cell),
    intervals: &Intervals,
    samples: &Samples,
) -> Result<Option<Resources>, StoreError> {
    let done = repeat.status == RepeatStatus::Done;
    let Some(result) = repeat
        .result
        .as_ref()
        .filter(|result| done && !samples.is_empty() && result.measured_window_ns > 0)
    else {
        return Ok(None);
    };
    let start_ns = repeat.warmup_ns(&cell.what);
    let window = Window {
        start_ns,
        end_ns: start_ns + result.measured_window_ns,
    };
    let of_window = OfWindow { samples, window };
    let mut resources = of_window.resources();
    let emulated = cell.what.places.iter().any(|place| place.emulated);
    if emulated {
        let roles = samples.labels(Shim, "busy_ns");
        resources.host.emulated_iowait_share = emulated_iowait(roles, of_window.get());
    }
    let nopm = Rates::of(repeat, &intervals.window).nopm;
    resources.power.nopm_per_watt = nopm
        .zip(resources.power.watts_mean.filter(|watts| *watts > 0.0))
        .map(|(nopm, watts)| nopm / watts);
    if let Some(io) = results.device_io(repeat.id)? {
        resources.price = price(&io.shim.setup, nopm);
    }
    let load = Load::of(results, repeat, cell, intervals, result.measured_window_ns)?;
    resources.per_transaction =
        per_transaction::of(&of_window, &resources, intervals, &load, &cell.what);
    let measured = Measured {
        results,
        repeat,
        cell,
        intervals,
        load,
    };
    of_window.judge(&measured, &mut resources)?;
    if let Some(driver) = driver_of(results, repeat, cell)? {
        resources.bound = resources.bound.map(|bound| driver.advise(bound));
    }
    Ok(Some(resources))
}

/// The driver of a repeat; `None` where its threads or the cores of its machine are not known.
fn driver_of(
    results: &Results,
    repeat: &Repeat,
    cell: &Cell,
) -> Result<Option<Driver>, StoreError> {
    let facts = results.host_facts(cell.lab)?;
    let cores = facts.iter().find(|(name, _)| name == "cpu_cores");
    let cores = cores.and_then(|(_, cores)| cores.parse().ok());
    Ok(repeat
        .driver_threads
        .zip(cores)
        .map(|(threads, cores)| Driver {
            threads,
            cores,
            connections: cell.what.connections,
        }))
}

/// The samples of a window.
pub(crate) struct OfWindow<'a> {
    pub(crate) samples: &'a Samples,
    pub(crate) window: Window,
}

use MetricSource::{Host, Power, Process, Server, Shim};

impl OfWindow<'_> {
    /// The mean of a metric: of a counter its rise per second.
    pub(crate) fn mean(&self, source: MetricSource, name: &str, label: &str) -> Option<f64> {
        self.samples.mean(self.window, source, name, label)
    }

    /// Over all labels.
    pub(crate) fn total(&self, source: MetricSource, name: &str) -> Option<f64> {
        self.samples.total(self.window, source, name)
    }

    pub(crate) fn get(&self) -> impl Fn(MetricSource, &str, &str) -> Option<f64> {
        move |source, name, label| self.mean(source, name, label)
    }

    pub(crate) fn cpu(&self) -> CpuShares {
        CpuShares::of(self.get())
    }

    pub(crate) fn resources(&self) -> Resources {
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
                cpu_cores_used: cores_used("server", self.get()),
                resident_bytes: self.mean(Process, "resident_bytes", "server"),
                threads: self.mean(Process, "threads", "server"),
                read_bytes_per_s: self.mean(Process, "read_bytes", "server"),
                written_bytes_per_s: self.mean(Process, "written_bytes", "server"),
            },
            driver: self.driver(),
            server: self.server(),
            power: self.power(),
            price: PriceResources::default(),
            per_transaction: PerTransaction::default(),
            account: None,
            bound: None,
        }
    }

    fn host(&self) -> HostResources {
        let cpu = self.cpu();
        let mean = |name: &str| self.mean(Host, name, "");
        let pressure = |name: &str| mean(name).map(|us| us / 1e6);
        HostResources {
            machine: self.machine(),
            cpu_cores: mean("cpu_cores"),
            // It is read seldom, as that is slow on large machines.
            cpu_frequency_hz: self.samples.mean_of_run(Host, "cpu_frequency_hz", ""),
            cpu_busy_share: cpu.busy(),
            cpu_user_share: cpu.user,
            cpu_system_share: cpu.system,
            cpu_iowait_share: cpu.iowait,
            cpu_interrupt_share: cpu.interrupt,
            cpu_steal_share: cpu.steal,
            cpu_idle_share: cpu.idle,
            emulated_iowait_share: None,
            processes_running_mean: mean("processes_running"),
            context_switches_per_s: mean("context_switches"),
            pressure_cpu_some_share: pressure("pressure_cpu_some_us"),
            pressure_io_some_share: pressure("pressure_io_some_us"),
            pressure_io_full_share: pressure("pressure_io_full_us"),
            pressure_memory_some_share: pressure("pressure_memory_some_us"),
            memory_available_bytes: mean("memory_available_bytes"),
            network_received_bytes_per_s: self.total(Host, "network_received_bytes"),
            network_sent_bytes_per_s: self.total(Host, "network_sent_bytes"),
        }
    }

    /// Only of its own machine does mydyno read each core; an exporter's are added up.
    fn machine(&self) -> Option<HostMachine> {
        let mut cores = self.samples.labels(Host, "cpu_idle_ns").peekable();
        cores.peek()?;
        Some(if cores.any(|core| !core.is_empty()) {
            HostMachine::Driver
        } else {
            HostMachine::Exporter
        })
    }

    fn disk(&self, disk: &str) -> DiskResources {
        let mean = |name: &str| self.mean(Host, name, disk);
        let rates = IoCounters::OF_DISKS.rates(disk, self.get());
        let await_us = |ns: &str, count: Option<f64>| {
            let count = count.filter(|count| *count > 0.0)?;
            mean(ns).map(|ns| ns / count / 1e3)
        };
        DiskResources {
            disk: disk.to_owned(),
            read_per_s: rates.reads_per_s,
            read_bytes_per_s: rates.read_bytes_per_s,
            read_await_us: await_us("disk_read_ns", rates.reads_per_s),
            write_per_s: rates.writes_per_s,
            write_bytes_per_s: rates.write_bytes_per_s,
            write_await_us: await_us("disk_write_ns", rates.writes_per_s),
            flush_per_s: rates.flushes_per_s,
            queue_depth_mean: mean("disk_queue_ns").map(|ns| ns / 1e9),
            busy_share: mean("disk_busy_ns").map(|ns| ns / 1e9),
        }
    }

    fn driver(&self) -> DriverResources {
        let threads = self.driver_threads();
        let busiest = threads
            .iter()
            .max_by(|a, b| a.on_core_share.total_cmp(&b.on_core_share));
        DriverResources {
            cpu_cores_used: cores_used("mydyno", self.get()),
            resident_bytes: self.mean(Process, "resident_bytes", "mydyno"),
            busiest_thread_cpu_share: busiest.map(|of| of.on_core_share),
            busiest_thread_run_wait_share: busiest.and_then(|of| of.run_wait_share),
        }
    }

    fn server(&self) -> ServerResources {
        let mean = |name: &str| self.mean(Server, name, "");
        let lock_waits = mean("row_lock_waits");
        let waiting = lock_waiting(self.get());
        let lock_mean_us = || {
            let waits = lock_waits.filter(|waits| *waits > 0.0)?;
            waiting.map(|waiting| waiting * 1e6 / waits)
        };
        ServerResources {
            statements_per_s: mean("questions"),
            threads_running_mean: mean("threads_running"),
            buffer_pool_hit_share: pool_miss(self.get()).map(|miss| 1.0 - miss),
            buffer_pool_dirty_share: pool_dirty(self.get()),
            pages_read_per_s: mean("pages_read"),
            pages_written_per_s: mean("pages_written"),
            pages_flushed_per_s: mean("buffer_pool_pages_flushed"),
            doublewrite_pages_per_s: mean("doublewrite_pages"),
            data_reads_per_s: mean("data_reads"),
            data_writes_per_s: mean("data_writes"),
            data_fsyncs_per_s: mean("data_fsyncs"),
            log_writes_per_s: mean("log_writes"),
            log_fsyncs_per_s: mean("log_fsyncs"),
            log_written_bytes_per_s: mean("log_written_bytes"),
            checkpoint_age_bytes: mean("checkpoint_age_bytes"),
            row_lock_waits_per_s: lock_waits,
            row_lock_wait_mean_us: lock_mean_us(),
            row_lock_waiting_mean: waiting,
            deadlocks_per_s: mean("deadlocks"),
            history_list_entries: mean("history_list_entries"),
        }
    }

    fn power(&self) -> PowerResources {
        let by_meter = self.mean(Power, "power_mw", "meter").map(|mw| mw / 1e3);
        let by_rapl = || self.total(Power, "energy_uj").map(|uj| uj / 1e6);
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
}
