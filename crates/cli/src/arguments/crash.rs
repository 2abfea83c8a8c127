//! The command line of `mydyno crash`.

use super::measuring::MeasuringArguments;
use super::results::ResultsArguments;
use clap::Args;
use plan::CrashOptions;
use std::path::PathBuf;

#[derive(Args)]
pub struct CrashArguments {
    /// Number of drills, each on a server of its own
    #[arg(
        long, value_name = "N", default_value_t = 10,
        value_parser = clap::value_parser!(u32).range(1..=10_000)
    )]
    pub drills: u32,
    /// Say how long each part of a measurement took: copying, starting, driving, checking, ending
    #[arg(short, long)]
    pub verbose: bool,
    /// Report to write, an HTML page
    #[arg(short, long, value_name = "FILE", default_value = "report.html")]
    pub output: PathBuf,
    #[command(flatten)]
    pub results: ResultsArguments,
    /// Print one JSON document on stdout
    #[arg(long)]
    pub json: bool,
    // Last, as their sections of the help are.
    #[command(flatten)]
    pub measuring: MeasuringArguments,
    #[command(flatten)]
    pub crash: CrashOptions,
}
