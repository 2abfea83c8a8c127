//! `mydyno advise`.

use super::{lab_options, show};
use crate::arguments::advise::AdviseArguments;
use crate::console::{Console, stop_flag};
use crate::failure::{Failure, Outcome};
use crate::text::{advice, proof};
use crate::views::{Live, LiveOptions};
use ::advise::{Finding, ServerSnapshot, advise};
use base::Exit;
use lab::{Job, Progress, SnapshotAsked, snapshot_of, start_server};
use plan::CellOptions;
use serde::Serialize;
use spec::{Cell, Rate, Server, WorkloadKind};
use std::sync::atomic::AtomicBool;
use store::Results;
use tune::{AdviceProof, JudgeLimits, Prover};

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

/// The JSON document of the command.
#[derive(Serialize)]
struct AdviceDocument {
    target: String,
    server_version: String,
    watched_s: f64,
    notes: Vec<String>,
    findings: Vec<Finding>,
    /// With `--prove`.
    #[serde(skip_serializing_if = "Option::is_none")]
    proof: Option<AdviceProof>,
}

/// What was found of a server.
struct Advised {
    target: String,
    snapshot: ServerSnapshot,
    findings: Vec<Finding>,
    proof: Option<AdviceProof>,
}

/// Runs the command.
pub fn run(arguments: &AdviseArguments) -> Outcome {
    let cell = arguments.measuring.cell(|_| ())?;
    if arguments.prove && is_paced(&cell) {
        return Err(Failure::new(Exit::Usage, PACED));
    }
    let stop = stop_flag();
    let mut live = Live::begin(LiveOptions { notes_once: true, ..LiveOptions::default() }, &stop)?;
    let is_private = cell.server.private().is_some();
    let advised = if is_private || arguments.allow_changes {
        looked_at(arguments, cell, &stop, &mut live)
    } else if arguments.prove {
        return Err(Failure::new(Exit::Usage, PROVE_WHERE));
    } else if says_how_to_drive(arguments) {
        return Err(Failure::new(Exit::Usage, UNDER_ITS_OWN_LOAD));
    } else {
        watched(arguments, &cell.server, &stop, &mut live.console)
    };
    live.finish();
    let Advised { target, snapshot, findings, proof } = advised?;
    let exit = match &proof {
        Some(proof) if proof.interrupted => Exit::Interrupted,
        Some(AdviceProof { ended_by: Some(_), .. }) => Exit::Failed,
        _ => Exit::Ok,
    };
    let found = AdviceDocument {
        target,
        server_version: snapshot.text("version").unwrap_or_default().to_owned(),
        watched_s: snapshot.watch.seconds,
        notes: live.console.notes.clone(),
        findings,
        proof,
    };
    let version = &found.server_version;
    show(arguments.json, 1, &found, || match &found.proof {
        Some(proof) => proof::text(proof, version),
        None => advice::text(&found.findings, version),
    })?;
    Ok(exit)
}

fn says_how_to_drive(arguments: &AdviseArguments) -> bool {
    let CellOptions { database, load, .. } = arguments.measuring.options.clone();
    !CellOptions { database, load, ..CellOptions::default() }.is_empty()
}

/// Does the load say how much is done, whatever the server could do?
fn is_paced(cell: &Cell) -> bool {
    let rate = cell.load.rate.map(|of| of.rate);
    cell.load.workload == WorkloadKind::TpccSpec || matches!(rate, Some(Rate::PerSecond(_)))
}

/// A server that is there, under its own load.
fn watched(
    arguments: &AdviseArguments,
    server: &Server,
    stop: &AtomicBool,
    console: &mut Console,
) -> Result<Advised, Failure> {
    let subject = start_server(server, &Job::new(stop, &mut |p| console.show(p)))?;
    let asked = SnapshotAsked {
        watch: arguments.observe,
        device: arguments.device.clone(),
        results: &arguments.results.results,
    };
    let snapshot = snapshot_of(&subject, asked, &Job::new(stop, &mut |p| console.show(p)))?;
    Ok(Advised { target: subject.dsn(), findings: advise(&snapshot), snapshot, proof: None })
}

/// A server under the load that is asked for, whose proposals may be proven.
fn looked_at(
    arguments: &AdviseArguments,
    cell: Cell,
    stop: &AtomicBool,
    live: &mut Live,
) -> Result<Advised, Failure> {
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
    let is_whole = |advised: &Advised| !advised.proof.as_ref().is_some_and(|of| of.interrupted);
    prover.finish(ended.as_ref().is_ok_and(is_whole))?;
    ended
}

fn look_and_prove(
    arguments: &AdviseArguments,
    results: &Results,
    prover: &mut Prover<'_>,
) -> Result<Advised, Failure> {
    let looked = prover.look(arguments.device.clone())?;
    let proof = if arguments.prove { Some(prover.prove(&looked)?) } else { None };
    let run = results.repeat(looked.run)?;
    let target = results.cell(run.cell)?.what.target;
    Ok(Advised { target, snapshot: looked.snapshot, findings: looked.findings, proof })
}
