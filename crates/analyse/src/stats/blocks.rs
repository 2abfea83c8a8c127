//! Measurements in blocks: how cells differ on a machine that drifts.
//!
//! A lab measures each cell once in every block, in random order, so that a block's drift is the
//! same for all of its cells. The model is ln(value) = cell + block + noise. Least squares
//! ([`LeastSquares`], of which cells are the groups and blocks the columns) finds the effects of
//! cells and blocks, also where repeats are missing; what is left over from all cells together
//! tells how far chance moves one measurement. Student's t judges the difference of
//! two cells with the degrees of freedom of those residuals.
//!
//! Cells need not scatter alike. Where Bartlett's test doubts that they do, a pair is judged by its
//! own differences inside blocks alone. docs/statistics.md has what simulations say of both.

use crate::stats::linear::{FitRow, LeastSquares};
use crate::stats::statistics::{CONFIDENCE, Estimate, RatioInterval};
use crate::stats::student::Student;
use itertools::Itertools;
use statrs::function::gamma::gamma_ur;
use std::collections::BTreeMap;

/// Fewer repeats of a cell support no claim about it.
pub const CLAIM_REPEATS_MIN: usize = 3;
/// Fewer repeats of a cell have no interval.
const INTERVAL_REPEATS_MIN: usize = 2;
/// Bartlett's test below this probability: the cells do not scatter alike. High, since the test
/// sees little in few repeats, and a needless "no" costs some power, a wrong "yes" false alarms.
const ALIKE_P_MIN: f64 = 0.3;
/// Cells of which scatter can be compared. Two have the same residuals.
const ALIKE_CELLS_MIN: usize = 3;
/// A variance of logarithms below this is rounding.
const VARIANCE_MIN: f64 = 1e-24;

/// One measurement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observation {
    /// What was measured.
    pub cell: usize,
    /// Measurements of one block were made close together in time.
    pub block: usize,
    /// Above 0; others are left out.
    pub value: f64,
}

/// The cell that another is compared with.
#[derive(Clone, Copy, Debug)]
pub struct Base(pub usize);

/// The model of a lab.
#[derive(Clone, Debug)]
pub struct Blocks {
    fit: LeastSquares,
    cells: BTreeMap<usize, CellFit>,
    /// The column of each.
    blocks: BTreeMap<usize, usize>,
    residual: Residual,
}

/// One cell.
#[derive(Clone, Debug)]
struct CellFit {
    group: usize,
    /// The logarithm of its value in each block.
    logs: BTreeMap<usize, f64>,
    squares: f64,
    degrees_of_freedom: f64,
}

/// What cells and blocks do not explain.
#[derive(Clone, Copy, Debug)]
struct Residual {
    variance: f64,
    degrees_of_freedom: f64,
    /// Do all cells scatter alike, as far as the residuals tell?
    is_common: bool,
}

/// How a cell differs from a base.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contrast {
    log_ratio: f64,
    known: Option<Uncertainty>,
    /// Of the two, the fewer.
    repeats: usize,
}

/// How well a contrast is known.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Uncertainty {
    standard_error: f64,
    student: Student,
}

impl Contrast {
    /// The value by the base's.
    pub fn ratio(&self) -> f64 {
        self.log_ratio.exp()
    }

    /// The interval that holds the true ratio with this probability; `None` where a side has one
    /// repeat, or no block has both.
    pub fn interval(&self, confidence: f64) -> Option<[f64; 2]> {
        let known = self.known?;
        let reach = known.student.reach(confidence) * known.standard_error;
        Some([-reach, reach].map(|reach| (self.log_ratio + reach).exp()))
    }

    /// The ratio with its interval of 95 %.
    pub fn with_interval(&self) -> RatioInterval {
        RatioInterval::of(Some(self.ratio()), self.interval(CONFIDENCE))
    }

    /// The probability of such a difference, or a larger one, where there is none: 0 to 1,
    /// two-sided.
    pub fn p_value(&self) -> Option<f64> {
        let known = self.known?;
        Some(known.student.two_sided_p(self.log_ratio / known.standard_error))
    }

    /// Has each side repeats enough to say more than a number?
    pub fn supports_claims(&self) -> bool {
        self.known.is_some() && self.repeats >= CLAIM_REPEATS_MIN
    }
}

