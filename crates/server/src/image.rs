//! Images: data directories, populated or just initialised, kept once and cloned for every cell, so
//! that each starts from the same bytes and loading is paid once. An image is there whole or not at
//! all: it is renamed into place.

use crate::copy::{Storage, Tree};
use crate::error::io_at;
use crate::home::{self, FileLock};
use crate::{Home, ServerBuild, ServerError, ServerResult};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

pub(crate) const DESCRIPTION: &str = "image.json";
const DATA: &str = "data";
/// Every data directory has it.
pub(crate) const SYSTEM_TABLESPACE: &str = "ibdata1";
/// The server's identity and its warm-up list: a clone makes its own.
const NOT_CLONED: [&str; 2] = ["auto.cnf", "ib_buffer_pool"];
const REDO_FILE: &str = "ib_logfile";
/// InnoDB's own limit (innodb_log_files_in_group).
const REDO_FILES_MAX: u32 = 100;
/// Characters of settings in the name of an image. File systems take 255 in all.
const SETTINGS_CHARACTERS_MAX: usize = 100;
/// Free space that stays beside a clone.
const SPARE_BYTES: u64 = 256 << 20;

/// What tells one image from another.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct ImageKey {
    /// [`ServerBuild::engine`].
    pub engine: String,
    /// [`ServerBuild::version`].
    pub version: String,
    #[serde(flatten)]
    pub contents: ImageContents,
    pub page_size_bytes: u32,
    pub seed: u64,
    /// Variables that it was made with, beside defaults: see [`crate::kept_settings`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<(String, String)>,
    /// What ends the CREATE TABLE of its tables.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub table_options: Option<String>,
}

/// The database in an image.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(untagged)]
pub enum ImageContents {
    Tpcc {
        /// The version of the TPC-C schema and population rules.
        schema_version: u32,
        warehouses: u32,
        foreign_keys: bool,
        /// The partitions of each table that can be split; 0 for none. Images of earlier versions,
        /// which do not say it, are not split.
        #[serde(default)]
        partitions: u32,
        /// HISTORY has a primary key, which clusters of several primaries want, and the data
        /// directory a place in the history of such a cluster.
        #[serde(default)]
        history_key: bool,
        /// The first and the last warehouse of a shard; none where it has all of them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        shard: Option<(u32, u32)>,
    },
    /// Of a workload that is a list of statements, by what tells its rows from those of others.
    Script { contents: String },
    /// System tables and nothing else, by the version of how they are made.
    Initialised { initialised: u32 },
}

/// A data directory that is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    directory: PathBuf,
    description: Description,
    /// When it was last cloned, or made, as it was found.
    pub last_used_utc_ns: i64,
}

/// The file beside the data.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
struct Description {
    format: u32,
    #[serde(flatten)]
    key: ImageKey,
    data_bytes: u64,
    created_utc_ns: i64,
    note: String,
}

const FORMAT: u32 = 1;

/// Where a clone goes, by role; what is not placed lies in the data directory.
pub(crate) struct CloneTo {
    pub(crate) data: PathBuf,
    pub(crate) redo: Option<PathBuf>,
    pub(crate) undo: Option<PathBuf>,
    pub(crate) storage: Storage,
    /// Bytes of redo that the server will have.
    pub(crate) redo_bytes: u64,
    /// The server makes its redo files anew, so those of the image are not copied.
    pub(crate) redo_is_remade: bool,
}

impl ImageKey {
    /// The name of its directory: every part is in it, readable as far as it is short.
    pub(crate) fn directory_name(&self) -> String {
        let (tables, indexes) = match &self.contents {
            ImageContents::Tpcc {
                schema_version,
                warehouses,
                foreign_keys,
                partitions,
                history_key,
                shard,
            } => {
                let of = shard.map(|(first, last)| format!("{first}-{last}of"));
                let of = of.unwrap_or_default();
                let keyed = if *history_key { "_hk" } else { "" };
                let indexes = match (foreign_keys, partitions) {
                    (true, _) => "_fk".to_owned(),
                    (false, 0) => "_nofk".to_owned(),
                    (false, partitions) => format!("_nofk_p{partitions}"),
                };
                (format!("schema{schema_version}_w{of}{warehouses}"), indexes + keyed)
            }
            ImageContents::Script { contents } => (plain(contents), String::new()),
            ImageContents::Initialised { initialised } => {
                (format!("initialised{initialised}"), String::new())
            }
        };
        let settings = self.settings.iter();
        let settings = settings.map(|(name, value)| format!("_{name}-{value}"));
        let options = self.table_options.iter().map(|options| format!("_{options}"));
        let settings = short(&settings.chain(options).collect::<String>());
        let (engine, version) = (plain(&self.engine), plain(&self.version));
        let ImageKey { page_size_bytes, seed, .. } = self;
        format!("{engine}_{version}_{tables}_page{page_size_bytes}_seed{seed}{indexes}{settings}")
    }
}

