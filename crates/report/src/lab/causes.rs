//! Why a setting helps, or why it does not: where the time of a transaction went in cells that differ in it alone.

use super::missing::{absent, to_cell};
use crate::format::{counted, significant, trimmed};
use crate::model::{CellView, LabView};
use analyse::{
    Account, CellComparison, Change, NamedValue, Part, Place, Resources, Reversal, Spent,
};
use maud::{Markup, html};

/// Columns of the table that stand for parts of a transaction.
const PARTS: [Part; 5] = [
    Part::RowLocks,
    Part::DataReads,
    Part::DataWrites,
    Part::Redo,
    Part::ServerCpu,
];
/// Rows of a table that is not folded.
const ROWS_MAX: usize = 12;

/// Values of a dimension that help in some groups and hurt in others; that there are none, where there are several groups.
pub fn reversed(dimension: &str, groups: usize, all: &[Reversal]) -> Markup {
    let of: Vec<&Reversal> = all.iter().filter(|r| r.dimension == dimension).collect();
    html! {
        @for reversal in &of {
            p {
                "What is best depends on what else is set: " b { (reversal.value) } " against " (reversal.baseline)
                " helps with " (places(&reversal.helps)) " and hurts with " (places(&reversal.hurts)) "."
            }
        }
        @if of.is_empty() && groups > 1 { p.soft { "No value helps in one group and hurts in another." } }
    }
}

fn places(places: &[Place]) -> String {
    let words = places.iter().map(|place| {
        let others: Vec<String> = place.others.iter().map(NamedValue::words).collect();
        format!("{} ({:+.0} %)", others.join(", "), place.percent_difference)
    });
    words.collect::<Vec<_>>().join("; ")
}

/// The accounts of all cells compared, and what is different in each from its baseline; nothing where none was sampled.
pub fn causes(
    view: &LabView,
    all: &[&CellComparison],
    others: fn(&CellComparison) -> String,
) -> Markup {
    let groups: Vec<Group> = all.iter().map(|of| Group::of(view, of, others)).collect();
    let rows: usize = groups.iter().map(|group| group.rows.len()).sum();
    let is_known = groups
        .iter()
        .flat_map(|g| &g.rows)
        .any(|row| row.account.is_some());
    html! {
        @if is_known {
            details open[rows <= ROWS_MAX] {
                summary { "Where the time of a transaction went, " (counted(rows, "cell", "cells")) }
                (table(&groups, &all[0].dimension))
                @for group in &groups { (group.sentences()) }
            }
        }
    }
}

/// A comparison with the accounts of its cells.
struct Group<'a> {
    others: String,
    rows: Vec<Row<'a>>,
}

struct Row<'a> {
    value: &'a str,
    cell: Option<&'a CellView>,
    account: Option<Account>,
}

impl<'a> Group<'a> {
    fn of(
        view: &'a LabView,
        comparison: &'a CellComparison,
        others: fn(&CellComparison) -> String,
    ) -> Group<'a> {
        let rows = comparison.rows.iter().map(|row| {
            let cell = view.by_ordinal(row.ordinal);
            let used: Vec<&Resources> = cell
                .into_iter()
                .flat_map(CellView::whole)
                .filter_map(|repeat| repeat.resources.as_ref())
                .collect();
            Row {
                value: &row.value,
                cell,
                account: Account::of(&used),
            }
        });
        Group {
            others: others(comparison),
            rows: rows.collect(),
        }
    }

    /// Of each value but the baseline.
    fn sentences(&self) -> Markup {
        let Some((first, rest)) = self.rows.split_first() else {
            return html! {};
        };
        let told = rest.iter().filter_map(|row| {
            let (account, base) = (row.account.as_ref()?, first.account.as_ref()?);
            Some((row.value, explained(account, base)))
        });
        html! {
            @for (value, words) in told {
                p.small { b { (value) } " against " (first.value) @if !self.others.is_empty() { ", " (self.others) } ": " (words) }
            }
        }
    }
}

