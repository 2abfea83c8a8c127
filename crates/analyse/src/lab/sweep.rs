//! One variable over its values: where does more of it stop to help, and where does it hurt?
//!
//! Any two values of a curve are compared inside blocks, with intervals that hold all at once
//! (Bonferroni over the pairs), since the value with the highest mean is chosen by looking at all.
//! That a value gives no more is said only with the gain that is excluded, and a value of fewer
//! than three repeats supports no claim. Of a value without a number, or that failed more often
//! than others did, nothing is said, nor of what lies beyond the last of the others.

use crate::lab::cells::{CellOutcome, blocks};
use crate::lab::matrix::{CONNECTIONS, Dimension, Matrix, NamedValue};
use crate::stats::blocks::{Base, Blocks, Contrast};
use crate::stats::statistics::CONFIDENCE;
use base::document;
use serde::Serialize;

/// A gain that is worth having: beyond a value that no larger one exceeds by more, there is no need
/// to look.
const GAIN_SHARE: f64 = 0.05;
/// Fewer values with a number make no curve.
const POINTS_MIN: usize = 3;
/// Variables whose numbers are names of modes: 2 is no more of them than 1.
const ENUMERATED: [&str; 8] = [
    "completion_type",
    "concurrent_insert",
    "innodb_autoinc_lock_mode",
    "innodb_fast_shutdown",
    "innodb_flush_log_at_trx_commit",
    "innodb_flush_neighbors",
    "innodb_force_recovery",
    "query_cache_type",
];

/// Variables whose 0 is no least amount, but says that there is no limit, or that the thing is off.
/// It is on no curve.
const ZERO_IS_A_MODE: [&str; 6] = [
    "innodb_adaptive_max_sleep_delay",
    "innodb_commit_concurrency",
    "innodb_max_dirty_pages_pct_lwm",
    "innodb_max_purge_lag",
    "innodb_thread_concurrency",
    "sync_binlog",
];

/// Throughput over the values of one variable.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sweep {
    pub dimension: String,
    /// What is equal in all of its cells and varies in the lab.
    pub others: Vec<NamedValue>,
    /// By ascending value.
    pub points: Vec<SweepPoint>,
    /// `None` where fewer than three values have a number.
    pub turning: Option<Turning>,
}

/// One value.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SweepPoint {
    /// As in the plan.
    pub value: String,
    #[serde(skip)]
    pub number: f64,
    pub ordinal: u32,
    /// New orders per minute; `None` is NA.
    pub nopm: Option<f64>,
    /// Half the width of the interval over repeats.
    pub nopm_half_width: Option<f64>,
}

document! {
    /// Where a curve turns. Values are those of the plan.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Turning from (curve: &Curve<'_>, values: &[&str]);
    let Curve { known, worse, at_best, .. } = curve;
    let last = known.len() - 1;
    let name = |at: usize| known[at].name.to_owned();
    let gain = |at: usize| curve.gain_beyond(at);
    let enough = (0..last).find(|at| gain(*at).is_some_and(|gain| gain <= GAIN_SHARE));
    // The best is not worse than itself.
    let most = worse.iter().rposition(|worse| !worse).unwrap_or(*at_best);
    let is_known = |value: &&&str| known.iter().any(|of| of.name == **value);
    let unknown = values.iter().filter(|value| !is_known(value)).map(|value| (*value).to_owned());
    {
        /// With the highest mean.
        pub best: String = name(*at_best),
        /// The least beyond which a gain above 5 % is excluded; `None` where that cannot be said of
        /// any but the last.
        pub enough: Option<String> = enough.map(name),
        /// The largest gain over `best` by a larger value that is not excluded; `None` where there
        /// is none, or it is not known.
        pub gain_beyond_best_percent: Option<f64> = gain(*at_best).map(|share| share * 100.0),
        /// The largest that is not shown to be worse than the best.
        pub most: String = name(most),
        /// A value above `most` is shown to be worse than the best: more hurts.
        pub hurts: bool = most < last,
        /// The last value is the best, and all others are shown to be worse.
        #[serde(skip)]
        pub is_rising: bool = *at_best == last && worse[..last].iter().all(|worse| *worse),
        /// Each value has three repeats or more. Of others nothing is said.
        pub proven: bool = curve.supports_claims(),
        /// Values of which nothing is said: they have no number, or failed in a larger share of
        /// their repeats than others did.
        pub unknown: Vec<String> = unknown.collect(),
        /// Where the largest values are among those: the last of which something is said.
        pub ends_at: Option<String> =
            (values.last() != Some(&known[last].name)).then(|| name(last)),
        /// The same in words.
        pub finding: String = String::new(),
    }
}

