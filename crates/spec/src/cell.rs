//! A cell: everything that a measurement depends on.

use crate::defaults;
use crate::length::Length;
use crate::load::{Connections, Load};
use crate::server::{External, Server};
use crate::topology::Topology;
use std::time::Duration;
use xxhash_rust::xxh3::xxh3_64;

/// What is measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    pub server: Server,
    pub load: Load,
    pub lengths: Lengths,
    /// Run the eighteen checks after the measurement; of a ramp, after its last point.
    pub checks: bool,
    /// A larger share of tries that end in lock wait timeouts makes it a failed one; 0 to 1.
    pub lock_wait_timeouts_max_share: Option<f64>,
    pub meters: Meters,
}

/// How long it is measured.
#[derive(Clone, Copy, Debug, PartialEq)]
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
    /// files derive from it: what is by default and came later is not in it.
    pub fn identity(&self) -> String {
        let Cell { load, lengths, .. } = self;
        let mut lines = match &self.server {
            Server::Private(private) => vec![private.identity()],
            Server::External(external) => vec![format!(
                "dsn={} defaults_file={} schemas={}",
                external.dsns.join(" "),
                external.defaults_file.as_deref().unwrap_or("".as_ref()).display(),
                external.schemas.unwrap_or(1)
            )],
        };
        if let Server::External(External { set, topology, .. }) = &self.server {
            if *topology != Topology::Apart {
                lines.push(format!("topology={}", topology.name()));
            }
            lines.extend(set.iter().map(|(name, value)| format!("set.{name}={value}")));
        }
        lines.push(format!("workload={}", load.workload.name()));
        lines.push(format!("style={}", load.style.name()));
        lines.push(match &load.connections {
            Connections::ByDefault => "connections=default".to_owned(),
            Connections::Fixed(count) => format!("connections={count}"),
            Connections::Ramp(limits) => format!("ramp {limits}"),
        });
        lines.push(format!("warmup_ns={}", lengths.warmup.most.as_nanos()));
        lines.push(format!("window_ns={}", lengths.window.most.as_nanos()));
        lines.push(format!("interval_ns={}", lengths.interval.as_nanos()));
        let mut add = |name: &str, value: Option<String>| {
            lines.extend(value.map(|value| format!("{name}={value}")));
        };
        add("isolation", load.isolation.map(|level| level.name().to_owned()));
        add("warmup", lengths.warmup.is_auto.then(|| "auto".to_owned()));
        let precision = lengths.window_precision_share();
        add("window", precision.map(|share| format!("auto to {share}")));
        for (name, value) in load.later() {
            add(name, value);
        }
        lines.join("\n")
    }

    /// Sixteen hexadecimal digits of the identity.
    pub fn key(&self) -> String {
        format!("{:016x}", xxh3_64(self.identity().as_bytes()))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use crate::{
        Cell, Connections, DatabaseKind, Dilate, External, Fault, Isolation, Length, Lengths, Load,
        Meters, OltpMix, OpenLoop, Place, Preset, Private, RampLimits, Scale, Server, Spacing,
        Style, Topology, WorkloadKind,
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
            population(|of| of.seed = 2),
            population(|of| of.database = DatabaseKind::Sbtest),
            population(|of| (of.database, of.sbtest.rows) = (DatabaseKind::Sbtest, 1)),
            population(|of| of.database = DatabaseKind::File("a.toml".to_owned())),
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
            with(|of| of.load.workload = WorkloadKind::SysbenchOltp(OltpMix::ReadOnly)),
            with(|of| of.load.style = Style::Batched),
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
            with(|of| of.load.warehouses = Some(Warehouses(2))),
            with(|of| of.load.inactive_warehouses = 1),
            with(|of| of.load.terminals = Some(10)),
            with(|of| of.load.home = true),
            with(|of| of.load.xa = true),
            rate(Spacing::Poisson),
            rate(Spacing::Uniform),
            with(|of| of.load.retry_pause = s(1)),
        ]
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
