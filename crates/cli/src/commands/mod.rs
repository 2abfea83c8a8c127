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

use crate::arguments::TargetArguments;
use crate::console::{Console, print};
use crate::failure::Failure;
use crate::schema_arguments::SchemaArguments;
use ::lab::{PrivateSpec, Subject};
use ::server::{Home, Target, TargetRequest};
use base::{Exit, Warehouses};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use storage::Placement;
use store::{LabId, NewLab, Results};

/// The engine of a private server where only a binary is named.
const BINARY: &str = "server-binary";

/// Warehouses of a private server where none are named.
const PRIVATE_WAREHOUSES: u32 = 10;

/// Prints a value as one JSON document.
fn print_json(value: &impl serde::Serialize) -> Result<(), Failure> {
    print(format_args!("{}\n", serde_json::to_string_pretty(value)?))
}

impl TargetArguments {
    /// A private server's image holds one schema.
    fn refuse_private_schemas(&self, schemas: Option<u32>) -> Result<(), Failure> {
        if schemas.is_none() || !self.is_private() {
            return Ok(());
        }
        Err(Failure::new(
            Exit::Usage,
            "--schemas is for servers that live on, and a private server has one schema; use `mydyno server start`, then \
             `mydyno load --schemas` and this command with --dsn",
        ))
    }

    /// The private server that is asked for, if one is.
    fn private(&self, warehouses: u32, seed: u64, schema: SchemaArguments) -> Option<PrivateSpec> {
        let engine = match (&self.engine, &self.server_binary) {
            (Some(engine), _) => engine.clone(),
            (None, Some(_)) => BINARY.to_owned(),
            (None, None) => return None,
        };
        Some(PrivateSpec {
            engine,
            binary: self.server_binary.clone(),
            preset: None,
            set: self.set.clone(),
            placement: Placement::default(),
            warehouses: Warehouses(warehouses),
            seed,
            foreign_keys: !schema.no_foreign_keys,
            partitions: schema.partitions,
            instances: 1,
        })
    }

    /// The server that DSN or option files name.
    fn external(&self, schemas: Option<u32>, console: &mut Console) -> Result<Subject, Failure> {
        if !self.set.is_empty() {
            return Err(Failure::new(
                Exit::Usage,
                "--set is for private servers; add --engine, or set the variable on the server",
            ));
        }
        let request = TargetRequest::from_env(self.dsn.as_deref(), self.defaults_file.as_deref());
        let target = Target::resolve(&request)?;
        for note in &target.notes {
            console.show(::lab::Progress::Note(note));
        }
        Ok(Subject::of_target(Home::existing().as_ref(), &target)?.over_schemas(schemas))
    }
}

/// A private server on a clone of the image that it needs; the image is made where there is none.
fn start_private(
    home: &Home,
    spec: &PrivateSpec,
    stop: &AtomicBool,
    console: &mut Console,
) -> Result<(Subject, Option<store::Load>), Failure> {
    let build = ::lab::build_of(home, spec)?;
    let (image, load) = ::lab::image_for(home, &build, spec, &[], stop, &mut |p| console.show(p))?;
    console.show(::lab::Progress::Step(&format!(
        "starting {} {} on a clone",
        build.engine, build.version
    )));
    let subject = ::lab::start_on(home, &build, image, spec, stop)?;
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
        let words = match (number, labs.last()) {
            (Some(number), Some(last)) => {
                format!("{file} has no lab {number}; its last one is {}", last.id)
            }
            _ => format!("{file} holds no lab yet; measure with `mydyno run` or `mydyno demo`"),
        };
        Failure::new(Exit::Usage, words)
    })
}
