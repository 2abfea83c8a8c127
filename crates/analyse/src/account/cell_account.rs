//! Where the time of a transaction went in one cell, and what of that is different in another: why
//! a setting helps, or why it does not.

use crate::account::Part;
use crate::account::bound::BoundBy;
use crate::run::resources::{PerTransaction, Resources};
use crate::stats::statistics::mean;
use itertools::Itertools;

/// Of the longer of two transactions: what changes by less does not explain why they differ.
const WEIGHS_SHARE: f64 = 0.05;
/// Requests, and pages of the page cache, that became more or fewer by this are told of even where
/// they do not weigh; from such a difference on.
const COUNT_RATIO: f64 = 1.5;
const COUNT_DIFFERENCE: f64 = 0.1;

type CountOf = fn(&PerTransaction) -> Option<f64>;

impl Part {
    /// What is counted of it, and how many of all threads, in the background too; `None` of what
    /// are no requests to storage.
    fn counted(self) -> Option<(&'static str, CountOf)> {
        match self {
            Part::Reads => Some(("reads", |each| each.data_reads)),
            Part::PageWrites => Some(("writes", |each| each.data_writes)),
            Part::Log => Some(("flushes", |each| each.log_flushes)),
            Part::Running
            | Part::CoreWait
            | Part::RowLocks
            | Part::Latches
            | Part::RedoRoom
            | Part::Admission
            | Part::Metadata
            | Part::Replication
            | Part::OtherWaits
            | Part::Unseen
            | Part::NetworkAndDriver
            | Part::Remainder => None,
        }
    }

    /// What is counted of it; `None` of what are no requests to storage.
    pub fn requests(self) -> Option<&'static str> {
        self.counted().map(|(requests, _)| requests)
    }
}

/// What one transaction spent in a part, in the mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spent {
    /// `None` where [`Part::requests`] is.
    pub requests: Option<f64>,
    pub time_us: f64,
}

/// One transaction in the mean of a cell's repeats.
#[derive(Clone, Debug, PartialEq)]
pub struct CellAccount {
    pub time_us: f64,
    /// Pages of 4 KiB that the modelled page cache had; `None` without one.
    pub page_cache_hits: Option<f64>,
    /// Of the server's machine.
    pub cpu_busy_share: Option<f64>,
    /// `None` where it is not the same in all repeats.
    pub bound_by: Option<BoundBy>,
    /// Those that are known.
    pub parts: Vec<(Part, Spent)>,
}

/// A part that is another in another cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    pub part: Part,
    pub base: Spent,
    pub other: Spent,
    /// Is the time that it changed by much of a transaction's? Else only its requests are others.
    pub weighs: bool,
    /// Did it become longer where the transaction did, or shorter where that did? Else it was not
    /// waited for, or was outweighed.
    pub with_transaction: bool,
}

impl CellAccount {
    /// Of a cell's repeats; `None` where the time of a transaction is not known in any.
    pub fn of(repeats: &[&Resources]) -> Option<CellAccount> {
        let over = |number: &dyn Fn(&Resources) -> Option<f64>| {
            let known: Vec<f64> = repeats.iter().filter_map(|r| number(r)).collect();
            mean(&known)
        };
        let part = |part: &Part| {
            let spent = Spent {
                requests: part.counted().and_then(|(_, of)| over(&|r| of(&r.per_transaction))),
                time_us: over(&|r| r.account?.parts[*part])?,
            };
            Some((*part, spent))
        };
        let mut verdicts = repeats.iter().map(|r| r.bound.as_ref().map(|b| b.by));
        Some(CellAccount {
            time_us: over(&|r| Some(r.account?.time_us))?,
            page_cache_hits: over(&|r| r.per_transaction.page_cache_hits),
            cpu_busy_share: over(&|r| r.host.cpu_busy_share),
            bound_by: verdicts.all_equal_value().ok().flatten(),
            parts: Part::ALL.iter().filter_map(part).collect(),
        })
    }

    /// What a part took; `None` is not known.
    pub fn spent(&self, part: Part) -> Option<Spent> {
        let found = self.parts.iter().find(|(other, _)| *other == part);
        found.map(|(_, spent)| *spent)
    }

