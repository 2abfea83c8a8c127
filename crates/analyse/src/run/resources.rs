//! Means of the window of one repeat, from its samples. `docs/json.md` describes the keys;
//! METHODOLOGY.md says what they mean.

use crate::account::Account;
use crate::account::bound::{Bound, DriverThread};
use crate::account::load::WindowLoad;
use crate::run::price::PriceResources;
use crate::run::samples::OfWindow;
use crate::run::usage::{CpuShares, IoCounters, cores_used, lock_waiting, pool_dirty, pool_miss};
use base::{CpuList, document};
use itertools::Itertools;
use serde::Serialize;
use store::MetricSource::{self, Host, Power, Process, Server, Shim};
use store::{NewCell, Repeat, WindowTotals};

/// Roles of the files that pages are in.
const PAGES: [&str; 3] = ["data", "undo", "doublewrite"];
/// Roles of the files that a commit waits for.
pub(crate) const LOGS: [&str; 2] = ["redo", "binlog"];

document! {
    /// What a run used, and what bound it. `None` is not known: the source was not there, or its
    /// samples do not tell of the whole window; or it is not yet.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Resources from (of: &OfWindow<'_>);
    let disks = of.samples.labels(Host, "disk_reads").sorted();
    {
        pub host: HostResources = HostResources::of(of),
        pub disks: Vec<DiskResources> = disks.map(|disk| DiskResources::of(of, disk)).collect(),
        pub server_process: ProcessResources = ProcessResources::of(of),
        /// Where the server was kept to some of the host's cores.
        #[serde(skip)]
        pub server_cores: Option<ServerCores> = None,
        pub driver: DriverResources = DriverResources::of(of),
        pub server: ServerResources = ServerResources::of(of),
        pub power: PowerResources = of.power(),
        pub price: PriceResources = PriceResources::default(),
        pub per_transaction: PerTransaction = PerTransaction::default(),
        pub account: Option<Account> = None,
        /// Of the account's other waits, those that are for nothing that has a name here.
        pub other_waits: Vec<OtherWait> = Vec::new(),
        pub bound: Option<Bound> = None,
    }
}

/// A wait that is told by where it is: a function of the server, or an instrument of its
/// performance_schema.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OtherWait {
    pub name: String,
    /// Of one transaction.
    pub time_us: f64,
}

/// The cores that a server was kept to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ServerCores {
    pub cores: u32,
    /// Of these cores alone; unknown where only the whole host was sampled.
    pub cpu: CpuShares,
    /// Did mydyno have some of them too?
    pub is_drivers: bool,
}

