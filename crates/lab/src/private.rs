//! Private servers: a clone of the image of a populated database, made first where there is none.

use crate::devices::{Placed, storage_of};
use crate::error::LabError;
use crate::pool::Divided;
use crate::populate::{LoadSpec, check_disk, populate};
use crate::preset::{Configured, PresetSpec, lines};
use crate::progress::{OnProgress, Progress};
use crate::room;
use crate::subject::Subject;
use base::{Warehouses, counted, given_in, parse_size};
use drive::LoadError;
use server::{
    CONNECTIONS_BASE, Data, Ending, Flavour, Home, IMAGES_VARIABLE, Image, ImageKey,
    InstanceOptions, KeptImage, PREPARED_STATEMENTS_BASE, ServerBuild, ServerError,
    images_max_bytes, redo_bytes, shrink_images,
};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use storage::{
    Among, Arrangement, Placement, ServerFamily, ServerFiles, ServerKind, SharedMemory, arrange,
    arrange_all,
};
use store::Load;
use tpcc::database::SCHEMA_VERSION;
use tpcc::population::database_bytes_estimate;

/// A server to start for one command.
#[derive(Clone, Debug)]
pub struct PrivateSpec {
    pub engine: String,
    /// A server binary to use instead of the catalogue's.
    pub binary: Option<PathBuf>,
    /// Server variables of the white papers, which yield to `set`.
    pub preset: Option<PresetSpec>,
    /// Server variables.
    pub set: Vec<(String, String)>,
    /// Where its files go.
    pub placement: Placement,
    pub warehouses: Warehouses,
    /// Of the population.
    pub seed: u64,
    pub foreign_keys: bool,
    /// Of each table that can be split; 0 for none.
    pub partitions: u32,
    /// Servers, each with a database of its own; at least 1.
    pub instances: u32,
}

/// Connections of a private server beside those that drive it.
const CONNECTIONS_SPARE: u32 = 16;
/// At least as many as any style prepares on each connection.
const STATEMENTS_EACH: u32 = 64;

/// A private server that takes so many connections, of a ramp its largest count. It may take more already, and what the user sets stays.
#[must_use]
pub fn with_room(mut spec: PrivateSpec, connections: u32) -> PrivateSpec {
    let connections = connections.saturating_add(CONNECTIONS_SPARE);
    let statements = connections.saturating_mul(STATEMENTS_EACH);
    for (variable, base, room) in [
        ("max_connections", CONNECTIONS_BASE, connections),
        (
            "max_prepared_stmt_count",
            PREPARED_STATEMENTS_BASE,
            statements,
        ),
    ] {
        let of_preset = |asked: PresetSpec| asked.preset.asked(variable)?.parse().ok();
        let there = spec.preset.and_then(of_preset).unwrap_or(base);
        if room > there && given_in(&spec.set, variable).is_none() {
            spec.set.push((variable.to_owned(), room.to_string()));
        }
    }
    spec
}

/// How long a server may take to shut down before it is killed: a full pool of dirty pages takes its time.
const STOP_TIMEOUT: Duration = Duration::from_secs(120);
/// InnoDB's own default.
const PAGE_BYTES_DEFAULT: u32 = 16 << 10;
/// Of all servers.
const PAGE_BYTES_MAX: u64 = 64 << 10;

/// For loading an image: speed, since a crash costs only the load. Nothing of this stays in the data directory.
/// A slow shutdown, else every clone would repeat the purge and the merge of the change buffer.
const LOADING_SETTINGS: [(&str, &str); 4] = [
    ("innodb_flush_log_at_trx_commit", "0"),
    ("innodb_doublewrite", "0"),
    ("innodb_fast_shutdown", "0"),
    ("innodb_buffer_pool_size", "1G"),
];

/// The build that the spec asks for.
///
/// # Errors
/// Where it is unknown or not installed.
pub fn build_of(home: &Home, spec: &PrivateSpec) -> Result<ServerBuild, LabError> {
    Ok(match &spec.binary {
        Some(binary) => ServerBuild::from_binary(binary)?,
        None => server::find(home, &spec.engine)?,
    })
}

