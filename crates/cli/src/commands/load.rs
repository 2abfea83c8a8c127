//! `mydyno load`.

use super::fleet_role::as_rank;
use super::print_json;
use crate::arguments::database::LoadArguments;
use crate::arguments::measuring::read_place;
use crate::console::{Console, print, stop_flag};
use crate::failure::{Failure, Outcome};
use ::server::Home;
use base::{Exit, counted, document};
use fleet::Leader;
use lab::{
    FleetWork, Job, LoadSpec, Progress, ResolvedPrivate, external, populate_schemas, record_load,
};
use plan::{CellOptions, Given};
use serde::Serialize;
use spec::Server;
use std::fmt::Write;
use std::sync::atomic::AtomicBool;
use store::{Results, StoredLoad};

document! {
    /// The JSON document of the command.
    struct LoadDocument from (load: &StoredLoad);
    {
        schema_version: u32 = 1,
        target: String = load.target.clone(),
        engine: String = load.engine.clone(),
        server_version: String = load.server_version.clone(),
        warehouses: Option<u32> = load.warehouses,
        seed: u64 = load.seed,
        threads: u32 = load.threads,
        method: &'static str = load.method.as_str(),
        foreign_keys: Option<bool> = load.foreign_keys,
        partitions: u32 = load.partitions,
        history_key: Option<bool> = load.history_key,
        duration_s: f64 = load.duration_ns as f64 / 1e9,
        rows: u64 = load.total_rows(),
        row_bytes: u64 = load.total_bytes,
        client_cpu_s: f64 = load.client_cpu_ns as f64 / 1e9,
        client_peak_rss_bytes: Option<u64> = load.client_peak_rss_bytes,
        tables: Vec<TableDocument> = load.tables.iter().map(TableDocument::of).collect(),
    }
}

document! {
    struct TableDocument from (table: &store::StoredLoadTable);
    {
        name: String = table.name.clone(),
        rows: u64 = table.rows,
        checksum: String = table.checksum.clone(),
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
    let spec = LoadSpec {
        threads: arguments.threads,
        history_key: arguments.history_key,
        force: arguments.force,
        ..LoadSpec::of(population)
    };
    if arguments.fleet.fleet && !arguments.workload.is_tpcc() {
        let words = "--fleet divides the warehouses of TPC-C; load other databases by one process";
        return Err(Failure::new(Exit::Usage, words));
    }
    let work = FleetWork::Load(&server, &spec);
    as_rank(&arguments.fleet, ("load", &work), &stop, |fleet| {
        load(arguments, &server, (&spec, fleet.as_deref()), &stop)
    })
}

fn load(
    arguments: &LoadArguments,
    server: &Server,
    (spec, fleet): (&LoadSpec, Option<&Leader>),
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
            let places: Vec<String> = places.collect();
            console.show(Progress::Step(&format!("image: {}", places.join(", "))));
            if made.is_empty() {
                console.done();
                return image_is_there(places.join(", "), arguments.json);
            }
            for load in made {
                record_load(&results, None, &load)?;
                loads.push(load);
            }
        }
        Server::External(server) => {
            let results = Results::create_or_open(&arguments.results.results)?;
            let subject = external(server, &Job::new(stop, &mut |p| console.show(p)))?;
            let what = (spec, fleet);
            let mut show = |p: Progress<'_>| console.show(p);
            populate_schemas(&subject, what, &Job::new(stop, &mut show), &mut |load| {
                record_load(&results, None, &load)?;
                loads.push(load);
                Ok(())
            })?;
        }
    }
    console.done();
    print_loads(arguments, &loads)
}

fn print_loads(arguments: &LoadArguments, loads: &[StoredLoad]) -> Outcome {
    if !arguments.json {
        for load in loads {
            if loads.len() > 1 {
                print(format_args!("{}\n", load.target))?;
            }
            print(text(load))?;
        }
        return Ok(Exit::Ok);
    }
    let mut documents: Vec<LoadDocument> = loads.iter().map(LoadDocument::of).collect();
    let are_several = arguments.target.schemas.is_some() || documents.len() > 1;
    match documents.pop() {
        Some(only) if !are_several => print_json(&only)?,
        last => {
            documents.extend(last);
            print_json(&SchemasDocument {
                schema_version: 1,
                schemas: documents.len(),
                loads: documents,
            })?;
        }
    }
    Ok(Exit::Ok)
}

/// The JSON document where several schemas or shards were asked for.
#[derive(Serialize)]
struct SchemasDocument {
    schema_version: u32,
    schemas: usize,
    loads: Vec<LoadDocument>,
}

/// The JSON document where nothing had to be loaded.
#[derive(Serialize)]
struct FoundImageDocument {
    schema_version: u32,
    image: String,
    already_there: bool,
}

fn image_is_there(image: String, json: bool) -> Outcome {
    if json {
        print_json(&FoundImageDocument { schema_version: 1, image, already_there: true })?;
    } else {
        print("the image is there already\n")?;
    }
    Ok(Exit::Ok)
}

fn text(load: &StoredLoad) -> String {
    let warehouses = load.warehouses.map(|count| {
        let warehouses = counted(count as usize, "warehouse", "warehouses");
        format!("{warehouses} on ")
    });
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
    // Writing to a string cannot fail.
    let _ = writeln!(out, "{:<12}{:>12}  checksum (equal for equal seeds)", "table", "rows");
    for table in &load.tables {
        let _ = writeln!(out, "{:<12}{:>12}  {}", table.name, table.rows, table.checksum);
    }
    out
}
