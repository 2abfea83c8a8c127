//! Ratios of windows that were measured in rounds over an hour or so, on a machine that drifts.
//!
//! What a machine does to all windows of a round alike falls out of their ratios. But it may slow
//! one and not another: a host whose cores are busy slows what the device does not hold up. Such a
//! drift is in the ratios, and rounds close in time share it: the scatter of rounds that follow
//! each other does not tell how they differ from those of an hour later. So the logarithm of a
//! ratio is that of its settings, a wander whose neighbours (one window apart) share
//! [`NEIGHBOURS_SHARE`], and noise. How large the wander is, few rounds cannot tell. Several sizes
//! are asked how well they explain the rounds, and what each says of the ratio is averaged with
//! that weight.

use crate::stats::blocks::Base;
use crate::stats::statistics::{CONFIDENCE, RatioInterval};
use crate::stats::student::Student;
use itertools::Itertools;

/// The correlation of the wander from window to window: it forgets itself in some 50 windows.
const NEIGHBOURS_SHARE: f64 = 0.98;
/// Deviations of the wander by that of the noise of a pair.
const WANDERS: [f64; 4] = [0.0, 0.5, 1.0, 2.0];
/// Below this, squares are rounding.
const SQUARES_MIN: f64 = 1e-24;
/// Halvings of the range in which an end of an interval is looked for.
const HALVINGS: usize = 30;

/// Windows that were measured side by side.
#[derive(Clone, Debug, PartialEq)]
pub struct DriftRound {
    /// Windows that were measured before it.
    pub windows_before: usize,
    /// Cells with what they gave, above 0. The first is what others are held against, and the same
    /// in all rounds.
    pub values: Vec<(usize, f64)>,
}

/// The logarithm of a ratio, as one size of the wander explains it.
struct Explained {
    /// The logarithm of how likely the rounds are.
    log_weight: f64,
    log_ratio: f64,
    standard_error: f64,
}

/// A window by the first one of its round.
struct RoundRatio {
    round: usize,
    windows_before: f64,
    cell: usize,
    log: f64,
}

/// `cell` by `base`, which is another one; `None` where one of them was not measured. So few rounds
/// may have no interval.
pub fn ratio_in_drift(
    rounds: &[DriftRound],
    cell: usize,
    Base(base): Base,
) -> Option<RatioInterval> {
    let first = rounds.iter().find_map(|round| round.values.first())?.0;
    let mut ratios = Vec::new();
    for (round, of) in rounds.iter().enumerate() {
        let Some(((_, held_against), others)) = of.values.split_first() else { continue };
        ratios.extend(others.iter().map(|(cell, value)| RoundRatio {
            round,
            windows_before: of.windows_before as f64,
            cell: *cell,
            log: (value / held_against).ln(),
        }));
    }
    let cells: Vec<usize> = ratios.iter().map(|ratio| ratio.cell).sorted().dedup().collect();
    let is_known = |cell: usize| cell == first || cells.contains(&cell);
    if cell == base || ratios.is_empty() || !is_known(cell) || !is_known(base) {
        return None;
    }
    let sign = |of: &usize| f64::from(u8::from(*of == cell)) - f64::from(u8::from(*of == base));
    let contrast: Vec<f64> = cells.iter().map(sign).collect();
    let freedom = ratios.len().saturating_sub(cells.len()) as f64;
    let explained: Vec<Explained> =
        WANDERS.iter().map(|wander| explain(&ratios, &cells, &contrast, *wander)).collect();
    Some(averaged(&explained, freedom))
}

