//! Throughput and response time over time, a line for each of what differs, at the same number of
//! connections.

use crate::format::in_words_of;
use crate::model::{CellView, LabView, RepeatView};
use crate::plot::plot;
use base::{by_key, counted};
use itertools::Itertools;
use maud::{Markup, html};
use serde::Serialize;
use std::cmp::Reverse;

/// What can be drawn at one number of connections.
#[derive(Serialize)]
pub struct OverTime {
    connections: u32,
    lines: Vec<RepeatLine>,
}

/// A line, which is a repeat's series.
#[derive(Serialize)]
struct RepeatLine {
    name: String,
    repeat: i64,
}

/// One for each number of connections at which two groups or more have a result; that of the most
/// groups comes first, and of those the largest number.
pub fn over_time(view: &LabView) -> Vec<OverTime> {
    let is_drawn = |of: &&RepeatView| of.repeat.is_whole() && !of.series.time_s.is_empty();
    let line = |cell: &CellView| {
        let repeat = cell.shown().filter(is_drawn)?.repeat.id.0;
        Some((cell.cell.what.connections, RepeatLine { name: cell.group.clone(), repeat }))
    };
    let of = |(connections, lines): (u32, Vec<RepeatLine>)| {
        let lines = lines.into_iter().unique_by(|line| line.name.clone()).collect();
        OverTime { connections, lines }
    };
    let all = by_key(view.cells.iter().filter_map(line)).into_iter().map(of);
    let comparable = all.filter(|of| of.lines.len() > 1);
    comparable.sorted_by_key(|of| Reverse((of.lines.len(), of.connections))).collect()
}

/// Charts over time, and the distribution of each transaction type; nothing where there is nothing
/// to compare.
pub fn over_time_charts(view: &LabView, all: &[OverTime]) -> Markup {
    let chart = |kind: &str, what: &str, title: &str| {
        html! {
            figure.wide[kind == "over_time"] data-chart=(kind) data-what=(what) data-repeat="all" {
                (plot(title, ""))
            }
        }
    };
    let lines = all.iter().flat_map(|of| &of.lines);
    let repeats = lines.filter_map(|line| view.repeats().find(|r| r.repeat.id.0 == line.repeat));
    let types = repeats.flat_map(|repeat| &repeat.series.names).unique().collect_vec();
    html! {
        @if !all.is_empty() {
            p.soft.small { "The first whole repeat of each cell. At first at the largest number of \
                connections that the most of them have done." }
            label.small { "At " select data-choice="at" aria-label="Connections" {
                @for (index, of) in all.iter().enumerate() {
                    option value=(index) {
                        (counted(of.connections as usize, "connection", "connections"))
                    }
                }
            } }
            div.charts {
                (chart("over_time", "per_minute", "Throughput over time"))
                (chart("over_time", "p95_ms",
                    &in_words_of(view.metric(), "New-order p95 over time")))
            }
            div.multiples {
                div.legend {}
                @for (name, title) in &types {
                    (chart("spread", name, &format!("{title}, response time by percentile")))
                }
            }
        }
    }
}
