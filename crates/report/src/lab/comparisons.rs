//! What each setting does: cells that differ in it alone, as grouped bars and as the tables of the
//! white papers.

use super::causes::{causes, reversed};
use super::missing::{absent, footnotes, to_cell};
use super::numbers::{CellNumber, P95, THROUGHPUT};
use super::published::beside_published;
use crate::bars::{Bar, bar_row, end_of};
use crate::format::{in_words, or_na, signed, significant, trimmed};
use crate::model::LabView;
use analyse::{CellComparison, ComparedCell, Ratio};
use base::{by_key, counted};
use itertools::Itertools;
use maud::{Markup, html};

/// Bars of one figure; the table has all numbers.
const BARS_MAX: usize = 60;
/// Of bars, in the style sheet.
const COLORS: usize = 6;

/// A number that is compared.
struct ComparedNumber {
    number: &'static CellNumber,
    /// What one of the number's unit is of its ratio's mean.
    per: f64,
    of: fn(&ComparedCell) -> &Ratio,
}

static METRICS: [ComparedNumber; 2] = [
    ComparedNumber { number: &THROUGHPUT, per: 1.0, of: |row| &row.nopm },
    ComparedNumber { number: &P95, per: 1e3, of: |row| &row.new_order_p95_us },
];

/// By all dimensions; nothing where only connections vary.
pub fn comparisons(view: &LabView) -> Markup {
    let all = by_dimension(view);
    html! {
        @if !all.is_empty() {
            p.soft.small {
                "Cells that differ in one thing alone, against the first of those compared. ± is \
                 the 95 % confidence interval of a mean over repeats, with the drift of the \
                 machine in it. Ratios are of cells inside blocks, where drift is the same for \
                 all, each with its own 95 % interval. "
                @if view.outcome.adaptive {
                    "What came out decided how often a cell was measured, so that no difference is \
                     claimed."
                } @else {
                    "p is the probability of such a difference where there is none, corrected for \
                     all comparisons of its table (Holm): below 0.05 it is claimed. Fewer than \
                     three repeats support no claim, and one has no interval."
                }
            }
            @for (dimension, of) in &all {
                h3 { "By " (dimension) }
                div.charts { @for metric in &METRICS { (figure(view, of, metric)) } }
                details.small { summary { "Data table" } (table(view, of)) }
                @if !view.outcome.adaptive { (reversed(of, &view.outcome.reversals)) }
                (causes(view, of))
                (beside_published(view, of))
                @let rows = of.iter().flat_map(|comparison| &comparison.rows);
                (footnotes(rows.filter_map(|row| view.by_ordinal(row.ordinal))))
            }
        }
    }
}

/// The comparisons of each thing that varies.
fn by_dimension(view: &LabView) -> Vec<(&str, Vec<&CellComparison>)> {
    by_key(view.outcome.comparisons.iter().map(|of| (of.dimension.as_str(), of)))
}

/// The bars of throughput with the first thing that varies; nothing where nothing does.
pub fn first_bars(view: &LabView) -> Option<Markup> {
    let all = by_dimension(view);
    all.first().map(|(_, first)| figure(view, first, &METRICS[0]))
}

