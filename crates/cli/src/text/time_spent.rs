//! Where the response time of each transaction type goes, in a line each.

use super::format::{ms, names_width, percent};
use std::fmt::Write;
use store::{DRIVER, PAUSED, QUEUED, Summary, TimeSpent};

/// So many parts are named; the rest is one.
const NAMED: usize = 5;

/// The parts of the response time that are largest, by transaction type.
pub(super) fn time_spent(out: &mut String, summary: &Summary) {
    let width = names_width(&summary.transactions);
    let mut types = summary.transactions.iter();
    if types.all(|(_, of)| of.time_spent.is_empty()) {
        return;
    }
    // Writing to a string cannot fail.
    let _ = writeln!(out, "\nwhere the response time goes (share: statements x their mean)");
    for (name, of) in summary.transactions.iter() {
        if !of.time_spent.is_empty() {
            let _ = writeln!(out, "{name:<width$}{}", line(&of.time_spent));
        }
    }
}

fn line(rows: &[TimeSpent]) -> String {
    let mut rows: Vec<&TimeSpent> = rows.iter().filter(|row| row.share > 0.0).collect();
    rows.sort_by(|a, b| b.share.total_cmp(&a.share));
    let (named, rest) = rows.split_at(NAMED.min(rows.len()));
    let mut parts: Vec<String> = named.iter().map(|row| part(row)).collect();
    if !rest.is_empty() {
        let share = rest.iter().map(|row| row.share).sum();
        parts.push(format!("{} others {}", rest.len(), percent(share, 1)));
    }
    parts.join(", ")
}

fn part(row: &TimeSpent) -> String {
    let share = percent(row.share, 1);
    let mean_ms = ms(Some(row.mean_us));
    match row.what.as_str() {
        QUEUED => format!("waiting for a connection {share}"),
        PAUSED => format!("pauses between tries {share}"),
        DRIVER => format!("driver {share}"),
        kind => format!("{kind} {share}: {:.1} x {mean_ms} ms", row.per_transaction),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spent(what: &str, share: f64, max_us: Option<f64>) -> TimeSpent {
        TimeSpent {
            what: what.to_owned(),
            per_transaction: 10.0,
            mean_us: 450.0,
            p95_us: max_us,
            p99_us: max_us,
            max_us,
            share,
        }
    }

    #[test]
    fn the_largest_parts_are_named_and_the_rest_is_one() {
        let mut rows: Vec<TimeSpent> =
            (1..=6).map(|n| spent(&format!("kind_{n}"), 0.02 * f64::from(n), Some(1.0))).collect();
        rows.push(spent(QUEUED, 0.0, None));
        rows.push(spent(PAUSED, 0.08, None));
        rows.push(spent(DRIVER, 0.5, None));
        let parts = [
            "driver 50.0 %",
            "kind_6 12.0 %: 10.0 x 0.45 ms",
            "kind_5 10.0 %: 10.0 x 0.45 ms",
            "kind_4 8.0 %: 10.0 x 0.45 ms",
            "pauses between tries 8.0 %",
            "3 others 12.0 %",
        ];
        assert_eq!(line(&rows), parts.join(", "));
    }
}
