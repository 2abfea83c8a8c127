//! A plan as this machine would execute it: its cells, their order, and what they need. Nothing is
//! started.

use crate::error::LabError;
use crate::measure::pacing::connections_most;
use crate::target::pool::{Divided, POOL_BYTES_DEFAULT};
use crate::target::preset::PresetSpec;
use crate::target::private::{ResolvedPrivate, installed_build, page_size};
use crate::target::resolved::Resolved;
use device::Role;
use plan::{
    CellNeeds, Files, Host, KnownNames, MissingImage, Needs, Plan, PlannedCell, Setting, Shard,
    Sizes, Turn, execution_order, size_in_warehouses,
};
use server::preset::{self, Translated};
use server::{
    Home, IMAGES_VARIABLE, Image, ImageKey, ServerBuild, ServerError, images_max_bytes, redo_bytes,
};
use spec::{AUTO_EXPECTED, Cell, Place, Private, Server};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;
use storage::{Arrangement, RoleDevice, StorageError, is_in_memory};

/// The buffer pool and the redo log of a server where nothing else is set.
const DEFAULT_SIZES: Sizes = Sizes { pool_bytes: POOL_BYTES_DEFAULT, redo_bytes: 2 << 30 };

/// Whose cells are measured.
#[derive(Clone, Debug, Default)]
pub(crate) enum LabSource {
    /// A plan's, some of which an earlier call may have measured.
    Plan(Plan),
    /// A plan's that is not stored: all are measured.
    Demo(Plan),
    /// One of a command, which fails with it. Its lab begins when its server is up.
    #[default]
    Command,
    /// Without a plan: a search, which adds cells as it goes, or drills.
    Search,
}

impl LabSource {
    pub(crate) fn plan(&self) -> Option<&Plan> {
        match self {
            LabSource::Plan(plan) | LabSource::Demo(plan) => Some(plan),
            LabSource::Command | LabSource::Search => None,
        }
    }
}

/// What is to be measured, as this machine would do it.
#[derive(Clone, Debug, Default)]
pub struct Planned {
    /// Of its lab.
    pub name: String,
    pub(crate) source: LabSource,
    /// What names the cell of a command in results.
    pub(crate) settings: Vec<(String, String)>,
    /// Where private servers of a plan live.
    pub(crate) home: Option<Home>,
    /// In the order of the matrix.
    pub cells: Vec<(PlannedCell, CellNeeds)>,
    /// As long as `cells`.
    servers: Vec<CellServer>,
    /// In the order of execution: of a shard, its own.
    pub turns: Vec<Turn>,
    pub(crate) shard: Option<Shard>,
    /// What becomes of presets; each engine, preset and scale once, with each set of variables
    /// beside it.
    pub presets: Vec<PresetOn>,
    images: Vec<PlannedImage>,
    pub host: Host,
    /// For people.
    pub notes: Vec<String>,
}

/// The server of a cell.
#[derive(Clone, Debug)]
pub(crate) struct CellServer {
    /// None where the engine is not installed.
    pub(crate) resolved: Option<Resolved>,
    /// Where its files would go now.
    pub(crate) devices: Vec<RoleDevice>,
    /// Index of its image.
    image: Option<usize>,
}

/// A populated database that cells are measured on clones of.
#[derive(Clone, Debug)]
struct PlannedImage {
    /// What it is, and what it takes to make it.
    made: MissingImage,
    /// `None` where its engine is not installed.
    key: Option<ImageKey>,
    /// Of its data directory, where it is there.
    there_bytes: Option<u64>,
}

/// A preset on an engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PresetOn {
    pub engine: String,
    pub translated: Translated,
}

