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
