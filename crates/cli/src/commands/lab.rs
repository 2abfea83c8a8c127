//! `mydyno lab`.

use super::report::write_report;
use super::{lab_options, lab_or_last, measure, show, show_of};
use crate::arguments::{ResultsArguments, listen_address};
use crate::console::{stop_flag, tell};
use crate::failure::{Failure, Outcome};
use crate::text;
use crate::views::{Live, LiveOptions};
use ::server::Home;
use analyse::{LabAnswer, LabOutcome, NamedValue, lab_answer, lab_outcome};
use base::{Exit, counted, document};
use clap::{Args, Subcommand};
use lab::{
    LabRunOptions, LabRunSummary, Planned, PresetOn, Progress, cell_preset, check_meters, planned,
    require_idle, require_possible,
};
use plan::{
    CellNeeds, MetersOptions, MissingImage, Needs, PLAN_BYTES_MAX, Plan, PlannedCell, Shard,
};
use serde::Serialize;
use spec::{
    AccountFrom, Cell, Connections, Isolation, PopulationSpec, Private, RampLimits, Server,
    WorkloadKind, defaults,
};
use std::collections::BTreeMap;
use std::io::Read;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use store::{LabId, PresetVariable, RepeatId, Results, StoreError};

#[derive(Args)]
pub struct LabArguments {
    #[command(subcommand)]
    pub command: LabCommand,
}

#[derive(Subcommand)]
pub enum LabCommand {
    /// Show the cells of a plan in the order of their execution, and the disk, memory and time that
    /// they need; start nothing
    Plan {
        /// Plan file (docs/plans.md has its keys, plans/ has examples)
        plan: PathBuf,
        /// Print one JSON document on stdout
        #[arg(long)]
        json: bool,
    },
    /// Run each cell of a plan for two seconds to see that every server starts with its settings;
    /// keep no numbers
    Check {
        /// Plan file
        plan: PathBuf,
        /// Print one JSON document on stdout
        #[arg(long)]
        json: bool,
    },
    /// Measure what the results file lacks of a plan. Ctrl-C ends the repeat; the next call
    /// continues
    Run(Box<LabRunArguments>),
    /// Show the results of a lab
    Status {
        /// Number of the lab [default: the last one]
        lab: Option<i64>,
        #[command(flatten)]
        results: ResultsArguments,
        /// Print one JSON document on stdout
        #[arg(long)]
        json: bool,
    },
}

/// Runs the command.
pub fn run(arguments: &LabArguments) -> Outcome {
    match &arguments.command {
        LabCommand::Plan { plan, json } => show_plan(plan, *json),
        LabCommand::Check { plan, json } => check(plan, *json),
        LabCommand::Run(run) => run_plan(run),
        LabCommand::Status { lab, results, json } => status(results, *lab, *json),
    }
}

fn show_plan(path: &Path, json: bool) -> Outcome {
    let plan = read(path)?;
    let mut planned = planned(&Home::from_env()?, &plan)?;
    let needs = planned.needs(&planned.turns)?;
    let note = planned.note_on_images(&planned.turns);
    planned.notes.extend(note);
    let document = LabPlanDocument::of(path, &plan, &planned, &needs);
    show(json, 1, &document, || planned.text(&needs, usize::MAX))
}

/// Reads a plan, of which no more is read than a plan may have.
fn read(path: &Path) -> Result<Plan, Failure> {
    let mut text = String::new();
    let read = std::fs::File::open(path).and_then(|file| {
        let mut most = file.take(PLAN_BYTES_MAX as u64 + 1);
        most.read_to_string(&mut text)
    });
    let name = path.display();
    read.map_err(|error| {
        let words =
            format!("cannot read the plan {name}: {error}; name a file such as those in plans/");
        Failure::new(Exit::Environment, words)
    })?;
    Ok(Plan::parse(&text, &name.to_string())?)
}