fn table(groups: &[Group<'_>], dimension: &str) -> Markup {
    html! {
        div.scroll { table.grid {
            thead {
                tr {
                    th rowspan="2" scope="col" { (dimension) }
                    th.num rowspan="2" scope="col" { "one takes" span.unit { "ms" } }
                    @for part in PARTS { th.num.first colspan=(columns(part)) scope="colgroup" { (part.title()) } }
                    th.num.first rowspan="2" scope="col" { "page cache had" span.unit { "pages of 4 KiB" } }
                    th.num rowspan="2" scope="col" { "cores busy" span.unit { "%" } }
                    th rowspan="2" scope="col" { "bound by" }
                }
                tr { @for part in PARTS {
                    @if columns(part) == 2 { th.num.first scope="col" { "requests" } th.num scope="col" { "ms" } }
                    @else { th.num.first scope="col" { "ms" } }
                } }
            }
            @for group in groups {
                tbody {
                    @if !group.others.is_empty() { tr.group { th colspan="13" scope="rowgroup" { (group.others) } } }
                    @for row in &group.rows { (row_of(row)) }
                }
            }
        } }
        p.soft.small {
            "Per transaction, in the mean of the repeats. Response times of requests are added up whether or not a transaction waited for them (pages are also "
            "written in the background, with their flushes), so that parts may overlap. -: not measured."
        }
    }
}

/// Requests to storage have a column of their own.
fn columns(part: Part) -> usize {
    match part {
        Part::DataReads | Part::DataWrites | Part::Redo => 2,
        Part::RowLocks | Part::ServerCpu => 1,
    }
}

fn row_of(row: &Row<'_>) -> Markup {
    let shown = |number: Option<f64>| number.map_or_else(|| "-".to_owned(), significant);
    html! {
        tr {
            th scope="row" { (row.value) }
            @match (&row.account, row.cell) {
                (Some(account), Some(cell)) => {
                    td.num { (to_cell(cell, &significant(account.time_us / 1e3))) }
                    @for part in PARTS {
                        @let spent = account.spent(part);
                        @if columns(part) == 2 { td.num.first { (shown(spent.and_then(|s| s.requests))) } }
                        td.num.first[columns(part) == 1] { (shown(spent.map(|s| s.time_us / 1e3))) }
                    }
                    td.num.first { (shown(account.page_cache_hits)) }
                    td.num { (account.cpu_busy_share.map_or_else(|| "-".to_owned(), |share| trimmed(share * 100.0, 0))) }
                    td { (account.bound_by.map_or("-", |by| by.title())) }
                }
                (_, Some(cell)) => td.num { (absent(cell)) }
                (_, None) => td {}
            }
        }
    }
}

/// What differs between two cells, the largest first.
fn explained(account: &Account, base: &Account) -> String {
    let mut words = vec![format!(
        "a transaction took {} instead of {}",
        time(account.time_us),
        time(base.time_us)
    )];
    let changes = account.changes_from(base);
    let (weigh, others): (Vec<&Change>, Vec<&Change>) = changes.iter().partition(|c| c.weighs);
    words.extend(weigh.into_iter().map(|change| {
        let (other, base) = (with_requests(&change.other), with_requests(&change.base));
        format!("{} {other} instead of {base}", change.part.title())
    }));
    words.extend(others.into_iter().filter_map(|change| {
        let (requests, of_base) = change.other.requests.zip(change.base.requests)?;
        Some(format!(
            "{} {} instead of {}, which weighs little: {} instead of {}",
            significant(requests),
            change.part.title(),
            significant(of_base),
            time(change.other.time_us),
            time(change.base.time_us)
        ))
    }));
    let pages = [account, base].map(|of| of.page_cache_hits.unwrap_or(0.0));
    if pages[0] != pages[1] {
        let [pages, of_base] = pages.map(significant);
        words.push(format!(
            "{pages} pages from the page cache instead of {of_base}"
        ));
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

fn with_requests(spent: &Spent) -> String {
    let requests = |requests| format!(" ({} of them)", significant(requests));
    time(spent.time_us) + &spent.requests.map(requests).unwrap_or_default()
}

/// In the unit that people would use.
fn time(us: f64) -> String {
    if us >= 1e6 {
        format!("{} s", significant(us / 1e6))
    } else if us >= 1e3 {
        format!("{} ms", significant(us / 1e3))
    } else {
        format!("{} µs", significant(us))
    }
}

#[cfg(test)]
mod tests {
    use super::{explained, reversed};
    use analyse::{Account, BoundBy, NamedValue, Part, Place, Reversal, Spent};

    fn account(time_us: f64, reads: (f64, f64), page_cache_hits: f64, by: BoundBy) -> Account {
        let (requests, read_us) = reads;
        let reads = Spent {
            requests: Some(requests),
            time_us: read_us,
        };
        let cpu = Spent {
            requests: None,
            time_us: time_us / 40.0,
        };
        Account {
            time_us,
            page_cache_hits: Some(page_cache_hits),
            cpu_busy_share: None,
            bound_by: Some(by),
            parts: vec![(Part::DataReads, reads), (Part::ServerCpu, cpu)],
        }
    }

    #[test]
    fn what_weighs_is_told_first() {
        let base = account(400_000.0, (2.0, 900.0), 140.0, BoundBy::Cpu);
        let slow = account(2_500_000.0, (52.0, 2_100_000.0), 0.0, BoundBy::ReadIo);
        assert_eq!(
            explained(&slow, &base),
            "a transaction took 2.50 s instead of 400 ms; reads of data 2.10 s (52.0 of them) instead of 900 µs (2.00 of them); 0 pages from \
             the page cache instead of 140; read-I/O bound instead of CPU bound."
        );
        let quick = account(390_000.0, (52.0, 6_200.0), 0.0, BoundBy::Cpu);
        assert_eq!(
            explained(&quick, &base),
            "a transaction took 390 ms instead of 400 ms; 52.0 reads of data instead of 2.00, which weighs little: 6.20 ms instead of 900 µs; \
             0 pages from the page cache instead of 140; both CPU bound."
        );
    }

    #[test]
    fn where_a_setting_helps_and_where_it_hurts() {
        let place = |device: &str, percent_difference| Place {
            others: vec![NamedValue {
                name: "data".to_owned(),
                value: device.to_owned(),
            }],
            percent_difference,
        };
        let reversal = Reversal {
            dimension: "preset".to_owned(),
            baseline: "config-1".to_owned(),
            value: "config-2".to_owned(),
            helps: vec![place("nvme-pm1725", 12.4)],
            hurts: vec![place("hdd-15k", -71.3)],
        };
        let told = |dimension, groups| {
            reversed(dimension, groups, std::slice::from_ref(&reversal)).into_string()
        };
        let words = told("preset", 2);
        assert!(
            words.contains("</b> against config-1 helps with nvme-pm1725 (+12 %) and hurts with hdd-15k (-71 %)."),
            "{words}"
        );
        assert!(told("data", 2).contains("No value helps"));
        assert_eq!(told("data", 1), "");
    }
}
