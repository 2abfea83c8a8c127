//! What bound a cell: the verdict on each of its repeats, in words.

use crate::format::{NOT_AVAILABLE, transaction};
use crate::model::CellView;
use analyse::{Bound, BoundBy};
use base::by_key;
use itertools::Itertools;
use maud::{Markup, html};
use std::cmp::Reverse;

/// Of the repeats that count, the same of them together; that of the most repeats first.
fn verdicts(cell: &CellView) -> Vec<Vec<&Bound>> {
    let bounds = cell.counted().filter_map(|repeat| repeat.bound());
    let verdicts = by_key(bounds.map(|bound| (bound.by, bound))).into_iter();
    verdicts.map(|(_, same)| same).sorted_by_key(|same| Reverse(same.len())).collect()
}

/// For the table of cells. The numbers behind a verdict show when the pointer is on it.
pub fn bound_tags(cell: &CellView) -> Markup {
    let verdicts = verdicts(cell);
    html! {
        @if verdicts.is_empty() { (NOT_AVAILABLE) }
        @for (index, same) in verdicts.iter().enumerate() {
            @if index > 0 { " " }
            span.tag.bad[same[0].by == BoundBy::Driver] title=(same[0].because) {
                (in_words(same, &verdicts, cell))
            }
        }
    }
}

/// The same without markup; nothing where nothing is known.
pub fn bound_words(cell: &CellView) -> String {
    let verdicts = verdicts(cell);
    verdicts.iter().map(|same| in_words(same, &verdicts, cell)).join(", ")
}

/// A verdict, and of how many repeats it is where they differ.
fn in_words(same: &[&Bound], all: &[Vec<&Bound>], cell: &CellView) -> String {
    match (same[0].by.title(), all.len()) {
        (title, 1) => title.to_owned(),
        (title, _) => format!("{title} {} of {}", same.len(), cell.counted().count()),
    }
}

/// For the cell's own section: what each verdict rests on, and what it means for the numbers.
pub fn bound_sentence(cell: &CellView) -> Markup {
    let verdicts = verdicts(cell);
    let several = cell.counted().count() > 1;
    html! {
        @for same in &verdicts {
            p {
                b { (transaction(same[0].by.title())) }
                @if verdicts.len() > 1 {
                    " (" (same.len()) " of " (cell.counted().count()) " repeats)"
                }
                ": " (same[0].because)
                @if several { " (the first such repeat)" } "."
            }
        }
        @if verdicts.iter().any(|same| same[0].by == BoundBy::Driver) {
            div.callout { p {
                b { "These numbers are mydyno's, not the server's:" }
                " the server could have done more than it was asked for. Raise what \
                    the sentence above names, or give mydyno cores of its own."
            } }
        }
    }
}