document! {
    /// The JSON document of `lab plan`.
    struct LabPlanDocument<'a> from (
        path: &'a Path,
        plan: &'a Plan,
        planned: &'a Planned,
        needs: &Needs
    );
    let schedule = plan.schedule();
    let turns = planned.turns.iter().map(|turn| TurnDocument {
        ordinal: planned.cells[turn.index].0.ordinal,
        repeat: turn.repeat,
    });
    let images = planned.missing_images(&planned.turns);
    let cells = planned.cells.iter();
    {
        plan: &'a Path = path,
        name: &'a str = plan.name(),
        order: &'static str = schedule.order.name(),
        repeats: u32 = schedule.repeats,
        seed: u64 = schedule.seed,
        time_limit_s: Option<f64> = plan.time_limit().map(|limit| limit.as_secs_f64()),
        cells: Vec<CellDocument<'a>> =
            cells.map(|(cell, needs)| CellDocument::of(cell, needs)).collect(),
        turns: Vec<TurnDocument> = turns.collect(),
        presets: Vec<PresetDocument<'a>> = planned.presets.iter().map(PresetDocument::of).collect(),
        images: Vec<NeededImageDocument> = images.iter().map(NeededImageDocument::of).collect(),
        disk_bytes: u64 = needs.disk_bytes,
        disk_free_bytes: Option<u64> = planned.host.disk_free_bytes,
        memory_bytes: u64 = needs.memory_bytes,
        memory_available_bytes: Option<u64> = planned.host.memory_available_bytes,
        duration_s: f64 = needs.duration.as_secs_f64(),
        notes: &'a [String] = &planned.notes,
    }
}

/// The database of a cell; `null` is what it does not have or, on a server that is there already,
/// what is not known before.
#[derive(Serialize)]
struct DatabaseDocument {
    warehouses: Option<u32>,
    foreign_keys: Option<bool>,
    partitions: u32,
    table_options: Option<String>,
    #[serde(flatten)]
    sizes: BTreeMap<&'static str, Option<u32>>,
}

impl DatabaseDocument {
    fn of_cell(cell: &Cell) -> DatabaseDocument {
        match &cell.server {
            Server::Private(private) => DatabaseDocument::of(&private.population),
            Server::External(_) => DatabaseDocument {
                warehouses: cell.load.warehouses.map(|count| count.0),
                foreign_keys: None,
                ..DatabaseDocument::of(&PopulationSpec::default())
            },
        }
    }

    fn of(population: &PopulationSpec) -> DatabaseDocument {
        let warehouses = population.tpcc_warehouses().map(|count| count.0);
        let absent = WorkloadKind::all_sizes().map(|(name, _)| (name, None));
        let sizes = population.database.sizes().into_iter();
        DatabaseDocument {
            warehouses,
            foreign_keys: warehouses.map(|_| population.foreign_keys),
            partitions: population.partitions,
            table_options: population.table_options.clone(),
            sizes: absent.chain(sizes.map(|(name, size)| (name, Some(size)))).collect(),
        }
    }
}

