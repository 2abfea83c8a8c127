//! What each setting of a lab does by itself, from all cells at once: a lab that was searched has
//! few cells that differ in one thing alone.
//!
//! The model is ln(throughput) = block + the sum of what the values do + noise, by least squares.
//! It knows no interplay: what two settings do only together is noise to it.

use crate::lab::cells::CellOutcome;
use crate::lab::matrix::{Dimension, Matrix};
use crate::stats::linear::{FitRow, FitSum, LeastSquares};
use crate::stats::statistics::{CONFIDENCE, RatioInterval};
use crate::stats::student::Student;
use serde::Serialize;
use std::collections::BTreeMap;

/// What the values of one dimension do.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DimensionEffects {
    pub dimension: String,
    /// The value that ratios are to: the first.
    pub baseline: String,
    /// All others.
    pub values: Vec<ValueEffect>,
}

/// What one value does, with all others as they may be.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ValueEffect {
    pub value: String,
    /// Measurements with it.
    pub repeats: usize,
    /// Throughput with it by that with the baseline; `None` where the cells cannot tell it from
    /// another setting.
    #[serde(flatten)]
    pub ratio: RatioInterval,
}

/// The effects of all dimensions of a lab that has two of them at least.
pub(crate) fn effects(cells: &[CellOutcome], matrix: &Matrix) -> Vec<DimensionEffects> {
    if matrix.dimensions().len() < 2 {
        return Vec::new();
    }
    fitted(cells, matrix)
}

/// The effects of all dimensions.
pub(crate) fn fitted(cells: &[CellOutcome], matrix: &Matrix) -> Vec<DimensionEffects> {
    let dimensions = matrix.dimensions();
    // Each value of a dimension but its first has a column.
    let mut columns = 0;
    let mut first_column = Vec::new();
    for dimension in dimensions {
        first_column.push(columns);
        columns += dimension.values.len() - 1;
    }
    let mut blocks: BTreeMap<u32, usize> = BTreeMap::new();
    let mut rows = Vec::new();
    for (place, cell) in cells.iter().enumerate() {
        for repeat in &cell.repeats {
            let Some(nopm) = repeat.nopm.filter(|nopm| *nopm > 0.0) else { continue };
            let next = blocks.len();
            let values = first_column.iter().zip(matrix.places(place));
            let others = values.filter(|(_, value)| **value > 0);
            rows.push(FitRow {
                group: *blocks.entry(repeat.block).or_insert(next),
                columns: others.map(|(first, value)| first + value - 1).collect(),
                value: nopm.ln(),
            });
        }
    }
    if rows.is_empty() {
        return Vec::new();
    }
    let fit = LeastSquares::of(&rows, columns);
    let left: Vec<FitSum> = rows.iter().map(|row| fit.residual(row)).collect();
    let squares: f64 = left.iter().map(|left| left.value.powi(2)).sum();
    // Whole but for rounding.
    let freedom = left.iter().map(|left| 1.0 - left.spread).sum::<f64>().round();
    let student = Student { degrees_of_freedom: freedom };
    let interval = |of: FitSum| {
        let error = (squares / freedom.max(1.0) * of.spread).max(0.0).sqrt();
        let reach = student.reach(CONFIDENCE) * error;
        [of.value - reach, of.value + reach].map(f64::exp)
    };
    let counted = |column: usize| rows.iter().filter(|row| row.columns.contains(&column)).count();
    let effect = |value: &String, column: usize| {
        let found = fit.effect(column);
        let known = found.filter(|_| freedom >= 1.0).map(interval);
        let ratio = RatioInterval::of(found.map(|of| of.value.exp()), known);
        ValueEffect { value: value.clone(), repeats: counted(column), ratio }
    };
    let of_dimension = |(index, dimension): (usize, &Dimension)| {
        let others = dimension.values[1..].iter().enumerate();
        DimensionEffects {
            dimension: dimension.name.clone(),
            baseline: dimension.values[0].clone(),
            values: others.map(|(at, value)| effect(value, first_column[index] + at)).collect(),
        }
    };
    dimensions.iter().enumerate().map(of_dimension).collect()
}

#[cfg(test)]
mod tests {
    use super::effects;
    use crate::lab::cells::{matrix, tests::cell};
    use crate::stats::noise::Noise;

    #[test]
    fn each_setting_has_its_own_part() {
        let mut noise = Noise::new(5);
        let mut cells = Vec::new();
        // Of six combinations one was never measured; devices and capacities multiply.
        for (device, of_device) in [("a", 1.0), ("b", 2.0)] {
            for (capacity, of_capacity) in [("200", 1.0), ("400", 1.1), ("800", 0.8)] {
                let repeats = if (device, capacity) == ("b", "400") { 0 } else { 6 };
                let nopm: Vec<f64> = (0..repeats)
                    .map(|block| {
                        let drift = 1.0 - 0.05 * f64::from(block);
                        1000.0 * drift * of_device * of_capacity * (0.01 * noise.normal()).exp()
                    })
                    .collect();
                cells.push(cell(cells.len() as u32 + 1, (device, capacity), 8, &nopm));
            }
        }
        let found = effects(&cells, &matrix(&cells));
        let names: Vec<&str> = found.iter().map(|of| of.dimension.as_str()).collect();
        assert_eq!(names, ["data", "innodb_io_capacity"]);
        for (of, value, truth) in [(0, 0, 2.0), (1, 0, 1.1), (1, 1, 0.8)] {
            let effect = &found[of].values[value];
            assert!((effect.ratio.value.unwrap() / truth - 1.0).abs() < 0.02, "{effect:?}");
            assert!(effect.ratio.low.unwrap() < truth * 1.01, "{effect:?}");
            assert!(effect.ratio.high.unwrap() > truth * 0.99, "{effect:?}");
        }
        assert_eq!(found[1].values[0].repeats, 6);
    }

    #[test]
    fn what_cannot_be_told_apart_is_not_told() {
        // The device changes with the capacity but for a cell that has no result.
        let cells = [
            cell(1, ("a", "200"), 8, &[100.0, 101.0]),
            cell(2, ("b", "400"), 8, &[200.0, 203.0]),
            cell(3, ("a", "400"), 8, &[]),
        ];
        let found = effects(&cells, &matrix(&cells));
        assert_eq!(found[0].values[0].ratio.value, None);
        assert_eq!(found[1].values[0].ratio.value, None);
        // The first value has no result: nothing can be told against it.
        let capacities = [("200", 0.0), ("400", 100.0), ("800", 200.0)];
        let devices = ["a", "b"];
        let mut cells = Vec::new();
        for (device, of) in devices.into_iter().zip([1.0, 3.0]) {
            for (capacity, nopm) in capacities {
                let nopm: Vec<f64> = (1..=3)
                    .map(|block| nopm * of * f64::from(block))
                    .filter(|n| *n > 0.0)
                    .collect();
                cells.push(cell(cells.len() as u32 + 1, (device, capacity), 8, &nopm));
            }
        }
        let found = effects(&cells, &matrix(&cells));
        assert!((found[0].values[0].ratio.value.unwrap() - 3.0).abs() < 1e-6, "{found:?}");
        assert!(found[1].values.iter().all(|value| value.ratio.value.is_none()), "{found:?}");
        // One thing that varies has a comparison already.
        assert!(effects(&cells[..2], &matrix(&cells[..2])).is_empty());
    }
}
