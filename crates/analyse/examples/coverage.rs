//! How often the interval of one run holds the true mean: windows of made-up throughput whose truth
//! is known. It prints the tables of docs/statistics.md, "Intervals of one run", in some seconds:
//!
//!     cargo run --release -p analyse --example coverage

#[expect(dead_code, reason = "shared with the unit tests, which use all of it")]
#[path = "../src/stats/noise.rs"]
mod noise;

use analyse::{Estimate, PrecisionAsked, mean, precision};
use noise::{Noise, Throughput};
use std::io::{Result, Write};

const WINDOWS: u32 = 1_000;
const AUTO_WINDOWS: u32 = 200;
/// Seconds of the longest automatic window that is tried.
const AUTO_MOST: usize = 3_600;

fn main() -> Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "| correlation | intervals | given | of these right | of all wrong | half-width |\n\
         |---|---|---|---|---|---|"
    )?;
    for autocorrelation in [0.0, 0.5, 0.9, 0.98] {
        for intervals in [60, 300, 600, 1_800] {
            let throughput = Throughput { autocorrelation, ..Throughput::steady(intervals) };
            let told = coverage(|noise| throughput.draw(noise), throughput.mean);
            writeln!(out, "| {autocorrelation} | {intervals} | {told} |")?;
        }
    }
    for intervals in [60, 300, 600, 1_800] {
        let told = coverage(|noise| hidden(intervals, noise), 10_000.0);
        writeln!(out, "| 0.98 in as much noise | {intervals} | {told} |")?;
    }
    writeln!(
        out,
        "\n| deviation | correlation | ended | of these right | of all wrong | seconds, median |\n\
         |---|---|---|---|---|---|"
    )?;
    for (deviation_share, autocorrelation) in [(0.1, 0.3), (0.05, 0.9), (0.02, 0.98), (0.05, 0.98)]
    {
        let throughput =
            Throughput { deviation_share, autocorrelation, ..Throughput::steady(AUTO_MOST) };
        let told = automatic(throughput);
        let percent = 100.0 * deviation_share;
        writeln!(out, "| {percent} % | {autocorrelation} | {told} |")?;
    }
    Ok(())
}

/// A wander of 10 % of which neighbours share 0.98, in noise of the same size.
fn hidden(intervals: usize, noise: &mut Noise) -> Vec<f64> {
    let fast = Throughput::steady(intervals).draw(noise);
    let slow = Throughput { autocorrelation: 0.98, ..Throughput::steady(intervals) };
    let sums = slow.draw(noise).into_iter().zip(fast);
    sums.map(|(slow, fast)| slow + fast - 10_000.0).collect()
}

fn coverage(mut draw: impl FnMut(&mut Noise) -> Vec<f64>, truth: f64) -> String {
    let mut noise = Noise::new(2);
    let mut half_widths = Vec::new();
    let mut right = 0;
    for _ in 0..WINDOWS {
        if let Ok(found) = Estimate::of_series(&draw(&mut noise)) {
            right += u32::from((found.mean - truth).abs() <= found.half_width());
            half_widths.push(100.0 * found.half_width() / truth);
        }
    }
    half_widths.sort_by(f64::total_cmp);
    let given = half_widths.len() as f64;
    let middle = half_widths.get(half_widths.len() / 2);
    format!(
        "{:.0} % | {:.0} % | {:.1} % | {:.1} %",
        100.0 * given / f64::from(WINDOWS),
        100.0 * f64::from(right) / given,
        100.0 * (given - f64::from(right)) / f64::from(WINDOWS),
        middle.copied().unwrap_or(f64::NAN)
    )
}

/// Windows of automatic length, which end where the mean is known to 2 %.
fn automatic(throughput: Throughput) -> String {
    let asked = PrecisionAsked { half_width_share: 0.02, intervals_min: 180 };
    let mut noise = Noise::new(5);
    let mut lengths = Vec::new();
    let mut right = 0;
    for _ in 0..AUTO_WINDOWS {
        let series = throughput.draw(&mut noise);
        let mut count = asked.intervals_min;
        while count <= series.len() && !precision(&series[..count], &asked).reached {
            count += (count / 50).max(1);
        }
        if let Some(mean) = series.get(..count).and_then(mean) {
            right += u32::from((mean / throughput.mean - 1.0).abs() <= asked.half_width_share);
            lengths.push(count);
        }
    }
    lengths.sort_unstable();
    let ended = lengths.len() as f64;
    let middle = lengths.get(lengths.len() / 2);
    format!(
        "{:.0} % | {:.0} % | {:.1} % | {}",
        100.0 * ended / f64::from(AUTO_WINDOWS),
        100.0 * f64::from(right) / ended,
        100.0 * (ended - f64::from(right)) / f64::from(AUTO_WINDOWS),
        middle.map_or_else(|| "none".to_owned(), ToString::to_string)
    )
}
