//! Means with their uncertainty: over repeats, which know nothing of each other, and over the intervals of one window, which do.
//!
//! The points of a throughput series hang together: a flush or a checkpoint slows several intervals in a row. Dividing their
//! deviation by the root of their count gives intervals that are far too narrow. Here the series is projected on its first few
//! cosines, each slower than what makes neighbours alike; the mean of the squared projections is the variance that the mean has
//! in the long run, and their number is the degrees of freedom (Lazarus, Lewis, Stock and Watson, 2018). METHODOLOGY.md says why.

use crate::student::Student;
use serde::Serialize;
use std::f64::consts::PI;

/// The share of intervals that hold what they are intervals for.
pub const CONFIDENCE: f64 = 0.95;
/// Points below which a series says nothing of its own correlation.
pub const SERIES_POINTS_MIN: usize = 12;
/// Cosines for a series of n points: 0.41 n^(2/3), the rule of the authors, which weighs width against coverage.
const COSINES_FACTOR: f64 = 0.41;
const COSINES_MIN: usize = 2;

/// A mean, and how well it is known. Unit: that of the numbers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    pub mean: f64,
    /// Sample standard deviation of the numbers themselves.
    pub deviation: f64,
    /// Standard deviation of the mean.
    pub standard_error: f64,
    /// Behind the standard error; above 0.
    pub degrees_of_freedom: f64,
    pub count: usize,
    /// Independent numbers that would tell as much of the mean. Above `count` where neighbours make up for each other.
    pub effective_count: f64,
}

impl Estimate {
    /// The mean of numbers that do not depend on each other, such as the NOPM of repeats. `None` for fewer than two, or where one
    /// is not finite.
    #[must_use]
    pub fn of_repeats(values: &[f64]) -> Option<Estimate> {
        let (mean, deviation) = (mean(values)?, deviation(values)?);
        let count = values.len();
        Some(Estimate {
            mean,
            deviation,
            standard_error: deviation / (count as f64).sqrt(),
            degrees_of_freedom: count as f64 - 1.0,
            count,
            effective_count: count as f64,
        })
    }

    /// The mean of a series at equal distances of time, such as the NOPM of a window's intervals. `None` for fewer than
    /// [`SERIES_POINTS_MIN`], or where one is not finite.
    ///
    /// It tells how well the window knows its own mean, and nothing of how another run would differ.
    #[must_use]
    pub fn of_series(values: &[f64]) -> Option<Estimate> {
        if values.len() < SERIES_POINTS_MIN {
            return None;
        }
        let (mean, deviation) = (mean(values)?, deviation(values)?);
        let count = values.len();
        let cosines = cosines_of(count);
        let squares: f64 = (1..=cosines)
            .map(|cosine| projection(values, cosine).powi(2))
            .sum();
        let standard_error = (squares / cosines as f64 / count as f64).sqrt();
        // Of a constant series rounding is all that is left.
        let is_constant = deviation == 0.0 || standard_error <= mean.abs() * f64::EPSILON;
        Some(Estimate {
            mean,
            deviation,
            standard_error: if is_constant { 0.0 } else { standard_error },
            degrees_of_freedom: cosines as f64,
            count,
            effective_count: if is_constant {
                count as f64
            } else {
                (deviation / standard_error).powi(2)
            },
        })
    }

    /// Half the width of the interval that holds the true mean with [`CONFIDENCE`].
    #[must_use]
    pub fn half_width(&self) -> f64 {
        let student = Student {
            degrees_of_freedom: self.degrees_of_freedom,
        };
        student.reach(CONFIDENCE) * self.standard_error
    }

    /// [`Estimate::half_width`] by the mean; `None` where that is 0.
    #[must_use]
    pub fn half_width_share(&self) -> Option<f64> {
        (self.mean != 0.0).then(|| self.half_width() / self.mean.abs())
    }
}

