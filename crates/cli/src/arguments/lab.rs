//! The command line of `mydyno lab`.

use super::results::ResultsArguments;
use super::values::listen_address;
use clap::{Args, Subcommand};
use plan::{MetersOptions, Shard};
use std::net::SocketAddr;
use std::path::PathBuf;

#[derive(Args)]
pub struct LabArguments {
    #[command(subcommand)]
    pub command: LabCommand,
}

#[derive(Subcommand)]
pub enum LabCommand {
    /// Show the cells of a plan in the order of their execution, and the disk, memory and time that
    /// they need; start nothing
    Plan {
        /// Plan file (docs/plans.md has its keys, plans/ has examples)
        plan: PathBuf,
        /// Print one JSON document on stdout
        #[arg(long)]
        json: bool,
    },
    /// Run each cell of a plan for two seconds to see that every server starts with its settings;
    /// keep no numbers
    Check {
        /// Plan file
        plan: PathBuf,
        /// Print one JSON document on stdout
        #[arg(long)]
        json: bool,
    },
    /// Measure what the results file lacks of a plan. Ctrl-C ends the repeat; the next call
    /// continues
    Run(Box<LabRunArguments>),
    /// Show the results of a lab
    Status {
        /// Number of the lab [default: the last one]
        lab: Option<i64>,
        #[command(flatten)]
        results: ResultsArguments,
        /// Print one JSON document on stdout
        #[arg(long)]
        json: bool,
    },
}

#[derive(Args)]
pub struct LabRunArguments {
    /// Plan file
    pub plan: PathBuf,
    #[command(flatten)]
    pub results: ResultsArguments,
    /// Numbers of the cells to measure, as `mydyno lab plan` lists them, with commas [default: all]
    #[arg(long, value_name = "CELL", value_delimiter = ',')]
    pub only: Vec<u32>,
    /// Measure one of N parts of the lab, for a machine of its own: the repeats K, K + N, K + 2 N,
    /// ... of all cells, so that comparisons stay inside a machine; `mydyno merge` puts the results
    /// files together [default: all repeats]
    #[arg(long, value_name = "K/N")]
    pub shard: Option<Shard>,
    /// Measure repeats without a result again, too
    #[arg(long)]
    pub redo: bool,
    /// Say how long each part of a measurement took: copying, starting, driving, checking, ending
    #[arg(short, long)]
    pub verbose: bool,
    /// Show the repeats live: a dashboard on a terminal, else a line for each interval; the results
    /// follow
    #[arg(long, conflicts_with = "json")]
    pub watch: bool,
    /// Address at which Prometheus reads mydyno's own metrics of the current repeat; see `mydyno
    /// run --help`
    #[arg(long, value_name = "ADDRESS", value_parser = listen_address)]
    pub metrics_listen: Option<SocketAddr>,
    /// HTML report
    #[arg(short, long, value_name = "FILE", default_value = "report.html")]
    pub output: PathBuf,
    /// Print one JSON document on stdout
    #[arg(long)]
    pub json: bool,
    // Last, as its section of the help is.
    #[command(flatten)]
    pub meters: MetersOptions,
}