/// A text as a part of a file name.
fn plain(text: &str) -> String {
    let keep = |c: char| c.is_ascii_alphanumeric() || ".-".contains(c);
    text.chars().map(|c| if keep(c) { c } else { '_' }).collect()
}

/// As [`plain`], with a hash in place of what would make the name too long for a file system, or
/// where another text would have the same.
fn short(text: &str) -> String {
    let name = plain(text);
    if name.len() <= SETTINGS_CHARACTERS_MAX && name == text {
        return name;
    }
    let hash = openssl::sha::sha256(text.as_bytes());
    let hash: String = hash.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
    name.chars().take(SETTINGS_CHARACTERS_MAX).chain(['-']).chain(hash.chars()).collect()
}

impl Image {
    /// The image of that key, where there is one. One of another format counts as none, and so does
    /// one that lacks a file or the end of one.
    pub fn find(home: &Home, key: &ImageKey) -> Option<Image> {
        let image = Image::in_directory(home.images().join(key.directory_name()));
        image.filter(|image| image.description.key == *key)
    }

    /// The image in this directory, where it has that name. A copy under another name is none.
    pub(crate) fn in_directory(directory: PathBuf) -> Option<Image> {
        let path = directory.join(DESCRIPTION);
        let description: Description =
            serde_json::from_str(&fs::read_to_string(&path).ok()?).ok()?;
        let used = fs::metadata(&path).and_then(|metadata| metadata.modified()).ok()?;
        let used_ns = used.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        let last_used_utc_ns = i64::try_from(used_ns).unwrap_or(i64::MAX);
        let is_whole = description.format == FORMAT
            && Tree::read(&directory.join(DATA)).ok()?.bytes() == description.data_bytes;
        let has_its_name = home::file_name(&directory) == description.key.directory_name();
        (is_whole && has_its_name).then_some(Image { directory, description, last_used_utc_ns })
    }

    /// Keeps the data directory of a server that was stopped cleanly, by moving it (by copying it
    /// from another file system). Stop it with innodb_fast_shutdown = 0, or every clone purges for
    /// the first. `note` is the caller's own document. Where another process published the same key
    /// first, its image is returned and `data` stays where it is.
    ///
    /// # Errors
    /// [`ServerError::Data`] where `data` is no data directory or in use; [`ServerError::Disk`],
    /// [`ServerError::Io`].
    pub fn publish(home: &Home, key: &ImageKey, data: &Path, note: &str) -> ServerResult<Image> {
        let name = key.directory_name();
        let lock = home.images().join(format!(".lock-{name}"));
        let _lock = FileLock::wait(&lock)?;
        if let Some(image) = Image::find(home, key) {
            return Ok(image);
        }
        require_stopped(data)?;
        let bytes = Tree::read(data)?.bytes();
        let prefix = format!(".tmp-{name}-");
        home::remove_left_over(&home.images(), |name| name.starts_with(&prefix))?;
        let work = home::temporary_directory(&home.images(), &prefix)?;
        let staged = work.path().join(&name);
        home::private_directory(&staged)?;
        let description = staged.join(DESCRIPTION);
        let described = Description {
            format: FORMAT,
            key: key.clone(),
            data_bytes: bytes,
            created_utc_ns: base::now_utc_ns(),
            note: note.to_owned(),
        };
        let text = serde_json::to_string_pretty(&described).map_err(|error| {
            ServerError::data(&description, format!("cannot describe the image: {error}"))
        })?;
        fs::write(&description, text).map_err(io_at("write", &description))?;
        let place = home.images().join(&name);
        // A damaged one, or one of another format.
        home::remove_tree_if_there(&place)?;
        move_tree(data, &staged.join(DATA))?;
        fs::rename(&staged, &place).map_err(io_at("move the image to", &place))?;
        Image::find(home, key).ok_or_else(|| {
            let why = "the image is not there after it was published; another process removed it";
            ServerError::data(place, why)
        })
    }

