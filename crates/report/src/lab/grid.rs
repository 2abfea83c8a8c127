//! The tables of what the cells of a lab have: of one number a row for each of what differs and a
//! column for each number of connections, of several a row for each cell.

use super::missing::{number, to_cell};
use super::numbers::CellNumber;
use crate::model::LabView;
use crate::table::shown_as;
use analyse::Table;
use itertools::Itertools;
use maud::{Markup, html};

/// Rows and columns of a lab.
pub struct Axes<'a> {
    view: &'a LabView,
    groups: Vec<&'a str>,
    connections: Vec<u32>,
}

impl Axes<'_> {
    pub fn of(view: &LabView) -> Axes<'_> {
        let groups = view.cells.iter().map(|cell| cell.group.as_str());
        let connections = view.cells.iter().map(|cell| cell.cell.what.connections);
        Axes {
            view,
            groups: groups.unique().collect(),
            connections: connections.sorted_unstable().dedup().collect(),
        }
    }

    /// Do both vary?
    pub fn is_grid(&self) -> bool {
        self.groups.len() > 1 && self.connections.len() > 1
    }

    pub fn grid(&self, of: &CellNumber) -> Markup {
        let mut table = Table::of(&self.groups).words("", |group| *group);
        for connections in &self.connections {
            table = table.numbers_in((&connections.to_string(), "connections"), |group| {
                let mut cells = self.view.cells.iter().filter(|cell| cell.group == **group);
                let cell = cells.find(|cell| cell.cell.what.connections == *connections);
                html! { @if let Some(cell) = cell { (number(cell, &of.of(cell), of.shown)) } }
            });
        }
        shown_as("grid", html! { b { (of.title(self.view)) } ", " (of.unit(self.view)) }, table)
    }
}

/// A row for each cell, a column for each number.
pub fn table(view: &LabView, numbers: &[&CellNumber]) -> Markup {
    let mut table = Table::of(&view.cells).words("Cell", |cell| to_cell(cell, &cell.label));
    for of in numbers {
        table = table.numbers_in((&of.title(view), &of.unit(view)), |cell| {
            number(cell, &of.of(cell), of.shown)
        });
    }
    shown_as("grid", "", table)
}
