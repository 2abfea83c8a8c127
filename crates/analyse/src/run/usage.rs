//! What CPU times, page requests and requests to storage come to. Each number is computed here and
//! nowhere else; the caller says what a metric is: in the mean of a window, at a point of a chart,
//! or now.

use base::document;
use store::MetricSource::{self, Host, Process, Server, Shim};

const NS_PER_S: f64 = 1e9;

/// What a metric is, by its source, name and label.
pub type Get<'a> = dyn Fn(MetricSource, &str, &str) -> Option<f64> + 'a;

document! {
    /// CPU time of a machine by what it went to, as shares of all its cores: 0 to 1.
    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    pub struct CpuShares from (get: &Get<'_>);
    let cores = get(Host, "cpu_cores", "");
    let share = |name: &str| Some(get(Host, name, "")? / NS_PER_S / cores?);
    {
        #[serde(rename = "cpu_user_share")]
        pub user: Option<f64> = share("cpu_user_ns"),
        #[serde(rename = "cpu_system_share")]
        pub system: Option<f64> = share("cpu_system_ns"),
        #[serde(rename = "cpu_iowait_share")]
        pub iowait: Option<f64> = share("cpu_iowait_ns"),
        #[serde(rename = "cpu_interrupt_share")]
        pub interrupt: Option<f64> = plus(share("cpu_irq_ns"), share("cpu_softirq_ns")),
        /// Had by other guests of the hypervisor, while this one wanted it.
        #[serde(rename = "cpu_steal_share")]
        pub steal: Option<f64> = share("cpu_steal_ns"),
        #[serde(rename = "cpu_idle_share")]
        pub idle: Option<f64> = share("cpu_idle_ns"),
    }
}

impl CpuShares {
    /// In which code was executed.
    pub fn executed(&self) -> Option<f64> {
        plus(plus(self.user, self.system), self.interrupt)
    }

    /// In which there was nothing left for others: stolen time too.
    pub fn busy(&self) -> Option<f64> {
        plus(self.executed(), self.steal)
    }
}

/// CPU seconds per second of a process: `server` or `mydyno`.
pub fn cores_used(process: &str, get: &Get<'_>) -> Option<f64> {
    let ns = |name: &str| get(Process, name, process);
    plus(ns("cpu_user_ns"), ns("cpu_system_ns")).map(|ns| ns / NS_PER_S)
}

/// Of the idle share, what may be waits for emulated devices: their share of time with requests, of
/// the busiest of `roles`. Roles overlap, so that together it may be more.
pub fn emulated_iowait<'a>(roles: impl Iterator<Item = &'a str>, get: &Get<'_>) -> Option<f64> {
    let busy = roles.filter_map(|role| get(Shim, "busy_ns", role));
    let busiest_share = (busy.reduce(f64::max)? / NS_PER_S).min(1.0);
    Some(CpuShares::of(get).idle? * busiest_share)
}

/// Of the pages that were asked of the buffer pool, those that it had to read.
pub fn pool_miss(get: &Get<'_>) -> Option<f64> {
    let reads = get(Server, "buffer_pool_reads", "");
    share(reads, get(Server, "buffer_pool_read_requests", ""))
}

/// Of the buffer pool's pages, those that are dirty.
pub fn pool_dirty(get: &Get<'_>) -> Option<f64> {
    let dirty = get(Server, "buffer_pool_pages_dirty", "");
    share(dirty, get(Server, "buffer_pool_pages_total", ""))
}

/// Transactions that wait for a row lock: milliseconds of waits that end in a second are as many
/// thousandths of one that waits.
pub fn lock_waiting(get: &Get<'_>) -> Option<f64> {
    get(Server, "row_lock_time_ms", "").map(|ms| ms / 1e3)
}

/// Counters of requests to storage: reads, writes, flushes, read_bytes and write_bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IoCounters {
    pub source: MetricSource,
    prefix: &'static str,
}

