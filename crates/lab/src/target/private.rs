//! Private servers: a clone of the image of a populated database, made first where there is none.

use crate::error::{LabError, LabResult, unfit};
use crate::measure::workload::read_workload;
use crate::progress::{Job, Progress};
use crate::target::cluster::{
    common_settings, follow, galera_nodes, needs_history_key, replica_options, require_possible,
};
use crate::target::disk_space;
use crate::target::membership::wait_for_member;
use crate::target::placed::Placed;
use crate::target::pool::Divided;
use crate::target::populate::{self, check_disk, load_options, needed_bytes, populate, what_of};
use crate::target::preset::{Configured, PresetSpec, database_bytes, lines};
use crate::target::revival::{Supervisor, WatchedNode};
use crate::target::subject::Subject;
use base::{Dilation, given_in, parse_size};
use itertools::Itertools;
use plan::{loading_redo_file_bytes, size_in_warehouses, tables_bytes};
use server::{
    CONNECTIONS_BASE, DividedCpus, Ending, Home, IMAGES_VARIABLE, Image, ImageContents, ImageKey,
    Instance, InstanceOptions, PREPARED_STATEMENTS_BASE, ServerBuild, ServerError, Storage,
    images_max_bytes, kept_images, kept_settings, made_with, redo_bytes, shrink_images,
    without_effect,
};
use spec::{DatabaseKind, Fault, PopulationSpec, Private, ScriptDatabase, Topology};
use std::sync::Arc;
use std::time::Duration;
use storage::{Arrangement, InstanceGroup, ServerFiles, SharedMemory, arrange, arrange_all};
use store::{StoredLoad, StoredLoadTable};
use tpcc::database::SCHEMA_VERSION;
use tpcc::{LoadError, LoadOptions};

/// Private servers as this machine has them: what the names of a [`Private`] stand for, looked up
/// once.
#[derive(Clone, Debug)]
pub struct ResolvedPrivate {
    home: Home,
    pub build: ServerBuild,
    /// With room for all connections.
    private: Private,
    /// Their variables, and the part of the buffer pool that each has.
    divided: Divided,
    /// Where they are kept to some.
    cpus: Option<DividedCpus>,
    /// What each of them starts with, where they are shards; else the one that all start with.
    databases: Vec<ImageOf>,
}

/// A database and what its image is found by.
#[derive(Clone, Debug)]
struct ImageOf {
    population: PopulationSpec,
    key: ImageKey,
}

/// Connections of a private server beside those that drive it.
const CONNECTIONS_SPARE: u32 = 16;
/// At least as many as any style prepares on each connection.
const STATEMENTS_EACH: u32 = 64;

/// The variables that give private servers room for so many connections, of a ramp its largest
/// count. They may have more already, and what the user sets stays.
fn room_for(
    connections: u32,
    preset: Option<PresetSpec>,
    set: &[(String, String)],
) -> Vec<(String, String)> {
    let connections = connections.saturating_add(CONNECTIONS_SPARE);
    let statements = connections.saturating_mul(STATEMENTS_EACH);
    let mut needed = Vec::new();
    for (variable, base, room) in [
        ("max_connections", CONNECTIONS_BASE, connections),
        ("max_prepared_stmt_count", PREPARED_STATEMENTS_BASE, statements),
    ] {
        let of_preset = |asked: PresetSpec| asked.preset.asked(variable)?.parse().ok();
        let there = preset.and_then(of_preset).unwrap_or(base);
        if room > there && given_in(set, variable).is_none() {
            needed.push((variable.to_owned(), room.to_string()));
        }
    }
    needed
}

/// How long a server may take to shut down before it is killed: a full pool of dirty pages takes
/// its time.
pub(crate) const STOP_TIMEOUT: Duration = Duration::from_secs(120);
/// InnoDB's own default.
const PAGE_BYTES_DEFAULT: u32 = 16 << 10;
/// Of all servers.
const PAGE_BYTES_MAX: u32 = 64 << 10;

/// For loading an image: speed, since a crash costs only the load. Nothing of this stays in the
/// data directory. A slow shutdown, else every clone would repeat the purge and the merge of the
/// change buffer.
const LOADING_SETTINGS: [(&str, &str); 5] = [
    ("innodb_flush_log_at_trx_commit", "0"),
    ("innodb_doublewrite", "0"),
    ("innodb_fast_shutdown", "0"),
    ("innodb_buffer_pool_size", "1G"),
    // The system tablespace would grow by 64 MiB at once where it has the undo logs.
    ("innodb_autoextend_increment", "8"),
];