/// A curve for each variable with three numbers or more, and each combination of what else varies.
pub(crate) fn sweeps(cells: &[CellOutcome], matrix: &Matrix) -> Vec<Sweep> {
    let is_amount =
        |dimension: &Dimension| dimension.name != CONNECTIONS && !is_among(dimension, &ENUMERATED);
    curves(cells, matrix, &is_amount)
}

/// The same over the numbers of connections.
pub(crate) fn over_connections(cells: &[CellOutcome], matrix: &Matrix) -> Vec<Sweep> {
    curves(cells, matrix, &|dimension| dimension.name == CONNECTIONS)
}

fn curves(
    cells: &[CellOutcome],
    matrix: &Matrix,
    is_meant: &dyn Fn(&Dimension) -> bool,
) -> Vec<Sweep> {
    let model = blocks(cells, |repeat| repeat.nopm);
    let mut all = Vec::new();
    for (index, dimension) in matrix.dimensions().iter().enumerate() {
        let Some(numbers) = dimension.numbers().filter(|_| is_meant(dimension)) else { continue };
        let zero_is_amount = !is_among(dimension, &ZERO_IS_A_MODE);
        for mut slice in matrix.slices(index) {
            slice.cells.retain(|(value, _)| zero_is_amount || numbers[*value] != 0.0);
            if slice.cells.len() < POINTS_MIN {
                continue;
            }
            slice.cells.sort_by(|(one, _), (other, _)| numbers[*one].total_cmp(&numbers[*other]));
            let point = |(value, cell): &(usize, usize)| SweepPoint {
                value: dimension.values[*value].clone(),
                number: numbers[*value],
                ordinal: cells[*cell].ordinal,
                nopm: cells[*cell].nopm.mean,
                nopm_half_width: cells[*cell].nopm.half_width(),
            };
            let points: Vec<SweepPoint> = slice.cells.iter().map(point).collect();
            let places =
                || points.iter().zip(&slice.cells).map(|(point, (_, cell))| (point, *cell));
            let failed_more = |of: usize| {
                let mut with_mean = places().filter(|(point, _)| point.nopm.is_some());
                with_mean.any(|(_, other)| cells[of].failed_more_often(&cells[other]))
            };
            let known = places().filter_map(|(point, cell)| {
                let mean = point.nopm.filter(|_| !failed_more(cell))?;
                Some(KnownValue { name: &point.value, mean, cell })
            });
            let values: Vec<&str> = points.iter().map(|point| point.value.as_str()).collect();
            let turning = turning(&Curve::of(&model, known.collect()), &values);
            let dimension = dimension.name.clone();
            all.push(Sweep { dimension, others: slice.others, points, turning });
        }
    }
    all
}

/// Is the dimension one of these variables? Of dimensions that are one, the first counts, as for
/// its numbers.
fn is_among(dimension: &Dimension, variables: &[&str]) -> bool {
    let first = dimension.names().next();
    first.is_some_and(|name| variables.contains(&name))
}

/// A value with its mean.
struct KnownValue<'a> {
    name: &'a str,
    mean: f64,
    cell: usize,
}

/// Values with a number, in ascending order.
struct Curve<'a> {
    model: &'a Blocks,
    known: Vec<KnownValue<'a>>,
    at_best: usize,
    /// Of each value: is it shown to be worse than the best?
    worse: Vec<bool>,
}

