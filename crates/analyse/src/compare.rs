//! Is one mean larger than another, by how much, and could chance have made the difference?

use crate::statistics::{CONFIDENCE, Estimate};
use crate::student::Student;
use serde::Serialize;

/// Below so many degrees of freedom a deviation says nothing that an effect could be measured by.
const EFFECT_FREEDOM_MIN: f64 = 1.5;

/// How a mean differs from that of a base.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// The mean less the base's; unit: theirs.
    pub difference: f64,
    /// Half the width of the difference's interval.
    pub difference_half_width: f64,
    /// The mean by the base's, with its interval; `None` unless both are above 0.
    pub ratio: Option<f64>,
    pub ratio_low: Option<f64>,
    pub ratio_high: Option<f64>,
    /// The difference in percent of the base's mean; `None` where that is not above 0.
    pub percent_difference: Option<f64>,
    /// Hedges' g* of two deviations: the difference in standard deviations of the numbers behind the means. `None` where these
    /// are too few or do not scatter.
    pub effect_size: Option<f64>,
    /// The probability of such a difference, or a larger one, where there is none: 0 to 1, two-sided.
    pub p_value: f64,
    pub degrees_of_freedom: f64,
}

impl Estimate {
    /// Welch's test: the two may scatter differently, and may rest on repeats or on series.
    #[must_use]
    pub fn compared_with(&self, base: &Estimate) -> Comparison {
        let difference = self.mean - base.mean;
        let variances = [self, base].map(|one| one.standard_error.powi(2));
        let error = variances.iter().sum::<f64>().sqrt();
        let freedoms = [self, base].map(|one| one.degrees_of_freedom);
        let student = satterthwaite(variances, freedoms);
        let p_value = match (error > 0.0, difference == 0.0) {
            (true, _) => student.two_sided_p(difference / error),
            (false, true) => 1.0,
            (false, false) => 0.0,
        };
        let reach = student.reach(CONFIDENCE);
        let is_positive = self.mean > 0.0 && base.mean > 0.0;
        let ratio = is_positive.then(|| self.mean / base.mean);
        // Of the ratio's logarithm, whose errors are the relative ones.
        let log_error = (self.standard_error / self.mean).hypot(base.standard_error / base.mean);
        let factor = (reach * log_error).exp();
        Comparison {
            difference,
            difference_half_width: reach * error,
            ratio,
            ratio_low: ratio.map(|ratio| ratio / factor),
            ratio_high: ratio.map(|ratio| ratio * factor),
            percent_difference: percent_difference(self.mean, base),
            effect_size: effect_size(self, base),
            p_value,
            degrees_of_freedom: student.degrees_of_freedom,
        }
    }
}

/// What `mean` has more than the base, in percent of the base.
fn percent_difference(mean: f64, base: &Estimate) -> Option<f64> {
    (base.mean > 0.0).then(|| (mean / base.mean - 1.0) * 100.0)
}

/// The distribution of a sum of two estimated variances (Welch and Satterthwaite).
fn satterthwaite(variances: [f64; 2], freedoms: [f64; 2]) -> Student {
    let sum: f64 = variances.iter().sum();
    let terms = variances.iter().zip(freedoms);
    let parts: f64 = terms
        .map(|(variance, freedom)| variance.powi(2) / freedom)
        .sum();
    Student {
        degrees_of_freedom: if parts > 0.0 {
            sum.powi(2) / parts
        } else {
            freedoms.iter().sum()
        },
    }
}

/// Hedges' g* by the mean of both variances (Delacre and others, 2021), with its correction for few degrees of freedom.
fn effect_size(one: &Estimate, base: &Estimate) -> Option<f64> {
    let variances = [one, base].map(|one| one.deviation.powi(2));
    let student = satterthwaite(variances, [one, base].map(|one| one.degrees_of_freedom));
    let freedom = student.degrees_of_freedom;
    let deviation = (variances.iter().sum::<f64>() / 2.0).sqrt();
    let correction = 1.0 - 3.0 / (4.0 * freedom - 1.0);
    (deviation > 0.0 && freedom >= EFFECT_FREEDOM_MIN)
        .then(|| correction * (one.mean - base.mean) / deviation)
}

#[cfg(test)]
mod tests {
    use super::Comparison;
    use crate::noise::{Noise, Throughput};
    use crate::statistics::{Estimate, mean};

    fn compared(values: &[f64], base: &[f64]) -> Comparison {
        let of = |values| Estimate::of_repeats(values).unwrap();
        of(values).compared_with(&of(base))
    }

