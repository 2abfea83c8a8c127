//! `mydyno advise`.

use super::{lab_options, show};
use crate::arguments::{MeasuringArguments, ResultsArguments, duration};
use crate::console::{Console, stop_flag};
use crate::failure::{Failure, Outcome};
use crate::text::format::throughput;
use crate::views::{Live, LiveOptions};
use ::advise::{Finding, Risk, ServerSnapshot, VariableChange, advise};
use analyse::RatioInterval;
use base::{Exit, counted, document};
use clap::Args;
use device::Profile;
use lab::{Job, Progress, SnapshotAsked, snapshot_of, start_server};
use plan::{CellOptions, Given, MeanPrecision};
use spec::{Cell, OpenLoop, Rate, Server, WorkloadKind};
use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use store::Results;
use tune::{AdviceProof, JudgeLimits, JudgedProposal, ProvenFinding, Prover, WholeGain};

#[derive(Args)]
pub struct AdviseArguments {
    /// Measure each proposal beside all others, with it and without it; keep what helps, and
    /// measure all that was kept against the start
    #[arg(long)]
    pub prove: bool,
    /// With --prove: allow changing variables of the target server and running TPC-C on it; only
    /// dynamic variables are tried, and all are restored
    #[arg(long, requires = "prove", conflicts_with_all = ["engine", "server_binary"])]
    pub allow_changes: bool,
    /// With --prove: smallest gain that is worth a proposal
    #[arg(long, value_name = "SHARE", default_value = "2%", requires = "prove")]
    pub gain_min: Given<MeanPrecision>,
    /// With --prove: give up on a proposal that is still undecided after N pairs of windows
    #[arg(
        long, value_name = "N", default_value_t = JudgeLimits::default().pairs_max as u32,
        requires = "prove", value_parser = clap::value_parser!(u32).range(3..=1000)
    )]
    pub pairs: u32,
    /// Time for which the status of a server that is there is observed; its load should be the
    /// usual one. A private server is driven instead, as by `mydyno run`
    #[arg(
        long, value_name = "TIME", default_value = "30s", value_parser = duration,
        conflicts_with_all = ["engine", "server_binary", "allow_changes"]
    )]
    pub observe: Duration,
    /// Profile of the device that holds the data (a name of `mydyno device list`, or a file of
    /// `mydyno device probe`) [default: what mydyno emulates for it, or what the kernel tells]
    #[arg(
        long, value_name = "PROFILE", value_parser = storage::profile,
        conflicts_with_all = ["engine", "server_binary"]
    )]
    pub device: Option<Profile>,
    /// Results file: where the last run against this server says where its time goes, and where a
    /// private server's runs are stored
    #[command(flatten)]
    pub results: ResultsArguments,
    /// Print one JSON document on stdout
    #[arg(long)]
    pub json: bool,
    // Last, as their sections of the help are.
    #[command(flatten)]
    pub measuring: MeasuringArguments,
}

const PROVE_WHERE: &str = "--prove sets variables of this server while it drives it; add \
                           --allow-changes (only what a running server takes is tried, and all is \
                           set back), or prove on private servers: --engine with the settings of \
                           this one (--preset, --set) and the profile of its device (--data)";

const PACED: &str = "--prove compares throughputs, and that of this load is asked for; leave out \
                     --rate, or give it as a share (80%), and take another workload than tpcc-spec";

const UNDER_ITS_OWN_LOAD: &str = "a server that is there is watched under its own load: leave out \
                                  what says how to drive it (-c, -w, --workload, --style, --rate, \
                                  --warmup, --window ...), or add --prove --allow-changes, which \
                                  drives it";

