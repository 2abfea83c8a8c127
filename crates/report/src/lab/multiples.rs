//! Small multiples: a small chart for each number that the cells of a lab have, on one axis of
//! connections, or bars where nothing but the number of connections is the same in all cells.

use super::curves::number_by_connections;
use super::grid::{Axes, table};
use super::missing::footnotes;
use super::numbers::{CellNumber, used_of_machine};
use crate::bars::{Bar, bar_row, end_of};
use crate::model::LabView;
use maud::{Markup, html};

/// What the cells used of the machine, side by side; nothing where nothing was sampled, and of a
/// single cell. Charts draw curves where the page `has_curves` by connections.
pub fn resources(view: &LabView, has_curves: bool) -> Markup {
    let numbers = used_of_machine(view);
    let axes = Axes::of(view);
    let curve = |number: &CellNumber| number_by_connections(view, number, &number.key(view));
    html! {
        @if view.cells.len() > 1 && !numbers.is_empty() {
            h2 { "CPU, I/O and costs" }
            p.soft.small {
                "Means of the windows; whiskers and ± are the 95 % confidence interval over \
                 repeats, and a number without it is of one repeat. -: not measured. \
                 docs/metrics.md describes what is sampled."
            }
            div.multiples {
                @if has_curves { div.legend {} @for number in &numbers { (curve(number)) } }
                @else { @for number in &numbers { (cell_bars(view, number)) } }
            }
            @if !(has_curves && axes.is_grid()) {
                details.small { summary { "Data table" } (table(view, &numbers)) }
            }
            (footnotes(&view.cells))
        }
    }
}

fn cell_bars(view: &LabView, number: &CellNumber) -> Markup {
    let bar = |cell| {
        let of = number.of(cell);
        let (mean, half_width) = (of.mean, of.half_width());
        Bar { name: &cell.label, cell: Some(cell), mean, half_width, color: 1 }
    };
    let all: Vec<Bar<'_>> = view.cells.iter().map(bar).collect();
    let (title, unit) = (number.key(view), number.unit(view));
    let top = end_of(&all);
    html! {
        figure.bars {
            figcaption { b { (title) } }
            @for bar in &all { (bar_row(bar, top, (&unit, number.shown))) }
        }
    }
}
