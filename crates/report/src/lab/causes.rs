//! Why a setting helps, or why it does not: where the time of a transaction went in cells that
//! differ in it alone.

use super::account::account_of;
use crate::format::{in_words, signed, significant, us};
use crate::model::LabView;
use analyse::{
    CellAccount, CellComparison, Change, ComparedCell, Part, Ratio, Reversal, ReversalPlace, Spent,
};
use base::counted;
use itertools::Itertools;
use maud::{Markup, html};

/// Rows of a table that is not folded.
const ROWS_MAX: usize = 12;

/// Values that help in some of these groups and hurt in others; where there is something to compare
/// in several, that there are none.
pub fn reversed(comparisons: &[&CellComparison], all: &[Reversal]) -> Markup {
    let mut about =
        all.iter().filter(|of| comparisons.iter().any(|c| c.dimension == of.dimension)).peekable();
    let has_difference = |of: &&&CellComparison| {
        of.rows.iter().skip(1).any(|row| row.nopm.percent_difference.is_some())
    };
    let compared = comparisons.iter().filter(has_difference).count();
    html! {
        @if about.peek().is_none() && compared > 1 {
            p.soft { "No value was shown to help in one group and to hurt in another." }
        }
        @for reversal in about {
            p {
                "What is best depends on what else is set: " b { (reversal.value) } " against "
                (reversal.baseline)
                " helps with " (places(&reversal.helps)) " and hurts with "
                (places(&reversal.hurts)) "."
            }
        }
    }
}

fn places(places: &[ReversalPlace]) -> String {
    let mut words = places.iter().map(|place| {
        let others = in_words(&place.others);
        format!("{others} ({})", signed(place.percent_difference))
    });
    words.join("; ")
}

/// What is different in the account of each cell compared from that of its baseline; nothing where
/// none was sampled.
pub fn causes(view: &LabView, all: &[&CellComparison]) -> Markup {
    let account = |row: &ComparedCell| view.by_ordinal(row.ordinal).and_then(account_of);
    let rows = || all.iter().flat_map(|of| &of.rows);
    let count = rows().count();
    html! {
        @if rows().any(|row| account(row).is_some()) {
            details open[count <= ROWS_MAX] {
                summary {
                    "Where the time of a transaction differs, " (counted(count, "cell", "cells")) }
                @for of in all {
                    // Of each value but the baseline.
                    @if let Some((first, rest)) = of.rows.split_first() {
                      @let base = account(first);
                      @for row in rest {
                        @if let Some((one, base)) = account(row).zip(base.as_ref()) {
                            p.small {
                                b { (row.value) } " against " (first.value)
                                @if !of.others.is_empty() { ", " (in_words(&of.others)) }
                                ": "
                                (explained(&one, base, scatter(&row.nopm, view.lab.adaptive)))
                            }
                        }
                    } }
                }
            }
        }
    }
}

/// What to say of a difference in throughput that may be none.
fn scatter(nopm: &Ratio, is_adaptive: bool) -> &'static str {
    match nopm.p_corrected {
        _ if is_adaptive || nopm.differs() => "",
        Some(_) => ", which is not shown to be a difference",
        None => ", of too few repeats to claim a difference",
    }
}

/// What differs between two cells, the largest first; `scatter` is what [`scatter`] says of them.
fn explained(account: &CellAccount, base: &CellAccount, scatter: &str) -> String {
    let times = [account, base].map(|of| us(of.time_us));
    let mut words =
        vec![format!("a transaction took {} instead of {}{scatter}", times[0], times[1])];
    let changes = account.changes_from(base);
    let (weigh, others): (Vec<&Change>, Vec<&Change>) = changes.iter().partition(|c| c.weighs);
    let (with, against): (Vec<&Change>, Vec<&Change>) =
        weigh.into_iter().partition(|c| c.with_transaction);
    let told = |change: &Change| {
        let [other, base] = [&change.other, &change.base].map(|of| with_requests(change.part, of));
        format!("{} {other} instead of {base}", change.part.title())
    };
    words.extend(with.into_iter().map(told));
    words.extend(against.into_iter().map(|change| format!("although {}", told(change))));
    words.extend(others.into_iter().map(|change| format!("{}, which weighs little", told(change))));
    if let Some(pages) = account.page_cache_change(base) {
        let [pages, of_base] = [pages.0, pages.1].map(significant);
        words.push(format!("{pages} pages from the page cache instead of {of_base}"));
    }
    if account.is_counted_unlike(base) {
        words.push("requests to storage were counted in one of them only".to_owned());
    }
    if let Some((by, of_base)) = account.bound_by.zip(base.bound_by) {
        words.push(if by == of_base {
            format!("both {}", by.title())
        } else {
            format!("{} instead of {}", by.title(), of_base.title())
        });
    }
    words.join("; ") + "."
}

