//! One file per subcommand, and here what several of them do alike.

pub mod advise;
pub mod check;
pub mod compare;
pub mod crash;
pub mod demo;
pub mod device;
pub mod drop;
pub mod export;
mod images;
pub mod installation;
pub mod lab;
pub mod load;
pub mod merge;
pub mod ramp;
pub mod report;
pub mod run;
pub mod serve;
pub mod server;
#[cfg(test)]
mod tests;
pub mod tune;
pub mod workload;

use crate::arguments::FleetArguments;
use crate::console::{Console, print};
use crate::failure::{Failure, Outcome};
use crate::json;
use crate::views::Live;
use ::lab::{FleetWork, Job, LabError, LabRun, LabRunOptions, LabRunSummary, Planned, Progress};
use base::Exit;
use fleet::Leader;
use serde::Serialize;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use store::{LabId, RepeatId, Results, ThroughputMetric};

/// A JSON document with the version of its keys.
#[derive(Serialize)]
struct Versioned<T> {
    schema_version: u32,
    #[serde(flatten)]
    value: T,
}

/// Prints what a command has found: as its JSON document with `json`, else as text for people.
fn show(
    json: bool,
    schema_version: u32,
    value: &impl Serialize,
    text: impl FnOnce() -> String,
) -> Outcome {
    // The keys of TPC-C are those that the document has.
    show_of(ThroughputMetric::Nopm, json, &Versioned { schema_version, value }, text)
}

/// The same with a document that has its version, and keys that depend on the workload. It is
/// printed once the command is over.
fn show_of(
    metric: ThroughputMetric,
    json: bool,
    value: &impl Serialize,
    text: impl FnOnce() -> String,
) -> Outcome {
    if !json {
        return print(text());
    }
    let document = serde_json::to_string_pretty(value)?;
    let mut out = String::with_capacity(document.len() + 1);
    for line in document.lines() {
        // A key is the first thing on its line.
        let (indent, rest) = line.split_at(line.len() - line.trim_start().len());
        let key = rest.strip_prefix('"').and_then(|rest| rest.split_once("\":"));
        match key {
            Some((key, value)) => out += &format!("{indent}\"{}\":{value}\n", metric.key(key)),
            None => out += &format!("{line}\n"),
        }
    }
    json::hold(out);
    Ok(Exit::Ok)
}

/// What this command measures, all of it.
fn lab_options() -> LabRunOptions {
    let arguments: Vec<String> =
        std::env::args_os().map(|argument| argument.to_string_lossy().into_owned()).collect();
    LabRunOptions { command_line: store::command_line(&arguments), ..LabRunOptions::default() }
}

/// The lab of that number, or the last one of the file.
fn lab_or_last(results: &Results, number: Option<i64>) -> Result<LabId, Failure> {
    let labs = results.labs()?;
    let found = match number {
        Some(number) => labs.iter().find(|lab| lab.id.0 == number),
        None => labs.last(),
    };
    found.map(|lab| lab.id).ok_or_else(|| {
        let file = results.path().display();
        let message = match (number, labs.last()) {
            (Some(number), Some(last)) => {
                format!("{file} has no lab {number}; its last one is {}", last.id)
            }
            _ => format!("{file} holds no lab yet; measure with `mydyno run` or `mydyno demo`"),
        };
        Failure::usage(message)
    })
}

/// What came of a lab.
struct Measured {
    /// `None` where it never began.
    lab: Option<LabId>,
    /// That were measured now.
    repeats: Vec<RepeatId>,
    ended: Result<LabRunSummary, LabError>,
}

/// Measures what is planned; of what it tells, nothing else is shown where `is_shown` says that.
fn measure(
    (results, planned): (&Results, Planned),
    options: &LabRunOptions,
    live: &mut Live,
    is_shown: &mut dyn FnMut(&Progress<'_>, &mut Live) -> bool,
) -> Measured {
    let (mut repeats, stop) = (Vec::new(), Arc::clone(&live.stop));
    let mut told = |progress: Progress<'_>| {
        if let Progress::TurnEnds(repeat) = progress {
            repeats.push(repeat);
        }
        if live.take(&progress) && !is_shown(&progress, live) {
            live.show(progress);
        }
    };
    let run = LabRun::new(results, planned, options);
    let ended = run.run(&Job::new(&stop, &mut told));
    live.finish();
    Measured { lab: run.begun(), repeats, ended }
}

/// Runs `command` alone where no fleet is asked for, together with the other ranks as rank 0, and
/// else does what rank 0 wants until that ends.
fn as_rank(
    arguments: &FleetArguments,
    (name, work): (&'static str, &FleetWork<'_>),
    stop: &AtomicBool,
    command: impl FnOnce(Option<Arc<Leader>>) -> Outcome,
) -> Outcome {
    let Some(asked) = arguments.asked(name)? else { return command(None) };
    let mut console = Console::new()?;
    let mut show = |progress: Progress<'_>| console.show(progress);
    let job = Job::new(stop, &mut show);
    if asked.place.rank > 0 {
        json::leave_to_rank_zero();
        return Ok(asked.follow(work, &job)?);
    }
    let leader = Arc::new(asked.lead(work, &job)?);
    console.done();
    let ended = command(Some(Arc::clone(&leader)));
    let exit = ended.as_ref().map_or_else(|failure| failure.exit, |exit| *exit);
    leader.end(exit.code());
    ended
}
