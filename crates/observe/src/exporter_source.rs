//! A machine that is not this one, through Prometheus' node_exporter: the same metrics as [`crate::HostSource`] has of this one.

use crate::error::ObserveError;
use crate::sampler::{Readings, Source};
use std::collections::BTreeSet;
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
}

impl ExporterSource {
    /// The exporter at `url`: `http://db:9100/metrics`.
    #[must_use]
    pub fn new(url: &str) -> ExporterSource {
        let config = ureq::Agent::config_builder().timeout_global(Some(PATIENCE));
        ExporterSource {
            url: url.to_owned(),
            agent: config.build().into(),
        }
    }

    fn get(&self) -> Result<String, ureq::Error> {
        let mut answer = self.agent.get(&self.url).call()?;
        let body = answer.body_mut().with_config().limit(ANSWER_BYTES_MAX);
        body.read_to_string()
    }
}

impl Source for ExporterSource {
    fn title(&self) -> &'static str {
        "the server's machine"
    }

    fn read(&mut self, into: &mut Readings, _stop: &AtomicBool) -> Result<(), ObserveError> {
        let failed = |why: String| ObserveError::Exporter {
            url: self.url.clone(),
            why,
        };
        let text = self.get().map_err(|error| failed(error.to_string()))?;
        into.taken_now();
        host_of(&text, into);
        if into.values().is_empty() {
            return Err(failed("it exports no metric of node_exporter".to_owned()));
        }
        Ok(())
    }
}

/// (name of the exporter, label that tells which of several, our name, factor to our unit).
type Known = (&'static str, Option<&'static str>, &'static str, f64);

const NS: f64 = 1e9;
const US: f64 = 1e6;

const COUNTERS: [Known; 17] = [
    ("node_context_switches_total", None, "context_switches", 1.0),
    (
        "node_pressure_cpu_waiting_seconds_total",
        None,
        "pressure_cpu_some_us",
        US,
    ),
    (
        "node_pressure_io_waiting_seconds_total",
        None,
        "pressure_io_some_us",
        US,
    ),
    (
        "node_pressure_io_stalled_seconds_total",
        None,
        "pressure_io_full_us",
        US,
    ),
    (
        "node_pressure_memory_waiting_seconds_total",
        None,
        "pressure_memory_some_us",
        US,
    ),
    (
        "node_pressure_memory_stalled_seconds_total",
        None,
        "pressure_memory_full_us",
        US,
    ),
    (
        "node_network_receive_bytes_total",
        Some("device"),
        "network_received_bytes",
        1.0,
    ),
    (
        "node_network_transmit_bytes_total",
        Some("device"),
        "network_sent_bytes",
        1.0,
    ),
    (
        "node_disk_reads_completed_total",
        Some("device"),
        "disk_reads",
        1.0,
    ),
    (
        "node_disk_read_bytes_total",
        Some("device"),
        "disk_read_bytes",
        1.0,
    ),
    (
        "node_disk_read_time_seconds_total",
        Some("device"),
        "disk_read_ns",
        NS,
    ),
    (
        "node_disk_writes_completed_total",
        Some("device"),
        "disk_writes",
        1.0,
    ),
    (
        "node_disk_written_bytes_total",
        Some("device"),
        "disk_write_bytes",
        1.0,
    ),
    (
        "node_disk_write_time_seconds_total",
        Some("device"),
        "disk_write_ns",
        NS,
    ),
    (
        "node_disk_flush_requests_total",
        Some("device"),
        "disk_flushes",
        1.0,
    ),
    (
        "node_disk_io_time_seconds_total",
        Some("device"),
        "disk_busy_ns",
        NS,
    ),
    (
        "node_disk_io_time_weighted_seconds_total",
        Some("device"),
        "disk_queue_ns",
        NS,
    ),
];

const GAUGES: [Known; 7] = [
    ("node_procs_running", None, "processes_running", 1.0),
    ("node_procs_blocked", None, "processes_blocked", 1.0),
    (
        "node_memory_MemTotal_bytes",
        None,
        "memory_total_bytes",
        1.0,
    ),
    (
        "node_memory_MemAvailable_bytes",
        None,
        "memory_available_bytes",
        1.0,
    ),
    ("node_memory_Cached_bytes", None, "memory_cached_bytes", 1.0),
    ("node_memory_Dirty_bytes", None, "memory_dirty_bytes", 1.0),
    ("node_disk_io_now", Some("device"), "disk_in_flight", 1.0),
];

/// Modes of `node_cpu_seconds_total`; what is nice is user time.
const MODES: [(&str, &str); 8] = [
    ("user", "cpu_user_ns"),
    ("nice", "cpu_user_ns"),
    ("system", "cpu_system_ns"),
    ("iowait", "cpu_iowait_ns"),
    ("irq", "cpu_irq_ns"),
    ("softirq", "cpu_softirq_ns"),
    ("steal", "cpu_steal_ns"),
    ("idle", "cpu_idle_ns"),
];

/// The metrics of an answer that are known.
fn host_of(text: &str, into: &mut Readings) {
    let mut cores = BTreeSet::new();
    let mut cpu_s = [0.0; MODES.len()];
    let mut frequencies = Vec::new();
    for line in text.lines().filter_map(Line::parse) {
        match line.name {
            "node_cpu_seconds_total" => {
                let mode = MODES
                    .iter()
                    .position(|(mode, _)| line.label("mode") == Some(*mode));
                if let (Some(mode), Some(core)) = (mode, line.label("cpu")) {
                    cores.insert(core);
                    cpu_s[mode] += line.value;
                }
            }
            "node_cpu_scaling_frequency_hertz" | "node_cpu_frequency_hertz" => {
                frequencies.push(line.value);
            }
            _ => known(&line, into),
        }
    }
    if cores.is_empty() {
        return;
    }
    into.gauge(MetricSource::Host, "cpu_cores", "", cores.len() as i64);
    if !frequencies.is_empty() {
        let mean = frequencies.iter().sum::<f64>() / frequencies.len() as f64;
        into.gauge(MetricSource::Host, "cpu_frequency_hz", "", mean as i64);
    }
    let names: BTreeSet<&str> = MODES.iter().map(|(_, name)| *name).collect();
    for name in names {
        let seconds: f64 = MODES
            .iter()
            .zip(cpu_s)
            .filter(|((_, of), _)| *of == name)
            .map(|(_, seconds)| seconds)
            .sum();
        into.counter(MetricSource::Host, name, "", (seconds * NS) as i64);
    }
}

fn known(line: &Line<'_>, into: &mut Readings) {
    for (kind, all) in [
        (MetricKind::Counter, &COUNTERS[..]),
        (MetricKind::Gauge, &GAUGES[..]),
    ] {
        let Some((_, label, name, factor)) = all.iter().find(|known| known.0 == line.name) else {
            continue;
        };
        let label = label.and_then(|label| line.label(label)).unwrap_or("");
        let value = (line.value * factor) as i64;
        match kind {
            MetricKind::Counter => into.counter(MetricSource::Host, name, label, value),
            MetricKind::Gauge => into.gauge(MetricSource::Host, name, label, value),
        }
    }
}

/// `name{label="value",...} 12.5`, one line of the text format; a time stamp may follow.
struct Line<'a> {
    name: &'a str,
    labels: &'a str,
    value: f64,
}

