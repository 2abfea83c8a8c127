//! A session and the warehouses that it reaches.

use base::WarehouseRange;

/// A session on the server that has these warehouses: all of a database, or those of a shard.
pub struct ShardSession<'a, S> {
    pub session: &'a mut S,
    pub range: WarehouseRange,
}
