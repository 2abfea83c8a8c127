//! What was observed beside the load, over time. All panels of a repeat share their points, so that
//! one time is at one place in each of them. A counter is drawn as its rate; a time that nobody has
//! read is a gap, never a zero.

mod points;
mod storage;

use crate::series::rounded;
use analyse::{
    CpuShares, Get, Samples, cores_used, emulated_iowait, lock_waiting, pool_dirty, pool_miss,
};
use points::Grid;
use serde::Serialize;
use std::cell::RefCell;
use std::collections::BTreeMap;
use store::MetricSource::{self, Power, Process, Server, Shim};

/// The panels of one repeat.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Panels {
    /// End of each point in seconds from the start of the run.
    pub time_s: Vec<f64>,
    pub panels: Vec<Panel>,
}

/// A chart of lines with one unit.
#[derive(Clone, Debug, Serialize)]
pub struct Panel {
    /// By which its figure finds it.
    pub name: &'static str,
    pub title: String,
    /// What stands at its axis, and behind a number.
    pub axis: &'static str,
    pub unit: &'static str,
    /// The axis goes up to here, or further where a value does.
    pub axis_to: Option<f64>,
    pub lines: Vec<Line>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Line {
    pub name: String,
    /// The number of a colour in the style sheet, from 1.
    pub color: usize,
    pub dash: Dash,
    /// A value for each point; `None` is a gap.
    pub values: Vec<Option<f64>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Dash {
    Solid,
    Dashed,
}

use Dash::{Dashed, Solid};

/// Of lines, in the style sheet.
const COLORS: usize = 6;
/// Panels that are seen at once; the others open with a click.
const AT_ONCE: [&str; 3] = ["cpu", "requests", "flushes"];

impl Panel {
    pub fn is_seen_at_once(&self) -> bool {
        AT_ONCE.contains(&self.name)
    }

    fn new(name: &'static str, title: &str, axis: &'static str, unit: &'static str) -> Panel {
        Panel { name, title: title.to_owned(), axis, unit, axis_to: None, lines: Vec::new() }
    }

    fn up_to(self, value: f64) -> Panel {
        Panel { axis_to: Some(value), ..self }
    }

    /// Adds a line, where there is one number to draw.
    fn with(mut self, name: &str, color: usize, dash: Dash, values: Vec<Option<f64>>) -> Panel {
        if values.iter().any(Option::is_some) {
            self.lines.push(Line {
                name: name.to_owned(),
                color,
                dash,
                values: values.into_iter().map(|v| v.map(rounded)).collect(),
            });
        }
        self
    }

    /// Without lines that stay at zero, but for where all do: a role that reads nothing hides the
    /// ones that do.
    fn without_idle(mut self) -> Panel {
        let is_busy = |line: &Line| line.values.iter().flatten().any(|value| *value != 0.0);
        if self.lines.iter().any(is_busy) {
            self.lines.retain(is_busy);
        }
        self
    }
}

/// All panels that have something to show, of a run that ended so many seconds after its start. A
/// line has `points_max` points at most; `is_emulated` says whether the run had emulated devices.
pub fn panels(samples: &Samples, end_s: f64, points_max: u64, is_emulated: bool) -> Panels {
    let Some(grid) = Grid::until(end_s, points_max) else { return Panels::default() };
    let observed = PanelSamples { samples, grid };
    let mut panels = vec![observed.cpu(is_emulated)];
    panels.extend(observed.storage());
    panels.extend(observed.innodb());
    panels.extend([observed.file_waits(), observed.processes(), observed.power()]);
    panels.retain(|panel| !panel.lines.is_empty());
    let time_s = if panels.is_empty() { Vec::new() } else { grid.ends_s() };
    Panels { time_s, panels }
}

struct PanelSamples<'a> {
    samples: &'a Samples,
    grid: Grid,
}

impl PanelSamples<'_> {
    /// Rates of a counter per second, or means of a gauge.
    fn points(&self, source: MetricSource, name: &str, label: &str) -> Vec<Option<f64>> {
        self.grid.means(&self.samples.steps(source, name, label))
    }

    fn scaled(&self, source: MetricSource, name: &str, label: &str, by: f64) -> Vec<Option<f64>> {
        let points = self.points(source, name, label);
        points.into_iter().map(|value| value.map(|v| v * by)).collect()
    }

    fn server(&self, name: &str) -> Vec<Option<f64>> {
        self.points(Server, name, "")
    }

