//! Means with their uncertainty: over repeats, which know nothing of each other, and over the
//! intervals of one window, which do.
//!
//! The points of a throughput series hang together: a flush or a checkpoint slows several intervals
//! in a row, and another guest of the machine many. Dividing their deviation by the root of their
//! count gives intervals that are far too narrow. `memory` tells what the mean has of all that, and
//! when a window is too short to say. docs/statistics.md has the reasons and the coverage.

use crate::stats::memory::{Condensed, Expected};
use crate::stats::student::Student;
use serde::Serialize;
use std::fmt;

/// The share of intervals that hold what they are intervals for.
pub const CONFIDENCE: f64 = 0.95;
/// Points below which a series says nothing of its own correlation.
pub const SERIES_POINTS_MIN: usize = 24;
/// Numbers that scatter by less than this share of their mean are equal but for rounding.
const ROUNDING_SHARE: f64 = 1e-12;
/// From this probability on that a series is too short to tell, it tells nothing.
const TOO_SHORT_MIN: f64 = 0.5;

/// Why nothing is said of how well a mean is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NoInterval {
    /// One repeat, where the scatter between repeats is asked for.
    OneRepeat,
    /// A window of fewer than [`SERIES_POINTS_MIN`] intervals.
    FewIntervals,
    /// The numbers wander so slowly that the window probably holds fewer than four of the times
    /// that the wander takes.
    SlowWander,
    /// A number that is not finite.
    NotFinite,
}

/// For people, after "because".
impl fmt::Display for NoInterval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = match self {
            NoInterval::OneRepeat => "there is one repeat only",
            NoInterval::FewIntervals => {
                return write!(f, "the window has fewer than {SERIES_POINTS_MIN} intervals");
            }
            NoInterval::SlowWander => "throughput wanders too slowly for a window of this length",
            NoInterval::NotFinite => "a number of it is not finite",
        };
        f.write_str(words)
    }
}

/// A ratio with its 95 % interval; `None` is not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct RatioInterval {
    #[serde(rename = "ratio")]
    pub value: Option<f64>,
    #[serde(rename = "ratio_low")]
    pub low: Option<f64>,
    #[serde(rename = "ratio_high")]
    pub high: Option<f64>,
}

impl RatioInterval {
    pub fn of(value: Option<f64>, interval: Option<[f64; 2]>) -> RatioInterval {
        let [low, high] = [0, 1].map(|end| interval.map(|ends| ends[end]));
        RatioInterval { value, low, high }
    }

    /// Both ends; `None` where there is no interval.
    pub fn interval(&self) -> Option<(f64, f64)> {
        self.low.zip(self.high)
    }
}

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
    /// Independent numbers that would tell as much of the mean. Above `count` where neighbours make
    /// up for each other.
    pub effective_count: f64,
}

impl Estimate {
    /// The mean of numbers that do not depend on each other, such as the NOPM of repeats. `None`
    /// for fewer than two, or where one is not finite.
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

    /// The mean of a series at equal distances of time, such as the NOPM of a window's intervals.
    ///
    /// It tells how well the window knows its own mean, and nothing of how another run would
    /// differ.
    ///
    /// # Errors
    /// Why the window does not know.
    pub fn of_series(values: &[f64]) -> Result<Estimate, NoInterval> {
        if values.len() < SERIES_POINTS_MIN {
            return Err(NoInterval::FewIntervals);
        }
        let independent = Estimate::of_repeats(values).ok_or(NoInterval::NotFinite)?;
        let Estimate { mean, deviation, .. } = independent;
        let condensed = Condensed::of(values);
        // Of a constant series rounding is all that is left.
        let moves = deviation > ROUNDING_SHARE * mean.abs();
        let found = condensed.expected(0).filter(|_| moves);
        let Some(Expected { variance, degrees_of_freedom, too_short }) = found else {
            return Ok(Estimate { standard_error: 0.0, ..independent });
        };
        if too_short >= TOO_SHORT_MIN {
            return Err(NoInterval::SlowWander);
        }
        let standard_error = (variance / condensed.values.len() as f64).sqrt();
        let effective_count = (deviation / standard_error).powi(2);
        Ok(Estimate { standard_error, degrees_of_freedom, effective_count, ..independent })
    }

    /// Half the width of the interval that holds the true mean with [`CONFIDENCE`].
    pub fn half_width(&self) -> f64 {
        let student = Student { degrees_of_freedom: self.degrees_of_freedom };
        student.reach(CONFIDENCE) * self.standard_error
    }

    /// [`Estimate::half_width`] by the mean; `None` where that is 0.
    pub fn half_width_share(&self) -> Option<f64> {
        (self.mean != 0.0).then(|| self.half_width() / self.mean.abs())
    }
}

