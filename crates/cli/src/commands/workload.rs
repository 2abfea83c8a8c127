//! `mydyno workload`.

use super::report::write_file;
use crate::console::{Console, print, stop_flag, tell};
use crate::failure::{Failure, Outcome};
use base::Exit;
use base::limits::TRANSACTION_TYPES_MAX;
use clap::{Args, Subcommand};
use lab::{DigestOptions, Job, external, workload_of_digests};
use spec::{External, Topology};
use std::path::PathBuf;

#[derive(Args)]
pub struct WorkloadArguments {
    #[command(subcommand)]
    pub command: WorkloadCommand,
}

#[derive(Subcommand)]
pub enum WorkloadCommand {
    /// Write a workload file with the statements of a server's digests in their mix
    ///
    /// Reads performance_schema of a server under its application's load, and writes a file for
    /// `--workload` of `mydyno load` and `mydyno run`: the most frequent statements of the schema,
    /// their values drawn from what its tables have, and tables like them. Changes nothing. Of rows
    /// only the smallest and largest integers of indexes are read, beside counts and lengths.
    FromDigests(FromDigestsArguments),
}

#[derive(Args)]
pub struct FromDigestsArguments {
    /// Server and schema: mysql://user[:password]@host:3306/shop, as for `mydyno run`
    #[arg(long)]
    pub dsn: Option<String>,
    /// MySQL option file with a [client] section, instead of ~/.my.cnf
    #[arg(long, value_name = "FILE", conflicts_with = "dsn")]
    pub defaults_file: Option<PathBuf>,
    /// The file to write [default: stdout]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Take values that statements had from their samples (QUERY_SAMPLE_TEXT of MySQL 8.0 and
    /// later): they are those of the application's users, and are written into the file
    #[arg(long)]
    pub samples: bool,
    /// Number of digests that are taken, the most frequent ones
    #[arg(
        long, value_name = "N", default_value_t = TRANSACTION_TYPES_MAX as u32,
        value_parser = clap::value_parser!(u32).range(1..=TRANSACTION_TYPES_MAX as i64)
    )]
    pub top: u32,
    /// Most rows that `mydyno load` makes of a table
    #[arg(
        long, value_name = "N", default_value_t = 1_000_000,
        value_parser = clap::value_parser!(u64).range(1..=1_000_000_000_000)
    )]
    pub rows_max: u64,
}

/// Runs the command.
pub fn run(arguments: &WorkloadArguments) -> Outcome {
    let WorkloadCommand::FromDigests(arguments) = &arguments.command;
    let stop = stop_flag();
    let server = External {
        dsns: arguments.dsn.iter().cloned().collect(),
        topology: Topology::Apart,
        defaults_file: arguments.defaults_file.clone(),
        schemas: None,
        set: Vec::new(),
    };
    let options = DigestOptions {
        top: arguments.top as usize,
        rows_max: arguments.rows_max,
        samples: arguments.samples,
    };
    let mut console = Console::new()?;
    let made = {
        let mut told = |progress: lab::Progress<'_>| console.show(progress);
        let job = Job::new(&stop, &mut told);
        let subject = external(&server, &job)?;
        workload_of_digests(&subject, options, &job).map_err(Failure::from)?
    };
    console.done();
    for line in made.told {
        tell(line);
    }
    match &arguments.output {
        Some(file) => write_file(file, &made.text)?,
        None => return print(made.text),
    }
    Ok(Exit::Ok)
}
