//! Where the response time of each transaction type goes, by statement.

use crate::format::{integer, or_na, percent, significant, transaction};
use crate::model::RepeatView;
use maud::{Markup, html};
use store::{DRIVER, PAUSED, QUEUED, TimeSpent};

/// So many statements are named before the table is opened.
const NAMED: usize = 3;

/// A table for each transaction type; nothing where the driver did not measure it.
pub fn statements_section(repeat: &RepeatView) -> Markup {
    let types = repeat.totals.iter();
    let mut types =
        types.filter_map(|(of, _)| Some((&of.name, repeat.times_spent.get(&of.name)?))).peekable();
    if types.peek().is_none() {
        return html! {};
    }
    html! {
        h3 { "Where the response time goes" }
        @for (name, rows) in types { (of_type(name, rows)) }
        p.soft.small {
            "Measured by the driver, from sending a statement to its whole answer, tries that "
            "failed included. "
            @if repeat.is_sent_together {
                "Statements travelled together: the first of those sent together has nearly all "
                "of their time."
            }
        }
    }
}

fn of_type(name: &str, rows: &[TimeSpent]) -> Markup {
    let shown: Vec<&TimeSpent> = rows.iter().filter(|row| row.share > 0.0).collect();
    let mut longest = shown.clone();
    longest.sort_by(|a, b| b.share.total_cmp(&a.share));
    longest.truncate(NAMED);
    html! {
        details {
            summary {
                (transaction(name)) ": "
                @for (index, row) in longest.iter().enumerate() {
                    @if index > 0 { ", " }
                    (title(row)) " " (percent(row.share))
                }
            }
            div.scroll { table {
                thead { tr {
                    th scope="col" { "Statement" }
                    th.num scope="col" { "Executions" span.unit { "per transaction" } }
                    @for name in ["Mean", "p95", "Max"] {
                        th.num scope="col" { (name) span.unit { "ms" } }
                    }
                    th.num scope="col" { "Share" span.unit { "of the response time" } }
                } }
                tbody { @for row in shown { (line(row)) } }
            } }
        }
    }
}

fn line(row: &TimeSpent) -> Markup {
    let ms = |us: f64| significant(us / 1e3);
    html! {
        tr {
            th scope="row" { (title(row)) }
            td.num { @if row.is_statement() { (executions(row.per_transaction)) } }
            td.num { (ms(row.mean_us)) }
            @for us in [row.p95_us, row.max_us] {
                td.num { @if row.is_statement() { (or_na(us, ms)) } }
            }
            td.num { (percent(row.share)) }
        }
    }
}

fn executions(per_transaction: f64) -> String {
    if per_transaction.fract() == 0.0 {
        integer(per_transaction as u64)
    } else {
        significant(per_transaction)
    }
}

/// A statement as it is named, and what is none in words.
fn title(row: &TimeSpent) -> Markup {
    match row.what.as_str() {
        QUEUED => html! { "waiting for a connection" },
        PAUSED => html! { "pauses between tries" },
        DRIVER => html! { "the driver itself" },
        kind => html! { code { (kind) } },
    }
}
