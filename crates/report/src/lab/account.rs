//! Where the time of a transaction went in each cell: by what it waited for, and by statement.

use super::missing::{absent, has_result, to_cell};
use crate::format::{or_dash, significant, transaction, trimmed};
use crate::model::{CellView, LabView, RepeatView};
use crate::stacks::{Stack, StackPart, parts_table, stacked, time_in_ms};
use crate::statements::{named_parts, statement_parts};
use analyse::{CellAccount, Part, Resources};
use itertools::Itertools;
use maud::{Markup, html};
use store::CellTransaction;

/// Bars of all cells; nothing where nothing was measured, and of a single cell.
pub fn account_section(view: &LabView) -> Markup {
    let cells = || view.cells.iter().filter(|cell| has_result(cell));
    let waited: Vec<Stack> = cells().filter_map(account_stack).collect();
    let kind = primary_type(view).unwrap_or_default();
    let named = named_parts(cells().flat_map(CellView::counted), kind);
    let stack = |cell: &CellView| Stack {
        name: to_cell(cell, &cell.label),
        parts: statement_parts(cell.counted(), kind, &named),
    };
    let spent = cells().map(stack).filter(|stack| !stack.parts.is_empty()).collect_vec();
    let by_statement = format!("{} by statement", transaction(kind));
    html! {
        @if view.cells.len() > 1 && !(waited.is_empty() && spent.is_empty()) {
            p.soft.small {
                "Response time in the mean of the repeats, ± with the 95 % confidence interval. \
                 The parts add up: each is the time that it was waited for itself, and the \
                 remainder is what nothing explains."
            }
            (stacked("One transaction by what it waits for", &waited, &account_table(view)))
            (stacked(&by_statement, &spent, &parts_table("Cell", &spent)))
        }
    }
}

/// A primary type of which the driver measured statements.
fn primary_type(view: &LabView) -> Option<&str> {
    let repeats = view.cells.iter().flat_map(CellView::counted);
    let mut known =
        repeats.flat_map(|repeat| repeat.totals.iter().map(move |(of, _)| (repeat, of)));
    let is_measured = |(repeat, of): &(&RepeatView, &CellTransaction)| {
        of.is_primary && repeat.times_spent.contains_key(&of.name)
    };
    known.find(is_measured).map(|(_, of)| of.name.as_str())
}

/// The account of a cell as a bar; `None` where its time is not known.
pub fn account_stack(cell: &CellView) -> Option<Stack> {
    let part = |part: &Part| {
        let of_repeat = |repeat: &RepeatView| repeat.resources()?.account.as_ref()?.parts[*part];
        let (title, time) = (part.title().to_owned(), cell.repeated(of_repeat));
        let us = time.mean.filter(|us| part.is_told(*us))?;
        Some(StackPart { title, color: color(*part), us, time })
    };
    let parts: Vec<StackPart> = Part::ALL.iter().filter_map(part).collect();
    (!parts.is_empty()).then(|| Stack { name: to_cell(cell, &cell.label), parts })
}

/// In the style sheet.
fn color(part: Part) -> usize {
    match part {
        Part::Running => 1,
        Part::CoreWait => 2,
        Part::Reads => 3,
        Part::RowLocks => 4,
        Part::Log => 7,
        Part::PageWrites => 8,
        Part::NetworkAndDriver => 6,
        Part::Latches => 9,
        Part::RedoRoom => 10,
        Part::Admission => 11,
        Part::Metadata => 12,
        Part::Replication => 13,
        Part::OtherWaits => 14,
        Part::Unseen => 15,
        Part::Remainder => 5,
    }
}

/// `None` where the time of a transaction is not known.
pub fn account_of(cell: &CellView) -> Option<CellAccount> {
    let used: Vec<&Resources> = cell.counted().filter_map(RepeatView::resources).collect();
    CellAccount::of(&used)
}

/// Times with the requests to storage, a row for each cell.
fn account_table(view: &LabView) -> Markup {
    let shown = shown(view);
    html! {
        div.scroll { table.grid {
            thead {
                tr {
                    th rowspan="2" scope="col" { "Cell" }
                    th.num rowspan="2" scope="col" { "one takes" span.unit { "ms" } }
                    @for part in shown.iter().copied() {
                        th.num.first colspan=(columns(part)) scope="colgroup" { (part.title()) }
                    }
                    th.num.first rowspan="2" scope="col" { "page cache had" span.unit {
                        "pages of 4 KiB" } }
                    th.num rowspan="2" scope="col" { "cores busy" span.unit { "%" } }
                    th rowspan="2" scope="col" { "bound by" }
                }
                tr { @for part in shown.iter().copied() {
                    @if let Some(requests) = part.requests() {
                        th.num.first scope="col" { (requests) } th.num scope="col" { "ms" }
                    }
                    @else { th.num.first scope="col" { "ms" } }
                } }
            }
            tbody { @for cell in &view.cells { (account_row(cell, &shown)) } }
        } }
        p.soft.small {
            "Requests are those of all threads: pages (data, undo, doublewrite) are also read and \
             written in the background. -: not measured, or not the same in all repeats."
        }
    }
}

/// Parts that are told, of some cell.
fn shown(view: &LabView) -> Vec<Part> {
    let accounts: Vec<CellAccount> = view.cells.iter().filter_map(account_of).collect();
    let spent = |part| accounts.iter().filter_map(move |of| of.spent(part));
    let is_shown = |part: &Part| part.is_told(spent(*part).map(|of| of.time_us).sum());
    Part::ALL.into_iter().filter(is_shown).collect()
}

/// Requests to storage have a column of their own.
fn columns(part: Part) -> usize {
    1 + usize::from(part.requests().is_some())
}

fn account_row(cell: &CellView, shown: &[Part]) -> Markup {
    let stack = account_stack(cell);
    let time = |part: Part| {
        let parts = stack.iter().flat_map(|stack| &stack.parts);
        parts.into_iter().find(|of| of.title == part.title()).map(time_in_ms)
    };
    html! {
        tr {
            th scope="row" { (to_cell(cell, &cell.label)) }
            @match account_of(cell) {
                Some(account) => {
                    td.num { (significant(account.time_us / 1e3)) }
                    @for part in shown.iter().copied() {
                        @let requests = account.spent(part).and_then(|spent| spent.requests);
                        @if part.requests().is_some() {
                            td.num.first { (or_dash(requests, significant)) }
                        }
                        td.num.first[part.requests().is_none()] {
                            (time(part).unwrap_or_else(|| html! { "-" }))
                        }
                    }
                    td.num.first { (or_dash(account.page_cache_hits, significant)) }
                    td.num {
                        (or_dash(account.cpu_busy_share, |share| trimmed(share * 100.0, 0)))
                    }
                    td { (account.bound_by.map_or("-", |by| by.title())) }
                }
                None => {
                    td.num { (absent(Some(cell))) }
                    td colspan=(3 + shown.iter().copied().map(columns).sum::<usize>()) {}
                }
            }
        }
    }
}
