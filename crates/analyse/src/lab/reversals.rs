//! Settings that help in one place and hurt in another: what is best is then no property of the
//! setting.

use crate::lab::comparisons::CellComparison;
use crate::lab::matrix::NamedValue;
use base::by_key;
use serde::Serialize;

/// One value against the baseline, in all combinations of what else varies.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reversal {
    /// What is compared: `preset`.
    pub dimension: String,
    pub baseline: String,
    pub value: String,
    /// Where it has more throughput than the baseline, and where less.
    pub helps: Vec<ReversalPlace>,
    pub hurts: Vec<ReversalPlace>,
}

/// What else was set, and how much that gave.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReversalPlace {
    pub others: Vec<NamedValue>,
    pub percent_difference: f64,
}

/// Those of a lab: each has places where the value helps and places where it hurts. Differences
/// that chance may make, given how many places were looked at, are in neither.
pub(crate) fn reversals(comparisons: &[CellComparison]) -> Vec<Reversal> {
    let rows = comparisons.iter().flat_map(|of| of.rows.iter().map(move |row| (of, row)));
    let differences = by_key(rows.filter_map(|(of, row)| {
        let percent_difference = row.nopm.percent_difference.filter(|_| row.nopm.differs())?;
        let place = ReversalPlace { others: of.others.clone(), percent_difference };
        Some(([&of.dimension, &of.baseline, &row.value], place))
    }));
    let reversal = |(what, places): ([&String; 3], Vec<ReversalPlace>)| {
        let [dimension, baseline, value] = what.map(String::clone);
        let (helps, hurts) = places.into_iter().partition(|of| of.percent_difference > 0.0);
        Reversal { dimension, baseline, value, helps, hurts }
    };
    let all = differences.into_iter().map(reversal);
    all.filter(|of| !of.helps.is_empty() && !of.hurts.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::reversals;
    use crate::lab::cells::{matrix, tests::cell};
    use crate::lab::comparisons::comparisons;

    #[test]
    fn a_setting_that_helps_one_device_and_hurts_another() {
        let on = |nvme: &[f64]| {
            let cells = [
                cell(1, ("hdd-15k", "200"), 8, &[10.0, 11.0, 9.0]),
                cell(2, ("hdd-15k", "2000"), 8, &[5.0, 5.5, 4.5]),
                cell(3, ("nvme-pm1725", "200"), 8, &[100.0, 101.0, 99.0]),
                cell(4, ("nvme-pm1725", "2000"), 8, nvme),
            ];
            reversals(&comparisons(&cells, &matrix(&cells)))
        };
        let found = on(&[150.0, 151.0, 149.0]);
        assert_eq!(found.len(), 1);
        let of = &found[0];
        assert_eq!(
            (of.dimension.as_str(), of.baseline.as_str(), of.value.as_str()),
            ("innodb_io_capacity", "200", "2000")
        );
        assert_eq!((of.helps.len(), of.hurts.len()), (1, 1));
        assert_eq!(of.helps[0].others[0].value, "nvme-pm1725");
        assert!((of.hurts[0].percent_difference + 50.0).abs() < 0.1);
        // Worse there too; and better by no more than scatter makes.
        assert!(on(&[80.0, 81.0, 79.0]).is_empty());
        assert!(on(&[101.0, 103.0, 99.5]).is_empty());
        // Fewer than three repeats support no claim.
        assert!(on(&[150.0]).is_empty() && on(&[150.0, 151.0]).is_empty());
    }
}
