//! The server that is measured.

use crate::defaults;
use crate::dilate::Dilate;
use crate::fault::Fault;
use crate::identity::{as_text, as_text_or_none, canonical_text};
use crate::place::Placement;
use crate::topology::Topology;
use crate::workload::{DatabaseKind, SbtestTables};
use base::{WarehouseRange, Warehouses};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use std::path::{Path, PathBuf};

/// The server that is measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub enum Server {
    /// One that is started for the measurement, or several.
    Private(Private),
    /// One that is there already.
    External(External),
}

impl Server {
    /// How its servers belong together.
    pub fn topology(&self) -> Topology {
        match self {
            Server::Private(private) => private.topology,
            Server::External(external) => external.topology,
        }
    }

    /// How many times slower its clock is to run; that of one which is there runs as it does.
    pub fn dilate(&self) -> Dilate {
        self.private().map_or(Dilate::NONE, |private| private.dilate)
    }

    /// The same for equal servers.
    pub(crate) fn canonical(&self) -> Server {
        match self {
            Server::Private(private) => Server::Private(private.canonical()),
            Server::External(external) => Server::External(External {
                schemas: external.schemas.filter(|count| *count > 1),
                ..external.clone()
            }),
        }
    }

    /// The private server, where it is one.
    pub fn private(&self) -> Option<&Private> {
        match self {
            Server::Private(private) => Some(private),
            Server::External(_) => None,
        }
    }
}

/// A server that somebody else started, with the database that it has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct External {
    /// Of the server and its schema, or of several that belong together; none where option files
    /// name it. One text may name several hosts.
    pub dsns: Vec<String>,
    /// How they belong together.
    pub topology: Topology,
    /// Instead of the user's option files.
    #[serde(serialize_with = "as_path")]
    pub defaults_file: Option<PathBuf>,
    /// The connections are spread over so many schemas.
    pub schemas: Option<u32>,
    /// Variables that are set for as long as it is measured, and set back.
    pub set: Vec<(String, String)>,
}

/// Bytes that are no text are shown as such.
fn as_path<S: Serializer>(path: &Option<PathBuf>, to: S) -> Result<S::Ok, S::Error> {
    as_text_or_none(&path.as_deref().map(Path::display), to)
}

/// Private servers, each on a clone of the image of a populated database.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Private {
    /// A name of the catalogue or, with `binary`, what that is called.
    pub engine: String,
    /// A server's binary to use instead of the catalogue's.
    #[serde(skip)]
    pub binary: Option<PathBuf>,
    pub preset: Option<Preset>,
    /// Server variables, which win over the preset.
    pub set: Vec<(String, String)>,
    /// Where their files go.
    pub placement: Placement,
    pub population: PopulationSpec,
    /// Servers that are driven together; at least 1.
    pub instances: u32,
    /// How they belong together.
    pub topology: Topology,
    /// How many times slower their clocks run.
    pub dilate: Dilate,
    /// Cores that all of them together are kept to; None: those that they find.
    pub cores: Option<u32>,
    /// What happens to them in the window, and ends them with it.
    #[serde(serialize_with = "as_text_or_none")]
    pub fault: Option<Fault>,
}

impl Private {
    /// What stands for the engine where only a binary is named.
    pub const OF_BINARY: &'static str = "server-binary";

    /// One server of this engine, as it comes.
    pub fn of_engine(engine: &str) -> Private {
        Private {
            engine: engine.to_owned(),
            binary: None,
            preset: None,
            set: Vec::new(),
            placement: Placement::default(),
            population: PopulationSpec::default(),
            instances: 1,
            topology: Topology::Apart,
            dilate: Dilate::NONE,
            cores: None,
            fault: None,
        }
    }

    /// The canonical text of the server and its database: equal for cells that differ in their load
    /// only.
    pub fn identity(&self) -> String {
        canonical_text(&self.canonical())
    }

    fn canonical(&self) -> Private {
        let mut canonical = self.clone();
        canonical.set.sort();
        let by_default = || Preset { name: defaults::PRESET.to_owned(), scale: Scale::Auto };
        canonical.preset.get_or_insert_with(by_default);
        canonical
    }
}