impl IoCounters {
    /// Of the shim, labelled with what files are for.
    pub const OF_ROLES: IoCounters = IoCounters { source: Shim, prefix: "" };
    /// Of the machine, labelled with the disk.
    pub const OF_DISKS: IoCounters = IoCounters { source: Host, prefix: "disk_" };

    /// The metric of a counter.
    pub fn name(&self, counter: &str) -> String {
        format!("{}{counter}", self.prefix)
    }

    /// The rates of a role or a disk.
    pub fn rates(&self, label: &str, get: &Get<'_>) -> IoRates {
        let per_s = |counter: &str| get(self.source, &self.name(counter), label);
        IoRates {
            reads_per_s: per_s("reads"),
            writes_per_s: per_s("writes"),
            flushes_per_s: per_s("flushes"),
            read_bytes_per_s: per_s("read_bytes"),
            write_bytes_per_s: per_s("write_bytes"),
        }
    }
}

/// Requests of one role or disk.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct IoRates {
    pub reads_per_s: Option<f64>,
    pub writes_per_s: Option<f64>,
    pub flushes_per_s: Option<f64>,
    pub read_bytes_per_s: Option<f64>,
    pub write_bytes_per_s: Option<f64>,
}

fn plus(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    Some(a? + b?)
}

/// A part of something, which is not known where that is nothing.
fn share(part: Option<f64>, of: Option<f64>) -> Option<f64> {
    let of = of.filter(|of| *of > 0.0)?;
    Some(part? / of)
}

#[cfg(test)]
mod tests {
    use super::{CpuShares, IoCounters, cores_used, emulated_iowait, pool_miss};
    use store::MetricSource::{self, Host, Process, Server, Shim};

    /// Of a machine with four cores.
    fn get(source: MetricSource, name: &str, label: &str) -> Option<f64> {
        Some(match (source, name, label) {
            (Host, "cpu_cores", "") => 4.0,
            (Host, "cpu_user_ns", "") => 2e9,
            (Host, "cpu_system_ns" | "cpu_steal_ns", "") => 4e8,
            (Host, "cpu_idle_ns", "") => 1e9,
            (Host, "cpu_irq_ns" | "cpu_softirq_ns", "") => 1e8,
            (Process, "cpu_user_ns", "server") => 1.5e9,
            (Process, "cpu_system_ns", "server") => 2.5e8,
            (Shim, "busy_ns", "data") => 5e8,
            (Shim, "busy_ns", "redo") => 8e8,
            (Shim, "reads", "data") => 70.0,
            (Server, "buffer_pool_reads", "") => 3.0,
            (Server, "buffer_pool_read_requests", "") => 1_000.0,
            _ => return None,
        })
    }

    #[test]
    fn stolen_time_is_busy_but_nothing_was_executed_in_it() {
        let shares = CpuShares::of(&get);
        assert_eq!((shares.user, shares.iowait), (Some(0.5), None));
        assert_eq!(shares.interrupt, Some(0.05));
        let close = |share: Option<f64>, to: f64| (share.unwrap() - to).abs() < 1e-12;
        assert!(close(shares.executed(), 0.65), "{shares:?}");
        assert!(close(shares.busy(), 0.75), "{shares:?}");
    }

    #[test]
    fn what_a_metric_is_decides_what_follows() {
        assert_eq!(cores_used("server", &get), Some(1.75));
        assert_eq!(cores_used("mydyno", &get), None);
        let roles = ["data", "redo", "temp"];
        assert_eq!(emulated_iowait(roles.into_iter(), &get), Some(0.2));
        assert_eq!(emulated_iowait(["temp"].into_iter(), &get), None);
        assert_eq!(pool_miss(&get), Some(0.003));
        assert_eq!(pool_miss(&|_, _, _| Some(0.0)), None);
        let rates = IoCounters::OF_ROLES.rates("data", &get);
        assert_eq!((rates.reads_per_s, rates.writes_per_s), (Some(70.0), None));
    }
}
