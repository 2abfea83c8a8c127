//! The command line of `mydyno run`.

use super::fleet::FleetArguments;
use super::measuring::MeasuringArguments;
use super::results::ResultsArguments;
use super::values::{listen_address, one_of};
use analyse::FailCondition;
use base::named;
use clap::Args;
use std::net::SocketAddr;
use std::path::PathBuf;

#[derive(Args)]
pub struct RunArguments {
    /// Condition under which the run counts as failed (exit code 7): a figure of it, a comparison
    /// (<, <=, > or >=) and a number, such as 'p95_ms>50' or 'nopm<10000'; docs/json.md lists the
    /// figures. May be given again
    #[arg(long, value_name = "CONDITION", value_parser = FailCondition::parse)]
    pub fail_if: Vec<FailCondition>,
    /// File to write as JUnit XML, for pipelines: the run, each check and each condition of
    /// --fail-if is a test
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// Output format: words (a summary for people) or tpcc-mysql (what tpcc_start prints, live, for
    /// scripts that read it)
    #[arg(
        long, default_value = "words", conflicts_with = "json",
        value_parser = one_of(Format::ALL, Format::name)
    )]
    pub format: Format,
    /// Say how long each part of a measurement took: copying, starting, driving, checking, ending
    #[arg(short, long)]
    pub verbose: bool,
    /// Show the run live: a dashboard on a terminal, else a line for each interval; the summary
    /// follows
    #[arg(long, conflicts_with = "json")]
    pub watch: bool,
    /// Address at which Prometheus reads mydyno's own metrics during the run:
    /// http://ADDRESS/metrics; 127.0.0.1:9187 is for this machine only
    #[arg(long, value_name = "ADDRESS", value_parser = listen_address)]
    pub metrics_listen: Option<SocketAddr>,
    #[command(flatten)]
    pub results: ResultsArguments,
    /// Print one JSON document on stdout
    #[arg(long)]
    pub json: bool,
    // Last, as their sections of the help are.
    #[command(flatten)]
    pub fleet: FleetArguments,
    #[command(flatten)]
    pub measuring: MeasuringArguments,
}

named! {
    /// How `mydyno run` prints.
    pub enum Format {
        Words = "words",
        TpccMysql = "tpcc-mysql",
    }
}
