//! Cells that differ in one thing alone, against the first of them: what that thing does, as the white papers' tables have it.

use crate::matrix::{Matrix, NamedValue};
use crate::outcomes::{CONNECTIONS, CellOutcome};
use crate::ratios::{Ratio, ratios};
use serde::Serialize;

/// A table of such cells.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CellComparison {
    /// What they differ in.
    pub dimension: String,
    /// What is equal in all of them and varies in the lab.
    pub others: Vec<NamedValue>,
    /// The value that the ratios are to: the first of those compared. A cell that was not begun yet is not among them.
    pub baseline: String,
    pub rows: Vec<ComparedCell>,
}

/// A row of the table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ComparedCell {
    pub value: String,
    pub ordinal: u32,
    /// Intervals and p-values are from the scatter between runs; of one repeat there are none.
    pub nopm: Ratio,
    pub new_order_p95_us: Ratio,
}

/// A table for each dimension but connections and each combination of the others.
pub(crate) fn comparisons(cells: &[CellOutcome], matrix: &Matrix) -> Vec<CellComparison> {
    let mut all = Vec::new();
    for (index, dimension) in matrix.dimensions().iter().enumerate() {
        if dimension.name == CONNECTIONS {
            continue;
        }
        for slice in matrix.slices(index) {
            let of: Vec<&CellOutcome> = slice.cells.iter().map(|(_, cell)| &cells[*cell]).collect();
            let nopm: Vec<_> = of.iter().map(|c| c.nopm.over_runs(c.basis)).collect();
            let p95 = of.iter().map(|c| c.new_order_p95_us.over_runs(c.basis));
            let p95: Vec<_> = p95.collect();
            let rows = of.iter().zip(&slice.cells);
            let numbers = ratios(&nopm, 0).into_iter().zip(ratios(&p95, 0));
            let rows: Vec<ComparedCell> = rows
                .zip(numbers)
                .map(
                    |((cell, (value, _)), (nopm, new_order_p95_us))| ComparedCell {
                        value: dimension.values[*value].clone(),
                        ordinal: cell.ordinal,
                        nopm,
                        new_order_p95_us,
                    },
                )
                .collect();
            let baseline = rows
                .first()
                .map_or_else(String::new, |row| row.value.clone());
            all.push(CellComparison {
                dimension: dimension.name.clone(),
                others: slice.others,
                baseline,
                rows,
            });
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::comparisons;
    use crate::matrix::Matrix;
    use crate::outcomes::{matrix, tests::cell};

    #[test]
    fn one_table_for_each_thing_that_varies() {
        let cells = [
            cell(1, ("hdd-15k", "200"), 8, &[10.0, 11.0, 9.0]),
            cell(2, ("hdd-15k", "2000"), 8, &[20.0, 21.0, 19.0]),
            cell(3, ("nvme-pm1725", "200"), 8, &[]),
            cell(4, ("nvme-pm1725", "2000"), 8, &[80.0]),
            cell(5, ("nvme-pm1725", "2000"), 16, &[90.0]),
        ];
        let found = comparisons(&cells, &matrix(&cells));
        let what: Vec<(&str, String, Vec<u32>)> = found
            .iter()
            .map(|table| {
                let others: Vec<String> = table.others.iter().map(|o| o.words()).collect();
                let cells = table.rows.iter().map(|row| row.ordinal).collect();
                (table.dimension.as_str(), others.join("; "), cells)
            })
            .collect();
        let row = |dimension, others: &str, cells| (dimension, others.to_owned(), cells);
        assert_eq!(
            what,
            [
                row("data", "innodb_io_capacity=200; 8 connections", vec![1, 3]),
                row("data", "innodb_io_capacity=2000; 8 connections", vec![2, 4]),
                row("innodb_io_capacity", "hdd-15k; 8 connections", vec![1, 2]),
                row(
                    "innodb_io_capacity",
                    "nvme-pm1725; 8 connections",
                    vec![3, 4]
                ),
            ]
        );
        let by_capacity = &found[2];
        assert_eq!(by_capacity.baseline, "200");
        let second = &by_capacity.rows[1];
        assert_eq!(
            (second.value.as_str(), second.nopm.ratio),
            ("2000", Some(2.0))
        );
        assert!(second.nopm.p_value.unwrap() < 0.001);
        assert_eq!(second.new_order_p95_us.mean, Some(20_000.0));
        // NA is no baseline, and one repeat has no interval.
        let without = &found[3].rows;
        assert_eq!((without[0].nopm.mean, without[1].nopm.ratio), (None, None));
        assert_eq!(without[1].nopm.half_width, None);
        assert!(comparisons(&[], &Matrix::of(&[])).is_empty());
    }
}
