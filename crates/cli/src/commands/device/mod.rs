//! `mydyno device`.

mod fit;
mod probe;
mod profile_file;
mod verify;

use super::show;
use crate::failure::Outcome;
use crate::text::format::or_dash;
use analyse::Table;
use base::document;
use clap::{Args, Subcommand};
use device::{Profile, builtins};
use profile_file::profile_text;
use serde::Serialize;

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
    Verify(verify::DeviceVerifyArguments),
    /// Measure the storage of a directory with fio and make a profile of it
    Probe(probe::DeviceProbeArguments),
    /// Fit a profile to a log of `iostat -x 1`, where fio cannot run
    Fit(fit::DeviceFitArguments),
}

/// Runs the command.
pub fn run(arguments: &DeviceArguments) -> Outcome {
    match &arguments.command {
        DeviceCommand::List { json } => list(*json),
        DeviceCommand::Show { profile, json } => show_profile(profile, *json),
        DeviceCommand::Verify(verify) => verify::run(verify),
        DeviceCommand::Probe(probe) => probe::run(probe),
        DeviceCommand::Fit(fit) => fit::run(fit),
    }
}

#[derive(Serialize)]
struct DevicesDocument {
    devices: Vec<DeviceDocument>,
}

document! {
    /// A profile for programs.
    struct DeviceDocument from (profile: Profile);
    let kind = match (&profile.array, &profile.disk) {
        (Some(_), _) => "array",
        (None, Some(_)) => "disk",
        (None, None) => "solid_state",
    };
    {
        name: String = profile.name,
        title: String = profile.title,
        kind: &'static str = kind,
        capacity_bytes: u64 = profile.capacity_bytes,
        price_usd: Option<f64> = profile.price_usd,
        sheet: device::Sheet = profile.sheet,
    }
}

fn list(json: bool) -> Outcome {
    let devices = builtins().into_iter().map(DeviceDocument::of).collect();
    let found = DevicesDocument { devices };
    let whole = |value: Option<f64>| or_dash(value, |value| format!("{value:.0}"));
    let table = Table::of(&found.devices)
        .words("device", |device| device.name.clone())
        .numbers("read IOPS", |device| whole(device.sheet.random_read_iops))
        .numbers("write IOPS", |device| whole(device.sheet.random_write_iops))
        .numbers("read MB/s", |device| whole(device.sheet.sequential_read_mb_per_s))
        .numbers("write MB/s", |device| whole(device.sheet.sequential_write_mb_per_s))
        .numbers("read us", |device| whole(device.sheet.read_latency_us))
        .numbers("flush us", |device| whole(device.sheet.flush_latency_us))
        .numbers("USD", |device| whole(device.price_usd))
        .words("title", |device| device.title.clone());
    show(json, 1, &found, || table.text())
}

#[derive(Serialize)]
struct ProfileDocument {
    /// With the keys of a profile file.
    profile: Profile,
}

fn show_profile(name: &str, json: bool) -> Outcome {
    let profile = storage::profile(name)?;
    let text = profile_text(&profile)?;
    show(json, 1, &ProfileDocument { profile }, || text)
}
