//! The command line of `mydyno tune`.

use super::results::ResultsArguments;
use super::values::{duration, one_of};
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;
use tune::Objective;

#[derive(Args)]
pub struct TuneArguments {
    /// Plan file: its lists are what is searched, and their first values are the start
    pub plan: PathBuf,
    /// Real time that the search may take, the comparison with the start at its end included
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = duration)]
    pub budget: Duration,
    /// What is best: nopm (the highest throughput), p95 (the shortest 95th percentile of new
    /// orders; for plans with a `rate`) or nopm-per-usd (by the price of emulated devices)
    #[arg(
        long, default_value = Objective::Nopm.name(), hide_possible_values = true,
        value_parser = one_of(Objective::ALL, Objective::name)
    )]
    pub objective: Objective,
    /// Settings with a longer 95th percentile of new orders are worse than all others [default: no
    /// limit]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub p95_max: Option<Duration>,
    #[command(flatten)]
    pub results: ResultsArguments,
    /// HTML report
    #[arg(short, long, value_name = "FILE", default_value = "report.html")]
    pub output: PathBuf,
    /// Print one JSON document on stdout
    #[arg(long)]
    pub json: bool,
}
