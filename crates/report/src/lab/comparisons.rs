//! What each setting does: cells that differ in it alone, as grouped bars and as the tables of the
//! white papers.

use super::causes::{causes, reversed};
use super::missing::{absent, footnotes, to_cell};
use super::published::beside_published;
use crate::bars::{Bar, bar_row, end_of};
use crate::format::{
    NOT_AVAILABLE, in_words, in_words_of, or_na, signed, significant, trimmed, truncated,
};
use crate::model::{CellView, LabView};
use analyse::{CellComparison, ComparedCell, LabOutcome, Ratio};
use base::counted;
use itertools::Itertools;
use maud::{Markup, html};

/// Bars of one figure; the table has all numbers.
const BARS_MAX: usize = 60;
/// Of bars, in the style sheet.
const COLORS: usize = 6;

/// A number that is compared.
struct ComparedNumber {
    title: &'static str,
    unit: &'static str,
    /// What one of `unit` is of the number's own.
    per: f64,
    shown: fn(f64) -> String,
    of: fn(&ComparedCell) -> &Ratio,
}

const METRICS: [ComparedNumber; 2] = [
    ComparedNumber {
        title: "Throughput",
        unit: "NOPM",
        per: 1.0,
        shown: truncated,
        of: |row| &row.nopm,
    },
    ComparedNumber {
        title: "New-order p95",
        unit: "ms",
        per: 1e3,
        shown: significant,
        of: |row| &row.new_order_p95_us,
    },
];

/// A section for all dimensions; nothing where only connections vary.
pub fn comparisons(view: &LabView, outcome: &LabOutcome) -> Markup {
    let all = &outcome.comparisons;
    let dimensions = all.iter().map(|comparison| &comparison.dimension).unique();
    html! {
        @if !all.is_empty() {
            section id="comparisons" {
                h2 { "Comparisons" }
                p.soft.small {
                    "Cells that differ in one thing alone, against the first of those compared. ± \
                     is the 95 % confidence interval of a mean over repeats, "
                    "with the drift of the machine in it. Ratios are of cells inside blocks, where \
                     drift is the same for all, each with its own 95 % interval. "
                    @if outcome.adaptive {
                        "What came out decided how often a cell was measured, so that no \
                         difference is claimed."
                    } @else {
                        "p is the probability of such a difference where there is none, corrected \
                         for all comparisons of its table (Holm): below 0.05 it is claimed. "
                        "Fewer than three repeats support no claim, and one has no interval."
                    }
                }
                @for dimension in dimensions {
                    @let of: Vec<&CellComparison> =
                        all.iter().filter(|c| c.dimension == *dimension).collect();
                    h3 { "By " (dimension) }
                    div.charts { @for metric in &METRICS { (figure(view, &of, metric)) } }
                    details.small { summary { "Data table" } (table(view, &of)) }
                    @if !outcome.adaptive { (reversed(&of, &outcome.reversals)) }
                    (causes(view, &of))
                    (beside_published(view, &of))
                    (footnotes(
                        of.iter()
                            .flat_map(|c| &c.rows)
                            .filter_map(|row| view.by_ordinal(row.ordinal))
                    ))
                }
            }
        }
    }
}

/// The bars of throughput with the first thing that varies; nothing where nothing does.
pub fn first_bars(view: &LabView, outcome: &LabOutcome) -> Option<Markup> {
    let dimension = &outcome.comparisons.first()?.dimension;
    let all: Vec<&CellComparison> =
        outcome.comparisons.iter().filter(|c| c.dimension == *dimension).collect();
    Some(figure(view, &all, &METRICS[0]))
}

fn figure(view: &LabView, all: &[&CellComparison], metric: &ComparedNumber) -> Markup {
    // A value has one color, though a group may lack some of the others.
    let rows = all.iter().flat_map(|comparison| &comparison.rows);
    let values = rows.map(|row| &row.value).unique().collect_vec();
    let mut shown: Vec<(&CellComparison, Vec<Bar<'_>>)> = Vec::new();
    let mut rows = 0;
    for comparison in all {
        rows += comparison.rows.len();
        if rows <= BARS_MAX || shown.is_empty() {
            let bars = comparison.rows.iter().map(|row| {
                let place = values.iter().position(|value| **value == row.value);
                let of = (metric.of)(row);
                Bar {
                    name: &row.value,
                    cell: view.by_ordinal(row.ordinal),
                    mean: of.mean.map(|mean| mean / metric.per),
                    half_width: of.half_width.map(|half| half / metric.per),
                    color: place.unwrap_or(0) % COLORS + 1,
                }
            });
            shown.push((comparison, bars.collect()));
        }
    }
    let top = end_of(shown.iter().flat_map(|(_, bars)| bars));
    let unit = in_words_of(view.metric(), metric.unit);
    html! {
        figure.bars {
            figcaption {
                b {
                    (in_words_of(view.metric(), metric.title)) " by " (all[0].dimension) ", " (unit)
                }
            }
            @for (comparison, bars) in &shown {
                @if !comparison.others.is_empty() {
                    p.small.soft { (in_words(&comparison.others)) }
                }
                @for bar in bars { (bar_row(bar, top, (&unit, metric.shown))) }
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
                        th.num.first colspan="6" scope="colgroup" {
                            (in_words_of(view.metric(), metric.title)) ", "
                            (in_words_of(view.metric(), metric.unit))
                        }
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
                            @for metric in &METRICS {
                                (columns(
                                    view.by_ordinal(row.ordinal),
                                    metric,
                                    (metric.of)(row),
                                    index == 0
                                ))
                            }
                        }
                    }
                }
            }
        } }
    }
}

fn columns(
    cell: Option<&CellView>,
    metric: &ComparedNumber,
    ratio: &Ratio,
    is_base: bool,
) -> Markup {
    let Some((cell, mean)) = cell.zip(ratio.mean) else {
        return html! {
            td.num.first { @match cell { Some(cell) => (absent(cell)), None => (NOT_AVAILABLE) } }
            td {} td {} td {} td {} td {}
        };
    };
    html! {
        td.num.first { (to_cell(cell, &(metric.shown)(mean / metric.per))) }
        @match ratio.half_width {
            Some(half) => td.num.soft { (significant(half / metric.per)) },
            None => td.num.soft { "one repeat" },
        }
        td.num { (or_na(ratio.ratio.value, |ratio| format!("{ratio:.2}"))) }
        td.num.soft { (interval(ratio)) }
        td.num {
            @if is_base { "baseline" }
            @else { (or_na(ratio.percent_difference, signed)) }
        }
        td.num.soft { (ratio.p_corrected.map(probability).unwrap_or_default()) }
    }
}

/// `1.21 to 1.35`, with decimals enough to tell the ends apart.
fn interval(ratio: &Ratio) -> String {
    let Some((low, high)) = ratio.ratio.interval() else {
        return String::new();
    };
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
