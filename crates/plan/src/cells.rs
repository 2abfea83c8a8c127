//! From the plan to the cells of its matrix.

use crate::CELLS_MAX;
use crate::dimension::{Dimension, Setting};
use crate::error::{PlanError, PlanProblem, Span};
use crate::kinds::with_known;
use crate::options::CellOptions;
use crate::parse::options;
use crate::plan::{Plan, PlannedCell};
use crate::to_cell::{is_binary, is_relative};
use base::Dilation;
use humantime::format_duration;
use itertools::Itertools;
use serde_json::Value;
use spec::{Cell, Connections, Length, Lengths, Place, Problem, Server, WorkloadKind, defaults};
use std::collections::BTreeMap;
use std::time::Duration;
use toml::Spanned;
use tpcc::terminal_times::TERMINALS_PER_WAREHOUSE;

/// May a matrix have the option for some of its cells only? The others do without.
fn is_of_some_cells(option: &str) -> bool {
    ["dilate_max", "page_cache", "used"].contains(&option)
        || WorkloadKind::all_sizes().any(|(size, _)| size == option)
}

/// What each server of a repeat, one after another, may take beside warm-up and window: a start
/// that recovers, a drain; a copy and checks of its database.
const TIME_OVERHEAD: Duration = Duration::from_secs(10 * 60);
/// Of a ramp's point: connecting, sums and variables, and what runs on until a phase ends.
const TIME_OVERHEAD_POINT: Duration = Duration::from_secs(60);
const TIME_OVERHEAD_PER_WAREHOUSE: Duration = Duration::from_secs(10);

/// Most settings of all cells together: 100 of each, where there are as many cells as may be.
const SETTINGS_MAX: usize = 1_000_000;
/// Most comparisons of these with the values of exclusions: a second's work.
const COMPARISONS_MAX: usize = 200_000_000;

/// What the caller knows, by the names that a plan may use.
pub struct KnownNames<'a> {
    pub engines: Vec<String>,
    pub presets: Vec<String>,
    /// Reads a place, which may mean to open a profile's file.
    pub place: &'a dyn Fn(&str) -> Result<Place, String>,
}

impl KnownNames<'_> {
    fn check(&self, setting: &Spanned<Setting>) -> Result<(), PlanProblem> {
        let (kind, value) = (setting.get_ref().name(), setting.get_ref().value());
        let known = match kind {
            "engine" => &self.engines,
            "preset" => &self.presets,
            _ => return Ok(()),
        };
        // A binary is tried by the caller.
        if known.iter().any(|name| name == value) || (kind == "engine" && is_binary(value)) {
            return Ok(());
        }
        let why = with_known(&format!("unknown {kind} {value:?}"), value, known);
        Err(PlanProblem::new(setting.span(), why))
    }
}

/// Options that cells do without, with what is wrong with them and in how many cells.
type Useless = BTreeMap<&'static str, (PlanProblem, usize)>;

/// The places that a plan names, read once.
type Places<'a> = BTreeMap<&'a str, Place>;

impl Plan {
    /// All cells, in the order of the matrix: the values of the first dimension change slowest.
    ///
    /// # Errors
    /// Where a name is unknown, a placement cannot be, or the matrix is too large or empty; with
    /// line and column.
    pub fn cells(&self, known: &KnownNames<'_>) -> Result<Vec<PlannedCell>, PlanError> {
        self.expand(known).map_err(|wrong| self.source.error(wrong))
    }

    fn expand(&self, known: &KnownNames<'_>) -> Result<Vec<PlannedCell>, PlanProblem> {
        let mut places = Places::new();
        for setting in self.dimensions.iter().flatten() {
            known.check(setting)?;
            let place = setting.get_ref().value();
            let is_place = setting.get_ref().role().is_some() && !is_relative(place);
            if is_place && !places.contains_key(place) {
                let read = (known.place)(place);
                let read = read.map_err(|why| PlanProblem::new(setting.span(), why))?;
                places.insert(place, read);
            }
        }
        let mut cells: Vec<PlannedCell> = Vec::new();
        let mut used = vec![false; self.exclusions.len()];
        let mut ordinals = BTreeMap::new();
        let mut useless = Useless::new();
        self.require_bounded()?;
        // The values of the last dimension change fastest.
        for settings in self.dimensions.iter().multi_cartesian_product() {
            if self.changes_too_much(&settings) || self.is_excluded(&settings, &mut used) {
                continue;
            }
            let what = self.what(&places, &settings, &mut useless)?;
            let cell =
                PlannedCell { ordinal: cells.len() as u32 + 1, ..self.cell(what, &settings)? };
            if let Some(twin) = ordinals.insert(cell.what.identity(), cell.ordinal) {
                let why = format!(
                    "cells {twin} and {} are the same measurement ({}): a role's place equals \
                     `same` or `twin`, or an option is of no use to them; leave one of them out",
                    cell.ordinal,
                    cell.label()
                );
                return Err(PlanProblem::new(last_place(&settings), why));
            }
            cells.push(cell);
        }
        self.require_use(&cells, &used)?;
        let mut useless = useless.into_values();
        match useless.find(|(_, count)| *count == cells.len()) {
            Some((problem, _)) => Err(problem),
            None => Ok(cells),
        }
    }

