//! `mydyno lab`.

use super::{lab_run, show};
use crate::arguments::lab::{LabArguments, LabCommand};
use crate::failure::{Failure, Outcome};
use ::server::Home;
use analyse::NamedValue;
use base::{Exit, document};
use lab::{Planned, PresetOn, cell_preset, planned};
use plan::{CellNeeds, MissingImage, Needs, PLAN_BYTES_MAX, Plan, PlannedCell};
use serde::Serialize;
use spec::{
    Cell, Connections, Isolation, PopulationSpec, Private, RampLimits, Server, WorkloadKind,
    defaults,
};
use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use store::PresetVariable;

/// Runs the command.
pub fn run(arguments: &LabArguments) -> Outcome {
    match &arguments.command {
        LabCommand::Plan { plan, json } => show_plan(plan, *json),
        LabCommand::Check { plan, json } => lab_run::check(plan, *json),
        LabCommand::Run(run) => lab_run::run(run),
        LabCommand::Status { lab, results, json } => lab_run::status(results, *lab, *json),
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
pub fn read(path: &Path) -> Result<Plan, Failure> {
    let mut text = String::new();
    let read = std::fs::File::open(path).and_then(|file| {
        let mut most = file.take(PLAN_BYTES_MAX as u64 + 1);
        most.read_to_string(&mut text)
    });
    if let Err(error) = read {
        let words = format!(
            "cannot read the plan {}: {error}; name a file such as those in plans/",
            path.display()
        );
        return Err(Failure::new(Exit::Environment, words));
    }
    Ok(Plan::parse(&text, &path.display().to_string())?)
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
        no_account: bool = private.placement.no_account,
        #[serde(flatten)]
        database: DatabaseDocument = DatabaseDocument::of_cell(&cell.what),
        workload: &'a str = load.workload.name(),
        style: &'a str = load.style.name(),
        isolation: Option<&'static str> = load.isolation.map(Isolation::name),
        connections: Option<u32> = connections,
        terminals: Option<u32> = load.terminals,
        inactive_warehouses: u32 = load.inactive_warehouses,
        home: bool = load.home,
        rate: Option<String> = load.rate.map(|open| open.rate.to_string()),
        arrivals: Option<&'static str> = load.rate.map(|open| open.spacing.name()),
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
        #[serde(flatten)]
        database: DatabaseDocument = DatabaseDocument::of(&image.population),
        disk_bytes: u64 = image.disk_bytes(),
    }
}
