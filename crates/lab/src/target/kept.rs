//! What was arranged at the first start of a named server, kept beside the server: it holds for
//! every later start, because its data is where it was put.

use crate::error::{LabError, LabResult, unfit};
use crate::target::placed::{Placed, places_of};
use crate::target::preset::PresetSpec;
use base::Dilation;
use device::Role;
use device::page::Snapshot;
use serde::{Deserialize, Serialize};
use spec::{OF_REAL_DEVICES, Placement, PopulationSpec};
use std::path::{Path, PathBuf};
use storage::{Arrangement, ShimPage, is_in_memory};
use store::CellPlace;

/// A server to start that outlives the command.
#[derive(Clone, Debug, Default)]
pub struct NamedSpec {
    pub name: String,
    /// Server variables of the white papers, which yield to `set`.
    pub preset: Option<PresetSpec>,
    /// Server variables.
    pub set: Vec<(String, String)>,
    /// Where its files go; of a stopped server that is started again, where they are or nothing. A
    /// directory for data that is not there yet becomes the data directory itself.
    pub placement: Placement,
    pub port: Option<u16>,
    /// The database that a new server begins with; None: an empty one.
    pub population: Option<PopulationSpec>,
    /// How many times slower its clock runs, until it is stopped.
    pub dilation: Dilation,
}

/// A named server cannot be started with a dilated clock on a real device.
pub(crate) fn not_dilatable() -> LabError {
    unfit(format!("--dilate: {OF_REAL_DEVICES}"))
}

const KEPT_FILE: &str = "places.json";

/// What was arranged, in the server's directory.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Kept {
    format: u32,
    /// As it was asked for, by role.
    asked: Vec<(String, String)>,
    used: Option<String>,
    page_cache_bytes: Option<u64>,
    count: bool,
    pub(crate) data_is_emulated: bool,
    pub(crate) data_directory: Option<PathBuf>,
    pub(crate) scratch: Vec<PathBuf>,
    pub(crate) set: Vec<(String, String)>,
    /// All but the page, which is new at each start.
    files: Vec<(String, String)>,
    pub(crate) has_page: bool,
    /// Without fingerprints, as nothing goes on with a cell of such a server.
    places: Vec<CellPlace>,
    /// How many times slower its clock runs since its last start; none: real time.
    dilation: Option<f64>,
}

const FORMAT: u32 = 4;

/// Where the files of the named server in `directory` are, where they were placed.
pub(crate) fn placed_of(directory: &Path) -> LabResult<Placed> {
    Ok(read(directory)?.map_or_else(Placed::default, |kept| kept.placed(directory)))
}

/// Is the directory, or was it before a restart of this machine, on a file system in memory?
pub(crate) fn is_in_memory_above(path: &Path) -> bool {
    path.parent().is_some_and(is_in_memory)
}

fn asked(placement: &Placement) -> Vec<(String, String)> {
    let places = placement.places.iter();
    places.map(|(role, place)| (Role::name(*role).to_owned(), place.to_string())).collect()
}

pub(crate) fn read(directory: &Path) -> LabResult<Option<Kept>> {
    let path = directory.join(KEPT_FILE);
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unfit(format!("cannot read {}: {error}", path.display()))),
    };
    match serde_json::from_str::<Kept>(&text) {
        Ok(kept) if kept.format == FORMAT => Ok(Some(kept)),
        _ => Err(unfit(format!(
            "{} is damaged or of another mydyno; use that one, or choose another --name (`mydyno \
             server stop --remove` removes the server with its data)",
            path.display()
        ))),
    }
}

impl Kept {
    /// A stopped server goes on where its files are.
    pub(crate) fn resumed(self, spec: &NamedSpec) -> LabResult<Kept> {
        self.require_same(&spec.name, &spec.placement)?;
        self.require_there(&spec.name)?;
        let data_is_placed = self.asked.iter().any(|(role, _)| role == Role::Data.name());
        storage::require_inside(data_is_placed, &spec.set, &self.set)?;
        Ok(self)
    }