/// Resolves a plan: every name is looked up and every place is tried.
///
/// # Errors
/// [`LabError::Plan`] with line and column for what the plan cannot have; else what this machine
/// lacks.
pub fn planned(home: &Home, plan: &Plan) -> Result<Planned, LabError> {
    let known = KnownNames {
        engines: names(server::engines().iter().map(|engine| engine.name.as_str())),
        presets: names(preset::names()),
        place: &read_place,
    };
    // Whatever dead commands left takes none of the room that is looked at below.
    let notes = server::sweep(home)?;
    let mut machine = Machine {
        home,
        builds: BTreeMap::new(),
        servers: BTreeMap::new(),
        images: Vec::new(),
        presets: Vec::new(),
        notes,
    };
    let mut cells = Vec::new();
    let mut servers = Vec::new();
    for cell in plan.cells(&known)? {
        machine.note_auto(&cell);
        let (server, needs) = match &cell.what.server {
            Server::Private(private) => machine.private(plan, &cell, private)?,
            Server::External(external) => {
                let server = CellServer {
                    resolved: Some(Resolved::External(external.clone())),
                    devices: Vec::new(),
                    image: None,
                };
                (server, CellNeeds::of(&cell, DEFAULT_SIZES, Files::Elsewhere))
            }
        };
        servers.push(server);
        cells.push((cell, needs));
    }
    Ok(Planned {
        name: plan.name().to_owned(),
        turns: execution_order(cells.len(), plan.schedule()),
        shard: None,
        source: LabSource::Plan(plan.clone()),
        settings: Vec::new(),
        home: Some(home.clone()),
        cells,
        servers,
        presets: machine.presets,
        images: machine.images,
        host: Host {
            disk_free_bytes: storage::room_bytes(home.root()).ok(),
            memory_available_bytes: storage::available_memory_bytes(),
            images_max_bytes: images_max_bytes()?,
        },
        notes: machine.notes,
    })
}

/// The one cell of a command, whose lab has this name. `settings` name it in results, beside what
/// is a column of its own.
///
/// # Errors
/// What this machine lacks.
pub fn planned_cell(
    name: &str,
    what: Cell,
    settings: Vec<(String, String)>,
) -> Result<Planned, LabError> {
    let mut planned = Planned { name: name.to_owned(), settings, ..Planned::default() };
    let index = planned.add(what, Vec::new())?;
    planned.turns = vec![Turn { index, repeat: 1 }];
    Ok(planned)
}

/// The one cell of a command that measures it several times, each time on a server of its own and
/// with other inputs.
///
/// # Errors
/// As [`planned_cell`].
pub fn planned_repeats(
    name: &str,
    what: Cell,
    settings: Vec<(String, String)>,
    repeats: u32,
) -> Result<Planned, LabError> {
    let mut planned = Planned { settings, ..Planned::of_search(name) };
    let index = planned.add(what, Vec::new())?;
    planned.cells[index].0.repeats = repeats;
    planned.turns = (1..=repeats).map(|repeat| Turn { index, repeat }).collect();
    Ok(planned)
}

impl Planned {
    /// Leaves the turns of a shard.
    pub fn keep_shard(&mut self, shard: Shard) {
        self.turns.retain(|turn| shard.has(turn.repeat));
        self.shard = Some(shard);
    }

    /// The turns of all shards.
    pub(crate) fn turns_of_plan(&self) -> Vec<Turn> {
        match self.source.plan() {
            Some(plan) => execution_order(self.cells.len(), plan.schedule()),
            None => self.turns.clone(),
        }
    }

    /// The lab of a search, without a cell yet.
    pub(crate) fn of_search(name: &str) -> Planned {
        Planned { name: name.to_owned(), source: LabSource::Search, ..Planned::default() }
    }

    /// Adds a cell, which `settings` tell from the others, and returns its index.
    ///
    /// # Errors
    /// What this machine lacks.
    pub(crate) fn add(
        &mut self,
        mut what: Cell,
        settings: Vec<Setting>,
    ) -> Result<usize, LabError> {
        let made = what.server.private().map(|of| of.population.warehouses);
        let connections_most = match made {
            Some(warehouses) => connections_most(&what.load, warehouses)?,
            None => 0,
        };
        let resolved = Resolved::of(&what.server, connections_most)?;
        if let (Server::Private(private), Some(of)) = (&mut what.server, resolved.private()) {
            // A binary has the name that its version gives it.
            private.engine.clone_from(&of.build.engine);
        }
        let index = self.cells.len();
        let cell = PlannedCell {
            ordinal: index as u32 + 1,
            varying: settings.clone(),
            settings,
            what,
            connections_most,
            repeats: 1,
            repeat_time_limit: Duration::MAX,
        };
        let needs = CellNeeds::of(&cell, DEFAULT_SIZES, Files::Home);
        self.cells.push((cell, needs));
        self.servers.push(CellServer {
            resolved: Some(resolved),
            devices: Vec::new(),
            image: None,
        });
        Ok(index)
    }

