//! Named servers whose files are placed. What was arranged at the first start holds for every later one: it is kept beside
//! the server, because its data is where it was put.

use crate::devices::{Placed, places_of};
use crate::error::LabError;
use crate::pool::Divided;
use crate::preset::{PresetSpec, configured_file, lines, with_users};
use crate::private::files_of;
use device::Role;
use device::page::Snapshot;
use serde::{Deserialize, Serialize};
use server::preset::Translated;
use server::{
    AfterStop, Ending, Home, Instance, InstanceOptions, ServerBuild, Storage, start_named,
    stop_named,
};
use spec::Placement;
use std::path::{Path, PathBuf};
use std::time::Duration;
use storage::{Arrangement, InstanceGroup, ServerFiles, ShimPage, arrange, is_in_memory};
use store::CellPlace;

/// A server to start that outlives the command.
#[derive(Clone, Debug, Default)]
pub struct NamedSpec {
    pub name: String,
    /// Server variables of the white papers, which yield to `set`.
    pub preset: Option<PresetSpec>,
    /// Server variables.
    pub set: Vec<(String, String)>,
    /// Where its files go; of a stopped server that is started again, where they are or nothing. A directory for data that
    /// is not there yet becomes the data directory itself.
    pub placement: Placement,
    pub port: Option<u16>,
}

/// What will be loaded is not known: ten warehouses and room to grow.
const TABLES_BYTES_ASSUMED: u64 = 2 << 30;
/// Nor is half of it, which the modelled page cache of private servers has.
const PAGE_CACHE_BYTES: u64 = 1 << 30;
/// A full pool of dirty pages takes its time.
const STOP_TIMEOUT: Duration = Duration::from_secs(120);
const KEPT_FILE: &str = "places.json";

/// What was arranged, in the server's directory.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Kept {
    format: u32,
    /// As it was asked for, by role.
    asked: Vec<(String, String)>,
    page_cache_bytes: Option<u64>,
    count: bool,
    data_is_emulated: bool,
    data_directory: Option<PathBuf>,
    scratch: Vec<PathBuf>,
    set: Vec<(String, String)>,
    /// All but the page, which is new at each start.
    files: Vec<(String, String)>,
    has_page: bool,
    places: Vec<KeptPlace>,
}

#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct KeptPlace {
    role: String,
    device: String,
    emulated: bool,
    backing: String,
}

const FORMAT: u32 = 2;

/// Starts a named server, with devices emulated from the start. Returns notes beside those of the instance.
///
/// # Errors
/// Where a place cannot be used or is another one than before, or the server does not start.
pub fn start_named_on(
    home: &Home,
    build: &ServerBuild,
    spec: &NamedSpec,
) -> Result<(Instance, Vec<String>), LabError> {
    let known = server::named(home)?;
    // Without a record, what is there is of a start that was killed half-way, and nothing to go on with.
    let is_known = known.iter().any(|server| server.name == spec.name);
    let kept = match is_known {
        true => read(&home.instances().join(&spec.name))?,
        false => None,
    };
    let is_plain = spec.placement == Placement::default();
    let Divided { preset, set, .. } = Divided::of(build, spec.preset, &spec.set, 1)?;
    let spec = &NamedSpec {
        set,
        ..spec.clone()
    };
    let preset_note = preset.as_ref().and_then(Translated::note);
    let (kept, mut notes) = match kept {
        Some(kept) => (kept.resumed(spec)?, Vec::new()),
        None if is_plain => {
            let instance = plain(home, build, spec, preset.as_ref())?;
            return Ok((instance, preset_note.into_iter().collect()));
        }
        None if is_known => return Err(not_placed(&spec.name)),
        None => {
            // What dead commands left takes none of the room that is looked for.
            server::sweep(home)?;
            new(build, spec, preset.as_ref())?
        }
    };
    notes.extend(preset_note);
    if kept.directories().any(is_in_memory_above) {
        notes.push(
            "files of it are in memory, and are gone after a restart of this machine".to_owned(),
        );
    }
    let options = InstanceOptions {
        storage: if kept.data_is_emulated {
            Storage::Emulated
        } else {
            Storage::Real
        },
        preset: lines(preset.as_ref()),
        set: spec.set.iter().chain(&kept.set).cloned().collect(),
        data_directory: kept.data_directory.clone(),
        scratch: kept.scratch.clone(),
        environment: match kept.has_page {
            // Anew at each start: mydyno may have moved.
            true => storage::server_environment(&build.binary)?,
            false => Vec::new(),
        },
        files: [kept.files_now()?, vec![configured_file(preset.as_ref())?]].concat(),
        port: spec.port,
        ..InstanceOptions::default()
    };
    let instance = start_named(home, build, &spec.name, options)?;
    match emulate(&kept.placed(instance.directory()), build) {
        Ok(()) => Ok((instance, notes)),
        Err(error) => Err(not_emulated(&instance, &error)),
    }
}

