//! The command line of `mydyno device`.

use super::values::duration;
use base::{Dilation, parse_share};
use clap::{Args, Subcommand};
use spec::parse_dilation;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Args)]
pub struct DeviceArguments {
    #[command(subcommand)]
    pub command: DeviceCommand,
}

#[derive(Subcommand)]
pub enum DeviceCommand {
    /// List the devices that can be emulated, with the figures of their data sheets
    List {
        /// Print one JSON document on stdout
        #[arg(long)]
        json: bool,
    },
    /// Print a profile with the source of each figure, as a file to start your own from
    Show {
        /// Name of `device list`, or a file that ends in .toml
        profile: String,
        /// Print one JSON document on stdout
        #[arg(long)]
        json: bool,
    },
    /// Measure emulated devices with fio and compare them with their data sheets
    Verify(DeviceVerifyArguments),
    /// Measure the storage of a directory with fio and make a profile of it
    Probe(DeviceProbeArguments),
    /// Fit a profile to a log of `iostat -x 1`, where fio cannot run
    Fit(DeviceFitArguments),
}

#[derive(Args)]
pub struct DeviceVerifyArguments {
    /// Names of `device list`, or files that end in .toml
    #[arg(required_unless_present = "all", value_name = "PROFILE")]
    pub profiles: Vec<String>,
    /// Verify every device of `device list`
    #[arg(long, conflicts_with = "profiles")]
    pub all: bool,
    /// Directory of fio's file [default: memory where it has room, else mydyno's own directory]
    #[arg(long, value_name = "DIRECTORY")]
    pub directory: Option<PathBuf>,
    /// Measured time of each figure, in seconds
    #[arg(long, default_value = "5", value_parser = job_duration)]
    pub seconds: Duration,
    /// Run fio's clock and the device K times slower than real ones, 1/32 to 100 (faster below 1),
    /// so that a small host is fast enough for the device; --seconds are those of that clock
    #[arg(long, value_name = "K", default_value = "1", value_parser = parse_dilation)]
    pub dilate: Dilation,
    /// Share of each device that holds live data, as 5%; flash then takes random writes faster, and
    /// what its sheet says of an arm is left out
    #[arg(long, value_name = "SHARE", value_parser = used_share)]
    pub used: Option<f64>,
    /// Print one JSON document on stdout
    #[arg(long)]
    pub json: bool,
}

fn used_share(text: &str) -> Result<f64, String> {
    let share = parse_share(text).filter(|share| device::is_occupancy(*share));
    share.ok_or_else(|| "give a share from 0.1% to 100%, as 5%".to_owned())
}

#[derive(Args)]
pub struct DeviceProbeArguments {
    /// Directory on the storage to measure; a file of up to 1 GiB is made there and removed
    pub directory: PathBuf,
    /// File of the profile; ends in .toml and must not exist yet [default: print it]
    #[arg(long, value_name = "FILE")]
    pub profile: Option<PathBuf>,
    /// Measured time of each of about ten jobs, in seconds
    #[arg(long, default_value = "5", value_parser = job_duration)]
    pub seconds: Duration,
    /// Print one JSON document on stdout
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct DeviceFitArguments {
    /// Log of `LC_ALL=C iostat -x 1`; the longer and the more varied its load, the better
    pub log: PathBuf,
    /// Device of the log, as sda [default: the one that has reads or writes]
    #[arg(long, value_name = "NAME")]
    pub device: Option<String>,
    /// File of the profile; ends in .toml and must not exist yet [default: print it]
    #[arg(short = 'o', long, value_name = "FILE")]
    pub profile: Option<PathBuf>,
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
