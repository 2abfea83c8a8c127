//! What was proven, for people.

use super::format::optional;
use base::counted;
use std::fmt::Write as _;
use tune::{AdviceProof, JudgedProposal, ProposalVerdict, ProvenFinding, WholeGain};

const INDENT: &str = "     ";

/// Each proposal with what it gave, all that was kept together, and the lines for the option file.
pub fn text(proof: &AdviceProof, version: &str) -> String {
    let judged = proof.proposals.iter().filter(|of| of.judged.is_some()).count();
    let mut out = format!(
        "{} for {version} measured: each gain is that of a proposal beside the others, in windows \
         with it and without it; at most {:.0} % of those that change nothing are kept, and a gain \
         below {:.2} % is not\n",
        counted(judged, "proposal", "proposals"),
        proof.error_rate * 100.0,
        proof.gain_min_percent,
    );
    for of in &proof.proposals {
        add(&mut out, of);
    }
    // Writing to a string cannot fail.
    if proof.interrupted {
        let _ = writeln!(out, "\ninterrupted: the rest was not measured");
    }
    if let Some(why) = &proof.ended_by {
        let _ = writeln!(out, "\nended before its end: {why}");
    }
    match &proof.whole {
        Some(whole) => add_whole(&mut out, whole, proof),
        None if proof.interrupted || proof.ended_by.is_some() => {}
        None => out.push_str("\nnothing that was measured helps: leave the server as it is\n"),
    }
    if let Some(lab) = proof.lab_id {
        let _ = writeln!(out, "\nall windows are lab {lab} of the results file");
    }
    out
}

fn add(out: &mut String, of: &ProvenFinding) {
    let ProvenFinding { rule, title, .. } = of;
    let what = match (&of.judged, &of.left_out) {
        (Some(judged), _) => verdict(judged),
        (None, Some(why)) => format!("not measured: {why}"),
        (None, None) => "not measured".to_owned(),
    };
    let _ = writeln!(out, "\n{title} ({rule})\n{INDENT}{what}");
    for change in &of.changes {
        let current = if change.current.is_empty() { "(empty)" } else { &change.current };
        let _ = writeln!(out, "{INDENT}{}: {current} -> {}", change.variable, change.proposed);
    }
}

fn verdict(judged: &JudgedProposal) -> String {
    let word = match judged.verdict {
        ProposalVerdict::Kept => "kept",
        ProposalVerdict::Harms => "dropped, it harms",
        ProposalVerdict::NoGain => "dropped, no gain was shown",
        ProposalVerdict::Fails => "dropped, it fails",
        ProposalVerdict::Undecided => "not decided",
    };
    let pairs = counted(judged.pairs, "pair", "pairs");
    let gain = gain(judged.ratio, [judged.ratio_low, judged.ratio_high]);
    let gain = gain.map_or_else(String::new, |gain| format!(": {gain}"));
    let reason = judged.reason.as_ref().map_or_else(String::new, |why| format!("; {why}"));
    format!("{word}{gain} ({pairs}){reason}")
}

fn add_whole(out: &mut String, whole: &WholeGain, proof: &AdviceProof) {
    let nopm = |value| optional(value, 0);
    let gain = gain(whole.ratio, [whole.ratio_low, whole.ratio_high]);
    let _ = writeln!(
        out,
        "\nall that was kept: {} against {} at the start, {} ({} of fresh windows; 95 % interval)",
        nopm(whole.chosen_value),
        nopm(whole.start_value),
        gain.unwrap_or_else(|| "no gain is known".to_owned()),
        counted(whole.pairs, "pair", "pairs"),
    );
    if !whole.is_confirmed() {
        out.push_str(
            "this is no gain beyond doubt: leave the server as it is, or measure longer\n",
        );
        return;
    }
    let _ = writeln!(out, "\n[mysqld]\n{}", proof.option_lines.join("\n"));
}

/// `+12.3 % (8.1 to 16.7 %)`.
pub fn gain(ratio: Option<f64>, interval: [Option<f64>; 2]) -> Option<String> {
    let percent = |ratio: f64| (ratio - 1.0) * 100.0;
    let gain = percent(ratio?);
    Some(match interval {
        [Some(low), Some(high)] => {
            format!("{gain:+.1} % ({:.1} to {:.1} %)", percent(low), percent(high))
        }
        _ => format!("{gain:+.1} %"),
    })
}