fn emulate(placed: &Placed, build: &ServerBuild) -> Result<(), LabError> {
    placed.require_shim(build)?;
    match &placed.page {
        Some(page) => Ok(page.arm(true)?),
        None => Ok(()),
    }
}

/// A server that runs on other devices than were asked for is nobody's.
fn not_emulated(instance: &Instance, error: &LabError) -> LabError {
    LabError::Unfit(match instance.stop(STOP_TIMEOUT) {
        Ok(_) => format!("{error}; the server was stopped again"),
        Err(stuck) => format!("{error}; the server still runs: {stuck}"),
    })
}

/// Stops a named server. Its devices are this machine's from then on, so that its shutdown need not wait for a slow one. Returns
/// notes too.
///
/// # Errors
/// As [`stop_named`].
pub fn stop_named_on(
    home: &Home,
    name: &str,
    after: AfterStop,
) -> Result<(Ending, Option<String>), LabError> {
    let mut note = None;
    let ending = stop_named(home, name, STOP_TIMEOUT, after, |directory| {
        note = disarm(directory)
            .err()
            .map(|error| format!("its devices stay emulated while it stops: {error}"));
    })?;
    Ok((ending, note))
}

fn disarm(directory: &Path) -> Result<(), LabError> {
    match placed_of(directory)?.page {
        Some(page) => Ok(page.arm(false)?),
        None => Ok(()),
    }
}

fn plain(
    home: &Home,
    build: &ServerBuild,
    spec: &NamedSpec,
    preset: Option<&Translated>,
) -> Result<Instance, LabError> {
    let options = InstanceOptions {
        preset: lines(preset),
        set: spec.set.clone(),
        files: vec![configured_file(preset)?],
        port: spec.port,
        ..InstanceOptions::default()
    };
    Ok(start_named(home, build, &spec.name, options)?)
}

/// Where the files of the named server in `directory` are, where they were placed.
pub(crate) fn placed_of(directory: &Path) -> Result<Placed, LabError> {
    Ok(read(directory)?.map_or_else(Placed::default, |kept| kept.placed(directory)))
}

fn not_placed(name: &str) -> LabError {
    LabError::Unfit(format!(
        "the server {name:?} has data that was not placed; leave the places out to go on with it, or choose another --name \
         (`mydyno server stop {name} --remove` removes it with its data)"
    ))
}

