//! A cell: everything that a measurement depends on.

use crate::defaults;
use crate::identity::{canonical_text, differing};
use crate::length::Length;
use crate::load::{Connections, Load};
use crate::server::{External, Private, Server};
use serde::Serialize;
use std::time::Duration;
use xxhash_rust::xxh3::xxh3_64;

/// What is measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cell {
    pub server: Server,
    pub load: Load,
    pub lengths: Lengths,
    /// Run the eighteen checks after the measurement; of a ramp, after its last point.
    #[serde(skip)]
    pub checks: bool,
    /// A larger share of tries that end in lock wait timeouts makes it a failed one; 0 to 1.
    #[serde(skip)]
    pub lock_wait_timeouts_max_share: Option<f64>,
    #[serde(skip)]
    pub meters: Meters,
}

/// How long it is measured.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Lengths {
    /// Before the window.
    pub warmup: Length,
    /// Measured time; of a ramp, of each point.
    pub window: Length,
    /// Of an automatic window: half the width of the 95 % interval of its mean throughput, as a
    /// share of that. None: [`defaults::PRECISION_SHARE`].
    pub precision_share: Option<f64>,
    /// One point of the time series.
    pub interval: Duration,
}

impl Default for Lengths {
    fn default() -> Lengths {
        Lengths {
            warmup: defaults::WARMUP,
            window: defaults::WINDOW,
            precision_share: None,
            interval: defaults::INTERVAL,
        }
    }
}

impl Lengths {
    /// Of an automatic window; none of a fixed one.
    pub fn window_precision_share(&self) -> Option<f64> {
        let share = self.precision_share.unwrap_or(defaults::PRECISION_SHARE);
        self.window.is_auto.then_some(share)
    }
}

/// Where a machine tells of itself; what of it nobody but the user can name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Meters {
    /// A command for the shell that prints watts.
    pub power_command: Option<String>,
    /// Prometheus' node_exporter on the server's machine.
    pub host_metrics: Option<String>,
}

impl Cell {
    /// The canonical text of everything that the results depend on: equal for equal measurements,
    /// whatever plan names them, in whatever order and with however many repeats. Keys of results
    /// files derive from it: what is off or not asked for is not in it, so that a new option leaves
    /// the keys of cells without it as they are.
    pub fn identity(&self) -> String {
        let mut cell = self.clone();
        cell.server = self.server.canonical();
        cell.lengths.precision_share = self.lengths.window_precision_share();
        canonical_text(&cell)
    }

    /// What of its server and its load is not by default: names and values of fields, but for those
    /// that `is_told` otherwise.
    pub fn beside_default(&self, is_told: impl Fn(&str) -> bool) -> Vec<(String, String)> {
        let server = match &self.server {
            Server::Private(private) => Server::Private(Private::of_engine(&private.engine)),
            Server::External(_) => Server::External(External::default()),
        };
        let by_default = Cell { server, load: Load::of_seed(self.load.seed), ..self.clone() };
        differing(self, &by_default, &is_told)
    }

