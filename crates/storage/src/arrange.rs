//! From places to what a server is started with.
//!
//! All files of emulated devices lie in one data directory, whatever their roles: the shim tells
//! them apart by their names. So a server under the shim runs with the paths that it would have
//! anyway, and only real directories need variables.

use crate::backing::{self, MemoryFiles, Need};
use crate::counters::ShimPage;
use crate::error::{StorageError, StorageResult, io_at};
use crate::instance_group::InstanceGroup;
use crate::library;
use crate::place::require_used;
use crate::variables::{
    doublewrite_in_system_tablespace, has_undo_tablespaces, require_inside, variables_of,
};
use base::{DilatedClock, Dilation, ServerRelease, given_in, parse_size, value_of};
use device::page::Snapshot;
use device::{CacheSetup, DeviceSetup, Profile, Role, RoleSetup, Setup};
use spec::{DatabaseBytes, Place, Placement};
use std::ffi::OsString;
use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};

/// Data and temporary files in the server's own directory, which is its working directory.
const OWN_DATA: &str = "data";
const OWN_TEMP: &str = "tmp";
/// Linux reads ahead so far.
const READ_AHEAD_BYTES: u32 = 128 << 10;
/// The papers' hosts had 64 GB, of which the buffer pool took 12 at most, for 50 to 100 GB of data:
/// the page cache held about half of the data. What is asked of storage depends on that share, so
/// it is kept.
const PAGE_CACHE_PERCENT: u64 = 50;
/// With one core, spinning for a due time would take the core from the server itself.
pub(crate) const SPIN_CORES_MIN: usize = 2;
/// The buffer pool where nothing else is set.
const BUFFER_POOL_BYTES: u64 = 1 << 30;
/// What undo, doublewrite, binary log and temporary files are assumed to need each, where one of
/// them is in memory.
const LOG_BYTES_ASSUMED: u64 = 512 << 20;

/// What is known of a server whose files are to be placed.
#[derive(Clone, Debug)]
pub struct ServerFiles {
    /// The server's binary: it must take a preloaded library.
    pub binary: PathBuf,
    pub release: ServerRelease,
    /// Bytes that its files will need.
    pub needed_bytes: u64,
    /// The redo log's part of these bytes.
    pub redo_bytes: u64,
    pub page_size_bytes: u32,
    /// Variables that the user set.
    pub set: Vec<(String, String)>,
    /// It outlives the command (`server start`): a data directory that is not there yet is made for
    /// it, and its files are in no memory that goes with a login.
    pub is_named: bool,
    pub group: InstanceGroup,
    /// How many times slower its clocks run, and the devices that are emulated for it.
    pub dilation: Dilation,
    /// Cores that it is kept to; none: those of the machine.
    pub cores: Option<u32>,
    /// What the database took that its preset was measured with; 0 without one.
    pub papers_bytes: u64,
}

/// What a server is started with so that its files are where they should be.
#[derive(Clone, Debug, Default)]
pub struct Arrangement {
    /// The data directory, where it is not in the server's own directory. Does not exist yet.
    pub data_directory: Option<PathBuf>,
    /// Further directories that `set` names. Do not exist yet.
    pub scratch: Vec<PathBuf>,
    /// Variables beside those that the user set; they replace a `log_bin` of the user's.
    pub set: Vec<(String, String)>,
    pub environment: Vec<(OsString, OsString)>,
    /// Files for the server's own directory, in which it works: the shim's setup and page.
    pub files: Vec<(String, Vec<u8>)>,
    /// For people.
    pub notes: Vec<String>,
    /// Each role's device, for results; none where nothing was asked for.
    pub devices: Vec<RoleDevice>,
    /// How many times slower the server's clock runs.
    pub dilation: Dilation,
    /// How many pages at random places the emulated device of its data reads or writes in a second.
    pub random_pages_per_s: Option<f64>,
}

/// The device of a role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoleDevice {
    pub role: Role,
    pub device: String,
    pub emulated: bool,
    /// [`Place::used`]
    pub used: Option<String>,
    /// [`Place::fingerprint`]
    pub profile_fingerprint: Option<String>,
    /// Where the bytes really are.
    pub backing: String,
}