document! {
    struct CellDocument<'a> from (cell: &'a PlannedCell, needs: &CellNeeds);
    let varying = cell.varying.iter().map(|one| NamedValue::of(one.name(), one.value()));
    // Of a server that is there already nothing is known but what is used of it.
    let external = Private::of_engine("external");
    let private = cell.what.server.private().unwrap_or(&external);
    let Cell { load, lengths, .. } = &cell.what;
    let preset = private.preset.as_ref();
    let places = private.placement.places.iter();
    let places = places
        .map(|(role, place)| PlaceDocument { role: role.name(), place: place.to_string() });
    let (connections, ramp) = match &load.connections {
        Connections::Ramp(limits) => (None, Some(limits)),
        other => (other.first(), None),
    };
    {
        ordinal: u32 = cell.ordinal,
        key: String = cell.what.key(),
        varying: Vec<NamedValue> = varying.collect(),
        engine: String = private.engine.clone(),
        preset: String = preset.map_or(defaults::PRESET, |preset| &preset.name).to_owned(),
        scale: String = cell.scale_name(),
        set: Vec<NamedValue> =
            private.set.iter().map(|(name, value)| NamedValue::of(name, value)).collect(),
        places: Vec<PlaceDocument> = places.collect(),
        page_cache_bytes: Option<u64> = private.placement.page_cache_bytes,
        count_io: bool = private.placement.count,
        #[serde(flatten)]
        database: DatabaseDocument = DatabaseDocument::of_cell(&cell.what),
        workload: &'a str = load.workload.name(),
        style: &'a str = load.style.name(),
        isolation: Option<&'static str> = load.isolation.map(Isolation::name),
        connections: Option<u32> = connections,
        terminals: Option<u32> = load.terminals,
        inactive_warehouses: u32 = load.inactive_warehouses,
        home: bool = load.home,
        account_from: Option<&'static str> = load.account_from.map(AccountFrom::name),
        rate: Option<String> = load.rate.as_ref().map(|open| open.rate.to_string()),
        arrivals: Option<&'static str> = load.rate.as_ref().map(|open| open.spacing.name()),
        instances: u32 = private.instances,
        cores: Option<u32> = private.cores,
        ramp: Option<&'a RampLimits> = ramp,
        warmup_s: f64 = lengths.warmup.most.as_secs_f64(),
        warmup_auto: bool = lengths.warmup.is_auto,
        window_s: f64 = lengths.window.most.as_secs_f64(),
        window_auto: bool = lengths.window.is_auto,
        precision_share: Option<f64> = lengths.window_precision_share(),
        interval_s: f64 = lengths.interval.as_secs_f64(),
        repeat_time_limit_s: f64 = cell.repeat_time_limit.as_secs_f64(),
        disk_bytes: u64 = needs.disk_bytes(),
        memory_bytes: u64 = needs.memory_bytes(),
        duration_s: f64 = needs.duration.as_secs_f64(),
    }
}

#[derive(Serialize)]
struct PlaceDocument {
    role: &'static str,
    place: String,
}

#[derive(Serialize)]
struct TurnDocument {
    ordinal: u32,
    repeat: u32,
}

document! {
    struct PresetDocument<'a> from (on: &'a PresetOn);
    let preset = cell_preset(&on.translated);
    {
        engine: &'a str = &on.engine,
        preset: String = preset.name,
        scaled_to_warehouses: Option<u32> = preset.scaled_to_warehouses,
        variables: Vec<PresetVariable> = preset.variables,
    }
}

document! {
    struct NeededImageDocument from (image: &MissingImage);
    {
        engine: String = image.engine.clone(),
        page_size_bytes: u32 = image.page_size_bytes,
        settings: Vec<(String, String)> = image.settings.clone(),
        #[serde(flatten)]
        database: DatabaseDocument = DatabaseDocument::of(&image.population),
        disk_bytes: u64 = image.disk_bytes(),
    }
}

#[derive(Args)]
pub struct LabRunArguments {
    /// Plan file
    pub plan: PathBuf,
    #[command(flatten)]
    pub results: ResultsArguments,
    /// Numbers of the cells to measure, as `mydyno lab plan` lists them, with commas [default: all]
    #[arg(long, value_name = "CELL", value_delimiter = ',')]
    pub only: Vec<u32>,
    /// Measure one of N parts of the lab, for a machine of its own: the repeats K, K + N, K + 2 N,
    /// ... of all cells, so that comparisons stay inside a machine; `mydyno merge` puts the results
    /// files together [default: all repeats]
    #[arg(long, value_name = "K/N")]
    pub shard: Option<Shard>,
    /// Measure repeats without a result again, too
    #[arg(long)]
    pub redo: bool,
    /// Say how long each part of a measurement took: copying, starting, driving, checking, ending
    #[arg(short, long)]
    pub verbose: bool,
    /// Show the repeats live: a dashboard on a terminal, else a line for each interval; the results
    /// follow
    #[arg(long, conflicts_with = "json")]
    pub watch: bool,
    /// Address at which Prometheus reads mydyno's own metrics of the current repeat; see `mydyno
    /// run --help`
    #[arg(long, value_name = "ADDRESS", value_parser = listen_address)]
    pub metrics_listen: Option<SocketAddr>,
    /// HTML report
    #[arg(short, long, value_name = "FILE", default_value = "report.html")]
    pub output: PathBuf,
    /// Print one JSON document on stdout
    #[arg(long)]
    pub json: bool,
    // Last, as its section of the help is.
    #[command(flatten)]
    pub meters: MetersOptions,
}

