//! What this process uses of its machine while it drives.

use drive::{WORKER_THREAD, process_cpu_ns};
use fleet::RankUsage;
use observe::{HostSource, Readings, SampleSource, ThreadSource};
use std::sync::atomic::AtomicBool;

/// Since the window of a run began.
#[derive(Default)]
pub(crate) struct WindowUsage {
    begin: Option<RankUsage>,
    end: Option<RankUsage>,
}

impl WindowUsage {
    pub(crate) fn begins(&mut self) {
        self.begin = Some(now());
    }

    pub(crate) fn ends(&mut self) {
        self.end = Some(now());
    }

    /// In the window, as far as it came.
    pub(crate) fn used(self) -> RankUsage {
        let Some(begin) = self.begin else { return RankUsage::default() };
        let end = self.end.unwrap_or_else(now);
        RankUsage {
            cpu_ns: end.cpu_ns.saturating_sub(begin.cpu_ns),
            run_wait_ns: end.run_wait_ns.saturating_sub(begin.run_wait_ns),
            network_bytes: end.network_bytes.saturating_sub(begin.network_bytes),
        }
    }
}

/// Since the process, or the machine, began. What the kernel does not tell is 0.
fn now() -> RankUsage {
    let (mut readings, runs) = (Readings::default(), AtomicBool::new(false));
    let _ = ThreadSource::new(WORKER_THREAD).read(&mut readings, &runs);
    let _ = HostSource::default().read(&mut readings, &runs);
    RankUsage { cpu_ns: process_cpu_ns(), ..used(&readings) }
}

/// What the driver's threads waited, and what all networks but loopback carried.
fn used(readings: &Readings) -> RankUsage {
    let sum = |names: [&str; 2]| {
        let of_them = readings.values().iter();
        let of_them = of_them.filter(|(of, _)| names.contains(&&*of.name) && of.label != "lo");
        of_them.map(|(_, value)| value.unsigned_abs()).sum()
    };
    RankUsage {
        cpu_ns: 0,
        run_wait_ns: sum(["run_wait_ns"; 2]),
        network_bytes: sum(["network_received_bytes", "network_sent_bytes"]),
    }
}

#[cfg(test)]
mod tests {
    use super::{WindowUsage, used};
    use observe::Readings;
    use store::MetricSource::{Host, Process};

    #[test]
    fn bytes_of_all_networks_count() {
        let mut readings = Readings::default();
        for (name, received, sent) in [("lo", 900, 900), ("eth0", 100, 20), ("eth1", 3, 4)] {
            readings.counter(Host, "network_received_bytes", name, received);
            readings.counter(Host, "network_sent_bytes", name, sent);
        }
        readings.counter(Process, "run_wait_ns", "driver-0", 5);
        readings.counter(Process, "run_wait_ns", "driver-1", 6);
        let used = used(&readings);
        assert_eq!((used.network_bytes, used.run_wait_ns), (127, 11));
    }

    #[test]
    fn a_window_that_never_began_used_nothing() {
        assert_eq!(WindowUsage::default().used(), fleet::RankUsage::default());
    }
}
