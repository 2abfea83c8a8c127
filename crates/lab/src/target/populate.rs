//! Loading a database, with everything around it: the schema, the disk, the record in the results
//! file.

use crate::error::{LabError, LabResult, unfit};
use crate::measure::preflight::{check_packets, data_bytes, raise_file_limit};
use crate::measure::workload::read_workload;
use crate::progress::{Job, Progress};
use crate::target::sessions::{text, with_session};
use crate::target::subject::{Subject, is_local};
use base::{Session, SessionError, errors, now_utc_ns};
use drive::LoadedTable;
use fleet::{FleetError, FleetPlace, Leader};
use observe::peak_rss_bytes;
use oltp::ScriptLoadOptions;
use plan::tables_bytes;
use server::{Secret, render_dsn};
use spec::{DatabaseKind, PopulationSpec, Topology};
use std::path::Path;
use std::thread;
use store::{LoadMethod, StoredLoad, StoredLoadTable};
use tpcc::{LoadError, LoadHelpers, LoadOptions, LoadPart, PopulateReport};
use wire::{ConnectOptions, Connector, ServerInfo};

/// Open files of a loading thread: its socket, and those of its reactor.
const FILES_PER_THREAD: u32 = 4;

/// What to load where there is nothing yet, over so many connections; by default as many as the
/// machine has cores, 2 to 8.
pub fn load_options(population: PopulationSpec, threads: Option<u32>) -> LoadOptions {
    // Each stream keeps one server thread busy; this process needs a tenth of a core beside it.
    let by_default = || thread::available_parallelism().map_or(2, |n| n.get().clamp(2, 8) as u32);
    let threads = threads.unwrap_or_else(by_default);
    LoadOptions { population, threads, history_key: false, force: false }
}

/// What a server needs beside the tables while it loads: undo, sort files, binary log of a chunk.
const DISK_EXTRA_BYTES: u64 = 256 << 20;

/// Bytes that a load takes.
pub(crate) fn needed_bytes(spec: &LoadOptions) -> u64 {
    tables_bytes(&spec.population).saturating_add(DISK_EXTRA_BYTES)
}

/// Refuses a load for which `directory` has no room, of which `there_bytes` are loaded already.
pub(crate) fn check_disk(directory: &Path, spec: &LoadOptions, there_bytes: u64) -> LabResult<()> {
    let population = &spec.population;
    if tables_bytes(population) == 0 {
        return Ok(());
    }
    let fewer = match population.database {
        DatabaseKind::Tpcc => "warehouses",
        DatabaseKind::Script(_) => "rows",
    };
    let what = what_of(population);
    let needed = needed_bytes(spec).saturating_sub(there_bytes);
    match storage::room_bytes(directory) {
        Ok(free) if free < needed => Err(LabError::NoRoom(format!(
            "{what} take about {:.1} GB more, but {} has room for {:.1} GB; load fewer {fewer} or \
             free space",
            needed as f64 / 1e9,
            directory.display(),
            free as f64 / 1e9
        ))),
        _ => Ok(()),
    }
}

/// What a database is filled with, for people.
pub fn what_of(population: &PopulationSpec) -> String {
    match &population.database {
        DatabaseKind::Tpcc => match population.shard {
            Some(range) => format!("{range} of {}", population.warehouses),
            None => population.warehouses.counted(),
        },
        DatabaseKind::Script(database) => oltp::words(database),
    }
}

/// A fleet that loads a schema together, and the number of that.
type FleetLoad<'a> = (&'a Leader, u32);

/// Loads all schemas of the subject, one after the other, together with the other ranks of a fleet,
/// where there is one; `on_loaded` hears of each as it is done.
///
/// # Errors
/// As [`populate`], and what `on_loaded` says.
pub fn populate_schemas(
    subject: &Subject,
    (spec, fleet): (&LoadOptions, Option<&Leader>),
    job: &Job<'_>,
    on_loaded: &mut dyn FnMut(StoredLoad) -> LabResult<()>,
) -> LabResult<()> {
    for (number, (connect, spec)) in (0..).zip(parts(subject, spec)?) {
        let fleet = fleet.map(|leader| (leader, number));
        if let Some(range) = spec.population.shard {
            job.step(&format!("loading shard {}: {range}", number + 1));
        } else if let (Some(schema), true) = (&connect.schema, subject.schemas() > 1) {
            job.step(&format!("loading schema {schema}"));
        }
        let loaded = populate(subject, &connect, &spec, fleet, job);
        on_loaded(loaded.map_err(|error| subject.explain(error))?)?;
    }
    Ok(())
}