    /// What these turns need; nothing is known of a command's.
    ///
    /// # Errors
    /// [`LabError::Plan`] where a cell needs more than the machine has, or all of them more time
    /// than the plan allows.
    pub fn needs(&self, turns: &[Turn]) -> Result<Needs, LabError> {
        let Some(plan) = self.source.plan() else {
            return Ok(Needs::default());
        };
        let repeats: Vec<_> = turns.iter().map(|turn| &self.cells[turn.index]).collect();
        Ok(plan.needs(&repeats, &self.missing_images(turns), &self.host)?)
    }

    /// After which no repeat is started any more.
    pub(crate) fn time_limit(&self) -> Option<Duration> {
        self.source.plan().and_then(Plan::time_limit)
    }

    /// Databases that have to be populated for these turns.
    pub fn missing_images(&self, turns: &[Turn]) -> Vec<MissingImage> {
        let of_turns = self.images_of(turns).into_iter();
        of_turns
            .filter(|image| image.there_bytes.is_none())
            .map(|image| image.made.clone())
            .collect()
    }

    /// What to know where not all images of these turns may be kept at a time.
    pub fn note_on_images(&self, turns: &[Turn]) -> Option<String> {
        let max_bytes = self.host.images_max_bytes;
        let of_turns = self.images_of(turns);
        let bytes = |image: &&PlannedImage| {
            let estimated = image.made.disk_bytes();
            image.there_bytes.unwrap_or(estimated)
        };
        let all_bytes: u64 = of_turns.iter().map(bytes).sum();
        // One that is needed but once in a row is not populated again.
        let mut in_turn: Vec<_> = turns.iter().filter_map(|turn| self.image_index(*turn)).collect();
        in_turn.dedup();
        let returns = in_turn.len() > of_turns.len();
        (returns && all_bytes > max_bytes).then(|| {
            format!(
                "the {} images of these cells take about {:.1} GB, and {:.1} GB of images are \
                 kept, so that the same databases are populated again and again; set \
                 {IMAGES_VARIABLE}={}G, or measure fewer databases at a time (--only)",
                of_turns.len(),
                all_bytes as f64 / 1e9,
                max_bytes as f64 / 1e9,
                all_bytes.div_ceil(1 << 30)
            )
        })
    }

    /// The images that turns are measured on, in their order: what is not installed is told before
    /// hours have gone into the others.
    ///
    /// # Errors
    /// [`ServerError::NotInstalled`]
    pub fn images_for(&self, turns: &[Turn]) -> Result<Vec<Vec<ImageKey>>, ServerError> {
        let images = |turn: &Turn| {
            let private = self.server(*turn)?.private().into_iter();
            Ok(private.flat_map(|private| private.image_keys().cloned()).collect())
        };
        turns.iter().map(images).collect()
    }

    /// The server of a turn.
    ///
    /// # Errors
    /// [`ServerError::NotInstalled`]
    pub(crate) fn server(&self, turn: Turn) -> Result<&Resolved, ServerError> {
        let resolved = self.servers[turn.index].resolved.as_ref();
        resolved.ok_or_else(|| {
            let private = self.cells[turn.index].0.what.server.private();
            ServerError::NotInstalled {
                engine: private.map_or_else(String::new, |private| private.engine.clone()),
            }
        })
    }

    /// The cells, each with its server.
    pub(crate) fn cells_on_servers(&self) -> impl Iterator<Item = (&PlannedCell, &CellServer)> {
        let cells = self.cells.iter().map(|(cell, _)| cell);
        cells.zip(&self.servers)
    }

    fn image_index(&self, turn: Turn) -> Option<usize> {
        self.servers[turn.index].image
    }

