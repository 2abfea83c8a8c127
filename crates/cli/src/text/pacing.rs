//! Terminals, schedules and verdicts as text for people.

use super::format::optional;
use analyse::sentences;
use store::{JudgedUnit, StoredRequirement, Summary, Verdict};

/// What a run shows of its pace, where it had one.
pub fn pacing(out: &mut String, summary: &Summary) {
    let told = sentences::pacing(summary);
    // A blank line comes first.
    for words in told.first().map(|_| "").into_iter().chain(told.iter().map(String::as_str)) {
        *out += &format!("{words}\n");
    }
    if summary.terminals.is_some() {
        verdicts(out, &summary.verdicts);
    }
}

fn verdicts(out: &mut String, verdicts: &[StoredRequirement]) {
    let with = |verdict| verdicts.iter().filter(move |of| of.judged.verdict == verdict);
    *out += &format!(
        "clauses: {} within what is allowed, {} outside by chance (short run), {} outside, {} \
         without data\n",
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
        *out += &format!(
            "  outside clause {}: {} is {} {}, allowed is {range}\n",
            verdict.clause,
            verdict.title,
            optional(judged.value, 4),
            if judged.unit == JudgedUnit::Seconds { "s" } else { "" }
        );
    }
}