/// The build that is asked for.
fn build_of(home: &Home, private: &Private) -> LabResult<ServerBuild> {
    Ok(match &private.binary {
        Some(binary) => ServerBuild::from_binary(binary)?,
        None => server::find(home, &private.engine)?,
    })
}

/// The build that is asked for, where it is installed.
///
/// # Errors
/// Where it is unknown.
pub(crate) fn installed_build(home: &Home, private: &Private) -> LabResult<Option<ServerBuild>> {
    match build_of(home, private) {
        Err(LabError::Server(ServerError::NotInstalled { .. })) => Ok(None),
        found => found.map(Some),
    }
}

impl ResolvedPrivate {
    /// Looks up the build and the preset of private servers that so many connections will drive.
    ///
    /// # Errors
    /// Where one of them is unknown, or the engine is not installed.
    pub fn of(home: &Home, private: &Private, connections: u32) -> LabResult<ResolvedPrivate> {
        ResolvedPrivate::on_build(home, build_of(home, private)?, private, connections)
    }

    /// The same on a build that is there.
    ///
    /// # Errors
    /// Where the preset is unknown, the page size is none, several servers cannot divide the pool,
    /// or there are fewer cores.
    pub(crate) fn on_build(
        home: &Home,
        build: ServerBuild,
        private: &Private,
        connections: u32,
    ) -> LabResult<ResolvedPrivate> {
        let size = size_in_warehouses(&private.population);
        let preset = PresetSpec::of(private.preset.as_ref(), size)?;
        require_possible(&build, private)?;
        let mut private = private.clone();
        private.set.extend(room_for(connections, preset, &private.set));
        private.set.extend(common_settings(&build, private.topology, &private.set));
        let each = match private.topology {
            Topology::Shards => populate::divided(&private.population, private.instances)?,
            _ => vec![private.population.clone()],
        };
        let divided = Divided::of(&build, preset, &private.set, private.instances)?;
        let settings = kept_settings(build.release, &divided.all());
        let image_of = |population: PopulationSpec| -> LabResult<ImageOf> {
            let key = ImageKey {
                engine: build.engine.clone(),
                version: build.version.clone(),
                contents: contents(&population, private.topology)?,
                page_size_bytes: page_size(&private.set)?,
                seed: population.seed,
                settings: settings.clone(),
                table_options: population.table_options.clone(),
            };
            Ok(ImageOf { population, key })
        };
        let databases = each.into_iter().map(image_of).collect::<LabResult<_>>()?;
        Ok(ResolvedPrivate {
            home: home.clone(),
            divided,
            cpus: private.cores.map(DividedCpus::of).transpose()?,
            databases,
            build,
            private,
        })
    }

    /// What its images are found by: one, or one for each shard.
    pub(crate) fn image_keys(&self) -> impl Iterator<Item = &ImageKey> {
        self.databases.iter().map(|of| &of.key)
    }

    /// Where the files of the first server would go, with room for those of the others, and whether
    /// they can.
    ///
    /// # Errors
    /// Where a place cannot be used, or the server would not run under the shim.
    pub(crate) fn arrange(&self) -> LabResult<Arrangement> {
        let group = InstanceGroup { count: self.private.instances, memory: None };
        let dilation = self.private.dilate.fixed().unwrap_or(Dilation::LEAST);
        // Of shards those of the largest.
        let tables_bytes = self.databases.iter().map(|of| tables_bytes(&of.population)).max();
        let files = self.files(tables_bytes.unwrap_or_default(), group, dilation)?;
        Ok(arrange(&self.private.placement, &files)?)
    }

    fn files(
        &self,
        tables_bytes: u64,
        group: InstanceGroup,
        dilation: Dilation,
    ) -> LabResult<ServerFiles> {
        let files = files_of(&self.build, &self.divided.all(), tables_bytes, group)?;
        let preset = self.private.preset.as_ref().map(|asked| asked.name.as_str());
        let papers_bytes = database_bytes(preset)?;
        Ok(ServerFiles { cores: self.private.cores, dilation, papers_bytes, ..files })
    }

    /// The images, one or one for each shard, and the records of the loads of those that had to be
    /// made. Where room for images is short, those of `coming`, which are needed next, stay as long
    /// as they can.
    ///
    /// # Errors
    /// Where server or load fail, or the disk is too small.
    pub fn images(
        &self,
        coming: &[ImageKey],
        job: &Job<'_>,
    ) -> LabResult<(Vec<Image>, Vec<StoredLoad>)> {
        // What dead commands left takes none of the room.
        server::sweep(&self.home)?;
        let needed: Vec<ImageKey> = self.image_keys().chain(coming).cloned().collect();
        let mut loads = Vec::new();
        let each = self.databases.iter().map(|of| self.image(of, &needed, &mut loads, job));
        Ok((each.collect::<LabResult<_>>()?, loads))
    }

