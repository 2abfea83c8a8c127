//! `mydyno advise`.

use super::{lab_options, show};
use crate::arguments::{MeasuringArguments, ResultsArguments, duration};
use crate::console::{Console, stop_flag};
use crate::failure::{Failure, Outcome};
use crate::text::{advice, proof};
use crate::views::{Live, LiveOptions};
use ::advise::{Finding, ServerSnapshot, advise};
use base::{Exit, document};
use clap::Args;
use device::Profile;
use lab::{Job, Progress, SnapshotAsked, snapshot_of, start_server};
use plan::{CellOptions, Given, MeanPrecision};
use spec::{Cell, Rate, Server, WorkloadKind};
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use store::Results;
use tune::{AdviceProof, JudgeLimits, Prover};

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
