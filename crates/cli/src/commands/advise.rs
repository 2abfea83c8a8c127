//! `mydyno advise`.

use super::print_json;
use crate::arguments::advise::AdviseArguments;
use crate::console::{Console, print, stop_flag};
use crate::failure::Outcome;
use crate::text::advice;
use ::advise::{Finding, ServerSnapshot, advise};
use base::{Exit, Warehouses};
use lab::{SnapshotAsked, snapshot_of, start_server};
use serde::Serialize;
use spec::{PopulationSpec, Server};

/// The JSON document of the command.
#[derive(Serialize)]
struct AdviceDocument {
    schema_version: u32,
    target: String,
    server_version: String,
    watched_s: f64,
    notes: Vec<String>,
    findings: Vec<Finding>,
}

/// Runs the command.
pub fn run(arguments: &AdviseArguments) -> Outcome {
    arguments.preset.validate(&arguments.target)?;
    arguments.places.validate(&arguments.target)?;
    arguments.places.validate_page_cache()?;
    let stop = stop_flag();
    let mut console = Console::new()?;
    let population = PopulationSpec {
        warehouses: Warehouses(arguments.warehouses),
        ..PopulationSpec::default()
    };
    let mut server = arguments.target.server(population, None)?;
    if let Server::Private(private) = &mut server {
        private.preset = arguments.preset.asked();
        private.placement = arguments.places.placement();
    }
    let subject = start_server(&server, &stop, &mut |p| console.show(p))?;
    let asked = SnapshotAsked {
        watch: arguments.watch,
        device: arguments.device.clone(),
        results: &arguments.results.results,
    };
    let snapshot = snapshot_of(&subject, asked, &stop, &mut |p| console.show(p))?;
    console.done();
    let findings = advise(&snapshot);
    let version = snapshot.text("version").unwrap_or_default();
    if arguments.json {
        print_json(&document(subject.dsn(), &snapshot, &console.notes, findings))?;
    } else {
        print(format_args!("{}", advice::text(&findings, version)))?;
    }
    Ok(Exit::Ok)
}

fn document(
    target: String,
    snapshot: &ServerSnapshot,
    notes: &[String],
    findings: Vec<Finding>,
) -> AdviceDocument {
    AdviceDocument {
        schema_version: 1,
        target,
        server_version: snapshot.text("version").unwrap_or_default().to_owned(),
        watched_s: snapshot.watch.seconds,
        notes: notes.to_vec(),
        findings,
    }
}
