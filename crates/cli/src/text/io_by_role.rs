//! What a run asked of its storage, as text for people.

use super::format::{ms, optional, percent};
use std::fmt::Write;
use store::{DeviceSummary, RequestSummary, Summary};

/// Devices by role, with how true they were where they are emulated; nothing where nothing was
/// placed or counted.
pub fn io_by_role(out: &mut String, summary: &Summary) {
    if summary.devices.is_empty() {
        return;
    }
    let counted = |device: &&DeviceSummary| requests(device) > 0;
    out.push('\n');
    if summary.devices.iter().any(|device| counted(&device)) {
        // Writing to a string cannot fail.
        let _ = writeln!(
            out,
            "{:<12}{:<16}{:>8}{:>8}{:>8}{:>9}{:>8}{:>8}{:>9}{:>8}{:>7}{:>7}{:>10}",
            "storage",
            "device",
            "reads/s",
            "MB/s",
            "p95 ms",
            "writes/s",
            "MB/s",
            "p95 ms",
            "flush/s",
            "p95 ms",
            "queue",
            "busy",
            "fidelity"
        );
    }
    for device in summary.devices.iter().filter(counted) {
        line(out, device);
    }
    backing(out, summary);
    if let (Some(fidelity), Some(overruns)) = (summary.fidelity, summary.overrun_share) {
        let _ = writeln!(
            out,
            "fidelity of the emulation: {} of requests completed within 2 % or 20 us of their due \
             time, on average late by {} of the device's response time; for {} the host was slower \
             than the device",
            percent(fidelity, 2),
            percent(summary.lateness_share.unwrap_or(0.0), 1),
            percent(overruns, 2)
        );
    }
}

fn requests(device: &DeviceSummary) -> u64 {
    let kinds = [&device.read, &device.write, &device.flush];
    kinds.into_iter().flatten().map(|kind| kind.requests).sum()
}

fn line(out: &mut String, device: &DeviceSummary) {
    let of = |kind: &Option<RequestSummary>, number: fn(&RequestSummary) -> Option<f64>| {
        kind.as_ref().and_then(number)
    };
    let known = |share: Option<f64>, decimals: usize| {
        share.map_or_else(|| "-".to_owned(), |share| percent(share, decimals))
    };
    let p95 = |kind: &Option<RequestSummary>| match of(kind, |kind| kind.response_p95_us) {
        None => "-".to_owned(),
        some => ms(some),
    };
    let _ = writeln!(
        out,
        "{:<12}{:<16}{:>8}{:>8}{:>8}{:>9}{:>8}{:>8}{:>9}{:>8}{:>7}{:>7}{:>10}",
        device.role,
        device.device,
        optional(of(&device.read, |kind| kind.per_s), 0),
        optional(of(&device.read, |kind| kind.mb_per_s), 1),
        p95(&device.read),
        optional(of(&device.write, |kind| kind.per_s), 0),
        optional(of(&device.write, |kind| kind.mb_per_s), 1),
        p95(&device.write),
        optional(of(&device.flush, |kind| kind.per_s), 0),
        p95(&device.flush),
        optional(device.queue_depth_mean, 1),
        known(device.busy_share, 0),
        known(device.fidelity, 2)
    );
}

/// Where bytes really are: each place once, with its roles where they differ.
fn backing(out: &mut String, summary: &Summary) {
    let mut places: Vec<(String, Vec<&str>)> = Vec::new();
    for device in &summary.devices {
        let place = if device.emulated {
            format!("{} (emulated), its bytes in {}", device.device, device.backing)
        } else {
            device.device.clone()
        };
        match places.iter_mut().find(|(known, _)| *known == place) {
            Some((_, roles)) => roles.push(&device.role),
            None => places.push((place, vec![&device.role])),
        }
    }
    let one = places.len() == 1;
    for (place, roles) in places {
        let what = if one { "all files".to_owned() } else { roles.join(", ") };
        let _ = writeln!(out, "{what} on {place}");
    }
}
