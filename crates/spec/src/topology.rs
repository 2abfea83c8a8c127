//! How several servers belong together.

use std::fmt;

/// How the servers of a target belong together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Topology {
    /// There is one, or each has a whole database of its own.
    #[default]
    Apart,
    /// All have one database, and each takes its writes: Galera, Group Replication.
    MultiPrimary,
    /// All have one database; the first takes its writes, and the others follow it.
    PrimaryReplicas,
    /// Each has a range of the warehouses of one database.
    Shards,
}

impl Topology {
    /// Those that have a name.
    pub const NAMED: [Topology; 3] =
        [Topology::MultiPrimary, Topology::PrimaryReplicas, Topology::Shards];

    /// The name on the command line, in plans and in results.
    pub const fn name(self) -> &'static str {
        match self {
            Topology::Apart => "apart",
            Topology::MultiPrimary => "multi-primary",
            Topology::PrimaryReplicas => "primary-replicas",
            Topology::Shards => "shards",
        }
    }

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

impl fmt::Display for Topology {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
