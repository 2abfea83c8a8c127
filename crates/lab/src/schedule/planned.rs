//! A plan as this machine would execute it: its cells, their order, and what they need. Nothing is
//! started.

use crate::error::LabResult;
use crate::measure::pacing::connections_most;
use crate::target::pool::POOL_BYTES_DEFAULT;
use crate::target::private::ResolvedPrivate;
use crate::target::resolved::Resolved;
use plan::{
    CellNeeds, Files, Host, MissingImage, Needs, Plan, PlannedCell, Setting, Shard, Sizes, Turn,
    execution_order,
};
use server::preset::Translated;
use server::{Home, IMAGES_VARIABLE, ImageKey, REDO_BYTES_BASE, ServerError};
use spec::{Cell, Server};
use std::collections::BTreeSet;
use std::time::Duration;
use storage::RoleDevice;

/// The buffer pool and the redo log of a server where nothing else is set.
pub(crate) const DEFAULT_SIZES: Sizes =
    Sizes { pool_bytes: POOL_BYTES_DEFAULT, redo_bytes: REDO_BYTES_BASE };

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
    /// Where private servers of a plan live.
    pub(crate) home: Option<Home>,
    /// In the order of the matrix.
    pub cells: Vec<(PlannedCell, CellNeeds)>,
    /// As long as `cells`.
    pub(crate) servers: Vec<CellServer>,
    /// In the order of execution: of a shard, its own.
    pub turns: Vec<Turn>,
    pub(crate) shard: Option<Shard>,
    /// What becomes of presets; each engine, preset and scale once, with each set of variables
    /// beside it.
    pub presets: Vec<PresetOn>,
    pub(crate) images: Vec<PlannedImage>,
    pub host: Host,
    /// For people.
    pub notes: Vec<String>,
}

/// The server of a cell.
#[derive(Clone, Debug, Default)]
pub(crate) struct CellServer {
    /// None where the engine is not installed, and of a server that is there.
    pub(crate) private: Option<ResolvedPrivate>,
    /// Where its files would go now.
    pub(crate) devices: Vec<RoleDevice>,
    /// Index of its image.
    pub(crate) image: Option<usize>,
}

/// A populated database that cells are measured on clones of.
#[derive(Clone, Debug)]
pub(crate) struct PlannedImage {
    /// What it is, and what it takes to make it.
    pub(crate) made: MissingImage,
    /// `None` where its engine is not installed.
    pub(crate) key: Option<ImageKey>,
    /// Of its data directory, where it is there.
    pub(crate) there_bytes: Option<u64>,
}

/// A preset on an engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PresetOn {
    pub engine: String,
    pub translated: Translated,
}

/// The one cell of a command, whose lab has this name.
///
/// # Errors
/// What this machine lacks.
pub fn planned_cell(name: &str, what: Cell) -> LabResult<Planned> {
    let mut planned = Planned { name: name.to_owned(), ..Planned::default() };
    let index = planned.add(what, Vec::new())?;
    planned.turns = vec![Turn { index, repeat: 1 }];
    Ok(planned)
}

/// The one cell of a command that measures it several times, each time on a server of its own and
/// with other inputs.
///
/// # Errors
/// As [`planned_cell`].
pub fn planned_repeats(name: &str, what: Cell, repeats: u32) -> LabResult<Planned> {
    let mut planned = Planned::of_search(name);
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
        let of_plan = |plan: &Plan| execution_order(self.cells.len(), plan.schedule());
        self.source.plan().map_or_else(|| self.turns.clone(), of_plan)
    }

    /// The lab of a search, without a cell yet.
    pub fn of_search(name: &str) -> Planned {
        Planned { name: name.to_owned(), source: LabSource::Search, ..Planned::default() }
    }

    /// Adds a cell, which `settings` tell from the others, and returns its index.
    ///
    /// # Errors
    /// What this machine lacks.
    pub(crate) fn add(&mut self, mut what: Cell, settings: Vec<Setting>) -> LabResult<usize> {
        let mut server = CellServer::default();
        let mut most = 0;
        if let Server::Private(private) = &mut what.server {
            most = connections_most(&what.load, private.population.warehouses)?;
            let of = ResolvedPrivate::of(&Home::from_env()?, private, most)?;
            // A binary has the name that its version gives it.
            private.engine.clone_from(&of.build.engine);
            server.private = Some(of);
        }
        let index = self.cells.len();
        let cell = PlannedCell {
            ordinal: index as u32 + 1,
            varying: settings.clone(),
            settings,
            what,
            connections_most: most,
            repeats: 1,
            repeat_time_limit: Duration::MAX,
        };
        let needs = CellNeeds::of(&cell, DEFAULT_SIZES, Files::Home);
        self.cells.push((cell, needs));
        self.servers.push(server);
        Ok(index)
    }

    /// What these turns need; nothing is known of a command's.
    ///
    /// # Errors
    /// [`LabError::Plan`] where a cell needs more than the machine has, or all of them more time
    /// than the plan allows.
    pub fn needs(&self, turns: &[Turn]) -> LabResult<Needs> {
        let Some(plan) = self.source.plan() else {
            return Ok(Needs::default());
        };
        let repeats: Vec<_> = turns.iter().map(|turn| &self.cells[turn.index]).collect();
        Ok(plan.needs(&repeats, &self.missing_images(turns), &self.host)?)
    }

    /// Databases that have to be populated for these turns.
    pub fn missing_images(&self, turns: &[Turn]) -> Vec<MissingImage> {
        let mut missing = self.images_of(turns);
        missing.retain(|image| image.there_bytes.is_none());
        missing.into_iter().map(|image| image.made.clone()).collect()
    }

    /// What to know where not all images of these turns may be kept at a time.
    pub fn note_on_images(&self, turns: &[Turn]) -> Option<String> {
        let max_bytes = self.host.images_max_bytes;
        let of_turns = self.images_of(turns);
        let bytes = |image: &&PlannedImage| image.there_bytes.unwrap_or(image.made.disk_bytes());
        let all_bytes: u64 = of_turns.iter().map(bytes).sum();
        // One that is needed but once in a row is not populated again.
        let mut in_turn: Vec<_> = self.image_indexes(turns).collect();
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
            Ok(match self.server(*turn)? {
                Resolved::Private(private) => private.image_keys().cloned().collect(),
                Resolved::External(_) => Vec::new(),
            })
        };
        turns.iter().map(images).collect()
    }

    /// The server of a turn.
    ///
    /// # Errors
    /// [`ServerError::NotInstalled`]
    pub(crate) fn server(&self, turn: Turn) -> Result<Resolved<'_>, ServerError> {
        match (&self.cells[turn.index].0.what.server, &self.servers[turn.index].private) {
            (Server::External(external), _) => Ok(Resolved::External(external)),
            (Server::Private(_), Some(private)) => Ok(Resolved::Private(private)),
            (Server::Private(private), None) => {
                Err(ServerError::NotInstalled { engine: private.engine.clone() })
            }
        }
    }

    fn images_of(&self, turns: &[Turn]) -> Vec<&PlannedImage> {
        let indexes: BTreeSet<usize> = self.image_indexes(turns).collect();
        indexes.into_iter().map(|index| &self.images[index]).collect()
    }

    fn image_indexes(&self, turns: &[Turn]) -> impl Iterator<Item = usize> {
        turns.iter().filter_map(move |turn| self.servers[turn.index].image)
    }
}
