//! Ramps: where each configuration saturates and why, and the points that say so. The charts over
//! connections show the curves.

use crate::format::{
    NOT_AVAILABLE, capitalised, ms, or_na, percent, significant, transaction, truncated,
};
use crate::model::{CellView, LabView};
use crate::table::shown_as;
use analyse::{RampOutcome, Table};
use itertools::Itertools;
use maud::{Markup, html};
use serde::Serialize;

/// A saturation point for the charts over connections.
#[derive(Serialize)]
pub struct RampMark<'a> {
    /// The line that it is on.
    group: &'a str,
    connections: u32,
}

/// One of each ramp that has a saturation point.
pub fn ramp_marks(view: &LabView) -> Vec<RampMark<'_>> {
    let mark = |ramp: &RampOutcome| {
        let connections = ramp.supported_connections()?;
        Some(RampMark { group: &cell_of(ramp, view)?.group, connections })
    };
    view.outcome.ramps.iter().filter_map(mark).collect()
}

fn cell_of<'a>(ramp: &RampOutcome, view: &'a LabView) -> Option<&'a CellView> {
    let first = ramp.points.first()?;
    view.cells.iter().find(|cell| cell.cell.id.0 == first.cell_id)
}

fn name(ramp: &RampOutcome, view: &LabView) -> String {
    let group = cell_of(ramp, view).map_or("no point", |cell| cell.group.as_str());
    format!("{group}, repeat {}", ramp.repeat)
}

/// Nothing where the lab has no ramp.
pub fn ramp_section(view: &LabView) -> Markup {
    let ramps = &view.outcome.ramps;
    html! {
        @if !ramps.is_empty() {
            p.soft.small { "Connections rose on one server until a condition showed. The \
                saturation point is the last count before it; the charts by connections mark it \
                with a dashed line." }
            @if ramps.len() > 1 { (supported(view)) }
            @for ramp in ramps {
                @if ramps.len() > 1 { h3 { (name(ramp, view)) } }
                p { b { (capitalised(&ramp.words)) } "." }
                p.soft.small { "Asked for: " (ramp.asked) "." }
                @if !ramp.points.is_empty() { (points_table(ramp)) }
            }
        }
    }
}

/// What each configuration supports.
fn supported(view: &LabView) -> Markup {
    let table = Table::of(&view.outcome.ramps)
        .words("Configuration", |ramp| name(ramp, view))
        .numbers_in(("Supported", "connections"), |ramp| html! { b { (ramp.supported_words()) } })
        .numbers_in(("Throughput there", view.metric().title()), |ramp| nopm_at_end(ramp))
        .words("Reason", |ramp| &ramp.words);
    let caption = "Connections that each configuration supports. NA: none, with the reason.";
    shown_as("ramps", caption, table)
}

/// Of several measurements of one count, which are of one cell, the mean.
fn nopm_at_end(ramp: &RampOutcome) -> Markup {
    let connections = ramp.saturation.as_ref().and_then(|of| of.connections);
    let there = ramp.points.iter().filter(|point| Some(point.connections) == connections);
    let (cells, nopm): (Vec<i64>, Vec<f64>) =
        there.filter_map(|point| Some((point.cell_id, point.nopm?))).unzip();
    html! {
        @match cells.last().zip(analyse::mean(&nopm)) {
            Some((cell, nopm)) => a.to href={ "#cell-" (cell) } { (truncated(nopm)) },
            None => (NOT_AVAILABLE),
        }
    }
}

fn points_table(ramp: &RampOutcome) -> Markup {
    let points = ramp.points.iter().sorted_by_key(|point| point.connections);
    let saturated = ramp.supported_connections();
    let counted = capitalised(ramp.metric.transaction());
    let ms = |us: Option<f64>| or_na(us.map(|us| us * 1e3), ms);
    let mut table = Table::of(points)
        .numbers("Connections", |point| {
            html! { a href={ "#cell-" (point.cell_id) } { (point.connections) } }
        })
        .numbers_in(("Throughput", ramp.metric.title()), |point| {
            html! { b { (or_na(point.nopm, truncated)) } }
        })
        .words("Uncertainty", |point| {
            html! { span.small {
                @if let Some(half) = point.nopm_half_width { "± " (significant(half)) }
            } }
        })
        .numbers_in((&format!("{counted} p90"), "ms"), |point| ms(point.primary_p90_us))
        .numbers_in((&format!("{counted} p95"), "ms"), |point| ms(point.new_order_p95_us));
    if let Some(name) = ramp.telling_transaction() {
        let title = format!("{} p90", transaction(name));
        table = table.numbers_in((&title, "ms"), |point| ms(point.p90_us_of(name)));
    }
    let table = table
        .numbers_in(("CPU used", "of what was left to the server"), |point| {
            or_na(point.cpu.map(|cpu| cpu.busy_share), percent)
        })
        .words("", |point| {
            html! {
                @if Some(point.connections) == saturated { span.tag.good { "saturation point" } }
                @if let Some(code) = &point.reason_code {
                    span.tag.bad { "failed" } " " span.small { (code) }
                }
            }
        });
    let caption =
        "Points by connections; ± is half of the 95 % interval of the point's own window.";
    shown_as("ramp", caption, table)
}
