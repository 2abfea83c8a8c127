//! A plan resolved: on this machine, or by its text alone. Nothing is started but a server's
//! `--version`, and of a text nothing at all.

use crate::error::{LabError, LabResult};
use crate::schedule::planned::{
    CellServer, DEFAULT_SIZES, LabSource, Planned, PlannedImage, PresetOn,
};
use crate::target::pool::Divided;
use crate::target::preset::PresetSpec;
use crate::target::private::{ResolvedPrivate, installed_build, page_size};
use device::Role;
use plan::{
    CellNeeds, Files, Host, KnownNames, MissingImage, Plan, PlannedCell, Sizes, execution_order,
    size_in_warehouses,
};
use server::preset::{self, Translated};
use server::{
    Home, Image, ImageKey, ServerBuild, ServerError, images_max_bytes, kept_settings, redo_bytes,
};
use spec::{AUTO_EXPECTED, Place, Private, Server};
use std::collections::BTreeMap;
use std::path::Path;
use storage::{Arrangement, RoleDevice, StorageError, is_in_memory};

/// Most repeats of a plan that is drafted.
const DRAFTED_REPEATS_MAX: usize = 200_000;

/// Resolves a plan: every name is looked up and every place is tried.
///
/// # Errors
/// [`LabError::Plan`] with line and column for what the plan cannot have; else what this machine
/// lacks.
pub fn planned(home: &Home, plan: &Plan) -> LabResult<Planned> {
    // Whatever dead commands left takes none of the room that is looked at below.
    let notes = server::sweep(home)?;
    let host = Host {
        disk_free_bytes: storage::room_bytes(home.root()).ok(),
        memory_available_bytes: storage::available_memory_bytes(),
        images_max_bytes: images_max_bytes()?,
    };
    let planned = Planned { home: Some(home.clone()), host, notes, ..Planned::default() };
    Machine { planned, ..Machine::default() }.planned(plan, &read_place)
}

/// What can be said of a plan by its text: no file is opened but by `place`, and no process is
/// started. Servers are taken as the catalogue has them, and databases as not there yet.
///
/// # Errors
/// [`LabError::Plan`] with line and column for what the plan cannot have.
pub fn drafted(plan: &Plan, place: &dyn Fn(&str) -> Result<Place, String>) -> LabResult<Planned> {
    let host = Host { images_max_bytes: u64::MAX, ..Host::default() };
    let planned = Planned { host, ..Planned::default() };
    let repeats_max = Some(DRAFTED_REPEATS_MAX);
    let mut planned =
        Machine { planned, repeats_max, ..Machine::default() }.planned(plan, place)?;
    planned.notes.push(
        "what this machine has, and which databases are there already, is looked at when the lab \
         starts"
            .to_owned(),
    );
    Ok(planned)
}

/// A place whose directory is there.
fn read_place(text: &str) -> Result<Place, String> {
    let place = storage::parse_place(text).map_err(|error| error.to_string())?;
    match &place {
        Place::Directory(path) | Place::Emulated { at: Some(path), .. } if !path.is_dir() => {
            let path = path.display();
            Err(format!(
                "there is no directory {path}; make it, or mount the file system that it is on"
            ))
        }
        Place::Directory(_) | Place::Emulated { .. } => Ok(place),
    }
}

/// What is asked of this machine once for all cells.
#[derive(Default)]
struct Machine {
    /// As far as it has come; without a home nothing may be asked.
    planned: Planned,
    repeats_max: Option<usize>,
    /// `None` where an engine is not installed.
    builds: BTreeMap<String, Option<ServerBuild>>,
    /// By the canonical text of a cell's server.
    servers: BTreeMap<String, OfServer>,
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

impl Machine {
    fn planned(
        mut self,
        plan: &Plan,
        place: &dyn Fn(&str) -> Result<Place, String>,
    ) -> LabResult<Planned> {
        let known = KnownNames {
            engines: server::engines().iter().map(|engine| engine.name.clone()).collect(),
            presets: preset::names().into_iter().map(str::to_owned).collect(),
            place,
        };
        let all = plan.cells(&known)?;
        let repeats = all.len().saturating_mul(plan.schedule().repeats as usize);
        if let (Some(first), Some(most)) = (all.first(), self.repeats_max)
            && repeats > most
        {
            let why = format!("the plan has {repeats} repeats; {most} is the most here");
            return Err(plan.refuse(first, "connections", &why).into());
        }
        for cell in all {
            self.note_auto(&cell);
            let (server, needs) = match &cell.what.server {
                Server::Private(private) => self.private(plan, &cell, private)?,
                Server::External(_) => {
                    let needs = CellNeeds::of(&cell, DEFAULT_SIZES, Files::Elsewhere);
                    (CellServer::default(), needs)
                }
            };
            self.planned.servers.push(server);
            self.planned.cells.push((cell, needs));
        }
        Ok(Planned {
            name: plan.name().to_owned(),
            turns: execution_order(self.planned.cells.len(), plan.schedule()),
            source: LabSource::Plan(plan.clone()),
            ..self.planned
        })
    }

