//! The command line of `mydyno device`.

use super::values::duration;
use clap::{Args, Subcommand};
use std::path::PathBuf;
use std::time::Duration;

#[derive(Args)]
pub struct DeviceArguments {
    #[command(subcommand)]
    pub command: DeviceCommand,
}

#[derive(Subcommand)]
pub enum DeviceCommand {
    /// Devices that can be emulated, with what their sheets promise
    List {
        /// Print one JSON document on stdout
        #[arg(long)]
        json: bool,
    },
    /// A profile with the source of each figure, as a file to start one's own from
    Show {
        /// A name of `device list`, or a file that ends in .toml
        profile: String,
        /// Print one JSON document on stdout
        #[arg(long)]
        json: bool,
    },
    /// Measure emulated devices with fio, and compare with their sheets
    Verify(DeviceVerifyArguments),
    /// Measure the storage of a directory with fio, and make a profile of it
    Probe(DeviceProbeArguments),
}

#[derive(Args)]
pub struct DeviceVerifyArguments {
    /// Names of `device list`, or files that end in .toml
    #[arg(required_unless_present = "all", value_name = "PROFILE")]
    pub profiles: Vec<String>,
    /// Every device of `device list`
    #[arg(long, conflicts_with = "profiles")]
    pub all: bool,
    /// Where fio's file goes [default: memory where it has room, else mydyno's own directory]
    #[arg(long, value_name = "DIRECTORY")]
    pub directory: Option<PathBuf>,
    /// Measured time of each figure
    #[arg(long, default_value = "5", value_parser = job_duration)]
    pub seconds: Duration,
    /// Print one JSON document on stdout
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct DeviceProbeArguments {
    /// A directory of the storage; a file of up to 1 GiB is made there, and removed
    pub directory: PathBuf,
    /// The profile's file, which ends in .toml; must not exist yet [default: print it]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Measured time of each of about ten jobs
    #[arg(long, default_value = "5", value_parser = job_duration)]
    pub seconds: Duration,
    /// Print one JSON document on stdout
    #[arg(long)]
    pub json: bool,
}

/// Of a job of fio: shorter ones measure its start.
fn job_duration(text: &str) -> Result<Duration, String> {
    const SHORTEST: Duration = Duration::from_secs(1);
    const LONGEST: Duration = Duration::from_secs(3600);
    match duration(text)? {
        fits if (SHORTEST..=LONGEST).contains(&fits) => Ok(fits),
        _ => Err("from 1 s to 1 h".to_owned()),
    }
}
