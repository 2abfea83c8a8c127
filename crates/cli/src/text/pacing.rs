//! Terminals, schedules and verdicts as text for people.

use super::format::{ms, optional};
use std::fmt::Write;
use store::{JudgedUnit, OpenLoopSummary, StoredRequirement, Summary, TerminalsSummary, Verdict};

/// What a run shows of its pace, where it had one.
pub fn pacing(out: &mut String, summary: &Summary) {
    if let Some(open_loop) = &summary.open_loop {
        schedule(out, open_loop);
    }
    if let Some(terminals) = &summary.terminals {
        users(out, terminals);
        verdicts(out, &summary.verdicts);
    }
}

fn schedule(out: &mut String, open_loop: &OpenLoopSummary) {
    // Writing to a string cannot fail.
    let _ = writeln!(
        out,
        "\nopen loop: {} transactions/s ({}{}, {} arrivals); offered {}, completed {}, late {}, \
         skipped {}",
        optional(open_loop.rate_per_s, 1),
        open_loop.rate_asked,
        of_capacity(open_loop),
        open_loop.arrivals,
        open_loop.offered,
        open_loop.completed,
        open_loop.late,
        open_loop.skipped
    );
    let _ = writeln!(
        out,
        "schedule lag p50 {}, p99 {}, max {} ms; service time p50 {}, p90 {}, p99 {}, max {} ms",
        ms(open_loop.lag_p50_us),
        ms(open_loop.lag_p99_us),
        ms(open_loop.lag_max_us),
        ms(open_loop.service_p50_us),
        ms(open_loop.service_p90_us),
        ms(open_loop.service_p99_us),
        ms(open_loop.service_max_us)
    );
}

/// What the rate is a share of, and how well that is known: ` of 1240.3/s ± 3 %`.
fn of_capacity(open_loop: &OpenLoopSummary) -> String {
    let Some(capacity) = open_loop.capacity_per_s else {
        return String::new();
    };
    let share = open_loop.capacity_precision_share;
    let known =
        share.map_or_else(String::new, |share| format!(" ± {}", base::percent_at_most(share)));
    format!(" of {capacity:.1}/s{known}")
}

fn users(out: &mut String, terminals: &TerminalsSummary) {
    let _ = writeln!(
        out,
        "\n{} terminals: {} NOPM began and ended in the window{}; without waiting they would do {} \
         NOPM, give or take {} (one standard deviation)",
        terminals.count,
        optional(terminals.nopm_within_window, 1),
        terminals.efficiency.map_or_else(String::new, |share| format!(
            ", an efficiency of {:.1} % of 12.86 NOPM per active warehouse",
            share * 100.0
        )),
        optional(terminals.ceiling_nopm, 1),
        optional(terminals.ceiling_deviation_nopm, 1)
    );
    let think = terminals.think_mean_s.iter();
    let waits = terminals.keying_mean_s.iter().zip(think);
    let waits = waits.map(|((name, keying), (_, think))| {
        let (keying, think) = (optional(*keying, 3), optional(*think, 2));
        format!("{} {keying} / {think}", name.replace('_', " "))
    });
    let waits = waits.collect::<Vec<_>>().join(", ");
    let _ = writeln!(out, "mean keying / think time in s: {waits}");
    let deferred = &terminals.deferred_deliveries;
    let _ = writeln!(
        out,
        "deferred deliveries: {} done and {} pending at the end, p90 {} s, max {} s",
        deferred.count,
        terminals.pending_deliveries.unwrap_or(0),
        optional(deferred.p90_s, 3),
        optional(deferred.max_s, 3)
    );
}

fn verdicts(out: &mut String, verdicts: &[StoredRequirement]) {
    let with = |verdict| verdicts.iter().filter(move |of| of.judged.verdict == verdict);
    let _ = writeln!(
        out,
        "clauses: {} within what is allowed, {} outside by chance (short run), {} outside, {} \
         without data",
        with(Verdict::Within).count(),
        with(Verdict::Chance).count(),
        with(Verdict::Outside).count(),
        with(Verdict::NoData).count()
    );
    for verdict in with(Verdict::Outside) {
        let judged = &verdict.judged;
        let range = match (judged.allowed_low, judged.allowed_high) {
            (Some(low), Some(high)) => format!("{low} to {high}"),
            (Some(low), None) => format!("from {low}"),
            (None, Some(high)) => format!("up to {high}"),
            (None, None) => "anything".to_owned(),
        };
        let _ = writeln!(
            out,
            "  outside clause {}: {} is {} {}, allowed is {range}",
            verdict.clause,
            verdict.title,
            optional(judged.value, 4),
            if judged.unit == JudgedUnit::Seconds { "s" } else { "" }
        );
    }
}
