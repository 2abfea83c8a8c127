//! Tables of one repeat.

use crate::format::{integer, ms, or_na, percent, significant, transaction, trimmed};
use crate::model::RepeatView;
use maud::{Markup, html};
use store::{
    InputCounter, JudgedNumber, JudgedUnit, StoredBand, StoredCheck, StoredFailure,
    TransactionTotals, Verdict,
};

/// Counts, retries by cause and response times of each type in the window.
pub fn transactions_table(repeat: &RepeatView) -> Markup {
    let all = repeat.totals.completed();
    html! {
        div.scroll { table {
            caption { "In the window. Response times count retries; rolled back are the deliberate \
                rollbacks of clause 2.4.1.4." }
            thead { tr {
                th scope="col" { "Type" }
                th.num scope="col" { "Committed" }
                th.num scope="col" { "Rolled back" }
                th.num scope="col" { "Mix" span.unit { "%" } }
                th.num scope="col" { "Deadlocks" span.unit { "retried" } }
                th.num scope="col" { "Lock waits" span.unit { "retried" } }
                th.num scope="col" { "Other" span.unit { "retried" } }
                th.num scope="col" { "Errors" }
                th.num scope="col" { "Mean" span.unit { "ms" } }
                @for name in ["p50", "p90", "p95", "p99", "p99.9", "Max"] {
                    th.num scope="col" { (name) span.unit { "ms" } }
                }
            } }
            tbody {
                @for (of, totals) in repeat.totals.iter() {
                    (transaction_row(&of.name, totals, all))
                }
            }
        } }
        @let beyond: u64 = repeat.totals.iter().map(|(_, t)| t.response.out_of_bounds).sum();
        @let in_flight: u64 = repeat.totals.iter().map(|(_, t)| t.in_flight.count()).sum();
        @if repeat.totals.iter().any(|(_, t)| t.max_is_at_least()) { p.small {
            "≥: at least, as " (integer(in_flight)) " transactions were in flight at the end of \
                the window." } }
        @if beyond > 0 { p.small { (integer(beyond)) " response times were above the histogram's \
            bound; they count in mean and maximum." } }
    }
}

fn transaction_row(name: &str, totals: &TransactionTotals, all: u64) -> Markup {
    let share = if all > 0 { totals.completed() as f64 * 100.0 / all as f64 } else { 0.0 };
    html! {
        tr {
            th scope="row" { (transaction(name)) }
            td.num { (integer(totals.committed)) }
            td.num { (integer(totals.rolled_back)) }
            td.num { (trimmed(share, 2)) }
            td.num { (integer(totals.deadlocks)) }
            td.num { (integer(totals.lock_wait_timeouts)) }
            td.num { (integer(totals.other_retries)) }
            td.num {
                @if totals.errors > 0 { span.tag.bad { (integer(totals.errors)) } } @else { "0" }
            }
            td.num { (or_na(totals.mean_ns(), ms)) }
            @for q in [0.5, 0.9, 0.95, 0.99, 0.999] {
                td.num {
                    @if totals.is_at_least(q) { "≥ " }
                    (or_na(totals.quantile_ns(q).map(|ns| ns as f64), ms))
                }
            }
            td.num {
                @if totals.max_is_at_least() { "≥ " }
                (or_na(totals.max_ns(), |ns| ms(ns as f64)))
            }
        }
    }
}

/// Failed tries by error.
pub fn failures_table(failures: &[StoredFailure]) -> Markup {
    html! {
        div.scroll { table {
            caption { "Failed tries over the whole run, warm-up included; a try that failed may \
                have been retried." }
            thead {
                tr {
                    th scope="col" { "Type" } th scope="col" { "Error" }
                    th.num scope="col" { "Count" } th scope="col" { "First message" }
                }
            }
            tbody {
                @for failure in failures {
                    tr {
                        th scope="row" { (transaction(&failure.transaction)) }
                        td { code { (failure.error_code) } }
                        td.num { (integer(failure.occurrences)) }
                        td.value { (failure.first_message) }
                    }
                }
            }
        } }
    }
}