fn new(
    build: &ServerBuild,
    spec: &NamedSpec,
    preset: Option<&Translated>,
) -> Result<(Kept, Vec<String>), LabError> {
    let set = with_users(preset, &spec.set);
    let files = ServerFiles {
        is_named: true,
        ..files_of(build, &set, TABLES_BYTES_ASSUMED, InstanceGroup::of_one())?
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
    let kept = Kept::of(&spec.placement, &arranged)?;
    notes.extend(arranged.notes);
    Ok((kept, notes))
}

/// Is the directory, or was it before a restart of this machine, on a file system in memory?
fn is_in_memory_above(path: &Path) -> bool {
    path.parent().is_some_and(is_in_memory)
}

fn asked(placement: &Placement) -> Vec<(String, String)> {
    let places = placement.places.iter();
    places
        .map(|(role, place)| (Role::name(*role).to_owned(), place.to_string()))
        .collect()
}

fn read(directory: &Path) -> Result<Option<Kept>, LabError> {
    let path = directory.join(KEPT_FILE);
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            return Err(LabError::Unfit(format!(
                "cannot read {}: {error}",
                path.display()
            )));
        }
    };
    match serde_json::from_str::<Kept>(&text) {
        Ok(kept) if kept.format == FORMAT => Ok(Some(kept)),
        _ => Err(LabError::Unfit(format!(
            "{} is damaged or of another mydyno; use that one, or choose another --name (`mydyno server stop --remove` removes \
             the server with its data)",
            path.display()
        ))),
    }
}

impl Kept {
    /// A stopped server goes on where its files are.
    fn resumed(self, spec: &NamedSpec) -> Result<Kept, LabError> {
        self.require_same(&spec.name, &spec.placement)?;
        self.require_there(&spec.name)?;
        let mut asked = self.asked.iter();
        let data_is_placed = asked.any(|(role, _)| role == Role::Data.name());
        storage::require_inside(data_is_placed, &spec.set, &self.set)?;
        Ok(self)
    }

    fn require_same(&self, name: &str, wanted: &Placement) -> Result<(), LabError> {
        let same = (&self.asked, self.page_cache_bytes, self.count)
            == (&asked(wanted), wanted.page_cache_bytes, wanted.count);
        if same || *wanted == Placement::default() {
            return Ok(());
        }
        let mut was: Vec<String> = self
            .asked
            .iter()
            .map(|(role, place)| format!("--{role} {place}"))
            .collect();
        was.extend(self.page_cache_bytes.map(|b| format!("--page-cache {b}")));
        was.extend(self.count.then(|| "--count-io".to_owned()));
        Err(LabError::Unfit(format!(
            "the server {name:?} was started with {}, and its files are there; say the same or leave it out to go on with them, \
             or choose another --name (`mydyno server stop {name} --remove` removes it with its data)",
            was.join(" ")
        )))
    }

    /// Directories of its files beside its own, but for those that are temporary.
    fn directories(&self) -> impl Iterator<Item = &Path> {
        let is_temp = |path: &PathBuf| {
            let mut set = self.set.iter();
            set.any(|(name, value)| name == "tmpdir" && Path::new(value) == path)
        };
        let scratch = self.scratch.iter().filter(move |path| !is_temp(path));
        self.data_directory
            .iter()
            .chain(scratch)
            .map(PathBuf::as_path)
    }

    fn require_there(&self, name: &str) -> Result<(), LabError> {
        let Some(gone) = self.directories().find(|path| !path.is_dir()) else {
            return Ok(());
        };
        let path = gone.display();
        let remove = format!("`mydyno server stop {name} --remove`");
        Err(LabError::Unfit(if is_in_memory_above(gone) {
            format!(
                "the data of the server {name:?} was in memory ({path}) and is gone; {remove} removes what is left of it, and it \
                 can be started anew"
            )
        } else {
            format!(
                "files of the server {name:?} are not there: {path}; mount their file system, or give the server up with {remove}"
            )
        }))
    }

