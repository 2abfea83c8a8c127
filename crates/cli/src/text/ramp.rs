//! A ramp for people: its curve as a table, and where it ends.

use super::format::{ms, optional};
use analyse::{RampOutcome, RampPoint};
use std::fmt::Write;

/// The points by connections, and the saturation point.
pub fn ramp(ramp: &RampOutcome) -> String {
    let telling = ramp.telling_transaction();
    let [p90, p95] = ["p90", "p95"].map(|of| format!("{} {of} ms", ramp.metric.transaction()));
    let width = p90.len() + 1;
    let mut out = format!("{}\n", ramp.asked);
    // Writing to a string cannot fail, here and below.
    let _ = write!(
        out,
        "{:>11}{:>11}{:>10}{p90:>width$}{p95:>width$}",
        "connections",
        ramp.metric.title(),
        "+-"
    );
    if let Some(name) = telling {
        let title = format!("{} p90 ms", name.replace('_', " "));
        let _ = write!(out, "{title:>20}");
    }
    let _ = writeln!(out, "{:>8}", "CPU %");
    let mut points: Vec<&RampPoint> = ramp.points.iter().collect();
    points.sort_by_key(|point| point.connections);
    for point in &points {
        let _ = write!(out, "{:>11}", point.connections);
        if let Some(code) = &point.reason_code {
            let _ = writeln!(out, "{:>11}  {code}", "NA");
            continue;
        }
        let half = point.nopm_half_width.map(|half| format!("{half:.0}"));
        let _ = write!(
            out,
            "{:>11}{:>10}{:>width$}{:>width$}",
            optional(point.nopm, 0),
            half.as_deref().unwrap_or("-"),
            ms(point.primary_p90_us),
            ms(point.new_order_p95_us),
        );
        if let Some(name) = telling {
            let _ = write!(out, "{:>20}", ms(point.p90_us_of(name)));
        }
        let busy = point.cpu.map(|cpu| cpu.busy_share * 100.0);
        let _ = writeln!(out, "{:>8}", optional(busy, 0));
    }
    for (connections, remark) in points
        .iter()
        .flat_map(|point| point.remarks.iter().map(move |remark| (point.connections, remark)))
    {
        let _ = writeln!(out, "{connections} connections: {remark}");
    }
    let _ = writeln!(out, "{}", ramp.words);
    out
}