/// Clause-5 counters: value, allowed band, chance spread, verdict.
pub fn inputs_table(counters: &[InputCounter]) -> Markup {
    html! {
        div.scroll { table {
            caption { "Green: the band that the clause allows. Grey: where a right generator lands \
                in a run of this length; short runs miss the band by chance." }
            thead { tr {
                th scope="col" { "Counter" } th.num scope="col" { "Counted" }
                th.num scope="col" { "Value" }
                th.num scope="col" { "Allowed" } th.num scope="col" { "By chance" }
                th scope="col" { "" } th scope="col" { "Verdict" }
            } }
            tbody { @for counter in counters { (input_row(counter)) } }
        } }
    }
}

fn input_row(counter: &InputCounter) -> Markup {
    let judged = &counter.judged;
    let show = |value: f64| match judged.unit {
        JudgedUnit::Share => percent(value),
        _ => significant(value),
    };
    html! {
        tr {
            th scope="row" { (counter.title) }
            td.num { (integer(counter.hits)) " / " (integer(counter.trials)) }
            td.num { b { (or_na(judged.value, show)) } }
            td.num { (band_text(judged.allowed(), show)) }
            td.num { (band_text(judged.chance(), show)) }
            td { (band_picture(judged)) }
            td {
                (verdict_tag(judged.verdict))
            }
        }
    }
}

/// A band in words.
pub fn band_text(band: StoredBand, show: impl Fn(f64) -> String) -> String {
    match (band.low, band.high) {
        (Some(low), Some(high)) => format!("{} to {}", show(low), show(high)),
        (None, Some(high)) => format!("up to {}", show(high)),
        (Some(low), None) => format!("from {}", show(low)),
        (None, None) => String::new(),
    }
}

/// A verdict in words and colour.
pub fn verdict_tag(verdict: Verdict) -> Markup {
    html! {
        @match verdict {
            Verdict::Within => span.tag.good { "within" },
            Verdict::Chance => span.tag { "short run" },
            Verdict::Outside => span.tag.bad { "outside" },
            Verdict::NoData => span.tag { "no data" },
        }
    }
}

/// Allowed band, chance spread and value on one scale; the table holds the numbers.
pub fn band_picture(judged: &JudgedNumber) -> Markup {
    let (value, allowed, chance) = (judged.value, judged.allowed(), judged.chance());
    let ends = [allowed.low, allowed.high, chance.low, chance.high, value];
    let low = ends.iter().flatten().copied().fold(f64::INFINITY, f64::min);
    let high = ends.iter().flatten().copied().fold(f64::NEG_INFINITY, f64::max);
    let (Some(value), true) = (value, high > low) else {
        return html! {};
    };
    let margin = (high - low) * 0.12;
    let at = |v: f64| (v - low + margin) / (high - low + 2.0 * margin) * 190.0;
    let band = |class: &str, from: Option<f64>, to: Option<f64>, y: u32, height: u32| {
        let left = from.map_or(0.0, at);
        let right = to.map_or(190.0, at);
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
    html! {
        @for check in &failed {
            div.callout {
                p { b { (check.title) } " (" (check.clause)
                    ") failed: " (integer(check.offending_rows)) " offending rows." }
                @if !check.examples.is_empty() {
                    pre { (check.examples_json()) }
                }
            }
        }
        @if failed.is_empty() { p { span.tag.good { "all " (checks.len()) " passed" } } }
        details { summary { "All " (checks.len()) " checks" }
            div.scroll { table {
                thead {
                    tr {
                        th scope="col" { "Check" } th scope="col" { "What must hold" }
                        th scope="col" { "Clause" } th scope="col" { "Result" }
                        th.num scope="col" { "Offending rows" }
                        th.num scope="col" { "Took" span.unit { "s" } }
                    }
                }
                tbody {
                    @for check in checks {
                        tr {
                            th scope="row" { (check.name) }
                            td { (check.title) }
                            td { (check.clause) }
                            td {
                                @if check.passed { span.tag.good { "passed" } }
                                @else { span.tag.bad { "failed" } }
                            }
                            td.num { (integer(check.offending_rows)) }
                            td.num { (significant(check.duration_ns as f64 / 1e9)) }
                        }
                    }
                }
            } }
        }
    }
}