/// The JSON document of `lab status`.
#[derive(Serialize)]
struct AnsweredLab {
    #[serde(flatten)]
    outcome: LabOutcome,
    answer: LabAnswer,
}

/// The JSON document of `lab run` and `lab check`.
#[derive(Serialize)]
struct LabRunDocument<'a> {
    #[serde(flatten)]
    lab: &'a AnsweredLab,
    /// Repeats that are still missing.
    left: usize,
    report: Option<&'a Path>,
}

impl AnsweredLab {
    fn read(results: &Results, lab: LabId) -> Result<AnsweredLab, Failure> {
        let outcome = lab_outcome(results, lab)?;
        Ok(AnsweredLab { answer: lab_answer(results, &outcome)?, outcome })
    }

    /// The lab for people.
    fn words(&self) -> String {
        format!("{}\n{}", text::lab(&self.outcome), text::answer(&self.answer))
    }
}

/// A plan and its cells, where no other command measures it into this results file.
pub(super) fn read_planned(plan: &Path, results: &Path) -> Result<(Plan, Planned), Failure> {
    let plan = read(plan)?;
    let home = Home::from_env()?;
    // One that is measured has the room that another would look for.
    if results.exists() {
        require_idle(&Results::open(results)?, &plan)?;
    }
    let planned = planned(&home, &plan)?;
    Ok((plan, planned))
}

/// Executes what is missing of a plan.
fn run_plan(arguments: &LabRunArguments) -> Outcome {
    let file = &arguments.results.results;
    let (plan, mut planned) = read_planned(&arguments.plan, file)?;
    if let Some(shard) = arguments.shard {
        keep_shard(&plan, &mut planned, shard)?;
    }
    require_known(&planned, &arguments.only)?;
    let options = LabRunOptions {
        only: arguments.only.clone(),
        redo: arguments.redo,
        meters: arguments.meters.meters(),
        ..lab_options()
    };
    if !file.exists() {
        // Refuse what is not feasible before the results file is created.
        require_possible(&planned, &options)?;
    }
    let stop = stop_flag();
    let LabRunArguments { watch, metrics_listen, verbose, .. } = *arguments;
    let shown = LiveOptions { watch, metrics_listen, verbose, notes_once: true };
    let mut live = Live::begin(shown, &stop)?;
    check_meters(&options.meters, &stop)?;
    check_meters(&plan.meters, &stop)?;
    let results = Results::create_or_open(file)?;
    let summary = execute((&results, planned), &options, &mut live)?;
    let lab = summary.lab;
    if summary.measured == 0 && summary.left == 0 {
        let all = arguments.shard.map_or("this plan".to_owned(), |shard| format!("shard {shard}"));
        tell(format!("nothing is left to do: lab {lab} has every repeat of {all}"));
    }
    if let Some(missing) = summary.missing_text() {
        let goes_on = match (summary.left, arguments.only.is_empty()) {
            (0, _) => "",
            (_, true) => "; the same command goes on",
            (_, false) => "; the command without --only goes on",
        };
        tell(format!("{missing}{goes_on}"));
    }
    if summary.exit == Exit::Failed {
        tell("no repeat has a result; mend why, and `--redo` measures them again");
    }
    write_report(&results, lab, &arguments.output)?;
    let lab = &AnsweredLab::read(&results, lab)?;
    let report = &arguments.output;
    let found = LabRunDocument { lab, left: summary.left, report: Some(report) };
    show_of(lab.outcome.metric(), arguments.json, &found, || {
        format!("{}report: {}\n", lab.words(), report.display())
    })?;
    Ok(summary.exit)
}