/// Generalised least squares, with the restricted likelihood of this size of the wander.
fn explain(ratios: &[RoundRatio], cells: &[usize], contrast: &[f64], wander: f64) -> Explained {
    let covariance = |a: &RoundRatio, b: &RoundRatio| {
        let apart = (a.windows_before - b.windows_before).abs();
        // Two ratios of a round have the noise of what they are held against in common.
        let noise = match (a.round == b.round, a.cell == b.cell) {
            (true, true) => 1.0,
            (true, false) => 0.5,
            (false, _) => 0.0,
        };
        noise + wander.powi(2) * NEIGHBOURS_SHARE.powf(apart)
    };
    let row = |a: &RoundRatio| ratios.iter().map(|b| covariance(a, b)).collect();
    let root = cholesky(ratios.iter().map(row).collect());
    let white = |of: &dyn Fn(&RoundRatio) -> f64| forward(&root, ratios.iter().map(of).collect());
    let logs = white(&|ratio| ratio.log);
    let column = |cell: &usize| white(&|ratio| f64::from(u8::from(ratio.cell == *cell)));
    let columns: Vec<Vec<f64>> = cells.iter().map(column).collect();
    let normal = columns.iter().map(|a| columns.iter().map(|b| dot(a, b)).collect());
    let normal = cholesky(normal.collect());
    let right = forward(&normal, columns.iter().map(|column| dot(column, &logs)).collect());
    let direction = forward(&normal, contrast.to_vec());
    let freedom = ratios.len().saturating_sub(cells.len()) as f64;
    let squares = (dot(&logs, &logs) - dot(&right, &right)).max(SQUARES_MIN);
    Explained {
        log_weight: -log_diagonal(&root) - log_diagonal(&normal) - freedom / 2.0 * squares.ln(),
        log_ratio: dot(&direction, &right),
        standard_error: (squares / freedom.max(1.0) * dot(&direction, &direction)).sqrt(),
    }
}

/// What all sizes of the wander say together.
fn averaged(explained: &[Explained], freedom: f64) -> RatioInterval {
    let most = explained.iter().map(|of| of.log_weight).fold(f64::MIN, f64::max);
    let weights: Vec<f64> = explained.iter().map(|of| (of.log_weight - most).exp()).collect();
    let all: f64 = weights.iter().sum();
    let mean = |of: &dyn Fn(&Explained) -> f64| {
        explained.iter().zip(&weights).map(|(one, weight)| of(one) * weight / all).sum::<f64>()
    };
    let log_ratio = mean(&|of| of.log_ratio);
    let student = Student { degrees_of_freedom: freedom };
    let below = |log: f64| {
        mean(&|of| {
            let t = (log - of.log_ratio) / of.standard_error;
            let tail = student.two_sided_p(t) / 2.0;
            if t < 0.0 { tail } else { 1.0 - tail }
        })
    };
    let farthest = |of: &Explained| {
        (of.log_ratio - log_ratio).abs() + student.reach(CONFIDENCE) * of.standard_error
    };
    let end = |side: f64| {
        let reach = explained.iter().map(farthest).fold(0.0, f64::max);
        let (mut near, mut far) = (0.0, reach);
        for _ in 0..HALVINGS {
            let middle = f64::midpoint(near, far);
            let share = below(log_ratio + side * middle);
            let outside = if side < 0.0 { share } else { 1.0 - share };
            if outside > (1.0 - CONFIDENCE) / 2.0 { near = middle } else { far = middle }
        }
        (log_ratio + side * far).exp()
    };
    let interval = (freedom >= 1.0).then(|| [end(-1.0), end(1.0)]);
    RatioInterval::of(Some(log_ratio.exp()), interval)
}

/// The lower triangle whose product with its transpose is this matrix, which is positive definite.
fn cholesky(mut matrix: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    for row in 0..matrix.len() {
        for column in 0..=row {
            let known = dot(&matrix[row][..column], &matrix[column][..column]);
            let left = matrix[row][column] - known;
            matrix[row][column] = match row == column {
                true => left.max(SQUARES_MIN).sqrt(),
                false => left / matrix[column][column],
            };
        }
        matrix[row].truncate(row + 1);
    }
    matrix
}

