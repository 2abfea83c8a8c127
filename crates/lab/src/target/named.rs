//! Named servers, with their files where they are placed.

use crate::error::{LabError, LabResult, unfit};
use crate::progress::Job;
use crate::target::disk_space;
use crate::target::kept::{Kept, NamedSpec, is_in_memory_above, not_dilatable, placed_of, read};
use crate::target::pool::Divided;
use crate::target::preset::{configured_file, database_bytes, lines, with_users};
use crate::target::private::{ResolvedPrivate, STOP_TIMEOUT, files_of};
use base::Dilation;
use plan::tables_bytes;
use server::preset::Translated;
use server::{
    AfterStop, Ending, Home, Image, Instance, InstanceOptions, Lifetime, ServerBuild, Storage,
    require_apart, stop_named,
};
use spec::{Placement, Private};
use storage::{InstanceGroup, ServerFiles, arrange};

/// Where it is not known what will be loaded: ten warehouses and room to grow.
const TABLES_BYTES_ASSUMED: u64 = 2 << 30;
/// Nor is half of it, which the modelled page cache of private servers has.
const PAGE_CACHE_BYTES: u64 = 1 << 30;

/// Starts a named server, with devices emulated from the start. Returns notes beside those of the
/// instance.
///
/// # Errors
/// Where a place cannot be used or is another one than before, the server's database cannot be made
/// or it has one already, or the server does not start.
pub fn start_named_on(
    home: &Home,
    build: &ServerBuild,
    spec: &NamedSpec,
    job: &Job<'_>,
) -> LabResult<(Instance, Vec<String>)> {
    let known = server::named(home)?;
    // Without a record, what is there is of a start that was killed half-way, and nothing to go on
    // with.
    let is_known = known.iter().any(|server| server.name == spec.name);
    if is_known && spec.population.is_some() {
        return Err(not_new(&spec.name, "already; leave -w out"));
    }
    let kept = if is_known { read(&home.instances().join(&spec.name))? } else { None };
    let is_plain = spec.placement == Placement::default();
    let Divided { preset, set, .. } = Divided::of(build, spec.preset, &spec.set, 1)?;
    let spec = &NamedSpec { set, ..spec.clone() };
    let (kept, mut notes) = match kept {
        Some(kept) => (Some(kept.resumed(spec)?.dilated(spec.dilation)?), Vec::new()),
        None if is_plain && !spec.dilation.is_none() => return Err(not_dilatable()),
        None if is_plain => (None, Vec::new()),
        None if is_known => {
            return Err(not_new(&spec.name, "that was not placed; leave the places out"));
        }
        None => {
            // What dead commands left takes none of the room that is looked for.
            server::sweep(home)?;
            let (kept, notes) = new(home, build, spec, preset.as_ref())?;
            (Some(kept.dilated(spec.dilation)?), notes)
        }
    };
    notes.extend(preset.as_ref().and_then(Translated::note));
    // Not before it is known that the server can be placed: it may have to be loaded.
    let options = InstanceOptions {
        image: first_data(home, build, spec, job)?,
        lifetime: Lifetime::Named(spec.name.clone()),
        preset: lines(preset.as_ref()),
        set: spec.set.clone(),
        files: vec![configured_file(preset.as_ref())?],
        port: spec.port,
        ..InstanceOptions::default()
    };
    if job.is_stopped() {
        return Err(LabError::Interrupted);
    }
    let options = match &kept {
        Some(kept) => placed_options(options, kept, build, spec.dilation)?,
        None => options,
    };
    let instance = disk_space::start(home, build, options)?;
    if job.is_stopped() {
        give_up(home, &spec.name, &instance, is_known)?;
        return Err(LabError::Interrupted);
    }
    let Some(kept) = kept else { return Ok((instance, notes)) };
    if kept.directories().any(is_in_memory_above) {
        notes.push(
            "files of it are in memory, and are gone after a restart of this machine".to_owned(),
        );
    }
    let placed = kept.placed(instance.directory());
    let emulated = placed.require_shim(build).and_then(|()| placed.arm(true));
    emulated.map_err(|error| not_emulated(&instance, &error))?;
    Ok((instance, notes))
}

