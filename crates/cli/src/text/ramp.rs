//! A ramp for people: its curve as a table, and where it ends.

use super::format::{ms, optional, or_dash, throughput};
use analyse::{RampOutcome, RampPoint, Table};

/// The points by connections, and the saturation point.
pub fn ramp(ramp: &RampOutcome) -> String {
    let telling = ramp.telling_transaction();
    let [p90, p95] = ["p90", "p95"].map(|of| format!("{} {of} ms", ramp.metric.transaction()));
    let mut points: Vec<&RampPoint> = ramp.points.iter().collect();
    points.sort_by_key(|point| point.connections);
    let mut table = Table::of(&points)
        .numbers("connections", |point| point.connections.to_string())
        .numbers(ramp.metric.title(), |point| throughput(point.nopm))
        .numbers("±", |point| or_dash(point.nopm_half_width, |half| format!("{half:.0}")))
        .numbers(&p90, |point| ms(point.primary_p90_us))
        .numbers(&p95, |point| ms(point.new_order_p95_us));
    if let Some(name) = telling {
        let title = format!("{} p90 ms", name.replace('_', " "));
        table = table.numbers(&title, |point| ms(point.p90_us_of(name)));
    }
    let busy = |point: &RampPoint| point.cpu.map(|cpu| cpu.busy_share * 100.0);
    let table = table
        .numbers("CPU %", |point| optional(busy(point), 0))
        .words("", |point| point.reason_code.clone().unwrap_or_default());
    let mut out = format!("{}\n{}", ramp.asked, table.text());
    for (connections, remark) in points
        .iter()
        .flat_map(|point| point.remarks.iter().map(move |remark| (point.connections, remark)))
    {
        out += &format!("{connections} connections: {remark}\n");
    }
    out += &format!("{}\n", ramp.words);
    out
}
