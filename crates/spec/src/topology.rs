//! How several servers belong together.

use base::named;
use serde::Serialize;

named! {
    /// How the servers of a target belong together.
    #[derive(Default, Serialize)]
    pub enum Topology {
        /// All have one database, and each takes its writes: Galera, Group Replication.
        MultiPrimary = "multi-primary",
        /// All have one database; the first takes its writes, and the others follow it.
        PrimaryReplicas = "primary-replicas",
        /// Each has a range of the warehouses of one database.
        Shards = "shards",
        /// There is one, or each has a whole database of its own.
        #[default]
        Apart = "apart",
    }
}

impl Topology {
    /// Those that somebody can ask for.
    pub const NAMED: [Topology; 3] =
        [Topology::MultiPrimary, Topology::PrimaryReplicas, Topology::Shards];

    /// Do all servers have the same rows?
    pub const fn is_one_database(self) -> bool {
        matches!(self, Topology::MultiPrimary | Topology::PrimaryReplicas)
    }

    /// What one of the servers is called.
    pub const fn word(self) -> &'static str {
        match self {
            Topology::Apart => "instance",
            Topology::MultiPrimary | Topology::PrimaryReplicas => "node",
            Topology::Shards => "shard",
        }
    }
}
