//! Storage: what a repeat asked of its devices by role, and response times of devices side by side.

use crate::format::{integer, or_dash, or_na, percent, sentence, significant, transaction};
use crate::model::RepeatView;
use crate::table::shown;
use analyse::{Table, sentences};
use base::counted;
use maud::{Markup, html};
use store::{DeviceSummary, RequestSummary, ShimSummary};

/// What a repeat asked of its storage; nothing where nobody counted.
pub fn devices_section(repeat: &RepeatView) -> Markup {
    let storage = repeat.summary();
    html! {
        @if !storage.devices.is_empty() {
            h3 { "Storage by role" }
            @for words in sentences::storage(storage) { p.soft.small { (sentence(&words)) } }
            (devices_table(&storage.devices))
            @if let Some(shim) = &storage.shim { (shim_line(shim)) }
        }
    }
}

pub fn kinds(device: &DeviceSummary) -> impl Iterator<Item = (&'static str, &RequestSummary)> {
    let all = [("read", &device.read), ("write", &device.write), ("flush", &device.flush)];
    all.into_iter().filter_map(|(name, kind)| Some((name, kind.as_ref()?)))
}

/// Nothing where no request was counted.
fn devices_table(devices: &[DeviceSummary]) -> Markup {
    let requests = devices.iter().flat_map(|device| {
        let asked = kinds(device).filter(|(_, kind)| kind.requests > 0).enumerate();
        asked.map(move |(place, (name, kind))| (name, kind, (place == 0).then_some(device)))
    });
    // The first row of a device has what is of all its requests.
    let once = |device: Option<&DeviceSummary>, show: &dyn Fn(&DeviceSummary) -> String| {
        device.map(show).unwrap_or_default()
    };
    let ms = |us: Option<f64>| or_na(us.map(|us| us / 1e3), significant);
    let share = |share: Option<f64>| share.map(|share| share * 100.0);
    let table = Table::of(requests)
        .words("Role", |(.., of)| once(*of, &|of| transaction(&of.role)))
        .words("Device", |(.., of)| once(*of, &|of| of.device.clone()))
        .words("Request", |(name, ..)| *name)
        .numbers_in(("Requests", "1/s"), |(_, kind, _)| or_na(kind.per_s, significant))
        .numbers_in(("Throughput", "MB/s"), |(_, kind, _)| or_na(kind.mb_per_s, significant))
        .numbers_in(("Mean", "ms"), |(_, kind, _)| ms(kind.response_mean_us))
        .numbers_in(("p50", "ms"), |(_, kind, _)| ms(kind.response_p50_us))
        .numbers_in(("p95", "ms"), |(_, kind, _)| ms(kind.response_p95_us))
        .numbers_in(("p99", "ms"), |(_, kind, _)| ms(kind.response_p99_us))
        .numbers_in(("Max", "ms"), |(_, kind, _)| ms(kind.response_max_us))
        .numbers_in(("Service", "ms, mean"), |(_, kind, _)| {
            or_dash(kind.service_mean_us, |us| significant(us / 1e3))
        })
        .numbers_in(("Queue", "mean"), |(.., of)| {
            once(*of, &|of| or_na(of.queue_depth_mean, significant))
        })
        .numbers_in(("Busy", "%"), |(.., of)| {
            once(*of, &|of| or_na(share(of.busy_share), significant))
        })
        .numbers_in(("Fidelity", "%"), |(.., of)| {
            once(*of, &|of| or_dash(share(of.fidelity), |share| format!("{share:.2}")))
        })
        .numbers_in(("Late", "% of response"), |(.., of)| {
            once(*of, &|of| or_dash(share(of.lateness_share), significant))
        });
    if table.rows().is_empty() {
        return html! {};
    }
    let caption = "In the window. Response times are from submission to completion, to a \
        sixteenth; service is the device alone, without waiting in its queue.";
    shown(caption, table)
}

/// What the shim did besides, where that is something.
fn shim_line(shim: &ShimSummary) -> Markup {
    html! {
        p.soft.small {
            @if let Some(hits) = shim.cache_hit_share {
                "Buffered reads found " (percent(hits))
                " of their pages in the modelled page cache. "
            }
            @if let Some(us) = shim.model_us_per_call {
                "A request cost " (significant(us)) " µs in the model. "
            }
            @if shim.uring_refused > 0 { "io_uring was refused, so that the server fell back to \
                what the shim sees. " }
            @if shim.model_full > 0 { (integer(shim.model_full)) " requests were not modelled, \
                because too many were outstanding. " }
            @if shim.files_unseen > 0 {
                (counted(shim.files_unseen as usize, "file was", "files were")) " not seen. "
            }
            @if shim.maps_refused > 0 {
                @let refused = shim.maps_refused as usize;
                (counted(refused, "mapping of a file was", "mappings of files were")) " refused."
            }
        }
    }
}
