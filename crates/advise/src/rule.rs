//! What a rule is.

use crate::finding::Proposal;
use crate::snapshot::ServerSnapshot;
use base::named;

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
    pub variables: &'static [&'static str],
    /// What it says of a server; `None` where it has nothing to say.
    pub judge: fn(&ServerSnapshot) -> Option<Proposal>,
}