    fn images_of(&self, turns: &[Turn]) -> Vec<&PlannedImage> {
        let of_turns = turns.iter().filter_map(|turn| self.image_index(*turn));
        let indexes: BTreeSet<usize> = of_turns.collect();
        indexes.into_iter().map(|index| &self.images[index]).collect()
    }
}

fn names<'a>(all: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    all.into_iter().map(str::to_owned).collect()
}

/// A place whose directory is there.
fn read_place(text: &str) -> Result<Place, String> {
    let place = storage::parse_place(text).map_err(|error| error.to_string())?;
    let directory = match &place {
        Place::Directory(path) => Some(path),
        Place::Emulated { at, .. } => at.as_ref(),
    };
    match directory {
        Some(path) if !path.is_dir() => Err(format!(
            "there is no directory {}; make it, or mount the file system that it is on",
            path.display()
        )),
        _ => Ok(place),
    }
}

/// What is asked of this machine once for all cells.
struct Machine<'a> {
    home: &'a Home,
    /// `None` where an engine is not installed.
    builds: BTreeMap<String, Option<ServerBuild>>,
    /// By the canonical text of a cell's server.
    servers: BTreeMap<String, OfServer>,
    images: Vec<PlannedImage>,
    presets: Vec<PresetOn>,
    notes: Vec<String>,
}

/// What cells with one server have in common.
#[derive(Clone)]
struct OfServer {
    sizes: Sizes,
    files: Files,
    devices: Vec<RoleDevice>,
    /// Index of its image.
    image: usize,
}

impl Machine<'_> {
    /// The private server of a cell, and what it needs.
    fn private(
        &mut self,
        plan: &Plan,
        cell: &PlannedCell,
        private: &Private,
    ) -> Result<(CellServer, CellNeeds), LabError> {
        let build = self.build(private);
        let build = build.map_err(|error| at_key(plan, cell, error))?;
        let page_size_bytes = page_size(&private.set);
        let page_size_bytes = page_size_bytes.map_err(|error| at_key(plan, cell, error))?;
        let of_build = |build| {
            ResolvedPrivate::on_build(self.home, build, private, cell.connections_most).map_err(
                |error| match error {
                    LabError::Unfit(why) => {
                        LabError::Plan(plan.refuse(cell, "set.innodb_buffer_pool_size", &why))
                    }
                    other => at_key(plan, cell, other),
                },
            )
        };
        let resolved = build.map(of_build).transpose()?;
        let identity = private.identity();
        let of = match self.servers.get(&identity) {
            Some(known) => known.clone(),
            None => {
                let new = self.server(plan, (cell, private), page_size_bytes, resolved.as_ref())?;
                self.servers.insert(identity, new.clone());
                new
            }
        };
        let needs = CellNeeds::of(cell, of.sizes, of.files);
        let server = CellServer {
            resolved: resolved.map(|private| Resolved::Private(Box::new(private))),
            devices: of.devices,
            image: Some(of.image),
        };
        Ok((server, needs))
    }

    fn server(
        &mut self,
        plan: &Plan,
        (cell, private): (&PlannedCell, &Private),
        page_size_bytes: u32,
        resolved: Option<&ResolvedPrivate>,
    ) -> Result<OfServer, LabError> {
        let made = MissingImage {
            engine: private.engine.clone(),
            population: private.population.clone(),
            page_size_bytes,
        };
        let Some(resolved) = resolved else {
            return Ok(OfServer {
                sizes: DEFAULT_SIZES,
                files: cell.files(),
                devices: data_device(private).into_iter().collect(),
                image: self.image(made, None),
            });
        };
        // As the plan has it, without room for the connections of one cell.
        let asked =
            PresetSpec::of(private.preset.as_ref(), size_in_warehouses(&private.population))?;
        let divided = Divided::of(&resolved.build, asked, &private.set, private.instances)?;
        let set = divided.all();
        self.keep_preset(private, divided.preset);
        let arranged = resolved.arrange();
        let arranged = arranged.map_err(|error| at_key(plan, cell, error))?;
        for note in &arranged.notes {
            self.note(note);
        }
        Ok(OfServer {
            sizes: Sizes {
                pool_bytes: divided.pool.all_bytes(),
                redo_bytes: redo_bytes(&resolved.build, &set),
            },
            files: files(cell, &arranged),
            devices: arranged.devices,
            // Those of shards are made together.
            image: self.image(made, resolved.image_keys().next().cloned()),
        })
    }

    /// The index of the image.
    fn image(&mut self, made: MissingImage, key: Option<ImageKey>) -> usize {
        let mut known = self.images.iter();
        // Two builds of one version, where one is named by its path, share an image.
        let is_same =
            |image: &PlannedImage| image.made == made || (key.is_some() && image.key == key);
        if let Some(index) = known.position(is_same) {
            return index;
        }
        let there = key.as_ref().and_then(|key| Image::find(self.home, key));
        self.images.push(PlannedImage {
            made,
            key,
            there_bytes: there.map(|image| image.data_bytes()),
        });
        self.images.len() - 1
    }

    /// What estimates of time are worth.
    fn note_auto(&mut self, cell: &PlannedCell) {
        let lengths = &cell.what.lengths;
        if lengths.warmup.is_auto || lengths.window.is_auto {
            self.note(&format!(
                "how long an automatic warm-up or window takes is not known beforehand: each \
                 counts as {} min here, or as its most where that is less",
                AUTO_EXPECTED.as_secs() / 60
            ));
        }
    }

    /// What became of the variables of the cell's preset.
    fn keep_preset(&mut self, private: &Private, translated: Option<Translated>) {
        let Some(translated) = translated else { return };
        if let Some(note) = translated.note() {
            self.note(&format!("{}: {note}", private.engine));
        }
        let on = PresetOn { engine: private.engine.clone(), translated };
        if !self.presets.contains(&on) {
            self.presets.push(on);
        }
    }

    /// The server of a cell, where its engine is installed.
    fn build(&mut self, private: &Private) -> Result<Option<ServerBuild>, LabError> {
        if let Some(build) = self.builds.get(&private.engine) {
            return Ok(build.clone());
        }
        let build = installed_build(self.home, private)?;
        match &build {
            Some(build) => server::require_startable(build)?,
            None => {
                let engine = &private.engine;
                self.note(&format!(
                    "{engine} is not installed, so that its cells were not tried; run `mydyno \
                     server install {engine}`"
                ));
            }
        }
        self.builds.insert(private.engine.clone(), build.clone());
        Ok(build)
    }

    /// Once, however many cells say it.
    fn note(&mut self, note: &str) {
        if !self.notes.iter().any(|other| other == note) {
            self.notes.push(note.to_owned());
        }
    }
}

