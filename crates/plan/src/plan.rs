//! What a plan says, and what a cell of its matrix is.

use crate::dimension::{Dimension, Setting, VARIABLE};
use crate::error::{PlanError, PlanProblem, PlanText, Span};
use crate::keys::Keys;
use crate::needs::Files;
use crate::order::TurnSchedule;
use crate::read::Texts;
use base::is_secret;
use device::Role;
use spec::{Cell, Meters, Place, Scale};
use std::time::Duration;
use toml::Spanned;

/// Cells that are left out: those that have one of the values of every condition.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Exclusion {
    pub(crate) span: Span,
    pub(crate) conditions: Vec<Dimension>,
}

/// A plan whose form is right. See [`Plan::parse`].
#[derive(Clone, Debug)]
pub struct Plan {
    pub(crate) source: PlanText,
    pub(crate) name: String,
    /// With the seed of the orders, and of the inputs.
    pub(crate) schedule: TurnSchedule,
    pub(crate) time_limit: Option<Spanned<Duration>>,
    pub(crate) repeat_time_limit: Option<Duration>,
    /// Settings that may differ from the first values.
    pub(crate) changes_max: Option<Spanned<u32>>,
    /// What of the server's machine only the user can name.
    pub meters: Meters,
    /// What all cells have in common; dimensions say the rest.
    pub(crate) common: Texts,
    /// Its cells are for seconds, which say nothing of where a ramp ends.
    pub(crate) is_shortened: bool,
    /// In the order of the matrix: the values of the last one change fastest.
    pub(crate) dimensions: Vec<Dimension>,
    pub(crate) exclusions: Vec<Exclusion>,
    pub(crate) keys: Keys,
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
    pub fn schedule(&self) -> TurnSchedule {
        self.schedule
    }

    /// After which no repeat is started any more.
    pub fn time_limit(&self) -> Option<Duration> {
        self.time_limit.as_ref().map(|limit| *limit.get_ref())
    }

    /// The same cells, once each and for seconds: enough to see that their servers start and take
    /// the load. Of a ramp its start alone, as a cell, which may do without a new order.
    pub fn shortened(self) -> Plan {
        let schedule = TurnSchedule { repeats: 1, ..self.schedule };
        Plan { schedule, is_shortened: true, time_limit: None, ..self }
    }

    /// The error that says why `cell` cannot be measured, at the value of the key that is to blame
    /// (a [`Setting::name`]); at the beginning of the plan where it has no such key.
    pub fn refuse(&self, cell: &PlannedCell, key: &str, why: &str) -> PlanError {
        let of_cell = cell.settings.iter().find(|setting| setting.name() == key);
        let mut all = self.dimensions.iter().flatten();
        let at_key = of_cell.and_then(|setting| all.find(|value| value.get_ref() == setting));
        let span = at_key.map_or(0..0, Spanned::span);
        let why = format!("cell {} ({}): {why}", cell.ordinal, cell.label());
        self.source.error(PlanProblem::new(span, why))
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
        let told = if self.varying.is_empty() { &self.settings } else { &self.varying };
        let shown = |s: &Setting| match is_secret(s.name().trim_start_matches(VARIABLE)) {
            true => "***".to_owned(),
            false => s.value().to_owned(),
        };
        let all = told.iter().map(|s| format!("{}={}", s.name(), shown(s)));
        all.collect::<Vec<_>>().join(" ")
    }

    /// What its preset's sizes are scaled to, as a plan says it.
    pub fn scale_name(&self) -> String {
        let preset = self.what.server.private().and_then(|private| private.preset.as_ref());
        preset.map_or(Scale::Auto, |preset| preset.scale).name()
    }

    /// Where their files are to be: those of an emulated device in memory, if that has room.
    pub fn files(&self) -> Files {
        let Some(private) = self.what.server.private() else { return Files::Elsewhere };
        match private.placement.places.get(&Role::Data) {
            None => Files::Home,
            Some(Place::Emulated { at: None, .. }) => Files::Memory,
            Some(Place::Emulated { at: Some(_), .. } | Place::Directory(_)) => Files::Elsewhere,
        }
    }
}
