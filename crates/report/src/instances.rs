//! Servers that were driven together: all of them against one alone, and each of them in a repeat.

use crate::format::{or_dash, or_na, percents, truncated};
use crate::lab::missing::{footnotes, number};
use crate::model::{CellView, LabView, RepeatView};
use crate::table::shown;
use analyse::{Interference, Table, interference, nodes_table, ranks_table};
use itertools::Itertools;
use maud::{Markup, html};

/// Throughput by the number of servers; nothing where the lab has one number only.
pub fn interference_section(view: &LabView) -> Markup {
    let rows = interference(&view.outcome.cells);
    let cell = |row: &Interference| -> &CellView { &view.cells[row.place] };
    let table = Table::of(&rows)
        .words("Cell", |row| &cell(row).label)
        .numbers("Servers", |row| row.instances)
        .numbers_in(("All together", view.metric().title()), |row| {
            number(cell(row), &cell(row).nopm(), truncated)
        })
        .numbers_in(("Against one", "%"), |row| or_na(row.efficiency, percents))
        .numbers_in(("Spread between them", "%"), |row| or_dash(row.spread, percents));
    let caption = "Servers divide the buffer pool, the page cache and the connections, and share \
        the machine and its devices. Against one: throughput of all of them by that of one server \
        alone. Spread: the most less the least of them, by their mean. ± is the 95 % confidence \
        interval over repeats, and a number without it is of one repeat; how sure a difference is, \
        the comparisons say.";
    html! {
        @if !rows.is_empty() {
            (shown(caption, table))
            (footnotes(rows.iter().map(cell)))
        }
    }
}

/// What each server of a repeat did; nothing where there was one.
pub fn each_server(repeat: &RepeatView) -> Markup {
    let summary = repeat.summary();
    let each = &summary.nopm_by_instance;
    html! {
        @if !each.is_empty() { p {
            (summary.throughput_metric.title()) " of each of " (each.len()) " servers: "
            b { (each.iter().map(|nopm| truncated(*nopm)).join(", ")) } "."
        } }
    }
}

/// How each server of one database kept up with the others; nothing where there was one.
pub fn each_node(repeat: &RepeatView) -> Markup {
    let caption = "Servers of one database, in the window; reads from replicas in the whole run. \
        Stale: reads that did not see an order which was committed before they began, and how \
        long before.";
    html! { @if let Some(nodes) = nodes_table(&repeat.run.nodes) { (shown(caption, nodes)) } }
}

/// What each rank of a fleet did in a repeat; nothing where one process drove it.
pub fn each_rank(repeat: &RepeatView) -> Markup {
    let caption = "Ranks that drove together, in the window. Wait: driver threads that were ready \
        to run while no core was free. Late: how late it began.";
    html! { @if let Some(ranks) = ranks_table(repeat.summary()) { (shown(caption, ranks)) } }
}