    /// A text of few lines can name more than a machine has memory or time for.
    fn require_bounded(&self) -> Result<(), PlanProblem> {
        let mut lengths = self.dimensions.iter().map(Vec::len);
        let count = lengths.try_fold(1_usize, |all, length| all.checked_mul(length));
        if let Some(count) = count.filter(|count| *count <= CELLS_MAX) {
            return self.require_bounded_work(count);
        }
        let many = count.map_or_else(|| "countless".to_owned(), |count| count.to_string());
        let longest = self.dimensions.iter().max_by_key(|dimension| dimension.len());
        let first = longest.and_then(|dimension| dimension.first());
        let name = first.map_or("", |value| value.get_ref().name());
        let why = format!(
            "the matrix has {many} cells, and {CELLS_MAX} is the most; name fewer values, of \
             `{name}` to begin with, or make several plans"
        );
        Err(PlanProblem::new(first.map_or(0..0, Spanned::span), why))
    }

    fn require_bounded_work(&self, cells: usize) -> Result<(), PlanProblem> {
        let settings = cells.saturating_mul(self.dimensions.len());
        let conditions = self.exclusions.iter().flat_map(|exclusion| &exclusion.conditions);
        let excluded: usize = conditions.map(Vec::len).sum();
        let (many, most) = match settings.saturating_mul(excluded) {
            comparisons if comparisons > COMPARISONS_MAX => {
                ("comparisons of [[exclude]]", COMPARISONS_MAX)
            }
            _ if settings > SETTINGS_MAX => ("settings", SETTINGS_MAX),
            _ => return Ok(()),
        };
        let why = format!(
            "the {cells} cells have more {many} than {most}, which is the most; name fewer \
             values, or make several plans"
        );
        Err(PlanProblem::new(0..0, why))
    }

    /// Does it differ from the first values in more settings than it may?
    fn changes_too_much(&self, settings: &[&Spanned<Setting>]) -> bool {
        let is_changed = |(setting, dimension): &(&&Spanned<Setting>, &Dimension)| {
            let first = dimension.first().map(Spanned::get_ref);
            setting.get_ref().is_setting() && first != Some(setting.get_ref())
        };
        let most = self.changes_max.as_ref().map(|most| *most.get_ref() as usize);
        let changed = || settings.iter().zip(&self.dimensions).filter(is_changed).count();
        most.is_some_and(|most| changed() > most)
    }

    /// Marks the exclusions that hold, of which one is enough.
    fn is_excluded(&self, settings: &[&Spanned<Setting>], used: &mut [bool]) -> bool {
        let has =
            |value: &Spanned<Setting>| settings.iter().any(|s| s.get_ref() == value.get_ref());
        let mut is_excluded = false;
        for (exclusion, used) in self.exclusions.iter().zip(used) {
            if exclusion.conditions.iter().all(|dimension| dimension.iter().any(has)) {
                *used = true;
                is_excluded = true;
            }
        }
        is_excluded
    }

    fn cell(
        &self,
        mut what: Cell,
        settings: &[&Spanned<Setting>],
    ) -> Result<PlannedCell, PlanProblem> {
        let limit = self.repeat_time_limit;
        require_time(&what, limit).map_err(|problem| self.at_key(&problem, settings))?;
        let connections_most = connections_most(&what);
        if self.is_shortened {
            what.lengths = Lengths {
                warmup: Length::fixed(Duration::from_secs(1)),
                window: Length::fixed(Duration::from_secs(2)),
                ..Lengths::default()
            };
            if let Connections::Ramp(limits) = &what.load.connections {
                what.load.connections = Connections::Fixed(limits.start);
            }
        }
        let varies = |index: &usize| self.dimensions[*index].len() > 1;
        let setting = |index: usize| settings[index].get_ref().clone();
        Ok(PlannedCell {
            ordinal: 0,
            settings: (0..settings.len()).map(setting).collect(),
            varying: (0..settings.len()).filter(varies).map(setting).collect(),
            connections_most,
            repeats: self.schedule.repeats,
            repeat_time_limit: limit.unwrap_or_else(|| repeat_time_limit_of(&what)),
            what,
        })
    }

