//! Bars of cells: one number each, with its interval.

use crate::lab::missing::{absent, to_cell};
use crate::model::CellView;
use maud::{Markup, html};

/// A number of a cell as a bar.
pub struct Bar<'a> {
    pub name: &'a str,
    /// `None` where the lab has none there.
    pub cell: Option<&'a CellView>,
    pub mean: Option<f64>,
    pub half_width: Option<f64>,
    /// In the style sheet, from 1.
    pub color: usize,
}

/// Where the longest of them ends, with its interval.
pub fn end_of<'a>(bars: impl IntoIterator<Item = &'a Bar<'a>>) -> f64 {
    let ends = bars.into_iter().filter_map(|bar| Some(bar.mean? + bar.half_width.unwrap_or(0.0)));
    ends.fold(0.0, f64::max)
}

/// A bar on a scale that ends at `top`. `shown` is for people, `unit` what stands behind a number.
pub fn bar_row(bar: &Bar<'_>, top: f64, (unit, shown): (&str, fn(f64) -> String)) -> Markup {
    let share = |value: f64| {
        if top > 0.0 { (value * 100.0 / top).clamp(0.0, 100.0) } else { 0.0 }
    };
    let color = bar.color;
    html! {
        div.bar-row {
            span.name { (bar.name) }
            @match (bar.mean, bar.cell) {
                (Some(mean), Some(cell)) => {
                    span.track aria-hidden="true" data-tip={
                        (bar.name) ": " (with_interval(mean, bar.half_width, shown)) " " (unit)
                    } {
                        i style=(format!("width:{:.2}%;background:var(--c{color})", share(mean))) {}
                        @if let Some(half) = bar.half_width {
                            @let (low, high) = (share(mean - half), share(mean + half));
                            em style=(format!("left:{low:.2}%;width:{:.2}%", high - low)) {}
                        }
                    }
                    span.num { (to_cell(cell, &shown(mean))) }
                }
                (_, cell) => {
                    span.track {}
                    span.num { (absent(cell)) }
                }
            }
        }
    }
}

/// `1,234 ± 56`.
pub fn with_interval(mean: f64, half_width: Option<f64>, shown: fn(f64) -> String) -> String {
    let width = half_width.map(|width| format!(" ± {}", shown(width)));
    shown(mean) + &width.unwrap_or_default()
}