document! {
    /// The JSON document of the command.
    struct AdviceDocument from (
        target: String,
        snapshot: &ServerSnapshot,
        findings: Vec<Finding>,
        proof: Option<AdviceProof>
    );
    {
        target: String = target,
        server_version: String = snapshot.text("version").unwrap_or_default().to_owned(),
        watched_s: f64 = snapshot.watch.seconds,
        /// That were told meanwhile.
        notes: Vec<String> = Vec::new(),
        findings: Vec<Finding> = findings,
        /// With `--prove`.
        #[serde(skip_serializing_if = "Option::is_none")]
        proof: Option<AdviceProof> = proof,
    }
}

/// Runs the command.
pub fn run(arguments: &AdviseArguments) -> Outcome {
    let cell = arguments.measuring.cell(|_| ())?;
    Failure::usage_if(arguments.prove && is_paced(&cell), PACED)?;
    let stop = stop_flag();
    let mut live = Live::begin(LiveOptions { notes_once: true, ..LiveOptions::default() }, &stop)?;
    let is_private = cell.server.private().is_some();
    let advised = if is_private || arguments.allow_changes {
        looked_at(arguments, cell, &stop, &mut live)
    } else if arguments.prove {
        return Err(Failure::usage(PROVE_WHERE));
    } else if says_how_to_drive(arguments) {
        return Err(Failure::usage(UNDER_ITS_OWN_LOAD));
    } else {
        watched(arguments, &cell.server, &stop, &mut live.console)
    };
    live.finish();
    let mut found = advised?;
    found.notes = live.console.notes.clone();
    let exit = match &found.proof {
        Some(proof) if proof.interrupted => Exit::Interrupted,
        Some(AdviceProof { ended_by: Some(_), .. }) => Exit::Failed,
        _ => Exit::Ok,
    };
    let version = &found.server_version;
    show(arguments.json, 1, &found, || match &found.proof {
        Some(proof) => proof_text(proof, version),
        None => findings_text(&found.findings, version),
    })?;
    Ok(exit)
}

fn says_how_to_drive(arguments: &AdviseArguments) -> bool {
    let CellOptions { database, load, .. } = arguments.measuring.options.clone();
    !CellOptions { database, load, ..CellOptions::default() }.is_empty()
}

/// Does the load say how much is done, whatever the server could do?
fn is_paced(cell: &Cell) -> bool {
    let is_share = |of: &OpenLoop| matches!(of.rate, Rate::OfCapacity(_));
    let says = cell.load.rate.as_ref().is_some_and(|of| !is_share(of));
    cell.load.workload == WorkloadKind::TpccSpec || says
}

/// A server that is there, under its own load.
fn watched(
    arguments: &AdviseArguments,
    server: &Server,
    stop: &AtomicBool,
    console: &mut Console,
) -> Result<AdviceDocument, Failure> {
    let subject = start_server(server, &Job::new(stop, &mut |p| console.show(p)))?;
    let asked = SnapshotAsked {
        watch: arguments.observe,
        device: arguments.device.clone(),
        results: &arguments.results.results,
    };
    let snapshot = snapshot_of(&subject, asked, &Job::new(stop, &mut |p| console.show(p)))?;
    Ok(AdviceDocument::of(subject.dsn(), &snapshot, advise(&snapshot), None))
}

/// A server under the load that is asked for, whose proposals may be proven.
fn looked_at(
    arguments: &AdviseArguments,
    cell: Cell,
    stop: &AtomicBool,
    live: &mut Live,
) -> Result<AdviceDocument, Failure> {
    lab::check_meters(&cell.meters, stop)?;
    let results = Results::create_or_open(&arguments.results.results)?;
    let options = lab_options();
    let limits = JudgeLimits {
        gain_min_share: arguments.gain_min.0,
        pairs_max: arguments.pairs as usize,
        ..JudgeLimits::default()
    };
    let mut told = |progress: Progress<'_>| live.tell(progress);
    let job = Job::new(stop, &mut told);
    let mut prover = Prover::new(&results, &options, cell, limits, &job);
    let ended = look_and_prove(arguments, &results, &mut prover);
    let is_whole = |found: &AdviceDocument| !found.proof.as_ref().is_some_and(|of| of.interrupted);
    prover.finish(ended.as_ref().is_ok_and(is_whole))?;
    ended
}

