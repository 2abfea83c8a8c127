//! A database whose warehouses are divided over several servers.

use crate::database::Database;
use base::{WarehouseRange, Warehouses};

/// The warehouses of each shard, by the number of its server from 0: together all of the database,
/// each once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShardRanges(Vec<WarehouseRange>);

/// A session on the server that has these warehouses: all of a database, or those of a shard.
pub struct ShardSession<'a, S> {
    pub session: &'a mut S,
    pub range: WarehouseRange,
}

/// Why databases are no shards of one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShardError {
    #[error(
        "shard 1 is of {first} warehouses and shard {shard} of {other}; name the shards of one \
         database, or load them with one `mydyno load --topology shards`"
    )]
    OtherSize { shard: usize, first: Warehouses, other: Warehouses },
    #[error(
        "shard 1 and shard {shard} were loaded with different seeds; name the shards of one \
         database, or load them with one `mydyno load --topology shards`"
    )]
    OtherSeed { shard: usize },
    #[error(
        "shard {shard} was not loaded by mydyno as a shard ({range} of {warehouses}); load it with \
         `mydyno load --topology shards`"
    )]
    Whole { shard: usize, range: WarehouseRange, warehouses: Warehouses },
    #[error(
        "shard {first} has {first_range} and shard {second} has {second_range}, which overlap; \
         name each shard once, or load them with one `mydyno load --topology shards`"
    )]
    Overlap {
        first: usize,
        first_range: WarehouseRange,
        second: usize,
        second_range: WarehouseRange,
    },
    #[error(
        "no shard has {missing} of {warehouses}; name all shards of the database, or load them \
         with one `mydyno load --topology shards`"
    )]
    Gap { missing: WarehouseRange, warehouses: Warehouses },
}

impl ShardRanges {
    /// Those of these databases, in the order of their servers, which may be any.
    ///
    /// # Errors
    /// Any [`ShardError`]; in their words servers are counted from 1.
    pub fn of(databases: &[Database]) -> Result<ShardRanges, ShardError> {
        for (database, shard) in databases.iter().zip(1..) {
            let first = &databases[0];
            let (first_size, other) = (first.warehouses, database.warehouses);
            if !database.is_shard() {
                let range = database.range;
                return Err(ShardError::Whole { shard, range, warehouses: other });
            }
            if first_size != other {
                return Err(ShardError::OtherSize { shard, first: first_size, other });
            }
            if (first.seed, first.c_load) != (database.seed, database.c_load) {
                return Err(ShardError::OtherSeed { shard });
            }
        }
        let ranges: Vec<WarehouseRange> = databases.iter().map(|of| of.range).collect();
        let warehouses = databases.first().map_or(Warehouses(0), |first| first.warehouses);
        require_each_once(&ranges, warehouses)?;
        Ok(ShardRanges(ranges))
    }

    /// The warehouses of a server.
    pub fn of_server(&self, server: usize) -> Option<WarehouseRange> {
        self.0.get(server).copied()
    }

    /// The server that has this warehouse.
    pub fn server_of(&self, warehouse: u32) -> Option<usize> {
        self.0.iter().position(|range| range.contains(warehouse))
    }

    /// Each shard's, by server.
    pub fn iter(&self) -> impl Iterator<Item = WarehouseRange> + '_ {
        self.0.iter().copied()
    }

    /// The sessions on the servers, each with the warehouses that it reaches.
    pub fn sessions<'s, S>(&self, sessions: &'s mut [S]) -> Vec<ShardSession<'s, S>> {
        let each = sessions.iter_mut().zip(self.iter());
        each.map(|(session, range)| ShardSession { session, range }).collect()
    }

    /// How many warehouses the smallest shard has.
    pub fn fewest(&self) -> Warehouses {
        Warehouses(self.iter().map(WarehouseRange::count).min().unwrap_or(0))
    }
}

fn require_each_once(ranges: &[WarehouseRange], warehouses: Warehouses) -> Result<(), ShardError> {
    let mut sorted: Vec<(WarehouseRange, usize)> = ranges.iter().copied().zip(1..).collect();
    sorted.sort_unstable();
    let gap = |first: u32, last: u32| match WarehouseRange::between((first, last)) {
        Some(missing) => Err(ShardError::Gap { missing, warehouses }),
        None => Ok(()),
    };
    let mut next = 1;
    let mut before: Option<(WarehouseRange, usize)> = None;
    for (range, shard) in sorted {
        if let Some((first_range, first)) = before.filter(|_| range.first() < next) {
            let (second, second_range) = (shard, range);
            return Err(ShardError::Overlap { first, first_range, second, second_range });
        }
        gap(next, range.first() - 1)?;
        next = range.last() + 1;
        before = Some((range, shard));
    }
    gap(next, warehouses.0)
}

#[cfg(test)]
mod tests {
    use super::{ShardError, ShardRanges};
    use crate::database::Database;
    use crate::tests::scripted::shard_of;
    use base::{WarehouseRange, Warehouses};

    fn shard(first: u32, last: u32) -> Database {
        shard_of(Warehouses(20), WarehouseRange::between((first, last)).unwrap())
    }

    #[test]
    fn shards_come_in_any_order() {
        let shards = ShardRanges::of(&[shard(11, 20), shard(1, 10)]).unwrap();
        assert_eq!((shards.server_of(1), shards.server_of(20)), (Some(1), Some(0)));
        assert_eq!(shards.of_server(0), WarehouseRange::between((11, 20)));
        assert_eq!((shards.server_of(21), shards.of_server(2)), (None, None));
        assert_eq!(shards.fewest(), Warehouses(10));
    }

    #[test]
    fn what_is_no_whole_database_is_refused_with_the_shard() {
        let refused = |shards: &[Database]| ShardRanges::of(shards).unwrap_err().to_string();
        for (shards, words) in [
            (vec![shard(1, 10), shard(10, 20)], "shard 1 has warehouses 1 to 10 and shard 2"),
            (vec![shard(1, 10), shard(1, 10)], "overlap"),
            (vec![shard(1, 9), shard(11, 20)], "no shard has warehouse 10 of 20"),
            (vec![shard(2, 10), shard(11, 20)], "no shard has warehouse 1 of 20"),
            (vec![shard(11, 18), shard(1, 10)], "no shard has warehouses 19 to 20 of 20"),
            (vec![shard(1, 10), shard(1, 20)], "shard 2 was not loaded by mydyno as a shard"),
            (
                vec![shard(1, 10), Database { seed: Some(2), ..shard(11, 20) }],
                "shard 2 were loaded with different seeds",
            ),
            (
                vec![shard(1, 10), Database { warehouses: Warehouses(30), ..shard(11, 20) }],
                "shard 1 is of 20 warehouses and shard 2 of 30",
            ),
        ] {
            let error = refused(&shards);
            assert!(error.contains(words), "{error}");
        }
        let overlap = ShardRanges::of(&[shard(11, 20), shard(1, 12)]);
        assert!(matches!(overlap, Err(ShardError::Overlap { first: 2, second: 1, .. })));
    }
}
