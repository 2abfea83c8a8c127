//! The databases that a command works on: the target's schema, the K schemas of `--schemas K` on
//! one server, or the shards of one database, which are driven together and proven together.

use crate::error::{LabResult, WhileDoing, unfit};
use crate::target::sessions::with_session;
use base::{Session, WarehouseRange, Warehouses};
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
            return Err(unfit(format!(
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
    let mut each = vec![all.database.clone()];
    // Servers of one database are compared by what they add up to, when they have caught up.
    for (index, other) in databases.databases().enumerate().skip(1) {
        let found = with_session(other, look)?;
        each.push(found.database.clone());
        join(&mut all, found, (databases.topology(), index), wanted)?;
    }
    if are_shards {
        let shards = ShardRanges::of(&each).map_err(unfit)?;
        let have = all.database.warehouses;
        if let Some(wanted) = wanted.filter(|wanted| *wanted != have) {
            return Err(unfit(format!(
                "the shards have {have} warehouses together and are driven as a whole, but \
                 {wanted} were asked for; leave the number of warehouses out"
            )));
        }
        all.database.range = WarehouseRange::all(have);
        all.shards = Some(shards);
    }
    Ok(all)
}

/// Those of the tables that `is_own` names by lower case whose storage engine has no transactions,
/// each with it: `stock (MyISAM)`.
///
/// # Errors
/// Where a server refuses.
pub(crate) fn untransactional(
    databases: &Schemas<Connector>,
    is_own: impl Fn(&str) -> bool,
) -> LabResult<Vec<String>> {
    let sql = "SELECT table_name, t.engine FROM information_schema.tables AS t JOIN \
               information_schema.engines AS e ON e.engine = t.engine WHERE table_schema = \
               DATABASE() AND table_type = 'BASE TABLE' AND NOT e.transactions <=> 'YES'";
    let mut all = Vec::new();
    for database in databases.databases() {
        let found = with_session(database, async |session: &mut Connection| {
            let answer = session.query(sql).await.doing("looking at the tables' engines")?;
            Ok(answer.rows().map(|row| (row.text(0), row.text(1))).collect::<Vec<_>>())
        })?;
        let own = found.into_iter().filter(|(table, _)| is_own(&table.to_ascii_lowercase()));
        all.extend(own.map(|(table, engine)| format!("{table} ({engine})")));
    }
    all.sort();
    all.dedup();
    Ok(all)
}

/// Makes the stored procedures of style `procedures` in each schema where they are not there.
///
/// # Errors
/// Where the user may not make them.
pub(crate) fn install_procedures(databases: &Schemas<Connector>) -> LabResult<()> {
    for database in databases.databases() {
        with_session(database, async |session: &mut Connection| {
            tpcc::transactions::procedures::install(session).await.map_err(unfit)
        })?;
    }
    Ok(())
}

/// Adds a schema or shard, which has to be like the first one.
fn join(
    all: &mut Inspected,
    other: Inspected,
    (topology, number): (Topology, usize),
    wanted: Option<Warehouses>,
) -> LabResult<()> {
    let are_shards = topology == Topology::Shards;
    let (each, first_number, option) =
        if are_shards { ("shard", 1, "topology shards") } else { ("schema", 0, "schemas") };
    let both = |shown: &dyn Fn(&Database) -> String| [&all.database, &other.database].map(shown);
    let c_load = |of: &Database| of.c_load.map_or("unknown".to_owned(), |c| c.to_string());
    let has_key = |of: &Database| if of.history_key { "one" } else { "none" }.to_owned();
    for (what, is_compared, [first, second]) in [
        ("the constant for last names, and so in their seed", !are_shards, both(&c_load)),
        ("warehouses", !are_shards && wanted.is_none(), both(&|of| of.warehouses.to_string())),
        ("partitions", true, both(&|of| of.partitions.to_string())),
        ("table options", true, both(&|of| of.table_options.clone().unwrap_or_default())),
        ("the key of HISTORY", true, both(&has_key)),
    ] {
        if is_compared && first != second {
            return Err(unfit(format!(
                "{each} {first_number} and {each} {} differ in {what} ({first} and {second}); load \
                 all with one `mydyno load --{option}`",
                number + first_number
            )));
        }
    }
    let (first, second) = (&mut all.database, other.database);
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