/// What the triangle makes `right` of.
fn forward(triangle: &[Vec<f64>], mut right: Vec<f64>) -> Vec<f64> {
    for row in 0..right.len() {
        let known = dot(&triangle[row][..row], &right[..row]);
        right[row] = (right[row] - known) / triangle[row][row];
    }
    right
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn log_diagonal(triangle: &[Vec<f64>]) -> f64 {
    triangle.iter().enumerate().map(|(at, row)| row[at].ln()).sum()
}

#[cfg(test)]
mod tests {
    use super::{DriftRound, NEIGHBOURS_SHARE, ratio_in_drift};
    use crate::stats::blocks::Base;
    use crate::stats::noise::Noise;

    const START: usize = 7;
    const CHOSEN: usize = 2;
    const ALL: usize = 9;

    fn round(windows_before: usize, values: &[(usize, f64)]) -> DriftRound {
        DriftRound { windows_before, values: values.to_vec() }
    }

    #[test]
    fn a_ratio_is_that_of_rounds() {
        // All is measured in each of them, the machine gets slower, and the ratio stays.
        let rounds = [
            round(8, &[(START, 100.0), (ALL, 141.0)]),
            round(18, &[(START, 80.0), (ALL, 112.0)]),
            round(28, &[(START, 60.0), (ALL, 83.0), (CHOSEN, 91.0)]),
            round(31, &[(START, 50.0), (ALL, 70.5), (CHOSEN, 74.0)]),
            round(34, &[(START, 40.0), (ALL, 56.0), (CHOSEN, 60.5)]),
        ];
        let chosen = ratio_in_drift(&rounds, CHOSEN, Base(START)).unwrap();
        let ratio = chosen.value.unwrap();
        assert!((ratio - 1.5).abs() < 0.02, "{chosen:?}");
        let (low, high) = chosen.interval().unwrap();
        assert!(1.42 < low && low < ratio && ratio < high && high < 1.6, "{chosen:?}");
        let against_all = ratio_in_drift(&rounds, CHOSEN, Base(ALL)).unwrap();
        assert!((against_all.value.unwrap() - 1.5 / 1.4).abs() < 0.02, "{against_all:?}");
        assert_eq!(ratio_in_drift(&rounds, CHOSEN, Base(CHOSEN)), None);
        assert_eq!(ratio_in_drift(&rounds[..2], CHOSEN, Base(START)), None);
        assert_eq!(ratio_in_drift(&[], CHOSEN, Base(START)), None);
        let one = ratio_in_drift(&rounds[..1], ALL, Base(START)).unwrap();
        assert!((one.value.unwrap() - 1.41).abs() < 1e-9 && one.interval().is_none(), "{one:?}");
    }

    /// Five rounds one after the other, on a machine whose wander is in the ratio.
    #[test]
    fn rounds_that_follow_each_other_know_that_an_hour_is_another_thing() {
        let mut noise = Noise::new(31);
        let (runs, mut hold, mut hold_without) = (400, 0, 0);
        for _ in 0..runs {
            let mut wander = noise.normal();
            let mut logs = Vec::new();
            let rounds: Vec<DriftRound> = (0..5)
                .map(|at| {
                    let fresh = (1.0 - NEIGHBOURS_SHARE.powi(4)).sqrt();
                    wander = NEIGHBOURS_SHARE.powi(2) * wander + fresh * noise.normal();
                    let log = 0.05 * wander + 0.04 * noise.normal();
                    logs.push(log);
                    round(2 * at, &[(START, 1.0), (CHOSEN, log.exp())])
                })
                .collect();
            let (low, high) =
                ratio_in_drift(&rounds, CHOSEN, Base(START)).unwrap().interval().unwrap();
            hold += usize::from(low < 1.0 && 1.0 < high);
            let plain = crate::stats::statistics::Estimate::of_repeats(&logs).unwrap();
            hold_without += usize::from(plain.mean.abs() < plain.half_width());
        }
        assert!(hold * 10 >= runs * 9, "{hold} of {runs}");
        assert!(hold_without * 10 < runs * 8, "{hold_without} of {runs}");
    }
}
