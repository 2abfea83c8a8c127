//! What the server's own status counters rose by in the window.

use crate::format::integer;
use crate::model::{CellView, LabView, RepeatView};
use crate::table::shown_as;
use crate::variables::Risen;
use analyse::Table;
use base::counted;
use maud::{Markup, html};

/// A closed table for each cell, of its first repeat that is done.
pub fn status_tables(view: &LabView) -> Markup {
    let of_cell =
        |cell| Some((cell, CellView::counted(cell).find(|repeat| !repeat.risen.is_empty())?));
    let all: Vec<(&CellView, &RepeatView)> = view.cells.iter().filter_map(of_cell).collect();
    html! {
        @for (cell, repeat) in all {
            details {
                summary {
                    (counted(repeat.risen.len(), "status counter", "status counters"))
                    " rose in the window" @if view.cells.len() > 1 { " of " (cell.label) }
                }
                @if cell.repeats.len() > 1 { p.soft.small {
                    "Of repeat " (repeat.repeat.ordinal) "." } }
                (table(&repeat.risen))
            }
        }
    }
}

fn table(risen: &[Risen]) -> Markup {
    let table = Table::of(risen)
        .words("Counter", |counter| html! { span.mono { (counter.name) } })
        .numbers("Start", |counter| integer(counter.start))
        .numbers("End", |counter| integer(counter.end))
        .numbers("Rise", |counter| html! { b { (integer(counter.end - counter.start)) } });
    shown_as(
        "narrow",
        "As the server gave them, of all its sessions since it started. Some are no counters, but \
         happened to be higher at the end.",
        table,
    )
}
