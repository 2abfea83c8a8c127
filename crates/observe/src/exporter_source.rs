//! A machine that is not this one, through Prometheus' node_exporter: the same metrics as
//! [`crate::HostSource`] has of this one.

use crate::error::{ObserveError, ObserveResult};
use crate::host_source::cpu::{COLUMNS, METRICS};
use crate::host_source::is_stacked;
use crate::readings::{Readings, SampleSource};
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use store::{MetricKind, MetricSource};

/// How long an exporter may take; beyond it the sample is a gap.
const PATIENCE: Duration = Duration::from_secs(2);
const ANSWER_BYTES_MAX: u64 = 16 << 20;

/// The exporter of the server's machine.
pub struct ExporterSource {
    url: String,
    agent: ureq::Agent,
    cores: ExporterCores,
}

impl ExporterSource {
    /// The exporter at `url`: `http://db:9100/metrics`.
    pub fn new(url: &str) -> ExporterSource {
        let config = ureq::Agent::config_builder().timeout_global(Some(PATIENCE));
        ExporterSource {
            url: url.to_owned(),
            agent: config.build().into(),
            cores: ExporterCores::default(),
        }
    }

    fn get(&self) -> Result<String, ureq::Error> {
        let mut answer = self.agent.get(&self.url).call()?;
        let body = answer.body_mut().with_config().limit(ANSWER_BYTES_MAX);
        body.read_to_string()
    }
}

impl SampleSource for ExporterSource {
    fn title(&self) -> &'static str {
        "the server's machine"
    }

    fn read(&mut self, into: &mut Readings, _stop: &AtomicBool) -> ObserveResult<()> {
        let failed = |why: String| ObserveError::Exporter { url: without_login(&self.url), why };
        let text = self.get().map_err(|error| failed(error.to_string()))?;
        into.taken_now();
        host_of(&text, &mut self.cores, into);
        if into.values().is_empty() {
            return Err(failed("it exports no metric of node_exporter".to_owned()));
        }
        Ok(())
    }
}

/// An address as errors may show it.
fn without_login(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return url.to_owned();
    };
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    format!("{scheme}://{host}{path}")
}

const NS: f64 = 1e9;
const US: f64 = 1e6;

/// Names of the exporter without `node_` and `_total`, and ours, which end with their unit.
const COUNTERS: [(&str, &str); 17] = [
    ("context_switches", "context_switches"),
    ("pressure_cpu_waiting_seconds", "pressure_cpu_some_us"),
    ("pressure_io_waiting_seconds", "pressure_io_some_us"),
    ("pressure_io_stalled_seconds", "pressure_io_full_us"),
    ("pressure_memory_waiting_seconds", "pressure_memory_some_us"),
    ("pressure_memory_stalled_seconds", "pressure_memory_full_us"),
    ("network_receive_bytes", "network_received_bytes"),
    ("network_transmit_bytes", "network_sent_bytes"),
    ("disk_reads_completed", "disk_reads"),
    ("disk_read_bytes", "disk_read_bytes"),
    ("disk_read_time_seconds", "disk_read_ns"),
    ("disk_writes_completed", "disk_writes"),
    ("disk_written_bytes", "disk_write_bytes"),
    ("disk_write_time_seconds", "disk_write_ns"),
    ("disk_flush_requests", "disk_flushes"),
    ("disk_io_time_seconds", "disk_busy_ns"),
    ("disk_io_time_weighted_seconds", "disk_queue_ns"),
];

/// The same of gauges, whose names do not end with `_total`.
const GAUGES: [(&str, &str); 7] = [
    ("disk_io_now", "disk_in_flight"),
    ("procs_running", "processes_running"),
    ("procs_blocked", "processes_blocked"),
    ("memory_MemTotal_bytes", "memory_total_bytes"),
    ("memory_MemAvailable_bytes", "memory_available_bytes"),
    ("memory_Cached_bytes", "memory_cached_bytes"),
    ("memory_Dirty_bytes", "memory_dirty_bytes"),
];

/// Modes of `node_cpu_seconds_total`, each at the place of its column in /proc/stat.
const MODES: [&str; COLUMNS] =
    ["user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"];

/// The seconds of each mode that each core told. A core that went offline stays in the sum, as in
/// /proc/stat, so it does not fall.
#[derive(Default)]
struct ExporterCores {
    all: BTreeMap<String, ExporterCore>,
}

#[derive(Default)]
struct ExporterCore {
    /// The highest of each mode: Linux documents that idle and iowait can fall.
    highest_s: [f64; COLUMNS],
    /// Which of them this answer told.
    told: [bool; COLUMNS],
}

impl ExporterCores {
    /// A line of `node_cpu_seconds_total`.
    fn take(&mut self, line: &ExpositionLine<'_>) {
        let mode = MODES.iter().position(|mode| line.label("mode") == Some(mode));
        let (Some(mode), Some(core)) = (mode, line.label("cpu")) else {
            return;
        };
        let core = self.all.entry(core.to_owned()).or_default();
        core.highest_s[mode] = core.highest_s[mode].max(line.value);
        core.told[mode] = true;
    }