/// The same for a server whose files are placed.
fn placed_options(
    options: InstanceOptions,
    kept: &Kept,
    build: &ServerBuild,
    dilation: Dilation,
) -> LabResult<InstanceOptions> {
    Ok(InstanceOptions {
        storage: if kept.data_is_emulated { Storage::Emulated } else { Storage::Real },
        set: [&options.set[..], &kept.set].concat(),
        data_directory: kept.data_directory.clone(),
        scratch: kept.scratch.clone(),
        environment: match kept.has_page {
            // Anew at each start: mydyno may have moved.
            true => storage::server_environment(&build.binary, storage::clock_from_now(dilation))?,
            false => Vec::new(),
        },
        files: [kept.files_now()?, options.files].concat(),
        dilation,
        ..options
    })
}

/// Ends a server whose start was given up meanwhile; of one that is new nothing stays.
fn give_up(home: &Home, name: &str, instance: &Instance, is_known: bool) -> LabResult<()> {
    if is_known {
        instance.stop(STOP_TIMEOUT)?;
    } else {
        instance.kill()?;
        stop_named(home, name, STOP_TIMEOUT, AfterStop::RemoveData, |_| ())?;
    }
    Ok(())
}

/// A server that runs on other devices than were asked for is nobody's.
fn not_emulated(instance: &Instance, error: &LabError) -> LabError {
    unfit(match instance.stop(STOP_TIMEOUT) {
        Ok(_) => format!("{error}; the server was stopped again"),
        Err(stuck) => format!("{error}; the server still runs: {stuck}"),
    })
}

/// Stops a named server. Its devices are this machine's from then on, so that its shutdown need not
/// wait for a slow one. Returns notes too.
///
/// # Errors
/// As [`stop_named`].
pub fn stop_named_on(
    home: &Home,
    name: &str,
    after: AfterStop,
) -> LabResult<(Ending, Option<String>)> {
    let mut note = None;
    let ending = stop_named(home, name, STOP_TIMEOUT, after, |directory| {
        note = placed_of(directory)
            .and_then(|placed| placed.arm(false))
            .err()
            .map(|error| format!("its devices stay emulated while it stops: {error}"));
    })?;
    Ok((ending, note))
}

/// What a new server begins with: a clone of the image of its database, which is made where there
/// is none, or nothing.
fn first_data(
    home: &Home,
    build: &ServerBuild,
    spec: &NamedSpec,
    job: &Job<'_>,
) -> LabResult<Option<Image>> {
    let Some(population) = &spec.population else {
        return Ok(None);
    };
    let private = Private {
        set: spec.set.clone(),
        population: population.clone(),
        ..Private::of_engine(&build.engine)
    };
    let resolved = ResolvedPrivate::on_build(home, build.clone(), &private, 0)?;
    // One server has one image.
    Ok(Some(resolved.images(&[], job)?.0.swap_remove(0)))
}

/// `what` says which data it has, and what to leave out.
fn not_new(name: &str, what: &str) -> LabError {
    unfit(format!(
        "the server {name:?} has data {what} to go on with it, or choose another --name (`mydyno \
         server stop {name} --remove` removes it with its data)"
    ))
}

fn new(
    home: &Home,
    build: &ServerBuild,
    spec: &NamedSpec,
    preset: Option<&Translated>,
) -> LabResult<(Kept, Vec<String>)> {
    let set = with_users(preset, &spec.set);
    let population = spec.population.as_ref();
    let tables_bytes = population.map_or(TABLES_BYTES_ASSUMED, tables_bytes);
    let files = ServerFiles {
        is_named: true,
        papers_bytes: database_bytes(preset.map(|of| of.preset.as_str()))?,
        ..files_of(build, &set, tables_bytes, InstanceGroup::of_one())?
    };
    let mut placement = spec.placement.clone();
    let mut notes = Vec::new();
    if placement.is_emulated() && placement.page_cache_bytes.is_none() {
        placement.page_cache_bytes = Some(PAGE_CACHE_BYTES);
        notes.push(format!(
            "the page cache of emulated devices has {} MiB, whatever will be loaded (--page-cache)",
            PAGE_CACHE_BYTES >> 20
        ));
    }
    let arranged = arrange(&placement, &files)?;
    // Before minutes go into an image.
    for path in arranged.data_directory.iter().chain(&arranged.scratch) {
        require_apart(home, &home.instances().join(&spec.name), path)?;
    }
    let kept = Kept::of(&spec.placement, &arranged)?;
    notes.extend(arranged.notes);
    Ok((kept, notes))
}
