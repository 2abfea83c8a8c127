//! The command line of `mydyno advise`.

use super::measuring::MeasuringArguments;
use super::results::ResultsArguments;
use super::values::duration;
use clap::Args;
use device::Profile;
use plan::{Given, MeanPrecision};
use std::time::Duration;
use tune::JudgeLimits;

#[derive(Args)]
pub struct AdviseArguments {
    /// Measure each proposal beside all others, with it and without it; keep what helps, and
    /// measure all that was kept against the start
    #[arg(long)]
    pub prove: bool,
    /// With --prove: allow changing variables of the target server and running TPC-C on it; only
    /// dynamic variables are tried, and all are restored
    #[arg(long, requires = "prove", conflicts_with_all = ["engine", "server_binary"])]
    pub allow_changes: bool,
    /// With --prove: smallest gain that is worth a proposal
    #[arg(long, value_name = "SHARE", default_value = "2%", requires = "prove")]
    pub gain_min: Given<MeanPrecision>,
    /// With --prove: give up on a proposal that is still undecided after N pairs of windows
    #[arg(
        long, value_name = "N", default_value_t = JudgeLimits::default().pairs_max as u32,
        requires = "prove", value_parser = clap::value_parser!(u32).range(3..=1000)
    )]
    pub pairs: u32,
    /// Time for which the status of a server that is there is observed; its load should be the
    /// usual one. A private server is driven instead, as by `mydyno run`
    #[arg(
        long, value_name = "TIME", default_value = "30s", value_parser = duration,
        conflicts_with_all = ["engine", "server_binary", "allow_changes"]
    )]
    pub observe: Duration,
    /// Profile of the device that holds the data (a name of `mydyno device list`, or a file of
    /// `mydyno device probe`) [default: what mydyno emulates for it, or what the kernel tells]
    #[arg(
        long, value_name = "PROFILE", value_parser = storage::profile,
        conflicts_with_all = ["engine", "server_binary"]
    )]
    pub device: Option<Profile>,
    /// Results file: where the last run against this server says where its time goes, and where a
    /// private server's runs are stored
    #[command(flatten)]
    pub results: ResultsArguments,
    /// Print one JSON document on stdout
    #[arg(long)]
    pub json: bool,
    // Last, as their sections of the help are.
    #[command(flatten)]
    pub measuring: MeasuringArguments,
}
