//! What each setting of a lab does by itself, from all cells at once: a lab that was searched has
//! few cells that differ in one thing alone.
//!
//! The model is ln(throughput) = block + the sum of what the values do + noise, by least squares.
//! It knows no interplay: what two settings do only together is noise to it.

use crate::cells::CellOutcome;
use crate::matrix::Matrix;
use crate::statistics::{CONFIDENCE, RatioInterval};
use crate::student::Student;
use serde::Serialize;
use std::collections::BTreeMap;

/// A pivot below this is rounding: the column is told by those before it.
const PIVOT_MIN: f64 = 1e-9;
/// A smaller part of a column in another one is rounding.
const SHARED_MIN: f64 = 1e-6;

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

/// One measurement: its row of the model, and its logarithm.
struct FitRow {
    columns: Vec<usize>,
    log: f64,
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
    let mut blocks: BTreeMap<u32, usize> = BTreeMap::new();
    for repeat in cells.iter().flat_map(|cell| &cell.repeats).filter(|of| of.nopm.is_some()) {
        let next = blocks.len();
        blocks.entry(repeat.block).or_insert(next);
    }
    // Behind the blocks, each value of a dimension but its first has a column.
    let mut first_column = vec![blocks.len()];
    for dimension in dimensions {
        first_column.push(first_column.last().copied().unwrap_or(0) + dimension.values.len() - 1);
    }
    let columns = first_column.last().copied().unwrap_or(0);
    let mut rows = Vec::new();
    for (place, cell) in cells.iter().enumerate() {
        for repeat in &cell.repeats {
            let Some(nopm) = repeat.nopm.filter(|nopm| *nopm > 0.0) else { continue };
            let mut of = vec![blocks[&repeat.block]];
            for (index, value) in matrix.places(place).iter().enumerate() {
                of.extend((*value > 0).then(|| first_column[index] + value - 1));
            }
            rows.push(FitRow { columns: of, log: nopm.ln() });
        }
    }
    let Some(fit) = Fit::of(&rows, columns) else {
        return Vec::new();
    };
    let counted = |column: usize| rows.iter().filter(|row| row.columns.contains(&column)).count();
    let effect = |value: &String, column: usize| {
        let interval = fit.interval(column).map(|ends| ends.map(f64::exp));
        ValueEffect {
            value: value.clone(),
            repeats: counted(column),
            ratio: RatioInterval::of(fit.value(column).map(f64::exp), interval),
        }
    };
    let of_dimension = |(index, dimension): (usize, &crate::matrix::Dimension)| {
        let others = dimension.values[1..].iter().enumerate();
        DimensionEffects {
            dimension: dimension.name.clone(),
            baseline: dimension.values[0].clone(),
            values: others.map(|(at, value)| effect(value, first_column[index] + at)).collect(),
        }
    };
    dimensions.iter().enumerate().map(of_dimension).collect()
}

/// Least squares of rows of ones.
struct Fit {
    /// The inverse of the normal matrix, as far as it has one.
    inverse: Vec<Vec<f64>>,
    values: Vec<f64>,
    /// Is its value its own, and not that of another column too?
    is_known: Vec<bool>,
    variance: f64,
    degrees_of_freedom: f64,
}

impl Fit {
    /// `None` where there is nothing to fit.
    fn of(rows: &[FitRow], columns: usize) -> Option<Fit> {
        if rows.is_empty() {
            return None;
        }
        let mut normal = vec![vec![0.0; columns]; columns];
        let mut right = vec![0.0; columns];
        for row in rows {
            for a in &row.columns {
                right[*a] += row.log;
                for b in &row.columns {
                    normal[*a][*b] += 1.0;
                }
            }
        }
        let swept = sweep(&mut normal);
        let rank = swept.iter().filter(|swept| **swept).count();
        let value = |column: usize| -> f64 {
            let known = (0..columns).filter(|other| swept[*other]);
            known.map(|other| normal[column][other] * right[other]).sum()
        };
        let values: Vec<f64> =
            (0..columns).map(|column| if swept[column] { value(column) } else { 0.0 }).collect();
        // A column that was not swept is a sum of others, which have its part in theirs.
        let left = || (0..columns).filter(|column| !swept[*column]);
        let is_own = |column: usize| left().all(|other| normal[column][other].abs() < SHARED_MIN);
        let is_known = (0..columns).map(|column| swept[column] && is_own(column)).collect();
        let residual =
            |row: &FitRow| row.log - row.columns.iter().map(|column| values[*column]).sum::<f64>();
        let squares: f64 = rows.iter().map(|row| residual(row).powi(2)).sum();
        let degrees_of_freedom = rows.len().saturating_sub(rank) as f64;
        Some(Fit {
            inverse: normal,
            values,
            is_known,
            variance: squares / degrees_of_freedom.max(1.0),
            degrees_of_freedom,
        })
    }

    fn value(&self, column: usize) -> Option<f64> {
        self.is_known[column].then(|| self.values[column])
    }

    fn interval(&self, column: usize) -> Option<[f64; 2]> {
        let value = self.value(column).filter(|_| self.degrees_of_freedom >= 1.0)?;
        let student = Student { degrees_of_freedom: self.degrees_of_freedom };
        let error = (self.variance * self.inverse[column][column]).max(0.0).sqrt();
        let reach = student.reach(CONFIDENCE) * error;
        Some([value - reach, value + reach])
    }
}

/// Turns a symmetric matrix into its inverse by sweeping each column whose pivot is none of
/// rounding; says which were swept.
fn sweep(matrix: &mut [Vec<f64>]) -> Vec<bool> {
    let size = matrix.len();
    let mut swept = vec![false; size];
    for pivot in 0..size {
        let value = matrix[pivot][pivot];
        if value < PIVOT_MIN {
            continue;
        }
        swept[pivot] = true;
        let row: Vec<f64> = matrix[pivot].iter().map(|of| of / value).collect();
        for (index, of) in matrix.iter_mut().enumerate() {
            if index == pivot {
                continue;
            }
            let factor = of[pivot];
            for (of, row) in of.iter_mut().zip(&row) {
                *of -= factor * row;
            }
            of[pivot] = -factor / value;
        }
        matrix[pivot] = row;
        matrix[pivot][pivot] = 1.0 / value;
    }
    swept
}

#[cfg(test)]
mod tests {
    use super::effects;
    use crate::cells::{matrix, tests::cell};
    use crate::noise::Noise;

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
