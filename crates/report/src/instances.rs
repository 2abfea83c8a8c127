//! Servers that were driven together: all of them against one alone, and each of them in a repeat.

use crate::format::{or_na, trimmed, truncated};
use crate::lab::missing::{footnotes, number};
use crate::model::{CellView, LabView, RepeatView};
use analyse::{CellOutcome, Interference, interference};
use maud::{Markup, html};
use store::ThroughputMetric;

/// Throughput by the number of servers; nothing where the lab has one number only.
pub fn interference_section(view: &LabView, cells: &[CellOutcome]) -> Markup {
    let rows = interference(cells);
    let cell = |row: &Interference| -> &CellView { &view.cells[row.place] };
    html! {
        @if !rows.is_empty() {
            section id="instances" {
                h2 { "By servers on one machine" }
                div.scroll { table {
                    caption { "Servers divide the buffer pool, the page cache and the connections, and share the machine and its devices. Against one: throughput of all of them by that of one server alone. Spread: the most less the least of them, by their mean. ± is the 95 % confidence interval over repeats, and a number without it is of one repeat; how sure a difference is, the comparisons say." }
                    thead { tr {
                        th scope="col" { "Cell" }
                        th.num scope="col" { "Servers" }
                        th.num scope="col" { "All together" span.unit { (view.metric().title()) } }
                        th.num scope="col" { "Against one" span.unit { "%" } }
                        th.num scope="col" { "Spread between them" span.unit { "%" } }
                    } }
                    tbody { @for row in &rows {
                        tr {
                            th scope="row" { (cell(row).label) }
                            td.num { (row.instances) }
                            td.num { (number(cell(row), cell(row).nopm().as_ref(), truncated)) }
                            td.num { (or_na(row.efficiency, percents)) }
                            td.num { (row.spread.map_or_else(|| "-".to_owned(), percents)) }
                        }
                    } }
                } }
                (footnotes(rows.iter().map(cell)))
            }
        }
    }
}

/// A share, in a column of percents.
fn percents(share: f64) -> String {
    trimmed(share * 100.0, 1)
}

/// What each server of a repeat did; nothing where there was one.
pub fn each_server(metric: ThroughputMetric, repeat: &RepeatView) -> Markup {
    let each: Vec<String> = repeat.nopm_by_instance.iter().map(|nopm| truncated(*nopm)).collect();
    html! {
        @if !each.is_empty() {
            p { (metric.title()) " of each of " (each.len()) " servers: " b { (each.join(", ")) } "." }
        }
    }
}
