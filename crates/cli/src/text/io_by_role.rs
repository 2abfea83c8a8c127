//! What a run asked of its storage, as text for people.

use super::format::{lines, ms, optional, or_dash, percent};
use analyse::{Table, sentences};
use store::{DeviceSummary, RequestSummary, Summary};

/// Devices by role, with how true they were where they are emulated; nothing where nothing was
/// placed or counted.
pub fn io_by_role(out: &mut String, summary: &Summary) {
    if summary.devices.is_empty() {
        return;
    }
    out.push('\n');
    let counted: Vec<_> = summary.devices.iter().filter(|device| requests(device) > 0).collect();
    if !counted.is_empty() {
        *out += &table(&counted);
    }
    *out += &lines(sentences::storage(summary));
}

fn requests(device: &DeviceSummary) -> u64 {
    let kinds = [&device.read, &device.write, &device.flush];
    kinds.into_iter().flatten().map(|kind| kind.requests).sum()
}

fn table(devices: &[&DeviceSummary]) -> String {
    type Number = fn(&RequestSummary) -> Option<f64>;
    let of = |kind: &Option<RequestSummary>, number: Number, decimals| {
        optional(kind.as_ref().and_then(number), decimals)
    };
    let p95 = |kind: &Option<RequestSummary>| {
        or_dash(kind.as_ref().and_then(|of| of.response_p95_us), |us| ms(Some(us)))
    };
    let share = |share: Option<f64>, decimals| or_dash(share, |share| percent(share, decimals));
    Table::of(devices)
        .words("storage", |device| device.role.clone())
        .words("device", |device| device.device.clone())
        .numbers("reads/s", |device| of(&device.read, |kind| kind.per_s, 0))
        .numbers("MB/s", |device| of(&device.read, |kind| kind.mb_per_s, 1))
        .numbers("p95 ms", |device| p95(&device.read))
        .numbers("writes/s", |device| of(&device.write, |kind| kind.per_s, 0))
        .numbers("MB/s", |device| of(&device.write, |kind| kind.mb_per_s, 1))
        .numbers("p95 ms", |device| p95(&device.write))
        .numbers("flush/s", |device| of(&device.flush, |kind| kind.per_s, 0))
        .numbers("p95 ms", |device| p95(&device.flush))
        .numbers("queue", |device| optional(device.queue_depth_mean, 1))
        .numbers("busy", |device| share(device.busy_share, 0))
        .numbers("fidelity", |device| share(device.fidelity, 2))
        .text()
}
