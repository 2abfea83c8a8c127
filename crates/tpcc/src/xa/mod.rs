//! Transactions over several shards, by XA: how they are named, and what becomes of those that are
//! prepared when the program that coordinates them is gone.
//!
//! A transaction has a branch on each shard that it touches. That of its own warehouse decides. It
//! is prepared first, before any other branch, and committed first; where all is rolled back, it
//! comes last. So the shards alone tell what was decided, whenever the coordinator is killed:
//! while the deciding branch is prepared, nothing was committed, and once it is gone while another
//! is prepared, it was committed.

mod resolve;

pub(crate) use resolve::resolve_own;
pub use resolve::{XaError, XaResolved, resolve};

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use xxhash_rust::xxh3::xxh3_64;

/// What the transactions over shards of one process and run have in common.
#[derive(Clone, Debug)]
pub struct XaRun {
    id: u64,
    /// The last transaction's number.
    numbers: Arc<AtomicU64>,
}

impl XaRun {
    /// A run whose name no other has: of `unique`, which says where and when it began.
    pub fn new(unique: &str) -> XaRun {
        XaRun { id: xxh3_64(unique.as_bytes()), numbers: Arc::default() }
    }

    /// What all transactions of a connection are named after.
    pub(crate) fn owner(&self, connection: u32) -> XaOwner {
        XaOwner { run: self.id, connection }
    }

    /// The name of the next transaction of `owner`.
    pub(crate) fn next(&self, owner: XaOwner) -> GlobalId {
        GlobalId { owner, number: self.numbers.fetch_add(1, Ordering::Relaxed) + 1 }
    }
}

/// The connection of a run that coordinates a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct XaOwner {
    run: u64,
    connection: u32,
}

/// The name of the lock that each session of the connection holds on its server as long as it
/// lives; of transactions the first part of their names.
impl fmt::Display for XaOwner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "mydyno-{:016x}-{}", self.run, self.connection)
    }
}

/// The name of a transaction, the same on all shards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct GlobalId {
    pub(crate) owner: XaOwner,
    number: u64,
}

impl fmt::Display for GlobalId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.owner, self.number)
    }
}

impl GlobalId {
    /// Reads what [`GlobalId`] prints.
    fn parse(text: &str) -> Option<GlobalId> {
        let mut parts = text.strip_prefix("mydyno-")?.split('-');
        let run = u64::from_str_radix(parts.next()?, 16).ok()?;
        let connection = parts.next()?.parse().ok()?;
        let number = parts.next()?.parse().ok()?;
        let id = GlobalId { owner: XaOwner { run, connection }, number };
        // Nobody else's name is taken for one of ours.
        (id.to_string() == text).then_some(id)
    }
}

/// A shard, as its branches name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ShardName {
    /// Of the name of its schema: a server may have shards of several databases.
    schema_hash: u64,
    first_warehouse: u32,
}

impl ShardName {
    pub(crate) fn new(schema: &str, first_warehouse: u32) -> ShardName {
        ShardName { schema_hash: xxh3_64(schema.as_bytes()), first_warehouse }
    }
}

/// A branch of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BranchId {
    pub(crate) global: GlobalId,
    pub(crate) shard: ShardName,
    /// The first warehouse of the shard whose branch decides.
    pub(crate) decided_by: u32,
}

/// As XA statements take it.
impl fmt::Display for BranchId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}','{}'", self.global, self.qualifier())
    }
}

impl BranchId {
    fn qualifier(&self) -> String {
        let ShardName { schema_hash, first_warehouse } = self.shard;
        format!("{schema_hash:016x}-{first_warehouse}-{}", self.decided_by)
    }

    /// The branch on `shard` of the transaction that the branch on `home` decides.
    pub(crate) fn new(global: GlobalId, shard: ShardName, home: ShardName) -> BranchId {
        BranchId { global, shard, decided_by: home.first_warehouse }
    }

    /// Is it the one that decides?
    fn decides(&self) -> bool {
        self.shard.first_warehouse == self.decided_by
    }

    /// Reads the two parts of a name; `None` where it is not one of ours.
    fn parse(global: &str, qualifier: &str) -> Option<BranchId> {
        let mut parts = qualifier.split('-');
        let schema_hash = u64::from_str_radix(parts.next()?, 16).ok()?;
        let first_warehouse = parts.next()?.parse().ok()?;
        let decided_by = parts.next()?.parse().ok()?;
        let shard = ShardName { schema_hash, first_warehouse };
        let branch = BranchId { global: GlobalId::parse(global)?, shard, decided_by };
        (branch.qualifier() == qualifier).then_some(branch)
    }
}

#[cfg(test)]
mod tests {
    use super::{BranchId, ShardName, XaRun};

    #[test]
    fn names_are_read_as_they_were_written_and_fit() {
        let run = XaRun::new("here and now");
        let owner = run.owner(u32::MAX);
        let (first, second) = (run.next(owner), run.clone().next(owner));
        assert_ne!(first, second);
        let home = ShardName::new("tpcc", u32::MAX - 1);
        let shard = ShardName::new("tpcc", u32::MAX);
        let branch = BranchId::new(first, shard, home);
        let text = branch.to_string();
        let parts: Vec<&str> = text.split(',').map(|part| part.trim_matches('\'')).collect();
        // What MySQL takes.
        assert!(parts.iter().all(|part| part.len() <= 64), "{text}");
        assert_eq!(BranchId::parse(parts[0], parts[1]), Some(branch));
        assert!(parts[0].starts_with(&owner.to_string()));
        assert!(owner.to_string().len() <= 64);
    }

    #[test]
    fn what_others_prepared_is_not_ours() {
        let qualifier = "000000000000000a-1-11";
        let global = "mydyno-000000000000000b-3-7";
        assert!(BranchId::parse(global, qualifier).is_some());
        for (global, qualifier) in [
            ("mydyno-b-3-7", qualifier),
            ("mydyno-000000000000000b-3", qualifier),
            ("mydyno-000000000000000b-3-7-1", qualifier),
            ("mydyno-000000000000000b-03-7", qualifier),
            ("other-000000000000000b-3-7", qualifier),
            ("", ""),
            (global, ""),
            (global, "000000000000000a-1"),
            (global, "000000000000000a-1-11-2"),
            (global, "000000000000000a-+1-11"),
        ] {
            assert_eq!(BranchId::parse(global, qualifier), None, "{global} {qualifier}");
        }
    }
}
