//! What a plan says, and what a cell of its matrix is.

use crate::cells::is_binary;
use crate::error::{PlanError, Source, Span, Wrong};
use crate::length::Length;
use crate::needs::Files;
use crate::order::{Order, Schedule};
use crate::setting::Setting;
use base::{RampLimits, Warehouses};
use device::Role;
use std::path::Path;
use std::time::Duration;
use storage::{Place, Placement};
use toml::Spanned;
use tpcc::Isolation;
use xxhash_rust::xxh3::xxh3_64;

/// One dimension of the matrix: its values, of which there is at least one.
pub(crate) type Axis = Vec<Spanned<Setting>>;

/// Cells that are left out: those that have one of the values of every condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Exclusion {
    pub(crate) span: Span,
    pub(crate) conditions: Vec<Axis>,
}

/// What becomes of the sizes in a preset, which were chosen for the papers' databases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Pool and redo keep their proportion to the data.
    Auto,
    /// As the papers have them.
    Papers,
}

impl Scale {
    /// The name in a plan.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Scale::Auto => "auto",
            Scale::Papers => "papers",
        }
    }
}

/// A plan whose form is right. See [`Plan::parse`].
#[derive(Clone, Debug)]
pub struct Plan {
    pub(crate) source: Source,
    pub(crate) name: String,
    pub(crate) scale: Scale,
    pub(crate) order: Order,
    pub(crate) repeats: u32,
    pub(crate) seed: u64,
    pub(crate) time_limit: Option<Spanned<Duration>>,
    pub(crate) repeat_time_limit: Option<Duration>,
    pub(crate) page_cache_bytes: Option<Spanned<u64>>,
    pub(crate) count_io: bool,
    pub(crate) foreign_keys: bool,
    pub(crate) warmup: Length,
    pub(crate) window: Length,
    pub(crate) precision_share: f64,
    pub(crate) interval: Duration,
    pub(crate) threads: Option<u32>,
    /// In place of connections.
    pub(crate) ramp: Option<RampLimits>,
    /// Its cells are for seconds, which say nothing of where a ramp ends.
    pub(crate) is_shortened: bool,
    /// In the order of the matrix: the values of the last one change fastest.
    pub(crate) axes: Vec<Axis>,
    pub(crate) exclusions: Vec<Exclusion>,
}

impl Plan {
    /// Of the lab.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// As it was given, for the results file.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.source.text
    }

    /// How often and in which order cells are measured.
    #[must_use]
    pub fn schedule(&self) -> Schedule {
        Schedule {
            order: self.order,
            repeats: self.repeats,
            seed: self.seed,
        }
    }

    /// After which no repeat is started any more.
    #[must_use]
    pub fn time_limit(&self) -> Option<Duration> {
        self.time_limit.as_ref().map(|limit| *limit.get_ref())
    }

    /// The same cells, once each and for seconds: enough to see that their servers start and take the load. Of a ramp its start alone, as
    /// a cell, which may do without a new order.
    #[must_use]
    pub fn shortened(self) -> Plan {
        Plan {
            repeats: 1,
            warmup: Length::fixed(Duration::from_secs(1)),
            window: Length::fixed(Duration::from_secs(2)),
            interval: Duration::from_secs(1),
            is_shortened: true,
            time_limit: None,
            ..self
        }
    }

    /// The error that says why `cell` cannot be measured, at the value of the key that is to blame (a [`Setting::name`]); at the
    /// beginning of the plan where it has no such key.
    #[must_use]
    pub fn refuse(&self, cell: &Cell, key: &str, why: &str) -> PlanError {
        let to_blame = cell.settings.iter().find(|setting| setting.name() == key);
        let mut all = self.axes.iter().flatten();
        let found = to_blame.and_then(|blamed| all.find(|value| value.get_ref() == blamed));
        let span = found.map_or(0..0, Spanned::span);
        let why = format!("cell {} ({}): {why}", cell.ordinal, cell.label());
        self.source.error(Wrong::new(span, why))
    }
}

/// How many connections a cell has.
#[derive(Clone, Debug, PartialEq)]
pub enum Connections {
    Fixed(u32),
    /// As many as it supports, which is what its measurement finds.
    Ramp(RampLimits),
}

impl Connections {
    /// Of the first measurement.
    #[must_use]
    pub fn first(&self) -> u32 {
        match self {
            Connections::Fixed(count) => *count,
            Connections::Ramp(limits) => limits.start,
        }
    }

    /// Windows that one repeat has at most.
    #[must_use]
    pub fn points_max(&self) -> u32 {
        match self {
            Connections::Fixed(_) => 1,
            Connections::Ramp(limits) => u32::try_from(limits.points_max).unwrap_or(u32::MAX),
        }
    }

    /// How good an estimate of its time is: a ramp seldom needs all of its points.
    #[must_use]
    pub fn of_times(&self) -> &'static str {
        match self {
            Connections::Fixed(_) => "about",
            Connections::Ramp(_) => "at most",
        }
    }
}

