//! Least squares of measurements in groups: each is the level of its group, and what its columns
//! add to that.
//!
//! Groups may be many, and each row is in one. So their levels are taken out first: the equations
//! are those of the columns alone, by what each row differs in from the mean of its group.

/// A pivot below this is rounding: the column is a sum of those before it.
const PIVOT_MIN: f64 = 1e-9;
/// A smaller part of a column in another one is rounding.
const SHARED_MIN: f64 = 1e-6;

/// One measurement.
#[derive(Clone, Debug)]
pub(crate) struct FitRow {
    pub(crate) group: usize,
    /// Those that add to it.
    pub(crate) columns: Vec<usize>,
    pub(crate) value: f64,
}

/// The model of some rows.
#[derive(Clone, Debug)]
pub(crate) struct LeastSquares {
    groups: Vec<FitGroup>,
    /// Of the equations, as far as they have one.
    inverse: Vec<Vec<f64>>,
    /// Is the column no sum of those before it? Of others the effect is 0.
    is_free: Vec<bool>,
    effects: Vec<f64>,
}

/// Rows of one group in the mean.
#[derive(Clone, Debug)]
struct FitGroup {
    rows: f64,
    mean: f64,
    /// The share of its rows that each column adds to.
    shares: Vec<f64>,
}

/// A sum of effects.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FitSum {
    pub(crate) value: f64,
    /// Its variance by that of one row.
    pub(crate) spread: f64,
}

impl LeastSquares {
    /// Groups have numbers from 0 on, each with a row at least; of the columns some may have none.
    pub(crate) fn of(rows: &[FitRow], columns: usize) -> LeastSquares {
        let groups = FitGroup::all(rows, columns);
        let mut equations = vec![vec![0.0; columns]; columns];
        let mut totals = vec![0.0; columns];
        for row in rows {
            let group = &groups[row.group];
            for column in &row.columns {
                totals[*column] += row.value - group.mean;
                row.columns.iter().for_each(|other| equations[*column][*other] += 1.0);
                let means = equations[*column].iter_mut().zip(&group.shares);
                means.for_each(|(value, share)| *value -= share);
            }
        }
        let is_free = sweep(&mut equations);
        let effect = |column: usize| {
            let free = (0..columns).filter(|other| is_free[column] && is_free[*other]);
            free.map(|other| equations[column][other] * totals[other]).sum()
        };
        let effects = (0..columns).map(effect).collect();
        LeastSquares { groups, inverse: equations, is_free, effects }
    }

    /// The effect of one column; `None` where the rows cannot tell it from that of another.
    pub(crate) fn effect(&self, column: usize) -> Option<FitSum> {
        let weight = |other| f64::from(u8::from(other == column));
        self.sum(&(0..self.effects.len()).map(weight).collect::<Vec<_>>())
    }

    /// The level of a group over that of another; `None` where nothing links the two.
    pub(crate) fn difference(&self, [group, base]: [usize; 2]) -> Option<FitSum> {
        let [group, base] = [group, base].map(|of| &self.groups[of]);
        let apart = group.shares.iter().zip(&base.shares).map(|(one, other)| one - other);
        let added = self.sum(&apart.collect::<Vec<_>>())?;
        Some(FitSum {
            value: group.mean - base.mean - added.value,
            spread: 1.0 / group.rows + 1.0 / base.rows + added.spread,
        })
    }

    /// Effects by their weights; `None` where the rows cannot tell the sum from other effects.
    pub(crate) fn sum(&self, weights: &[f64]) -> Option<FitSum> {
        // What is not free is a sum of others, which have its part in theirs.
        let is_own = |left: usize| {
            let part: f64 = self.free().map(|of| weights[of] * self.inverse[of][left]).sum();
            (part - weights[left]).abs() < SHARED_MIN
        };
        let mut left = (0..self.effects.len()).filter(|column| !self.is_free[*column]);
        left.all(is_own).then(|| self.weighted(weights))
    }

    /// What the model leaves over of one of its rows. The spread is how much of the model is of the
    /// row itself: of all rows it adds up to the number of what was fitted.
    pub(crate) fn residual(&self, row: &FitRow) -> FitSum {
        let group = &self.groups[row.group];
        let mut apart: Vec<f64> = group.shares.iter().map(|share| -share).collect();
        row.columns.iter().for_each(|column| apart[*column] += 1.0);
        let added = self.weighted(&apart);
        FitSum {
            value: row.value - group.mean - added.value,
            spread: 1.0 / group.rows + added.spread,
        }
    }

    fn weighted(&self, weights: &[f64]) -> FitSum {
        let spread = |a: usize| {
            let others = self.free().map(|b| self.inverse[a][b] * weights[b]);
            weights[a] * others.sum::<f64>()
        };
        FitSum {
            value: weights.iter().zip(&self.effects).map(|(weight, effect)| weight * effect).sum(),
            spread: self.free().map(spread).sum(),
        }
    }

    fn free(&self) -> impl Iterator<Item = usize> {
        (0..self.effects.len()).filter(|column| self.is_free[*column])
    }
}

impl FitGroup {
    fn all(rows: &[FitRow], columns: usize) -> Vec<FitGroup> {
        let count = rows.iter().map(|row| row.group + 1).max().unwrap_or(0);
        let mut groups = vec![FitGroup { rows: 0.0, mean: 0.0, shares: vec![0.0; columns] }; count];
        for row in rows {
            let group = &mut groups[row.group];
            group.rows += 1.0;
            group.mean += row.value;
            row.columns.iter().for_each(|column| group.shares[*column] += 1.0);
        }
        for FitGroup { rows, mean, shares } in &mut groups {
            *mean /= *rows;
            shares.iter_mut().for_each(|share| *share /= *rows);
        }
        groups
    }
}

/// Turns a symmetric matrix into its inverse by sweeping each column whose pivot is none of
/// rounding; says which were swept.
fn sweep(matrix: &mut [Vec<f64>]) -> Vec<bool> {
    let mut swept = vec![false; matrix.len()];
    for pivot in 0..matrix.len() {
        let value = matrix[pivot][pivot];
        if value < PIVOT_MIN {
            continue;
        }
        swept[pivot] = true;
        let row: Vec<f64> = matrix[pivot].iter().map(|of| of / value).collect();
        for (_, of) in matrix.iter_mut().enumerate().filter(|(index, _)| *index != pivot) {
            let factor = of[pivot];
            of.iter_mut().zip(&row).for_each(|(of, row)| *of -= factor * row);
            of[pivot] = -factor / value;
        }
        matrix[pivot] = row;
        matrix[pivot][pivot] = 1.0 / value;
    }
    swept
}