/// `2.10 s (52.0 reads)`.
fn with_requests(part: Part, spent: &Spent) -> String {
    let requests = spent.requests.zip(part.requests());
    let requests = requests.map(|(number, title)| format!(" ({} {title})", significant(number)));
    us(spent.time_us) + &requests.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{explained, reversed};
    use analyse::{
        BoundBy, CellAccount, CellComparison, NamedValue, Part, Reversal, ReversalPlace, Spent,
    };

    fn account(time_us: f64, reads: (f64, f64), page_cache_hits: f64, by: BoundBy) -> CellAccount {
        let (requests, read_us) = reads;
        let reads = Spent { requests: Some(requests), time_us: read_us };
        let cpu = Spent { requests: None, time_us: time_us / 40.0 };
        CellAccount {
            time_us,
            page_cache_hits: Some(page_cache_hits),
            cpu_busy_share: None,
            bound_by: Some(by),
            parts: vec![(Part::Reads, reads), (Part::Running, cpu)],
        }
    }

    #[test]
    fn what_weighs_is_told_first() {
        let base = account(400_000.0, (2.0, 900.0), 140.0, BoundBy::Cpu);
        let slow = account(2_500_000.0, (52.0, 2_100_000.0), 0.0, BoundBy::ReadIo);
        assert_eq!(
            explained(&slow, &base, ""),
            "a transaction took 2.50 s instead of 400 ms; reads of pages 2.10 s (52.0 reads) \
             instead of 900 µs (2.00 reads); 0 pages from the page cache instead of 140; bound by \
             reads instead of CPU bound."
        );
        let quick = account(390_000.0, (52.0, 6_200.0), 141.0, BoundBy::Cpu);
        assert_eq!(
            explained(&quick, &base, ", which is not shown to be a difference"),
            "a transaction took 390 ms instead of 400 ms, which is not shown to be a difference; \
             reads of pages 6.20 ms (52.0 reads) instead of 900 µs (2.00 reads), which weighs \
             little; both CPU bound."
        );
        let quicker = account(300_000.0, (52.0, 50_000.0), 140.0, BoundBy::Cpu);
        let words = explained(&quicker, &base, "");
        assert!(words.contains("; although reads of pages 50.0 ms"), "{words}");
        let mut uncounted = quick;
        uncounted.parts.clear();
        let words = explained(&uncounted, &base, "");
        assert!(words.contains("counted in one of them only"), "{words}");
    }

    #[test]
    fn where_a_setting_helps_and_where_it_hurts() {
        let data = |device: &str| NamedValue::of("data", device);
        let place = |device: &str, percent_difference| ReversalPlace {
            others: vec![data(device)],
            percent_difference,
        };
        let reversal = Reversal {
            dimension: "preset".to_owned(),
            baseline: "config-1".to_owned(),
            value: "config-2".to_owned(),
            helps: vec![place("nvme-pm1725", 12.4)],
            hurts: vec![place("hdd-15k", -7.31)],
        };
        let comparison = CellComparison {
            dimension: "preset".to_owned(),
            others: vec![data("hdd-15k")],
            baseline: "config-1".to_owned(),
            rows: Vec::new(),
        };
        let told = |all: &[Reversal]| reversed(&[&comparison, &comparison], all).into_string();
        let words = told(&[reversal]);
        assert!(
            words.contains(
                "</b> against config-1 helps with nvme-pm1725 (+12 %) and hurts with \
                hdd-15k (-7.3 %).</p>"
            ),
            "{words}"
        );
        // There is nothing to compare.
        assert_eq!(told(&[]), "");
    }
}