    fn require_same(&self, name: &str, wanted: &Placement) -> LabResult<()> {
        let used = wanted.used.map(|used| used.to_string());
        let same = (&self.asked, &self.used, self.page_cache_bytes, self.count)
            == (&asked(wanted), &used, wanted.page_cache_bytes, wanted.count);
        if same || *wanted == Placement::default() {
            return Ok(());
        }
        let mut was: Vec<String> =
            self.asked.iter().map(|(role, place)| format!("--{role} {place}")).collect();
        was.extend(self.used.as_ref().map(|share| format!("--used {share}")));
        was.extend(self.page_cache_bytes.map(|b| format!("--page-cache {b}")));
        was.extend(self.count.then(|| "--count-io".to_owned()));
        Err(unfit(format!(
            "the server {name:?} was started with {}, and its files are there; say the same or \
             leave it out to go on with them, or choose another --name (`mydyno server stop {name} \
             --remove` removes it with its data)",
            was.join(" ")
        )))
    }

    /// The same, for a start with a clock that is dilated.
    ///
    /// # Errors
    /// Where files are on a real device.
    pub(crate) fn dilated(self, dilation: Dilation) -> LabResult<Kept> {
        if !dilation.is_none() && !self.places.iter().all(|place| place.emulated) {
            return Err(not_dilatable());
        }
        Ok(Kept { dilation: (!dilation.is_none()).then_some(dilation.factor()), ..self })
    }

    /// Directories of its files beside its own, but for those that are temporary.
    pub(crate) fn directories(&self) -> impl Iterator<Item = &Path> {
        let is_temp = |path: &PathBuf| {
            self.set.iter().any(|(name, value)| name == "tmpdir" && Path::new(value) == path)
        };
        let scratch = self.scratch.iter().filter(move |path| !is_temp(path));
        self.data_directory.iter().chain(scratch).map(PathBuf::as_path)
    }

    fn require_there(&self, name: &str) -> LabResult<()> {
        let Some(gone) = self.directories().find(|path| !path.is_dir()) else {
            return Ok(());
        };
        let path = gone.display();
        let remove = format!("`mydyno server stop {name} --remove`");
        Err(unfit(if is_in_memory_above(gone) {
            format!(
                "the data of the server {name:?} was in memory ({path}) and is gone; {remove} \
                 removes what is left of it, and it can be started anew"
            )
        } else {
            format!(
                "files of the server {name:?} are not there: {path}; mount their file system, or \
                 give the server up with {remove}"
            )
        }))
    }

    pub(crate) fn of(placement: &Placement, arranged: &Arrangement) -> LabResult<Kept> {
        let is_page = |name: &str| name == ShimPage::FILE;
        let texts = arranged.files.iter().filter(|(name, _)| !is_page(name));
        let texts = texts.map(|(name, bytes)| match String::from_utf8(bytes.clone()) {
            Ok(text) => Ok((name.clone(), text)),
            Err(error) => Err(format!("{name} of the arrangement is no text: {error}")),
        });
        Ok(Kept {
            format: FORMAT,
            asked: asked(placement),
            used: placement.used.map(|used| used.to_string()),
            page_cache_bytes: placement.page_cache_bytes,
            count: placement.count,
            data_is_emulated: arranged.data_is_emulated(),
            data_directory: arranged.data_directory.clone(),
            scratch: arranged.scratch.clone(),
            set: arranged.set.clone(),
            files: texts.collect::<Result<_, _>>().map_err(LabError::Unfit)?,
            has_page: arranged.files.iter().any(|(name, _)| is_page(name)),
            dilation: None,
            places: places_of(arranged),
        })
    }

    /// What the server's directory holds at a start: what the shim is told, a new page, and this
    /// itself.
    pub(crate) fn files_now(&self) -> LabResult<Vec<(String, Vec<u8>)>> {
        let own = serde_json::to_vec_pretty(self)
            .map_err(|error| unfit(format!("a path is not UTF-8: {error}")))?;
        let mut files = vec![(KEPT_FILE.to_owned(), own)];
        let texts = self.files.iter();
        files.extend(texts.map(|(name, text)| (name.clone(), text.clone().into_bytes())));
        files.extend(self.has_page.then(|| (ShimPage::FILE.to_owned(), Snapshot::fresh())));
        Ok(files)
    }

    pub(crate) fn placed(&self, directory: &Path) -> Placed {
        Placed {
            places: self.places.clone(),
            page: self.has_page.then(|| ShimPage::in_directory(directory)),
            dilation: self.dilation.and_then(Dilation::new).unwrap_or(Dilation::NONE),
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
            set: vec![("tmpdir".to_owned(), temp.path().join("temp").to_str().unwrap().to_owned())],
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
