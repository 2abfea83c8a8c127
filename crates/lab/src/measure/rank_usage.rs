//! What this process uses of its machine while it drives.

use drive::{WORKER_THREAD, process_cpu_ns};
use fleet::RankUsage;
use std::path::Path;

/// Since the window of a run began.
#[derive(Default)]
pub(crate) struct WindowUsage {
    begin: Option<RankUsage>,
    used: RankUsage,
}

impl WindowUsage {
    pub(crate) fn begins(&mut self) {
        self.begin = Some(now());
    }

    pub(crate) fn ends(&mut self) {
        let Some(begin) = self.begin.take() else {
            return;
        };
        let end = now();
        self.used = RankUsage {
            cpu_ns: end.cpu_ns.saturating_sub(begin.cpu_ns),
            run_wait_ns: end.run_wait_ns.saturating_sub(begin.run_wait_ns),
            network_bytes: end.network_bytes.saturating_sub(begin.network_bytes),
        };
    }

    /// In the window, as far as it came.
    pub(crate) fn used(mut self) -> RankUsage {
        self.ends();
        self.used
    }
}

/// Since the process, or the machine, began. What the kernel does not tell is 0.
fn now() -> RankUsage {
    RankUsage {
        cpu_ns: process_cpu_ns(),
        run_wait_ns: run_wait_ns().unwrap_or(0),
        network_bytes: std::fs::read_to_string("/proc/net/dev")
            .map_or(0, |text| network_bytes(&text)),
    }
}

/// Of the driver's threads.
fn run_wait_ns() -> Option<u64> {
    let mut all_ns = 0;
    for task in std::fs::read_dir("/proc/self/task").ok()? {
        let read = |of: &Path, name: &str| std::fs::read_to_string(of.join(name)).ok();
        let Some(path) = task.ok().map(|task| task.path()) else { continue };
        if read(&path, "comm").is_some_and(|name| name.starts_with(WORKER_THREAD)) {
            // Time on a core, time of waiting for one, both in ns.
            let stat = read(&path, "schedstat").unwrap_or_default();
            all_ns += stat.split_whitespace().nth(1).and_then(|ns| ns.parse().ok()).unwrap_or(0);
        }
    }
    Some(all_ns)
}

/// Received and sent of all interfaces but loopback.
fn network_bytes(text: &str) -> u64 {
    const RECEIVED: usize = 0;
    const SENT: usize = 8;
    let of_line = |line: &str| {
        let (name, numbers) = line.split_once(':')?;
        let numbers: Vec<u64> =
            numbers.split_whitespace().map_while(|number| number.parse().ok()).collect();
        (name.trim() != "lo").then_some(numbers.get(RECEIVED)? + numbers.get(SENT)?)
    };
    text.lines().filter_map(of_line).sum()
}

#[cfg(test)]
mod tests {
    use super::{WindowUsage, network_bytes};

    #[test]
    fn bytes_of_all_networks_count() {
        let text = "Inter-|   Receive      |  Transmit\n face |bytes packets|bytes packets\n    \
            lo: 900 1 0 0 0 0 0 0 900 1 0 0 0 0 0 0\n  eth0: 100 1 0 0 0 0 0 0 20 1 0 0 0 0 0 0\n  \
            eth1:3 1 0 0 0 0 0 0 4 1 0 0 0 0 0 0\n";
        assert_eq!(network_bytes(text), 127);
    }

    #[test]
    fn a_window_that_never_began_used_nothing() {
        assert_eq!(WindowUsage::default().used(), fleet::RankUsage::default());
    }
}