/// What is known of the devices of a server that is not installed: data is where its place says, on
/// any.
fn data_device(private: &Private) -> Option<RoleDevice> {
    let place = private.placement.places.get(&Role::Data)?;
    Some(RoleDevice {
        role: Role::Data,
        device: place.device_name(),
        emulated: matches!(place, Place::Emulated { .. }),
        profile_fingerprint: place.fingerprint(),
        backing: String::new(),
    })
}

/// Where the files were arranged to be: memory may have had no room.
fn files(cell: &PlannedCell, arranged: &Arrangement) -> Files {
    let parent = arranged.data_directory.as_deref().and_then(Path::parent);
    match cell.files() {
        Files::Memory if !parent.is_some_and(is_in_memory) => Files::Home,
        other => other,
    }
}

/// The plan's error, where the plan is to blame; else what it was.
fn at_key(plan: &Plan, cell: &PlannedCell, error: LabError) -> LabError {
    let key = match &error {
        LabError::Storage(
            StorageError::NotPlaceable { role, .. }
            | StorageError::Contradiction { role, .. }
            | StorageError::Outside { role, .. }
            | StorageError::Disk { role: Some(role), .. }
            | StorageError::BadDirectory { role: Some(role), .. },
        ) => *role,
        LabError::Unfit(_) => "set.innodb_page_size",
        LabError::Server(ServerError::Cores { .. }) => "cores",
        LabError::Server(ServerError::NotAServer { .. } | ServerError::WrongVersion { .. }) => {
            "engine"
        }
        _ => return error,
    };
    LabError::Plan(plan.refuse(cell, key, &error.to_string()))
}
