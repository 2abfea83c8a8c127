//! A server with the source that observes it, and what else can be known of it: the documentation
//! and another session.

use super::{Held, Server, connect_options, directory_on_disk, execute, until};
use observe::{Readings, SampleSource, ServerSource};
use rustix::process::Signal;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};
use store::{MetricKind, MetricSource};
use tempfile::TempDir;

/// A pool that does not hold the table `big`, and a binary log whose cache does not hold a
/// transaction of some rows.
pub const OBSERVED: [&str; 5] = [
    "innodb_buffer_pool_size=24M",
    "innodb_log_file_size=64M",
    "log_bin=binlog",
    "binlog_cache_size=4096",
    "sync_binlog=0",
];

/// How long pages are waited for that a server still writes.
const WRITES_PATIENCE: Duration = Duration::from_secs(30);

pub type Metrics = BTreeMap<String, (MetricKind, i64)>;

/// A metric as docs/metrics.md tells it.
pub struct Documented {
    pub name: String,
    pub kind: MetricKind,
    pub places: Vec<String>,
    /// Only servers have it whose performance_schema is on.
    pub needs_performance_schema: bool,
}

fn in_ticks(text: &str) -> Vec<String> {
    text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

pub fn documented() -> Vec<Documented> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/metrics.md");
    let page = std::fs::read_to_string(page).unwrap();
    let section = page.split("## Server\n").nth(1).unwrap();
    let section = section.split("\n## ").next().unwrap();
    let rows = section.lines().filter(|line| line.starts_with("| `")).skip(1);
    rows.map(|row| {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        Documented {
            name: in_ticks(cells[0]).remove(0),
            kind: MetricKind::ALL.into_iter().find(|kind| kind.name() == cells[1]).unwrap(),
            places: in_ticks(cells[2]),
            needs_performance_schema: cells[3].ends_with("where `performance_schema` is on"),
        }
    })
    .collect()
}

/// A server, what is said of it, and the source that is tested.
pub struct Bed {
    pub engine: &'static str,
    pub server: Server,
    pub dsn: String,
    pub documented: Vec<Documented>,
    pub source: ServerSource,
    /// How often it was read.
    pub readings: i64,
    /// Last, as the server's data are in it.
    _place: TempDir,
}

impl Bed {
    pub fn start(engine: &'static str) -> Bed {
        // MariaDB 10.11 maps a redo log that is in memory, and then counts no writes of it.
        let place = directory_on_disk();
        let data = place.path().join("data");
        let server = Server::start_with(engine, &OBSERVED, &["--data", data.to_str().unwrap()]);
        execute(&server.dsn, ["CREATE DATABASE observed"]);
        let dsn = server.schema("observed");
        let mut session = Held::open(&dsn);
        session.query(
            "CREATE TABLE work (id INT PRIMARY KEY, n INT NOT NULL, pad VARCHAR(1000) \
            NOT NULL) ENGINE = InnoDB",
        );
        Bed {
            engine,
            _place: place,
            source: ServerSource::new(connect_options(&dsn)),
            dsn,
            server,
            documented: documented(),
            readings: 0,
        }
    }

    pub fn read(&mut self) -> Metrics {
        self.readings += 1;
        read(&mut self.source).unwrap_or_else(|error| panic!("{}: {error}", self.engine))
    }

    pub fn gauge(&mut self, name: &str) -> i64 {
        self.read()[name].1
    }

    /// Where the server has all of these metrics, they have risen so by `work`, and nothing fell
    /// that cannot. What has not risen enough is read again for a while: a server counts a page
    /// once it is written, and threads of it write after the statement has ended.
    pub fn rises(
        &mut self,
        at_least: &[(&str, i64)],
        exactly: &[(&str, i64)],
        work: impl FnOnce(&mut Bed),
    ) {
        let before = self.read();
        work(self);
        let begun = Instant::now();
        let mut after = self.read();
        let lacks = |after: &Metrics| {
            let lacks = |(name, rise): &(&str, i64)| {
                after.get(*name).is_some_and(|(_, value)| value - before[*name].1 < *rise)
            };
            at_least.iter().any(lacks)
        };
        while lacks(&after) && begun.elapsed() < WRITES_PATIENCE {
            std::thread::sleep(Duration::from_millis(100));
            after = self.read();
        }
        for (name, (kind, value)) in &after {
            assert!(*kind == MetricKind::Gauge || *value >= before[name].1, "{name} fell");
        }
        let rise = |name: &str| Some(after.get(name)?.1 - before.get(name)?.1);
        for (name, expected) in at_least {
            let risen = rise(name);
            assert!(risen.is_none_or(|n| n >= *expected), "{}: {name} {risen:?}", self.engine);
        }
        for (name, expected) in exactly {
            let risen = rise(name);
            assert!(risen.is_none_or(|n| n == *expected), "{}: {name} {risen:?}", self.engine);
        }
    }