/// The same, where it is installed.
///
/// # Errors
/// Where it is unknown.
pub(crate) fn installed_build(
    home: &Home,
    spec: &PrivateSpec,
) -> Result<Option<ServerBuild>, LabError> {
    match build_of(home, spec) {
        Err(LabError::Server(ServerError::NotInstalled { .. })) => Ok(None),
        found => found.map(Some),
    }
}

/// The image that the spec needs and, where it had to be made, the record of its load. Where room for images is short, those of
/// `coming`, which are needed next, stay as long as they can.
///
/// # Errors
/// Where server or load fail, or the disk is too small.
pub fn image_for(
    home: &Home,
    build: &ServerBuild,
    spec: &PrivateSpec,
    coming: &[ImageKey],
    stop: &AtomicBool,
    on_progress: &mut OnProgress<'_>,
) -> Result<(Image, Option<Load>), LabError> {
    // What cannot be placed is told before minutes go into an image. What dead commands left takes none of the room.
    server::sweep(home)?;
    arrange_files(build, spec)?;
    let key = image_key(build, spec)?;
    if let Some(image) = Image::find(home, &key) {
        return Ok((image, None));
    }
    let needed: Vec<ImageKey> = std::iter::once(&key).chain(coming).cloned().collect();
    let load_spec = LoadSpec {
        warehouses: spec.warehouses,
        seed: spec.seed,
        threads: None,
        foreign_keys: spec.foreign_keys,
        partitions: spec.partitions,
        history_key: false,
        force: false,
    };
    let max_bytes = images_max_bytes()?;
    // Others give way to it now only where there is no room for both: what cannot be populated should cost none of them.
    if check_disk(home.root(), &load_spec, 0).is_err() {
        let others_bytes = max_bytes.saturating_sub(tables_bytes(spec));
        shrink(home, others_bytes, &needed, on_progress)?;
        check_disk(home.root(), &load_spec, 0)?;
    }
    on_progress(Progress::Step(&format!(
        "populating {} on {} (once; about {:.1} GB)",
        counted(spec.warehouses.0 as usize, "warehouse", "warehouses"),
        build.engine,
        tables_bytes(spec) as f64 / 1e9
    )));
    let mut set: Vec<(String, String)> = LOADING_SETTINGS
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    set.push((
        "innodb_page_size".to_owned(),
        key.page_size_bytes.to_string(),
    ));
    let options = InstanceOptions {
        set,
        ..InstanceOptions::default()
    };
    let subject = Subject::private(room::start(home, build, options)?);
    // What a private server has loaded goes with it: there is nothing to continue.
    let load = populate(&subject, &load_spec, stop, on_progress).map_err(|error| match error {
        LabError::Load(LoadError::Interrupted) => LabError::Interrupted,
        other => match subject.no_room() {
            Some(full) => LabError::NoRoom(format!("{full}; {other}")),
            None => other,
        },
    })?;
    let image = publish(home, &key, subject, &load)?;
    shrink(home, max_bytes, &needed, on_progress)?;
    Ok((image, Some(load)))
}

/// As [`shrink_images`], and says so.
fn shrink(
    home: &Home,
    max_bytes: u64,
    needed: &[ImageKey],
    on_progress: &mut OnProgress<'_>,
) -> Result<(), LabError> {
    if let Some(note) = note_on_removed(&shrink_images(home, max_bytes, needed)?) {
        on_progress(Progress::Note(&note));
    }
    Ok(())
}

fn note_on_removed(removed: &[KeptImage]) -> Option<String> {
    let names: Vec<&str> = removed.iter().map(|kept| kept.name.as_str()).collect();
    (!names.is_empty()).then(|| {
        format!(
            "images take too much room ({IMAGES_VARIABLE}), so some were removed: {}",
            names.join(", ")
        )
    })
}

/// What the image of the spec is found by.
///
/// # Errors
/// Where its page size is none.
pub fn image_key(build: &ServerBuild, spec: &PrivateSpec) -> Result<ImageKey, LabError> {
    Ok(ImageKey {
        engine: build.engine.clone(),
        version: build.version.clone(),
        schema_version: SCHEMA_VERSION,
        warehouses: spec.warehouses,
        page_size_bytes: page_size(&spec.set)?,
        seed: spec.seed,
        foreign_keys: spec.foreign_keys,
        partitions: spec.partitions,
    })
}