    /// What follows at each point from what the metrics are there.
    fn each<T>(&self, number: impl Fn(&Get<'_>) -> T) -> Vec<T> {
        let known: RefCell<BTreeMap<_, Vec<Option<f64>>>> = RefCell::default();
        let at = |point: usize| {
            number(&|source: MetricSource, name: &str, label: &str| {
                let mut known = known.borrow_mut();
                let values = known
                    .entry((source, name.to_owned(), label.to_owned()))
                    .or_insert_with(|| self.points(source, name, label));
                values[point]
            })
        };
        (0..self.grid.points).map(at).collect()
    }

    fn percent(&self, share: impl Fn(&Get<'_>) -> Option<f64>) -> Vec<Option<f64>> {
        self.each(|get| share(get).map(|share| share * 100.0))
    }

    fn cpu(&self, is_emulated: bool) -> Panel {
        let shares = self.each(CpuShares::of);
        let percent = |part: fn(&CpuShares) -> Option<f64>| -> Vec<Option<f64>> {
            let parts = shares.iter().map(part);
            parts.map(|part| part.map(|share| share * 100.0)).collect()
        };
        let panel = Panel::new("cpu", "CPU of the host", "% of all cores", "%")
            .up_to(100.0)
            .with("user", 1, Solid, percent(|of| of.user))
            .with("system", 2, Solid, percent(|of| of.system))
            .with("interrupts", 3, Solid, percent(|of| of.interrupt))
            .with("I/O wait", 4, Solid, percent(|of| of.iowait))
            .with("steal", 5, Solid, percent(|of| of.steal));
        if !is_emulated {
            return panel;
        }
        // A wait for an emulated device is a sleep, which Linux counts as idle.
        let emulated =
            self.percent(|get| emulated_iowait(self.samples.labels(Shim, "busy_ns"), get));
        panel.with("emulated I/O wait (derived)", 4, Dashed, emulated)
    }

    fn innodb(&self) -> [Panel; 7] {
        let mega = |name| self.scaled(Server, name, "", 1e-6);
        [
            // Not hits: 99.0 % and 99.9 % of them look alike, and mean ten times the reads.
            Panel::new("misses", "Buffer-pool misses", "% of page requests", "%").with(
                "misses",
                1,
                Solid,
                self.percent(pool_miss),
            ),
            Panel::new("dirty", "Dirty pages of the buffer pool", "% of all pages", "%")
                .up_to(100.0)
                .with("dirty", 2, Solid, self.percent(pool_dirty)),
            Panel::new("pages", "Pages of InnoDB", "pages per second", "/s")
                .with("read", 1, Solid, self.server("pages_read"))
                .with("written", 2, Solid, self.server("pages_written"))
                .with("flushed", 3, Solid, self.server("buffer_pool_pages_flushed")),
            Panel::new("log", "Redo log written", "MB per second", "MB/s").with(
                "redo",
                2,
                Solid,
                mega("log_written_bytes"),
            ),
            Panel::new("checkpoint", "Checkpoint age", "MB of redo", "MB").with(
                "checkpoint age",
                2,
                Solid,
                mega("checkpoint_age_bytes"),
            ),
            Panel::new("threads", "Threads of the server", "threads", "threads")
                .with("running", 1, Solid, self.server("threads_running"))
                .with("waiting for a row lock", 4, Solid, self.each(lock_waiting)),
            Panel::new("locks", "Row-lock waits and deadlocks", "per second", "/s")
                .with("row-lock waits", 4, Solid, self.server("row_lock_waits"))
                .with("deadlocks", 2, Solid, self.server("deadlocks")),
        ]
    }

    /// As performance_schema counts them. A time that never rises has no line: its instrument may
    /// be off, and a line at zero would say that nothing waited.
    fn file_waits(&self) -> Panel {
        let threads = |waited_ns: &str| {
            let mean = self.scaled(Server, waited_ns, "", 1e-9);
            if mean.iter().flatten().any(|threads| *threads > 0.0) { mean } else { Vec::new() }
        };
        Panel::new("file_waits", "Threads waiting for files of InnoDB", "threads", "threads")
            .with("data files", 1, Solid, threads("data_file_wait_ns"))
            .with("redo log", 2, Solid, threads("log_file_wait_ns"))
    }

    fn processes(&self) -> Panel {
        let cores = |process: &str| self.each(|get| cores_used(process, get));
        // The one that used most over the whole run, so that the line is of one thread.
        let used = |values: &Vec<Option<f64>>| values.iter().flatten().sum::<f64>();
        let threads = self.samples.labels(Process, "cpu_ns");
        let threads = threads.map(|thread| self.scaled(Process, "cpu_ns", thread, 1e-9));
        let busiest = threads.max_by(|a, b| used(a).total_cmp(&used(b)));
        Panel::new("processes", "Cores used by processes", "cores", "cores")
            .with("server", 1, Solid, cores("server"))
            .with("mydyno", 2, Solid, cores("mydyno"))
            .with("busiest thread of mydyno", 2, Dashed, busiest.unwrap_or_default())
    }

    /// Of a meter or, where there is none, of each processor package.
    fn power(&self) -> Panel {
        let mut panel = Panel::new("power", "Power", "watts", "W");
        for (index, package) in self.samples.labels(Power, "energy_uj").enumerate() {
            let watts = self.scaled(Power, "energy_uj", package, 1e-6);
            panel = panel.with(package, index % COLORS + 1, Solid, watts);
        }
        let metered = self.scaled(Power, "power_mw", "meter", 1e-3);
        panel.with("meter", 1, Solid, metered)
    }
}

#[cfg(test)]
mod tests {
    use super::{Dash, Line, Panel, Panels, panels};
    use analyse::Samples;
    use store::MetricKind::{Counter, Gauge};
    use store::MetricSource::{self, Host, Power, Process, Server, Shim};
    use store::{Metric, MetricKind, MetricSeries};

    const S: u64 = 1_000_000_000;

    /// A metric that was read at these seconds.
    pub(super) fn metric(
        (source, name, label): (MetricSource, &str, &str),
        kind: MetricKind,
        samples: &[(u64, i64)],
    ) -> MetricSeries {
        MetricSeries {
            metric: Metric { source, name: name.to_owned(), label: label.to_owned(), kind },
            samples: samples.iter().map(|(s, value)| (s * S, *value)).collect(),
        }
    }

    /// Seconds 0 to `end_s`, with this rise in each of them.
    pub(super) fn rising(of: (MetricSource, &str, &str), end_s: u64, each: i64) -> MetricSeries {
        let samples: Vec<_> = (0..=end_s).map(|s| (s, s.cast_signed() * each)).collect();
        metric(of, Counter, &samples)
    }

    fn cores(end_s: u64) -> MetricSeries {
        let samples: Vec<_> = (0..=end_s).map(|s| (s, 2)).collect();
        metric((Host, "cpu_cores", ""), Gauge, &samples)
    }

    pub(super) fn drawn(series: Vec<MetricSeries>, end_s: f64) -> Panels {
        panels(&Samples::of(series), end_s, 900, true)
    }

    pub(super) fn panel<'a>(of: &'a Panels, name: &str) -> &'a Panel {
        of.panels.iter().find(|panel| panel.name == name).unwrap()
    }

