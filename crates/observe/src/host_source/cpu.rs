//! What the cores do, from /proc/stat, and how fast, from /proc/cpuinfo.

use crate::proc_file::{UnitSize, as_stored, each_line, number, scaled, tick_ns};
use crate::readings::Readings;
use std::str::SplitAsciiWhitespace;
use store::MetricSource::Host;

/// Times of a `cpu` line that are used, in ticks: user, nice, system, idle, iowait, irq, softirq,
/// steal. Those of guests follow, and are in user and nice already.
pub(crate) const COLUMNS: usize = 8;
/// Kernels before 2.6 stopped here.
const COLUMNS_MIN: usize = 4;
/// More than any Linux runs on; it bounds what a strange file can make us remember.
const CORES_MAX: usize = 1 << 16;

/// The metrics and the columns, from one on, that each is the sum of.
pub(crate) const METRICS: [(&str, std::ops::Range<usize>); 7] = [
    ("cpu_user_ns", 0..2),
    ("cpu_system_ns", 2..3),
    ("cpu_idle_ns", 3..4),
    ("cpu_iowait_ns", 4..5),
    ("cpu_irq_ns", 5..6),
    ("cpu_softirq_ns", 6..7),
    ("cpu_steal_ns", 7..8),
];

/// What was read before.
#[derive(Default)]
pub(super) struct HostCores {
    /// The highest ticks of each column: the total's, then those of core 0 and so on. Linux
    /// documents that idle and iowait can fall.
    highest: Vec<[u64; COLUMNS]>,
}

impl HostCores {
    /// Reads the text of /proc/stat.
    pub(super) fn read(&mut self, text: &str, into: &mut Readings) -> Result<(), String> {
        let mut online = 0;
        let mut has_total = false;
        each_line(text, |line| {
            let Some((name, rest)) = line.split_once(' ') else {
                return Ok(());
            };
            let mut words = rest.split_ascii_whitespace();
            let mut counted = |what| number(&mut words, what).map(as_stored);
            match name {
                "ctxt" => {
                    into.counter(Host, "context_switches", "", counted("the context switches")?);
                }
                "procs_running" => {
                    into.gauge(Host, "processes_running", "", counted("the running processes")?);
                }
                "procs_blocked" => {
                    into.gauge(Host, "processes_blocked", "", counted("the blocked processes")?);
                }
                "cpu" => {
                    has_total = true;
                    self.times(0, "", words, into)?;
                }
                _ => {
                    if let Some(core) = name.strip_prefix("cpu") {
                        let core = core.parse().ok().filter(|core: &usize| *core < CORES_MAX);
                        let core = core.ok_or_else(|| format!("no core is {name}"))?;
                        self.times(core + 1, name, words, into)?;
                        online += 1;
                    }
                }
            }
            Ok(())
        })?;
        if !has_total {
            return Err("it has no line `cpu`".to_owned());
        }
        if online > 0 {
            into.gauge(Host, "cpu_cores", "", online);
        }
        Ok(())
    }

    /// The times of one line, whose highest are at `place`.
    fn times(
        &mut self,
        place: usize,
        label: &str,
        words: SplitAsciiWhitespace<'_>,
        into: &mut Readings,
    ) -> Result<(), String> {
        if self.highest.len() <= place {
            self.highest.resize(place + 1, [0; COLUMNS]);
        }
        let highest = &mut self.highest[place];
        let mut words = words.take(COLUMNS).peekable();
        let mut columns = 0;
        while words.peek().is_some() {
            highest[columns] = highest[columns].max(number(&mut words, "a time")?);
            columns += 1;
        }
        if columns < COLUMNS_MIN {
            return Err(format!("it has {columns} times"));
        }
        for (name, range) in METRICS {
            if range.end <= columns {
                let ticks = highest[range].iter().sum();
                into.counter(Host, name, label, scaled(ticks, UnitSize(tick_ns())));
            }
        }
        Ok(())
    }
}