    fn of(placement: &Placement, arranged: &Arrangement) -> Result<Kept, LabError> {
        let is_page = |name: &str| name == ShimPage::FILE;
        let mut files = Vec::new();
        for (name, bytes) in arranged.files.iter().filter(|(name, _)| !is_page(name)) {
            let text = String::from_utf8(bytes.clone()).map_err(|error| {
                LabError::Unfit(format!("{name} of the arrangement is no text: {error}"))
            })?;
            files.push((name.clone(), text));
        }
        let places = places_of(arranged);
        Ok(Kept {
            format: FORMAT,
            asked: asked(placement),
            page_cache_bytes: placement.page_cache_bytes,
            count: placement.count,
            data_is_emulated: arranged.data_is_emulated(),
            data_directory: arranged.data_directory.clone(),
            scratch: arranged.scratch.clone(),
            set: arranged.set.clone(),
            files,
            has_page: arranged.files.iter().any(|(name, _)| is_page(name)),
            places: places
                .into_iter()
                .map(|place| KeptPlace {
                    role: place.role,
                    device: place.device,
                    emulated: place.emulated,
                    backing: place.backing,
                })
                .collect(),
        })
    }

    /// What the server's directory holds at a start: what the shim is told, a new page, and this itself.
    fn files_now(&self) -> Result<Vec<(String, Vec<u8>)>, LabError> {
        let own = serde_json::to_vec_pretty(self)
            .map_err(|error| LabError::Unfit(format!("a path is not UTF-8: {error}")))?;
        let mut files = vec![(KEPT_FILE.to_owned(), own)];
        for (name, text) in &self.files {
            files.push((name.clone(), text.clone().into_bytes()));
        }
        if self.has_page {
            files.push((ShimPage::FILE.to_owned(), Snapshot::fresh()));
        }
        Ok(files)
    }

    fn placed(&self, directory: &Path) -> Placed {
        let place = |place: &KeptPlace| CellPlace {
            role: place.role.clone(),
            device: place.device.clone(),
            emulated: place.emulated,
            // Nothing goes on with a cell of such a server.
            profile_fingerprint: None,
            backing: place.backing.clone(),
        };
        Placed {
            places: self.places.iter().map(place).collect(),
            page: self.has_page.then(|| ShimPage::of(directory)),
            ..Placed::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Kept;
    use device::Role;
    use spec::{Place, Placement};
    use std::path::PathBuf;
    use storage::Arrangement;

    fn kept(placement: &Placement, arranged: &Arrangement) -> Kept {
        Kept::of(placement, arranged).unwrap()
    }

    #[test]
    fn a_restart_says_the_same_or_nothing() {
        let on = |path: &str| Placement {
            places: [(Role::Data, Place::Directory(PathBuf::from(path)))].into(),
            ..Placement::default()
        };
        let first = kept(&on("/mnt/x/a"), &Arrangement::default());
        first.require_same("s", &on("/mnt/x/a")).unwrap();
        first.require_same("s", &Placement::default()).unwrap();
        let error = first.require_same("s", &on("/mnt/x/b")).unwrap_err();
        let said = error.to_string();
        assert!(said.contains("--data /mnt/x/a,"), "{said}");
        assert!(said.find("leave it out") < said.find("--remove"), "{said}");
    }

    #[test]
    fn data_that_is_gone_is_told() {
        let temp = tempfile::tempdir().unwrap();
        let arranged = |data: &str| Arrangement {
            data_directory: Some(PathBuf::from(data)),
            scratch: vec![temp.path().join("temp")],
            set: vec![(
                "tmpdir".to_owned(),
                temp.path().join("temp").to_str().unwrap().to_owned(),
            )],
            ..Arrangement::default()
        };
        let gone = |data: &str| {
            let kept = kept(&Placement::default(), &arranged(data));
            kept.require_there("s").err().map(|error| error.to_string())
        };
        assert_eq!(gone(temp.path().to_str().unwrap()), None);
        let memory = gone("/dev/shm/mydyno-that-is-not-there").unwrap();
        assert!(memory.contains("in memory"), "{memory}");
        let unmounted = gone("/nonexistent/x").unwrap();
        assert!(unmounted.contains("mount"), "{unmounted}");
    }
}
