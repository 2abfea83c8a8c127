//! What the server's own status counters rose by in the window.

use crate::format::integer;
use crate::model::LabView;
use crate::table::shown_as;
use crate::variables::Risen;
use analyse::Table;
use base::counted;
use maud::{Markup, html};

/// A closed table for each cell, of its first repeat that is done.
pub fn status_tables(view: &LabView) -> Markup {
    html! {
        @for cell in &view.cells {
            @if let Some(repeat) = cell.counted().find(|repeat| !repeat.risen.is_empty()) {
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
}

fn table(risen: &[Risen]) -> Markup {
    let table = Table::of(risen)
        .words("Counter", |counter| html! { span.mono { (counter.name) } })
        .numbers("Start", |counter| integer(counter.start))
        .numbers("End", |counter| integer(counter.end))
        .numbers("Rise", |counter| html! { b { (integer(counter.end - counter.start)) } });
    let caption = "As the server gave them, of all its sessions since it started. Some are no \
        counters, but happened to be higher at the end.";
    shown_as("narrow", caption, table)
}
