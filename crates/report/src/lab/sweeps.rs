//! One variable over its values, with the value at which its curve turns.

use super::curves::{CurveCell, CurveCells, Curves, chart, curves};
use super::missing::{absent, footnotes, plus_minus, to_cell};
use super::numbers::{CellNumber, P95, THROUGHPUT};
use crate::format::{in_words, significant, truncated};
use crate::model::LabView;
use crate::table::shown_as;
use analyse::{Sweep, SweepPoint, Table};
use base::by_key;
use itertools::Itertools;
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
pub fn variables<'a>(view: &'a LabView) -> Vec<SweptVariable<'a>> {
    let sweeps = view.outcome.sweeps.iter();
    let variables = by_key(sweeps.map(|sweep| (&sweep.dimension, sweep))).into_iter().enumerate();
    let variable = |(index, (dimension, sweeps)): (usize, (&String, Vec<&'a Sweep>))| {
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
            curves: curves(view, dimension, &lines, &[&THROUGHPUT, &P95]),
            sweeps,
        }
    };
    variables.map(variable).collect()
}

fn others(sweep: &Sweep) -> String {
    let words = in_words(&sweep.others);
    if words.is_empty() { sweep.dimension.clone() } else { words }
}

/// Charts, turning points and numbers.
pub fn sweeps(view: &LabView, variables: &[SweptVariable<'_>]) -> Markup {
    html! {
        @if !variables.is_empty() {
            p.soft.small { "Whiskers and ±: 95 % confidence interval of a mean over repeats, with \
                the drift of the machine in it. Values are compared inside blocks, with intervals \
                that hold for all pairs of a curve at once; what these exclude is said, and \
                nothing else." }
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

fn table(view: &LabView, variable: &SweptVariable<'_>) -> Markup {
    let points = || variable.sweeps.iter().flat_map(|sweep| &sweep.points);
    let values = points().unique_by(|point| &point.value);
    let values = values.sorted_by(|one, other| one.number.total_cmp(&other.number)).collect_vec();
    let caption = html! {
        b { "Throughput" } ", " (view.metric().title()) ", by " (variable.sweeps[0].dimension)
    };
    let mut table = Table::of(&variable.sweeps).words("", |sweep| others(sweep));
    for SweepPoint { value, .. } in values {
        table = table.numbers(value, |sweep| {
            let point = sweep.points.iter().find(|point| point.value == *value);
            point.map_or_else(|| html! {}, |point| number(view, point))
        });
    }
    let table = table.words("Turning point", |sweep| html! { span.finding { (finding(sweep)) } });
    html! {
        (shown_as("grid", caption, table))
        (footnotes(points().filter_map(|point| view.by_ordinal(point.ordinal))))
    }
}

fn number(view: &LabView, point: &SweepPoint) -> Markup {
    html! {
        @match (view.by_ordinal(point.ordinal), point.nopm) {
            (Some(cell), Some(nopm)) => {
                (to_cell(cell, &truncated(nopm)))
                (plus_minus(point.nopm_half_width, significant))
            }
            (cell, _) => (absent(cell)),
        }
    }
}
