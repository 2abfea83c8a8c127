//! Means of the window of one repeat, from its samples. `docs/json.md` describes the keys;
//! METHODOLOGY.md says what they mean.

use crate::account::Account;
use crate::bound::{Bound, DriverThread};
use crate::price::PriceResources;
use crate::samples::{Samples, Window};
use crate::usage::{CpuShares, IoCounters, cores_used, lock_waiting, pool_dirty, pool_miss};
use serde::Serialize;
use store::MetricSource::{self, Host, Power, Process, Server};

/// What a run used, and what bound it. `None` is not known: the source was not there, or its
/// samples do not tell of the whole window.
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
    /// Derived: of the idle share, what fell into times with requests outstanding at emulated
    /// devices, whose waits are sleeps.
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
    /// Of the time, that the busiest of the threads that carry connections was on a core; and that
    /// it was ready but had none.
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

/// Means per transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct PerTransaction {
    /// Requests as the shim counted them by role, whoever made them. Pages are in data, undo and
    /// doublewrite, logs are redo and the binary log.
    pub data_reads: Option<f64>,
    pub data_writes: Option<f64>,
    pub log_flushes: Option<f64>,
    /// Pages of 4 KiB that buffered reads found in the modelled page cache; `None` without an
    /// emulated device.
    pub page_cache_hits: Option<f64>,
    /// Cycles of the host: frequency x cores x utilisation / transactions per second, as the white
    /// papers have it.
    pub path_length_cycles: Option<f64>,
    /// That the host's processors counted themselves.
    pub cycles: Option<f64>,
    pub instructions: Option<f64>,
    /// CPU time of the host, of the server's process, and of mydyno.
    pub host_cpu_us: Option<f64>,
    pub server_cpu_us: Option<f64>,
    pub driver_cpu_us: Option<f64>,
    /// What went from and to storage.
    pub read_bytes: Option<f64>,
    pub written_bytes: Option<f64>,
    /// Of the shim, else of the server.
    pub flushes: Option<f64>,
    /// Who counted the bytes.
    pub io_counted_by: Option<IoCountedBy>,
    /// Bytes of rows that transactions inserted, changed or deleted, each row as long as clause
    /// 4.2.2 says.
    pub row_bytes: Option<f64>,
    /// Bytes written for each of those.
    pub write_amplification: Option<f64>,
}

/// Who counted bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum IoCountedBy {
    /// Requests of all roles.
    Shim,
    /// The server's own status, of InnoDB's files.
    Server,
    /// The kernel, of the server's process.
    Process,
}

/// What it drew.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct PowerResources {
    /// Mean of the external meter's readings, where there is one, else of the processors' energy
    /// counters.
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

/// The samples of a window.
pub(crate) struct OfWindow<'a> {
    pub(crate) samples: &'a Samples,
    pub(crate) window: Window,
}

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
        let mut disks: Vec<DiskResources> =
            self.samples.labels(Host, "disk_reads").map(|disk| self.disk(disk)).collect();
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
        let busiest = threads.iter().max_by(|a, b| a.on_core_share.total_cmp(&b.on_core_share));
        DriverResources {
            cpu_cores_used: cores_used("mydyno", self.get()),
            resident_bytes: self.mean(Process, "resident_bytes", "mydyno"),
            busiest_thread_cpu_share: busiest.map(|of| of.on_core_share),
            busiest_thread_run_wait_share: busiest.and_then(|of| of.run_wait_share),
        }
    }

    pub(crate) fn driver_threads(&self) -> Vec<DriverThread> {
        let share = |name: &str, thread: &str| Some(self.mean(Process, name, thread)? / 1e9);
        let threads = self.samples.labels(Process, "cpu_ns");
        threads
            .filter_map(|thread| {
                Some(DriverThread {
                    on_core_share: share("cpu_ns", thread)?,
                    run_wait_share: share("run_wait_ns", thread),
                })
            })
            .collect()
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
        PowerResources { watts_mean, measured_by, nopm_per_watt: None }
    }
}
