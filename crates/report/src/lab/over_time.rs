//! Throughput and response time over time, a line for each of what differs, at the same number of
//! connections.

use crate::format::in_words_of;
use crate::model::{LabView, RepeatView};
use base::counted;
use maud::{Markup, html};
use serde::Serialize;
use std::collections::BTreeSet;

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
    let connections: BTreeSet<u32> = view.cells.iter().map(|c| c.cell.what.connections).collect();
    let mut all: Vec<OverTime> = connections
        .into_iter()
        .rev()
        .map(|connections| {
            let mut lines: Vec<RepeatLine> = Vec::new();
            let at = |cell: &&crate::model::CellView| cell.cell.what.connections == connections;
            for cell in view.cells.iter().filter(at) {
                let drawn = |r: &&RepeatView| r.repeat.is_whole() && !r.series.time_s.is_empty();
                let is_new = !lines.iter().any(|line| line.name == cell.group);
                if let (true, Some(first)) = (is_new, cell.shown().filter(drawn)) {
                    lines.push(RepeatLine { name: cell.group.clone(), repeat: first.repeat.id.0 });
                }
            }
            OverTime { connections, lines }
        })
        .filter(|of| of.lines.len() > 1)
        .collect();
    // A stable sort: of equals the largest number of connections stays first.
    all.sort_by_key(|of| std::cmp::Reverse(of.lines.len()));
    all
}

/// The two charts; nothing where there is nothing to compare.
pub fn over_time_charts(view: &LabView, all: &[OverTime]) -> Markup {
    let chart = |what: &str, title: &str| {
        html! {
            figure.wide data-chart="over_time" data-what=(what) data-repeat="all" {
                figcaption { b { (title) }
                    label { select data-choice="at" aria-label="Connections" {
                        @for (index, of) in all.iter().enumerate() {
                            option value=(index) { (counted(of.connections as usize, "connection", "connections")) }
                        }
                    } }
                }
                div.plot role="img" aria-label={ (title) "; the data table below holds its numbers" } {}
                div.legend {}
            }
        }
    };
    html! {
        @if !all.is_empty() {
            section id="over-time" {
                h2 { "Over time" }
                p.soft.small { "The first whole repeat of each cell. At first at the largest number of connections that the most of them have done." }
                div.charts {
                    (chart("per_minute", "Throughput over time"))
                    (chart("p95_ms", &in_words_of(view.metric(), "New-order p95 over time")))
                }
            }
        }
    }
}
