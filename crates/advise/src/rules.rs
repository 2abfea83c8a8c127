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

use crate::rule::Rule;

pub(crate) const RULES: &[&[Rule]] = &[
    durability::RULES,
    pool::RULES,
    redo::RULES,
    io_capacity::RULES,
    page_writes::RULES,
    reads::RULES,
    threads::RULES,
    caches::RULES,
    placement::RULES,
    tables::RULES,
    system::RULES,
];

pub(crate) fn all() -> impl Iterator<Item = &'static Rule> {
    RULES.iter().copied().flatten()
}