/// What is loaded where: the whole into each schema, its part into each shard, and the whole into
/// the first of servers that have one database.
fn parts(subject: &Subject, spec: &LoadOptions) -> LabResult<Vec<(ConnectOptions, LoadOptions)>> {
    if subject.topology != Topology::Shards {
        return Ok(subject.targets().into_iter().map(|connect| (connect, spec.clone())).collect());
    }
    let targets = subject.each().flat_map(Subject::targets);
    let each = targets.zip(divided(&spec.population, subject.instances())?);
    Ok(each
        .map(|(connect, population)| (connect, LoadOptions { population, ..spec.clone() }))
        .collect())
}

/// What each of so many shards has, where it can be divided.
pub(crate) fn divided(population: &PopulationSpec, shards: u32) -> LabResult<Vec<PopulationSpec>> {
    if population.database != DatabaseKind::Tpcc {
        return Err(unfit(
            "shards divide the warehouses of TPC-C; load other databases without --topology shards",
        ));
    }
    if population.warehouses.0 < shards {
        return Err(unfit(format!(
            "{} cannot be divided over {shards} shards, as each has one at least; load more \
             warehouses, or name fewer servers",
            what_of(population)
        )));
    }
    Ok(population.divided(shards))
}

/// Loads a database into the schema that `connect` names, which is created where it does not exist;
/// one of TPC-C together with the other ranks of a fleet, where there is one.
///
/// # Errors
/// Any [`LabError`]; what was loaded stays, and the same call continues it.
pub(crate) fn populate(
    subject: &Subject,
    connect: &ConnectOptions,
    spec: &LoadOptions,
    fleet: Option<FleetLoad<'_>>,
    job: &Job<'_>,
) -> LabResult<StoredLoad> {
    raise_file_limit(spec.threads.saturating_mul(FILES_PER_THREAD))?;
    let server = create_schema(connect, spec)?;
    let connector = Connector::new(connect.clone())?;
    let started_utc_ns = now_utc_ns();
    let LoadOptions { population, threads, .. } = spec;
    let options = ScriptLoadOptions {
        seed: population.seed,
        threads: *threads,
        force: spec.force,
        table_options: population.table_options.as_deref().unwrap_or_default(),
    };
    let on_progress = &mut |progress| job.tell(Progress::Load(progress));
    let (report, history_key) = match &population.database {
        DatabaseKind::Tpcc => {
            let report = match fleet {
                None => tpcc::load(&connector, spec, None, job.stop, on_progress)?,
                Some((leader, schema)) => {
                    let helpers = LoadHelpers {
                        own: LoadPart::of_process((0, leader.size()), spec.population().range),
                        begin: &mut || leader.begin_load(schema).map_err(of_fleet),
                        finish: &mut || leader.finish_load(job.stop).map_err(of_fleet),
                    };
                    tpcc::load(&connector, spec, Some(helpers), job.stop, on_progress)?
                }
            };
            tell_of_load(&report, spec, job);
            (report.load, Some(report.history_key))
        }
        DatabaseKind::Script(database) => {
            let database = (database, read_workload);
            (oltp::load(&connector, database, options, job.stop, on_progress)?, None)
        }
    };
    // What only a TPC-C database has.
    let tpcc = history_key.map(|_| population);
    let table = |of: LoadedTable| {
        let checksum = format!("{:016x}", of.checksum);
        StoredLoadTable { name: of.name, rows: of.rows, checksum }
    };
    Ok(StoredLoad {
        lab: None,
        target: render_dsn(connect, Secret::Hidden),
        engine: engine_name(subject, &server),
        server_version: server.version,
        warehouses: tpcc.map(|_| spec.population().range.count()),
        seed: population.seed,
        threads: *threads,
        method: if report.is_local_infile { LoadMethod::LocalInfile } else { LoadMethod::Inserts },
        foreign_keys: tpcc.map(|of| of.foreign_keys),
        partitions: tpcc.map_or(0, |of| of.partitions),
        history_key,
        started_utc_ns,
        finished_utc_ns: now_utc_ns(),
        duration_ns: report.duration.as_nanos() as u64,
        total_bytes: report.bytes,
        client_cpu_ns: report.client_cpu_ns,
        client_peak_rss_bytes: peak_rss_bytes(),
        tables: report.tables.into_iter().map(table).collect(),
    })
}

