//! How far back a series remembers, and what that does to its mean and its trend.
//!
//! A throughput is noise from interval to interval on top of a wander, which comes and goes in some
//! time: a flush takes seconds, another guest of the machine minutes. The mean of a window is as
//! well known as the slowest of them allows. A window of a minute hardly shows a wander of a
//! minute, so no single estimate of it will do. Instead every wander of a table is asked how well
//! it explains the series' projections on its cosines (Whittle's likelihood; the cosines of such a
//! series are independent of each other), and what each says of the mean is averaged with that
//! weight. Where the likely wanders disagree, few degrees of freedom are left and the interval is
//! wide. docs/statistics.md has the coverage that this reaches.

use std::f64::consts::PI;

/// A longer series is condensed to at most so many means of neighbours.
const POINTS_MAX: usize = 300;
/// Only so many of the slowest cosines are asked: what comes and goes within a few points, such as
/// the teeth of flushing, cancels in the mean and would be taken for noise.
const COSINES_MAX: usize = 40;
/// Times of memory that are asked: from this one on, each longer by a factor, up to a multiple of
/// the series. Unit: points.
const MEMORY_MIN: f64 = 0.5;
const MEMORY_FACTOR: f64 = 1.6;
const MEMORY_MAX_SHARE: f64 = 2.0;
/// Heights of the wander's spectrum at 0 above that of the noise, which is 1. Below 0 neighbours
/// make up for each other, as the teeth of flushing do.
const HEIGHTS: [f64; 8] = [-0.9, 0.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1_000.0];
/// Neighbours make up for each other within this share of the series, or nothing is known of it.
const MAKING_UP_SHARE_MAX: f64 = 0.04;
/// Before anything is seen, a memory that is longer by some factor is less likely by its root.
const LONGER_LESS_LIKELY: f64 = 0.5;
/// A series tells of its mean when it is as long as so many correlation times, each of which is two
/// times of memory.
const CORRELATION_TIMES_MIN: f64 = 4.0;
/// From such a share of the mean's variance on, above what the noise makes, a wander matters.
const WANDER_MATTERS: f64 = 2.0;
/// Faster cosines are taken together with their neighbours, this share of them at a time.
const TOGETHER_SHARE: f64 = 0.08;

/// What a series is expected to have of one of its cosines, from those that are faster.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Expected {
    /// Of the square of the projection; the scale of a Student distribution.
    pub(crate) variance: f64,
    pub(crate) degrees_of_freedom: f64,
    /// The probability, 0 to 1, that the series is too short to tell.
    pub(crate) too_short: f64,
}

/// A series of bounded length.
pub(crate) struct Condensed {
    pub(crate) values: Vec<f64>,
}

impl Condensed {
    /// The means of as many neighbours as it takes; what is left over at the begin is left out.
    pub(crate) fn of(values: &[f64]) -> Condensed {
        let together = values.len().div_ceil(POINTS_MAX).max(1);
        let means = values.rchunks_exact(together);
        let mut values: Vec<f64> =
            means.map(|part| part.iter().sum::<f64>() / together as f64).collect();
        values.reverse();
        Condensed { values }
    }

    /// The projections on the slowest cosines, from that of `first` half periods on.
    pub(crate) fn projections(&self, first: usize) -> Vec<f64> {
        let half_periods = first..self.values.len().min(COSINES_MAX + 1);
        let cosines = self.cosines();
        half_periods.map(|half_periods| self.along(&cosines, half_periods)).collect()
    }

    /// What it has of the cosine that goes through `half_periods` of them, 1 or more, from its
    /// first point to its last. These cosines know nothing of the mean, and their values for
    /// independent points have the points' own deviation.
    pub(crate) fn projection(&self, half_periods: usize) -> f64 {
        self.along(&self.cosines(), half_periods)
    }

    /// One turn in as many steps as the points and half points of the slowest cosine need.
    fn cosines(&self) -> Vec<f64> {
        let count = self.values.len();
        let scale = (2.0 / count as f64).sqrt();
        (0..4 * count).map(|step| scale * (PI * step as f64 / (2 * count) as f64).cos()).collect()
    }