    /// Gives the sums at the end of an answer: of what each core that is online told in it, as
    /// anything less is no sum.
    fn give(&mut self, into: &mut Readings) {
        let online = || self.all.values().filter(|core| core.told.contains(&true));
        let count = online().count();
        if count > 0 {
            into.gauge(MetricSource::Host, "cpu_cores", "", count as i64);
        }
        for (name, modes) in METRICS {
            let is_told = |core: &ExporterCore| !core.told[modes.clone()].contains(&false);
            if count > 0 && online().all(is_told) {
                let sum_s = |mode| self.all.values().map(|core| core.highest_s[mode]).sum::<f64>();
                let sum_s: f64 = modes.map(sum_s).sum();
                into.counter(MetricSource::Host, name, "", (sum_s * NS) as i64);
            }
        }
        for core in self.all.values_mut() {
            core.told = [false; COLUMNS];
        }
    }
}

/// The metrics of an answer that are known. What is no finite number is not told.
fn host_of(text: &str, cores: &mut ExporterCores, into: &mut Readings) {
    let (mut scaling_hz, mut nominal_hz) = (Vec::new(), Vec::new());
    let lines = text.lines().filter_map(ExpositionLine::parse);
    for line in lines.filter(|line| line.value.is_finite()) {
        match line.name {
            "node_cpu_seconds_total" => cores.take(&line),
            "node_cpu_scaling_frequency_hertz" => scaling_hz.push(line.value),
            "node_cpu_frequency_hertz" => nominal_hz.push(line.value),
            _ => known(&line, into),
        }
    }
    cores.give(into);
    // Where both are exported they are of the same cores, and the first is what these run at now.
    let all_hz = if scaling_hz.is_empty() { nominal_hz } else { scaling_hz };
    if !all_hz.is_empty() {
        let mean_hz = all_hz.iter().sum::<f64>() / all_hz.len() as f64;
        into.gauge(MetricSource::Host, "cpu_frequency_hz", "", mean_hz as i64);
    }
}

fn known(line: &ExpositionLine<'_>, into: &mut Readings) {
    let Some(name) = line.name.strip_prefix("node_") else {
        return;
    };
    let (kind, all, name) = match name.strip_suffix("_total") {
        Some(name) => (MetricKind::Counter, &COUNTERS[..], name),
        None => (MetricKind::Gauge, &GAUGES[..], name),
    };
    let Some((_, name)) = all.iter().find(|(theirs, _)| *theirs == name) else {
        return;
    };
    let device = line.label("device").unwrap_or("");
    if name.starts_with("disk_") && is_stacked(device) {
        return;
    }
    let factor = match name.rsplit('_').next() {
        Some("ns") => NS,
        Some("us") => US,
        _ => 1.0,
    };
    let value = (line.value * factor) as i64;
    into.give(kind, MetricSource::Host, name, device, value);
}

/// `name{label="value",...} 12.5`, one line of the text format; a time stamp may follow.
struct ExpositionLine<'a> {
    name: &'a str,
    labels: &'a str,
    value: f64,
}

impl<'a> ExpositionLine<'a> {
    fn parse(line: &'a str) -> Option<ExpositionLine<'a>> {
        let (name, labels, rest) = match line.split_once('{') {
            Some((name, labelled)) => {
                let (labels, rest) = labelled.rsplit_once('}')?;
                (name, labels, rest)
            }
            None => {
                let (name, rest) = line.split_once(' ')?;
                (name, "", rest)
            }
        };
        // Behind the name of a comment is no number.
        let value = rest.split_whitespace().next()?.parse().ok()?;
        Some(ExpositionLine { name, labels, value })
    }

    /// The value of a label. Those that are asked for hold no escaped characters.
    fn label(&self, name: &str) -> Option<&'a str> {
        let mut rest = self.labels;
        while let Some((label, quoted)) = rest.split_once("=\"") {
            let end = end_of_quoted(quoted)?;
            if label.trim_start_matches([',', ' ']) == name {
                return Some(&quoted[..end]);
            }
            rest = &quoted[end + 1..];
        }
        None
    }
}

/// Where the first quote is that no backslash escapes.
fn end_of_quoted(text: &str) -> Option<usize> {
    let mut is_escaped = false;
    text.bytes().position(|byte| {
        let ends = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        ends
    })
}

#[cfg(test)]
mod tests {
    use super::{ExporterCores, ExpositionLine, host_of, without_login};
    use crate::readings::Readings;

