//! What rules say of the server that did most.

use crate::model::LabView;
use crate::table::{TableContent, shown};
use advise::{Finding, Risk, advise, stored_snapshot};
use analyse::Table;
use maud::{Markup, html};
use store::{Results, StoreResult};

/// The findings for the server of the cell with the highest throughput; nothing where no rule
/// applies.
///
/// # Errors
/// The file cannot be read.
pub fn advice_section(results: &Results, view: &LabView) -> StoreResult<Markup> {
    let best = view.best().and_then(|(cell, _)| Some((cell, cell.counted().next()?)));
    let Some((cell, run)) = best else { return Ok(html! {}) };
    let account = run.resources().and_then(|used| used.account);
    let snapshot = stored_snapshot(results, run.repeat.id, account)?;
    let findings = snapshot.as_ref().map(advise).unwrap_or_default();
    Ok(html! {
        @if !findings.is_empty() {
            p.soft {
                "Best known methods that apply to the server"
                @if view.cells.len() > 1 {
                    " of the cell with the highest throughput (" (cell.label) ")"
                }
                ", the greatest expected gain first. An expectation is no proof: "
                code { "mydyno advise --prove" }
                " measures each on such a server. docs/best-known-methods.md has all of them."
            }
            (shown("", table(&findings)))
        }
    })
}

fn table(findings: &[Finding]) -> Table<&Finding, TableContent> {
    Table::of(findings)
        .words("Method", |of| html! { span title=(of.reason) { (of.title) } })
        .words("Change", |of| html! {
            @for change in &of.changes {
                @let current = if change.current.is_empty() { "(empty)" } else { &change.current };
                div { code { (change.variable) } ": " (current) " → " (change.proposed) }
            }
            @if let Some(action) = &of.action { (action) }
        })
        .words("Seen", |of| &of.seen)
        .words("Expected gain", |of| of.gain.name())
        .words("Risk", |of| html! {
            @for risk in &of.risks {
                div { @if matches!(risk, Risk::Durability(_)) { b { "loses: " } } (risk.words()) }
            }
            @if of.restart_needed { "needs a restart" }
        })
}
