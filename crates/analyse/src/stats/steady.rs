//! Has the warm-up ended: do throughput, dirty pages and checkpoint age stand where they will stay?
//!
//! Looked at is the later half of what there is, so that the beginning is forgotten, however it
//! was. A series is steady where its trend over that half is small with certainty: not where no
//! trend could be proven, which noise alone achieves. The trend is the projection on the slowest
//! cosine, and what chance and wander add to it is judged by the faster ones (`memory`). So a
//! saw-tooth is steady once the half holds many teeth, and its rising edge alone is not.
//! docs/statistics.md has the details.

use crate::stats::memory::Condensed;
use crate::stats::statistics::mean;
use crate::stats::student::Student;
use std::f64::consts::PI;

/// Points of the later half below which nothing is said.
const TAIL_POINTS_MIN: usize = 15;
/// Both ends of the trend's interval lie inside the tolerance: two tests at 5 %.
const INSIDE: f64 = 0.9;

/// A series to watch, at equal distances of time from the start of the run.
#[derive(Clone, Copy, Debug)]
pub struct Watched<'a> {
    pub name: &'static str,
    /// Rates or gauges of any unit, one for each interval so far.
    pub values: &'a [f64],
    /// What the series may rise or fall over the later half of the run, as a share of its mean
    /// there; 0 to 1.
    pub tolerance_share: f64,
    /// What it may rise or fall in any case, in its unit: for gauges near 0, such as the dirty
    /// pages of an idle server. Where it is 0, a series that is 0 is never steady: a server that
    /// stalls has not arrived.
    pub negligible: f64,
}

/// The trend of one series over the later half of the run; unit: the series'.
#[derive(Clone, Debug, PartialEq)]
pub struct Trend {
    pub name: &'static str,
    /// From the begin of that half to its end.
    pub change: f64,
    /// Of the interval that holds the change with 90 %.
    pub change_half_width: f64,
    pub tolerance: f64,
    pub steady: bool,
}

/// What the series say together.
#[derive(Clone, Debug, PartialEq)]
pub struct Steadiness {
    /// Each series is; never for fewer than 30 intervals.
    pub steady: bool,
    /// Of each series, in their order; empty where there are too few intervals.
    pub trends: Vec<Trend>,
}

