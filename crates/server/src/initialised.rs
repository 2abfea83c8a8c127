//! Images of data directories that have just been initialised: a server takes seconds to make its
//! system tables, and a copy of them is there at once.

use crate::error::io_at;
use crate::home::{self, FileLock};
use crate::image::{Image, ImageContents, ImageKey};
use crate::initialise::{initialise, require_room};
use crate::instance_dir::InstanceDir;
use crate::kept_images::{images_max_bytes, shrink_images};
use crate::made_with::changes_new_directory;
use crate::settings::{DEFAULT_PAGE_SIZE_BYTES, Layout, Settings};
use crate::{Home, ServerBuild, ServerResult};
use std::fs;

/// Raised when another data directory comes of the same build.
const VERSION: u32 = 1;
/// Little redo, which the server of a clone makes to its own size. What the file system of the home
/// cannot do matters to no copy.
const SETTINGS: [(&str, &str); 3] = [
    ("innodb_log_file_size", "48M"),
    ("innodb_flush_method", "fsync"),
    ("innodb_use_native_aio", "OFF"),
];
/// Directories of files that are made with a data directory.
const DIRECTORIES: [&str; 2] = ["aria_log_dir_path", "innodb_data_home_dir"];

/// Is a data directory for these settings like that of any other server, but for its page size?
fn is_common(settings: &Settings) -> bool {
    let is_elsewhere = |name: &str| DIRECTORIES.contains(&name.trim_start_matches("loose_"));
    let lines = settings.lines();
    !(changes_new_directory(lines) || lines.iter().any(|(name, _)| is_elsewhere(name)))
}

/// The image for a server of this build with these settings, made where there is none. `None`
/// where the settings want a data directory of their own.
///
/// # Errors
/// [`ServerError::Failed`] with the log where the server cannot initialise a data directory;
/// [`ServerError::Disk`], [`ServerError::Data`], [`ServerError::Io`].
pub(crate) fn image(
    home: &Home,
    build: &ServerBuild,
    wanted: &Settings,
) -> ServerResult<Option<Image>> {
    if !is_common(wanted) {
        return Ok(None);
    }
    let page_size = wanted.number("innodb_page_size").and_then(|bytes| u32::try_from(bytes).ok());
    let page_size_bytes = page_size.unwrap_or(DEFAULT_PAGE_SIZE_BYTES);
    let key = ImageKey {
        engine: build.engine.clone(),
        version: build.version.clone(),
        contents: ImageContents::Initialised { initialised: VERSION },
        page_size_bytes,
        seed: 0,
        settings: Vec::new(),
        table_options: None,
    };
    // Who makes it at the same time as others spares them the work.
    let lock = home.images().join(format!(".lock-initialise-{}", key.directory_name()));
    let _lock = FileLock::wait(&lock)?;
    if let Some(image) = Image::find(home, &key) {
        return Ok(Some(image));
    }
    let mut dir = InstanceDir::private(home)?;
    let data = dir.path.join("data");
    let layout = Layout { directory: dir.path.clone(), socket: dir.socket()?, data };
    home::private_directory(&layout.data)?;
    home::private_directory(&layout.temporary())?;
    let page_size = ("innodb_page_size".to_owned(), page_size_bytes.to_string());
    let set = SETTINGS.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let set: Vec<(String, String)> = set.chain([page_size]).collect();
    let settings = Settings::new(build, &layout, 0, &set);
    require_room(build, &layout, &settings)?;
    fs::write(layout.my_cnf(), settings.my_cnf()).map_err(io_at("write", &layout.my_cnf()))?;
    initialise(build, &layout)?;
    let image = Image::publish(home, &key, &layout.data, "")?;
    shrink_images(home, images_max_bytes()?, &[key])?;
    Ok(Some(image))
}

#[cfg(test)]
mod tests {
    use super::is_common;
    use crate::ServerBuild;
    use crate::settings::{Layout, Settings};
    use base::{ServerFamily, ServerRelease};
    use std::path::PathBuf;

    #[test]
    fn what_a_data_directory_keeps_is_not_common() {
        let build = ServerBuild {
            engine: "x".into(),
            release: ServerRelease { family: ServerFamily::Mysql, version: (8, 0, 15) },
            version: "8.0.15".into(),
            binary: "/x/bin/mysqld".into(),
            basedir: "/x".into(),
            library_path: None,
            origin: "x".into(),
        };
        let path = PathBuf::from("/x");
        let layout = Layout { directory: path.clone(), data: path.clone(), socket: path };
        let common = |set: &[(&str, &str)]| {
            let set: Vec<(String, String)> =
                set.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
            is_common(&Settings::new(&build, &layout, 0, &set))
        };
        assert!(common(&[]));
        assert!(common(&[("innodb_log_file_size", "64M"), ("innodb_undo_directory", "/y")]));
        for name in [
            "lower-case-table-names",
            "innodb_data_file_path",
            "loose_innodb_encrypt_tables",
            "innodb_data_home_dir",
            "Innodb_Undo_Tablespaces",
        ] {
            assert!(!common(&[(name, "1")]), "{name}");
        }
    }
}
