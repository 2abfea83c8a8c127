//! Columns as the white papers' tables have them: a mean for each configuration or device, its ratio to a baseline, and the difference in
//! percent.

use crate::runs::{ONE_REPEAT_SHARE, SIGNIFICANT, Value};
use serde::Serialize;

/// How a mean stands to a baseline. `None` where there is no number: NA, or no baseline above 0 to compare with.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Ratio {
    pub mean: Option<f64>,
    /// Of the mean's interval.
    pub half_width: Option<f64>,
    /// The mean by the baseline's.
    pub ratio: Option<f64>,
    pub percent_difference: Option<f64>,
    /// The probability of such a difference where there is none, 0 to 1; `None` where an estimate is missing, and of the baseline itself.
    pub p_value: Option<f64>,
}

impl Ratio {
    /// Is there a difference that chance makes less often than once in twenty? Of single repeats, from 2 % on.
    #[must_use]
    pub fn differs(&self) -> bool {
        match (self.p_value, self.percent_difference) {
            (Some(p), _) => p < SIGNIFICANT,
            (None, Some(percent)) => percent.abs() >= ONE_REPEAT_SHARE * 100.0,
            (None, None) => false,
        }
    }
}

/// Each value against that at the index `baseline`, in their order; without ratios where there is none.
#[must_use]
pub fn ratios(values: &[Value], baseline: usize) -> Vec<Ratio> {
    let base = values.get(baseline);
    let against = |(index, value): (usize, &Value)| {
        let base_mean = base.and_then(|base| base.mean).filter(|mean| *mean > 0.0);
        let ratio = value.mean.zip(base_mean).map(|(mean, base)| mean / base);
        let estimates = value.estimate.zip(base.and_then(|base| base.estimate));
        Ratio {
            mean: value.mean,
            half_width: value.estimate.map(|estimate| estimate.half_width()),
            ratio,
            percent_difference: ratio.map(|ratio| (ratio - 1.0) * 100.0),
            p_value: estimates
                .filter(|_| index != baseline)
                .map(|(one, base)| one.compared_with(&base).p_value),
        }
    };
    values.iter().enumerate().map(against).collect()
}

#[cfg(test)]
mod tests {
    use super::ratios;
    use crate::runs::Value;

    #[test]
    fn the_papers_columns() {
        let table = ratios(
            &[&[55_378.0][..], &[136_479.0], &[]].map(Value::of_repeats),
            0,
        );
        assert_eq!(
            (table[0].ratio, table[0].percent_difference),
            (Some(1.0), Some(0.0))
        );
        assert!((table[1].ratio.unwrap() - 2.4645).abs() < 1e-4);
        assert!((table[1].percent_difference.unwrap() - 146.45).abs() < 0.01);
        // One number each: no interval, and no test.
        assert_eq!((table[1].half_width, table[1].p_value), (None, None));
        // NA stays NA.
        assert_eq!((table[2].mean, table[2].ratio), (None, None));
    }

    #[test]
    fn repeats_have_intervals_and_tests() {
        let values =
            [[100.0, 102.0, 98.0], [160.0, 158.0, 162.0]].map(|all| Value::of_repeats(&all));
        let table = ratios(&values, 0);
        assert_eq!(table[1].ratio, Some(1.6));
        assert!(table[1].p_value.unwrap() < 0.001 && table[0].p_value.is_none());
        assert!((table[0].half_width.unwrap() - 4.968).abs() < 1e-3);
        let none = ratios(&values, 9);
        assert!(
            none.iter()
                .all(|row| row.ratio.is_none() && row.mean.is_some())
        );
    }

    #[test]
    fn a_baseline_without_a_number_compares_nothing() {
        for base in [&[][..], &[0.0, 0.0]] {
            let table = ratios(&[base, &[5.0, 6.0]].map(Value::of_repeats), 0);
            assert_eq!((table[1].ratio, table[1].percent_difference), (None, None));
            assert_eq!(table[1].mean, Some(5.5));
        }
    }
}