impl RoleDevice {
    /// Of a role that has this place, whose bytes are below `location`; `None` for the server's own
    /// directory.
    pub fn of(role: Role, place: Option<&Place>, location: Option<&Path>) -> RoleDevice {
        RoleDevice {
            role,
            device: match (place, location) {
                (Some(place), _) => place.device_name(),
                (None, None) => "this machine's storage".to_owned(),
                (None, Some(path)) => path.display().to_string(),
            },
            emulated: matches!(place, Some(Place::Emulated { .. })),
            used: place.and_then(Place::used),
            profile_fingerprint: place.and_then(Place::fingerprint),
            backing: match location {
                None => "the server's own directory".to_owned(),
                Some(path) if backing::is_in_memory(path) => format!("memory ({})", path.display()),
                Some(path) => path.display().to_string(),
            },
        }
    }
}

impl Arrangement {
    /// Is the data directory on an emulated device?
    pub fn data_is_emulated(&self) -> bool {
        let mut devices = self.devices.iter();
        devices.any(|device| device.role == Role::Data && device.emulated)
    }
}

/// What this machine has to offer.
struct HostFacts {
    memory_files: Vec<MemoryFiles>,
    available_memory_bytes: Option<u64>,
    /// Of the server.
    cores: usize,
    /// One for all servers: they share their devices.
    clock: DilatedClock,
}

impl HostFacts {
    fn now(files: &ServerFiles) -> HostFacts {
        HostFacts {
            memory_files: backing::memory_files(!files.is_named),
            available_memory_bytes: backing::available_memory_bytes(),
            cores: files.cores.map_or_else(cores, |cores| cores as usize),
            clock: library::clock_from_now(files.dilation),
        }
    }
}

/// Decides where files go, of the first server where there are several. Roles other than data that
/// name equal emulated places share one device; data has one of its own.
pub fn arrange(placement: &Placement, files: &ServerFiles) -> StorageResult<Arrangement> {
    arrange_on(&HostFacts::now(files), placement, files, 0)
}

/// Does what [`arrange`] does for all servers, before any of them is started: what is free then has
/// room for all of them or for none, so that their bytes are in one kind of place.
pub fn arrange_all(placement: &Placement, files: &ServerFiles) -> StorageResult<Vec<Arrangement>> {
    let host = HostFacts::now(files);
    let numbers = 0..files.group.count;
    numbers.map(|number| arrange_on(&host, placement, files, number)).collect()
}

fn arrange_on(
    host: &HostFacts,
    placement: &Placement,
    files: &ServerFiles,
    number: u32,
) -> StorageResult<Arrangement> {
    if *placement == Placement::default() {
        return Ok(Arrangement::default());
    }
    let own = files.group.all(files.needed_bytes);
    let placement = &placement.occupied(DatabaseBytes { own, papers: files.papers_bytes });
    let mut arranger = Arranger::new(placement, files, host);
    arranger.arrangement.dilation = files.dilation;
    arranger.place_all()?;
    if placement.count || placement.is_emulated() {
        arranger.arrangement.environment = library::server_environment(&files.binary, host.clock)?;
        arranger.add_shim(number)?;
    }
    Ok(arranger.arrangement)
}

/// Cores that this process may use.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Sixteen hexadecimal digits that nobody else has.
pub(crate) fn random_tag() -> String {
    format!("{:016x}", RandomState::new().hash_one(std::process::id()))
}

struct Arranger<'a> {
    placement: &'a Placement,
    files: &'a ServerFiles,
    host: &'a HostFacts,
    /// Makes names of directories unique.
    tag: String,
    /// The directory below which the bytes of data are; `None`, here as of other roles, for the
    /// server's own.
    data: Option<PathBuf>,
    /// Temporary files' directory.
    temp: PathBuf,
    /// With its devices and roles, the shim's.
    setup: Setup,
    /// The place behind each of its devices that roles other than data share.
    shared: Vec<(&'a Place, usize)>,
    /// What the roles that were decided on take of memory.
    in_memory_bytes: u64,
    arrangement: Arrangement,
}

