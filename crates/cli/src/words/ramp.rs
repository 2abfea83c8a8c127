//! A ramp for people: its curve as a table, and where it ends.

use super::{ms, optional};
use analyse::{RampOutcome, RampPoint};
use std::fmt::Write;

/// The points by connections, and the saturation point.
pub fn ramp(ramp: &RampOutcome) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail, here and below.
    let _ = writeln!(
        out,
        "{:>11}{:>11}{:>10}{:>17}{:>17}{:>8}",
        "connections", "NOPM", "+-", "new order p90 ms", "new order p95 ms", "CPU %"
    );
    let mut points: Vec<&RampPoint> = ramp.points.iter().collect();
    points.sort_by_key(|point| point.connections);
    for point in points {
        let _ = write!(out, "{:>11}", point.connections);
        match &point.reason_code {
            Some(code) => {
                let _ = writeln!(out, "{:>11}  {code}", "NA");
            }
            None => {
                let _ = writeln!(
                    out,
                    "{:>11}{:>10}{:>17}{:>17}{:>8}",
                    optional(point.nopm, 0),
                    point
                        .nopm_half_width
                        .map_or_else(|| "-".to_owned(), |half| format!("{half:.0}")),
                    ms(point.new_order_p90_us()),
                    ms(point.new_order_p95_us),
                    optional(point.cpu_busy_share.map(|share| share * 100.0), 0)
                );
            }
        }
    }
    let _ = writeln!(out, "{}", ramp.words);
    out
}