    /// What is measured; it does not contradict itself.
    fn what(
        &self,
        places: &Places<'_>,
        settings: &[&Spanned<Setting>],
        useless: &mut Useless,
    ) -> Result<Cell, PlanProblem> {
        let place = |text: &str| {
            let read = places.get(text).cloned();
            read.ok_or_else(|| "it was not read".to_owned())
        };
        let mut texts = self.common.clone();
        for setting in settings.iter().map(|setting| setting.get_ref()) {
            let (option, value) = match setting.variable() {
                Some(name) => ("set", format!("{name}={}", setting.value())),
                None => (setting.name(), setting.value().to_owned()),
            };
            match texts.entry(option).or_insert_with(|| Value::from(Vec::<Value>::new())) {
                Value::Array(list) if ["set", "dsn"].contains(&option) => list.push(value.into()),
                text => *text = value.into(),
            }
        }
        loop {
            let mut asked: CellOptions = options(&texts);
            asked.is_ramp = self.keys.has("ramp");
            if !asked.workload().is_tpcc() {
                asked.database.warehouses = None;
            }
            let cell = asked.cell(self.schedule.seed, &place);
            let judged = cell.and_then(|cell| cell.validate().map(|()| cell));
            match judged {
                Err(problem) if is_of_some_cells(problem.option) => {
                    texts.remove(problem.option);
                    let at = self.at_key(&problem, settings);
                    useless.entry(problem.option).or_insert((at, 0)).1 += 1;
                }
                judged => return judged.map_err(|problem| self.at_key(&problem, settings)),
            }
        }
    }

    /// A contradiction, at the value that is to blame.
    fn at_key(&self, problem: &Problem, settings: &[&Spanned<Setting>]) -> PlanProblem {
        let name = problem.option;
        let mut of_cell = settings.iter();
        let dimension = of_cell.find(|setting| setting.get_ref().name() == name);
        let at = match dimension {
            Some(setting) => setting.span(),
            None => self.keys.value_or_table(name),
        };
        let or = match dimension {
            Some(_) => ", or leave these cells out by [[exclude]]",
            None => "",
        };
        PlanProblem::new(at, format!("`{name}`: {}{or}", problem.why))
    }

    /// Refuses what says nothing of any cell.
    fn require_use(&self, cells: &[PlannedCell], used: &[bool]) -> Result<(), PlanProblem> {
        let mut exclusions = self.exclusions.iter().zip(used);
        if let Some((unused, _)) = exclusions.find(|(_, used)| !**used) {
            let why = "this [[exclude]] leaves nothing out: no cell has all of its values; correct \
                it, or leave it out";
            return Err(PlanProblem::new(unused.span.clone(), why));
        }
        let varied = self.dimensions.iter().filter(|dimension| {
            dimension.len() > 1 && dimension.iter().any(|value| value.get_ref().is_setting())
        });
        let varied = varied.count();
        if let Some(most) = self.changes_max.as_ref().filter(|of| *of.get_ref() as usize >= varied)
        {
            let why = format!(
                "`changes_max` leaves nothing out: {varied} of preset, variables and places have \
                 several values; lower it, or leave it out"
            );
            return Err(PlanProblem::new(most.span(), why));
        }
        if let (true, Some(first)) = (cells.is_empty(), self.exclusions.first()) {
            let why = "the matrix is empty: [[exclude]] leaves out every cell; leave out fewer";
            return Err(PlanProblem::new(first.span.clone(), why));
        }
        Ok(())
    }
}

/// A repeat has to fit into its limit.
fn require_time(what: &Cell, limit: Option<Duration>) -> Result<(), Problem> {
    let Some(limit) = limit else { return Ok(()) };
    let fixed = what.server.dilate().fixed();
    let least = fixed.unwrap_or(Dilation::LEAST).factor().min(1.0);
    let at_least = (what.lengths.warmup.most + what.lengths.window.most).mul_f64(least);
    let why = format!(
        "it ends every repeat before its end: warm-up and window may take {} alone",
        format_duration(at_least)
    );
    Problem::when(limit <= at_least, "repeat_time_limit", why)?;
    // An automatic dilation is bounded by the time limit instead.
    let is_dilated = fixed.is_some_and(|dilation| !dilation.is_none());
    let needed = measuring_time(what, Duration::ZERO);
    let why = format!(
        "in dilated time, a repeat takes {} of real time, and `repeat_time_limit` is {}; raise \
         that, shorten the window, or dilate less",
        format_duration(Duration::from_secs(needed.as_secs())),
        format_duration(limit)
    );
    Problem::when(is_dilated && needed > limit, "dilate", why)
}