    /// One of them.
    fn image(
        &self,
        of: &ImageOf,
        needed: &[ImageKey],
        loads: &mut Vec<StoredLoad>,
        job: &Job<'_>,
    ) -> LabResult<Image> {
        let home = &self.home;
        if let Some(image) = Image::find(home, &of.key) {
            return Ok(image);
        }
        // What cannot be placed is told before minutes go into an image. Where files go is decided
        // anew on the image, whose real size the modelled page cache depends on.
        self.arrange()?;
        let load_spec = LoadOptions {
            history_key: needs_history_key(self.private.topology),
            ..load_options(of.population.clone(), None)
        };
        let max_bytes = images_max_bytes()?;
        // Others give way to it now only where there is no room for both: what cannot be populated
        // should cost none of them.
        if check_disk(home.root(), &load_spec, 0).is_err() {
            let kept_bytes = kept_images(home)?.iter().map(Image::data_bytes).sum();
            // Where all of them are too few, none goes.
            check_disk(home.root(), &load_spec, kept_bytes)?;
            let lacking_bytes = needed_bytes(&load_spec)
                .saturating_sub(storage::room_bytes(home.root()).unwrap_or_default());
            shrink(home, kept_bytes.saturating_sub(lacking_bytes), needed, job)?;
            check_disk(home.root(), &load_spec, 0)?;
        }
        job.step(&format!(
            "populating {} on {}{} (once; about {:.1} GB)",
            what_of(&load_spec.population),
            self.build.engine,
            made_with(&of.key.settings, of.key.table_options.as_deref()),
            tables_bytes(&of.population) as f64 / 1e9
        ));
        let (image, load) = self.populated(&of.key, &load_spec, job)?;
        loads.push(load);
        shrink(home, max_bytes, needed, job)?;
        Ok(image)
    }

    /// A new image, and the record of its load.
    fn populated(
        &self,
        key: &ImageKey,
        spec: &LoadOptions,
        job: &Job<'_>,
    ) -> LabResult<(Image, StoredLoad)> {
        let mut set =
            LOADING_SETTINGS.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
        let redo_bytes = loading_redo_file_bytes(&spec.population);
        set.extend(key.settings.iter().cloned());
        set.push(("innodb_page_size".to_owned(), key.page_size_bytes.to_string()));
        set.push(("innodb_log_file_size".to_owned(), redo_bytes.to_string()));
        let galera = galera_nodes(&self.build, self.private.topology, 1)?.pop();
        let options = InstanceOptions { set, galera, ..InstanceOptions::default() };
        let instance = Arc::new(disk_space::start(&self.home, &self.build, options)?);
        let subject = Subject::private(Arc::clone(&instance));
        let loaded = populate(&subject, &subject.connect, spec, None, job);
        // What a private server has loaded goes with it: there is nothing to continue.
        let load = loaded.map_err(|error| match (subject.explain(error), subject.no_room()) {
            (LabError::Load(LoadError::Interrupted), _) => LabError::Interrupted,
            (other, Some(full)) => LabError::NoRoom(format!("{full}; {other}")),
            (other, None) => other,
        })?;
        Ok((self.publish(key, &instance, &load)?, load))
    }

    /// Stops the server that loaded, and keeps its data directory. Nodes of Galera that are clones
    /// of it have to have a place in the history of a cluster, all the same one.
    fn publish(&self, key: &ImageKey, instance: &Instance, load: &StoredLoad) -> LabResult<Image> {
        stop_in_good_order(instance)?;
        if self.private.topology == Topology::MultiPrimary {
            instance.begin_cluster()?;
            stop_in_good_order(instance)?;
        }
        let checksum = |table: &StoredLoadTable| format!("{} {}", table.name, table.checksum);
        let checksums = load.tables.iter().map(checksum).join(", ");
        Ok(Image::publish(&self.home, key, instance.data_directory(), &checksums)?)
    }