/// What its tables are estimated to take.
fn tables_bytes(spec: &PrivateSpec) -> u64 {
    database_bytes_estimate(spec.warehouses, spec.foreign_keys, spec.partitions)
}

/// Where the files of the first private server would go, with room for those of the others, and whether they can.
///
/// # Errors
/// Where a place cannot be used, or the server would not run under the shim.
pub fn arrange_files(build: &ServerBuild, spec: &PrivateSpec) -> Result<Arrangement, LabError> {
    let divided = Divided::of(build, spec.preset, &spec.set, spec.instances)?;
    let among = Among {
        count: spec.instances,
        memory: None,
    };
    let files = files_of(build, &divided.all(), tables_bytes(spec), among)?;
    Ok(arrange(&spec.placement, &files)?)
}

pub(crate) fn page_size(set: &[(String, String)]) -> Result<u32, LabError> {
    let Some(text) = given_in(set, "innodb_page_size") else {
        return Ok(PAGE_BYTES_DEFAULT);
    };
    parse_size(text)
        .filter(|bytes| *bytes <= PAGE_BYTES_MAX)
        .and_then(|bytes| u32::try_from(bytes).ok())
        .ok_or_else(|| {
            LabError::Unfit(format!(
                "innodb_page_size {text:?} is no size; use 4K, 8K, 16K, 32K or 64K"
            ))
        })
}

/// Stops the server that loaded, and keeps its data directory.
fn publish(home: &Home, key: &ImageKey, subject: Subject, load: &Load) -> Result<Image, LabError> {
    let log_tail = subject.log_tail();
    let Some(instance) = subject.into_instance() else {
        return Err(LabError::Unfit(
            "only a private server's data can become an image".to_owned(),
        ));
    };
    match instance.stop(STOP_TIMEOUT)? {
        Ending::Clean => {}
        ending => {
            let reason = format!("it did not shut down in good order after the load: {ending:?}");
            return Err(LabError::ServerDied { reason, log_tail });
        }
    }
    let checksums: Vec<String> = load
        .tables
        .iter()
        .map(|table| format!("{} {}", table.name, table.checksum))
        .collect();
    let data = instance.data_directory().to_owned();
    let image = Image::publish(home, key, &data, &checksums.join(", "))?;
    drop(instance);
    Ok(image)
}

/// Starts the private servers on clones of `image`, one after another, with their files where the spec places them. Where devices are
/// emulated, they are not yet: see [`crate::measure()`]. `stop` is heard between two of them.
///
/// # Errors
/// Where a place cannot be used, or a server does not start ([`server::ServerError`] carries its log), and [`LabError::Interrupted`].
pub fn start_on(
    home: &Home,
    build: &ServerBuild,
    image: Image,
    spec: &PrivateSpec,
    stop: &AtomicBool,
) -> Result<Subject, LabError> {
    let shares = spec.instances > 1 && spec.placement.is_emulated();
    let memory = shares.then(SharedMemory::new).transpose()?;
    let among = Among {
        count: spec.instances,
        memory: memory.as_ref().map(SharedMemory::path),
    };
    let divided = Divided::of(build, spec.preset, &spec.set, spec.instances)?;
    let files = files_of(build, &divided.all(), image.clone_bytes(0), among)?;
    let mut servers = Vec::new();
    for arranged in arrange_all(&spec.placement, &files)? {
        // Those that have started stop as they are dropped.
        if !servers.is_empty() && stop.load(Ordering::Relaxed) {
            return Err(LabError::Interrupted);
        }
        servers.push(start_one(home, build, image.clone(), &divided, &arranged)?);
    }
    let first = servers.remove(0);
    Ok(first.together(servers, memory))
}

