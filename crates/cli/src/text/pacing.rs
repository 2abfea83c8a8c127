//! Terminals, schedules and verdicts as text for people.

use super::format::{lines, optional};
use analyse::sentences;
use store::{JudgedUnit, StoredRequirement, Summary, Verdict};

/// What a run shows of its pace, where it had one.
pub fn pacing(out: &mut String, summary: &Summary) {
    let told = sentences::pacing(summary);
    // A blank line comes first.
    *out += &lines(told.first().map(|_| "").into_iter().chain(told.iter().map(String::as_str)));
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
        *out += &format!(
            "  outside clause {}: {} is {} {}, allowed is {}\n",
            verdict.clause,
            verdict.title,
            optional(judged.value, 4),
            if judged.unit == JudgedUnit::Seconds { "s" } else { "" },
            judged.allowed().words(|end| end.to_string())
        );
    }
}