impl<'a> Arranger<'a> {
    fn new(placement: &'a Placement, files: &'a ServerFiles, host: &'a HostFacts) -> Arranger<'a> {
        Arranger {
            placement,
            files,
            host,
            tag: random_tag(),
            data: None,
            temp: PathBuf::from(OWN_TEMP),
            setup: Setup::default(),
            shared: Vec::new(),
            in_memory_bytes: 0,
            arrangement: Arrangement::default(),
        }
    }

    fn place_all(&mut self) -> StorageResult<()> {
        self.place_data()?;
        for role in Role::ALL.into_iter().skip(1) {
            match self.placement.places.get(&role) {
                Some(place) => self.place_role(role, place)?,
                None => self.follow_data(role),
            }
        }
        self.place_temp_with_data();
        let data_is_emulated = self.arrangement.data_is_emulated();
        if data_is_emulated && self.given("innodb_flush_method").is_none() {
            // The shim takes direct I/O on every file system; without it the server would fall back
            // where tmpfs has none.
            self.put("innodb_flush_method", "O_DIRECT".to_owned());
        }
        let data_is_placed = self.placement.places.contains_key(&Role::Data);
        require_inside(data_is_placed, &self.files.set, &self.arrangement.set)
    }

    fn place_data(&mut self) -> StorageResult<()> {
        let place = self.placement.places.get(&Role::Data);
        self.data = match place {
            None => None,
            Some(Place::Directory(path)) if self.files.is_named && !path.exists() => {
                Some(self.data_itself(path)?)
            }
            Some(Place::Directory(path) | Place::Emulated { at: Some(path), .. }) => {
                Some(self.data_at(path)?)
            }
            Some(Place::Emulated { at: None, .. }) => self.backing(self.files.needed_bytes),
        };
        if let Some(base) = &self.data {
            let inside = base.join(format!("mydyno-{}", self.tag));
            self.arrangement.data_directory.get_or_insert(inside);
        }
        if let Some(place @ Place::Emulated { profile, .. }) = place {
            // Servers share the device.
            require_used(profile, self.files.group.all(self.files.needed_bytes))?;
            self.emulate(Role::Data, place, profile);
            self.arrangement.random_pages_per_s = Some(profile.random_pages_per_s());
        }
        self.arrangement.devices.push(RoleDevice::of(Role::Data, place, self.data.as_deref()));
        Ok(())
    }

    /// A directory that is not there yet becomes the data directory itself. The one above it has to
    /// be there: a file system that was forgotten to be mounted is no reason to fill the one below.
    fn data_itself(&mut self, path: &Path) -> StorageResult<PathBuf> {
        let parent = self.data_at(path.parent().unwrap_or(path))?;
        self.arrangement.data_directory = path.file_name().map(|name| parent.join(name));
        Ok(parent)
    }

    fn data_at(&self, path: &Path) -> StorageResult<PathBuf> {
        self.directory(Role::Data, path, self.files.needed_bytes)
    }

    /// A real directory with room for so many bytes of each server.
    fn directory(&self, role: Role, path: &Path, bytes: u64) -> StorageResult<PathBuf> {
        let path = usable(path, Some(role))?;
        let free_bytes =
            backing::room_bytes(&path).map_err(io_at("ask for the space of", &path))?;
        let needed_bytes = self.files.group.all(bytes);
        if free_bytes >= needed_bytes {
            return Ok(path);
        }
        let what = match role {
            Role::Data => "the server's files".to_owned(),
            role => format!("the server's files of {}", role.name()),
        };
        let role = Some(role.name());
        Err(StorageError::Disk { role, path, what, needed_bytes, free_bytes })
    }

    /// Where so many bytes of emulated devices go that have no directory named.
    fn backing(&mut self, bytes: u64) -> Option<PathBuf> {
        let pool = self.given("innodb_buffer_pool_size").and_then(parse_size);
        let own_bytes = self.in_memory_bytes.saturating_add(bytes);
        // All servers go where one of them goes.
        let group = &self.files.group;
        let need = Need {
            bytes: group.all(own_bytes),
            buffer_pool_bytes: group.all(pool.unwrap_or(BUFFER_POOL_BYTES)),
        };
        let host = self.host;
        match backing::choose(need, &host.memory_files, host.available_memory_bytes) {
            Ok(directory) => {
                self.in_memory_bytes = own_bytes;
                let memory = directory.display();
                self.note(format!("the bytes of emulated devices are in memory, in {memory}"));
                Some(directory)
            }
            Err(why) => {
                self.note(format!(
                    "the bytes of emulated devices are on this machine's storage, because {why}; \
                     where it is slower than the emulated device, requests overrun, and that is \
                     counted (PROFILE@DIRECTORY names another place)"
                ));
                None
            }
        }
    }

    /// A role that is not named: where data is, on the device that data is on.
    fn follow_data(&mut self, role: Role) {
        let on_data = |place: &RoleSetup| place.role == Role::Data;
        if let Some(data) = self.setup.roles.iter().copied().find(on_data) {
            self.setup.roles.push(RoleSetup { role, ..data });
        }
        if let Some(data) = self.arrangement.devices.first().cloned() {
            self.arrangement.devices.push(RoleDevice { role, ..data });
        }
    }

    fn place_role(&mut self, role: Role, place: &'a Place) -> StorageResult<()> {
        let undo_tablespaces = self.given("innodb_undo_tablespaces");
        if role == Role::Undo && !has_undo_tablespaces(self.files.release, undo_tablespaces) {
            self.note(
                "undo stays where data is: this server has it in the system tablespace (see \
                 innodb_undo_tablespaces)",
            );
            self.follow_data(role);
            return Ok(());
        }
        // What the others will need is not known.
        let known_bytes = (role == Role::Redo).then_some(self.files.redo_bytes);
        let (location, must_move) = match place {
            Place::Directory(path) | Place::Emulated { at: Some(path), .. } => {
                (Some(self.directory(role, path, known_bytes.unwrap_or(0))?), true)
            }
            Place::Emulated { at: None, .. } if self.arrangement.data_is_emulated() => {
                (self.data.clone(), false)
            }
            // An emulated log beside real data: its bytes should not load data's device.
            Place::Emulated { at: None, .. } => {
                let memory = self.backing(known_bytes.unwrap_or(LOG_BYTES_ASSUMED));
                (memory.or_else(|| self.data.clone()), false)
            }
        };
        let location = match location {
            Some(base) if Some(&base) != self.data.as_ref() => {
                self.move_role(role, base, must_move)?
            }
            location => location,
        };
        if role == Role::Binlog {
            self.require_binlog();
        }
        if let Place::Emulated { profile, .. } = place {
            self.emulate(role, place, profile);
        }
        let mut device = RoleDevice::of(role, Some(place), location.as_deref());
        // A second one of the kind that data has is another device.
        let data = self.arrangement.devices.first();
        if device.emulated && data.is_some_and(|data| data.device == device.device) {
            device.device += " twin";
        }
        self.arrangement.devices.push(device);
        Ok(())
    }

    /// Puts a role on the device of its place, or on a new one.
    fn emulate(&mut self, role: Role, place: &'a Place, profile: &Profile) {
        let Setup { devices, roles, .. } = &mut self.setup;
        let shared = self.shared.iter().find(|(other, _)| *other == place);
        let device = shared.map_or(devices.len(), |(_, device)| *device);
        if shared.is_none() {
            let seed = device as u64 + 1;
            devices.push(DeviceSetup { profile: profile.clone(), seed, preconditioned: true });
            self.shared.extend((role != Role::Data).then_some((place, device)));
        }
        roles.push(RoleSetup { role, device });
    }

    /// Gives a role a directory of its own below `base` by the server's variables.
    fn move_role(
        &mut self,
        role: Role,
        base: PathBuf,
        must_move: bool,
    ) -> StorageResult<Option<PathBuf>> {
        let directory = base.join(format!("mydyno-{}-{}", self.tag, role.name()));
        let variables = variables_of(self.files.release, role, &directory);
        if variables.is_err() && !must_move {
            self.note(format!(
                "the bytes of {} are where data is: this server cannot have them elsewhere",
                role.name()
            ));
            return Ok(self.data.clone());
        }
        for (name, value) in variables? {
            // A bare switch says that there is to be a log, the place says where.
            if name != "log_bin" && self.given(name).is_some() {
                let variable = name.to_owned();
                return Err(StorageError::Contradiction { role: role.name(), variable });
            }
            self.put(name, value);
        }
        if role == Role::Temp {
            self.temp.clone_from(&directory);
        }
        self.arrangement.scratch.push(directory);
        Ok(Some(base))
    }

    /// Who places a binary log wants one.
    fn require_binlog(&mut self) {
        let is_placed = value_of(&self.arrangement.set, "log_bin").is_some();
        if self.given("log_bin").is_none() && !is_placed {
            self.put("log_bin", "binlog".to_owned());
            self.note(
                "a place for the binary log turns it on: log_bin is set, sync_binlog is the \
                 server's default",
            );
        }
    }

    /// Temporary files that are where data is leave the server's own directory with it.
    fn place_temp_with_data(&mut self) {
        let is_own = self.temp == Path::new(OWN_TEMP);
        let Some(base) = self.data.as_ref().filter(|_| is_own) else { return };
        if let Some(directory) = self.given("tmpdir") {
            self.temp = PathBuf::from(directory);
            return;
        }
        let directory = base.join(format!("mydyno-{}-temp", self.tag));
        self.put("tmpdir", directory.display().to_string());
        self.temp.clone_from(&directory);
        self.arrangement.scratch.push(directory);
    }

    /// The shim's setup and page, of the server of this number, from 0.
    fn add_shim(&mut self, number: u32) -> StorageResult<()> {
        let tables_bytes = self.files.needed_bytes.saturating_sub(self.files.redo_bytes);
        let of_tables = tables_bytes / 100 * PAGE_CACHE_PERCENT;
        let page_cache_bytes = self.placement.page_cache_bytes.unwrap_or(of_tables);
        let data = self.arrangement.data_directory.clone();
        let mut directories = vec![data.unwrap_or_else(|| PathBuf::from(OWN_DATA))];
        for directory in std::iter::once(&self.temp).chain(&self.arrangement.scratch) {
            if !directories.contains(directory) {
                directories.push(directory.clone());
            }
        }
        let ServerFiles { release, page_size_bytes, .. } = *self.files;
        let doublewrite_in_system_tablespace =
            doublewrite_in_system_tablespace(release, page_size_bytes);
        let setup = Setup {
            page: ShimPage::FILE.to_owned(),
            directories: directories.iter().map(|d| d.display().to_string()).collect(),
            doublewrite_in_system_tablespace,
            spin: self.host.cores >= SPIN_CORES_MIN,
            cache: CacheSetup {
                // One machine has one page cache.
                bytes: self.files.group.part(page_cache_bytes),
                read_ahead_bytes: READ_AHEAD_BYTES,
            },
            sharing: self.files.group.sharing(number),
            ..std::mem::take(&mut self.setup)
        };
        self.arrangement.files = vec![
            (ShimPage::SETUP_FILE.to_owned(), setup.to_toml()?.into_bytes()),
            (ShimPage::FILE.to_owned(), Snapshot::fresh()),
        ];
        Ok(())
    }

    /// What the user set; the last one counts.
    fn given(&self, name: &str) -> Option<&'a str> {
        given_in(&self.files.set, name)
    }

    fn put(&mut self, name: &str, value: String) {
        self.arrangement.set.push((name.to_owned(), value));
    }

    fn note(&mut self, note: impl Into<String>) {
        let note = note.into();
        if !self.arrangement.notes.contains(&note) {
            self.arrangement.notes.push(note);
        }
    }
}

/// A directory that files can be put into, without links in its path: the shim compares paths.
pub(crate) fn usable(path: &Path, role: Option<Role>) -> StorageResult<PathBuf> {
    let bad = |why: &str| StorageError::BadDirectory {
        role: role.map(Role::name),
        path: path.to_owned(),
        why: why.to_owned(),
    };
    let real = std::fs::canonicalize(path)
        .map_err(|error| bad(&format!("{error}; make it, or name another directory")))?;
    if !real.is_dir() {
        return Err(bad("it is no directory"));
    }
    if !backing::is_writable(&real) {
        return Err(bad("this user cannot write it"));
    }
    let is_text = real.to_str().is_some_and(|t| !t.chars().any(char::is_control));
    if !is_text {
        return Err(bad(
            "its name is not UTF-8 or holds a control character, and option files are text",
        ));
    }
    Ok(real)
}

#[cfg(test)]
mod tests;
