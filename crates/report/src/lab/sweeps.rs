//! One variable over its values, with the value at which its curve turns.

use super::curves::{CurveCell, CurveCells, Curves, chart, curves};
use super::missing::{absent, footnotes, to_cell};
use super::numbers::{CellNumber, P95, THROUGHPUT};
use crate::format::{NOT_AVAILABLE, significant, truncated};
use crate::model::LabView;
use analyse::{NamedValue, Sweep, SweepPoint};
use maud::{Markup, html};

/// The curves of one variable.
pub struct SweptVariable<'a> {
    /// By which its charts find their curves.
    pub key: String,
    sweeps: Vec<&'a Sweep>,
    pub curves: Curves,
}

impl SweptVariable<'_> {
    pub fn chart(&self, view: &LabView, number: &CellNumber) -> Markup {
        let title = format!("{} by {}", number.title(view), self.sweeps[0].dimension);
        chart(view, &self.key, &[number], (&title, None))
    }
}

fn finding(sweep: &Sweep) -> &str {
    sweep.turning.as_ref().map_or("fewer than three values have a number", |of| &of.finding)
}

/// A variable for each dimension that was swept.
pub fn variables<'a>(view: &LabView, all: &'a [Sweep]) -> Vec<SweptVariable<'a>> {
    let mut variables: Vec<Vec<&Sweep>> = Vec::new();
    for sweep in all {
        match variables.iter_mut().find(|of| of[0].dimension == sweep.dimension) {
            Some(of) => of.push(sweep),
            None => variables.push(vec![sweep]),
        }
    }
    let variable = |(index, sweeps): (usize, Vec<&'a Sweep>)| {
        let at = |point: &SweepPoint| {
            let cell = view.by_ordinal(point.ordinal)?;
            Some(CurveCell { x: point.number, x_text: point.value.clone(), cell })
        };
        let lines: Vec<CurveCells<'_>> = sweeps
            .iter()
            .map(|sweep| (others(sweep), sweep.points.iter().filter_map(at).collect()))
            .collect();
        SweptVariable {
            key: format!("sweep-{index}"),
            curves: curves(view, &sweeps[0].dimension, &lines, &[&THROUGHPUT, &P95]),
            sweeps,
        }
    };
    variables.into_iter().enumerate().map(variable).collect()
}

fn others(sweep: &Sweep) -> String {
    let words: Vec<String> = sweep.others.iter().map(NamedValue::words).collect();
    if words.is_empty() { sweep.dimension.clone() } else { words.join(", ") }
}

/// Charts, turning points and numbers.
pub fn sweeps(view: &LabView, variables: &[SweptVariable<'_>]) -> Markup {
    html! {
        @if !variables.is_empty() {
            section id="sweeps" {
                h2 { "Turning points" }
                p.soft.small { "Whiskers and ±: 95 % confidence interval of a mean over repeats, \
                    with the drift of the machine in it. Values are compared inside blocks, with "
                    "intervals that hold for all pairs of a curve at once; what these exclude is \
                     said, and nothing else." }
                @for variable in variables {
                    div.charts {
                        @for number in [&THROUGHPUT, &P95] { (variable.chart(view, number)) }
                    }
                    @for sweep in &variable.sweeps {
                        p { b { (others(sweep)) } ": " (finding(sweep)) "." }
                    }
                    details.small { summary { "Data table" } (table(view, variable)) }
                }
            }
        }
    }
}

fn table(view: &LabView, variable: &SweptVariable<'_>) -> Markup {
    let mut values: Vec<&SweepPoint> = Vec::new();
    for point in variable.sweeps.iter().flat_map(|sweep| &sweep.points) {
        if !values.iter().any(|known| known.value == point.value) {
            values.push(point);
        }
    }
    values.sort_by(|one, other| one.number.total_cmp(&other.number));
    let cells = variable.sweeps.iter().flat_map(|sweep| &sweep.points);
    html! {
        div.scroll { table.grid {
            caption {
                b { "Throughput" } ", " (view.metric().title()) ", by "
                (variable.sweeps[0].dimension)
            }
            thead { tr {
                th scope="col" {}
                @for point in &values { th.num scope="col" { (point.value) } }
                th scope="col" { "Turning point" }
            } }
            tbody { @for sweep in &variable.sweeps {
                tr {
                    th scope="row" { (others(sweep)) }
                    @for value in &values {
                        td.num {
                            @if let Some(point) =
                                sweep.points.iter().find(|point| point.value == value.value) {
                                (number(view, point))
                            }
                        }
                    }
                    td.finding { (finding(sweep)) }
                }
            } }
        } }
        (footnotes(cells.filter_map(|point| view.by_ordinal(point.ordinal))))
    }
}

fn number(view: &LabView, point: &SweepPoint) -> Markup {
    html! {
        @match (view.by_ordinal(point.ordinal), point.nopm) {
            (Some(cell), Some(nopm)) => {
                (to_cell(cell, &truncated(nopm)))
                @if let Some(width) = point.nopm_half_width {
                    span.pm { "± " (significant(width)) }
                }
            }
            (Some(cell), None) => (absent(cell)),
            (None, _) => (NOT_AVAILABLE),
        }
    }
}