    /// The private server of a cell, and what it needs.
    fn private(
        &mut self,
        plan: &Plan,
        cell: &PlannedCell,
        private: &Private,
    ) -> LabResult<(CellServer, CellNeeds)> {
        let at_key = |error| at_key(plan, cell, error);
        let build = self.build(private).map_err(at_key)?;
        let page_size_bytes = page_size(&private.set).map_err(at_key)?;
        let at_pool = |error| match error {
            LabError::Unfit(why) => {
                LabError::Plan(plan.refuse(cell, "set.innodb_buffer_pool_size", &why))
            }
            other => at_key(other),
        };
        let of_build = |(home, build)| {
            ResolvedPrivate::on_build(home, build, private, cell.connections_most).map_err(at_pool)
        };
        let resolved = self.planned.home.as_ref().zip(build).map(of_build).transpose()?;
        let identity = private.identity();
        let of = match self.servers.get(&identity) {
            Some(known) => known.clone(),
            None => {
                let new = self.server(plan, (cell, private), page_size_bytes, resolved.as_ref());
                self.servers.entry(identity).or_insert(new.map_err(at_pool)?).clone()
            }
        };
        let needs = CellNeeds::of(cell, of.sizes, of.files);
        let server = CellServer { private: resolved, devices: of.devices, image: Some(of.image) };
        Ok((server, needs))
    }

    fn server(
        &mut self,
        plan: &Plan,
        (cell, private): (&PlannedCell, &Private),
        page_size_bytes: u32,
        resolved: Option<&ResolvedPrivate>,
    ) -> LabResult<OfServer> {
        // As the plan has it, without room for the connections of one cell.
        let asked =
            PresetSpec::of(private.preset.as_ref(), size_in_warehouses(&private.population))?;
        let build = match resolved {
            Some(resolved) => resolved.build.clone(),
            None => ServerBuild::of_catalogue(&private.engine)?,
        };
        let divided = Divided::of(&build, asked, &private.set, private.instances)?;
        let made = MissingImage {
            engine: private.engine.clone(),
            population: private.population.clone(),
            page_size_bytes,
            settings: kept_settings(build.release, &divided.all()),
        };
        let sizes = Sizes {
            pool_bytes: divided.pool.all_bytes(),
            redo_bytes: redo_bytes(&build, &divided.all()),
        };
        self.keep_preset(private, divided.preset);
        let arranged = resolved.map(ResolvedPrivate::arrange).transpose();
        let arranged = arranged.map_err(|error| at_key(plan, cell, error))?;
        arranged.iter().flat_map(|arranged| &arranged.notes).for_each(|note| self.note(note));
        // Those of shards are made together.
        let key = resolved.and_then(|resolved| resolved.image_keys().next().cloned());
        Ok(OfServer {
            sizes,
            files: arranged.as_ref().map_or(cell.files(), |arranged| files(cell, arranged)),
            devices: match arranged {
                Some(arranged) => arranged.devices,
                None => data_device(private).into_iter().collect(),
            },
            image: self.image(made, key),
        })
    }

    /// The index of the image.
    fn image(&mut self, made: MissingImage, key: Option<ImageKey>) -> usize {
        // Two builds of one version, where one is named by its path, share an image.
        let is_same =
            |image: &PlannedImage| image.made == made || (key.is_some() && image.key == key);
        let Planned { home, images, .. } = &mut self.planned;
        if let Some(index) = images.iter().position(is_same) {
            return index;
        }
        let there = home.as_ref().zip(key.as_ref()).and_then(|(home, key)| Image::find(home, key));
        let there_bytes = there.map(|image| image.data_bytes());
        images.push(PlannedImage { made, key, there_bytes });
        images.len() - 1
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
        if !self.planned.presets.contains(&on) {
            self.planned.presets.push(on);
        }
    }

    /// The server of a cell, where its engine is installed.
    fn build(&mut self, private: &Private) -> LabResult<Option<ServerBuild>> {
        if let Some(build) = self.builds.get(&private.engine) {
            return Ok(build.clone());
        }
        let Some(home) = &self.planned.home else { return Ok(None) };
        let build = installed_build(home, private)?;
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
        let notes = &mut self.planned.notes;
        if !notes.iter().any(|other| other == note) {
            notes.push(note.to_owned());
        }
    }
}

/// What is known of the devices of a server that is not installed: data is where its place says, on
/// any.
fn data_device(private: &Private) -> Option<RoleDevice> {
    let place = private.placement.places.get(&Role::Data)?;
    Some(RoleDevice { backing: String::new(), ..RoleDevice::of(Role::Data, Some(place), None) })
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
        LabError::Storage(StorageError::DeviceTooSmall { .. }) => {
            let is_named = cell.settings.iter().any(|setting| setting.name() == "used");
            if is_named { "used" } else { Role::Data.name() }
        }
        LabError::Unfit(_) => "set.innodb_page_size",
        LabError::Server(ServerError::Cores { .. }) => "cores",
        LabError::Server(ServerError::NotAServer { .. } | ServerError::WrongVersion { .. }) => {
            "engine"
        }
        _ => return error,
    };
    LabError::Plan(plan.refuse(cell, key, &error.to_string()))
}
