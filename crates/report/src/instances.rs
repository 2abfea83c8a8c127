//! Servers that were driven together: all of them against one alone, and each of them in a repeat.

use crate::format::{NOT_AVAILABLE, or_na, percent, truncated};
use crate::lab::missing::to_cell;
use crate::model::{LabView, RepeatView};
use analyse::{CellOutcome, Together, interference};
use maud::{Markup, html};

/// Throughput by the number of servers; nothing where the lab has one number only.
pub fn interference_section(view: &LabView, cells: &[CellOutcome]) -> Markup {
    let rows = interference(cells);
    let cell = |row: &Together| &view.cells[row.place];
    html! {
        @if !rows.is_empty() {
            section id="instances" {
                h2 { "By servers on one machine" }
                div.scroll { table {
                    caption { "Servers divide the buffer pool, the page cache and the connections, and share the machine and its devices. Against one: throughput of all of them by that of one server alone. Spread: the most less the least of them, by their mean." }
                    thead { tr {
                        th scope="col" { "Cell" }
                        th.num scope="col" { "Servers" }
                        th.num scope="col" { "All together" span.unit { "NOPM" } }
                        th.num scope="col" { "Against one" span.unit { "%" } }
                        th.num scope="col" { "Spread between them" span.unit { "%" } }
                    } }
                    tbody { @for row in &rows {
                        tr {
                            th scope="row" { (cell(row).label) }
                            td.num { (row.instances) }
                            td.num { b { @match row.nopm {
                                Some(nopm) => (to_cell(cell(row), &truncated(nopm))),
                                None => (NOT_AVAILABLE),
                            } } }
                            td.num { (or_na(row.efficiency, percent)) }
                            td.num { (row.spread.map_or_else(|| "-".to_owned(), percent)) }
                        }
                    } }
                } }
            }
        }
    }
}

/// What each server of a repeat did; nothing where there was one.
pub fn each_server(repeat: &RepeatView) -> Markup {
    let each: Vec<String> = repeat
        .nopm_by_instance
        .iter()
        .map(|nopm| truncated(*nopm))
        .collect();
    html! {
        @if !each.is_empty() {
            p { "NOPM of each of " (each.len()) " servers: " b { (each.join(", ")) } "." }
        }
    }
}
