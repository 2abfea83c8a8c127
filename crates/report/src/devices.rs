//! Storage: what a repeat asked of its devices by role, and response times of devices side by side.

use crate::format::{integer, or_na, percent, significant};
use crate::model::RepeatView;
use base::counted;
use itertools::Itertools;
use maud::{Markup, html};
use store::{DeviceSummary, RequestSummary, ShimSummary};

/// What a repeat asked of its storage; nothing where nobody counted.
pub fn devices_section(repeat: &RepeatView) -> Markup {
    let counted: Vec<&DeviceSummary> = repeat
        .storage
        .devices
        .iter()
        .filter(|device| kinds(device).any(|(_, kind)| kind.requests > 0))
        .collect();
    html! {
        @if !repeat.storage.devices.is_empty() {
            h3 { "Storage by role" }
            (places(repeat))
            @if !counted.is_empty() { (devices_table(&counted)) }
            @if let Some(shim) = &repeat.storage.shim { (shim_line(shim)) }
        }
    }
}

pub fn kinds(device: &DeviceSummary) -> impl Iterator<Item = (&'static str, &RequestSummary)> {
    let all = [("read", &device.read), ("write", &device.write), ("flush", &device.flush)];
    all.into_iter().filter_map(|(name, kind)| Some((name, kind.as_ref()?)))
}

/// Where the bytes are, and how true the emulation was.
fn places(repeat: &RepeatView) -> Markup {
    let storage = &repeat.storage;
    let emulated = storage.devices.iter().filter(|device| device.emulated);
    let backings = emulated.map(|device| &device.backing).unique().join(", ");
    html! {
        @if !backings.is_empty() {
            p.soft.small { "Emulated; the bytes are really in " (backings) "." }
        }
        @if let Some(fidelity) = storage.fidelity {
            p {
                "Fidelity of the emulation: " b { (percent(fidelity)) }
                " of requests completed within 2 % or 20 \
                    µs of their due time, on average late by "
                (percent(storage.lateness_share.unwrap_or(0.0)))
                " of the device's response time; for "
                (percent(storage.overrun_share.unwrap_or(0.0)))
                " the host was slower than the device."
            }
        }
    }
}

fn devices_table(devices: &[&DeviceSummary]) -> Markup {
    html! {
        div.scroll { table {
            caption { "In the window. Response times are from submission to completion, to a \
                sixteenth; service is the device alone, without waiting in its queue." }
            thead { tr {
                th scope="col" { "Role" } th scope="col" { "Device" } th scope="col" { "Request" }
                th.num scope="col" { "Requests" span.unit { "1/s" } }
                th.num scope="col" { "Throughput" span.unit { "MB/s" } }
                @for name in ["Mean", "p50", "p95", "p99", "Max"] {
                    th.num scope="col" { (name) span.unit { "ms" } }
                }
                th.num scope="col" { "Service" span.unit { "ms, mean" } }
                th.num scope="col" { "Queue" span.unit { "mean" } }
                th.num scope="col" { "Busy" span.unit { "%" } }
                th.num scope="col" { "Fidelity" span.unit { "%" } }
                th.num scope="col" { "Late" span.unit { "% of response" } }
            } }
            tbody { @for device in devices {
                @let rows: Vec<(&str, &RequestSummary)> =
                    kinds(device).filter(|(_, kind)| kind.requests > 0).collect();
                @for (index, (name, kind)) in rows.iter().enumerate() {
                    tr {
                        th scope="row" {
                            @if index == 0 { (crate::format::transaction(&device.role)) }
                        }
                        td { @if index == 0 { (device.device) } }
                        td { (name) }
                        (request_cells(kind))
                        @if index == 0 {
                            td.num { (or_na(device.queue_depth_mean, significant)) }
                            td.num {
                                (or_na(device.busy_share.map(|share| share * 100.0), significant))
                            }
                            td.num {
                                (device.fidelity.map_or_else(
                                    || "-".to_owned(),
                                    |share| format!("{:.2}", share * 100.0)
                                ))
                            }
                            td.num {
                                (device.lateness_share.map_or_else(
                                    || "-".to_owned(),
                                    |share| significant(share * 100.0)
                                ))
                            }
                        } @else { td {} td {} td {} td {} }
                    }
                }
            } }
        } }
    }
}

fn request_cells(kind: &RequestSummary) -> Markup {
    let ms = |us: Option<f64>| or_na(us.map(|us| us / 1e3), significant);
    html! {
        td.num { (or_na(kind.per_s, significant)) }
        td.num { (or_na(kind.mb_per_s, significant)) }
        td.num { (ms(kind.response_mean_us)) }
        td.num { (ms(kind.response_p50_us)) }
        td.num { (ms(kind.response_p95_us)) }
        td.num { (ms(kind.response_p99_us)) }
        td.num { (ms(kind.response_max_us)) }
        td.num { (kind.service_mean_us.map_or_else(|| "-".to_owned(), |us| significant(us / 1e3))) }
    }
}

/// What the shim did besides, where that is something.
fn shim_line(shim: &ShimSummary) -> Markup {
    html! {
        p.soft.small {
            @if let Some(hits) = shim.cache_hit_share {
                "Buffered reads found " (percent(hits))
                " of their pages in the modelled page cache. "
            }
            @if let Some(us) = shim.model_us_per_call { "A request cost " (significant(us))
                " µs in the model. " }
            @if shim.uring_refused > 0 { "io_uring was refused, so that the server fell back to \
                what the shim sees. " }
            @if shim.model_full > 0 { (integer(shim.model_full)) " requests were not modelled, \
                because too many were outstanding. " }
            @if shim.files_unseen > 0 {
                (counted(shim.files_unseen as usize, "file was", "files were")) " not seen. "
            }
            @if shim.maps_refused > 0 {
                (counted(
                    shim.maps_refused as usize,
                    "mapping of a file was",
                    "mappings of files were"
                ))
                " refused."
            }
        }
    }
}