    /// The cosines that have these squares, from `first` half periods on.
    fn bands(&self, squares: &[f64], first: usize) -> Vec<Band> {
        let mut bands = Vec::new();
        let mut at = 0;
        while at < squares.len() {
            let half_periods = first + at;
            let width = ((half_periods as f64 * TOGETHER_SHARE) as usize).max(1);
            let width = width.min(squares.len() - at);
            let middle = half_periods as f64 + (width as f64 - 1.0) / 2.0;
            bands.push(Band {
                frequency: PI * middle / self.values.len() as f64,
                cosines: width as f64,
                squares: squares[at..at + width].iter().sum(),
            });
            at += width;
        }
        bands
    }

    fn along(&self, cosines: &[f64], half_periods: usize) -> f64 {
        let (mut sum, mut at) = (0.0, half_periods);
        for value in &self.values {
            sum += value * cosines[at];
            at = (at + 2 * half_periods) % cosines.len();
        }
        sum
    }

    /// What it is expected to have of the cosine of `half_periods` (0 is the mean, times the root
    /// of the count), from its projections on the cosines after that one. `None` where there are
    /// none, or nothing moves.
    pub(crate) fn expected(&self, half_periods: usize) -> Option<Expected> {
        let squares: Vec<f64> =
            self.projections(half_periods + 1).iter().map(|one| one * one).collect();
        let whole: f64 = squares.iter().sum();
        if squares.len() < 2 || whole <= 0.0 || !whole.is_finite() {
            return None;
        }
        let count = self.values.len() as f64;
        let bands = self.bands(&squares, half_periods + 1);
        let freedom = squares.len() as f64;
        let mut said = Vec::new();
        let mut memory = MEMORY_MIN;
        while memory <= MEMORY_MAX_SHARE * count {
            let wander = Wander::of(memory);
            let shape: Vec<f64> = bands.iter().map(|band| wander.at(band.frequency)).collect();
            let asked = match half_periods {
                0 => wander.in_mean(count),
                _ => wander.at(PI * half_periods as f64 / count),
            };
            let is_long = 2.0 * memory * CORRELATION_TIMES_MIN > count;
            // The last one is a wander without noise.
            let mixtures = HEIGHTS.iter().map(|height| (1.0, *height));
            for (noise, height) in mixtures.chain([(0.0, 1.0)]) {
                if height < 0.0 && memory > MAKING_UP_SHARE_MAX * count {
                    continue;
                }
                let spectra = shape.iter().map(|shape| noise + height * shape);
                let (mut logs, mut squares) = (0.0, 0.0);
                for (band, spectrum) in bands.iter().zip(spectra) {
                    logs += band.cosines * spectrum.ln();
                    squares += band.squares / spectrum;
                }
                said.push(Said {
                    likelihood_log: -0.5 * (logs + freedom * squares.ln())
                        - LONGER_LESS_LIKELY * wander.memory.ln(),
                    variance_log: (squares / freedom * (noise + height * asked)).ln(),
                    too_short: is_long && (noise == 0.0 || height * asked >= WANDER_MATTERS),
                });
            }
            memory *= MEMORY_FACTOR;
        }
        Some(averaged(&said, freedom))
    }
}

/// Neighbouring cosines, of which a wander has nearly the same.
struct Band {
    /// Radians per point.
    frequency: f64,
    cosines: f64,
    squares: f64,
}

/// A wander that forgets a share 1 - 1/e of itself in `memory` points.
struct Wander {
    memory: f64,
    /// What a point hands on to the next.
    kept: f64,
}

impl Wander {
    fn of(memory: f64) -> Wander {
        Wander { memory, kept: (-1.0 / memory).exp() }
    }

    /// Its spectrum, 1 at frequency 0.
    fn at(&self, frequency: f64) -> f64 {
        let kept = self.kept;
        (1.0 - kept).powi(2) / (1.0 - 2.0 * kept * frequency.cos() + kept * kept)
    }