    pub fn key(&self) -> &ImageKey {
        &self.description.key
    }

    /// The name of its directory; what tells it from the others is in it.
    pub fn name(&self) -> String {
        self.key().directory_name()
    }

    /// What the caller of [`Image::publish`] kept with it.
    pub fn note(&self) -> &str {
        &self.description.note
    }

    /// Bytes of its data directory.
    pub fn data_bytes(&self) -> u64 {
        self.description.data_bytes
    }

    /// Bytes of a clone with so many bytes of redo.
    pub fn clone_bytes(&self, redo_bytes: u64) -> u64 {
        let own: u64 = (0..REDO_FILES_MAX).map_while(|number| self.redo_file_bytes(number)).sum();
        self.data_bytes().saturating_sub(own).saturating_add(redo_bytes)
    }

    /// The length of `ib_logfile<number>`, where it has one.
    pub(crate) fn redo_file_bytes(&self, number: u32) -> Option<u64> {
        let file = self.directory.join(DATA).join(format!("{REDO_FILE}{number}"));
        fs::metadata(file).ok().map(|metadata| metadata.len())
    }

    /// Where it lies.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Another server would upgrade or refuse the files.
    pub(crate) fn require_build(&self, build: &ServerBuild) -> ServerResult<()> {
        let key = self.key();
        if key.engine == build.engine && key.version == build.version {
            return Ok(());
        }
        let why = format!(
            "this image is of {} {} and cannot be used by {} {}; make one with that server",
            key.engine, key.version, build.engine, build.version
        );
        Err(ServerError::data(&self.directory, why))
    }

    /// Copies the data to directories that are there and empty.
    pub(crate) fn clone_into(&self, to: &CloneTo) -> ServerResult<()> {
        let _in_use = use_image(&self.directory)?;
        let from = self.directory.join(DATA);
        let mut tree = Tree::read(&from)?;
        let what = format!("a clone of {}", self.directory.display());
        let redo_elsewhere = to.redo.as_ref().map(|redo| to.data.join(redo));
        let own_redo_bytes = if redo_elsewhere.is_some() { 0 } else { to.redo_bytes };
        let needed_bytes = self.clone_bytes(own_redo_bytes).saturating_add(SPARE_BYTES);
        home::require_free(&to.data, needed_bytes, &what)?;
        if let Some(redo) = redo_elsewhere {
            home::require_free(&redo, to.redo_bytes, "the redo log")?;
        }
        tree.files.retain(|(path, _)| {
            let is_own = NOT_CLONED.iter().any(|name| path == Path::new(name));
            let is_redo = path.to_string_lossy().starts_with(REDO_FILE);
            !(is_own || to.redo_is_remade && is_redo)
        });
        tree.copy(&from, |path| to.place(path), to.storage)
    }
}

impl CloneTo {
    /// Where a file of the data directory goes: redo and undo files follow their variables.
    fn place(&self, path: &Path) -> PathBuf {
        let first = path.components().next().map(|first| first.as_os_str().to_string_lossy());
        let first = first.unwrap_or_default();
        let role = if first.starts_with(REDO_FILE) || first == "#innodb_redo" {
            &self.redo
        } else if first.starts_with("undo_0") || first.starts_with("undo0") {
            &self.undo
        } else {
            &None
        };
        // A relative directory is relative to the data directory, for the server too.
        self.data.join(role.as_deref().unwrap_or(Path::new(""))).join(path)
    }
}

/// Takes an image for reading, so that nobody removes it meanwhile, and makes it the most recently
/// used.
pub(crate) fn use_image(directory: &Path) -> ServerResult<FileLock> {
    let path = directory.join(DESCRIPTION);
    let in_use = FileLock::share(&path)?;
    let now = Duration::from_nanos(u64::try_from(base::now_utc_ns()).unwrap_or(0));
    in_use.0.set_modified(UNIX_EPOCH + now).map_err(io_at("note the use of", &path))?;
    Ok(in_use)
}