    /// Waits until the session of the source is the only one.
    pub fn is_alone(&mut self) {
        self.is_one_of(1);
    }

    /// Waits until there are as many sessions. While one ends, MySQL 8.0 may count twice what it
    /// did.
    pub fn is_one_of(&mut self, sessions: i64) {
        until("earlier sessions have ended", || self.gauge("threads_connected") == sessions);
    }

    pub fn signal(&self, signal: Signal) {
        super::signal(self.server.pid, signal);
        if signal == Signal::STOP {
            // Its threads stop one by one, and one that has not yet may still answer.
            until("all threads stand still", || self.stands_still());
        }
    }

    fn stands_still(&self) -> bool {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.server.pid)).unwrap();
        tasks.flatten().all(|task| {
            let stat = std::fs::read_to_string(task.path().join("stat")).unwrap_or_default();
            // The name in parentheses may hold anything.
            let state = stat.rsplit_once(") ").map(|(_, rest)| rest.starts_with('T'));
            state == Some(true)
        })
    }
}

pub fn read(source: &mut ServerSource) -> Result<Metrics, String> {
    let mut into = Readings::default();
    let read = source.read(&mut into, &AtomicBool::new(false));
    read.map_err(|error| error.to_string())?;
    let mut metrics = Metrics::new();
    for (metric, value) in into.values() {
        assert_eq!((metric.source, metric.label.as_str()), (MetricSource::Server, ""));
        let twice = metrics.insert(metric.name.clone(), (metric.kind, *value));
        assert_eq!(twice, None, "{} comes twice", metric.name);
    }
    Ok(metrics)
}

pub fn table(engine: &str, metrics: &Metrics) -> String {
    let lines =
        metrics.iter().map(|(name, (kind, value))| format!("  {name:28} {kind:8} {value}\n"));
    format!("{engine} delivers {}:\n{}", metrics.len(), lines.collect::<String>())
}

/// The same metrics over another session, from the places that docs/metrics.md names.
pub fn other_reading(session: &mut Held, documented: &[Documented]) -> BTreeMap<String, i64> {
    let pairs = |rows: Vec<String>| -> BTreeMap<String, i64> {
        let pair = |row: &String| {
            let (name, value) = row.split_once('|')?;
            Some((name.to_owned(), value.parse().ok()?))
        };
        rows.iter().filter_map(pair).collect()
    };
    let status = pairs(session.query("SHOW GLOBAL STATUS"));
    let metrics = "SELECT name, count FROM information_schema.innodb_metrics WHERE ";
    let counters = session
        .try_query(&format!("{metrics} status = 'enabled'"))
        .or_else(|_| session.try_query(&format!("{metrics} enabled = 1")));
    let counters = pairs(counters.unwrap());
    let monitor = monitor(session);
    let find = |one: &Documented| {
        if one.name == "checkpoint_age_bytes" {
            return Some(monitor.get("Log sequence number")? - monitor.get("Last checkpoint at")?);
        }
        let places = [&status, &counters, &monitor];
        let mut found = one.places.iter().flat_map(|at| places.map(|place| place.get(at)));
        found.find_map(|value| value.copied())
    };
    let all = documented.iter();
    all.filter_map(|one| Some((one.name.clone(), find(one)?))).collect()
}

/// Lines of the InnoDB monitor that end in a number.
pub fn monitor(session: &mut Held) -> BTreeMap<String, i64> {
    let text = session.query("SHOW ENGINE INNODB STATUS").remove(0);
    let line = |line: &str| {
        let (words, number) = line.trim().rsplit_once(' ')?;
        Some((words.trim().to_owned(), number.parse().ok()?))
    };
    text.lines().filter_map(line).collect()
}
