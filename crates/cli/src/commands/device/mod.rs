//! `mydyno device`.

mod fit;
mod probe;
mod profile_file;
mod verify;

use super::show;
use crate::arguments::device::{DeviceArguments, DeviceCommand};
use crate::failure::Outcome;
use analyse::Table;
use base::document;
use device::{Profile, builtins};
use profile_file::profile_text;
use serde::Serialize;

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
    let kind = kind(&profile);
    {
        name: String = profile.name,
        title: String = profile.title,
        kind: &'static str = kind,
        capacity_bytes: u64 = profile.capacity_bytes,
        price_usd: Option<f64> = profile.price_usd,
        sheet: device::Sheet = profile.sheet,
    }
}

fn kind(profile: &Profile) -> &'static str {
    match (&profile.array, &profile.disk) {
        (Some(_), _) => "array",
        (None, Some(_)) => "disk",
        (None, None) => "solid_state",
    }
}

fn list(json: bool) -> Outcome {
    let devices = builtins().into_iter().map(DeviceDocument::of).collect();
    let found = DevicesDocument { devices };
    show(json, 1, &found, || listed(&found.devices))
}

fn listed(devices: &[DeviceDocument]) -> String {
    let whole = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.0}"));
    let table = Table::of(devices)
        .words("device", |device| device.name.clone())
        .numbers("read IOPS", |device| whole(device.sheet.random_read_iops))
        .numbers("write IOPS", |device| whole(device.sheet.random_write_iops))
        .numbers("read MB/s", |device| whole(device.sheet.sequential_read_mb_per_s))
        .numbers("write MB/s", |device| whole(device.sheet.sequential_write_mb_per_s))
        .numbers("read us", |device| whole(device.sheet.read_latency_us))
        .numbers("flush us", |device| whole(device.sheet.flush_latency_us))
        .numbers("USD", |device| whole(device.price_usd))
        .words("title", |device| device.title.clone());
    table.text()
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
