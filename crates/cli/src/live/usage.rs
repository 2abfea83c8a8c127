//! What the host, the processes and the storage do now, from the rates of their counters.

use super::rates::Rates;
use device::Role;
use store::MetricSource::{self, Host, Process, Shim};

const NS_PER_S: f64 = 1e9;

/// CPU time now: shares of all cores of the host, and cores by process.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cpu {
    pub user_share: Option<f64>,
    pub system_share: Option<f64>,
    pub iowait_share: Option<f64>,
    pub interrupt_share: Option<f64>,
    pub steal_share: Option<f64>,
    pub server_cores: Option<f64>,
    pub mydyno_cores: Option<f64>,
}

impl Cpu {
    pub fn of(rates: &Rates) -> Cpu {
        let cores = rates.now(Host, "cpu_cores", "");
        let share = |name: &str| Some(rates.now(Host, name, "")? / NS_PER_S / cores?);
        let used = |process: &str| {
            let user_ns = rates.now(Process, "cpu_user_ns", process);
            let system_ns = rates.now(Process, "cpu_system_ns", process);
            plus(user_ns, system_ns).map(|ns| ns / NS_PER_S)
        };
        Cpu {
            user_share: share("cpu_user_ns"),
            system_share: share("cpu_system_ns"),
            iowait_share: share("cpu_iowait_ns"),
            interrupt_share: plus(share("cpu_irq_ns"), share("cpu_softirq_ns")),
            steal_share: share("cpu_steal_ns"),
            server_cores: used("server"),
            mydyno_cores: used("mydyno"),
        }
    }

    /// The share that was at work.
    pub fn busy_share(&self) -> Option<f64> {
        plus(
            plus(self.user_share, self.system_share),
            plus(self.interrupt_share, self.steal_share),
        )
    }
}

/// What the rows of I/O are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IoBy {
    /// What files are for: the shim counts.
    Role,
    /// Disks of the host, where no shim counts.
    Disk,
}

/// I/O of one role or disk now.
#[derive(Clone, Debug, PartialEq)]
pub struct IoRow {
    pub name: String,
    pub reads_per_s: Option<f64>,
    pub writes_per_s: Option<f64>,
    pub flushes_per_s: Option<f64>,
    pub read_bytes_per_s: Option<f64>,
    pub write_bytes_per_s: Option<f64>,
}

/// The names of I/O counters: reads, writes, flushes, bytes read and written.
type Counters = [&'static str; 5];
const OF_SHIM: Counters = ["reads", "writes", "flushes", "read_bytes", "write_bytes"];
const OF_DISK: Counters = [
    "disk_reads",
    "disk_writes",
    "disk_flushes",
    "disk_read_bytes",
    "disk_write_bytes",
];

impl IoRow {
    fn of(rates: &Rates, source: MetricSource, counters: Counters, name: &str) -> IoRow {
        let [reads, writes, flushes, read_bytes, write_bytes] =
            counters.map(|counter| rates.now(source, counter, name));
        IoRow {
            name: name.to_owned(),
            reads_per_s: reads,
            writes_per_s: writes,
            flushes_per_s: flushes,
            read_bytes_per_s: read_bytes,
            write_bytes_per_s: write_bytes,
        }
    }
}

/// I/O by role where the shim counts, else by disk, of disks that did anything.
pub fn io(rates: &Rates) -> (IoBy, Vec<IoRow>) {
    let counted: Vec<&str> = rates.labels(Shim, "reads").collect();
    let of_role = |role: &Role| IoRow::of(rates, Shim, OF_SHIM, role.name());
    let roles = Role::ALL
        .iter()
        .filter(|role| counted.contains(&role.name()));
    let rows: Vec<IoRow> = roles.map(of_role).collect();
    if !rows.is_empty() {
        return (IoBy::Role, rows);
    }
    let mut disks: Vec<&str> = rates.risen(Host, "disk_reads").collect();
    disks.extend(rates.risen(Host, "disk_writes"));
    disks.sort_unstable();
    disks.dedup();
    let of_disk = |disk: &&str| IoRow::of(rates, Host, OF_DISK, disk);
    (IoBy::Disk, disks.iter().map(of_disk).collect())
}

fn plus(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    Some(a? + b?)
}

#[cfg(test)]
mod tests {
    use super::{Cpu, IoBy};
    use crate::live::rates::tests::batch;
    use crate::live::state::State;
    use crate::live::state::tests::in_window;
    use lab::Progress;
    use store::MetricSource::{Host, Process};

    #[test]
    fn cpu_and_io_are_rates() {
        let mut state = in_window();
        let cpu = state.cpu();
        assert_eq!(cpu.user_share, Some(0.5));
        assert_eq!(cpu.busy_share(), Some(0.625));
        assert_eq!(cpu.iowait_share, Some(0.05));
        assert_eq!((cpu.server_cores, cpu.mydyno_cores), (Some(1.75), None));
        let (by, rows) = state.io();
        let names: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
        assert_eq!((by, &names[..]), (IoBy::Role, &["data", "redo"][..]));
        assert_eq!(rows[0].reads_per_s, Some(1_234.0));
        assert_eq!(rows[0].write_bytes_per_s, Some(9e6));
        assert_eq!(
            (rows[1].flushes_per_s, rows[1].read_bytes_per_s),
            (Some(445.0), None)
        );
        // A later sample of another source: all of these are too old to be shown.
        let later = [batch(40.0, &[(Process, "cpu_user_ns", "mydyno", 1)])];
        state.take(&Progress::Samples(&later));
        assert_eq!(state.cpu(), Cpu::default());
        assert_eq!(state.io().1[0].reads_per_s, None);
    }

    #[test]
    fn where_no_shim_counts_disks_are_shown() {
        let mut state = State::default();
        for (at_s, reads) in [(1.0, 10), (2.0, 60)] {
            let values = [
                (Host, "disk_reads", "vda", reads),
                (Host, "disk_writes", "vda", 4),
                (Host, "disk_reads", "vdb", 7),
            ];
            state.take(&Progress::Samples(&[batch(at_s, &values)]));
        }
        let (by, rows) = state.io();
        assert_eq!((by, rows.len()), (IoBy::Disk, 1));
        assert_eq!(
            (rows[0].name.as_str(), rows[0].reads_per_s),
            ("vda", Some(50.0))
        );
        assert_eq!(
            (rows[0].writes_per_s, rows[0].flushes_per_s),
            (Some(0.0), None)
        );
    }
}
