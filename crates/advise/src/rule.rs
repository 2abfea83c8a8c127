//! What a rule is.

use crate::finding::Proposal;
use crate::snapshot::ServerSnapshot;
use base::{Since, named};

named! {
    /// What a rule is about, in the order of the document.
    #[derive(PartialOrd, Ord)]
    pub enum Topic {
        Durability = "durability",
        BufferPool = "buffer pool",
        RedoLog = "redo log",
        PageWrites = "page writes",
        Reads = "reads",
        Threads = "threads",
        Caches = "caches and connections",
        Placement = "placement of files",
        Tables = "tables",
        System = "operating system",
    }
}

/// A best known method.
#[derive(Debug)]
pub struct Rule {
    /// `flush-method`.
    pub name: &'static str,
    /// What to do, in the imperative.
    pub title: &'static str,
    /// Why it helps.
    pub reason: &'static str,
    /// Who says so: a paper, a manual.
    pub source: &'static str,
    /// Since and until which releases it matters.
    pub releases: &'static str,
    /// What it may set.
    pub variables: &'static [Settable],
    /// What it says of a server; `None` where it has nothing to say.
    pub judge: fn(&ServerSnapshot) -> Option<Proposal>,
}

/// A variable that a rule sets, with what has to be known to write it: after the manuals of MySQL
/// 5.7 to 9.x, Percona Server 5.6 to 8.0 and MariaDB 10.1 to 11.8. Whether a server has it at all,
/// its own list tells.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settable {
    pub name: &'static str,
    /// Is its number one of bytes, which option files write as `12G`?
    pub is_in_bytes: bool,
    /// Since which releases `SET GLOBAL` takes it.
    pub dynamic: Since,
}

pub(crate) const fn dynamic(name: &'static str) -> Settable {
    dynamic_since(Since::ALWAYS, name)
}

pub(crate) const fn fixed(name: &'static str) -> Settable {
    dynamic_since(Since::NEVER, name)
}

pub(crate) const fn dynamic_since(dynamic: Since, name: &'static str) -> Settable {
    Settable { name, is_in_bytes: false, dynamic }
}

pub(crate) const fn bytes(of: Settable) -> Settable {
    Settable { is_in_bytes: true, ..of }
}
