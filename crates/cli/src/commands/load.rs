//! `mydyno load`.

use super::{Versioned, as_rank, show};
use crate::arguments::{FleetArguments, ResultsArguments, read_place};
use crate::console::{Console, stop_flag};
use crate::failure::{Failure, Outcome};
use ::server::Home;
use analyse::Table;
use base::{Warehouses, document};
use clap::Args;
use fleet::Leader;
use lab::{
    FleetWork, Job, LoadOptions, Progress, ResolvedPrivate, external, load_options,
    populate_schemas,
};
use plan::{CellOptions, DatabaseOptions, Given, TargetOptions};
use serde::Serialize;
use spec::{Server, WorkloadKind, defaults};
use std::sync::atomic::AtomicBool;
use store::{LoadMethod, Results, StoredLoad, StoredLoadTable};

#[derive(Args)]
pub struct LoadArguments {
    /// Workload of the database, as `--workload` of `mydyno run`; those on the same tables are one
    /// here, and of FILE.toml the setup is run
    #[arg(long, default_value_t = defaults::WORKLOAD)]
    pub workload: WorkloadKind,
    /// Seed of the population; equal seeds give databases that are equal to the byte
    #[arg(long, default_value_t = defaults::POPULATION_SEED)]
    pub seed: u64,
    /// Number of connections that load at the same time [default: one per core, 2 to 8]
    #[arg(
        long, conflicts_with_all = ["engine", "server_binary"],
        value_parser = clap::value_parser!(u32).range(1..=256)
    )]
    pub threads: Option<u32>,
    /// Add a primary key to HISTORY, the row counter h_id, which TPC-C does not have [default: only
    /// where the server requires one: sql_require_primary_key, Group Replication, Galera
    /// (wsrep_on)]
    #[arg(long, conflicts_with_all = ["engine", "server_binary"])]
    pub history_key: bool,
    /// Load over what mydyno loaded here before, or beside other tables
    #[arg(long, conflicts_with_all = ["engine", "server_binary"])]
    pub force: bool,
    #[command(flatten)]
    pub results: ResultsArguments,
    /// Print one JSON document on stdout
    #[arg(long)]
    pub json: bool,
    // Last, as their sections of the help are.
    #[command(flatten)]
    pub fleet: FleetArguments,
    #[command(flatten)]
    pub target: TargetOptions,
    #[command(flatten)]
    pub database: DatabaseOptions,
}

document! {
    /// The JSON document of the command.
    struct LoadDocument<'a> from (load: &'a StoredLoad);
    {
        target: &'a str = &load.target,
        engine: &'a str = &load.engine,
        server_version: &'a str = &load.server_version,
        warehouses: Option<u32> = load.warehouses,
        seed: u64 = load.seed,
        threads: u32 = load.threads,
        method: LoadMethod = load.method,
        foreign_keys: Option<bool> = load.foreign_keys,
        partitions: u32 = load.partitions,
        history_key: Option<bool> = load.history_key,
        duration_s: f64 = load.duration_ns as f64 / 1e9,
        rows: u64 = load.total_rows(),
        row_bytes: u64 = load.total_bytes,
        client_cpu_s: f64 = load.client_cpu_ns as f64 / 1e9,
        client_peak_rss_bytes: Option<u64> = load.client_peak_rss_bytes,
        tables: &'a [StoredLoadTable] = &load.tables,
    }
}

/// Runs the command.
pub fn run(arguments: &LoadArguments) -> Outcome {
    let stop = stop_flag();
    let mut options = CellOptions {
        target: arguments.target.clone(),
        database: arguments.database.clone(),
        ..CellOptions::default()
    };
    options.load.workload = Some(Given(arguments.workload.clone()));
    options.load.population_seed = Some(Given(arguments.seed));
    let server = options.target_alone(&read_place)?;
    let population = options.population();
    population.validate()?;
    let spec = LoadOptions {
        history_key: arguments.history_key,
        force: arguments.force,
        ..load_options(population, arguments.threads)
    };
    Failure::usage_if(
        arguments.fleet.fleet && !arguments.workload.is_tpcc(),
        "--fleet divides the warehouses of TPC-C; load other databases by one process",
    )?;
    let work = FleetWork::Load(&server, &spec);
    as_rank(&arguments.fleet, ("load", &work), &stop, |fleet| {
        load(arguments, &server, (&spec, fleet.as_deref()), &stop)
    })
}

