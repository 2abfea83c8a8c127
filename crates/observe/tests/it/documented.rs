//! docs/metrics.md is an interface: it names what the sources of host, processes and shim deliver.

use crate::common::read;
use device::page::Snapshot;
use observe::{HostSource, PerfSource, ProcessSource, Readings, ShimSource, ThreadSource};
use std::collections::BTreeMap;
use std::path::Path;
use std::thread::Builder;
use storage::ShimPage;
use store::{MetricKind, MetricSource};

/// Source and name.
type Key = (MetricSource, String);

/// A row: the kind, and whether all machines have the metric.
struct Described {
    kind: MetricKind,
    is_everywhere: bool,
}

fn described() -> BTreeMap<Key, Described> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/metrics.md");
    let text = std::fs::read_to_string(path).unwrap();
    let mut all = BTreeMap::new();
    let mut source = None;
    for line in text.lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            source = match heading {
                "Host" => Some(MetricSource::Host),
                "Process" => Some(MetricSource::Process),
                "Shim" => Some(MetricSource::Shim),
                _ => None,
            };
            continue;
        }
        let (Some(source), Some(row)) = (source, line.strip_prefix("| `")) else {
            continue;
        };
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let [name, kind, _label, meaning, ""] = cells[..] else {
            panic!("a row has four cells: {line}");
        };
        let name = name.strip_suffix('`').unwrap().to_owned();
        let kind = match kind {
            "counter" => MetricKind::Counter,
            "gauge" => MetricKind::Gauge,
            _ => panic!("{name} is neither counter nor gauge: {kind}"),
        };
        let row = Described { kind, is_everywhere: !meaning.contains("where") };
        let before = all.insert((source, name), row);
        assert!(before.is_none(), "{line} comes twice");
    }
    all
}

/// A page.
fn shim_readings() -> Readings {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join(ShimPage::FILE), Snapshot::fresh()).unwrap();
    read(&mut ShimSource::new(ShimPage::in_directory(directory.path())))
}

#[test]
fn every_metric_is_described() {
    let described = described();
    let thread = Builder::new().name("driver-0".to_owned());
    let driver = move || read(&mut ThreadSource::new("driver-"));
    let delivered = [
        read(&mut HostSource::default()),
        read(&mut PerfSource::default()),
        read(&mut ProcessSource::new("mydyno", std::process::id())),
        thread.spawn(driver).unwrap().join().unwrap(),
        shim_readings(),
    ];
    let delivered = delivered.iter().flat_map(Readings::values);
    let delivered: BTreeMap<Key, MetricKind> =
        delivered.map(|(metric, _)| ((metric.source, metric.name.clone()), metric.kind)).collect();
    for (key, kind) in &delivered {
        let row = described.get(key);
        let row = row.unwrap_or_else(|| panic!("docs/metrics.md does not describe {key:?}"));
        assert_eq!(row.kind, *kind, "docs/metrics.md has another kind of {key:?}");
    }
    for (key, row) in &described {
        assert!(
            !row.is_everywhere || delivered.contains_key(key),
            "docs/metrics.md describes {key:?}, which did not come"
        );
    }
}
