//! Named servers whose files are placed. What was arranged at the first start holds for every later one: it is kept beside
//! the server, because its data is where it was put.

use crate::devices::{Placed, places_of, storage_of};
use crate::error::LabError;
use crate::private::files_of;
use device::Role;
use device::page::Snapshot;
use serde::{Deserialize, Serialize};
use server::{Home, Instance, InstanceOptions, ServerBuild, Storage, start_named};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use storage::{Arrangement, Placement, ShimPage, arrange};
use store::CellPlace;

/// A server to start that outlives the command.
#[derive(Clone, Debug, Default)]
pub struct NamedSpec {
    pub name: String,
    /// Server variables.
    pub set: Vec<(String, String)>,
    /// Where its files go; of a stopped server that is started again, where they are.
    pub placement: Placement,
    /// The data directory itself, where it is not placed; must not exist yet.
    pub data_directory: Option<PathBuf>,
    pub port: Option<u16>,
}

/// What will be loaded is not known: ten warehouses and room to grow.
const TABLES_BYTES_ASSUMED: u64 = 2 << 30;
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
    environment: Vec<(OsString, OsString)>,
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

const FORMAT: u32 = 1;

/// Starts a named server, with devices emulated from the start. Returns notes beside those of the instance.
///
/// # Errors
/// Where a place cannot be used or is another one than before, or the server does not start.
pub fn start_named_on(
    home: &Home,
    build: &ServerBuild,
    spec: &NamedSpec,
) -> Result<(Instance, Vec<String>), LabError> {
    let directory = home.instances().join(&spec.name);
    let (kept, notes) = match read(&directory)? {
        Some(kept) => (require_same(kept, spec)?, Vec::new()),
        None if spec.placement == Placement::default() => return plain(home, build, spec),
        None => new(home, build, spec)?,
    };
    let options = InstanceOptions {
        storage: if kept.data_is_emulated {
            Storage::Emulated
        } else {
            Storage::Real
        },
        set: spec.set.iter().chain(&kept.set).cloned().collect(),
        data_directory: kept.data_directory.clone().or(spec.data_directory.clone()),
        scratch: kept.scratch.clone(),
        environment: kept.environment.clone(),
        files: kept.files_now()?,
        port: spec.port,
        ..InstanceOptions::default()
    };
    let instance = start_named(home, build, &spec.name, options)?;
    let placed = kept.placed(instance.directory());
    placed.require_shim(build)?;
    if let Some(page) = &placed.page {
        page.arm(true)?;
    }
    Ok((instance, notes))
}

/// Lets the devices of a named server be this machine's, so that its shutdown need not wait for a slow one.
///
/// # Errors
/// Where what is kept of it cannot be read or written.
pub fn disarm_named(home: &Home, name: &str) -> Result<(), LabError> {
    match placed_of(&home.instances().join(name))?.page {
        Some(page) => Ok(page.arm(false)?),
        None => Ok(()),
    }
}

fn plain(
    home: &Home,
    build: &ServerBuild,
    spec: &NamedSpec,
) -> Result<(Instance, Vec<String>), LabError> {
    let options = InstanceOptions {
        set: spec.set.clone(),
        data_directory: spec.data_directory.clone(),
        port: spec.port,
        ..InstanceOptions::default()
    };
    let instance = start_named(home, build, &spec.name, options)?;
    Ok((instance, Vec::new()))
}

/// Where the files of the named server in `directory` are, where they were placed.
pub(crate) fn placed_of(directory: &Path) -> Result<Placed, LabError> {
    Ok(read(directory)?.map_or_else(Placed::default, |kept| kept.placed(directory)))
}

fn new(
    home: &Home,
    build: &ServerBuild,
    spec: &NamedSpec,
) -> Result<(Kept, Vec<String>), LabError> {
    let known = server::named(home)?;
    if known.iter().any(|server| server.name == spec.name) {
        return Err(LabError::Unfit(format!(
            "the server {:?} holds data that was not placed; stop it with `mydyno server stop {} --remove` first, or choose \
             another name",
            spec.name, spec.name
        )));
    }
    let files = files_of(build, &spec.set, TABLES_BYTES_ASSUMED)?;
    let arranged = arrange(&spec.placement, &files)?;
    let kept = Kept::of(&spec.placement, &arranged)?;
    Ok((kept, arranged.notes))
}

fn asked(placement: &Placement) -> Vec<(String, String)> {
    let places = placement.places.iter();
    places
        .map(|(role, place)| (Role::name(*role).to_owned(), place.to_string()))
        .collect()
}

/// A stopped server goes on where its files are.
fn require_same(kept: Kept, spec: &NamedSpec) -> Result<Kept, LabError> {
    let wanted = &spec.placement;
    let same = (&kept.asked, kept.page_cache_bytes, kept.count)
        == (&asked(wanted), wanted.page_cache_bytes, wanted.count);
    if same || *wanted == Placement::default() {
        return Ok(kept);
    }
    let places: Vec<String> = kept
        .asked
        .iter()
        .map(|(role, place)| format!("--{role} {place}"))
        .collect();
    Err(LabError::Unfit(format!(
        "the server {:?} was started with {}, and its files are there; leave the places out, or stop it with `mydyno server \
         stop {} --remove` first",
        spec.name,
        places.join(" "),
        spec.name
    )))
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
            "{} is damaged or of another mydyno; remove its server with `mydyno server stop --remove`",
            path.display()
        ))),
    }
}

impl Kept {
    fn of(placement: &Placement, arranged: &Arrangement) -> Result<Kept, LabError> {
        let is_page = |name: &str| name == ShimPage::FILE;
        let mut files = Vec::new();
        for (name, bytes) in arranged.files.iter().filter(|(name, _)| !is_page(name)) {
            let text = String::from_utf8(bytes.clone()).map_err(|error| {
                LabError::Unfit(format!("{name} of the arrangement is no text: {error}"))
            })?;
            files.push((name.clone(), text));
        }
        let places = places_of(placement, arranged);
        Ok(Kept {
            format: FORMAT,
            asked: asked(placement),
            page_cache_bytes: placement.page_cache_bytes,
            count: placement.count,
            data_is_emulated: storage_of(placement) == Storage::Emulated,
            data_directory: arranged.data_directory.clone(),
            scratch: arranged.scratch.clone(),
            set: arranged.set.clone(),
            environment: arranged.environment.clone(),
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
            backing: place.backing.clone(),
        };
        Placed {
            places: self.places.iter().map(place).collect(),
            page: self.has_page.then(|| ShimPage::of(directory)),
            notes: Vec::new(),
        }
    }
}