impl<'a> Curve<'a> {
    fn of(model: &'a Blocks, known: Vec<KnownValue<'a>>) -> Curve<'a> {
        // Of equals the first: less of it does as well.
        let by_mean = |a: &usize, b: &usize| known[*a].mean.total_cmp(&known[*b].mean);
        let best = (0..known.len()).rev().max_by(by_mean);
        let mut curve = Curve { model, at_best: best.unwrap_or(0), worse: Vec::new(), known };
        let is_worse = |at: usize| {
            let interval = curve.interval(at, curve.best());
            at != curve.at_best && interval.is_some_and(|[_, high]| high < 1.0)
        };
        curve.worse = (0..curve.known.len()).map(is_worse).collect();
        curve
    }

    /// Of the pairs of values.
    fn pairs(&self) -> f64 {
        let count = self.known.len() as f64;
        count * (count - 1.0) / 2.0
    }

    fn best(&self) -> &KnownValue<'a> {
        &self.known[self.at_best]
    }

    /// The value at `at` against `base`, both with repeats enough.
    fn contrast(&self, at: usize, base: &KnownValue<'_>) -> Option<Contrast> {
        let contrast = self.model.contrast(self.known[at].cell, Base(base.cell))?;
        contrast.supports_claims().then_some(contrast)
    }

    /// The ratio of two values, with an interval that holds together with those of all other pairs.
    fn interval(&self, at: usize, base: &KnownValue<'_>) -> Option<[f64; 2]> {
        let each = 1.0 - (1.0 - CONFIDENCE) / self.pairs();
        self.contrast(at, base)?.interval(each)
    }

    /// The largest gain over the value at `at` by a larger one that is not excluded, as a share;
    /// `None` where one is not known.
    fn gain_beyond(&self, at: usize) -> Option<f64> {
        let larger = at + 1..self.known.len();
        let base = &self.known[at];
        let gains = larger.map(|other| Some(self.interval(other, base)?[1] - 1.0));
        gains.reduce(|one, other| Some(one?.max(other?)))?
    }

    fn supports_claims(&self) -> bool {
        let mut others = (0..self.known.len()).filter(|at| *at != self.at_best);
        others.all(|at| self.contrast(at, self.best()).is_some())
    }
}

/// Where throughput turns, of all values in ascending order.
fn turning(curve: &Curve<'_>, values: &[&str]) -> Option<Turning> {
    if curve.known.len() < POINTS_MIN {
        return None;
    }
    let turning = Turning::of(curve, values);
    Some(Turning { finding: finding(curve, &turning), ..turning })
}

fn finding(curve: &Curve<'_>, turning: &Turning) -> String {
    let Curve { known, worse, .. } = curve;
    let last = known.len() - 1;
    let mut parts = vec![format!("highest at {}", turning.best)];
    if !turning.proven {
        parts.push("values with fewer than three repeats support no claim".to_owned());
    }
    let alike = (0..known.len()).filter(|at| *at != curve.at_best && !worse[*at]);
    let alike: Vec<&str> = alike.map(|at| known[at].name).collect();
    // Nothing is said of what lies beyond.
    let up_to = turning.ends_at.as_ref().map_or_else(String::new, |end| format!(" up to {end}"));
    if turning.is_rising && turning.ends_at.is_none() {
        parts.push("still rising there".to_owned());
    } else if turning.is_rising {
        parts.push(format!("rising{up_to}"));
    } else if turning.proven && alike.len() == last {
        let (first, last) = (known[0].name, known[last].name);
        parts.push(format!("no value from {first} to {last} is shown to differ from it"));
    } else if turning.proven && !alike.is_empty() {
        let are = if alike.len() == 1 { "is" } else { "are" };
        parts.push(format!("{} {are} not shown to differ from it", alike.join(", ")));
    }
    match (&turning.enough, turning.gain_beyond_best_percent) {
        (Some(enough), _) => {
            parts.push(format!("a gain above 5 % beyond {enough}{up_to} is excluded"));
        }
        (None, Some(percent)) if percent > 0.0 => parts.push(format!(
            "a gain of up to {percent:.0} % beyond {} is not excluded",
            turning.best
        )),
        _ => {}
    }
    let first = worse.iter().position(|worse| !worse).unwrap_or(0);
    let most = worse.iter().rposition(|worse| !worse).unwrap_or(last);
    let dips = (first..most).filter(|at| worse[*at]);
    parts.extend(dips.map(|at| format!("{} is worse ({})", known[at].name, lost(curve, at))));
    if turning.hurts {
        let (next, loss) = (known[most + 1].name, lost(curve, most + 1));
        parts.push(format!("more than {}{up_to} hurts ({next}: {loss})", turning.most));
    }
    if !turning.unknown.is_empty() {
        parts.push(format!("nothing is claimed of {}", turning.unknown.join(", ")));
    }
    parts.join("; ")
}