impl Blocks {
    /// Fits the model. Several measurements of a cell in one block are no repeats: their mean is
    /// one.
    pub fn of(measured: &[Observation]) -> Blocks {
        let mut blocks: BTreeMap<usize, usize> = BTreeMap::new();
        let mut logs: BTreeMap<usize, BTreeMap<usize, Vec<f64>>> = BTreeMap::new();
        for one in measured.iter().filter(|one| one.value > 0.0 && one.value.is_finite()) {
            let next = blocks.len();
            let block = *blocks.entry(one.block).or_insert(next);
            let cell = logs.entry(one.cell).or_default();
            cell.entry(block).or_default().push(one.value.ln());
        }
        let mean_of = |logs: Vec<f64>| logs.iter().sum::<f64>() / logs.len() as f64;
        let means = logs.into_iter().enumerate().map(|(group, (cell, logs))| {
            let logs = logs.into_iter().map(|(block, logs)| (block, mean_of(logs))).collect();
            (cell, CellFit { group, logs, squares: 0.0, degrees_of_freedom: 0.0 })
        });
        let mut cells: BTreeMap<usize, CellFit> = means.collect();
        let rows: Vec<FitRow> = cells.values().flat_map(CellFit::rows).collect();
        let fit = LeastSquares::of(&rows, blocks.len());
        for cell in cells.values_mut() {
            for left in cell.rows().map(|row| fit.residual(&row)).collect::<Vec<_>>() {
                cell.squares += left.value.powi(2);
                cell.degrees_of_freedom += 1.0 - left.spread;
            }
        }
        Blocks { residual: Residual::of(&cells), fit, cells, blocks }
    }

    /// Values in these blocks to those in all others, in the geometric mean, had all the same
    /// cells; `None` where there are no others, or nothing links the two.
    pub fn ratio_of_blocks(&self, these: &[usize]) -> Option<f64> {
        let (of_these, others): (Vec<usize>, Vec<usize>) =
            self.blocks.keys().partition(|block| these.contains(block));
        if of_these.is_empty() || others.is_empty() {
            return None;
        }
        let mut weights = vec![0.0; self.blocks.len()];
        for (blocks, sign) in [(of_these, 1.0), (others, -1.0)] {
            blocks.iter().for_each(|of| weights[self.blocks[of]] = sign / blocks.len() as f64);
        }
        Some(self.fit.sum(&weights)?.value.exp())
    }

    /// How `cell` differs from `base`; `None` where one has no measurement, or nothing links the
    /// two.
    pub fn contrast(&self, cell: usize, Base(base): Base) -> Option<Contrast> {
        let (cell, base) = (self.cells.get(&cell)?, self.cells.get(&base)?);
        let difference = self.fit.difference([cell.group, base.group])?;
        let repeats = cell.logs.len().min(base.logs.len());
        if !self.residual.is_common
            && let Some(own) = own_differences(cell, base)
        {
            return Some(Contrast { repeats, ..own });
        }
        let has_interval = repeats >= INTERVAL_REPEATS_MIN
            && self.residual.is_common
            && self.residual.variance > VARIANCE_MIN;
        Some(Contrast {
            log_ratio: difference.value,
            known: has_interval.then(|| Uncertainty {
                standard_error: (self.residual.variance * difference.spread).sqrt(),
                student: Student { degrees_of_freedom: self.residual.degrees_of_freedom },
            }),
            repeats,
        })
    }
}

/// The pair by its own differences inside blocks; `None` where fewer than two blocks have both.
fn own_differences(cell: &CellFit, base: &CellFit) -> Option<Contrast> {
    let differences: Vec<f64> =
        cell.logs.iter().filter_map(|(block, log)| Some(log - base.logs.get(block)?)).collect();
    let estimate = Estimate::of_repeats(&differences)?;
    Some(Contrast {
        log_ratio: estimate.mean,
        known: (estimate.deviation.powi(2) > VARIANCE_MIN).then_some(Uncertainty {
            standard_error: estimate.standard_error,
            student: Student { degrees_of_freedom: estimate.degrees_of_freedom },
        }),
        repeats: differences.len(),
    })
}

impl CellFit {
    fn rows(&self) -> impl Iterator<Item = FitRow> {
        let group = self.group;
        let logs = self.logs.iter();
        logs.map(move |(block, log)| FitRow { group, columns: vec![*block], value: *log })
    }
}

