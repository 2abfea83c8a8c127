//! What was proven, for people.

use super::format::throughput;
use analyse::RatioInterval;
use base::counted;
use tune::{AdviceProof, JudgedProposal, ProvenFinding, WholeGain};

const INDENT: &str = "     ";
const NOT_KNOWN: &str = "no gain is known";

/// Each proposal with what it gave, all that was kept together, and the lines for the option file.
pub fn text(proof: &AdviceProof, version: &str) -> String {
    let judged = proof.proposals.iter().filter(|of| of.judged.is_some()).count();
    let mut out = format!(
        "{} for {version} measured: each gain is that of a proposal beside the others, in windows \
         with it and without it, with an interval that holds however often one looks ({:.0} %). \
         These windows chose it too, so that the gain of one that was kept reads high, most where \
         the interval begins near 0. Each proposal that changes nothing is kept in {:.0} % of \
         cases at most, and a gain below {:.2} % is not\n",
        counted(judged, "proposal", "proposals"),
        100.0 - proof.error_rate * 100.0,
        proof.error_rate * 100.0,
        proof.gain_min_percent,
    );
    for of in &proof.proposals {
        add(&mut out, of);
    }
    if proof.interrupted {
        out.push_str("\ninterrupted: the rest was not measured\n");
    }
    if let Some(why) = &proof.ended_by {
        out += &format!("\nended before its end: {why}\n");
    }
    if proof.measured_anew {
        out.push_str(
            "\nall that was proposed gave more than what had been kept: what had shown no gain was \
             measured anew\n",
        );
    }
    add_proposed(&mut out, proof);
    match &proof.whole {
        Some(whole) => add_whole(&mut out, whole, proof),
        None if proof.interrupted || proof.ended_by.is_some() => {}
        None => out.push_str("\nnothing that was measured helps: leave the server as it is\n"),
    }
    if let Some(lab) = proof.lab_id {
        out += &format!("\nall windows are lab {lab} of the results file\n");
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
    *out += &format!("\n{title} ({rule})\n{INDENT}{what}\n");
    for change in &of.changes {
        let current = if change.current.is_empty() { "(empty)" } else { &change.current };
        *out += &format!("{INDENT}{}: {current} -> {}\n", change.variable, change.proposed);
    }
}

fn verdict(judged: &JudgedProposal) -> String {
    let word = judged.verdict.title();
    let earlier = match judged.earlier_pairs {
        0 => String::new(),
        earlier => format!(", {earlier} before beside others"),
    };
    let gain = gain(judged.ratio).map_or_else(String::new, |gain| {
        format!(": {gain} ({}{earlier})", counted(judged.pairs, "pair", "pairs"))
    });
    let reason = judged.reason.as_ref().map_or_else(String::new, |why| format!("; {why}"));
    format!("{word}{gain}{reason}")
}

/// All that was proposed, where it is another thing than what was kept.
fn add_proposed(out: &mut String, proof: &AdviceProof) {
    let Some(all) = proof.proposed.as_ref().filter(|all| Some(*all) != proof.whole.as_ref()) else {
        return;
    };
    let is_better = if proof.better_together { ", which is more than what was kept" } else { "" };
    *out += &format!(
        "\nall that was proposed: {}{is_better}\n",
        gain(all.ratio).unwrap_or_else(|| NOT_KNOWN.to_owned()),
    );
}

fn add_whole(out: &mut String, whole: &WholeGain, proof: &AdviceProof) {
    let gain = gain(whole.ratio);
    *out += &format!(
        "\nall that was kept: {} against {} at the start, {} ({} of fresh windows over the proof; \
         95 % interval, with the drift of the machine in it)\n",
        throughput(whole.chosen_value),
        throughput(whole.start_value),
        gain.unwrap_or_else(|| NOT_KNOWN.to_owned()),
        counted(whole.pairs, "round", "rounds"),
    );
    if !whole.is_confirmed() {
        out.push_str(
            "this is no gain beyond doubt: leave the server as it is, or measure longer\n",
        );
        return;
    }
    *out += &format!("\n[mysqld]\n{}\n", proof.option_lines.join("\n"));
}

/// `+12.3 % (8.1 to 16.7 %)`.
pub fn gain(ratio: RatioInterval) -> Option<String> {
    let percent = |ratio: f64| (ratio - 1.0) * 100.0;
    let gain = percent(ratio.value?);
    Some(match ratio.interval() {
        Some((low, high)) => {
            format!("{gain:+.1} % ({:.1} to {:.1} %)", percent(low), percent(high))
        }
        None => format!("{gain:+.1} %"),
    })
}

#[cfg(test)]
mod tests {
    use super::text;
    use analyse::RatioInterval;
    use tune::{AdviceProof, JudgedProposal, ProposalVerdict, ProvenFinding, WholeGain};

    fn around(ratio: Option<f64>) -> RatioInterval {
        RatioInterval::of(ratio, ratio.map(|ratio| [ratio - 0.05, ratio + 0.05]))
    }

    fn proposal(verdict: ProposalVerdict, ratio: Option<f64>, why: Option<&str>) -> ProvenFinding {
        let judged = JudgedProposal {
            verdict,
            pairs: if ratio.is_some() { 4 } else { 0 },
            earlier_pairs: if ratio.is_some() { 3 } else { 0 },
            ratio: around(ratio),
            reason: why.map(str::to_owned),
        };
        ProvenFinding {
            rule: "rule",
            title: "A rule",
            changes: Vec::new(),
            judged: Some(judged),
            left_out: None,
        }
    }

    fn gain(ratio: f64) -> Option<WholeGain> {
        Some(WholeGain {
            pairs: 6,
            start_value: Some(100.0),
            chosen_value: Some(100.0 * ratio),
            ratio: around(Some(ratio)),
        })
    }

    #[test]
    fn a_proof_says_which_windows_tell_what() {
        let needed = Some("without it nothing runs: lock wait timeout");
        let proof = AdviceProof {
            error_rate: 0.05,
            gain_min_percent: 2.0,
            proposals: vec![
                proposal(ProposalVerdict::Kept, Some(1.3), None),
                proposal(ProposalVerdict::Kept, None, needed),
            ],
            whole: gain(1.4),
            proposed: gain(1.2),
            measured_anew: true,
            option_lines: vec!["a = 1".to_owned()],
            ..AdviceProof::default()
        };
        let said = text(&proof, "5.7.22");
        for words in [
            "2 proposals for 5.7.22 measured",
            "Each proposal that changes nothing is kept in 5 % of cases at most",
            "kept: +30.0 % (25.0 to 35.0 %) (4 pairs, 3 before beside others)\n",
            "kept; without it nothing runs: lock wait timeout\n",
            "measured anew\n",
            "all that was proposed: +20.0 % (15.0 to 25.0 %)\n",
            "100 at the start, +40.0 % (35.0 to 45.0 %) (6 rounds of fresh windows over the proof",
        ] {
            assert!(said.contains(words), "{words}: {said}");
        }
    }
}