/// Judges all series; not steady where there is none, where one is too short, or has a value that
/// is not finite.
pub fn steadiness(watched: &[Watched<'_>]) -> Steadiness {
    let trends: Option<Vec<Trend>> = watched.iter().map(trend).collect();
    let trends = trends.unwrap_or_default();
    Steadiness { steady: !trends.is_empty() && trends.iter().all(|trend| trend.steady), trends }
}

fn trend(watched: &Watched<'_>) -> Option<Trend> {
    let tail = &watched.values[watched.values.len().div_ceil(2)..];
    if tail.len() < TAIL_POINTS_MIN {
        return None;
    }
    let tolerance = (watched.tolerance_share * mean(tail)?.abs()).max(watched.negligible);
    let mut tail = Condensed::of(tail);
    let count = tail.values.len() as f64;
    // A straight line that rises by 1 has so much of the slowest cosine.
    let of_line = -(2.0 * count).sqrt() * 2.0 / PI.powi(2);
    let change = tail.projection(1) / of_line;
    // A line has of the others too; they are to tell of what is not one.
    for (index, value) in tail.values.iter_mut().enumerate() {
        *value -= change * (index as f64 + 0.5) / count;
    }
    let change_half_width = tail.expected(1).map_or(0.0, |found| {
        let student = Student { degrees_of_freedom: found.degrees_of_freedom };
        student.reach(INSIDE) * found.variance.sqrt() / of_line.abs()
    });
    Some(Trend {
        name: watched.name,
        change,
        change_half_width,
        tolerance,
        steady: tolerance > 0.0 && change.abs() + change_half_width <= tolerance,
    })
}

#[cfg(test)]
mod tests {
    use super::{Watched, steadiness};
    use crate::stats::noise::{Noise, Throughput};

    fn watched(values: &[f64]) -> Watched<'_> {
        Watched { name: "nopm", values, tolerance_share: 0.05, negligible: 0.0 }
    }

    /// The number of points after which the series is first called steady.
    fn steady_after(values: &[f64]) -> Option<usize> {
        let mut count = 1;
        while count <= values.len() {
            if steadiness(&[watched(&values[..count])]).steady {
                return Some(count);
            }
            // Looked at as a run is, which looks less often the longer it goes on.
            count += (count / 20).max(1);
        }
        None
    }

    /// `shape` with 2 % of noise that hangs together.
    fn noisy(points: usize, seed: u64, shape: impl Fn(f64) -> f64) -> Vec<f64> {
        let noise = Throughput {
            mean: 1.0,
            deviation_share: 0.02,
            autocorrelation: 0.3,
            ..Throughput::steady(points)
        }
        .draw(&mut Noise::new(seed));
        let at = |(index, noise): (usize, &f64)| shape(index as f64) * noise;
        noise.iter().enumerate().map(at).collect()
    }

    const SEEDS: u64 = 40;

    /// After how many points each of 40 noisy series of a shape is called steady, in order; never
    /// is last.
    fn all_after(points: usize, shape: impl Fn(f64) -> f64) -> Vec<usize> {
        let mut after: Vec<usize> = (0..SEEDS)
            .map(|seed| steady_after(&noisy(points, seed, &shape)).unwrap_or(usize::MAX))
            .collect();
        after.sort_unstable();
        after
    }

    #[test]
    fn a_level_is_steady_soon() {
        let after = all_after(300, |_| 10_000.0);
        assert!(after[20] <= 60 && after[37] <= 120, "{after:?}");
        assert_eq!(steady_after(&[10_000.0; 40]), Some(30));
    }

    #[test]
    fn a_rise_is_not_steady_before_its_end() {
        // Up to the level over 100 s; half of what there is must lie behind.
        let after = all_after(600, |t| 10_000.0 * (0.2 + 0.8 * (t / 100.0).min(1.0)));
        assert!(after[2] > 130 && after[37] < 350, "{after:?}");
        // A pool that fills: within 5 % of the level after 3 time constants of 60 s.
        let after = all_after(900, |t| 10_000.0 * (1.0 - 0.8 * (-t / 60.0).exp()));
        assert!(after[2] > 130 && after[37] < 500, "{after:?}");
    }

    #[test]
    fn a_step_begins_anew() {
        // The redo log is full for the first time after 100 s: 30 % less from then on.
        let shape = |t: f64| if t < 100.0 { 10_000.0 } else { 7_000.0 };
        for seed in 0..SEEDS {
            let series = noisy(400, seed, shape);
            for count in 104..150 {
                assert!(!steadiness(&[watched(&series[..count])]).steady, "{seed}: {count}");
            }
            assert!(steadiness(&[watched(&series)]).steady, "{seed}");
        }
    }

    #[test]
    fn teeth_are_steady_once_there_are_some() {
        // Flushing slows by 30 %, less and less, every 20 s. The half of 500 s holds more teeth
        // than there are cosines to take them for a wander.
        for seed in 0..SEEDS {
            let teeth = noisy(1_000, seed, |t| 10_000.0 * (0.7 + 0.3 * (t / 20.0).fract()));
            assert!(!steadiness(&[watched(&teeth[..40])]).steady, "{seed}");
            assert!(steadiness(&[watched(&teeth)]).steady, "{seed}");
        }
        // The rising edge of one is not. It is 6 % in the half of 30 s, which noise hides in one of
        // twenty.
        let edge = all_after(100, |t| 10_000.0 * (0.7 + 0.3 * t / 100.0));
        assert!(edge[4] == usize::MAX, "{edge:?}");
    }

    #[test]
    fn drift_is_not_steady() {
        // A tenth over any half of 300 s, begun at 150 s to have a whole half of it.
        for seed in 0..SEEDS {
            let series = noisy(300, seed, |t| 10_000.0 * (1.0 - 0.2 * t / 300.0));
            for count in 200..=300 {
                let found = steadiness(&[watched(&series[..count])]);
                assert!(!found.steady, "{seed}: {count}: {found:?}");
            }
        }
    }

    #[test]
    fn one_that_moves_is_enough() {
        let (level, dirty) = (noisy(240, 1, |_| 10_000.0), noisy(240, 2, |t| 50.0 * t));
        let dirty = Watched { name: "dirty_pages", ..watched(&dirty) };
        let found = steadiness(&[watched(&level), dirty]);
        assert!(!found.steady && found.trends[0].steady && !found.trends[1].steady);
        assert_eq!(found.trends[1].name, "dirty_pages");
        assert!((found.trends[1].change - 6_000.0).abs() < 300.0);
        let small = Watched { negligible: 8_000.0, ..dirty };
        assert!(steadiness(&[watched(&level), small]).steady);
    }

    #[test]
    fn too_little_is_not_steady() {
        assert!(!steadiness(&[]).steady);
        assert!(!steadiness(&[watched(&[1.0; 28])]).steady);
        assert!(!steadiness(&[watched(&[f64::NAN; 100])]).steady);
    }

    #[test]
    fn a_stall_is_not_steady() {
        let stalled: Vec<f64> = [vec![10_000.0; 50], vec![0.0; 50]].concat();
        assert!(!steadiness(&[watched(&stalled)]).steady);
        let idle = Watched { negligible: 1.0, ..watched(&stalled) };
        assert!(steadiness(&[idle]).steady);
    }
}