/// `-12 %, p = 0.003`, corrected for all pairs of the curve.
fn lost(curve: &Curve<'_>, at: usize) -> String {
    let Some(contrast) = curve.contrast(at, curve.best()) else { return String::new() };
    let percent = (contrast.ratio() - 1.0) * 100.0;
    let p = match contrast.p_value().map(|p| (p * curve.pairs()).min(1.0)) {
        Some(p) if p >= 0.001 => format!(", p = {p:.3}"),
        Some(_) => ", p < 0.001".to_owned(),
        None => String::new(),
    };
    format!("{percent:.0} %{p}")
}

#[cfg(test)]
mod tests {
    use super::{Sweep, Turning, sweeps};
    use crate::lab::cells::{CellOutcome, matrix, tests::cell};

    const VALUES: [&str; 6] = ["200", "2000", "10000", "15000", "20000", "25000"];
    /// Of the noise: each cell has another place in it.
    const NOISE: [f64; 7] = [0.9, -0.5, -0.6, 0.4, -0.9, 0.6, 0.1];

    /// Repeats of each value, each with noise of up to `scatter`, in blocks of which each is slower
    /// than the one before.
    fn curve(means: &[f64], scatter: f64, repeats: usize) -> Vec<CellOutcome> {
        let rows = VALUES.iter().zip(means).enumerate();
        rows.map(|(at, (value, mean))| {
            let repeat = |block: usize| {
                let drift = 1.0 - 0.08 * block as f64;
                (mean + scatter * NOISE[(2 * at + 3 * block) % 7]) * drift
            };
            let nopm: Vec<f64> = (0..repeats).map(repeat).collect();
            cell(at as u32 + 1, ("hdd-15k", value), 8, &nopm)
        })
        .collect()
    }

    fn swept(cells: &[CellOutcome]) -> Vec<Sweep> {
        sweeps(cells, &matrix(cells))
    }

    fn turn(means: &[f64], scatter: f64) -> Turning {
        let found = swept(&curve(means, scatter, 3)).remove(0);
        found.turning.unwrap()
    }

    fn found(turning: &Turning) -> (&str, Option<&str>, &str, bool) {
        let Turning { best, enough, most, .. } = turning;
        (best, enough.as_deref(), most, turning.hurts)
    }

    #[test]
    fn more_hurts() {
        let of = turn(&[100.0, 500.0, 600.0, 598.0, 450.0, 300.0], 2.0);
        assert_eq!(found(&of), ("10000", Some("10000"), "15000", true));
        assert!(of.proven);
        let words = "highest at 10000; 15000 is not shown to differ from it; a gain above 5 % \
                     beyond 10000 is excluded; more than 15000 hurts (20000: -25 %, p < 0.001)";
        assert_eq!(of.finding, words);
    }

    #[test]
    fn no_more_gain_is_said_with_what_is_excluded() {
        let level = [100.0, 500.0, 598.0, 601.0, 599.0, 600.0];
        let of = turn(&level, 2.0);
        assert_eq!(found(&of), ("15000", Some("10000"), "25000", false));
        // The same means with more scatter: it is no proof of no gain that none was found.
        let of = turn(&level, 40.0);
        assert_eq!(of.enough, None);
        let gain = of.gain_beyond_best_percent.unwrap();
        assert!(gain > 5.0, "{gain}");
        let words = format!("a gain of up to {gain:.0} % beyond {} is not", of.best);
        assert!(of.finding.contains(&words), "{}", of.finding);
    }

    #[test]
    fn rising_flat_and_falling() {
        let rising = turn(&[100.0, 200.0, 300.0, 400.0, 500.0, 600.0], 2.0);
        assert_eq!(found(&rising), ("25000", None, "25000", false));
        assert_eq!(rising.finding, "highest at 25000; still rising there");
        let flat = turn(&[100.0, 100.1, 100.05, 99.9, 100.0, 100.0], 0.3);
        assert_eq!((flat.enough.as_deref(), flat.hurts), (Some("200"), false));
        let words = "; no value from 200 to 25000 is shown to differ from it; \
                     a gain above 5 % beyond 200 is excluded";
        assert!(flat.finding.ends_with(words), "{}", flat.finding);
        let falling = turn(&[600.0, 500.0, 400.0, 300.0, 200.0, 100.0], 0.5);
        assert_eq!(found(&falling), ("200", Some("200"), "200", true));
    }