/// Connections of the largest measurement of a cell.
fn connections_most(what: &Cell) -> u32 {
    let load = &what.load;
    match (&load.connections, &load.workload) {
        (Connections::Ramp(limits), _) => limits.connections_max,
        (Connections::Fixed(count), _) => *count,
        (Connections::ByDefault, WorkloadKind::TpccSpec) => load.terminals.unwrap_or_else(|| {
            let made = what.server.private().map(|private| private.population.warehouses);
            let warehouses = load.warehouses.or(made).unwrap_or(defaults::WAREHOUSES);
            let active = warehouses.0.saturating_sub(load.inactive_warehouses);
            active.saturating_mul(TERMINALS_PER_WAREHOUSE)
        }),
        (Connections::ByDefault, _) => defaults::CONNECTIONS,
    }
}

/// The most that warm-up and window take, in real time; each point of a ramp takes `beside` more.
fn measuring_time(what: &Cell, beside: Duration) -> Duration {
    let dilated = what.lengths.warmup.most + what.lengths.window.most;
    let of_point = dilated.mul_f64(what.server.dilate().most().factor());
    let beside = if what.load.connections.is_ramp() { beside } else { Duration::ZERO };
    (of_point + beside) * what.load.connections.points_max()
}

/// What a repeat may take where the plan names no limit.
fn repeat_time_limit_of(what: &Cell) -> Duration {
    let of_points = measuring_time(what, TIME_OVERHEAD_POINT);
    let (warehouses, servers) = match &what.server {
        Server::Private(private) => (Some(private.population.warehouses), private.instances),
        Server::External(external) => (what.load.warehouses, external.schemas.unwrap_or(1)),
    };
    let warehouses = warehouses.unwrap_or(defaults::WAREHOUSES).0;
    of_points + (TIME_OVERHEAD + TIME_OVERHEAD_PER_WAREHOUSE * warehouses) * servers
}

/// Where the last place of a cell is named; the roles other than data come after it.
fn last_place(settings: &[&Spanned<Setting>]) -> Span {
    let is_place = |setting: &&&Spanned<Setting>| setting.get_ref().role().is_some();
    settings.iter().rfind(is_place).map_or(0..0, |setting| setting.span())
}

#[cfg(test)]
mod tests {
    use crate::tests::{CELLS, PLAN, cells, wrong};
    use crate::{CellNeeds, Files, Sizes};
    use spec::{Rate, Spacing};

    #[test]
    fn partitions_are_a_dimension_without_foreign_keys() {
        let whole = cells(PLAN).unwrap().remove(0);
        assert!(
            whole.private().population.foreign_keys && whole.private().population.partitions == 0
        );
        let text = PLAN.replace(
            "warehouses = 10",
            "warehouses = 10\nforeign_keys = false\npartitions = [0, 8]",
        );
        let all = cells(&text).unwrap();
        assert_eq!(all.len(), 2 * CELLS);
        assert!(!all[0].private().population.foreign_keys);
        assert_eq!(
            (all[0].private().population.partitions, all[3].private().population.partitions),
            (0, 8)
        );
        assert!(all[3].label().contains("partitions=8"), "{}", all[3].label());
        assert_ne!(all[0].private().identity(), all[3].private().identity());
        // The cell that has neither differs from the one of a database with foreign keys.
        assert_ne!(all[0].what.key(), whole.what.key());
        let text = format!("{text}\n[[exclude]]\npartitions = 8\nconnections = [16, 32]");
        assert_eq!(cells(&text).unwrap().len(), 2 * CELLS - CELLS / 3 * 2);
    }

