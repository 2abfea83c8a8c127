//! A plan as this machine would execute it: its cells, their order, and what they need. Nothing is started.

use crate::error::LabError;
use crate::target::pool::{Divided, POOL_BYTES_DEFAULT, Pool};
use crate::target::preset::PresetSpec;
use crate::target::private::{Resolved, installed_build, page_size};
use plan::{
    CellNeeds, Files, Host, Known, MissingImage, Needs, Plan, PlannedCell, Sizes, Turn,
    execution_order,
};
use server::preset::{self, Translated};
use server::{
    Home, IMAGES_VARIABLE, Image, ImageKey, ServerBuild, ServerError, images_max_bytes, redo_bytes,
};
use spec::{AUTO_EXPECTED, Place, Private};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use storage::{Arrangement, StorageError, is_in_memory};

/// The buffer pool and the redo log of a server where nothing else is set.
const DEFAULT_SIZES: Sizes = Sizes {
    pool_bytes: POOL_BYTES_DEFAULT,
    redo_bytes: 2 << 30,
};

/// What a plan comes to.
#[derive(Clone, Debug)]
pub struct Planned {
    /// In the order of the matrix.
    pub cells: Vec<(PlannedCell, CellNeeds)>,
    /// Their servers, where the engine is installed; as long as `cells`.
    resolved: Vec<Option<Resolved>>,
    /// In the order of execution.
    pub turns: Vec<Turn>,
    /// What becomes of presets; each engine, preset and scale once, with each set of variables beside it.
    pub presets: Vec<PresetOn>,
    images: Vec<PlannedImage>,
    pub host: Host,
    /// For people.
    pub notes: Vec<String>,
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
    /// Indexes of its cells.
    cells: BTreeSet<usize>,
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
/// [`LabError::Plan`] with line and column for what the plan cannot have; else what this machine lacks.
pub fn planned(home: &Home, plan: &Plan) -> Result<Planned, LabError> {
    let known = Known {
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
    let mut resolved = Vec::new();
    for (index, cell) in plan.cells(&known)?.into_iter().enumerate() {
        machine.note_auto(&cell);
        let servers = machine.resolved(plan, &cell)?;
        let server = machine.server(plan, &cell, servers.as_ref())?;
        machine.images[server.image].cells.insert(index);
        let needs = CellNeeds::of(&cell, server.sizes, server.files);
        resolved.push(servers);
        cells.push((cell, needs));
    }
    let host = Host {
        disk_free_bytes: storage::room_bytes(home.root()).ok(),
        memory_available_bytes: storage::available_memory_bytes(),
        images_max_bytes: images_max_bytes()?,
    };
    Ok(Planned {
        turns: execution_order(cells.len(), plan.schedule()),
        cells,
        resolved,
        presets: machine.presets,
        images: machine.images,
        host,
        notes: machine.notes,
    })
}

impl Planned {
    /// What these turns need.
    ///
    /// # Errors
    /// [`LabError::Plan`] where a cell needs more than the machine has, or all of them more time than the plan allows.
    pub fn needs(&self, plan: &Plan, turns: &[Turn]) -> Result<Needs, LabError> {
        let repeats: Vec<_> = turns.iter().map(|turn| &self.cells[turn.index]).collect();
        Ok(plan.needs(&repeats, &self.missing_images(turns), &self.host)?)
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
        let mut in_turn: Vec<_> = turns.iter().map(|turn| self.image_index(*turn)).collect();
        in_turn.dedup();
        let returns = in_turn.len() > of_turns.len();
        (returns && all_bytes > max_bytes).then(|| {
            format!(
                "the {} images of these cells take about {:.1} GB, and {:.1} GB of images are kept, so that the same databases are \
                 populated again and again; set {IMAGES_VARIABLE}={}G, or measure fewer databases at a time (--only)",
                of_turns.len(),
                all_bytes as f64 / 1e9,
                max_bytes as f64 / 1e9,
                all_bytes.div_ceil(1 << 30)
            )
        })
    }

    /// The image of each of the turns: what is not installed is told before hours have gone into the others.
    ///
    /// # Errors
    /// [`ServerError::NotInstalled`]
    pub fn images_for(&self, turns: &[Turn]) -> Result<Vec<ImageKey>, ServerError> {
        let image = |turn: &Turn| {
            let image = self.image_index(*turn).map(|index| &self.images[index]);
            let key = image.and_then(|image| image.key.clone());
            key.ok_or_else(|| ServerError::NotInstalled {
                engine: self.cells[turn.index].0.private().engine.clone(),
            })
        };
        turns.iter().map(image).collect()
    }

    /// The servers of a cell by its index, where their engine is installed.
    pub(crate) fn resolved(&self, index: usize) -> Option<&Resolved> {
        self.resolved[index].as_ref()
    }

    /// The servers of a turn.
    ///
    /// # Errors
    /// [`ServerError::NotInstalled`]
    pub(crate) fn servers_of(&self, turn: Turn) -> Result<&Resolved, ServerError> {
        self.resolved(turn.index)
            .ok_or_else(|| ServerError::NotInstalled {
                engine: self.cells[turn.index].0.private().engine.clone(),
            })
    }

    fn image_index(&self, turn: Turn) -> Option<usize> {
        let mut images = self.images.iter();
        images.position(|image| image.cells.contains(&turn.index))
    }

    fn images_of(&self, turns: &[Turn]) -> Vec<&PlannedImage> {
        let indexes: BTreeSet<usize> = turns.iter().map(|turn| turn.index).collect();
        let all = self.images.iter();
        all.filter(|image| !image.cells.is_disjoint(&indexes))
            .collect()
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
#[derive(Clone, Copy)]
struct OfServer {
    sizes: Sizes,
    files: Files,
    /// Index of its image.
    image: usize,
}

impl Machine<'_> {
    fn server(
        &mut self,
        plan: &Plan,
        cell: &PlannedCell,
        resolved: Option<&Resolved>,
    ) -> Result<OfServer, LabError> {
        let private = cell.private();
        let identity = private.identity();
        if let Some(known) = self.servers.get(&identity) {
            return Ok(*known);
        }
        let population = private.population;
        let page_size_bytes = page_size(&private.set);
        let made = MissingImage {
            engine: private.engine.clone(),
            warehouses: population.warehouses,
            page_size_bytes: page_size_bytes.map_err(|error| blamed(plan, cell, error))?,
            foreign_keys: population.foreign_keys,
            partitions: population.partitions,
        };
        let server = match resolved {
            None => OfServer {
                sizes: DEFAULT_SIZES,
                files: cell.files(),
                image: self.image(made, None),
            },
            Some(resolved) => {
                let asked = PresetSpec::of(private.preset.as_ref(), population.warehouses)?;
                let Private { set, instances, .. } = private;
                let divided = Divided::of(&resolved.build, asked, set, *instances);
                let divided = divided.map_err(|error| {
                    let key = "set.innodb_buffer_pool_size";
                    LabError::Plan(plan.refuse(cell, key, &error.to_string()))
                })?;
                let set = divided.all();
                self.keep_preset(private, divided.preset);
                let arranged = resolved.arrange();
                let arranged = arranged.map_err(|error| blamed(plan, cell, error))?;
                for note in &arranged.notes {
                    self.note(note);
                }
                OfServer {
                    sizes: sizes(&resolved.build, &set, divided.pool),
                    files: files(cell, &arranged),
                    image: self.image(made, Some(resolved.image_key()?)),
                }
            }
        };
        self.servers.insert(identity, server);
        Ok(server)
    }

    /// The servers of a cell, where their engine is installed.
    fn resolved(&mut self, plan: &Plan, cell: &PlannedCell) -> Result<Option<Resolved>, LabError> {
        let private = cell.private();
        let build = self.build(private);
        let build = build.map_err(|error| blamed(plan, cell, error))?;
        let of_build = |build| Resolved::on_build(build, private, cell.connections_most);
        build.map(of_build).transpose()
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
            cells: BTreeSet::new(),
        });
        self.images.len() - 1
    }

    /// What estimates of time are worth.
    fn note_auto(&mut self, cell: &PlannedCell) {
        let lengths = &cell.what.lengths;
        if lengths.warmup.is_auto || lengths.window.is_auto {
            self.note(&format!(
                "how long an automatic warm-up or window takes is not known beforehand: each counts as {} min here, or as its most where that \
                 is less",
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
        let on = PresetOn {
            engine: private.engine.clone(),
            translated,
        };
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
                    "{engine} is not installed, so that its cells were not tried; run `mydyno server install {engine}`"
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

/// Of servers with these variables.
fn sizes(build: &ServerBuild, set: &[(String, String)], pool: Pool) -> Sizes {
    Sizes {
        pool_bytes: pool.all_bytes(),
        redo_bytes: redo_bytes(build, set),
    }
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
fn blamed(plan: &Plan, cell: &PlannedCell, error: LabError) -> LabError {
    let key = match &error {
        LabError::Storage(
            StorageError::NotPlaceable { role, .. }
            | StorageError::Contradiction { role, .. }
            | StorageError::Outside { role, .. }
            | StorageError::Disk {
                role: Some(role), ..
            }
            | StorageError::BadDirectory {
                role: Some(role), ..
            },
        ) => *role,
        LabError::Unfit(_) => "set.innodb_page_size",
        LabError::Server(ServerError::NotAServer { .. } | ServerError::WrongVersion { .. }) => {
            "engine"
        }
        _ => return error,
    };
    LabError::Plan(plan.refuse(cell, key, &error.to_string()))
}