/// Reads the text of /proc/cpuinfo: the mean of what the cores run at now, where the architecture
/// tells.
pub(super) fn read_frequency(text: &str, into: &mut Readings) -> Result<(), String> {
    let mut sum_mhz = 0.0;
    let mut cores = 0_u32;
    each_line(text, |line| {
        let Some(rest) = line.strip_prefix("cpu MHz") else {
            return Ok(());
        };
        let mhz = rest.trim_start().strip_prefix(':').and_then(|mhz| mhz.trim().parse().ok());
        let mhz = mhz.filter(|mhz: &f64| mhz.is_finite() && *mhz >= 0.0);
        sum_mhz += mhz.ok_or("the frequency is no number")?;
        cores += 1;
        Ok(())
    })?;
    if cores > 0 {
        let hz = (sum_mhz / f64::from(cores) * 1e6).round() as i64;
        into.gauge(Host, "cpu_frequency_hz", "", hz);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{HostCores, read_frequency};
    use crate::proc_file::tick_ns;
    use crate::readings::Readings;

    const LINUX_6_18: &str = "\
cpu  3281944 263656 928122 2562580 76158 0 154121 8238 0 0
cpu0 1618181 117649 425892 1375157 28638 0 68349 4071 0 0
cpu1 1663762 146006 502229 1187422 47520 0 85771 4166 0 0
intr 116257362 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 1 1 13
ctxt 434261214
btime 1795255419
processes 543930
procs_running 3
procs_blocked 1
softirq 274815364 0 3239426 4 246359096 16943689 0 629 3733263 680832 3858425
";
    /// A hypervisor, core 1 offline.
    const LINUX_4_15: &str = "\
cpu  74608 2520 24433 1117073 6176 4054 11 0 30000 500
cpu0 40000 1260 12000 558000 3000 2000 6 0 15000 250
cpu2 34608 1260 12433 559073 3176 2054 5 0 15000 250
intr 1462898 9 0
ctxt 2300789
btime 1418183276
processes 26442
procs_running 1
procs_blocked 0
softirq 5057579 250191 1481983 1647 211099 186066
";
    const LINUX_2_4: &str = "cpu  100 20 30 4000\nctxt 5\nbtime 1\n";

    fn read(cores: &mut HostCores, text: &str) -> Result<Readings, String> {
        let mut readings = Readings::default();
        cores.read(text, &mut readings)?;
        Ok(readings)
    }

    #[test]
    fn times_of_a_new_kernel() {
        let readings = read(&mut HostCores::default(), LINUX_6_18).unwrap();
        let tick_ns = tick_ns() as i64;
        for (name, label, ticks) in [
            ("cpu_user_ns", "", 3_281_944 + 263_656),
            ("cpu_system_ns", "", 928_122),
            ("cpu_idle_ns", "", 2_562_580),
            ("cpu_iowait_ns", "", 76_158),
            ("cpu_irq_ns", "", 0),
            ("cpu_softirq_ns", "", 154_121),
            ("cpu_steal_ns", "", 8_238),
            ("cpu_user_ns", "cpu1", 1_663_762 + 146_006),
            ("cpu_steal_ns", "cpu0", 4_071),
        ] {
            assert_eq!(readings.value(name, label), Some(ticks * tick_ns), "{name}");
        }
        assert_eq!(readings.value("context_switches", ""), Some(434_261_214));
        assert_eq!(readings.value("processes_running", ""), Some(3));
        assert_eq!(readings.value("processes_blocked", ""), Some(1));
        assert_eq!(readings.value("cpu_cores", ""), Some(2));
        assert_eq!(readings.values().len(), 3 * 7 + 4);
    }

    #[test]
    fn guests_are_not_counted_twice() {
        let readings = read(&mut HostCores::default(), LINUX_4_15).unwrap();
        let user = readings.value("cpu_user_ns", "").unwrap();
        assert_eq!(user, (74_608 + 2_520) * tick_ns() as i64);
        assert_eq!(readings.value("cpu_cores", ""), Some(2));
        assert!(readings.value("cpu_idle_ns", "cpu2").is_some());
        assert_eq!(readings.value("cpu_idle_ns", "cpu1"), None);
    }

    #[test]
    fn columns_that_a_kernel_lacks_are_left_out() {
        let readings = read(&mut HostCores::default(), LINUX_2_4).unwrap();
        assert_eq!(readings.values().len(), 4);
        assert_eq!(readings.value("cpu_iowait_ns", ""), None);
        assert_eq!(readings.value("cpu_cores", ""), None);
    }

    #[test]
    fn counters_do_not_fall() {
        let mut cores = HostCores::default();
        let before = read(&mut cores, "cpu 10 0 10 100 50\n").unwrap();
        let after = read(&mut cores, "cpu 11 0 10 101 48\n").unwrap();
        let of = |readings: &Readings, name| readings.value(name, "").unwrap();
        let rise = |name| of(&after, name) - of(&before, name);
        assert_eq!(rise("cpu_iowait_ns"), 0);
        assert_eq!(rise("cpu_idle_ns"), tick_ns() as i64);
        assert_eq!(rise("cpu_user_ns"), tick_ns() as i64);
    }

    #[test]
    fn other_forms_are_errors() {
        for (text, says) in [
            ("", "it has no line `cpu`"),
            ("intr 5\n", "it has no line `cpu`"),
            ("cpu  1 2 3\n", "line 1: it has 3 times"),
            ("cpu  1 2 3 4\ncpu0 1 2 x 4\n", "line 2: a time is \"x\""),
            ("cpu  1 2 3 -4\n", "line 1: a time is \"-4\""),
            ("cpu  1 2 3 4\ncpu99999999 1 2 3 4\n", "no core is cpu99999999"),
            ("cpu  1 2 3 4\ncpufreq 1\n", "line 2: no core is cpufreq"),
            ("cpu  1 2 3 4\nctxt \n", "line 2: it ends before the context"),
        ] {
            let error = read(&mut HostCores::default(), text).unwrap_err();
            assert!(error.contains(says), "{error}");
        }
    }

    #[test]
    fn the_frequency_is_the_mean() {
        let read = |text: &str| {
            let mut readings = Readings::default();
            read_frequency(text, &mut readings).map(|()| readings.value("cpu_frequency_hz", ""))
        };
        let x86 =
            "processor\t: 0\ncpu MHz\t\t: 2450.000\n\nprocessor\t: 1\ncpu MHz\t\t: 3000.500\n";
        assert_eq!(read(x86).unwrap(), Some(2_725_250_000));
        let arm = "processor\t: 0\nBogoMIPS\t: 50.00\n";
        assert_eq!(read(arm).unwrap(), None);
        let error = read("processor : 0\ncpu MHz : unknown\n").unwrap_err();
        assert!(error.contains("line 2: the frequency"), "{error}");
    }
}
