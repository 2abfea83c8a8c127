//! Small multiples: a small chart for each number that the cells of a lab have, on one axis of
//! connections, or bars where nothing but the number of connections is the same in all cells. Each
//! has its table: a row for each of what differs, a column for each number of connections.

use super::curves::chart;
use super::missing::{footnotes, number, to_cell};
use super::numbers::{CellNumber, used_of_machine};
use crate::bars::{Bar, bars};
use crate::model::{CellView, LabView};
use maud::{Markup, html};

/// What the cells used of the machine, side by side; nothing where nothing was sampled, and of a
/// single cell. Charts draw curves where the page `has_curves` by connections.
pub fn resources(view: &LabView, has_curves: bool) -> Markup {
    let numbers = used_of_machine(view);
    let axes = Axes::of(view);
    let title = |number: &CellNumber| number.key(view);
    let curve = |number: &CellNumber| {
        let table = axes.is_grid().then(|| axes.grid(number));
        chart(view, "connections", &[number], (&title(number), table))
    };
    html! {
        @if view.cells.len() > 1 && !numbers.is_empty() {
            section id="resources" {
                h2 { "CPU, I/O and costs" }
                p.soft.small {
                    "Means of the windows; whiskers and ± are the 95 % confidence interval over \
                     repeats, and a number without it is of one repeat. "
                    "-: not measured. docs/metrics.md describes what is sampled."
                }
                div.multiples {
                    @if has_curves { div.legend {} @for number in &numbers { (curve(number)) } }
                    @else { @for number in &numbers { (cell_bars(view, number, &title(number))) } }
                }
                @if !(has_curves && axes.is_grid()) {
                    details.small { summary { "Data table" } (table(view, &numbers)) }
                }
                (footnotes(&view.cells))
            }
        }
    }
}

fn cell_bars(view: &LabView, number: &CellNumber, title: &str) -> Markup {
    let mut all: Vec<Bar<'_>> = Vec::new();
    for cell in &view.cells {
        let of = number.of(cell);
        let (mean, half_width) = (of.as_ref().map(|of| of.mean), of.and_then(|of| of.half_width));
        all.push(Bar { name: &cell.label, cell: Some(cell), mean, half_width, color: 1 });
    }
    html! {
        figure.bars { figcaption { b { (title) } } (bars(&all, &number.unit(view), number.shown)) }
    }
}

/// Rows and columns of a lab.
pub struct Axes<'a> {
    view: &'a LabView,
    groups: Vec<&'a str>,
    connections: Vec<u32>,
}

impl Axes<'_> {
    pub fn of(view: &LabView) -> Axes<'_> {
        let mut groups: Vec<&str> = Vec::new();
        let mut connections: Vec<u32> = Vec::new();
        for cell in &view.cells {
            if !groups.contains(&cell.group.as_str()) {
                groups.push(&cell.group);
            }
            connections.push(cell.cell.what.connections);
        }
        connections.sort_unstable();
        connections.dedup();
        Axes { view, groups, connections }
    }

    /// Do both vary?
    pub fn is_grid(&self) -> bool {
        self.groups.len() > 1 && self.connections.len() > 1
    }

    fn at(&self, group: &str, connections: u32) -> Option<&CellView> {
        let same =
            |cell: &&CellView| cell.group == group && cell.cell.what.connections == connections;
        self.view.cells.iter().find(same)
    }

    pub fn grid(&self, of: &CellNumber) -> Markup {
        let count = self.connections.len();
        html! {
            div.scroll { table.grid {
                caption { b { (of.title(self.view)) } ", " (of.unit(self.view)) }
                thead {
                    tr {
                        th scope="col" rowspan="2" {}
                        th.num scope="colgroup" colspan=(count) { "connections" }
                    }
                    tr { @for number in &self.connections { th.num scope="col" { (number) } } }
                }
                tbody { @for group in &self.groups {
                    tr {
                        th scope="row" { (group) }
                        @for connections in &self.connections {
                            td.num { @match self.at(group, *connections) {
                                Some(cell) => (number(cell, of.of(cell).as_ref(), of.shown)),
                                None => {}
                            } }
                        }
                    }
                } }
            } }
        }
    }
}

/// A row for each cell, a column for each number.
pub fn table(view: &LabView, numbers: &[&CellNumber]) -> Markup {
    html! {
        div.scroll { table.grid {
            thead { tr {
                th scope="col" { "Cell" }
                @for of in numbers {
                    th.num scope="col" { (of.title(view)) span.unit { (of.unit(view)) } }
                }
            } }
            tbody { @for cell in &view.cells {
                tr {
                    th scope="row" { (to_cell(cell, &cell.label)) }
                    @for of in numbers { td.num { (number(cell, of.of(cell).as_ref(), of.shown)) } }
                }
            } }
        } }
    }
}
