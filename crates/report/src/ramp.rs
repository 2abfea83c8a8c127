//! Ramps: where each configuration saturates and why, and the points that say so. The charts over
//! connections show the curves.

use crate::format::{
    NOT_AVAILABLE, capitalised, ms, or_na, percent, significant, transaction, truncated,
};
use crate::lab::missing::to_cell_of;
use crate::model::{CellView, LabView};
use analyse::{RampOutcome, RampPoint};
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
pub fn ramp_marks<'a>(ramps: &[RampOutcome], view: &'a LabView) -> Vec<RampMark<'a>> {
    let mark = |ramp: &RampOutcome| {
        let saturation = ramp.saturation.as_ref()?;
        saturation.reason.as_ref()?;
        Some(RampMark { group: &cell_of(ramp, view)?.group, connections: saturation.connections? })
    };
    ramps.iter().filter_map(mark).collect()
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
pub fn ramp_section(ramps: &[RampOutcome], view: &LabView) -> Markup {
    html! {
        @if !ramps.is_empty() {
            section id="ramp" {
                h2 { "Ramp" }
                p.soft.small { "Connections rose on one server until a condition showed. The \
                    saturation point is the last count before it; the charts by connections mark \
                    it with a dashed line." }
                @if ramps.len() > 1 { (supported(ramps, view)) }
                @for ramp in ramps {
                    @if ramps.len() > 1 { h3 { (name(ramp, view)) } }
                    p { b { (capitalised(&ramp.words)) } "." }
                    p.soft.small { "Asked for: " (ramp.asked) "." }
                    @if !ramp.points.is_empty() { (points_table(ramp)) }
                }
            }
        }
    }
}

/// What each configuration supports.
fn supported(ramps: &[RampOutcome], view: &LabView) -> Markup {
    html! {
        div.scroll { table.ramps {
            caption { "Connections that each configuration supports. NA: none, with the reason." }
            thead { tr {
                th scope="col" { "Configuration" }
                th.num scope="col" { "Supported" span.unit { "connections" } }
                th.num scope="col" { "Throughput there" span.unit { (view.metric().title()) } }
                th scope="col" { "Reason" }
            } }
            tbody { @for ramp in ramps {
                @let connections = ramp.saturation.as_ref().and_then(|found| found.connections);
                tr {
                    th scope="row" { (name(ramp, view)) }
                    td.num { b { (ramp.supported_words()) } }
                    td.num { (nopm_at(ramp, connections)) }
                    td { (ramp.words) }
                }
            } }
        } }
    }
}

/// Of several measurements of one count, which are of one cell, the mean.
fn nopm_at(ramp: &RampOutcome, connections: Option<u32>) -> Markup {
    let there = ramp
        .points
        .iter()
        .filter(|point| Some(point.connections) == connections && point.nopm.is_some());
    let nopm: Vec<f64> = there.clone().filter_map(|point| point.nopm).collect();
    html! {
        @match there.clone().next_back().zip(analyse::mean(&nopm)) {
            Some((point, nopm)) => (to_cell_of(point.cell_id, &truncated(nopm))),
            None => (NOT_AVAILABLE),
        }
    }
}

fn points_table(ramp: &RampOutcome) -> Markup {
    let mut points: Vec<&RampPoint> = ramp.points.iter().collect();
    points.sort_by_key(|point| point.connections);
    let saturated = ramp.supported_connections();
    let telling = ramp.telling_transaction();
    let counted = capitalised(ramp.metric.transaction());
    html! {
        div.scroll { table.ramp {
            caption { "Points by connections; ± is half of the 95 % interval of the point's own \
                window." }
            thead { tr {
                th.num scope="col" { "Connections" }
                th.num scope="col" { "Throughput" span.unit { (ramp.metric.title()) } }
                th scope="col" { "Uncertainty" }
                th.num scope="col" { (counted) " p90" span.unit { "ms" } }
                th.num scope="col" { (counted) " p95" span.unit { "ms" } }
                @if let Some(name) = telling {
                    th.num scope="col" { (transaction(name)) " p90" span.unit { "ms" } }
                }
                th.num scope="col" { "CPU used" span.unit { "of what was left to the server" } }
                th scope="col" { "" }
            } }
            tbody {
                @for point in points {
                    (point_row(point, telling, Some(point.connections) == saturated))
                }
            }
        } }
    }
}

fn point_row(point: &RampPoint, telling: Option<&str>, is_saturated: bool) -> Markup {
    let ms = |us: Option<f64>| or_na(us.map(|us| us * 1e3), ms);
    html! {
        tr {
            th.num scope="row" { a href={ "#cell-" (point.cell_id) } { (point.connections) } }
            td.num { b { (or_na(point.nopm, truncated)) } }
            td.small { @if let Some(half) = point.nopm_half_width { "± " (significant(half)) } }
            td.num { (ms(point.primary_p90_us)) }
            td.num { (ms(point.new_order_p95_us)) }
            @if let Some(name) = telling { td.num { (ms(point.p90_us_of(name))) } }
            td.num { (or_na(point.cpu.map(|cpu| cpu.busy_share), percent)) }
            td {
                @if is_saturated { span.tag.good { "saturation point" } }
                @if let Some(code) = &point.reason_code {
                    span.tag.bad { "failed" } " " span.small { (code) }
                }
            }
        }
    }
}