impl<'a> Line<'a> {
    fn parse(line: &'a str) -> Option<Line<'a>> {
        let end = line.find(['{', ' '])?;
        let (name, rest) = line.split_at(end);
        if name.is_empty() || name.starts_with('#') {
            return None;
        }
        let (labels, rest) = match rest.strip_prefix('{') {
            Some(rest) => rest.split_at(end_of_labels(rest)?),
            None => ("", rest),
        };
        let value = rest.trim_start_matches('}').split_whitespace().next()?;
        Some(Line {
            name,
            labels,
            value: value.parse().ok()?,
        })
    }

    /// The value of a label. Those that are asked for hold no escaped characters.
    fn label(&self, name: &str) -> Option<&'a str> {
        let mut rest = self.labels;
        while let Some((label, after)) = rest.split_once("=\"") {
            let end = end_of_value(after)?;
            if label.trim_start_matches([',', ' ']) == name {
                return Some(&after[..end]);
            }
            rest = &after[end + 1..];
        }
        None
    }
}

/// Where the closing brace is, which may stand in values too.
fn end_of_labels(text: &str) -> Option<usize> {
    let (mut at, mut quoted) = (0, false);
    while let Some(byte) = text.as_bytes().get(at) {
        match byte {
            b'\\' if quoted => at += 1,
            b'"' => quoted = !quoted,
            b'}' if !quoted => return Some(at),
            _ => {}
        }
        at += 1;
    }
    None
}

/// Where the closing quote of a value is.
fn end_of_value(text: &str) -> Option<usize> {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return Some(at),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{Line, host_of};
    use crate::sampler::Readings;

    const ANSWER: &str = r#"# HELP node_cpu_seconds_total Seconds the CPUs spent in each mode.
# TYPE node_cpu_seconds_total counter
node_cpu_seconds_total{cpu="0",mode="idle"} 100.5
node_cpu_seconds_total{cpu="0",mode="nice"} 1
node_cpu_seconds_total{cpu="0",mode="user"} 2
node_cpu_seconds_total{cpu="1",mode="idle"} 1e+02
node_cpu_seconds_total{cpu="1",mode="user"} 4
node_disk_read_time_seconds_total{device="vda"} 0.25
node_disk_info{device="vda",model="a \"b\" }",path="x"} 1
node_procs_running 3
node_pressure_io_stalled_seconds_total 0.5
go_goroutines 8
broken{x="
"#;

    #[test]
    fn an_exporter_says_what_the_host_would() {
        let mut readings = Readings::default();
        host_of(ANSWER, &mut readings);
        let value = |name: &str, label: &str| {
            let of =
                |(metric, _): &&(store::Metric, i64)| metric.name == name && metric.label == label;
            readings.values().iter().find(of).map(|(_, value)| *value)
        };
        assert_eq!(value("cpu_cores", ""), Some(2));
        assert_eq!(value("cpu_user_ns", ""), Some(7_000_000_000));
        assert_eq!(value("cpu_idle_ns", ""), Some(200_500_000_000));
        assert_eq!(value("disk_read_ns", "vda"), Some(250_000_000));
        assert_eq!(value("processes_running", ""), Some(3));
        assert_eq!(value("pressure_io_full_us", ""), Some(500_000));
        assert_eq!(value("disk_reads", "vda"), None);
    }

    #[test]
    fn another_exporter_says_nothing() {
        let mut readings = Readings::default();
        host_of("mysql_up 1\n# EOF\n", &mut readings);
        assert!(readings.values().is_empty());
    }

    #[test]
    fn lines_have_labels_with_any_text() {
        let line = Line::parse(r#"a{x="1}\"=\"2",device="d 0"} 7 1700000000"#).unwrap();
        assert_eq!((line.name, line.value), ("a", 7.0));
        assert_eq!(line.label("device"), Some("d 0"));
        assert_eq!(line.label("y"), None);
        assert!(Line::parse("# TYPE a counter").is_none());
        assert!(Line::parse("a{x=\"1\" 7").is_none());
    }
}
