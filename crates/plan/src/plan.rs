//! What a plan says, and what a cell of its matrix is.

use crate::error::{PlanError, Source, Span, Wrong};
use crate::needs::Files;
use crate::order::{Order, Schedule};
use crate::setting::Setting;
use device::Role;
use spec::{Cell, Length, Lengths, Load, Meters, Place, Private, Scale, Spacing, defaults};
use std::collections::BTreeMap;
use std::time::Duration;
use toml::Spanned;

/// One dimension of the matrix: its values, of which there is at least one.
pub(crate) type Axis = Vec<Spanned<Setting>>;

/// Cells that are left out: those that have one of the values of every condition.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Exclusion {
    pub(crate) span: Span,
    pub(crate) conditions: Vec<Axis>,
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
    /// What all cells have in common; dimensions say the rest.
    pub(crate) private: Private,
    pub(crate) load: Load,
    pub(crate) lengths: Lengths,
    pub(crate) meters: Meters,
    /// Of open loops.
    pub(crate) spacing: Spacing,
    /// Its cells are for seconds, which say nothing of where a ramp ends.
    pub(crate) is_shortened: bool,
    /// In the order of the matrix: the values of the last one change fastest.
    pub(crate) axes: Vec<Axis>,
    pub(crate) exclusions: Vec<Exclusion>,
    /// Where keys have their values.
    pub(crate) spans: BTreeMap<String, Span>,
}

impl Plan {
    /// Of the lab.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// As it was given, for the results file.
    pub fn text(&self) -> &str {
        &self.source.text
    }

    /// How often and in which order cells are measured.
    pub fn schedule(&self) -> Schedule {
        Schedule {
            order: self.order,
            repeats: self.repeats,
            seed: self.seed,
        }
    }

    /// After which no repeat is started any more.
    pub fn time_limit(&self) -> Option<Duration> {
        self.time_limit.as_ref().map(|limit| *limit.get_ref())
    }

    /// The same cells, once each and for seconds: enough to see that their servers start and take the load. Of a ramp its start alone, as
    /// a cell, which may do without a new order.
    pub fn shortened(self) -> Plan {
        Plan {
            repeats: 1,
            lengths: Lengths {
                warmup: Length::fixed(Duration::from_secs(1)),
                window: Length::fixed(Duration::from_secs(2)),
                precision_share: None,
                interval: defaults::INTERVAL,
            },
            is_shortened: true,
            time_limit: None,
            ..self
        }
    }

    /// What of the server's machine only the user can name.
    pub fn meters(&self) -> &Meters {
        &self.meters
    }

    /// The error that says why `cell` cannot be measured, at the value of the key that is to blame (a [`Setting::name`]); at the
    /// beginning of the plan where it has no such key.
    pub fn refuse(&self, cell: &PlannedCell, key: &str, why: &str) -> PlanError {
        let to_blame = cell.settings.iter().find(|setting| setting.name() == key);
        let mut all = self.axes.iter().flatten();
        let found = to_blame.and_then(|blamed| all.find(|value| value.get_ref() == blamed));
        let span = found.map_or(0..0, Spanned::span);
        let why = format!("cell {} ({}): {why}", cell.ordinal, cell.label());
        self.source.error(Wrong::new(span, why))
    }
}

/// One combination of the matrix.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedCell {
    /// From 1, in the order of the matrix.
    pub ordinal: u32,
    /// One for each dimension, in their order.
    pub settings: Vec<Setting>,
    /// Those of them that tell it from the other cells of its plan.
    pub varying: Vec<Setting>,
    /// Everything that its measurement needs.
    pub what: Cell,
    /// Connections of its largest measurement, which its server has to take.
    pub connections_most: u32,
    pub repeats: u32,
    /// After which a repeat is ended as failed.
    pub repeat_time_limit: Duration,
}

impl PlannedCell {
    /// What tells it from the other cells, for people: `data=hdd-15k connections=8`.
    pub fn label(&self) -> String {
        let told = if self.varying.is_empty() {
            &self.settings
        } else {
            &self.varying
        };
        let all = told.iter().map(|s| format!("{}={}", s.name(), s.value()));
        all.collect::<Vec<_>>().join(" ")
    }

    /// Its servers.
    pub fn private(&self) -> &Private {
        let private = self.what.server.private();
        private.expect(
            "a plan has an engine, which is required, so that its cells are of private servers",
        )
    }

    /// Where their files are to be: those of an emulated device in memory, if that has room.
    pub fn files(&self) -> Files {
        match self.private().placement.places.get(&Role::Data) {
            None => Files::Home,
            Some(Place::Emulated { at: None, .. }) => Files::Memory,
            Some(Place::Emulated { at: Some(_), .. } | Place::Directory(_)) => Files::Elsewhere,
        }
    }
}
