//! What bound a cell: the verdict on each of its repeats, in words.

use crate::format::{NOT_AVAILABLE, transaction};
use crate::model::CellView;
use analyse::{Bound, BoundBy};
use maud::{Markup, html};

/// A verdict with how many repeats of the cell have it.
struct Verdict<'a> {
    bound: &'a Bound,
    repeats: usize,
}

/// Of the repeats that are whole; that of the most repeats first.
fn verdicts(cell: &CellView) -> Vec<Verdict<'_>> {
    let mut verdicts: Vec<Verdict> = Vec::new();
    for bound in cell.whole().filter_map(|repeat| repeat.bound()) {
        match verdicts.iter_mut().find(|known| known.bound.by == bound.by) {
            Some(known) => known.repeats += 1,
            None => verdicts.push(Verdict { bound, repeats: 1 }),
        }
    }
    verdicts.sort_by_key(|verdict| std::cmp::Reverse(verdict.repeats));
    verdicts
}

/// For the table of cells. The numbers behind a verdict show when the pointer is on it.
pub fn bound_tags(cell: &CellView) -> Markup {
    let verdicts = verdicts(cell);
    html! {
        @if verdicts.is_empty() { (NOT_AVAILABLE) }
        @for (index, verdict) in verdicts.iter().enumerate() {
            @if index > 0 { " " }
            span.tag.bad[is_driver(verdict.bound)] title=(verdict.bound.because) {
                (verdict.bound.by.title())
                @if verdicts.len() > 1 { " " (verdict.repeats) " of " (cell.whole().count()) }
            }
        }
    }
}

fn is_driver(bound: &Bound) -> bool {
    bound.by == BoundBy::Driver
}

/// For the cell's own section: what each verdict rests on, and what it means for the numbers.
pub fn bound_sentence(cell: &CellView) -> Markup {
    let verdicts = verdicts(cell);
    let several = cell.whole().count() > 1;
    html! {
        @for verdict in &verdicts {
            p {
                b { (transaction(verdict.bound.by.title())) }
                @if verdicts.len() > 1 {
                    " (" (verdict.repeats) " of " (cell.whole().count()) " repeats)"
                }
                ": " (verdict.bound.because)
                @if several { " (the first such repeat)" } "."
            }
        }
        @if verdicts.iter().any(|verdict| is_driver(verdict.bound)) {
            div.callout { p {
                b { "These numbers are mydyno's, not the server's:" }
                " the server could have done more than it was asked for. Raise what \
                    the sentence above names, or give mydyno cores of its own."
            } }
        }
    }
}
