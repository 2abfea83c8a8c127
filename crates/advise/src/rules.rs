//! All rules, by topic.

mod caches;
mod durability;
mod io_capacity;
mod page_writes;
mod placement;
mod pool;
mod reads;
mod redo;
mod system;
mod tables;
mod threads;

#[cfg(test)]
mod tests;

use crate::rule::{Rule, Topic};

const RULES: [(Topic, &[Rule]); 11] = [
    (Topic::Durability, durability::RULES),
    (Topic::BufferPool, pool::RULES),
    (Topic::RedoLog, redo::RULES),
    (Topic::PageWrites, io_capacity::RULES),
    (Topic::PageWrites, page_writes::RULES),
    (Topic::Reads, reads::RULES),
    (Topic::Threads, threads::RULES),
    (Topic::Caches, caches::RULES),
    (Topic::Placement, placement::RULES),
    (Topic::Tables, tables::RULES),
    (Topic::System, system::RULES),
];

/// Each rule with its topic.
pub(crate) fn all() -> impl Iterator<Item = (Topic, &'static Rule)> {
    RULES.into_iter().flat_map(|(topic, rules)| rules.iter().map(move |rule| (topic, rule)))
}
