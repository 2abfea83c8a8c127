//! Cells that differ in one thing alone, against the first of them: what that thing does, as the
//! white papers' tables have it.

use crate::lab::cells::{CellOutcome, blocks};
use crate::lab::matrix::{CONNECTIONS, Matrix, NamedValue};
use crate::lab::ratios::{Ratio, correct};
use crate::run::runs::MeanValue;
use crate::stats::blocks::{Base, Blocks};
use serde::Serialize;

/// A table of such cells.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CellComparison {
    /// What they differ in.
    pub dimension: String,
    /// What is equal in all of them and varies in the lab.
    pub others: Vec<NamedValue>,
    /// The value that the ratios are to: the first of those compared. A cell that was not begun yet
    /// is not among them.
    pub baseline: String,
    pub rows: Vec<ComparedCell>,
}

/// A row of the table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ComparedCell {
    pub value: String,
    pub ordinal: u32,
    pub nopm: Ratio,
    pub new_order_p95_us: Ratio,
}

/// A table for each dimension but connections and each combination of the others. Corrected
/// p-values are those of all tables of one dimension together.
pub(crate) fn comparisons(cells: &[CellOutcome], matrix: &Matrix) -> Vec<CellComparison> {
    let nopm = blocks(cells, |repeat| repeat.nopm);
    let p95 = blocks(cells, |repeat| repeat.new_order_p95_us);
    let mut all = Vec::new();
    for (index, dimension) in matrix.dimensions().iter().enumerate() {
        if dimension.name == CONNECTIONS {
            continue;
        }
        let mut tables = Vec::new();
        for slice in matrix.slices(index) {
            let Some(&(first, base)) = slice.cells.first() else { continue };
            let row = |(value, place): &(usize, usize)| {
                let cell = &cells[*place];
                let ratio = |model: &Blocks, of: &MeanValue| {
                    if *place == base {
                        return Ratio::of_baseline(of);
                    }
                    Ratio::of(of, model.contrast(*place, Base(base)).as_ref())
                };
                ComparedCell {
                    value: dimension.values[*value].clone(),
                    ordinal: cell.ordinal,
                    nopm: ratio(&nopm, &cell.nopm),
                    new_order_p95_us: ratio(&p95, &cell.new_order_p95_us),
                }
            };
            tables.push(CellComparison {
                dimension: dimension.name.clone(),
                baseline: dimension.values[first].clone(),
                rows: slice.cells.iter().map(row).collect(),
                others: slice.others,
            });
        }
        let rows = tables.iter_mut().flat_map(|table| &mut table.rows);
        let (nopm, p95) = rows.map(|row| (&mut row.nopm, &mut row.new_order_p95_us)).unzip();
        correct(nopm);
        correct(p95);
        all.extend(tables);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::comparisons;
    use crate::lab::cells::{CellOutcome, matrix, tests::cell};
    use crate::lab::matrix::Matrix;

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
                row("innodb_io_capacity", "nvme-pm1725; 8 connections", vec![3, 4]),
            ]
        );
        let by_capacity = &found[2];
        assert_eq!(by_capacity.baseline, "200");
        let second = &by_capacity.rows[1];
        assert_eq!(second.value, "2000");
        assert!((second.nopm.ratio.value.unwrap() - 2.0).abs() < 0.01);
        assert!(second.nopm.p_value.unwrap() < 0.01 && second.nopm.differs());
        assert!(second.nopm.ratio.low.unwrap() > 1.5);
        assert_eq!(second.new_order_p95_us.mean, Some(20_000.0));
        // NA is no baseline, and one repeat has no interval.
        let without = &found[3].rows;
        assert_eq!((without[0].nopm.mean, without[1].nopm.ratio.value), (None, None));
        assert_eq!(without[1].nopm.half_width, None);
        assert!(comparisons(&[], &Matrix::of(&[])).is_empty());
    }

    /// Two devices of which the second gives 20 % more, on a machine that is slower by a tenth in
    /// each block.
    fn drifting(repeats: usize) -> [CellOutcome; 2] {
        let on = |device, gain: f64, noise: [f64; 4]| {
            let drift = [1_000.0, 900.0, 820.0, 740.0];
            let repeats = drift.iter().zip(noise).take(repeats);
            let nopm: Vec<f64> = repeats.map(|(drift, noise)| drift * gain * noise).collect();
            cell(1, (device, "200"), 8, &nopm)
        };
        [
            on("hdd-15k", 1.0, [1.0, 1.01, 0.995, 1.0]),
            on("nvme-pm1725", 1.2, [1.01, 1.0, 1.0, 0.99]),
        ]
    }

    #[test]
    fn drift_between_blocks_hides_no_difference() {
        let cells = drifting(4);
        let found = &comparisons(&cells, &matrix(&cells))[0].rows[1].nopm;
        assert!(found.p_value.unwrap() < 0.001, "{found:?}");
        assert!(found.differs() && found.ratio.low.unwrap() > 1.15);
        // Two repeats have an interval, and one has none; neither supports a claim.
        let cells = drifting(2);
        let found = &comparisons(&cells, &matrix(&cells))[0].rows[1].nopm;
        assert!(found.p_value.is_some() && found.p_corrected.is_none() && !found.differs());
        let cells = drifting(1);
        let found = &comparisons(&cells, &matrix(&cells))[0].rows[1].nopm;
        assert!(found.ratio.value.is_some() && found.p_value.is_none() && !found.differs());
    }

    #[test]
    fn looking_at_many_groups_is_corrected() {
        // One group of eight has p of about 0.02 by chance.
        let mut cells = Vec::new();
        for group in 0..8 {
            let capacity = format!("{}", 100 * (group + 1));
            let base = [100.0, 103.0, 98.0, 101.0, 99.0];
            let chance = if group == 3 { 1.026 } else { 1.001 };
            let shuffled = [99.0, 101.0, 100.0, 98.0, 103.0].map(|value| value * chance);
            let place = |device| (device, capacity.as_str());
            cells.push(cell(2 * group + 1, place("a"), 8, &base));
            cells.push(cell(2 * group + 2, place("b"), 8, &shuffled));
        }
        let tables = comparisons(&cells, &matrix(&cells));
        let found = &tables[3].rows[1].nopm;
        assert_eq!(tables[3].dimension, "data");
        let (plain, corrected) = (found.p_value.unwrap(), found.p_corrected.unwrap());
        assert!(plain < 0.05 && corrected > 0.05, "{plain} {corrected}");
        assert!(!found.differs());
    }
}