/// Arithmetic mean; `None` where there is nothing, or something that is not finite.
#[must_use]
pub fn mean(values: &[f64]) -> Option<f64> {
    let is_finite = values.iter().all(|value| value.is_finite());
    (is_finite && !values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Sample standard deviation, with n - 1; `None` for fewer than two numbers, or where one is not finite.
#[must_use]
pub fn deviation(values: &[f64]) -> Option<f64> {
    let mean = mean(values).filter(|_| values.len() > 1)?;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    Some((squares / (values.len() as f64 - 1.0)).sqrt())
}

/// How much points at a distance of `lag` are alike, -1 to 1. `None` where the series is not longer than `lag`, is constant, or has a
/// value that is not finite.
#[must_use]
pub fn autocorrelation(values: &[f64], lag: usize) -> Option<f64> {
    let mean = mean(values).filter(|_| values.len() > lag)?;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let products: f64 = values
        .iter()
        .zip(&values[lag..])
        .map(|(one, other)| (one - mean) * (other - mean))
        .sum();
    (squares > 0.0).then(|| products / squares)
}

/// How many cosines the long-run variance of a series of `count` points is taken from.
pub(crate) fn cosines_of(count: usize) -> usize {
    let cosines = (COSINES_FACTOR * (count as f64).powf(2.0 / 3.0)) as usize;
    cosines.max(COSINES_MIN)
}

/// What a series has of the cosine that goes through `half_periods` of them from its first point to its last. The cosines from 1 on know
/// nothing of the mean, and their values for independent points have the points' own deviation.
pub(crate) fn projection(values: &[f64], half_periods: usize) -> f64 {
    let count = values.len() as f64;
    let step = PI * half_periods as f64 / count;
    let sum: f64 = values
        .iter()
        .enumerate()
        .map(|(index, value)| value * (step * (index as f64 + 0.5)).cos())
        .sum();
    (2.0 / count).sqrt() * sum
}

#[cfg(test)]
mod tests {
    use super::{CONFIDENCE, Estimate, autocorrelation, deviation, mean};
    use crate::noise::{Noise, Throughput};

    #[test]
    fn small_samples_by_hand() {
        let values = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0];
        assert_eq!(mean(&values), Some(5.0));
        assert!((deviation(&values).unwrap() - 2.138).abs() < 1e-3);
        let estimate = Estimate::of_repeats(&[10.0, 12.0, 14.0]).unwrap();
        assert_eq!((estimate.mean, estimate.deviation), (12.0, 2.0));
        // t with two degrees of freedom is 4.303; 2 / sqrt(3) is the error.
        assert!((estimate.half_width() - 4.968).abs() < 1e-3);
        assert!((estimate.half_width_share().unwrap() - 0.414).abs() < 1e-3);
    }

    #[test]
    fn what_says_nothing_has_no_estimate() {
        assert_eq!(mean(&[]), None);
        assert_eq!(mean(&[1.0, f64::NAN]), None);
        assert_eq!(deviation(&[1.0]), None);
        assert_eq!(Estimate::of_repeats(&[1.0]), None);
        assert_eq!(Estimate::of_series(&[1.0; 11]), None);
        assert_eq!(Estimate::of_series(&[f64::INFINITY; 20]), None);
        assert_eq!(autocorrelation(&[1.0, 2.0], 2), None);
        assert_eq!(autocorrelation(&[1.0; 9], 1), None);
    }

    #[test]
    fn a_constant_series_is_known() {
        for constant in [0.0, 1.1, 136_479.3] {
            let estimate = Estimate::of_series(&[constant; 100]).unwrap();
            assert_eq!(estimate.half_width(), 0.0);
            assert_eq!(estimate.effective_count, 100.0);
        }
    }

    #[test]
    fn neighbours_are_alike_as_they_were_made() {
        let series = Throughput {
            autocorrelation: 0.6,
            ..Throughput::steady(20_000)
        }
        .draw(&mut Noise::new(1));
        assert_eq!(autocorrelation(&series, 0), Some(1.0));
        for (lag, expected) in [(1, 0.6), (2, 0.36), (10, 0.0)] {
            let found = autocorrelation(&series, lag).unwrap();
            assert!((found - expected).abs() < 0.05, "{lag}: {found}");
        }
        // (1 - 0.6) / (1 + 0.6) of 20,000.
        let effective = Estimate::of_series(&series).unwrap().effective_count;
        assert!((4_000.0..6_200.0).contains(&effective), "{effective}");
    }

    /// Of 2,000 intervals, the share that holds the true mean.
    fn coverage(throughput: Throughput, estimate: impl Fn(&[f64]) -> f64) -> f64 {
        let mut noise = Noise::new(2);
        let trials = 2_000;
        let holds = (0..trials).filter(|_| {
            let series = throughput.draw(&mut noise);
            let error = mean(&series).unwrap() - throughput.mean;
            error.abs() <= estimate(&series)
        });
        holds.count() as f64 / f64::from(trials)
    }

    #[test]
    fn intervals_hold_the_mean_as_often_as_they_say() {
        // Chance is 1.5 points for 2,000 trials; what is left is bias of short series that hang together.
        for (intervals, autocorrelation, allowed) in [
            (60, 0.0, 0.015),
            (60, 0.5, 0.03),
            (120, 0.6, 0.03),
            (600, 0.6, 0.02),
            (600, 0.8, 0.025),
            (600, -0.4, 0.015),
        ] {
            let throughput = Throughput {
                autocorrelation,
                ..Throughput::steady(intervals)
            };
            let share = coverage(throughput, |series| {
                Estimate::of_series(series).unwrap().half_width()
            });
            assert!(
                (share - CONFIDENCE).abs() <= allowed,
                "{intervals} {autocorrelation}: {share}"
            );
        }
    }

    #[test]
    fn taking_intervals_for_repeats_would_be_wrong() {
        let throughput = Throughput {
            autocorrelation: 0.6,
            ..Throughput::steady(120)
        };
        let share = coverage(throughput, |series| {
            Estimate::of_repeats(series).unwrap().half_width()
        });
        assert!(share < 0.75, "{share}");
    }
}
