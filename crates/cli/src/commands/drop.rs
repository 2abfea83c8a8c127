//! `mydyno drop`.

use super::show;
use crate::arguments::read_place;
use crate::console::{Console, stop_flag};
use crate::failure::{Failure, Outcome};
use clap::Args;
use lab::{DroppedDatabase, Job, drop_databases, external};
use plan::{CellOptions, TargetOptions};
use serde::Serialize;
use spec::{Server, WorkloadKind, defaults};

#[derive(Args)]
pub struct DropArguments {
    /// Workload of the database, as `--workload` of `mydyno load`; of FILE.toml the tables that its
    /// setup creates
    #[arg(long, default_value_t = defaults::WORKLOAD)]
    pub workload: WorkloadKind,
    /// Print one JSON document on stdout
    #[arg(long)]
    pub json: bool,
    // Last, as its section of the help is.
    #[command(flatten)]
    pub target: TargetOptions,
}

/// The JSON document of the command.
#[derive(Serialize)]
struct DropDocument {
    schemas: Vec<DroppedDatabase>,
}

/// Runs the command.
pub fn run(arguments: &DropArguments) -> Outcome {
    let stop = stop_flag();
    let options = CellOptions { target: arguments.target.clone(), ..CellOptions::default() };
    let Server::External(server) = options.target_alone(&read_place)? else {
        let why = "private servers have images instead of databases to drop; name a server by \
                   --dsn, or remove an image with `mydyno server images --remove`";
        return Err(Failure::usage(why));
    };
    let mut console = Console::new()?;
    let schemas = {
        let mut told = |progress: lab::Progress<'_>| console.show(progress);
        let job = Job::new(&stop, &mut told);
        let subject = external(&server, &job)?;
        drop_databases(&subject, &arguments.workload.database(), &job)?
    };
    console.done();
    let text = |of: &DroppedDatabase| match of.dropped.as_slice() {
        [] => format!("{}: nothing that mydyno made for {}\n", of.target, arguments.workload),
        dropped => format!("{}: dropped {}\n", of.target, dropped.join(", ")),
    };
    let document = DropDocument { schemas };
    show(arguments.json, 1, &document, || document.schemas.iter().map(text).collect())
}