impl Residual {
    fn of(cells: &BTreeMap<usize, CellFit>) -> Residual {
        let squares: f64 = cells.values().map(|cell| cell.squares).sum();
        let freedom = cells.values().map(|cell| cell.degrees_of_freedom);
        // Whole but for rounding.
        let degrees_of_freedom = freedom.sum::<f64>().round();
        let variance = if degrees_of_freedom > 0.0 { squares / degrees_of_freedom } else { 0.0 };
        Residual { variance, degrees_of_freedom, is_common: scatter_alike(cells) }
    }
}

/// Bartlett's test, on the residuals of each cell.
fn scatter_alike(cells: &BTreeMap<usize, CellFit>) -> bool {
    let known = cells.values().filter(|cell| cell.degrees_of_freedom > 0.5);
    let of = known.map(|cell| (cell.squares.max(VARIANCE_MIN), cell.degrees_of_freedom));
    let of = of.collect_vec();
    if of.len() < ALIKE_CELLS_MIN {
        return true;
    }
    let squares: f64 = of.iter().map(|(squares, _)| squares).sum();
    let freedom: f64 = of.iter().map(|(_, freedom)| freedom).sum();
    let of_each: f64 = of.iter().map(|(s, f)| f * (s / f).ln()).sum();
    let excess = freedom * (squares / freedom).ln() - of_each;
    let groups = of.len() as f64 - 1.0;
    let inverses: f64 = of.iter().map(|(_, freedom)| 1.0 / freedom).sum();
    let correction = 1.0 + (inverses - 1.0 / freedom) / (3.0 * groups);
    excess <= 0.0 || gamma_ur(groups / 2.0, excess / correction / 2.0) >= ALIKE_P_MIN
}

/// Holm's correction: the probability that any of these true "no difference" is rejected stays
/// below the level which the corrected p-values are held against.
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut corrected = p_values.to_vec();
    let ascending = corrected.iter_mut().sorted_by(|one, other| one.total_cmp(other));
    let mut least: f64 = 0.0;
    for (rank, p) in ascending.enumerate() {
        let left = (p_values.len() - rank) as f64;
        least = least.max(*p * left).min(1.0);
        *p = least;
    }
    corrected
}

#[cfg(test)]
mod tests {
    use super::{Base, Blocks, CONFIDENCE, Contrast, Observation, holm};

    /// A row of values for each cell, by block; 0 is missing.
    fn fitted(cells: &[&[f64]]) -> Blocks {
        let rows = cells.iter().enumerate();
        let all = rows.flat_map(|(cell, values)| {
            let values = values.iter().enumerate();
            values.map(move |(block, value)| Observation { cell, block, value: *value })
        });
        Blocks::of(&all.collect::<Vec<_>>())
    }

    fn freedom(found: &Contrast) -> Option<f64> {
        Some(found.known?.student.degrees_of_freedom)
    }

    fn t(found: &Contrast) -> f64 {
        found.log_ratio / found.known.unwrap().standard_error
    }

    #[test]
    fn two_cells_are_the_paired_test() {
        // Logarithms differ by 0.1, 0.2 and 0.3: the mean is 0.2, its error 0.1 / sqrt(3), two
        // degrees of freedom.
        let base: [f64; 3] = [1.0, 5.0, 2.0];
        let other = [0.1, 0.2, 0.3].map(f64::exp);
        let other: Vec<f64> = base.iter().zip(other).map(|(b, f)| b * f).collect();
        let found = fitted(&[&base, &other]).contrast(1, Base(0)).unwrap();
        assert!((found.ratio() - 0.2_f64.exp()).abs() < 1e-12, "{found:?}");
        assert_eq!(freedom(&found), Some(2.0));
        assert!((t(&found) - 0.2 / (0.1 / 3.0_f64.sqrt())).abs() < 1e-9);
        let [low, high] = found.interval(CONFIDENCE).unwrap();
        assert!((low.ln() - (0.2 - 0.248_4)).abs() < 1e-3, "{low} {high}");
        assert!(found.supports_claims());
    }