    #[test]
    fn a_dip_that_ends_is_no_end() {
        // Had the curve ended at 10000, more than 2000 would hurt.
        let dip = turn(&[100.0, 600.0, 450.0, 598.0, 597.0, 300.0], 2.0);
        assert_eq!(found(&dip), ("2000", Some("2000"), "20000", true));
        let words = "; 10000 is worse (-25 %, p < 0.001); more than 20000 hurts (25000: ";
        assert!(dip.finding.contains(words), "{}", dip.finding);
    }

    #[test]
    fn fewer_than_three_repeats_prove_nothing_and_say_so() {
        for repeats in [1, 2] {
            let means = [50.0, 99.0, 100.0, 60.0];
            let of = swept(&curve(&means, 0.1, repeats)).remove(0).turning;
            let of = of.unwrap();
            assert_eq!(found(&of), ("10000", None, "15000", false));
            let words = "highest at 10000; values with fewer than three repeats support no claim";
            assert!(!of.proven && of.finding == words, "{}", of.finding);
        }
        // NA is left out; two numbers are no curve.
        let mut cells = curve(&[1.0, 2.0, 3.0], 0.1, 3);
        cells[1] = cell(2, ("hdd-15k", "2000"), 8, &[]);
        assert_eq!(swept(&cells)[0].turning, None);
    }

    #[test]
    fn modes_are_no_amounts() {
        let modes = |name: &str| {
            let mut cells = Vec::new();
            for (at, mode) in ["0", "1", "2", "4"].iter().enumerate() {
                let mut of = cell(at as u32 + 1, ("hdd-15k", "200"), 8, &[9.0, 10.0]);
                of.settings.insert(name.to_owned(), (*mode).to_owned());
                cells.push(of);
            }
            let found = sweeps(&cells, &matrix(&cells));
            found.first().map_or(0, |sweep| sweep.points.len())
        };
        assert_eq!(modes("innodb_flush_log_at_trx_commit"), 0);
        assert_eq!(modes("innodb_lru_scan_depth"), 4);
        // Its 0 is no limit.
        assert_eq!(modes("innodb_thread_concurrency"), 3);
    }

    #[test]
    fn throughput_over_cores_is_a_curve() {
        let of = |(ordinal, cores): (u32, u32)| CellOutcome {
            cores: Some(cores),
            ..cell(ordinal, ("hdd-15k", "200"), 8, &[100.0 * f64::from(cores); 3])
        };
        let cells: Vec<CellOutcome> = [(1, 1), (2, 2), (3, 4)].map(of).into();
        let found = swept(&cells);
        assert_eq!((found.len(), found[0].dimension.as_str()), (1, "cores"));
        assert_eq!(found[0].turning.as_ref().unwrap().best, "4");
    }

    #[test]
    fn curves_of_a_lab() {
        let capacities = ["2000", "200", "15000"];
        let mut cells = Vec::new();
        for (index, (device, repeats)) in
            [("hdd-15k", [9.0, 9.9]), ("nvme-pm1725", [90.0, 91.0])].iter().enumerate()
        {
            for (at, capacity) in capacities.iter().enumerate() {
                let ordinal = (index * 3 + at) as u32 + 1;
                cells.push(cell(ordinal, (device, capacity), 16, repeats));
            }
        }
        let found = sweeps(&cells, &matrix(&cells));
        assert_eq!(found.len(), 2);
        assert_eq!(found[1].dimension, "innodb_io_capacity");
        assert_eq!(found[1].others[0].words(), "nvme-pm1725");
        let points: Vec<(&str, u32)> =
            found[1].points.iter().map(|point| (point.value.as_str(), point.ordinal)).collect();
        assert_eq!(points, [("200", 5), ("2000", 4), ("15000", 6)]);
        assert!(found[1].points[0].nopm_half_width.is_some());
        assert_eq!(found[1].turning.as_ref().unwrap().best, "200");
    }
}