    #[test]
    fn open_loops_terminals_and_meters_are_as_of_run() {
        let load = |more: &str| PLAN.replace("warehouses = 10", more);
        let all = cells(&load("rate = ['80%', 500]\narrivals = 'uniform'\nhome = true")).unwrap();
        assert_eq!(all.len(), 2 * CELLS);
        let open = all[0].what.load.rate.clone().unwrap();
        assert_eq!((open.rate, open.spacing), (Rate::OfCapacity(0.8), Spacing::Uniform));
        assert!(all[1].label().contains("rate=500/s") && all[1].what.load.home);
        assert_ne!(all[0].what.key(), all[1].what.key());
        let spec = "workload = 'tpcc-spec'\nterminals = [10, 20]\ninactive_warehouses = 3";
        let all = cells(&load(spec)).unwrap();
        assert_eq!(all[1].what.load.terminals, Some(20));
        assert_eq!(all[1].what.load.inactive_warehouses, 3);
        let meters = format!("{PLAN}\n[meters]\npower_command = 'echo 9'\n");
        let meters = cells(&meters).unwrap().remove(0).what.meters;
        assert_eq!(meters.power_command.as_deref(), Some("echo 9"));
        for (more, at, word) in [
            ("arrivals = 'uniform'", "'uniform'", "add `rate`"),
            ("rate = 'fast'", "'fast'", "80%"),
            ("rate = '0s:5,1m:fast'", "'0s:5,1m:fast'", "\"1m:fast\" is no time"),
            ("rate = '0s:5,1m:9'\nwarmup = 'auto'", "'0s:5,1m:9'", "fixed"),
            ("terminals = 5", "5", "tpcc-spec"),
            ("inactive_warehouses = 5", "5", "tpcc-spec"),
            ("workload = 'tpcc-spec'\nhome = true", "true", "home warehouses anyway"),
            ("workload = 'tpcc-spec'\nrate = 5", "5", "pace"),
        ] {
            let (error, rest) = wrong(&load(more));
            assert!(rest.starts_with(at), "{more}: {error} at {rest:?}");
            assert!(error.why.contains(word), "{error}");
        }
    }

    fn with(instances: &str) -> String {
        PLAN.replace("\nset =", &format!("\ninstances = {instances}\nset ="))
    }

    #[test]
    fn instances_are_a_dimension() {
        let all = cells(&with("[1, 2, 4]")).unwrap();
        assert_eq!(all.len(), 72);
        let one = &cells(PLAN).unwrap()[0];
        assert_eq!((one.private().instances, all[0].private().instances), (1, 1));
        assert!(all[0].label().contains("instances=1"), "{}", all[0].label());
        // One server is one server, whether a plan says so or not.
        assert_eq!(one.what.key(), all[0].what.key());
        let two = all.iter().find(|cell| cell.private().instances == 2).unwrap();
        assert_ne!(one.private().identity(), two.private().identity());
        let fewer = with("[1, 2, 4]") + "\n[[exclude]]\ninstances = 4\nconnections = 8\n";
        assert_eq!(cells(&fewer).unwrap().len(), 64);
    }

    #[test]
    fn cores_are_a_dimension() {
        let all = cells(&with("1\ncores = [1, 2]")).unwrap();
        let one = &cells(PLAN).unwrap()[0];
        assert_eq!((one.private().cores, all[0].private().cores), (None, Some(1)));
        assert!(all[0].label().contains("cores=1"), "{}", all[0].label());
        // To be kept to as many cores as there are is not to be kept to any.
        assert_ne!(one.what.key(), all[0].what.key());
        assert!(!one.what.identity().contains("cores"));
        let (error, rest) = wrong(&with("1\ncores = 0"));
        assert!(rest.starts_with('0') && error.why.contains("from 1 to 1024"), "{error}");
    }

    #[test]
    fn servers_that_cannot_be_driven_together_are_refused() {
        for (instances, load, at, word) in [
            ("[1, 9]", "", "9]", "9 instances cannot share 8 connections"),
            ("65", "", "65", "from 1 to 64"),
            ("2", "workload = 'tpcc-spec'", "2", "tpcc-spec"),
        ] {
            let text = with(instances).replace("warehouses = 10", load);
            let (error, rest) = wrong(&text);
            assert!(rest.starts_with(at), "{error} at {rest:?}");
            assert!(error.why.contains(word), "{error}");
        }
        let one = with("1").replace("warehouses = 10", "workload = 'tpcc-spec'");
        assert!(cells(&one).is_ok());
    }

    #[test]
    fn needs_grow_with_the_servers_and_the_pool_does_not() {
        let sizes = Sizes { pool_bytes: 2 << 30, redo_bytes: 1 << 30 };
        let needs = |instances: &str, files| {
            let cell = &cells(&with(instances)).unwrap()[0];
            CellNeeds::of(cell, sizes, files)
        };
        let (one, four) = (needs("1", Files::Home), needs("4", Files::Home));
        assert_eq!(four.disk_bytes(), 4 * one.disk_bytes());
        assert_eq!(four.memory_bytes(), one.memory_bytes() + 3 * (256 << 20));
        assert!(four.duration > one.duration);
        let (one, four) = (needs("1", Files::Memory), needs("4", Files::Memory));
        assert!(four.memory_bytes() > 2 * one.memory_bytes());
        assert_eq!(four.disk_bytes(), 0);
    }
}