/// Server variables of the white papers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Preset {
    pub name: String,
    pub scale: Scale,
}

/// What becomes of the sizes in a preset, which were chosen for the papers' databases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Scale {
    /// Pool and redo keep their proportion to the data.
    Auto,
    /// As the papers have them.
    Papers,
    /// In that proportion to so many warehouses.
    For(#[serde(serialize_with = "as_text")] Warehouses),
    /// As with the papers' database of so many warehouses, where they had more than one.
    Of(#[serde(serialize_with = "as_text")] Warehouses),
}

impl Scale {
    /// The name in a plan.
    pub fn name(self) -> String {
        match self {
            Scale::Auto => "auto".to_owned(),
            Scale::Papers => "papers".to_owned(),
            Scale::For(warehouses) => warehouses.to_string(),
            Scale::Of(warehouses) => format!("of {warehouses}"),
        }
    }
}

/// A database that mydyno makes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PopulationSpec {
    /// Of a cell that of its workload.
    #[serde(flatten, serialize_with = "with_sbtest")]
    pub database: DatabaseKind,
    /// Of TPC-C.
    #[serde(serialize_with = "as_text")]
    pub warehouses: Warehouses,
    /// Of TPC-C: those of one shard, where several servers divide them; None: all.
    #[serde(skip)]
    pub shard: Option<WarehouseRange>,
    /// Of TPC-C: the foreign keys of clause 1.3.1, with the indexes that only they need.
    pub foreign_keys: bool,
    /// Of TPC-C, and there of each table that can be split; 0 for none.
    pub partitions: u32,
    /// What ends the CREATE TABLE of each table, of TPC-C and of sysbench.
    pub table_options: Option<String>,
    pub seed: u64,
}

impl Default for PopulationSpec {
    fn default() -> PopulationSpec {
        PopulationSpec {
            database: DatabaseKind::Tpcc,
            warehouses: defaults::WAREHOUSES,
            shard: None,
            foreign_keys: true,
            partitions: 0,
            table_options: None,
            seed: defaults::POPULATION_SEED,
        }
    }
}

/// The sizes of sysbench's tables are in the identity of cells of TPC-C, which are to keep theirs.
fn with_sbtest<S: Serializer>(database: &DatabaseKind, to: S) -> Result<S::Ok, S::Error> {
    let mut entries = to.serialize_map(Some(2))?;
    entries.serialize_entry("database", database)?;
    entries.serialize_entry("sbtest", &SbtestTables::BY_DEFAULT)?;
    entries.end()
}

impl PopulationSpec {
    /// Of TPC-C; no other database has any.
    pub fn tpcc_warehouses(&self) -> Option<Warehouses> {
        (self.database == DatabaseKind::Tpcc).then_some(self.warehouses)
    }

    /// What each of so many shards has of it, in order.
    pub fn divided(&self, shards: u32) -> Vec<PopulationSpec> {
        let ranges = WarehouseRange::all(self.warehouses).divided(shards);
        let of_shard = |range| PopulationSpec { shard: Some(range), ..self.clone() };
        ranges.into_iter().map(of_shard).collect()
    }

    /// The warehouses that have rows here.
    pub fn range(&self) -> WarehouseRange {
        self.shard.unwrap_or(WarehouseRange::all(self.warehouses))
    }
}

#[cfg(test)]
mod tests {
    use super::PopulationSpec;
    use base::Warehouses;

    #[test]
    fn shards_are_parts_of_one_population() {
        let whole = PopulationSpec { warehouses: Warehouses(5), ..PopulationSpec::default() };
        let range = |of: &PopulationSpec| (of.range().first(), of.range().last());
        let shards = whole.divided(2);
        assert_eq!(range(&whole), (1, 5));
        assert_eq!(shards.iter().map(range).collect::<Vec<_>>(), [(1, 3), (4, 5)]);
        assert!(shards.iter().all(|shard| shard.warehouses == whole.warehouses));
    }
}