    #[test]
    fn blocks_are_taken_out_and_residuals_pooled() {
        // ln = cell + block + residual, with residuals that add up to 0 in each cell and block: the
        // fit finds them all.
        let (cells, blocks) = ([0.0, 0.5, -0.2], [0.0, 1.0, 0.3]);
        let left = [[0.01, -0.02, 0.01], [-0.02, 0.01, 0.01], [0.01, 0.01, -0.02]];
        let value = |i: usize, j: usize| f64::exp(cells[i] + blocks[j] + left[i][j]);
        let rows: Vec<Vec<f64>> = (0..3).map(|i| (0..3).map(|j| value(i, j)).collect()).collect();
        let rows: Vec<&[f64]> = rows.iter().map(Vec::as_slice).collect();
        let found = fitted(&rows).contrast(1, Base(0)).unwrap();
        assert!((found.log_ratio - 0.5).abs() < 1e-12);
        assert_eq!(freedom(&found), Some(4.0));
        // Squares of residuals 0.0018, by four degrees of freedom, times 2 / 3.
        let error = (0.0018_f64 / 4.0 * 2.0 / 3.0).sqrt();
        assert!((t(&found) - 0.5 / error).abs() < 1e-6);
    }

    #[test]
    fn a_missing_repeat_shifts_nothing() {
        // The second cell misses the fast block; by means of what is there it would be half as
        // fast.
        let drift: [f64; 3] = [100.0, 400.0, 110.0];
        let third: Vec<f64> = drift.iter().map(|value| value * 1.01).collect();
        let found = fitted(&[&drift, &[100.0, 0.0, 110.0], &third]);
        let ratio = found.contrast(1, Base(0)).unwrap().ratio();
        assert!((ratio - 1.0).abs() < 1e-9, "{ratio}");
        // Cells that never met are compared through the third.
        let chained = fitted(&[&[100.0, 0.0], &[0.0, 300.0], &[50.0, 100.0]]);
        let ratio = chained.contrast(1, Base(0)).unwrap().ratio();
        assert!((ratio - 1.5).abs() < 1e-9, "{ratio}");
        // And not at all where nothing links them.
        let apart = fitted(&[&[100.0, 0.0], &[0.0, 300.0]]);
        assert_eq!(apart.contrast(1, Base(0)), None);
        assert_eq!(apart.contrast(2, Base(0)), None);
    }

    #[test]
    fn few_repeats_say_little() {
        let one = fitted(&[&[100.0, 0.0], &[90.0, 81.0], &[70.0, 72.0]]);
        let found = one.contrast(1, Base(0)).unwrap();
        assert_eq!((found.p_value(), found.interval(CONFIDENCE)), (None, None));
        assert!(!found.supports_claims() && found.ratio() < 1.0);
        // Two repeats have an interval, and support no claim.
        let found = one.contrast(2, Base(1)).unwrap();
        assert!(found.p_value().is_some() && !found.supports_claims());
        // What does not scatter at all knows nothing of chance.
        let still = fitted(&[&[5.0; 3], &[4.0; 3]]).contrast(1, Base(0)).unwrap();
        assert_eq!((still.ratio(), still.p_value()), (0.8, None));
    }

    #[test]
    fn cells_that_scatter_unlike_are_judged_by_themselves() {
        let noise = [0.2, -0.1, 0.1, -0.2];
        let row = |at: usize| (0..4).map(move |j| 100.0 + 10.0 * at as f64 + noise[(at + j) % 4]);
        let quiet: Vec<Vec<f64>> = (0..4).map(|at| row(at).collect()).collect();
        let quiet: Vec<&[f64]> = quiet.iter().map(Vec::as_slice).collect();
        let noisy: [&[f64]; 2] = [&[40.0, 70.0, 52.0, 90.0], &[60.0, 45.0, 75.0, 50.0]];
        let rows: Vec<&[f64]> = quiet.iter().chain(&noisy).copied().collect();
        let found = fitted(&rows).contrast(1, Base(0)).unwrap();
        assert_eq!(freedom(&found), Some(3.0));
        assert!(found.p_value().unwrap() < 1e-4, "{found:?}");
        let alike = fitted(&quiet).contrast(1, Base(0)).unwrap();
        assert_eq!(freedom(&alike), Some(9.0));
    }

    #[test]
    fn measured_again_in_a_block_is_no_repeat() {
        let one = |cell, block, value| Observation { cell, block, value };
        let all = [one(0, 0, 100.0), one(0, 0, 110.0), one(0, 0, 105.0), one(1, 0, 90.0)];
        let found = Blocks::of(&all).contrast(1, Base(0)).unwrap();
        assert_eq!((found.repeats, found.p_value()), (1, None));
    }

    #[test]
    fn holm_by_hand() {
        assert_eq!(holm(&[0.01, 0.04, 0.03]), [0.03, 0.06, 0.06]);
        assert_eq!(holm(&[0.9, 0.8]), [1.0, 1.0]);
        assert_eq!(holm(&[]), [0.0; 0]);
    }
}