/// Starts one of them.
fn start_one(
    home: &Home,
    build: &ServerBuild,
    image: Image,
    divided: &Divided,
    arranged: &Arrangement,
) -> Result<Subject, LabError> {
    let options = InstanceOptions {
        data: Data::Clone(image),
        storage: storage_of(arranged),
        preset: lines(divided.preset.as_ref()),
        set: [&divided.set[..], &arranged.set].concat(),
        data_directory: arranged.data_directory.clone(),
        scratch: arranged.scratch.clone(),
        environment: arranged.environment.clone(),
        files: arranged.files.clone(),
        ..InstanceOptions::default()
    };
    let instance = room::start(home, build, options)?;
    let mut placed = Placed::of(arranged, instance.directory());
    placed.require_shim(build)?;
    placed.notes.extend(instance.notes.iter().cloned());
    placed.notes.extend(divided.pool.note());
    let configured = divided.preset.as_ref().map(Configured::of);
    Ok(Subject::private(instance)
        .placed(placed)
        .configured(configured))
}

/// What is to be placed: so many bytes of tables, and redo.
pub(crate) fn files_of(
    build: &ServerBuild,
    set: &[(String, String)],
    tables_bytes: u64,
    among: Among,
) -> Result<ServerFiles, LabError> {
    let redo_bytes = redo_bytes(build, set);
    Ok(ServerFiles {
        binary: build.binary.clone(),
        kind: kind_of(build),
        needed_bytes: tables_bytes.saturating_add(redo_bytes),
        redo_bytes,
        page_size_bytes: page_size(set)?,
        set: set.to_vec(),
        is_named: false,
        among,
    })
}

/// A server, as far as its files go.
fn kind_of(build: &ServerBuild) -> ServerKind {
    ServerKind {
        family: match build.flavour {
            Flavour::MariaDb => ServerFamily::MariaDb,
            Flavour::Mysql if build.is_percona() => ServerFamily::Percona,
            Flavour::Mysql => ServerFamily::Mysql,
        },
        version: build.numbers,
    }
}

#[cfg(test)]
mod tests {
    use super::{PrivateSpec, STATEMENTS_EACH, with_room};
    use crate::preset::PresetSpec;
    use base::Warehouses;
    use server::preset::{Scale, find};
    use storage::Placement;
    use tpcc::Style;
    use tpcc::tpcc_mysql::PREPARED_STATEMENTS;

    #[test]
    fn limits_are_raised_to_what_the_connections_need_and_never_lowered() {
        let room = |variable: &str, preset: Option<&str>, set: &[(&str, &str)], connections| {
            let spec = PrivateSpec {
                engine: "mysql-5.7".to_owned(),
                binary: None,
                preset: preset.map(|name| PresetSpec {
                    preset: find(name).unwrap(),
                    scale: Scale::Papers,
                }),
                set: set
                    .iter()
                    .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                    .collect(),
                placement: Placement::default(),
                warehouses: Warehouses(1),
                seed: 1,
                foreign_keys: true,
                partitions: 0,
                instances: 1,
            };
            let set = with_room(spec, connections).set;
            let mut of = set.iter().filter(|(name, _)| name == variable);
            of.next().map(|(_, value)| value.clone())
        };
        let some = |value: &str| Some(value.to_owned());
        let connections = |preset, count| room("max_connections", preset, &[], count);
        assert_eq!(connections(None, 984), None);
        assert_eq!(connections(None, 985), some("1001"));
        assert_eq!(connections(Some("default"), 985), some("1001"));
        // It asks for 4000, and for 64,000 statements.
        assert_eq!(connections(Some("config-1"), 3984), None);
        assert_eq!(connections(Some("config-1"), 3985), some("4001"));
        let own = [("Max-Connections", "30")];
        assert_eq!(room("max_connections", Some("config-1"), &own, 9000), None);
        let statements = |preset, count| room("max_prepared_stmt_count", preset, &[], count);
        assert_eq!(statements(None, 3109), None);
        assert_eq!(statements(None, 3110), some("200064"));
        assert_eq!(statements(Some("config-1"), 1_984), some("128000"));
        let each = Style::ALL.map(Style::prepared_statements);
        let mut each = each.into_iter().chain([PREPARED_STATEMENTS]);
        assert!(each.all(|prepared| prepared <= STATEMENTS_EACH));
    }
}
