//! Tables as the white papers have them: a mean for each configuration or device, its ratio to a baseline, and the difference in percent.

use crate::statistics::Estimate;
use serde::Serialize;

/// A configuration with what it gave.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedMean {
    pub name: String,
    /// `None` is NA: the cell failed.
    pub mean: Option<f64>,
    /// Where more than the mean is known.
    pub estimate: Option<Estimate>,
}

/// A row of such a table. `None` where there is no number: NA, or no baseline above 0 to compare with.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RatioRow {
    pub name: String,
    pub mean: Option<f64>,
    /// Of the mean's interval.
    pub half_width: Option<f64>,
    /// The mean by the baseline's.
    pub ratio: Option<f64>,
    pub percent_difference: Option<f64>,
    /// The probability of such a difference where there is none, 0 to 1; `None` where an estimate is missing, and in the baseline's own row.
    pub p_value: Option<f64>,
}

/// The rows against the one that is named `baseline`, in their order; without ratios where none has that name.
#[must_use]
pub fn ratio_table(rows: &[NamedMean], baseline: &str) -> Vec<RatioRow> {
    let base = rows.iter().find(|row| row.name == baseline);
    rows.iter().map(|row| against(row, base)).collect()
}

fn against(row: &NamedMean, base: Option<&NamedMean>) -> RatioRow {
    let base_mean = base.and_then(|base| base.mean).filter(|mean| *mean > 0.0);
    let ratio = row.mean.zip(base_mean).map(|(mean, base)| mean / base);
    let estimates = row.estimate.zip(base.and_then(|base| base.estimate));
    let is_base = base.is_some_and(|base| base.name == row.name);
    RatioRow {
        name: row.name.clone(),
        mean: row.mean,
        half_width: row.estimate.map(|estimate| estimate.half_width()),
        ratio,
        percent_difference: ratio.map(|ratio| (ratio - 1.0) * 100.0),
        p_value: estimates
            .filter(|_| !is_base)
            .map(|(one, base)| one.compared_with(&base).p_value),
    }
}

#[cfg(test)]
mod tests {
    use super::{NamedMean, ratio_table};
    use crate::statistics::Estimate;

    fn named(name: &str, values: &[f64]) -> NamedMean {
        NamedMean {
            name: name.to_owned(),
            mean: crate::statistics::mean(values),
            estimate: Estimate::of_repeats(values),
        }
    }

    #[test]
    fn the_papers_columns() {
        let rows = [
            named("sata-850pro", &[55_378.0]),
            named("nvme-pm1725", &[136_479.0]),
            named("hdd-15k", &[]),
        ];
        let table = ratio_table(&rows, "sata-850pro");
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
        let rows = [
            named("config-1", &[100.0, 102.0, 98.0]),
            named("config-2", &[160.0, 158.0, 162.0]),
        ];
        let table = ratio_table(&rows, "config-1");
        assert_eq!(table[1].ratio, Some(1.6));
        assert!(table[1].p_value.unwrap() < 0.001 && table[0].p_value.is_none());
        assert!((table[0].half_width.unwrap() - 4.968).abs() < 1e-3);
        let none = ratio_table(&rows, "config-9");
        assert!(
            none.iter()
                .all(|row| row.ratio.is_none() && row.mean.is_some())
        );
    }

    #[test]
    fn a_baseline_without_a_number_compares_nothing() {
        for base in [named("base", &[]), named("base", &[0.0, 0.0])] {
            let table = ratio_table(&[base, named("other", &[5.0, 6.0])], "base");
            assert_eq!((table[1].ratio, table[1].percent_difference), (None, None));
            assert_eq!(table[1].mean, Some(5.5));
        }
    }
}