fn look_and_prove(
    arguments: &AdviseArguments,
    results: &Results,
    prover: &mut Prover<'_>,
) -> Result<AdviceDocument, Failure> {
    let looked = prover.look(arguments.device.clone())?;
    let proof = if arguments.prove { Some(prover.prove(&looked)?) } else { None };
    let run = results.repeat(looked.run)?;
    let target = results.cell(run.cell)?.what.target;
    Ok(AdviceDocument::of(target, &looked.snapshot, looked.findings, proof))
}

const INDENT: &str = "     ";
const COLUMNS: usize = 100;

/// All findings, with what to write where.
fn findings_text(findings: &[Finding], version: &str) -> String {
    if findings.is_empty() {
        return format!("no rule has anything to say of this server ({version})\n");
    }
    let mut out = format!(
        "{} for {version}, the greatest expected gain first; an expectation is no proof\n",
        counted(findings.len(), "finding", "findings")
    );
    for (finding, number) in findings.iter().zip(1..) {
        add_finding(&mut out, finding, number);
    }
    // Two rules may want the same.
    let mut seen = BTreeSet::new();
    let safe = findings.iter().filter(|finding| !gives_up_durability(finding));
    let lines = safe.flat_map(|finding| &finding.option_lines).filter(|line| seen.insert(*line));
    let lines: Vec<&str> = lines.map(String::as_str).collect();
    if !lines.is_empty() {
        out += &format!("\n[mysqld]\n{}\n", lines.join("\n"));
    }
    out
}

fn gives_up_durability(finding: &Finding) -> bool {
    finding.risks.iter().any(|risk| matches!(risk, Risk::Durability(_)))
}

fn add_finding(out: &mut String, finding: &Finding, number: usize) {
    let Finding { rule, title, gain, .. } = finding;
    *out += &format!("\n{number:>3}. {title} ({rule}; expected gain: {gain})\n");
    for VariableChange { variable, current, proposed } in &finding.changes {
        let current = if current.is_empty() { "(empty)" } else { current };
        *out += &format!("{INDENT}{variable}: {current} -> {proposed}\n");
    }
    let mut say = |name: &str, words: &str| wrap(out, name, words);
    say("seen", &finding.seen);
    say("why", finding.reason);
    say("source", finding.source);
    for risk in &finding.risks {
        let kind = match risk {
            Risk::Durability(_) => "LOSES",
            Risk::Memory(_) => "memory",
            Risk::Other(_) => "mind",
        };
        say(kind, risk.words());
    }
    if let Some(action) = &finding.action {
        say("do", action);
    }
    for statement in &finding.statements {
        say("now", statement);
    }
    if finding.restart_needed {
        say("restart", "needed: write the lines below into the option file");
    }
}

/// `name` and words, which go on below themselves.
fn wrap(out: &mut String, name: &str, words: &str) {
    let head = format!("{INDENT}{name:<8}");
    let mut line = head.clone();
    for word in words.split_whitespace() {
        if line.len() + 1 + word.len() > COLUMNS && line.len() > head.len() {
            *out += &format!("{}\n", line.trim_end());
            line = " ".repeat(head.len());
        }
        line.push_str(word);
        line.push(' ');
    }
    *out += &format!("{}\n", line.trim_end());
}

const NOT_KNOWN: &str = "no gain is known";

/// Each proposal with what it gave, all that was kept together, and the lines for the option file.
fn proof_text(proof: &AdviceProof, version: &str) -> String {
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
        add_proven(&mut out, of);
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

fn add_proven(out: &mut String, of: &ProvenFinding) {
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
    use super::proof_text;
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
        let said = proof_text(&proof, "5.7.22");
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