    /// What differs in it from `base`, the largest change of time first.
    pub fn changes_from(&self, base: &CellAccount) -> Vec<Change> {
        let longer_us = self.time_us.max(base.time_us);
        let is_longer = self.time_us > base.time_us;
        let change = |part: &Part| {
            let (other, base) = (self.spent(*part)?, base.spent(*part)?);
            let weighs = (other.time_us - base.time_us).abs() >= WEIGHS_SHARE * longer_us;
            let requests = other.requests.zip(base.requests);
            (weighs || requests.is_some_and(is_other_count)).then_some(Change {
                part: *part,
                base,
                other,
                weighs,
                with_transaction: (other.time_us > base.time_us) == is_longer,
            })
        };
        let by_us = |change: &Change| (change.other.time_us - change.base.time_us).abs();
        let changes = Part::ALL.iter().filter_map(change);
        changes.sorted_by(|a, b| by_us(b).total_cmp(&by_us(a))).collect()
    }

    /// Pages that the page cache had for it and for `base`, where these are many more or fewer.
    pub fn page_cache_change(&self, base: &CellAccount) -> Option<(f64, f64)> {
        let hits = self.page_cache_hits.zip(base.page_cache_hits);
        hits.filter(|hits| is_other_count(*hits))
    }

    /// Were requests counted in only one of two cells?
    pub fn is_counted_unlike(&self, base: &CellAccount) -> bool {
        let is_counted =
            |of: &CellAccount| of.spent(Part::Reads).is_some_and(|reads| reads.requests.is_some());
        is_counted(self) != is_counted(base)
    }
}

fn is_other_count((one, other): (f64, f64)) -> bool {
    let (less, more) = (one.min(other), one.max(other));
    more > COUNT_RATIO * less && more - less >= COUNT_DIFFERENCE
}

#[cfg(test)]
mod tests {
    use super::{CellAccount, Part, Spent};

    fn account(time_us: f64, parts: &[(Part, Option<f64>, f64)]) -> CellAccount {
        let spent = |(part, requests, time_us): &(Part, Option<f64>, f64)| {
            let (requests, time_us) = (*requests, *time_us);
            (*part, Spent { requests, time_us })
        };
        CellAccount {
            time_us,
            page_cache_hits: None,
            cpu_busy_share: None,
            bound_by: None,
            parts: parts.iter().map(spent).collect(),
        }
    }

    #[test]
    fn the_largest_change_comes_first_and_what_changed_little_not_at_all() {
        let base = account(
            40_000.0,
            &[
                (Part::Reads, Some(2.0), 400.0),
                (Part::PageWrites, Some(12.0), 9_000.0),
                (Part::Log, Some(1.0), 1_500.0),
                (Part::RowLocks, None, 20_000.0),
                (Part::Running, None, 3_000.0),
            ],
        );
        let other = account(
            30_000.0,
            &[
                (Part::Reads, Some(50.0), 1_900.0),
                (Part::PageWrites, Some(9.0), 6_000.0),
                (Part::Log, Some(1.1), 1_600.0),
                (Part::RowLocks, None, 12_000.0),
                (Part::Running, None, 4_900.0),
            ],
        );
        let changes = other.changes_from(&base);
        let found: Vec<(Part, bool, bool)> =
            changes.iter().map(|c| (c.part, c.weighs, c.with_transaction)).collect();
        assert_eq!(
            found,
            [
                (Part::RowLocks, true, true),
                (Part::PageWrites, true, true),
                // 25 times as many, which are 1.5 of its 30 ms; and it became shorter.
                (Part::Reads, false, false),
            ]
        );
        assert_eq!(changes[2].other.requests, Some(50.0));
        assert!(base.changes_from(&base).is_empty());
    }

    #[test]
    fn what_is_not_known_of_both_is_no_change() {
        let base = account(1_000.0, &[(Part::Reads, Some(0.0), 0.0)]);
        let other = account(9_000.0, &[(Part::RowLocks, None, 8_000.0)]);
        assert!(other.changes_from(&base).is_empty() && other.is_counted_unlike(&base));
        let few = account(9_000.0, &[(Part::Reads, Some(0.09), 10.0)]);
        assert!(few.changes_from(&base).is_empty() && !few.is_counted_unlike(&base));
        let more = account(9_000.0, &[(Part::Reads, Some(3.0), 10.0)]);
        assert_eq!(more.changes_from(&base).len(), 1);
        assert_eq!(CellAccount::of(&[]), None);
    }

    #[test]
    fn the_page_cache_counts_where_both_have_one() {
        let with = |page_cache_hits| CellAccount { page_cache_hits, ..account(1.0, &[]) };
        let change = |one, base| with(one).page_cache_change(&with(base));
        assert_eq!(change(Some(0.0), Some(140.0)), Some((0.0, 140.0)));
        assert_eq!(change(Some(183.0), Some(182.0)), None);
        assert_eq!(change(None, Some(140.0)), None);
    }
}
