//! Terminals and schedules of one repeat: what they did, and what the clauses say of it.

use crate::format::{percent, sentence, significant, trimmed};
use crate::model::RepeatView;
use crate::table::shown;
use crate::tables::judged;
use analyse::{Table, sentences};
use maud::{Markup, html};
use store::{JudgedNumber, JudgedUnit, StoredRequirement, Verdict};

/// What a repeat with terminals or a schedule shows besides its transactions.
pub fn terminals_section(repeat: &RepeatView) -> Markup {
    let summary = repeat.summary();
    let told = sentences::pacing(summary);
    html! {
        @if !told.is_empty() {
            h3 { @if summary.terminals.is_some() { "Terminals" } @else { "Open loop" } }
            @for words in &told { p { (sentence(words)) } }
        }
        @if !summary.verdicts.is_empty() {
            h3 { "What the clauses ask" }
            (requirements_table(&summary.verdicts))
        }
    }
}

fn requirements_table(requirements: &[StoredRequirement]) -> Markup {
    let is_outside = |r: &StoredRequirement| r.judged.verdict == Verdict::Outside;
    let show = |judged: &JudgedNumber, value: f64| match judged.unit {
        JudgedUnit::Share => percent(value),
        JudgedUnit::Seconds => format!("{} s", significant(value)),
        JudgedUnit::Average | JudgedUnit::NopmPerWarehouse => trimmed(value, 2),
    };
    let table = Table::of(requirements)
        .words("Requirement", |of| &of.title)
        .words("Clause", |of| &of.clause);
    let caption = "Green: what the clause allows. Grey: where a right run of this length lands; \
        short runs miss by chance.";
    html! {
        @if !requirements.iter().any(is_outside) {
            p { span.tag.good { "all met" } " as far as a window of this length can tell." }
        }
        (shown(caption, judged(table, |of| &of.judged, show, false)))
    }
}
