//! Runs on several devices side by side, as text for people.

use super::format::{optional, percent};
use super::table::{AsText, Table};
use std::fmt::Write;
use store::Summary;

/// A line for each device with its throughput by connections, and how the extremes compare. Empty
/// where there is one device.
pub fn comparison(runs: &[&Summary]) -> String {
    let mut devices: Vec<&str> = Vec::new();
    let mut loads: Vec<u32> = Vec::new();
    for run in runs {
        if let Some(device) = device(run)
            && !devices.contains(&device)
        {
            devices.push(device);
        }
        if !loads.contains(&run.connections) {
            loads.push(run.connections);
        }
    }
    if devices.len() < 2 {
        return String::new();
    }
    loads.sort_unstable();
    let find = |name: &str, load: u32| {
        let same = |run: &&Summary| device(run) == Some(name) && run.connections == load;
        runs.iter().copied().find(same)
    };
    // Slowest first, by its best.
    let best = |name: &str| {
        let nopm = |load: &u32| find(name, *load).and_then(|run| run.rates.nopm);
        loads.iter().filter_map(nopm).fold(0.0, f64::max)
    };
    devices.sort_by(|a, b| best(a).total_cmp(&best(b)));
    let mut table = Table::of(&devices).words("NOPM on", |name| (*name).to_string());
    for load in &loads {
        table = table.numbers(&format!("{load} connections"), |name| {
            let nopm = find(name, *load).and_then(|run| run.rates.nopm);
            optional(nopm.map(f64::trunc), 0)
        });
    }
    let mut out = table.numbers("fidelity", |name| fidelity(runs, name)).text();
    // Writing to a string cannot fail.
    // The same two devices at each load.
    let (Some(slow), Some(fast)) = (devices.first(), devices.last()) else {
        return out;
    };
    for load in &loads {
        let nopm = |name: &str| find(name, *load).and_then(|run| run.rates.nopm);
        if let (Some(most), Some(least)) = (nopm(fast), nopm(slow))
            && least > 0.0
        {
            let _ = writeln!(
                out,
                "at {load} connections {fast} gave {:.1} times the new orders of {slow} (one run \
                 of each)",
                most / least
            );
        }
    }
    out
}

/// Of data.
fn device(run: &Summary) -> Option<&str> {
    let data = run.devices.iter().find(|device| device.role == "data");
    data.map(|data| data.device.as_str())
}

/// The worst of the device's runs.
fn fidelity(runs: &[&Summary], name: &str) -> String {
    let of_device = runs.iter().filter(|run| device(run) == Some(name));
    let worst = of_device.filter_map(|run| run.fidelity).min_by(f64::total_cmp);
    worst.map_or_else(|| "NA".to_owned(), |share| percent(share, 2))
}
