//! The command line of `mydyno advise`.

use super::place::PlaceArguments;
use super::preset::PresetArguments;
use super::target::{ResultsArguments, TargetArguments};
use super::values::{duration, warehouses};
use clap::Args;
use device::Profile;
use spec::defaults;
use std::time::Duration;

#[derive(Args)]
pub struct AdviseArguments {
    #[command(flatten)]
    pub target: TargetArguments,
    #[command(flatten)]
    pub preset: PresetArguments,
    #[command(flatten)]
    pub places: PlaceArguments,
    /// Number of warehouses of the private server's image
    #[arg(short, long, default_value_t = defaults::WAREHOUSES.0, value_parser = warehouses(), conflicts_with_all = ["dsn", "defaults_file"])]
    pub warehouses: u32,
    /// Time for which the server's status is watched; its load should be the usual one
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = duration)]
    pub watch: Duration,
    /// Profile of the device that holds the data (a name of `mydyno device list`, or a file of
    /// `mydyno device probe`) [default: what mydyno emulates for it, or what the kernel tells]
    #[arg(long, value_name = "PROFILE", value_parser = storage::profile)]
    pub device: Option<Profile>,
    /// Results file, where the last run against this server says where its time goes
    #[command(flatten)]
    pub results: ResultsArguments,
    /// Print one JSON document on stdout
    #[arg(long)]
    pub json: bool,
}
