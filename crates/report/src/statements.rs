//! Where the response time of each transaction type goes, by statement.

use crate::format::{integer, or_na, percent, significant, transaction};
use crate::model::RepeatView;
use crate::stacks::{Stack, StackPart, stacked};
use crate::table::shown;
use analyse::{MeanValue, Table};
use itertools::Itertools;
use maud::{Markup, html};
use std::collections::BTreeMap;
use store::{DRIVER, PAUSED, QUEUED, TimeSpent};

/// Of the parts that have names in a figure, the longest first; the rest is grey.
const COLORS: [usize; 7] = [1, 2, 3, 4, 6, 7, 8];
const COLOR_OF_OTHERS: usize = 5;

/// A bar for each transaction type, and their tables; nothing where the driver did not measure it.
pub fn statements_section(repeat: &RepeatView) -> Markup {
    let types = repeat.totals.iter();
    let types =
        types.filter_map(|(of, _)| repeat.times_spent.get_key_value(&of.name)).collect_vec();
    let named = longest(types.iter().flat_map(|(_, rows)| *rows));
    let stack = |(name, _): &(&String, _)| Stack {
        name: html! { (transaction(name)) },
        parts: statement_parts(std::iter::once(repeat), name, &named),
    };
    let stacks: Vec<Stack> = types.iter().map(stack).collect();
    let tables = html! { @for (name, rows) in &types { (table(name, rows)) } };
    html! {
        @if !types.is_empty() {
            h3 { "Where the response time goes" }
            (stacked("Each type by statement", &stacks, &tables))
            p.soft.small {
                "Measured by the driver, from sending a statement to its whole answer, tries that \
                 failed included. "
                @if ["pipelined", "batched"].contains(&repeat.summary().style.as_str()) {
                    "Statements travelled together: the first of those sent together has nearly \
                     all of their time."
                }
            }
        }
    }
}

/// What transactions of a type spend most time on, over these repeats.
pub fn named_parts<'a>(repeats: impl Iterator<Item = &'a RepeatView>, kind: &str) -> Vec<&'a str> {
    longest(repeats.filter_map(|repeat| repeat.times_spent.get(kind)).flatten())
}

fn longest<'a>(rows: impl Iterator<Item = &'a TimeSpent>) -> Vec<&'a str> {
    let mut times: BTreeMap<&str, f64> = BTreeMap::new();
    for row in rows {
        *times.entry(&row.what).or_default() += time_us(row);
    }
    let times = times.into_iter().filter(|(_, us)| *us > 0.0);
    let longest = times.sorted_by(|one, other| other.1.total_cmp(&one.1)).take(COLORS.len());
    longest.map(|(what, _)| what).collect()
}

fn time_us(row: &TimeSpent) -> f64 {
    row.mean_us * row.per_transaction
}

/// A transaction of this type in the mean of the repeats: its `named` parts, and what is left.
/// Nothing where it was not measured.
pub fn statement_parts<'a>(
    repeats: impl Iterator<Item = &'a RepeatView>,
    kind: &str,
    named: &[&str],
) -> Vec<StackPart> {
    let measured: Vec<&Vec<TimeSpent>> =
        repeats.filter_map(|repeat| repeat.times_spent.get(kind)).collect();
    let part = |title: String, color, is_meant: &dyn Fn(&str) -> bool| {
        let of_repeat = |rows: &&Vec<TimeSpent>| -> f64 {
            rows.iter().filter(|row| is_meant(&row.what)).map(time_us).sum()
        };
        let times: Vec<f64> = measured.iter().map(of_repeat).collect();
        let time = MeanValue::of_repeats(&times);
        let us = time.mean.filter(|us| *us > 0.0)?;
        Some(StackPart { title, color, us, time })
    };
    let parts = named
        .iter()
        .zip(COLORS)
        .map(|(what, color)| part(in_words(what).to_owned(), color, &|of: &str| of == *what));
    let others = part("other".to_owned(), COLOR_OF_OTHERS, &|of: &str| !named.contains(&of));
    parts.chain([others]).flatten().collect()
}

fn table(name: &str, rows: &[TimeSpent]) -> Markup {
    let ms = |us: f64| significant(us / 1e3);
    let of_one = |row: &TimeSpent, us: Option<f64>| {
        if row.is_statement() { or_na(us, ms) } else { String::new() }
    };
    let table = Table::of(rows.iter().filter(|row| row.share > 0.0))
        .words("Statement", |row| in_words(&row.what))
        .numbers_in(("Executions", "per transaction"), |row| {
            if row.is_statement() { executions(row.per_transaction) } else { String::new() }
        })
        .numbers_in(("Mean", "ms"), |row| ms(row.mean_us))
        .numbers_in(("p95", "ms"), |row| of_one(row, row.p95_us))
        .numbers_in(("Max", "ms"), |row| of_one(row, row.max_us))
        .numbers_in(("Share", "of the response time"), |row| percent(row.share));
    shown(transaction(name), table)
}

fn executions(per_transaction: f64) -> String {
    if per_transaction.fract() == 0.0 {
        integer(per_transaction as u64)
    } else {
        significant(per_transaction)
    }
}

/// A statement as it is named, and what is none in words.
fn in_words(what: &str) -> &str {
    match what {
        QUEUED => "waiting for a connection",
        PAUSED => "pauses between tries",
        DRIVER => "the driver itself",
        kind => kind,
    }
}
