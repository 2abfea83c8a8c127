//! The databases that a command works on: the target's schema, the K schemas of `--schemas K` on
//! one server, or the shards of one database, which are driven together and proven together.

use crate::error::{LabError, LabResult, WhileDoing};
use crate::target::sessions::with_session;
use base::{WarehouseRange, Warehouses};
use drive::Schemas;
use spec::Topology;
use tpcc::{Database, ShardRanges, probe};
use wire::{Connection, Connector};

/// What all schemas hold, as one database with so many warehouses in each.
pub(crate) struct Inspected {
    pub(crate) database: Database,
    /// Of a database of another tool: indexes that its transactions need.
    pub(crate) missing_indexes: Vec<&'static str>,
    /// Where its warehouses are divided.
    pub(crate) shards: Option<ShardRanges>,
}

/// Looks at all schemas. They have to be alike or, where they are shards, to make one database.
///
/// # Errors
/// Where one of them is no database to run on, or they differ, or they are shards and no such were
/// asked for.
pub(crate) fn inspect(
    databases: &Schemas<Connector>,
    wanted: Option<Warehouses>,
) -> LabResult<Inspected> {
    let are_shards = databases.topology() == Topology::Shards;
    let wanted_of_each = wanted.filter(|_| !are_shards);
    let look = async |session: &mut Connection| {
        let database = tpcc::database::inspect(session, wanted_of_each).await?;
        if database.is_shard() && !are_shards {
            return Err(LabError::Unfit(format!(
                "the database has {} of {} only, as a shard; name all shards with --topology \
                 shards: mysql://user@a:3306,b:3306/tpcc",
                database.range, database.warehouses
            )));
        }
        let missing_indexes = match database.c_load {
            Some(_) => Vec::new(),
            None => probe::missing_indexes(session).await.doing("looking for indexes")?,
        };
        Ok(Inspected { database, missing_indexes, shards: None })
    };
    let mut all = with_session(databases.first(), look)?;
    let mut each = vec![all.database];
    // Servers of one database are compared by what they add up to, when they have caught up.
    for (index, other) in databases.databases().enumerate().skip(1) {
        let found = with_session(other, look)?;
        each.push(found.database);
        join(&mut all, found, (databases.topology(), index), wanted)?;
    }
    if are_shards {
        let shards = ShardRanges::of(&each).map_err(|error| LabError::Unfit(error.to_string()))?;
        let have = all.database.warehouses;
        if let Some(wanted) = wanted.filter(|wanted| *wanted != have) {
            return Err(LabError::Unfit(format!(
                "the shards have {have} warehouses together and are driven as a whole, but \
                 {wanted} were asked for; leave the number of warehouses out"
            )));
        }
        all.database.range = WarehouseRange::all(have);
        all.shards = Some(shards);
    }
    Ok(all)
}

/// Makes the stored procedures of style `procedures` in each schema where they are not there.
///
/// # Errors
/// Where the user may not make them.
pub(crate) fn install_procedures(databases: &Schemas<Connector>) -> LabResult<()> {
    for database in databases.databases() {
        with_session(database, async |session: &mut Connection| {
            let installed = tpcc::transactions::procedures::install(session).await;
            installed.map_err(|error| LabError::Unfit(error.to_string()))
        })?;
    }
    Ok(())
}

fn join(
    all: &mut Inspected,
    other: Inspected,
    (topology, number): (Topology, usize),
    wanted: Option<Warehouses>,
) -> LabResult<()> {
    let (first, second) = (&mut all.database, other.database);
    let are_shards = topology == Topology::Shards;
    let differ = |what: &str, first: String, second: String| {
        LabError::Unfit(match are_shards {
            true => format!(
                "shard 1 and shard {} differ in {what} ({first} and {second}); load all with one \
                 `mydyno load --topology shards`",
                number + 1
            ),
            false => format!(
                "schema 0 and schema {number} differ in {what} ({first} and {second}); load all \
                 with one `mydyno load --schemas`"
            ),
        })
    };
    if !are_shards && first.c_load != second.c_load {
        let show = |c: Option<u32>| c.map_or("unknown".to_owned(), |c| c.to_string());
        let what = "the constant for last names, and so in their seed";
        return Err(differ(what, show(first.c_load), show(second.c_load)));
    }
    if !are_shards && wanted.is_none() && first.warehouses != second.warehouses {
        let (first, second) = (first.warehouses.to_string(), second.warehouses.to_string());
        return Err(differ("warehouses", first, second));
    }
    if first.partitions != second.partitions {
        let (first, second) = (first.partitions.to_string(), second.partitions.to_string());
        return Err(differ("partitions", first, second));
    }
    if first.history_key != second.history_key {
        let show = |has: bool| if has { "one" } else { "none" }.to_owned();
        let (first, second) = (show(first.history_key), show(second.history_key));
        return Err(differ("the key of HISTORY", first, second));
    }
    // A transaction across shards cannot keep a key that any of them has.
    first.foreign_keys = match are_shards {
        true => first.foreign_keys || second.foreign_keys,
        false => first.foreign_keys && second.foreign_keys,
    };
    first.driven_by_tpcc_mysql |= second.driven_by_tpcc_mysql;
    for index in other.missing_indexes {
        if !all.missing_indexes.contains(&index) {
            all.missing_indexes.push(index);
        }
    }
    Ok(())
}

/// Writes into databases of ours that workload `tpcc-mysql` drives them.
///
/// # Errors
/// Where a server refuses.
pub(crate) fn mark_driven_by_tpcc_mysql(databases: &Schemas<Connector>) -> LabResult<()> {
    for connector in databases.databases() {
        with_session(connector, async |session| {
            let marked = tpcc::database::mark_driven_by_tpcc_mysql(session).await;
            marked.doing("marking the database as driven by tpcc-mysql")
        })?;
    }
    Ok(())
}
