//! `mydyno device`.

mod probe;
mod verify;

use super::show;
use crate::arguments::device::{DeviceArguments, DeviceCommand};
use crate::failure::{Failure, Outcome};
use base::{Exit, document};
use device::{Profile, builtins};
use serde::Serialize;

/// Runs the command.
pub fn run(arguments: &DeviceArguments) -> Outcome {
    match &arguments.command {
        DeviceCommand::List { json } => list(*json),
        DeviceCommand::Show { profile, json } => show_profile(profile, *json),
        DeviceCommand::Verify(verify) => verify::run(verify),
        DeviceCommand::Probe(probe) => probe::run(probe),
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
    if profile.array.is_some() {
        "array"
    } else if profile.disk.is_some() {
        "disk"
    } else {
        "solid_state"
    }
}

fn list(json: bool) -> Outcome {
    let devices = builtins().into_iter().map(DeviceDocument::of).collect();
    let found = DevicesDocument { devices };
    show(json, 1, &found, || listed(&found.devices))
}

fn listed(devices: &[DeviceDocument]) -> String {
    let mut out = format!(
        "{:<20}{:>10}{:>11}{:>10}{:>11}{:>9}{:>9}{:>7}  title\n",
        "device",
        "read IOPS",
        "write IOPS",
        "read MB/s",
        "write MB/s",
        "read us",
        "flush us",
        "USD"
    );
    for device in devices {
        let sheet = &device.sheet;
        let whole = |value: Option<f64>| value.map_or("-".to_owned(), |v| format!("{v:.0}"));
        out += &format!(
            "{:<20}{:>10}{:>11}{:>10}{:>11}{:>9}{:>9}{:>7}  {}\n",
            device.name,
            whole(sheet.random_read_iops),
            whole(sheet.random_write_iops),
            whole(sheet.sequential_read_mb_per_s),
            whole(sheet.sequential_write_mb_per_s),
            whole(sheet.read_latency_us),
            whole(sheet.flush_latency_us),
            whole(device.price_usd),
            device.title
        );
    }
    out
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

/// The text of a profile's file.
fn profile_text(profile: &Profile) -> Result<String, Failure> {
    toml::to_string(profile).map_err(|error| {
        Failure::new(Exit::Failed, format!("the profile has no TOML form: {error}"))
    })
}