    /// Starts the servers on clones of `images`, one after another, with their files where they are
    /// placed and with clocks that are dilated. Where devices are emulated, they are not yet: a
    /// measurement arms them. `stop` is heard between two of them.
    ///
    /// # Errors
    /// Where a place cannot be used, or a server does not start ([`ServerError`] carries its log),
    /// and [`LabError::Interrupted`].
    pub(crate) fn start(
        &self,
        images: &[Image],
        dilation: Dilation,
        job: &Job<'_>,
    ) -> LabResult<Subject> {
        let Private { instances, placement, topology, .. } = &self.private;
        let shares = *instances > 1 && placement.is_emulated();
        let memory = shares.then(SharedMemory::new).transpose()?;
        let group =
            InstanceGroup { count: *instances, memory: memory.as_ref().map(SharedMemory::path) };
        let clone_bytes = images.iter().map(|image| image.clone_bytes(0)).max();
        let files = self.files(clone_bytes.unwrap_or_default(), group, dilation)?;
        let nodes = galera_nodes(&self.build, *topology, *instances)?;
        let (mut servers, mut watched) = (Vec::new(), Vec::new());
        // Shards have an image each, others share one.
        let mut arranged = arrange_all(placement, &files)?;
        if self.private.fault == Some(Fault::PowerCut) {
            arranged.iter_mut().try_for_each(Arrangement::record_writes)?;
        }
        for (arranged, image) in arranged.iter().zip(images.iter().cycle()) {
            // Those that have started stop as they are dropped.
            if !servers.is_empty() && job.is_stopped() {
                return Err(LabError::Interrupted);
            }
            let galera = nodes.get(servers.len()).cloned();
            let of_replica = replica_options(&self.build, *topology, servers.len());
            let node = InstanceOptions { galera, ..of_replica };
            let server = self.start_one(image.clone(), arranged, node, job)?;
            watched.extend(self.join(&servers, &server)?);
            servers.push(server);
        }
        let first = servers.remove(0);
        Ok(Subject {
            others: servers,
            topology: *topology,
            supervisor: Supervisor::of(*instances, watched),
            cpus: self.cpus.clone(),
            memory,
            ..first
        })
    }

    /// Sees to it that `server`, which has just started, is in the cluster of those before it,
    /// where there is one. From then on it comes back where it ends in spite of that.
    fn join(&self, before: &[Subject], server: &Subject) -> LabResult<Option<WatchedNode>> {
        let (topology, number) = (self.private.topology, before.len() + 1);
        let is_primary = topology == Topology::PrimaryReplicas && number == 1;
        let joins = topology.is_one_database() && !is_primary;
        let Some(instance) = server.instance().filter(|_| joins) else { return Ok(None) };
        let connector = server.without_schema()?;
        if let (Topology::PrimaryReplicas, Some(primary)) = (topology, before.first()) {
            follow(&self.build, &connector, &primary.connect)?;
        }
        let joined = wait_for_member(topology, &connector, || server.ended().is_some());
        joined.map_err(|error| LabError::ServerDied {
            reason: format!(
                "node {number} of {} did not join the others: {error}",
                self.private.instances
            ),
            log_tail: server.log_tail(),
        })?;
        Ok(Some(WatchedNode { instance: Arc::clone(instance), connector, topology, number }))
    }

    /// Starts one of them.
    fn start_one(
        &self,
        image: Image,
        arranged: &Arrangement,
        node: InstanceOptions,
        job: &Job<'_>,
    ) -> LabResult<Subject> {
        let divided = &self.divided;
        let options = InstanceOptions {
            image: Some(image),
            storage: if arranged.data_is_emulated() { Storage::Emulated } else { Storage::Real },
            preset: lines(divided.preset.as_ref()),
            set: [&divided.set[..], &node.set, &arranged.set].concat(),
            data_directory: arranged.data_directory.clone(),
            scratch: arranged.scratch.clone(),
            environment: arranged.environment.clone(),
            random_pages_per_s: arranged.random_pages_per_s,
            files: arranged.files.clone(),
            cpus: self.cpus.as_ref().map(|cpus| cpus.servers.clone()),
            dilation: arranged.dilation,
            ..node
        };
        let instance = disk_space::start(&self.home, &self.build, options)?;
        let [filled, ready] = instance.start_times;
        job.tell(Progress::Took("copying the image", filled));
        job.tell(Progress::Took("starting the server", ready));
        let mut placed = Placed::of(arranged, instance.directory());
        placed.require_shim(&self.build)?;
        placed.notes.extend(instance.notes.iter().cloned());
        placed.notes.extend(divided.pool.note());
        placed.notes.extend(without_effect(self.build.release, &self.private.set));
        placed.notes.extend(said_by_tables(&self.private));
        let configured = divided.preset.as_ref().map(Configured::of);
        Ok(Subject { placed, configured, ..Subject::private(Arc::new(instance)) })
    }
}

