//! What a rule is.

use crate::finding::Proposal;
use crate::snapshot::ServerSnapshot;

/// What a rule is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Topic {
    Durability,
    BufferPool,
    RedoLog,
    PageWrites,
    Reads,
    Threads,
    Caches,
    Placement,
    Tables,
    System,
}

impl Topic {
    /// For people, in the order of the document.
    pub const ALL: [Topic; 10] = [
        Topic::Durability,
        Topic::BufferPool,
        Topic::RedoLog,
        Topic::PageWrites,
        Topic::Reads,
        Topic::Threads,
        Topic::Caches,
        Topic::Placement,
        Topic::Tables,
        Topic::System,
    ];

    pub fn title(self) -> &'static str {
        match self {
            Topic::Durability => "durability",
            Topic::BufferPool => "buffer pool",
            Topic::RedoLog => "redo log",
            Topic::PageWrites => "page writes",
            Topic::Reads => "reads",
            Topic::Threads => "threads",
            Topic::Caches => "caches and connections",
            Topic::Placement => "placement of files",
            Topic::Tables => "tables",
            Topic::System => "operating system",
        }
    }
}

/// A best known method.
#[derive(Debug)]
pub struct Rule {
    /// `flush-method`.
    pub name: &'static str,
    pub topic: Topic,
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
