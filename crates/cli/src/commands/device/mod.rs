//! `mydyno device`.

mod fit;
mod probe;
mod verify;

use super::show;
use crate::arguments::device::{DeviceArguments, DeviceCommand};
use crate::failure::{Failure, Outcome};
use crate::text::table::{AsText, Table};
use base::{DateTime, Exit, document};
use device::{Profile, builtins};
use serde::Serialize;
use std::io::Write;
use std::path::Path;

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

/// The text of a profile's file.
fn profile_text(profile: &Profile) -> Result<String, Failure> {
    toml::to_string(profile).map_err(|error| {
        Failure::new(Exit::Failed, format!("the profile has no TOML form: {error}"))
    })
}

/// A new profile's name: that of its file, or of what it is made from. Asked for before the work.
fn new_profile(output: Option<&Path>, of: &Path) -> Result<String, Failure> {
    let refused = |why| Err(Failure::new(Exit::Usage, why));
    let from_file = output.and_then(Path::file_stem).map(std::ffi::OsStr::to_owned);
    let text = from_file.unwrap_or_else(|| std::path::absolute(of).unwrap_or_default().into());
    let text = text.to_string_lossy().to_ascii_lowercase();
    let plain: String =
        text.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let plain = plain.trim_matches('-');
    match output {
        Some(file) if file.extension().is_none_or(|ending| ending != "toml") => {
            let why = "--profile names a profile, and a profile's file ends in .toml";
            refused(why.to_owned())
        }
        Some(file) if file.exists() => {
            let file = file.display();
            refused(format!("{file} is there already; remove it or name another file"))
        }
        _ if plain.is_empty() => Ok("probed".to_owned()),
        _ => Ok(plain.to_owned()),
    }
}

fn write_profile(output: &Path, text: &str) -> Result<(), Failure> {
    let file = std::fs::OpenOptions::new().write(true).create_new(true).open(output);
    file.and_then(|mut file| file.write_all(text.as_bytes())).map_err(|error| {
        Failure::new(Exit::Environment, format!("cannot write {}: {error}", output.display()))
    })
}

/// As in sources: `2026-11-21`.
fn today() -> String {
    let now = DateTime::now().to_string();
    now.split([' ', 'T']).next().unwrap_or_default().to_owned()
}
