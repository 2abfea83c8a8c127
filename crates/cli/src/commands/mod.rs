//! One file per subcommand.

pub mod advise;
pub mod check;
pub mod compare;
pub mod crash;
pub mod demo;
pub mod device;
pub mod export;
mod fleet_role;
mod images;
pub mod installation;
pub mod lab;
mod lab_run;
pub mod load;
mod measured;
pub mod merge;
pub mod ramp;
pub mod report;
pub mod run;
mod run_request;
mod run_verdict;
pub mod serve;
pub mod server;
#[cfg(test)]
mod tests;
pub mod tune;

use crate::console::print;
use crate::failure::{Failure, Outcome};
use crate::json;
use ::lab::LabRunOptions;
use base::Exit;
use serde::Serialize;
use store::{LabId, Results, ThroughputMetric};

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
        Failure::new(Exit::Usage, message)
    })
}