fn tell_of_load(report: &PopulateReport, spec: &LoadOptions, job: &Job<'_>) {
    if report.chunks_found > 0 {
        let found = report.chunks_found;
        job.note(&format!("continued an earlier load, of which {found} chunks were there"));
    }
    if let Some(why) = &report.unlocked {
        job.note(&format!(
            "the server has no named locks, so that nothing keeps a second load out of this \
             schema: see that there is none ({why})"
        ));
    }
    if report.history_key && !spec.history_key {
        job.note(
            "HISTORY has a primary key, h_id, because the server demands one of every table \
             (sql_require_primary_key, innodb_force_primary_key, Group Replication or wsrep_on)",
        );
    }
    if !report.load.is_local_infile {
        job.note(
            "local_infile is off on the server: rows went by multi-row INSERT, which is slower; \
             SET GLOBAL local_infile = 1 allows LOAD DATA LOCAL",
        );
    }
}

fn of_fleet(error: FleetError) -> LoadError {
    match error {
        FleetError::Interrupted => LoadError::Interrupted,
        error => LoadError::Helper(error.to_string()),
    }
}

/// Loads the part of a rank of a fleet of a schema, by number. Rank 0 makes the tables and finishes
/// them.
///
/// # Errors
/// Any [`LabError`]; what was loaded stays.
pub(crate) fn populate_part(
    subject: &Subject,
    spec: &LoadOptions,
    (place, schema): (&FleetPlace, u32),
    job: &Job<'_>,
) -> LabResult<()> {
    let (connect, spec) = parts(subject, spec)?
        .into_iter()
        .nth(schema as usize)
        .ok_or_else(|| unfit(format!("rank 0 loads schema {schema}, which this rank has not")))?;
    let part = LoadPart::of_process((place.rank, place.size), spec.population().range);
    let on_progress = &mut |progress| job.tell(Progress::Load(progress));
    Ok(tpcc::load_part(&Connector::new(connect)?, &spec, part, job.stop, on_progress)?)
}

/// Connects without a schema, sees to the disk where it is this machine's, and then creates the
/// schema: a load for which there is no room leaves nothing behind.
fn create_schema(connect: &ConnectOptions, spec: &LoadOptions) -> LabResult<ServerInfo> {
    let Some(schema) = connect.schema.clone() else {
        return Err(unfit(
            "the target names no schema to load; add one: mysql://user@host:3306/tpcc",
        ));
    };
    let without = Connector::new(ConnectOptions { schema: None, ..connect.clone() })?;
    let failed = |error: SessionError| match error.code() {
        _ if error.is_read_only() => LoadError::ReadOnly { error }.into(),
        // That is for the server's owner to change.
        Some(errors::DBACCESS_DENIED_ERROR) => unfit(format!(
            "user {:?} may not create schema {schema:?} ({error}); create it as another user, and \
             GRANT ALL on it",
            connect.user
        )),
        _ => LabError::Session { doing: "creating the schema", error },
    };
    with_session(&without, async |session| {
        check_packets(session).await?;
        let directory = text(session, "SELECT @@global.datadir").await.map_err(failed)?;
        let hex: String = schema.bytes().map(|byte| format!("{byte:02X}")).collect();
        let quoted = format!("X'{hex}'");
        if is_local(&connect.address) && Path::new(&directory).is_dir() {
            let there = data_bytes(session, &format!("table_schema = {quoted}")).await;
            check_disk(Path::new(&directory), spec, there.unwrap_or(0))?;
        }
        let sql = format!("SELECT 1 FROM information_schema.schemata WHERE schema_name = {quoted}");
        if session.query(&sql).await.map_err(failed)?.is_empty() {
            let name = schema.replace('`', "``");
            session.query(&format!("CREATE DATABASE `{name}`")).await.map_err(failed)?;
        }
        Ok(session.server().clone())
    })
}

/// The engine's name: the catalogue's where mydyno started it, else family and series of the
/// version.
pub(crate) fn engine_name(subject: &Subject, server: &ServerInfo) -> String {
    if let Some(name) = subject.engine() {
        return name.to_owned();
    }
    let family = server.family().name();
    let mut parts = server.version.split(['.', '-']);
    match (parts.next(), parts.next()) {
        (Some(major), Some(minor)) => format!("{family}-{major}.{minor}"),
        _ => family.to_owned(),
    }
}

/// Does the server take connections with the subject's login? For a first word before anything is
/// measured.
///
/// # Errors
/// Why not.
pub fn reach(subject: &Subject) -> LabResult<ServerInfo> {
    with_session(&subject.connector()?, async |session| Ok(session.server().clone()))
}
