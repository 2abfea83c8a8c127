//! One file per subcommand.

pub mod check;
pub mod compare;
pub mod demo;
pub mod device;
pub mod export;
mod images;
pub mod lab;
mod lab_run;
pub mod load;
mod measuring;
pub mod ramp;
pub mod report;
pub mod run;
mod run_request;
pub mod server;

use crate::console::{Console, print};
use crate::failure::Failure;
use ::lab::{Resolved, Subject};
use ::server::{Home, Target, TargetRequest};
use base::Exit;
use spec::{External, Private};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use store::{LabId, NewLab, Results, ThroughputMetric};

/// Prints a value as one JSON document.
fn print_json(value: &impl serde::Serialize) -> Result<(), Failure> {
    print(format_args!("{}\n", serde_json::to_string_pretty(value)?))
}

/// Prints a document that tells of throughput: its keys are those of the workload.
fn print_json_of(metric: ThroughputMetric, value: &impl serde::Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value)?;
    let mut out = String::with_capacity(text.len() + 1);
    for line in text.lines() {
        // A key is the first thing on its line.
        let (indent, rest) = line.split_at(line.len() - line.trim_start().len());
        let key = rest
            .strip_prefix('"')
            .and_then(|rest| rest.split_once("\":"));
        match key {
            Some((key, value)) => out += &format!("{indent}\"{}\":{value}\n", metric.key(key)),
            None => out += &format!("{line}\n"),
        }
    }
    print(out)
}

/// A server that is there.
fn external(server: &External, console: &mut Console) -> Result<Subject, Failure> {
    let request = TargetRequest::from_env(server.dsn.as_deref(), server.defaults_file.as_deref());
    let target = Target::resolve(&request)?;
    for note in &target.notes {
        console.show(::lab::Progress::Note(note));
    }
    Ok(Subject::of_target(Home::existing().as_ref(), &target)?.over_schemas(server.schemas))
}

/// Private servers for so many connections, on clones of the image that they need; it is made where
/// there is none.
fn start_private(
    home: &Home,
    private: &Private,
    connections: u32,
    stop: &AtomicBool,
    console: &mut Console,
) -> Result<(Subject, Option<store::Load>), Failure> {
    let resolved = Resolved::of(home, private, connections)?;
    let (image, load) = resolved.image(home, &[], stop, &mut |p| console.show(p))?;
    console.show(::lab::Progress::Step(&format!(
        "starting {} {} on a clone",
        resolved.build.engine, resolved.build.version
    )));
    let subject = resolved.start(home, image, stop)?;
    Ok((subject, load))
}

/// Begins a lab for one command.
fn begin_lab(results: &Results, name: &str, data: Option<&Path>) -> Result<LabId, Failure> {
    Ok(results.begin_lab(&new_lab(name, data))?)
}

/// A lab of this command on this host, whose servers keep their data at `data`.
fn new_lab(name: &str, data: Option<&Path>) -> NewLab {
    let arguments: Vec<String> = std::env::args_os()
        .map(|argument| argument.to_string_lossy().into_owned())
        .collect();
    NewLab {
        name: name.to_owned(),
        plan: None,
        command_line: store::command_line(&arguments),
        mydyno_version: env!("CARGO_PKG_VERSION").to_owned(),
        host_facts: observe::host_facts(data),
    }
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