    pub(super) fn line<'a>(of: &'a Panels, name: &str, line: &str) -> &'a Line {
        let panel = panel(of, name);
        panel.lines.iter().find(|l| l.name == line).unwrap_or_else(|| panic!("{panel:?}"))
    }

    #[test]
    fn cpu_is_of_all_cores_and_idle_time_may_be_emulated_waiting() {
        let of = drawn(
            vec![
                cores(3),
                rising((Host, "cpu_user_ns", ""), 3, 1_000_000_000),
                rising((Host, "cpu_idle_ns", ""), 3, 500_000_000),
                rising((Shim, "busy_ns", "data"), 3, 800_000_000),
                rising((Shim, "busy_ns", "redo"), 3, 100_000_000),
            ],
            3.0,
        );
        assert_eq!(of.time_s, [1.0, 2.0, 3.0]);
        assert_eq!(line(&of, "cpu", "user").values, [Some(50.0); 3]);
        let derived = line(&of, "cpu", "emulated I/O wait (derived)");
        assert_eq!((derived.values[0], derived.dash), (Some(20.0), Dash::Dashed));
        let cpu = panel(&of, "cpu");
        assert_eq!((cpu.axis, cpu.unit, cpu.axis_to), ("% of all cores", "%", Some(100.0)));
        // Nobody counted system time; what has no data is not there.
        assert_eq!(cpu.lines.len(), 2);
        assert_eq!(of.panels.len(), 1);
    }

    #[test]
    fn a_gap_is_null_and_never_zero() {
        let samples = [(0, 0), (1, 10), (2, 20), (3, 30), (8, 80), (9, 90)];
        let of = drawn(vec![metric((Server, "pages_read", ""), Counter, &samples)], 9.0);
        let ten = Some(10.0);
        let expected = [ten, ten, ten, None, None, None, None, None, ten];
        assert_eq!(line(&of, "pages", "read").values, expected);
        let json = serde_json::to_string(&of).unwrap();
        assert!(json.contains("[10.0,10.0,10.0,null,null,null,null,null,10.0]"), "{json}");
        assert!(json.contains("\"dash\":\"solid\""), "{json}");
    }

    #[test]
    fn a_server_that_began_anew_leaves_a_gap() {
        let samples = [(0, 500), (1, 600), (2, 10), (3, 30)];
        let of = drawn(vec![metric((Server, "deadlocks", ""), Counter, &samples)], 3.0);
        assert_eq!(line(&of, "locks", "deadlocks").values, [Some(100.0), None, Some(20.0)]);
    }

    #[test]
    fn sources_that_are_read_at_other_times_share_the_axis() {
        let mut late = rising((Server, "row_lock_time_ms", ""), 4, 3_000);
        late.samples.iter_mut().for_each(|(at_ns, _)| *at_ns += 20_000_000);
        let of = drawn(vec![cores(4), rising((Host, "cpu_user_ns", ""), 4, 1), late], 4.0);
        assert_eq!(of.time_s.len(), 4);
        assert_eq!(line(&of, "threads", "waiting for a row lock").values, [Some(3.0); 4]);
        for panel in &of.panels {
            assert!(panel.lines.iter().all(|line| line.values.len() == 4), "{panel:?}");
        }
        assert_eq!(panel(&of, "threads").unit, "threads");
    }

    #[test]
    fn the_pool_and_processes_are_computed_from_their_counters() {
        let at = |s: u64| if s == 0 { (0, 0) } else { (s, 1_000) };
        let gauge = |name: &str, value: i64| {
            metric((Server, name, ""), Gauge, &[(0, value), (1, value), (2, value)])
        };
        let of = drawn(
            vec![
                rising((Server, "buffer_pool_reads", ""), 2, 5),
                metric((Server, "buffer_pool_read_requests", ""), Counter, &[at(0), at(1), at(2)]),
                gauge("buffer_pool_pages_dirty", 25),
                gauge("buffer_pool_pages_total", 100),
                gauge("checkpoint_age_bytes", 7_000_000),
                rising((Process, "cpu_user_ns", "mydyno"), 2, 300_000_000),
                rising((Process, "cpu_system_ns", "mydyno"), 2, 200_000_000),
                rising((Process, "cpu_ns", "driver-0"), 2, 100_000_000),
                rising((Process, "cpu_ns", "driver-1"), 2, 400_000_000),
            ],
            2.0,
        );
        // In the second point no page was asked for: a share of nothing is not known.
        assert_eq!(line(&of, "misses", "misses").values, [Some(0.5), None]);
        assert_eq!(line(&of, "dirty", "dirty").values, [Some(25.0); 2]);
        assert_eq!(line(&of, "checkpoint", "checkpoint age").values, [Some(7.0); 2]);
        assert_eq!(line(&of, "processes", "mydyno").values, [Some(0.5); 2]);
        assert_eq!(line(&of, "processes", "busiest thread of mydyno").values, [Some(0.4); 2]);
    }

    #[test]
    fn waits_for_files_are_threads_and_an_instrument_that_is_off_has_no_line() {
        let of = drawn(
            vec![
                rising((Server, "data_file_wait_ns", ""), 2, 2_500_000_000),
                rising((Server, "log_file_wait_ns", ""), 2, 0),
            ],
            2.0,
        );
        assert_eq!(line(&of, "file_waits", "data files").values, [Some(2.5); 2]);
        let waits = panel(&of, "file_waits");
        assert_eq!((waits.lines.len(), waits.unit), (1, "threads"));
    }

    #[test]
    fn power_is_in_watts() {
        let of = drawn(
            vec![
                rising((Power, "energy_uj", "package-0"), 2, 15_500_000),
                rising((Power, "energy_uj", "package-1"), 2, 14_000_000),
            ],
            2.0,
        );
        assert_eq!(line(&of, "power", "package-0").values, [Some(15.5); 2]);
        let second = line(&of, "power", "package-1");
        assert_eq!((second.values[0], second.color), (Some(14.0), 2));
        let metered = [(0, 230_000), (1, 231_000), (2, 231_000)];
        let of = drawn(vec![metric((Power, "power_mw", "meter"), Gauge, &metered)], 2.0);
        assert_eq!(line(&of, "power", "meter").values, [Some(231.0); 2]);
        assert_eq!(panel(&of, "power").unit, "W");
    }

    #[test]
    fn without_samples_there_are_no_panels() {
        assert!(drawn(Vec::new(), 60.0).time_s.is_empty());
        let of = drawn(vec![rising((Server, "pages_read", ""), 2, 10)], 0.3);
        assert!(of.panels.is_empty());
    }
}