    const ANSWER: &str = r#"# HELP node_cpu_seconds_total Seconds the CPUs spent in each mode.
# TYPE node_cpu_seconds_total counter
node_cpu_seconds_total{cpu="0",mode="idle"} 100.5
node_cpu_seconds_total{cpu="0",mode="nice"} 1
node_cpu_seconds_total{cpu="0",mode="user"} 2
node_cpu_seconds_total{cpu="1",mode="idle"} 1e+02
node_cpu_seconds_total{cpu="1",mode="nice"} 0
node_cpu_seconds_total{cpu="1",mode="user"} 4
node_disk_read_time_seconds_total{device="vda"} 0.25
node_disk_read_time_seconds_total{device="dm-0"} 0.25
node_disk_info{device="vda",model="a \"b\" }",path="x"} 1
node_procs_running 3
node_procs_blocked NaN
node_memory_MemTotal_bytes +Inf
node_pressure_io_stalled_seconds_total 0.5
go_goroutines 8
broken{x="
"#;

    fn read(cores: &mut ExporterCores, text: &str) -> Readings {
        let mut readings = Readings::default();
        host_of(text, cores, &mut readings);
        readings
    }

    #[test]
    fn an_exporter_says_what_the_host_would() {
        let readings = read(&mut ExporterCores::default(), ANSWER);
        for (name, label, value) in [
            ("cpu_cores", "", Some(2)),
            ("cpu_user_ns", "", Some(7_000_000_000)),
            ("cpu_idle_ns", "", Some(200_500_000_000)),
            ("disk_read_ns", "vda", Some(250_000_000)),
            ("processes_running", "", Some(3)),
            ("pressure_io_full_us", "", Some(500_000)),
            // What lies on other disks is in them.
            ("disk_read_ns", "dm-0", None),
            // What was not told is not 0.
            ("disk_reads", "vda", None),
            ("cpu_system_ns", "", None),
            ("processes_blocked", "", None),
            ("memory_total_bytes", "", None),
        ] {
            assert_eq!(readings.value(name, label), value, "{name}");
        }
        assert_eq!(readings.values().len(), 6);
    }

    #[test]
    fn a_sum_is_of_all_cores_and_does_not_fall() {
        let idle = |core, seconds: &str| {
            format!("node_cpu_seconds_total{{cpu=\"{core}\",mode=\"idle\"}} {seconds}\n")
        };
        let mut cores = ExporterCores::default();
        let mut read = |answer: &[(i32, &str)]| {
            let text: String = answer.iter().map(|(core, seconds)| idle(*core, seconds)).collect();
            let readings = read(&mut cores, &text);
            let seconds = |ns: i64| ns / 1_000_000_000;
            (readings.value("cpu_cores", ""), readings.value("cpu_idle_ns", "").map(seconds))
        };
        assert_eq!(read(&[(0, "10"), (1, "20")]), (Some(2), Some(30)));
        // Core 1 is offline, and on again with a lower count.
        assert_eq!(read(&[(0, "11")]), (Some(1), Some(31)));
        assert_eq!(read(&[(0, "12"), (1, "19")]), (Some(2), Some(32)));
        assert_eq!(read(&[(0, "12"), (1, "25")]), (Some(2), Some(37)));
        // A core that tells another mode only: the sum of idle time is not known.
        let text = format!(
            "{}node_cpu_seconds_total{{cpu=\"1\",mode=\"user\"}} 1\n{}",
            idle(0, "13"),
            idle(1, "NaN")
        );
        let readings = super::tests::read(&mut cores, &text);
        assert_eq!(readings.value("cpu_cores", ""), Some(2));
        assert_eq!(readings.value("cpu_idle_ns", ""), None);
    }

    #[test]
    fn one_frequency_is_preferred() {
        let nominal = "node_cpu_frequency_hertz{cpu=\"0\"} 3e9\n";
        let scaling = "node_cpu_scaling_frequency_hertz{cpu=\"0\"} \
            1e9\nnode_cpu_scaling_frequency_hertz{cpu=\"1\"} 2e9\n";
        let mean =
            |text: &str| read(&mut ExporterCores::default(), text).value("cpu_frequency_hz", "");
        assert_eq!(mean(nominal), Some(3_000_000_000));
        assert_eq!(mean(&format!("{nominal}{scaling}")), Some(1_500_000_000));
        let unknown = "node_cpu_scaling_frequency_hertz{cpu=\"0\"} NaN\n";
        assert_eq!(mean(&format!("{unknown}{nominal}")), Some(3_000_000_000));
        assert_eq!(mean(""), None);
    }

    #[test]
    fn passwords_are_not_shown() {
        for (url, shown) in [
            ("http://db:9100/metrics", "http://db:9100/metrics"),
            ("http://me:se@cret@db:9100/m@", "http://db:9100/m@"),
            ("http://db", "http://db"),
        ] {
            assert_eq!(without_login(url), shown);
        }
    }

    #[test]
    fn another_exporter_says_nothing() {
        let readings = read(&mut ExporterCores::default(), "mysql_up 1\n# EOF\n");
        assert!(readings.values().is_empty());
    }

    #[test]
    fn lines_have_labels_with_any_text() {
        let line = ExpositionLine::parse(r#"a{x="1}\"=\"2",device="d 0"} 7 1700000000"#).unwrap();
        assert_eq!((line.name, line.value), ("a", 7.0));
        assert_eq!(line.label("device"), Some("d 0"));
        assert_eq!(line.label("y"), None);
        assert!(ExpositionLine::parse("# TYPE a counter").is_none());
        assert!(ExpositionLine::parse("a{x=\"1\" 7").is_none());
    }
}
