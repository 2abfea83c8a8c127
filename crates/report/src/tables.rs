//! Tables of one repeat, and what terminals and schedules did in it.

use crate::format::{
    integer, ms, or_na, percent, seconds, sentence, significant, transaction, trimmed,
};
use crate::model::RepeatView;
use crate::table::{TableContent, shown};
use analyse::{ResponseTime, Table, sentences};
use maud::{Markup, html};
use store::{
    InputCounter, JudgedNumber, JudgedUnit, StoredBand, StoredCheck, StoredFailure,
    StoredRequirement, TransactionSummary, Verdict,
};

/// Counts, retries by cause and response times of each type in the window.
pub fn transactions_table(repeat: &RepeatView) -> Markup {
    let summary = repeat.summary();
    let completed = |of: &TransactionSummary| of.committed + of.rolled_back;
    let sum = |number: &dyn Fn(&TransactionSummary) -> u64| -> u64 {
        summary.transactions.iter().map(|(_, of)| number(of)).sum()
    };
    let all = sum(&completed).max(1) as f64;
    let mut table = Table::of(summary.transactions.iter())
        .words("Type", |(name, _)| transaction(name))
        .numbers("Committed", |(_, of)| integer(of.committed))
        .numbers("Rolled back", |(_, of)| integer(of.rolled_back))
        .numbers_in(("Mix", "%"), |(_, of)| trimmed(completed(of) as f64 * 100.0 / all, 2))
        .numbers_in(("Deadlocks", "retried"), |(_, of)| integer(of.retries_deadlock))
        .numbers_in(("Lock waits", "retried"), |(_, of)| integer(of.retries_lock_wait_timeout))
        .numbers_in(("Other", "retried"), |(_, of)| integer(of.retries_other))
        .numbers("Errors", |(_, of)| {
            html! { @if of.errors > 0 { span.tag.bad { (integer(of.errors)) } } @else { "0" } }
        });
    for time in ResponseTime::ALL {
        table = table.numbers_in((time.title, "ms"), |(_, of)| time.shown(of, |us| ms(us * 1e3)));
    }
    let beyond = sum(&|of| of.latency_out_of_bounds);
    let caption = "In the window. Response times count retries; rolled back are the deliberate \
        rollbacks of clause 2.4.1.4.";
    html! {
        (shown(caption, table))
        @if let Some(words) = sentences::in_flight(summary) { p.small { (words) "." } }
        @if beyond > 0 { p.small { (integer(beyond)) " response times were above the histogram's \
            bound; they count in mean and maximum." } }
    }
}

/// Failed tries by error.
pub fn failures_table(failures: &[StoredFailure]) -> Markup {
    let table = Table::of(failures)
        .words("Type", |failure| transaction(&failure.transaction))
        .words("Error", |failure| html! { code { (failure.error_code) } })
        .numbers("Count", |failure| integer(failure.occurrences))
        .words("First message", |failure| html! { span.value { (failure.first_message) } });
    let caption = "Failed tries over the whole run, warm-up included; a try that failed may have \
        been retried.";
    shown(caption, table)
}

/// Clause-5 counters: value, allowed band, chance spread, verdict.
pub fn inputs_table(counters: &[InputCounter]) -> Markup {
    let show = |judged: &JudgedNumber, value: f64| match judged.unit {
        JudgedUnit::Share => percent(value),
        _ => significant(value),
    };
    let table = Table::of(counters)
        .words("Counter", |of| &of.title)
        .numbers("Counted", |of| format!("{} / {}", integer(of.hits), integer(of.trials)));
    let caption = "Green: the band that the clause allows. Grey: where a right generator lands in \
        a run of this length; short runs miss the band by chance.";
    shown(caption, judged(table, |of| &of.judged, show, true))
}

/// Adds what was measured, and what is asked of it; and what chance does, where the table
/// `has_chance`.
fn judged<R>(
    table: Table<R, TableContent>,
    of: impl Fn(&R) -> &JudgedNumber,
    show: impl Fn(&JudgedNumber, f64) -> String,
    has_chance: bool,
) -> Table<R, TableContent> {
    let band = |row: &R, band: StoredBand| band.words(|value| show(of(row), value));
    table
        .numbers("Value", |row| {
            let value = or_na(of(row).value, |value| show(of(row), value));
            html! { b { (value) } }
        })
        .numbers("Allowed", |row| band(row, of(row).allowed()))
        .when(has_chance, |table| table.numbers("By chance", |row| band(row, of(row).chance())))
        .words("", |row| band_picture(of(row)))
        .words("Verdict", |row| match of(row).verdict {
            Verdict::Within => html! { span.tag.good { "within" } },
            Verdict::Chance => html! { span.tag { "short run" } },
            Verdict::Outside => html! { span.tag.bad { "outside" } },
            Verdict::NoData => html! { span.tag { "no data" } },
        })
}

/// Allowed band, chance spread and value on one scale; the table holds the numbers.
fn band_picture(judged: &JudgedNumber) -> Markup {
    let (value, allowed, chance) = (judged.value, judged.allowed(), judged.chance());
    let ends = [allowed.low, allowed.high, chance.low, chance.high, value];
    let low = ends.iter().flatten().copied().fold(f64::INFINITY, f64::min);
    let high = ends.iter().flatten().copied().fold(f64::NEG_INFINITY, f64::max);
    let (Some(value), true) = (value, high > low) else { return html! {} };
    let margin = (high - low) * 0.12;
    let at = |v: f64| (v - low + margin) / (high - low + 2.0 * margin) * 190.0;
    let band = |class: &str, from: Option<f64>, to: Option<f64>, y: u32, height: u32| {
        let (left, right) = (from.map_or(0.0, at), to.map_or(190.0, at));
        html! {
            @if from.is_some() || to.is_some() {
                rect class=(class) x=(trimmed(left, 1)) y=(y) width=(trimmed(right - left, 1))
                    height=(height) rx="2" {}
            }
        }
    };
    html! {
        svg.band viewBox="0 0 190 16" aria-hidden="true" {
            rect.track x="0" y="3" width="190" height="10" rx="3" {}
            (band("chance", chance.low, chance.high, 3, 10))
            (band("allowed", allowed.low, allowed.high, 5, 6))
            rect.at x=(trimmed(at(value) - 1.5, 1)) y="0" width="3" height="16" rx="1.5" {}
        }
    }
}

/// Checks; those that failed first and open, with their offending rows.
pub fn checks_table(checks: &[StoredCheck]) -> Markup {
    let failed: Vec<&StoredCheck> = checks.iter().filter(|check| !check.passed).collect();
    let table = Table::of(checks)
        .words("Check", |check| &check.name)
        .words("What must hold", |check| &check.title)
        .words("Clause", |check| &check.clause)
        .words("Result", |check| match check.passed {
            true => html! { span.tag.good { "passed" } },
            false => html! { span.tag.bad { "failed" } },
        })
        .numbers("Offending rows", |check| integer(check.offending_rows))
        .numbers_in(("Took", "s"), |check| significant(seconds(check.duration_ns)));
    html! {
        @for check in &failed {
            div.callout {
                p { b { (check.title) } " (" (check.clause)
                    ") failed: " (integer(check.offending_rows)) " offending rows." }
                @if !check.examples.is_empty() { pre { (check.examples_json()) } }
            }
        }
        @if failed.is_empty() { p { span.tag.good { "all " (checks.len()) " passed" } } }
        details { summary { "All " (checks.len()) " checks" } (shown("", table)) }
    }
}

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
