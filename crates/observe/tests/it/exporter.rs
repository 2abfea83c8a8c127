//! The real node_exporter of Debian's package says of this machine what /proc says.

use observe::{ExporterSource, HostSource, Readings, SampleSource};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// Ends with its test.
struct Exporter {
    child: Child,
    port: u16,
}

impl Exporter {
    /// One that has answered. A port that was free may be somebody else's by then: the exporter
    /// then ends, and another port is taken.
    fn start() -> Exporter {
        let begun = Instant::now();
        loop {
            let free = TcpListener::bind("127.0.0.1:0").unwrap();
            let port = free.local_addr().unwrap().port();
            drop(free);
            let child = Command::new("prometheus-node-exporter")
                .arg(format!("--web.listen-address=127.0.0.1:{port}"))
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .expect("the package prometheus-node-exporter is installed");
            let mut exporter = Exporter { child, port };
            while exporter.child.try_wait().unwrap().is_none() {
                if read(&mut exporter.source("/metrics")).is_ok() {
                    return exporter;
                }
                assert!(begun.elapsed() < Duration::from_secs(600), "no exporter");
                std::thread::sleep(Duration::from_millis(50));
            }
        }
    }

    fn source(&self, path: &str) -> ExporterSource {
        ExporterSource::new(&format!("http://127.0.0.1:{}{path}", self.port))
    }
}

impl Drop for Exporter {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn read(source: &mut dyn SampleSource) -> Result<Readings, String> {
    let mut readings = Readings::default();
    let read = source.read(&mut readings, &AtomicBool::new(false));
    read.map(|()| readings).map_err(|error| error.to_string())
}

fn value(readings: &Readings, name: &str) -> Option<i64> {
    let of = |(metric, _): &&(store::Metric, i64)| metric.name == name && metric.label.is_empty();
    readings.values().iter().find(of).map(|(_, value)| *value)
}

#[test]
fn an_exporter_says_what_proc_says() {
    let exporter = Exporter::start();
    let mut remote = exporter.source("/metrics");
    let mut host = HostSource::default();
    let before = read(&mut host).unwrap();
    let there = read(&mut remote).unwrap();
    let after = read(&mut host).unwrap();
    // Counters lie between two readings of our own, to what the exporter may have read earlier or
    // rounded.
    for name in ["cpu_user_ns", "cpu_system_ns", "cpu_idle_ns", "context_switches"] {
        let (low, high) = (value(&before, name).unwrap(), value(&after, name).unwrap());
        let slack = if name.ends_with("_ns") { 500_000_000 } else { 1_000 };
        let there = value(&there, name).unwrap_or_else(|| panic!("no {name}"));
        assert!((low - slack..=high + slack).contains(&there), "{name}: {low} {there} {high}");
    }
    for name in ["cpu_cores", "memory_total_bytes"] {
        assert_eq!(value(&there, name), value(&before, name), "{name}");
    }
    // Whatever it says has a name that this machine's own readings have.
    for (metric, _) in there.values() {
        let known =
            |(own, _): &(store::Metric, i64)| own.name == metric.name && own.kind == metric.kind;
        let is_frequency = metric.name == "cpu_frequency_hz";
        assert!(is_frequency || after.values().iter().any(known), "{metric:?}");
    }
}

#[test]
fn what_is_no_exporter_is_an_error() {
    let exporter = Exporter::start();
    let error = read(&mut exporter.source("/")).unwrap_err();
    assert!(error.contains("no metric"), "{error}");
    let mut source = exporter.source("/metrics");
    drop(exporter);
    let error = read(&mut source).unwrap_err();
    assert!(error.to_lowercase().contains("refused"), "{error}");
}
