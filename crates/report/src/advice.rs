//! What rules say of the server that did most.

use crate::table::{TableContent, shown};
use advise::{Finding, Risk, advise, stored_snapshot};
use analyse::{Account, Table};
use maud::{Markup, html};
use store::{RepeatId, Results, StoreResult};

/// Findings for the server of one cell.
pub struct CellAdvice {
    /// What the cell is called.
    pub label: String,
    pub findings: Vec<Finding>,
}

/// Of a run of the cell with this label.
///
/// # Errors
/// The file cannot be read.
pub fn advice_of(
    results: &Results,
    run: RepeatId,
    label: &str,
    account: Option<&Account>,
) -> StoreResult<Option<CellAdvice>> {
    let snapshot = stored_snapshot(results, run, account.copied())?;
    let of = |snapshot| CellAdvice { label: label.to_owned(), findings: advise(&snapshot) };
    Ok(snapshot.map(of))
}

/// The table of findings; nothing where no rule applies.
pub fn advice_section(advice: Option<&CellAdvice>, is_of_many: bool) -> Markup {
    let Some(advice) = advice.filter(|advice| !advice.findings.is_empty()) else {
        return html! {};
    };
    html! {
        section id="advice" {
            h2 { "What to set" }
            p.soft {
                "Best known methods that apply to the server"
                @if is_of_many { " of the cell with the highest throughput (" (advice.label) ")" }
                ", the greatest expected gain first. An expectation is no proof: "
                code { "mydyno advise --prove" }
                " measures each on such a server. docs/best-known-methods.md has \
                    all of them."
            }
            (shown("", table(&advice.findings)))
        }
    }
}

fn table(findings: &[Finding]) -> Table<&Finding, TableContent> {
    Table::of(findings)
        .words("Method", |of| html! { span title=(of.reason) { (of.title) } })
        .words("Change", |of| html! {
            @for change in &of.changes {
                div {
                    code { (change.variable) } ": " (current(&change.current)) " → "
                    (change.proposed)
                }
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

fn current(value: &str) -> &str {
    if value.is_empty() { "(empty)" } else { value }
}