fn figure<'a>(view: &'a LabView, all: &[&'a CellComparison], metric: &ComparedNumber) -> Markup {
    // A value has one color, though a group may lack some of the others.
    let rows = all.iter().flat_map(|comparison| &comparison.rows);
    let values = rows.map(|row| &row.value).unique().collect_vec();
    let bar = |row: &'a ComparedCell| {
        let place = values.iter().position(|value| **value == row.value);
        let of = (metric.of)(row);
        Bar {
            name: &row.value,
            cell: view.by_ordinal(row.ordinal),
            mean: of.mean.map(|mean| mean / metric.per),
            half_width: of.half_width.map(|half| half / metric.per),
            color: place.unwrap_or(0) % COLORS + 1,
        }
    };
    let mut rows = 0;
    let fits = |of: &&&CellComparison| {
        rows += of.rows.len();
        rows <= BARS_MAX
    };
    let count = all.iter().take_while(fits).count().max(1);
    let bars = |of: &&'a CellComparison| (*of, of.rows.iter().map(bar).collect_vec());
    let shown = all.iter().take(count).map(bars).collect_vec();
    let top = end_of(shown.iter().flat_map(|(_, bars)| bars));
    let (title, unit) = (metric.number.title(view), metric.number.unit(view));
    html! {
        figure.bars {
            figcaption { b { (title) " by " (all[0].dimension) ", " (unit) } }
            @for (comparison, bars) in &shown {
                @if !comparison.others.is_empty() {
                    p.small.soft { (in_words(&comparison.others)) }
                }
                @for bar in bars { (bar_row(bar, top, (&unit, metric.number.shown))) }
            }
            @if shown.len() < all.len() { p.small.soft { (counted(all.len() - shown.len(),
                "group more is", "groups more are")) " in the table." } }
        }
    }
}

/// The papers' columns, a block of rows for each group.
fn table(view: &LabView, all: &[&CellComparison]) -> Markup {
    html! {
        div.scroll { table.grid {
            thead {
                tr {
                    th rowspan="2" scope="col" { (all[0].dimension) }
                    @for metric in &METRICS {
                        th.num.first colspan="6" scope="colgroup" { (metric.number.key(view)) }
                    }
                }
                tr { @for _ in &METRICS {
                    th.num.first scope="col" { "mean" } th.num scope="col" { "±" }
                    th.num scope="col" { "ratio" } th.num scope="col" { "95 %" }
                    th.num scope="col" { "difference" } th.num scope="col" { "p" }
                } }
            }
            @for comparison in all {
                tbody {
                    @if !comparison.others.is_empty() {
                        tr.group {
                            th colspan="13" scope="rowgroup" { (in_words(&comparison.others)) }
                        }
                    }
                    @for (index, row) in comparison.rows.iter().enumerate() {
                        tr {
                            th scope="row" { (row.value) }
                            @for of in &METRICS { (columns(view, row, of, index == 0)) }
                        }
                    }
                }
            }
        } }
    }
}

fn columns(view: &LabView, row: &ComparedCell, metric: &ComparedNumber, is_base: bool) -> Markup {
    let (cell, ratio) = (view.by_ordinal(row.ordinal), (metric.of)(row));
    let Some((cell, mean)) = cell.zip(ratio.mean) else {
        return html! { td.num.first { (absent(cell)) } td {} td {} td {} td {} td {} };
    };
    html! {
        td.num.first { (to_cell(cell, &(metric.number.shown)(mean / metric.per))) }
        @match ratio.half_width {
            Some(half) => td.num.soft { (significant(half / metric.per)) },
            None => td.num.soft { "one repeat" },
        }
        td.num { (or_na(ratio.ratio.value, |ratio| format!("{ratio:.2}"))) }
        td.num.soft { (interval(ratio)) }
        td.num { @if is_base { "baseline" } @else { (or_na(ratio.percent_difference, signed)) } }
        td.num.soft { (ratio.p_corrected.map(probability).unwrap_or_default()) }
    }
}

/// `1.21 to 1.35`, with decimals enough to tell the ends apart.
fn interval(ratio: &Ratio) -> String {
    let Some((low, high)) = ratio.ratio.interval() else { return String::new() };
    let decimals = if high - low < 0.1 { 3 } else { 2 };
    format!("{low:.decimals$} to {high:.decimals$}")
}

fn probability(p: f64) -> String {
    if p < 0.001 { "< 0.001".to_owned() } else { trimmed(p, 3) }
}

#[cfg(test)]
mod tests {
    use super::{probability, signed};

    #[test]
    fn differences_and_probabilities_read_well() {
        let texts = [146.451, -3.26, 0.0].map(signed);
        assert_eq!(texts, ["+146 %", "-3.3 %", "+0.0 %"]);
        let texts = [0.000_4, 0.012_3, 1.0].map(probability);
        assert_eq!(texts, ["< 0.001", "0.012", "1"]);
    }
}