/// Stops the server that loaded an image.
fn stop_in_good_order(instance: &Instance) -> LabResult<()> {
    match instance.stop(STOP_TIMEOUT)? {
        Ending::Clean => Ok(()),
        ending => Err(LabError::ServerDied {
            reason: format!("it did not shut down in good order after the load: {ending:?}"),
            log_tail: Some(instance.log_tail()),
        }),
    }
}

/// What is in an image of this population.
fn contents(population: &PopulationSpec, topology: Topology) -> LabResult<ImageContents> {
    Ok(match &population.database {
        DatabaseKind::Tpcc => ImageContents::Tpcc {
            schema_version: SCHEMA_VERSION,
            warehouses: population.warehouses.0,
            foreign_keys: population.foreign_keys,
            partitions: population.partitions,
            history_key: needs_history_key(topology),
            shard: population.shard.map(|range| (range.first(), range.last())),
        },
        DatabaseKind::Script(database) => {
            ImageContents::Script { contents: oltp::contents(database, read_workload)? }
        }
    })
}

/// What is to be said of variables for tables that leave it open, where these do not.
fn said_by_tables(private: &Private) -> Option<String> {
    let variables: &[&str] = match &private.population.database {
        DatabaseKind::Tpcc => {
            &["character_set_server", "collation_server", "default_storage_engine"]
        }
        DatabaseKind::Script(ScriptDatabase::Sbtest(_)) => &["default_storage_engine"],
        DatabaseKind::Script(ScriptDatabase::File(_)) => &[],
    };
    let mut given = variables.iter().filter(|name| given_in(&private.set, name).is_some());
    let given = given.join(", ");
    (!given.is_empty())
        .then(|| format!("the tables of this workload are made with clauses that win over {given}"))
}

/// As [`shrink_images`], and says so.
fn shrink(home: &Home, max_bytes: u64, needed: &[ImageKey], job: &Job<'_>) -> LabResult<()> {
    let removed = shrink_images(home, max_bytes, needed)?;
    if !removed.is_empty() {
        let names = removed.iter().map(Image::name).join(", ");
        let why = format!("images take too much room ({IMAGES_VARIABLE})");
        job.note(&format!("{why}, so some were removed: {names}"));
    }
    Ok(())
}

pub(crate) fn page_size(set: &[(String, String)]) -> LabResult<u32> {
    let Some(text) = given_in(set, "innodb_page_size") else { return Ok(PAGE_BYTES_DEFAULT) };
    let bytes = parse_size(text).and_then(|bytes| u32::try_from(bytes).ok());
    bytes.filter(|bytes| *bytes <= PAGE_BYTES_MAX).ok_or_else(|| {
        unfit(format!("innodb_page_size {text:?} is no size; use 4K, 8K, 16K, 32K or 64K"))
    })
}

/// What is to be placed: so many bytes of tables, and redo.
pub(crate) fn files_of(
    build: &ServerBuild,
    set: &[(String, String)],
    tables_bytes: u64,
    group: InstanceGroup,
) -> LabResult<ServerFiles> {
    let redo_bytes = redo_bytes(build, set);
    Ok(ServerFiles {
        binary: build.binary.clone(),
        release: build.release,
        needed_bytes: tables_bytes.saturating_add(redo_bytes),
        redo_bytes,
        page_size_bytes: page_size(set)?,
        set: set.to_vec(),
        is_named: false,
        group,
        dilation: Dilation::NONE,
        cores: None,
        papers_bytes: 0,
    })
}

#[cfg(test)]
mod tests {
    use super::{STATEMENTS_EACH, room_for};
    use crate::target::preset::PresetSpec;
    use server::preset::{PresetScale, find};
    use spec::Style;
    use tpcc::prepared_statements;
    use tpcc::tpcc_mysql::PREPARED_STATEMENTS;

    #[test]
    fn limits_are_raised_to_what_the_connections_need_and_never_lowered() {
        let room = |variable: &str, preset: Option<&str>, set: &[(&str, &str)], connections| {
            let preset = preset
                .map(|name| PresetSpec { preset: find(name).unwrap(), scale: PresetScale::Papers });
            let own = set.iter();
            let own: Vec<(String, String)> =
                own.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            let set = [&own[..], &room_for(connections, preset, &own)].concat();
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
        let each = Style::ALL.map(prepared_statements);
        let mut each = each.into_iter().chain([PREPARED_STATEMENTS]);
        assert!(each.all(|prepared| prepared <= STATEMENTS_EACH));
    }
}