/// One combination of the matrix, with everything that its measurement needs.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// From 1, in the order of the matrix.
    pub ordinal: u32,
    /// One for each dimension, in their order.
    pub settings: Vec<Setting>,
    /// Those of them that tell it from the other cells of its plan.
    pub varying: Vec<Setting>,
    /// A name of the catalogue, or the path of a server's binary.
    pub engine: String,
    pub preset: String,
    pub scale: Scale,
    /// Server variables, which win over the preset.
    pub set: Vec<(String, String)>,
    /// Servers that are driven together, each with a database of its own.
    pub instances: u32,
    pub placement: Placement,
    pub warehouses: Warehouses,
    pub foreign_keys: bool,
    /// Of each table that can be split; 0 for none.
    pub partitions: u32,
    pub workload: String,
    pub style: String,
    /// `None` for what the workload has by itself.
    pub isolation: Option<Isolation>,
    pub connections: Connections,
    /// Of its largest measurement, which its server has to take.
    pub connections_most: u32,
    pub warmup: Length,
    pub window: Length,
    /// Of an automatic window: see [`crate::parse_precision`].
    pub precision_share: f64,
    pub interval: Duration,
    /// Of the driver; `None` for as many as it takes by itself.
    pub threads: Option<u32>,
    /// Of the population; those of the inputs derive from it.
    pub seed: u64,
    pub repeats: u32,
    /// After which a repeat is ended as failed.
    pub repeat_time_limit: Duration,
}

impl Cell {
    /// The server's binary, where `engine` is the path of one.
    #[must_use]
    pub fn binary(&self) -> Option<&Path> {
        is_binary(&self.engine).then(|| Path::new(&self.engine))
    }

    /// What tells it from the other cells, for people: `data=hdd-15k connections=8`.
    #[must_use]
    pub fn label(&self) -> String {
        let told = if self.varying.is_empty() {
            &self.settings
        } else {
            &self.varying
        };
        let all = told.iter().map(|s| format!("{}={}", s.name(), s.value()));
        all.collect::<Vec<_>>().join(" ")
    }

    /// The canonical text of its server and database: equal for cells that differ in their load only.
    #[must_use]
    pub fn server_identity(&self) -> String {
        let mut lines = vec![
            format!("engine={}", self.engine),
            format!("preset={}", self.preset),
            format!("scale={}", self.scale.name()),
        ];
        let mut set: Vec<String> = self
            .set
            .iter()
            .map(|(name, value)| format!("set.{name}={value}"))
            .collect();
        set.sort();
        lines.append(&mut set);
        // One server is what cells have had since before there could be more: their keys stay.
        if self.instances > 1 {
            lines.push(format!("instances={}", self.instances));
        }
        for (role, place) in &self.placement.places {
            lines.push(format!("{}={place}", role.name()));
            // Another file of that name may be another device.
            if let (Place::Emulated { file: Some(_), .. }, Some(figures)) =
                (place, place.fingerprint())
            {
                lines.push(format!("{}.figures={figures}", role.name()));
            }
        }
        if let Some(bytes) = self.placement.page_cache_bytes {
            lines.push(format!("page_cache_bytes={bytes}"));
        }
        lines.push(format!("count_io={}", self.placement.count));
        lines.push(format!("warehouses={}", self.warehouses));
        lines.push(format!("foreign_keys={}", self.foreign_keys));
        lines.push(format!("partitions={}", self.partitions));
        lines.push(format!("seed={}", self.seed));
        lines.join("\n")
    }

    /// The canonical text of everything that its results depend on: equal for equal measurements, whatever plan names them, in whatever
    /// order and with however many repeats.
    #[must_use]
    pub fn identity(&self) -> String {
        let mut lines = vec![
            self.server_identity(),
            format!("workload={}", self.workload),
            format!("style={}", self.style),
            match &self.connections {
                Connections::Fixed(count) => format!("connections={count}"),
                Connections::Ramp(limits) => format!("ramp {limits}"),
            },
            format!("warmup_ns={}", self.warmup.most.as_nanos()),
            format!("window_ns={}", self.window.most.as_nanos()),
            format!("interval_ns={}", self.interval.as_nanos()),
        ];
        if let Some(level) = self.isolation {
            lines.push(format!("isolation={}", level.name()));
        }
        if self.warmup.is_auto {
            lines.push("warmup=auto".to_owned());
        }
        if self.window.is_auto {
            lines.push(format!("window=auto to {}", self.precision_share));
        }
        if let Some(threads) = self.threads {
            lines.push(format!("threads={threads}"));
        }
        lines.join("\n")
    }

    /// Sixteen hexadecimal digits of the identity.
    #[must_use]
    pub fn key(&self) -> String {
        format!("{:016x}", xxh3_64(self.identity().as_bytes()))
    }

    /// Where its files are to be: those of an emulated device in memory, if that has room.
    #[must_use]
    pub fn files(&self) -> Files {
        match self.placement.places.get(&Role::Data) {
            None => Files::Home,
            Some(Place::Emulated { at: None, .. }) => Files::Memory,
            Some(Place::Emulated { at: Some(_), .. } | Place::Directory(_)) => Files::Elsewhere,
        }
    }
}