/// Arithmetic mean; `None` where there is nothing, or something that is not finite.
pub fn mean(values: &[f64]) -> Option<f64> {
    let is_finite = values.iter().all(|value| value.is_finite());
    (is_finite && !values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Sample standard deviation, with n - 1; `None` for fewer than two numbers, or where one is not
/// finite.
pub fn deviation(values: &[f64]) -> Option<f64> {
    let mean = mean(values).filter(|_| values.len() > 1)?;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    Some((squares / (values.len() as f64 - 1.0)).sqrt())
}

#[cfg(test)]
mod tests {
    use super::{CONFIDENCE, Estimate, NoInterval, deviation, mean};
    use crate::stats::noise::{Noise, Throughput};

    /// How much points at a distance of `lag` are alike, -1 to 1.
    fn autocorrelation(values: &[f64], lag: usize) -> f64 {
        let mean = mean(values).unwrap();
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let pairs = values.iter().zip(&values[lag..]);
        pairs.map(|(one, other)| (one - mean) * (other - mean)).sum::<f64>() / squares
    }

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
        assert_eq!(Estimate::of_series(&[1.0; 23]), Err(NoInterval::FewIntervals));
        assert_eq!(Estimate::of_series(&[f64::INFINITY; 30]), Err(NoInterval::NotFinite));
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
        let series = Throughput { autocorrelation: 0.6, ..Throughput::steady(20_000) }
            .draw(&mut Noise::new(1));
        assert_eq!(autocorrelation(&series, 0), 1.0);
        for (lag, expected) in [(1, 0.6), (2, 0.36), (10, 0.0)] {
            let found = autocorrelation(&series, lag);
            assert!((found - expected).abs() < 0.05, "{lag}: {found}");
        }
        // (1 - 0.6) / (1 + 0.6) of 20,000.
        let effective = Estimate::of_series(&series).unwrap().effective_count;
        assert!((4_000.0..6_200.0).contains(&effective), "{effective}");
    }

    const TRIALS: u32 = 200;

    /// Of [`TRIALS`] windows, the share that has an interval and, of these, the share whose
    /// interval holds the true mean.
    fn coverage(
        throughput: Throughput,
        estimate: impl Fn(&[f64]) -> Option<Estimate>,
    ) -> (f64, f64) {
        let mut noise = Noise::new(2);
        let (mut given, mut holding) = (0, 0);
        for _ in 0..TRIALS {
            let found = estimate(&throughput.draw(&mut noise));
            given += u32::from(found.is_some());
            holding +=
                u32::from(found.is_some_and(|found| {
                    (found.mean - throughput.mean).abs() <= found.half_width()
                }));
        }
        let given = f64::from(given);
        (given / f64::from(TRIALS), f64::from(holding) / given)
    }

    #[test]
    fn intervals_hold_the_mean_as_often_as_they_say() {
        // Three deviations of chance are 4.6 points. Where nothing is known of a wander that may be
        // there, intervals are wider than this noise needs.
        for (intervals, autocorrelation) in [
            (60, 0.0),
            (60, 0.5),
            (120, 0.6),
            (300, 0.9),
            (600, 0.8),
            (600, 0.9),
            (600, -0.4),
            (1_800, 0.98),
        ] {
            let throughput = Throughput { autocorrelation, ..Throughput::steady(intervals) };
            let (given, holding) = coverage(throughput, |series| Estimate::of_series(series).ok());
            let told = format!("{intervals} {autocorrelation}: {given} {holding}");
            assert!(given > 0.95 && holding > CONFIDENCE - 0.046, "{told}");
        }
    }

    #[test]
    fn a_window_that_is_too_short_has_no_interval() {
        // A correlation time is 99 intervals.
        for (intervals, given_max, wrong_max) in [(60, 0.2, 0.12), (300, 0.7, 0.1)] {
            let throughput = Throughput { autocorrelation: 0.98, ..Throughput::steady(intervals) };
            let (given, holding) = coverage(throughput, |series| Estimate::of_series(series).ok());
            let wrong = given * (1.0 - holding);
            let told = format!("{intervals}: {given} {wrong}");
            assert!(given < given_max && wrong < wrong_max, "{told}");
        }
        let rising: Vec<f64> = (0..100).map(f64::from).collect();
        assert_eq!(Estimate::of_series(&rising), Err(NoInterval::SlowWander));
    }

    #[test]
    fn taking_intervals_for_repeats_would_be_wrong() {
        let throughput = Throughput { autocorrelation: 0.6, ..Throughput::steady(120) };
        let (_, share) = coverage(throughput, Estimate::of_repeats);
        assert!(share < 0.75, "{share}");
    }
}