/// A running server holds a lock on its system tablespace.
fn require_stopped(data: &Path) -> ServerResult<()> {
    let tablespace = data.join(SYSTEM_TABLESPACE);
    let file = fs::OpenOptions::new().read(true).write(true).open(&tablespace);
    let file = file.map_err(|error| {
        let why = format!("this is no data directory of a server ({SYSTEM_TABLESPACE}: {error})");
        ServerError::data(data, why)
    })?;
    let lock = rustix::fs::FlockOperation::NonBlockingLockExclusive;
    rustix::fs::fcntl_lock(&file, lock).map_err(|_| {
        ServerError::data(data, "a server still runs on this data directory; stop it first")
    })
}

fn move_tree(from: &Path, to: &Path) -> ServerResult<()> {
    match fs::rename(from, to) {
        Err(error) if error.kind() == std::io::ErrorKind::CrossesDevices => {}
        moved => return moved.map_err(io_at("move the data directory to", to)),
    }
    let tree = Tree::read(from)?;
    home::private_directory(to)?;
    home::require_free(to, tree.bytes().saturating_add(SPARE_BYTES), "an image")?;
    tree.copy(from, |path| to.join(path), Storage::Real)
}

#[cfg(test)]
mod tests {
    use super::{CloneTo, Image, ImageContents, ImageKey, Storage};
    use crate::{Home, ServerError};
    use std::fs;
    use std::path::{Path, PathBuf};

    fn key() -> ImageKey {
        ImageKey {
            engine: "mysql-5.7".into(),
            version: "5.7.22".into(),
            contents: ImageContents::Tpcc {
                schema_version: 1,
                warehouses: 10,
                foreign_keys: true,
                partitions: 0,
                history_key: false,
                shard: None,
            },
            page_size_bytes: 16384,
            seed: 7,
            settings: Vec::new(),
            table_options: None,
        }
    }

    fn data(root: &Path) -> PathBuf {
        let data = root.join("some-data");
        fs::create_dir_all(data.join("tpcc")).unwrap();
        for (name, text) in [
            ("ibdata1", "system"),
            ("ib_logfile0", "redo"),
            ("undo_001", "undo"),
            ("undo003", "undo"),
            ("auto.cnf", "uuid"),
            ("ib_buffer_pool", "1,2"),
            ("tpcc/stock.ibd", "rows"),
        ] {
            fs::write(data.join(name), text).unwrap();
        }
        data
    }

    #[test]
    fn published_found_and_cloned_by_role() {
        let temp = tempfile::tempdir().unwrap();
        let home = Home::at(temp.path().join("h")).unwrap();
        assert_eq!(Image::find(&home, &key()), None);
        let data = data(temp.path());
        let image = Image::publish(&home, &key(), &data, "{\"checksum\":1}").unwrap();
        assert!(!data.exists());
        assert_eq!(image.note(), "{\"checksum\":1}");
        assert_eq!(Image::find(&home, &key()), Some(image.clone()));
        let other = ImageKey { seed: 8, ..key() };
        assert_eq!(Image::find(&home, &other), None);
        let contents = ImageContents::Tpcc {
            schema_version: 1,
            warehouses: 10,
            foreign_keys: false,
            partitions: 8,
            history_key: false,
            shard: None,
        };
        let split = ImageKey { contents, ..key() };
        assert_eq!(Image::find(&home, &split), None);
        let contents = ImageContents::Tpcc {
            schema_version: 1,
            warehouses: 10,
            foreign_keys: true,
            partitions: 0,
            history_key: false,
            shard: Some((6, 10)),
        };
        let shard = ImageKey { contents, ..key() };
        assert_eq!(Image::find(&home, &shard), None);
        assert!(shard.directory_name().ends_with("_schema1_w6-10of10_page16384_seed7_fk"));
        assert!(split.directory_name().ends_with("_schema1_w10_page16384_seed7_nofk_p8"));

        let to = CloneTo {
            data: temp.path().join("clone"),
            redo: Some(temp.path().join("redo")),
            undo: Some(temp.path().join("undo")),
            storage: Storage::Real,
            redo_bytes: 100,
            redo_is_remade: false,
        };
        for directory in [&to.data, to.redo.as_ref().unwrap(), to.undo.as_ref().unwrap()] {
            fs::create_dir(directory).unwrap();
        }
        image.clone_into(&to).unwrap();
        assert!(!to.data.join("auto.cnf").exists() && !to.data.join("ib_buffer_pool").exists());
        assert!(!to.data.join("ib_logfile0").exists());
        assert_eq!(fs::read_to_string(temp.path().join("redo/ib_logfile0")).unwrap(), "redo");
        assert_eq!(fs::read_to_string(to.data.join("tpcc/stock.ibd")).unwrap(), "rows");
        // As MySQL and as MariaDB call them.
        for undo in ["undo_001", "undo003"] {
            assert_eq!(fs::read_to_string(temp.path().join("undo").join(undo)).unwrap(), "undo");
            assert!(!to.data.join(undo).exists());
        }

        let no_room = CloneTo { redo: None, redo_bytes: 1 << 60, ..to };
        let error = image.clone_into(&no_room).unwrap_err();
        assert!(matches!(error, ServerError::Disk { .. }), "{error}");

        assert_eq!(image.clone_bytes(100), image.data_bytes() - "redo".len() as u64 + 100);
        let to = CloneTo {
            data: temp.path().join("remade"),
            redo: None,
            undo: None,
            storage: Storage::Emulated,
            redo_bytes: 100,
            redo_is_remade: true,
        };
        fs::create_dir(&to.data).unwrap();
        image.clone_into(&to).unwrap();
        assert!(!to.data.join("ib_logfile0").exists() && to.data.join("ibdata1").is_file());
        assert!(to.data.join("undo_001").is_file() && to.data.join("undo003").is_file());
    }

