//! What the server's own status counters rose by in the window.

use crate::format::integer;
use crate::model::{CellView, LabView, RepeatView};
use base::counted;
use maud::{Markup, html};
use std::collections::BTreeMap;

/// A counter of `SHOW GLOBAL STATUS` that rose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Risen {
    pub name: String,
    pub start: u64,
    pub end: u64,
}

/// Whole numbers that were higher at the end than at the start, by name. A name that is not in both
/// is left out.
pub fn risen(start: Vec<(String, String)>, end: Vec<(String, String)>) -> Vec<Risen> {
    let start: BTreeMap<String, String> = start.into_iter().collect();
    let mut risen: Vec<Risen> = end
        .into_iter()
        .filter_map(|(name, end)| {
            let (start, end): (u64, u64) = (start.get(&name)?.parse().ok()?, end.parse().ok()?);
            (end > start).then_some(Risen { name, start, end })
        })
        .collect();
    risen.sort_by(|a, b| a.name.cmp(&b.name));
    risen
}

/// A closed table for each cell, of its first repeat that is done.
pub fn status_tables(view: &LabView) -> Markup {
    let of_cell =
        |cell| Some((cell, CellView::whole(cell).find(|repeat| !repeat.risen.is_empty())?));
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
    html! {
        div.scroll { table.narrow {
            caption { "As the server gave them, of all its sessions since it started. Some are no \
                counters, but happened to be higher at the end." }
            thead { tr {
                th scope="col" { "Counter" } th.num scope="col" { "Start" }
                th.num scope="col" { "End" } th.num scope="col" { "Rise" }
            } }
            tbody { @for counter in risen {
                tr {
                    th.mono scope="row" { (counter.name) }
                    td.num { (integer(counter.start)) }
                    td.num { (integer(counter.end)) }
                    td.num { b { (integer(counter.end - counter.start)) } }
                }
            } }
        } }
    }
}

#[cfg(test)]
mod tests {
    use super::{Risen, risen};

    #[test]
    fn only_whole_numbers_that_rose_are_kept() {
        let pairs = |pairs: &[(&str, &str)]| {
            let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
            pairs.iter().map(owned).collect::<Vec<_>>()
        };
        let start = pairs(&[
            ("Questions", "100"),
            ("Com_commit", "7"),
            ("Threads_running", "9"),
            ("Innodb_buffer_pool_dump_status", "not started"),
            ("Uptime", "3"),
        ]);
        let end = pairs(&[
            ("Uptime", "3"),
            ("Questions", "18446744073709551615"),
            ("Com_commit", "19"),
            ("Threads_running", "2"),
            ("Innodb_buffer_pool_dump_status", "dumped"),
            ("Com_select", "5"),
        ]);
        let counter = |name: &str, start, end| Risen { name: name.to_owned(), start, end };
        assert_eq!(
            risen(start, end),
            [counter("Com_commit", 7, 19), counter("Questions", 100, u64::MAX)]
        );
    }
}
