//! Servers that were driven together: all of them against one alone, and each of them in a repeat.

use crate::format::{integer, or_dash, or_na, percents, significant, trimmed, truncated};
use crate::lab::missing::{footnotes, number};
use crate::model::{CellView, LabView, RepeatView};
use analyse::{CellOutcome, Interference, interference, node_columns};
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
                    caption { "Servers divide the buffer pool, the page cache and the connections, \
                        and share the machine and its devices. Against one: throughput of all of \
                        them by that of one server alone. Spread: the most less the least of them, \
                        by their mean. ± is the 95 % confidence interval over repeats, and a \
                        number without it is of one repeat; how sure a difference is, the \
                        comparisons say." }
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
                            td.num { (or_dash(row.spread, percents)) }
                        }
                    } }
                } }
                (footnotes(rows.iter().map(cell)))
            }
        }
    }
}

/// What each server of a repeat did; nothing where there was one.
pub fn each_server(metric: ThroughputMetric, repeat: &RepeatView) -> Markup {
    let each: Vec<String> = repeat.nopm_by_instance.iter().map(|nopm| truncated(*nopm)).collect();
    html! {
        @if !each.is_empty() {
            p {
                (metric.title()) " of each of " (each.len()) " servers: " b { (each.join(", ")) }
                "."
            }
        }
    }
}

/// How each server of one database kept up with the others; nothing where there was one.
pub fn each_node(repeat: &RepeatView) -> Markup {
    let columns = node_columns(&repeat.nodes);
    html! {
        @if !columns.is_empty() {
            div.scroll { table {
                caption {
                    "Servers of one database, in the window; reads from replicas in the whole run. "
                    "Stale: reads that did not see an order which was committed before they began, "
                    "and how long before."
                }
                thead { tr {
                    th scope="col" { "Node" }
                    @for column in &columns {
                        th.num scope="col" { (column.title) span.unit { (column.unit) } }
                    }
                } }
                tbody { @for (row, node) in repeat.nodes.iter().enumerate() {
                    tr {
                        th scope="row" { (node.node) }
                        @for column in &columns {
                            td.num {
                                (or_na(column.values[row], |value| trimmed(value, column.decimals)))
                            }
                        }
                    }
                } }
            } }
        }
    }
}

/// What each rank of a fleet did in a repeat; nothing where one process drove it.
pub fn each_rank(repeat: &RepeatView) -> Markup {
    html! {
        @if !repeat.ranks.is_empty() {
            div.scroll { table {
                caption { "Ranks that drove together, in the window. Waiting: driver threads that \
                    were ready to run while no core was free." }
                thead { tr {
                    th scope="col" { "Rank" }
                    th scope="col" { "Machine" }
                    th.num scope="col" { "Threads" }
                    th.num scope="col" { "Counted transactions" }
                    th.num scope="col" { "CPU" span.unit { "s" } }
                    th.num scope="col" { "Waiting" span.unit { "s" } }
                    th.num scope="col" { "Network" span.unit { "MB" } }
                    th.num scope="col" { "Clock" span.unit { "± µs" } }
                } }
                tbody { @for rank in &repeat.ranks {
                    tr {
                        th scope="row" { (rank.rank) }
                        td {
                            (rank.host)
                            @if let Some(why) = &rank.lost { " " span.tag.bad { "lost" } " " (why) }
                        }
                        td.num { (rank.driver_threads) }
                        td.num { (integer(rank.primary_transactions)) }
                        td.num { (significant(rank.client_cpu_ns as f64 / 1e9)) }
                        td.num { (significant(rank.run_wait_ns as f64 / 1e9)) }
                        td.num { (significant(rank.network_bytes as f64 / 1e6)) }
                        td.num { (significant(rank.clock_error_ns as f64 / 1e3)) }
                    }
                } }
            } }
        }
    }
}
