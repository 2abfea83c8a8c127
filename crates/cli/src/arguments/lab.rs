//! The command line of `mydyno lab`.

use super::target::ResultsArguments;
use super::values::{exporter, listen_address, shell_command};
use clap::{Args, Subcommand};
use std::net::SocketAddr;
use std::path::PathBuf;

#[derive(Args)]
pub struct LabArguments {
    #[command(subcommand)]
    pub command: LabCommand,
}

#[derive(Subcommand)]
pub enum LabCommand {
    /// Show what a plan comes to, and start nothing: its cells in the order of their execution, and the disk, memory and time
    /// that they need
    Plan {
        /// A plan file (docs/plans.md has its keys, plans/ has examples)
        plan: PathBuf,
        /// Print one JSON document on stdout
        #[arg(long)]
        json: bool,
    },
    /// Run each cell of a plan for two seconds and keep no numbers: does every server start with what is asked of it?
    Check {
        /// A plan file
        plan: PathBuf,
        /// Print one JSON document on stdout
        #[arg(long)]
        json: bool,
    },
    /// Measure what is missing of a plan in the results file. Ctrl-C ends the repeat; the next call goes on
    Run(Box<LabRunArguments>),
    /// Show what the results file has of a lab
    Status {
        /// The lab's number [default: the last one]
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
    /// A plan file
    pub plan: PathBuf,
    #[command(flatten)]
    pub results: ResultsArguments,
    /// Only cells with these numbers of `mydyno lab plan`
    #[arg(long, value_name = "CELL", value_delimiter = ',')]
    pub only: Vec<u32>,
    /// Measure repeats without a result again, too
    #[arg(long)]
    pub redo: bool,
    /// Read watts from a meter by a command for the shell; see `mydyno run --help`
    #[arg(long, value_name = "COMMAND", value_parser = shell_command)]
    pub power_command: Option<String>,
    /// Observe the machine of the servers through its Prometheus node_exporter; see `mydyno run --help`
    #[arg(long, value_name = "URL", value_parser = exporter)]
    pub host_metrics: Option<String>,
    /// Watch the repeats: a dashboard on a terminal, else a line for each interval; the results follow
    #[arg(long, conflicts_with = "json")]
    pub watch: bool,
    /// Answer Prometheus with mydyno's own metrics of the repeat that goes on; see `mydyno run --help`
    #[arg(long, value_name = "ADDRESS", value_parser = listen_address)]
    pub metrics_listen: Option<SocketAddr>,
    /// The report
    #[arg(short, long, value_name = "FILE", default_value = "report.html")]
    pub output: PathBuf,
    /// Print one JSON document on stdout
    #[arg(long)]
    pub json: bool,
}
