//! From options to a server that takes connections, step by step; whatever fails on the way leaves
//! nothing behind.

use crate::home::{self, FileLock};
use crate::initialise;
use crate::instance::{Instance, InstanceOptions, Lifetime, read_password};
use crate::instance_dir::{self, InstanceDir, require_apart};
use crate::launch::{Launch, ready_timeout};
use crate::made_with::acts_on_new_data_only;
use crate::named;
use crate::release_facts::STARTABLE;
use crate::settings::{self, DEFAULT_PAGE_SIZE_BYTES, Layout, redo_bytes};
use crate::{Home, ServerBuild, ServerError, ServerResult};
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Instant;

impl Instance {
    /// Starts a server and waits until it takes connections. What earlier commands left behind is
    /// swept away first.
    ///
    /// # Errors
    /// [`ServerError::Failed`] with the log where the server ends or is not ready in time;
    /// [`ServerError::Setting`] and [`ServerError::BadName`] for bad options;
    /// [`ServerError::Disk`], [`ServerError::Data`], [`ServerError::Io`];
    /// [`ServerError::AlreadyRunning`] and [`ServerError::Locked`] for named ones.
    pub fn start(
        home: &Home,
        build: &ServerBuild,
        options: InstanceOptions,
    ) -> ServerResult<Instance> {
        settings::validate(&options.preset)?;
        settings::validate(&options.set)?;
        require_startable(build)?;
        let swept = instance_dir::sweep(home)?;
        let notes = match options.lifetime {
            Lifetime::Named(_) => swept,
            // Results are no place for what other commands left.
            Lifetime::Private => Vec::new(),
        };
        let begun = Instant::now();
        let (mut dir, _lock, resumed) = open_directory(home, build, &options)?;
        let layout = lay_out(home, &mut dir, &options, resumed.as_ref())?;
        // Whoever was connected to the stopped server of that name can be so again.
        let kept = resumed.as_ref().and_then(|_| read_password(&layout.password()).ok());
        let set = all_set(&options);
        let patience = ready_timeout(redo_bytes(build, &set), options.random_pages_per_s);
        let mut launch = Launch {
            build: build.clone(),
            set,
            password: kept.map_or_else(initialise::random_password, Ok)?,
            ready_timeout: patience.mul_f64(options.dilation.factor().max(1.0)),
            notes,
            copied: None,
            layout,
            options,
        };
        if resumed.is_some() {
            let note = "the data of the stopped server of that name is used again";
            launch.notes.push(note.to_owned());
            let asked = launch.options.set.iter().map(|(name, _)| name.as_str());
            let late: Vec<&str> = asked.filter(|name| acts_on_new_data_only(name)).collect();
            if !late.is_empty() {
                let late = late.join(", ");
                launch.notes.push(format!(
                    "what is made from now on is made with {late}; data that are there stay as \
                     they are"
                ));
            }
        } else {
            launch.fill(home)?;
        }
        let secret = launch.password.reveal();
        home::write_private(&launch.layout.password(), format!("{secret}\n"))?;
        let filled = Instant::now();
        let (process, port, settings) = launch.run()?;
        // Until here a failure removes the directory of a new server.
        dir.keep |= launch.options.lifetime != Lifetime::Private;
        Ok(Instance {
            port,
            settings,
            process: Mutex::new(process),
            notes: std::mem::take(&mut launch.notes),
            start_times: [filled - begun, filled.elapsed()],
            launch,
            _dir: dir,
        })
    }
}

/// Refuses servers that are older than those that initialise and create accounts in the way that
/// this crate uses.
pub fn require_startable(build: &ServerBuild) -> ServerResult<()> {
    if build.release.has(STARTABLE) {
        return Ok(());
    }
    let (major, minor, patch) = STARTABLE.of(build.release.family).unwrap_or_default();
    Err(ServerError::WrongVersion {
        what: build.binary.display().to_string(),
        wanted: format!("{major}.{minor}.{patch} or newer"),
        got: build.version.clone(),
        todo: "take a newer one, or start it yourself and name it with --dsn".to_owned(),
    })
}

/// The server's directory, its lock where it has a name, and where its data is from an earlier
/// start.
fn open_directory(
    home: &Home,
    build: &ServerBuild,
    options: &InstanceOptions,
) -> ServerResult<(InstanceDir, Option<FileLock>, Option<PathBuf>)> {
    match &options.lifetime {
        Lifetime::Private => Ok((InstanceDir::private(home)?, None, None)),
        Lifetime::Named(name) => {
            let lock = named::lock(home, name)?;
            let resumed = named::resumable(home, name, build, options.image.as_ref())?;
            let dir = InstanceDir::named(home.instances().join(name), resumed.is_some())?;
            Ok((dir, Some(lock), resumed))
        }
    }
}

fn lay_out(
    home: &Home,
    dir: &mut InstanceDir,
    options: &InstanceOptions,
    resumed: Option<&PathBuf>,
) -> ServerResult<Layout> {
    let placed = resumed.or(options.data_directory.as_ref());
    let data = placed.cloned().unwrap_or_else(|| dir.path.join("data"));
    match &options.data_directory {
        _ if resumed.is_some() => {}
        Some(path) => dir.make_elsewhere(home, path)?,
        None => home::private_directory(&data)?,
    }
    for path in &options.scratch {
        dir.make_elsewhere(home, path)?;
    }
    // What is no path of a file is one in its own data directory here.
    for (_, value) in options.set.iter().filter(|(_, value)| value.contains('/')) {
        let path = data.join(value);
        let there = path.ancestors().find_map(|above| std::fs::canonicalize(above).ok());
        require_apart(home, &dir.path, &there.unwrap_or(path))?;
    }
    let layout = Layout { directory: dir.path.clone(), data, socket: dir.socket()? };
    home::private_directory(&layout.temporary())?;
    Ok(layout)
}

/// The preset, then the user's settings. A clone needs the page size of its image.
fn all_set(options: &InstanceOptions) -> Vec<(String, String)> {
    let mut set = [&options.preset[..], &options.set].concat();
    if let Some(image) = &options.image
        && image.key().page_size_bytes != DEFAULT_PAGE_SIZE_BYTES
    {
        let size = image.key().page_size_bytes.to_string();
        set.push(("innodb_page_size".to_owned(), size));
    }
    set
}
