//! What else a host does: a short look at its cores and disks, less what is ours.

use crate::error::ObserveResult;
use crate::host_source::HostSource;
use crate::process_source::ProcessSource;
use crate::readings::{Readings, SampleSource};
use std::sync::atomic::AtomicBool;
use std::thread::sleep;
use std::time::{Duration, Instant};
use store::HostBefore;
use store::MetricSource::{Host, Process};

/// Ticks of 10 ms, so that the cores' shares are known to 2.5 % of one.
const LOOK: Duration = Duration::from_millis(400);
/// From here on a note is told. Others are a kernel's threads too, which no host is without.
const OTHERS_CPU_SHARE: f64 = 0.1;
const STEAL_SHARE: f64 = 0.05;
const DISK_BYTES_PER_S: f64 = 20e6;

/// Looks for what else this host does than run the processes `own`.
pub fn look(own: &[u32]) -> ObserveResult<HostBefore> {
    let mut host = HostSource::default();
    let mut processes: Vec<_> = own.iter().map(|pid| ProcessSource::new("own", *pid)).collect();
    let begun = Instant::now();
    let before = Counters::read(&mut host, &mut processes)?;
    sleep(LOOK);
    let after = Counters::read(&mut host, &mut processes)?;
    Ok(between(&before, &after, begun.elapsed()))
}

/// What to tell of a host that was not quiet; `None` where it was.
pub fn note_on(host: &HostBefore) -> Option<String> {
    let mut what = Vec::new();
    if host.others_cpu_share >= OTHERS_CPU_SHARE {
        let percent = host.others_cpu_share * 100.0;
        what.push(format!("other programs used {percent:.0} % of its cores' time"));
    }
    if host.steal_share >= STEAL_SHARE {
        let percent = host.steal_share * 100.0;
        what.push(format!("other guests of the hypervisor took {percent:.0} % of it"));
    }
    if host.disk_bytes_per_s >= DISK_BYTES_PER_S {
        let mb = host.disk_bytes_per_s / 1e6;
        what.push(format!("its disks moved {mb:.0} MB/s"));
    }
    (!what.is_empty())
        .then(|| format!("the host was not quiet before the warm-up: {}", what.join(", ")))
}

/// Are the disks at rest?
pub fn disks_are_quiet(host: &HostBefore) -> bool {
    host.disk_bytes_per_s < DISK_BYTES_PER_S
}

/// Sums at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Counters {
    busy_ns: i64,
    steal_ns: i64,
    idle_ns: i64,
    own_ns: i64,
    disk_bytes: i64,
}

impl Counters {
    fn read(host: &mut HostSource, processes: &mut [ProcessSource]) -> ObserveResult<Counters> {
        let never = AtomicBool::new(false);
        let mut readings = Readings::default();
        host.read(&mut readings, &never)?;
        for process in processes {
            // One that has ended uses nothing any more.
            let _ = process.read(&mut readings, &never);
        }
        Ok(Counters::from_readings(&readings))
    }

    fn from_readings(readings: &Readings) -> Counters {
        let mut counters = Counters::default();
        for (metric, value) in readings.values() {
            let is_total = metric.label.is_empty();
            let sum = match (metric.source, metric.name.as_str()) {
                (Process, "cpu_user_ns" | "cpu_system_ns") => &mut counters.own_ns,
                (Host, "disk_read_bytes" | "disk_write_bytes") => &mut counters.disk_bytes,
                (Host, "cpu_steal_ns") if is_total => &mut counters.steal_ns,
                (Host, "cpu_idle_ns" | "cpu_iowait_ns") if is_total => &mut counters.idle_ns,
                (Host, "cpu_user_ns" | "cpu_system_ns" | "cpu_irq_ns" | "cpu_softirq_ns")
                    if is_total =>
                {
                    &mut counters.busy_ns
                }
                _ => continue,
            };
            *sum += value;
        }
        counters
    }
}

fn between(before: &Counters, after: &Counters, elapsed: Duration) -> HostBefore {
    let rise = |of: fn(&Counters) -> i64| (of(after) - of(before)).max(0) as f64;
    let (busy, steal) = (rise(|c| c.busy_ns), rise(|c| c.steal_ns));
    let all = (busy + steal + rise(|c| c.idle_ns)).max(1.0);
    HostBefore {
        others_cpu_share: (busy - rise(|c| c.own_ns)).max(0.0) / all,
        steal_share: steal / all,
        disk_bytes_per_s: rise(|c| c.disk_bytes) / elapsed.as_secs_f64(),
    }
}

#[cfg(test)]
mod tests {
    use super::{Counters, between, look, note_on};
    use std::time::Duration;
    use store::HostBefore;

    #[test]
    fn what_is_ours_is_taken_off() {
        let after = Counters {
            busy_ns: 600,
            steal_ns: 100,
            idle_ns: 300,
            own_ns: 400,
            disk_bytes: 2_000_000,
        };
        let host = between(&Counters::default(), &after, Duration::from_millis(500));
        assert_eq!(
            host,
            HostBefore { others_cpu_share: 0.2, steal_share: 0.1, disk_bytes_per_s: 4e6 }
        );
        let note = note_on(&host).unwrap();
        let words = "other programs used 20 % of its cores' time, other guests of the hypervisor \
                     took 10 % of it";
        assert!(note.ends_with(words), "{note}");
    }

    #[test]
    fn a_quiet_host_gets_no_note() {
        let host = HostBefore { others_cpu_share: 0.02, steal_share: 0.0, disk_bytes_per_s: 1e6 };
        assert_eq!(note_on(&host), None);
    }

    #[test]
    fn a_busy_process_is_another_unless_it_is_ours() {
        let mut busy =
            std::process::Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
        let others = look(&[std::process::id()]);
        let cores = std::thread::available_parallelism().unwrap().get() as f64;
        busy.kill().unwrap();
        busy.wait().unwrap();
        let others = others.unwrap();
        // Of one core it has at least a fifth, however busy the host is.
        assert!(others.others_cpu_share > 0.2 / cores, "{others:?}");
    }
}