    #[test]
    fn what_data_are_made_with_is_a_part_of_the_name() {
        let of = |value: &str| {
            let settings = vec![("innodb_file_per_table".to_owned(), value.to_owned())];
            ImageKey { settings, ..key() }.directory_name()
        };
        assert!(of("OFF").ends_with("_fk_innodb_file_per_table-OFF"));
        // What a file name cannot have, and what is too long for one.
        assert_ne!(of("/a/b"), of("/a_b"));
        let table_options = Some("ROW_FORMAT=COMPRESSED".to_owned());
        let compressed = ImageKey { table_options, ..key() }.directory_name();
        assert!(compressed.contains("_fk_ROW_FORMAT_COMPRESSED-"), "{compressed}");
        let (long, longer) = (of(&"x".repeat(300)), of(&"x".repeat(301)));
        assert!(long != longer && longer.len() < 200, "{longer}");
    }

    #[test]
    fn the_second_publisher_keeps_its_data() {
        let temp = tempfile::tempdir().unwrap();
        let home = Home::at(temp.path().join("h")).unwrap();
        let first = data(temp.path());
        Image::publish(&home, &key(), &first, "1").unwrap();
        let second = data(temp.path());
        let image = Image::publish(&home, &key(), &second, "2").unwrap();
        assert_eq!(image.note(), "1");
        assert!(second.is_dir());
        let error =
            Image::publish(&home, &ImageKey { seed: 9, ..key() }, &temp.path().join("no"), "")
                .unwrap_err();
        assert!(error.to_string().contains("no data directory"), "{error}");
    }

    #[test]
    fn a_damaged_image_is_none_and_is_replaced() {
        let temp = tempfile::tempdir().unwrap();
        let home = Home::at(temp.path().join("h")).unwrap();
        let image = Image::publish(&home, &key(), &data(temp.path()), "1").unwrap();
        let redo = image.directory().join("data/ib_logfile0");
        fs::write(&redo, "re").unwrap();
        assert_eq!(Image::find(&home, &key()), None);
        fs::write(&redo, "redo").unwrap();
        assert!(Image::find(&home, &key()).is_some());
        fs::remove_file(&redo).unwrap();
        assert_eq!(Image::find(&home, &key()), None);
        fs::write(image.directory().join("image.json"), "{").unwrap();
        assert_eq!(Image::find(&home, &key()), None);
        let image = Image::publish(&home, &key(), &data(temp.path()), "2").unwrap();
        assert_eq!(image.note(), "2");
    }

    #[test]
    fn contents_are_read_as_they_were_written_by_any_version() {
        let script = ImageContents::Script { contents: "sbtest1_4x1000".to_owned() };
        for contents in [key().contents, script] {
            let key = ImageKey { contents, ..key() };
            let text = serde_json::to_string(&key).unwrap();
            assert_eq!(serde_json::from_str::<ImageKey>(&text).unwrap(), key);
        }
        let first = r#"{"engine":"mysql-5.7","version":"5.7.22","schema_version":1,"warehouses":10,
            "page_size_bytes":16384,"seed":7,"foreign_keys":true}"#;
        assert_eq!(serde_json::from_str::<ImageKey>(first).unwrap(), key());
    }
}