    #[test]
    fn a_textbook_case() {
        // By hand: means 20.82 and 23.66, variances 7.867 and 6.938, t = -2.859 with 27.89 degrees of freedom; the tables have
        // 2.763 for p = 0.01 and 3.047 for 0.005.
        let one = [
            27.5, 21.0, 19.0, 23.6, 17.0, 17.9, 16.9, 20.1, 21.9, 22.6, 23.1, 19.6, 19.0, 21.7,
            21.4,
        ];
        let base = [
            27.1, 22.0, 20.8, 23.4, 23.4, 23.5, 25.8, 22.0, 24.8, 20.2, 21.9, 22.1, 22.9, 30.5,
            24.5,
        ];
        let found = compared(&one, &base);
        assert!((found.degrees_of_freedom - 27.89).abs() < 0.01, "{found:?}");
        assert!((found.p_value - 0.008).abs() < 0.0005, "{found:?}");
        // (20.82 - 23.66) / 2.721, less 2.7 %.
        assert!((found.effect_size.unwrap() + 1.0155).abs() < 1e-3);
        let mirrored = compared(&base, &one);
        assert_eq!(mirrored.p_value, found.p_value);
        assert_eq!(mirrored.difference, -found.difference);
    }

    #[test]
    fn ratio_and_percent() {
        let found = compared(&[150.0, 151.0, 149.0], &[100.0, 101.0, 99.0]);
        assert_eq!(found.ratio, Some(1.5));
        assert!((found.percent_difference.unwrap() - 50.0).abs() < 1e-9);
        let (low, high) = (found.ratio_low.unwrap(), found.ratio_high.unwrap());
        assert!(low < 1.5 && high > 1.5 && high - low < 0.1, "{low} {high}");
        assert!(found.p_value < 1e-4);
        // 50 deviations of 1, less the correction for four degrees of freedom.
        assert!((found.effect_size.unwrap() - 50.0 * 0.8).abs() < 1e-9);
    }

    #[test]
    fn what_does_not_scatter() {
        let same = compared(&[5.0, 5.0], &[5.0, 5.0]);
        assert_eq!((same.p_value, same.effect_size), (1.0, None));
        let other = compared(&[5.0, 5.0], &[4.0, 4.0]);
        assert_eq!((other.p_value, other.difference_half_width), (0.0, 0.0));
        let nothing = compared(&[1.0, 2.0], &[0.0, 0.0]);
        assert_eq!((nothing.ratio, nothing.percent_difference), (None, None));
    }

    const TRIALS: u32 = 2_000;

    /// How often p is below 0.05.
    fn rejected(mut draw: impl FnMut(&mut Noise) -> Comparison) -> f64 {
        let mut noise = Noise::new(3);
        let found = (0..TRIALS).filter(|_| draw(&mut noise).p_value < 0.05);
        found.count() as f64 / f64::from(TRIALS)
    }

    /// The base scatters half as much again and hangs together more.
    fn pair(intervals: usize, gain: f64) -> [Throughput; 2] {
        let one = Throughput {
            autocorrelation: 0.3,
            mean: 10_000.0 * (1.0 + gain),
            ..Throughput::steady(intervals)
        };
        let base = Throughput {
            deviation_share: 0.15,
            autocorrelation: 0.5,
            ..Throughput::steady(intervals)
        };
        [one, base]
    }

    fn of_repeats(pair: [Throughput; 2], repeats: usize, noise: &mut Noise) -> Comparison {
        let [one, base] = pair.map(|one| {
            let nopm: Vec<f64> = (0..repeats)
                .map(|_| mean(&one.draw(noise)).unwrap())
                .collect();
            Estimate::of_repeats(&nopm).unwrap()
        });
        one.compared_with(&base)
    }

    #[test]
    fn a_against_a_is_called_different_once_in_twenty() {
        // Three deviations of chance for 2,000 trials are 1.5 points.
        let expected = 0.035..=0.065;
        for repeats in [5, 10] {
            let rate = rejected(|noise| of_repeats(pair(60, 0.0), repeats, noise));
            assert!(expected.contains(&rate), "{repeats} repeats: {rate}");
        }
        // Welch's test is a little careful with very few.
        let rate = rejected(|noise| of_repeats(pair(60, 0.0), 3, noise));
        assert!((0.02..=0.065).contains(&rate), "3 repeats: {rate}");
    }

    #[test]
    fn a_true_difference_is_found() {
        // 10 % more; a mean of 60 intervals is known to 3.6 % and 1.8 %.
        let of_five = rejected(|noise| of_repeats(pair(60, 0.1), 5, noise));
        assert!(of_five > 0.98, "{of_five}");
    }

    #[test]
    fn a_small_effect_is_measured_without_bias() {
        let mut noise = Noise::new(4);
        let sizes: Vec<f64> = (0..TRIALS)
            .map(|_| of_repeats(pair(60, 0.05), 5, &mut noise))
            .map(|found| found.effect_size.unwrap())
            .collect();
        // 5 % by the root of the mean of the means' variances, 1.8 % and 3.3 %.
        let size = mean(&sizes).unwrap();
        assert!((1.5..2.3).contains(&size), "{size}");
    }
}
