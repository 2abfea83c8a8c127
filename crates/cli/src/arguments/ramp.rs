//! The command line of `mydyno ramp`.

use super::fleet::FleetArguments;
use super::measuring::MeasuringArguments;
use super::results::ResultsArguments;
use clap::{Arg, Args};
use plan::RampOptions;
use std::path::PathBuf;

// A ramp finds what these options say: how many connections there are.
#[derive(Args)]
#[command(mut_args(without_fixed))]
pub struct RampArguments {
    /// Say how long each part of a measurement took: copying, starting, driving, checking, ending
    #[arg(short, long)]
    pub verbose: bool,
    /// HTML report
    #[arg(short, long, value_name = "FILE", default_value = "report.html")]
    pub output: PathBuf,
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
    #[command(flatten)]
    pub ramp: RampOptions,
}

/// Refused with its reason where it is given.
fn without_fixed(arg: Arg) -> Arg {
    let fixed = ["connections", "terminals", "rate", "arrivals", "inactive_warehouses"];
    let is_fixed = fixed.contains(&arg.get_id().as_str());
    if is_fixed { arg.hide(true) } else { arg }
}