document! {
    /// The server's machine. Shares are of all cores together, 0 to 1.
    #[derive(Clone, Debug, PartialEq)]
    pub struct HostResources from (of: &OfWindow<'_>);
    let cpu = of.cpu();
    let mean = |name: &str| of.mean(Host, name, "");
    let pressure = |name: &str| mean(name).map(|us| us / 1e6);
    {
        /// `None` where no machine was sampled.
        pub machine: Option<HostMachine> = of.machine(),
        pub cpu_cores: Option<f64> = mean("cpu_cores"),
        // It is read seldom, as that is slow on large machines.
        pub cpu_frequency_hz: Option<f64> = of.samples.mean_of_run(Host, "cpu_frequency_hz", ""),
        /// All but idle and iowait.
        pub cpu_busy_share: Option<f64> = cpu.busy(),
        #[serde(flatten)]
        pub cpu: CpuShares = cpu,
        /// Derived: of the idle share, what fell into times with requests outstanding at emulated
        /// devices, whose waits are sleeps.
        pub emulated_iowait_share: Option<f64> = None,
        pub processes_running_mean: Option<f64> = mean("processes_running"),
        pub context_switches_per_s: Option<f64> = mean("context_switches"),
        pub pressure_cpu_some_share: Option<f64> = pressure("pressure_cpu_some_us"),
        pub pressure_io_some_share: Option<f64> = pressure("pressure_io_some_us"),
        pub pressure_io_full_share: Option<f64> = pressure("pressure_io_full_us"),
        pub pressure_memory_some_share: Option<f64> = pressure("pressure_memory_some_us"),
        pub memory_available_bytes: Option<f64> = mean("memory_available_bytes"),
        /// Of all interfaces, loopback included.
        pub network_received_bytes_per_s: Option<f64> = of.total(Host, "network_received_bytes"),
        pub network_sent_bytes_per_s: Option<f64> = of.total(Host, "network_sent_bytes"),
    }
}

impl Resources {
    /// How many cores the server could have, which not every kernel tells, and what their time went
    /// to.
    pub(crate) fn cores(&self) -> (Option<f64>, CpuShares) {
        match self.server_cores {
            Some(own) => (Some(f64::from(own.cores)), own.cpu),
            None => (self.host.cpu_cores, self.host.cpu),
        }
    }
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

document! {
    /// One disk of that machine.
    #[derive(Clone, Debug, PartialEq)]
    pub struct DiskResources from (of: &OfWindow<'_>, disk: &str);
    let rates = IoCounters::OF_DISKS.rates(disk, &of.get());
    let await_us = |ns: &str, count: Option<f64>| {
        let count = count.filter(|count| *count > 0.0)?;
        Some(of.mean(Host, ns, disk)? / count / 1e3)
    };
    {
        pub disk: String = disk.to_owned(),
        pub read_per_s: Option<f64> = rates.reads_per_s,
        pub read_bytes_per_s: Option<f64> = rates.read_bytes_per_s,
        pub read_await_us: Option<f64> = await_us("disk_read_ns", rates.reads_per_s),
        pub write_per_s: Option<f64> = rates.writes_per_s,
        pub write_bytes_per_s: Option<f64> = rates.write_bytes_per_s,
        pub write_await_us: Option<f64> = await_us("disk_write_ns", rates.writes_per_s),
        pub flush_per_s: Option<f64> = rates.flushes_per_s,
        pub queue_depth_mean: Option<f64> = of.mean_s(Host, "disk_queue_ns", disk),
        pub busy_share: Option<f64> = of.mean_s(Host, "disk_busy_ns", disk),
    }
}

document! {
    /// The server's process, where it is a child or a named server of mydyno.
    #[derive(Clone, Debug, PartialEq)]
    pub struct ProcessResources from (of: &OfWindow<'_>);
    let mean = |name: &str| of.mean(Process, name, "server");
    {
        /// CPU seconds per second.
        pub cpu_cores_used: Option<f64> = cores_used("server", &of.get()),
        pub resident_bytes: Option<f64> = mean("resident_bytes"),
        pub threads: Option<f64> = mean("threads"),
        pub read_bytes_per_s: Option<f64> = mean("read_bytes"),
        pub written_bytes_per_s: Option<f64> = mean("written_bytes"),
    }
}

document! {
    /// mydyno itself.
    #[derive(Clone, Debug, PartialEq)]
    pub struct DriverResources from (of: &OfWindow<'_>);
    let threads = of.driver_threads();
    let busiest = threads.iter().max_by(|a, b| a.on_core_share.total_cmp(&b.on_core_share));
    {
        pub cpu_cores_used: Option<f64> = cores_used("mydyno", &of.get()),
        pub resident_bytes: Option<f64> = of.mean(Process, "resident_bytes", "mydyno"),
        /// Of the time, that the busiest of the threads that carry connections was on a core; and
        /// that it was ready but had none.
        pub busiest_thread_cpu_share: Option<f64> = busiest.map(|of| of.on_core_share),
        pub busiest_thread_run_wait_share: Option<f64> = busiest.and_then(|of| of.run_wait_share),
    }
}

document! {
    /// What the server says of itself.
    #[derive(Clone, Debug, PartialEq)]
    pub struct ServerResources from (of: &OfWindow<'_>);
    let mean = |name: &str| of.mean(Server, name, "");
    let lock_waits = mean("row_lock_waits");
    let waiting = lock_waiting(&of.get());
    let lock_mean_us = || {
        let waits = lock_waits.filter(|waits| *waits > 0.0)?;
        waiting.map(|waiting| waiting * 1e6 / waits)
    };
    {
        pub statements_per_s: Option<f64> = mean("questions"),
        pub threads_running_mean: Option<f64> = mean("threads_running"),
        pub buffer_pool_hit_share: Option<f64> = pool_miss(&of.get()).map(|miss| 1.0 - miss),
        pub buffer_pool_dirty_share: Option<f64> = pool_dirty(&of.get()),
        pub pages_read_per_s: Option<f64> = mean("pages_read"),
        pub pages_written_per_s: Option<f64> = mean("pages_written"),
        pub pages_flushed_per_s: Option<f64> = mean("buffer_pool_pages_flushed"),
        pub doublewrite_pages_per_s: Option<f64> = mean("doublewrite_pages"),
        pub data_reads_per_s: Option<f64> = mean("data_reads"),
        pub data_writes_per_s: Option<f64> = mean("data_writes"),
        pub data_fsyncs_per_s: Option<f64> = mean("data_fsyncs"),
        pub log_writes_per_s: Option<f64> = mean("log_writes"),
        pub log_fsyncs_per_s: Option<f64> = mean("log_fsyncs"),
        pub log_written_bytes_per_s: Option<f64> = mean("log_written_bytes"),
        pub checkpoint_age_bytes: Option<f64> = mean("checkpoint_age_bytes"),
        pub row_lock_waits_per_s: Option<f64> = lock_waits,
        pub row_lock_wait_mean_us: Option<f64> = lock_mean_us(),
        /// Transactions that waited for a row lock, in the mean.
        pub row_lock_waiting_mean: Option<f64> = waiting,
        pub deadlocks_per_s: Option<f64> = mean("deadlocks"),
        pub history_list_entries: Option<f64> = mean("history_list_entries"),
    }
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
    /// What one transaction cost, in the mean: of those of all types that ended in the window, of
    /// which there are some.
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

impl OfWindow<'_> {
    pub(crate) fn get(&self) -> impl Fn(MetricSource, &str, &str) -> Option<f64> {
        move |source, name, label| self.mean(source, name, label)
    }

    pub(crate) fn cpu(&self) -> CpuShares {
        CpuShares::of(&self.get())
    }

    /// As [`OfWindow::cpu`], of some cores.
    fn cpu_of(&self, cpus: &CpuList) -> CpuShares {
        CpuShares::of(&|source, name, _| match name {
            "cpu_cores" => Some(cpus.len() as f64),
            _ => cpus.iter().map(|cpu| self.mean(source, name, &format!("cpu{cpu}"))).sum(),
        })
    }

    /// The cores that the server of a repeat was kept to.
    pub(crate) fn server_cores(&self, repeat: &Repeat) -> Option<ServerCores> {
        let list = |text: &Option<String>| text.as_ref()?.parse::<CpuList>().ok();
        let servers = list(&repeat.server_cpus)?;
        let driver = list(&repeat.driver_cpus);
        Some(ServerCores {
            cores: servers.len() as u32,
            cpu: self.cpu_of(&servers),
            is_drivers: driver.is_none_or(|driver| driver.overlaps(&servers)),
        })
    }

    /// Only of its own machine does mydyno read each core; an exporter's are added up.
    fn machine(&self) -> Option<HostMachine> {
        let mut cores = self.samples.labels(Host, "cpu_idle_ns").peekable();
        cores.peek()?;
        let is_own = cores.any(|core| !core.is_empty());
        Some(if is_own { HostMachine::Driver } else { HostMachine::Exporter })
    }

    pub(crate) fn driver_threads(&self) -> Vec<DriverThread> {
        let shares = |thread: &str| {
            Some(DriverThread {
                on_core_share: self.mean_s(Process, "cpu_ns", thread)?,
                run_wait_share: self.mean_s(Process, "run_wait_ns", thread),
            })
        };
        self.samples.labels(Process, "cpu_ns").filter_map(shares).collect()
    }

    fn power(&self) -> PowerResources {
        let by_meter =
            self.mean(Power, "power_mw", "meter").map(|mw| (mw / 1e3, PowerMeter::Meter));
        let by_rapl = || self.total(Power, "energy_uj").map(|uj| (uj / 1e6, PowerMeter::Rapl));
        let (watts_mean, measured_by) = by_meter.or_else(by_rapl).unzip();
        PowerResources { watts_mean, measured_by, nopm_per_watt: None }
    }
}