    /// How good an estimate of its time is: a ramp seldom needs all of its points, and of an
    /// automatic dilation only the most is known before.
    pub fn estimate_word(&self) -> &'static str {
        match (&self.load.connections, self.server.dilate().fixed()) {
            (_, None) => "at most (K of `dilate` is not known before)",
            (Connections::Ramp(_), _) => "at most",
            _ => "about",
        }
    }

    /// Sixteen hexadecimal digits of the identity.
    pub fn key(&self) -> String {
        format!("{:016x}", xxh3_64(self.identity().as_bytes()))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use crate::{
        AccountFrom, Cell, Connections, DatabaseKind, Dilate, External, Fault, Isolation, Length,
        Lengths, Load, Meters, OltpMix, OpenLoop, Place, Preset, Private, RampLimits, RandType,
        SbtestTables, Scale, ScriptDatabase, ScriptKind, Server, Spacing, Style, Topology,
        WorkloadKind,
    };
    use base::{Dilation, Warehouses};
    use device::Role;
    use std::collections::BTreeMap;
    use std::path::PathBuf;
    use std::time::Duration;

    /// One on a private server, by default in all.
    pub(crate) fn cell() -> Cell {
        Cell {
            server: Server::Private(Private::of_engine("mysql-5.7")),
            load: Load::of_seed(1),
            lengths: Lengths::default(),
            checks: false,
            lock_wait_timeouts_max_share: None,
            meters: Meters::default(),
        }
    }

    fn with(change: impl FnOnce(&mut Cell)) -> Cell {
        let mut cell = cell();
        change(&mut cell);
        cell
    }

    fn private(change: impl FnOnce(&mut Private)) -> Cell {
        let mut private = Private::of_engine("mysql-5.7");
        change(&mut private);
        Cell { server: Server::Private(private), ..cell() }
    }

    fn external(external: External) -> Cell {
        Cell { server: Server::External(external), ..cell() }
    }

    fn set(of: &[(&str, &str)]) -> Vec<(String, String)> {
        of.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    fn placed(file: Option<&str>, at: Option<&str>, rpm: f64) -> Place {
        let mut profile = device::builtin("hdd-15k").unwrap();
        profile.disk.as_mut().unwrap().rpm += rpm;
        let path = |text: &str| PathBuf::from(text);
        Place::Emulated { profile: Box::new(profile), file: file.map(path), at: at.map(path) }
    }

    fn on(role: Role, place: Place) -> Cell {
        private(|of| drop(of.placement.places.insert(role, place)))
    }

    fn preset(name: &str, scale: Scale) -> Cell {
        private(|of| of.preset = Some(Preset { name: name.to_owned(), scale }))
    }

    fn rate(spacing: Spacing) -> Cell {
        with(|of| of.load.rate = Some(OpenLoop { rate: "500/s".parse().unwrap(), spacing }))
    }

    fn sbtest(rows: u32) -> DatabaseKind {
        DatabaseKind::Script(ScriptDatabase::Sbtest(SbtestTables { count: 1, rows }))
    }

    /// The default, and others of which each is another measurement.
    fn of_private_servers() -> Vec<Cell> {
        let dilate = |most| private(|of| of.dilate = Dilate::Auto { most: Dilation::whole(most) });
        let population =
            |change: fn(&mut crate::PopulationSpec)| private(|of| change(&mut of.population));
        vec![
            cell(),
            private(|of| of.engine = "mysql-8.0".to_owned()),
            preset("config-1", Scale::Auto),
            preset("config-1", Scale::Papers),
            preset("config-1", Scale::For(Warehouses(500))),
            private(|of| of.set = set(&[("a", "1")])),
            private(|of| of.set = set(&[("a", "1"), ("b", "2")])),
            private(|of| of.instances = 2),
            private(|of| (of.instances, of.topology) = (2, Topology::Shards)),
            private(|of| of.dilate = Dilate::By(Dilation::whole(2))),
            dilate(4),
            dilate(8),
            private(|of| of.cores = Some(1)),
            private(|of| of.fault = Some(Fault::Kill)),
            on(Role::Data, Place::Directory(PathBuf::from("/mnt/x"))),
            on(Role::Redo, Place::Directory(PathBuf::from("/mnt/x"))),
            on(Role::Data, placed(None, None, 0.0)),
            on(Role::Data, placed(None, Some("/mnt/y"), 0.0)),
            on(Role::Data, placed(Some("a.toml"), None, 0.0)),
            on(Role::Data, placed(Some("a.toml"), None, 1.0)),
            private(|of| of.placement.page_cache_bytes = Some(1)),
            private(|of| of.placement.count = true),
            population(|of| of.warehouses = Warehouses(11)),
            population(|of| of.foreign_keys = false),
            population(|of| of.partitions = 2),
            population(|of| of.table_options = Some("ROW_FORMAT=COMPRESSED".to_owned())),
            population(|of| of.seed = 2),
            population(|of| of.database = sbtest(SbtestTables::BY_DEFAULT.rows)),
            population(|of| of.database = sbtest(1)),
            population(|of| {
                of.database = DatabaseKind::Script(ScriptDatabase::File("a.toml".to_owned()));
            }),
        ]
    }

    fn of_other_servers_and_loads() -> Vec<Cell> {
        let s = Duration::from_secs;
        let auto = |share| {
            let window = Length::auto(s(600));
            with(|of| of.lengths = Lengths { window, precision_share: share, ..of.lengths })
        };
        vec![
            external(External::default()),
            external(External { dsns: vec!["mysql://h/d".to_owned()], ..External::default() }),
            external(External { defaults_file: Some("my.cnf".into()), ..External::default() }),
            external(External { schemas: Some(2), ..External::default() }),
            external(External { topology: Topology::MultiPrimary, ..External::default() }),
            external(External { set: set(&[("a", "1")]), ..External::default() }),
            with(|of| {
                of.load.workload =
                    WorkloadKind::Script(ScriptKind::SysbenchOltp(OltpMix::ReadOnly));
            }),
            with(|of| of.load.style = Style::Batched),
            with(|of| of.load.no_prepare = true),
            with(|of| of.load.connections = Connections::Fixed(8)),
            with(|of| of.load.connections = Connections::Ramp(RampLimits::default())),
            with(|of| of.lengths.warmup = Length::fixed(s(1))),
            with(|of| of.lengths.window = Length::fixed(s(1))),
            with(|of| of.lengths.interval = s(2)),
            with(|of| of.lengths.warmup.is_auto = true),
            auto(None),
            auto(Some(0.01)),
            with(|of| of.load.isolation = Some(Isolation::Serializable)),
            with(|of| of.load.threads = Some(2)),
            with(|of| of.load.account_from = Some(AccountFrom::PerformanceSchema)),
            with(|of| of.load.account_from = Some(AccountFrom::Status)),
            with(|of| of.load.warehouses = Some(Warehouses(2))),
            with(|of| of.load.inactive_warehouses = 1),
            with(|of| of.load.terminals = Some(10)),
            with(|of| of.load.home = true),
            with(|of| of.load.rand_type = Some(RandType::PARETO)),
            with(|of| of.load.rand_type = Some(RandType::Pareto { h: 0.3 })),
            with(|of| of.load.xa = true),
            rate(Spacing::Poisson),
            rate(Spacing::Uniform),
            with(|of| of.load.pauses.retry = s(1)),
            with(|of| of.load.pauses.reconnect = Some(s(1))),
        ]
    }

    /// Whatever tells one cell from another is told of it, and nothing of one by default.
    #[test]
    fn what_is_not_by_default_is_told() {
        let told = |cell: &Cell| cell.beside_default(|_| false);
        let all = [of_private_servers(), of_other_servers_and_loads()].concat();
        let (by_default, others): (Vec<Cell>, Vec<Cell>) =
            all.into_iter().partition(|of| *of == Cell { lengths: of.lengths, ..cell() });
        assert_eq!(by_default.len(), 7);
        for cell in by_default {
            assert_eq!(told(&cell), []);
        }
        // The server itself and its engine have no default.
        let named =
            [external(External::default()), private(|of| of.engine = "mysql-8.0".to_owned())];
        for cell in others.iter().filter(|of| !named.contains(of)) {
            assert_ne!(told(cell), [], "{}", cell.identity());
        }
        let some = with(|of| {
            of.load.xa = true;
            of.load.pauses.retry = Duration::from_millis(10);
            of.load.threads = Some(2);
        });
        let private = private(|of| {
            of.placement.page_cache_bytes = Some(512);
            of.fault = Some(Fault::PowerCut);
            of.population.partitions = 2;
        });
        let both = Cell { load: some.load, ..private };
        let told = both.beside_default(|field| field == "partitions");
        let expected = [
            ("retry_pause", "10ms"),
            ("threads", "2"),
            ("xa", "true"),
            ("fault", "power-cut"),
            ("page_cache_bytes", "512"),
        ];
        assert_eq!(told, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }

    /// A new option leaves the keys of cells without it as they are.
    #[test]
    fn cells_without_a_new_option_keep_their_keys() {
        assert_eq!(cell().key(), "5fc82f6ca95eb23d");
        assert_eq!(
            with(|of| of.load.pauses.retry = Duration::from_secs(1)).key(),
            "c376f0b5846afb3d"
        );
    }

    /// Two measurements have one key where nothing is different that their results depend on.
    #[test]
    fn all_that_results_depend_on_is_in_the_key() {
        let cells = [of_private_servers(), of_other_servers_and_loads()].concat();
        let mut seen: BTreeMap<String, usize> = BTreeMap::new();
        for (place, cell) in cells.iter().enumerate() {
            let key = cell.key();
            assert_eq!(key.len(), 16);
            let other = seen.insert(key, place);
            assert_eq!(other, None, "cell {place} has the key of another:\n{}", cell.identity());
        }
        for same in [
            with(|of| of.checks = true),
            with(|of| of.load.seed = 2),
            with(|of| of.lock_wait_timeouts_max_share = Some(0.5)),
            with(|of| of.meters.power_command = Some("true".to_owned())),
            with(|of| of.lengths.precision_share = Some(0.01)),
            preset(crate::defaults::PRESET, Scale::Auto),
        ] {
            assert_eq!(same.identity(), cell().identity());
        }
        let turned = private(|of| of.set = set(&[("b", "2"), ("a", "1")]));
        assert_eq!(turned.key(), cells[6].key());
        let one = external(External { schemas: Some(1), ..External::default() });
        assert_eq!(one.key(), external(External::default()).key());
    }
}