/// Leaves the turns of a shard.
fn keep_shard(plan: &Plan, planned: &mut Planned, shard: Shard) -> Result<(), Failure> {
    planned.keep_shard(shard);
    let words = format!(
        "shard {shard} has nothing to measure: the plan has {}, and a shard takes whole ones; \
         raise `repeats` to {} or more, or use fewer shards",
        counted(plan.schedule().repeats as usize, "repeat", "repeats"),
        shard.repeats_min()
    );
    Failure::usage_if(planned.turns.is_empty(), words)
}

fn require_known(planned: &Planned, only: &[u32]) -> Result<(), Failure> {
    let is_known = |ordinal: &u32| planned.cells.iter().any(|(cell, _)| cell.ordinal == *ordinal);
    let Some(unknown) = only.iter().find(|ordinal| !is_known(ordinal)) else { return Ok(()) };
    Err(Failure::usage(format!(
        "the plan has no cell {unknown}; it has {}, and `mydyno lab plan` lists them",
        planned.cells.len()
    )))
}

/// Takes the turns that are missing, and shows what comes of them.
fn execute(
    (results, planned): (&Results, Planned),
    options: &LabRunOptions,
    live: &mut Live,
) -> Result<LabRunSummary, Failure> {
    let measured = measure((results, planned), options, live, &mut |progress, live| {
        let Progress::TurnEnds(repeat) = progress else { return false };
        live.show_result(&result_of(results, *repeat));
        true
    });
    Ok(measured.ended?)
}

/// What came of a repeat; or why that cannot be read, which ends the lab soon.
fn result_of(results: &Results, repeat: RepeatId) -> String {
    let read = || {
        let of = results.repeat(repeat)?;
        let cell = results.cell(of.cell)?.what.ordinal;
        let result = text::repeat(&results.summary(repeat)?);
        Ok(format!("cell {cell}, repeat {}: {result}", of.ordinal))
    };
    read().unwrap_or_else(|error: StoreError| error.to_string())
}

/// Runs each cell for seconds, in a results file that goes away: does every server start with what
/// the plan asks of it?
fn check(plan: &Path, json: bool) -> Outcome {
    let plan = read(plan)?.shortened();
    let planned = planned(&Home::from_env()?, &plan)?;
    let directory = tempfile::tempdir().map_err(|error| {
        let words = format!(
            "cannot make a directory for the results: {error}; set TMPDIR to one that takes files"
        );
        Failure::new(Exit::Environment, words)
    })?;
    let results = Results::create_or_open(&directory.path().join("check.db"))?;
    let stop = stop_flag();
    let mut live = Live::begin(LiveOptions { notes_once: true, ..LiveOptions::default() }, &stop)?;
    let cells = counted(planned.cells.len(), "cell", "cells");
    let summary = execute((&results, planned), &lab_options(), &mut live)?;
    let lab = &AnsweredLab::read(&results, summary.lab)?;
    let failed = summary.failed;
    let found = LabRunDocument { lab, left: summary.left, report: None };
    show_of(lab.outcome.metric(), json, &found, || lab.words())?;
    if summary.exit == Exit::Ok && failed > 0 {
        return Err(Failure::new(Exit::Failed, format!("of {cells}, {failed} without a result")));
    }
    Ok(summary.exit)
}

/// What a results file has of its labs.
fn status(results: &ResultsArguments, lab: Option<i64>, json: bool) -> Outcome {
    let results = Results::open(&results.results)?;
    let lab = lab_or_last(&results, lab)?;
    let lab = AnsweredLab::read(&results, lab)?;
    show_of(lab.outcome.metric(), json, &lab, || lab.words())
}