fn load(
    arguments: &LoadArguments,
    server: &Server,
    (spec, fleet): (&LoadOptions, Option<&Leader>),
    stop: &AtomicBool,
) -> Outcome {
    let mut console = Console::new()?;
    let mut loads = Vec::new();
    match server {
        Server::Private(private) => {
            let home = Home::from_env()?;
            let results = Results::create_or_open(&arguments.results.results)?;
            let resolved = ResolvedPrivate::of(&home, private, 0)?;
            let (images, made) = resolved.images(&[], &Job::new(stop, &mut |p| console.show(p)))?;
            let places = images.iter().map(|image| image.directory().display().to_string());
            let image = places.collect::<Vec<_>>().join(", ");
            console.show(Progress::Step(&format!("image: {image}")));
            if made.is_empty() {
                console.done();
                let found = FoundImageDocument { image, already_there: true };
                return show(arguments.json, 1, &found, || {
                    "the image is there already\n".to_owned()
                });
            }
            for load in made {
                results.record_load(&load)?;
                loads.push(load);
            }
        }
        Server::External(server) => {
            let results = Results::create_or_open(&arguments.results.results)?;
            let subject = external(server, &Job::new(stop, &mut |p| console.show(p)))?;
            let what = (spec, fleet);
            let mut show = |p: Progress<'_>| console.show(p);
            populate_schemas(&subject, what, &Job::new(stop, &mut show), &mut |load| {
                results.record_load(&load)?;
                loads.push(load);
                Ok(())
            })?;
        }
    }
    console.done();
    print_loads(arguments, &loads)
}

fn print_loads(arguments: &LoadArguments, loads: &[StoredLoad]) -> Outcome {
    let words = || {
        let target = |load: &StoredLoad| match loads.len() {
            0 | 1 => String::new(),
            _ => format!("{}\n", load.target),
        };
        loads.iter().map(|load| target(load) + &text(load)).collect()
    };
    match loads {
        [only] if arguments.target.schemas.is_none() => {
            show(arguments.json, 1, &LoadDocument::of(only), words)
        }
        all => {
            let of = |load| Versioned { schema_version: 1, value: LoadDocument::of(load) };
            let loads = all.iter().map(of).collect();
            show(arguments.json, 1, &SchemasDocument { schemas: all.len(), loads }, words)
        }
    }
}

/// The JSON document where several schemas or shards were asked for.
#[derive(Serialize)]
struct SchemasDocument<'a> {
    schemas: usize,
    loads: Vec<Versioned<LoadDocument<'a>>>,
}

/// The JSON document where nothing had to be loaded.
#[derive(Serialize)]
struct FoundImageDocument {
    image: String,
    already_there: bool,
}

fn text(load: &StoredLoad) -> String {
    let warehouses = load.warehouses.map(|count| Warehouses(count).counted() + " on ");
    let mut out = format!(
        "{}{} {} in {:.1} s: {} rows, {:.0} MB of rows, client CPU {:.1} s\n",
        warehouses.unwrap_or_default(),
        load.engine,
        load.server_version,
        load.duration_ns as f64 / 1e9,
        load.total_rows(),
        load.total_bytes as f64 / 1e6,
        load.client_cpu_ns as f64 / 1e9
    );
    out += &Table::of(&load.tables)
        .words("table", |table| table.name.clone())
        .numbers("rows", |table| table.rows.to_string())
        .words("checksum (equal for equal seeds)", |table| table.checksum.clone())
        .text();
    out
}
