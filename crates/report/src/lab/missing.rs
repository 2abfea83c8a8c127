//! Cells in tables: each number leads to its cell, and where there is none, NA and the reason.

use crate::format::{NOT_AVAILABLE, NOT_MEASURED, duration};
use crate::model::CellView;
use analyse::MeanValue;
use base::by_key;
use maud::{Markup, html};

/// A text that leads to a cell.
pub fn to_cell(cell: &CellView, text: &str) -> Markup {
    html! { a.to href={ "#cell-" (cell.cell.id) } { (text) } }
}

/// A cell's number with its interval, or why there is none. `shown` is for people.
pub fn number(cell: &CellView, number: &MeanValue, shown: fn(f64) -> String) -> Markup {
    html! {
        @match number.mean {
            Some(mean) => {
                (to_cell(cell, &shown(mean)))
                (plus_minus(number.half_width(), shown))
            }
            None => (absent(Some(cell))),
        }
    }
}

/// Behind a mean: how well it is known.
pub fn plus_minus(half_width: Option<f64>, shown: fn(f64) -> String) -> Markup {
    html! { @if let Some(width) = half_width { span.pm { "± " (shown(width)) } } }
}

/// NA where there is no cell or it has no result, and a dash where it has one, but not this number.
pub fn absent(cell: Option<&CellView>) -> Markup {
    html! {
        @match cell {
            None => (NOT_AVAILABLE),
            Some(cell) if has_result(cell) => (NOT_MEASURED),
            Some(cell) => (to_cell(cell, NOT_AVAILABLE)),
        }
    }
}

pub fn has_result(cell: &CellView) -> bool {
    cell.counted().next().is_some()
}

/// The reasons of all NA of a table, and of repeats that its numbers are without; nothing where
/// there is none.
pub fn footnotes<'a>(cells: impl IntoIterator<Item = &'a CellView>) -> Markup {
    let told = cells.into_iter().filter(|cell| !has_result(cell) || failed(cell) > 0);
    let mut reasons = by_key(told.map(|cell| ((has_result(cell), reason(cell).0), cell)));
    reasons.sort_by_key(|((has_result, _), _)| *has_result);
    html! {
        @for ((has_result, code), cells) in &reasons {
            @let (_, words) = reason(cells[0]);
            p.soft.small.na {
                @if *has_result { "Of fewer repeats, " } @else { (NOT_AVAILABLE) ", " }
                @for (index, cell) in cells.iter().enumerate() {
                    @if index > 0 { ", " }
                    (to_cell(cell, &format!("cell {}", cell.cell.what.ordinal)))
                    @if *has_result {
                        " (" (failed(cell)) " of " (cell.repeats.len()) " failed)"
                    }
                }
                ": " (code)
                @if !words.is_empty() {
                    ": " (words)
                    @if cells.len() > 1 { " (the first of them)" }
                }
            }
        }
    }
}

/// Repeats that failed by themselves.
fn failed(cell: &CellView) -> usize {
    let repeats = cell.repeats.iter();
    repeats.filter(|repeat| repeat.repeat.own_failure().is_some()).count()
}

/// The word for programs and the first line of the reason: of the repeat that failed first by
/// itself, else of the first that was stopped.
fn reason(cell: &CellView) -> (&str, String) {
    let repeats = || cell.repeats.iter().map(|view| &view.repeat);
    let failed = repeats().find_map(|repeat| Some((repeat.own_failure()?, &repeat.reason)));
    let stopped =
        || repeats().find_map(|repeat| Some((repeat.reason_code.as_deref()?, &repeat.reason)));
    if let Some((code, words)) = failed.or_else(stopped) {
        let line = words.as_deref().and_then(|words| words.lines().next());
        return (code, line.unwrap_or("").to_owned());
    }
    let mut done = cell.repeats.iter().filter(|repeat| repeat.is_done());
    match done.find_map(|repeat| repeat.repeat.result.as_ref()) {
        // Its own section has the numbers, which are not of the window that its neighbours have.
        Some(cut) => {
            let what = &cell.cell.what;
            let (after, of) = (duration(cut.measured_window_ns), duration(what.window_ns));
            let at_most = if what.window_auto { "at most " } else { "" };
            ("ended early", format!("after {after} of {at_most}{of}"))
        }
        None => ("there is no result yet", String::new()),
    }
}