    /// What the mean of `count` points has of it: less than its spectrum at 0, where they are few.
    fn in_mean(&self, count: f64) -> f64 {
        let kept = self.kept;
        let ends = 2.0 * kept * (1.0 - kept.powf(count));
        1.0 - ends / (count * (1.0 - kept) * (1.0 + kept))
    }
}

/// What one wander says.
struct Said {
    likelihood_log: f64,
    variance_log: f64,
    too_short: bool,
}

/// All that was said, each by its likelihood.
fn averaged(said: &[Said], freedom: f64) -> Expected {
    let best = said.iter().map(|said| said.likelihood_log).fold(f64::MIN, f64::max);
    let (mut weights, mut sum, mut squares, mut too_short) = (0.0, 0.0, 0.0, 0.0);
    for one in said {
        let weight = (one.likelihood_log - best).exp();
        weights += weight;
        sum += weight * one.variance_log;
        squares += weight * one.variance_log.powi(2);
        if one.too_short {
            too_short += weight;
        }
    }
    let mean = sum / weights;
    let between = (squares / weights - mean.powi(2)).max(0.0);
    // The logarithm of an estimated variance with n degrees of freedom has a variance of about
    // 2 / (n - 1); read backwards, that is what is left of them.
    let spread = between + 2.0 / (freedom - 1.0);
    Expected {
        variance: mean.exp() / (1.0 + spread / 2.0),
        degrees_of_freedom: 2.0 / spread + 1.0,
        too_short: too_short / weights,
    }
}

#[cfg(test)]
mod tests {
    use super::{Condensed, Wander};
    use crate::stats::noise::{Noise, Throughput};

    fn squares(values: &[f64]) -> Vec<f64> {
        let projections = Condensed::of(values).projections(1);
        projections.iter().map(|one| one * one).collect()
    }

    #[test]
    fn projections_keep_what_moves() {
        let series = Throughput::steady(40).draw(&mut Noise::new(1));
        let mean = series.iter().sum::<f64>() / 40.0;
        let around: f64 = series.iter().map(|value| (value - mean).powi(2)).sum();
        let kept: f64 = squares(&series).iter().sum();
        assert!((kept / around - 1.0).abs() < 1e-9, "{kept} {around}");
    }

    #[test]
    fn a_long_series_is_condensed_in_order() {
        let rising: Vec<f64> = (0..1_000).map(f64::from).collect();
        let condensed = Condensed::of(&rising).values;
        assert_eq!(condensed.len(), 250);
        assert_eq!((condensed[0], condensed[249]), (1.5, 997.5));
        assert_eq!(Condensed::of(&rising[..30]).values, rising[..30]);
    }

    #[test]
    fn a_wander_is_in_the_mean_as_its_points_are_alike() {
        // By hand: 1, 0.5 and 0.25 of what neighbours at distance 0, 1 and 2 share.
        let wander = Wander::of(1.0 / 2.0_f64.ln());
        let alike = (3.0 + 2.0 * (2.0 * 0.5 + 0.25)) / 3.0;
        // Its spectrum at 0 is (1 + 0.5) / (1 - 0.5).
        assert!((wander.in_mean(3.0) - alike / 3.0).abs() < 1e-12);
        assert_eq!(wander.at(0.0), 1.0);
    }

    #[test]
    fn what_wanders_for_long_needs_long() {
        let too_short = |intervals: usize, autocorrelation: f64| {
            let throughput = Throughput { autocorrelation, ..Throughput::steady(intervals) };
            let mut noise = Noise::new(11);
            let long = (0..50).filter(|_| {
                let series = throughput.draw(&mut noise);
                Condensed::of(&series).expected(0).unwrap().too_short > 0.5
            });
            long.count()
        };
        assert!(too_short(60, 0.0) <= 1 && too_short(60, 0.98) >= 38);
        assert!(too_short(1_800, 0.98) <= 2);
        assert_eq!(Condensed::of(&[0.0; 60]).expected(0), None);
    }
}
