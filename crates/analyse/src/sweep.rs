//! One variable over its values: where does more of it stop to help, and where does it hurt?
//!
//! A value differs from the best one where chance alone makes such a difference less than once in twenty (Welch's test over repeats).
//! The best value is the one with the highest mean, so that it looks a little better than it is; METHODOLOGY.md says what that means.

use crate::matrix::{Dimension, Matrix, NamedValue};
use crate::outcomes::{CONNECTIONS, CellOutcome};
use crate::runs::{ONE_REPEAT_SHARE, SIGNIFICANT, UNPROVEN, Value};
use serde::Serialize;

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

/// Variables whose 0 is no least amount, but says that there is no limit, or that the thing is off. It is on no curve.
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

/// Where a curve turns. Values are those of the plan.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Turning {
    /// With the highest mean.
    pub best: String,
    /// The least from which on, up to the best, no value differs from the best: more is no gain.
    pub enough: String,
    /// The largest that does not differ from the best.
    pub most: String,
    /// A value above `most` is worse than the best: more hurts.
    pub hurts: bool,
    /// Each value has several repeats. Else differences above 2 % are taken for real.
    pub proven: bool,
    /// The same in words.
    pub finding: String,
}

/// A curve for each variable with three numbers or more, and each combination of what else varies.
pub(crate) fn sweeps(cells: &[CellOutcome], matrix: &Matrix) -> Vec<Sweep> {
    let mut all = Vec::new();
    for (index, dimension) in matrix.dimensions().iter().enumerate() {
        let is_amount = dimension.name != CONNECTIONS && !is_among(dimension, &ENUMERATED);
        let numbers = dimension.numbers().filter(|_| is_amount);
        let Some(numbers) = numbers else { continue };
        let zero_is_amount = !is_among(dimension, &ZERO_IS_A_MODE);
        for mut slice in matrix.slices(index) {
            slice
                .cells
                .retain(|(value, _)| zero_is_amount || numbers[*value] != 0.0);
            if slice.cells.len() < POINTS_MIN {
                continue;
            }
            let mut measured: Vec<(SweepPoint, Value)> = slice
                .cells
                .iter()
                .map(|(value, cell)| {
                    let nopm = cells[*cell].nopm.over_runs(cells[*cell].basis);
                    let point = SweepPoint {
                        value: dimension.values[*value].clone(),
                        number: numbers[*value],
                        ordinal: cells[*cell].ordinal,
                        nopm: nopm.mean,
                        nopm_half_width: nopm.estimate.map(|estimate| estimate.half_width()),
                    };
                    (point, nopm)
                })
                .collect();
            measured.sort_by(|(one, _), (other, _)| one.number.total_cmp(&other.number));
            let named: Vec<(&str, Value)> = measured
                .iter()
                .map(|(point, nopm)| (point.value.as_str(), *nopm))
                .collect();
            all.push(Sweep {
                dimension: dimension.name.clone(),
                others: slice.others,
                turning: turning(&named),
                points: measured.into_iter().map(|(point, _)| point).collect(),
            });
        }
    }
    all
}

/// Is the dimension one of these variables? Of dimensions that are one, the first counts, as for its numbers.
fn is_among(dimension: &Dimension, variables: &[&str]) -> bool {
    let first = dimension.names().next();
    first.is_some_and(|name| variables.contains(&name))
}

/// A value with its mean.
struct Known<'a> {
    name: &'a str,
    mean: f64,
    nopm: Value,
}

/// Where throughput turns over values in ascending order; those without a number are left out.
#[must_use]
pub fn turning(points: &[(&str, Value)]) -> Option<Turning> {
    let known: Vec<Known> = points
        .iter()
        .filter_map(|(name, nopm)| {
            let (name, nopm) = (*name, *nopm);
            nopm.mean.map(|mean| Known { name, mean, nopm })
        })
        .collect();
    if known.len() < POINTS_MIN {
        return None;
    }
    // Of equals the first: less of it does as well.
    let at_best = (0..known.len()).rev().max_by(|one, other| {
        let mean = |index: &usize| known[*index].mean;
        mean(one).total_cmp(&mean(other))
    })?;
    let best = &known[at_best];
    let is_worse = |point: &Known| worse(point, best);
    let before = known[..at_best].iter().rev();
    let at_enough = at_best - before.take_while(|point| !is_worse(point)).count();
    let at_most = known.iter().rposition(|point| !is_worse(point))?;
    let proven = known.iter().all(|point| point.nopm.estimate.is_some());
    let mut turning = Turning {
        best: best.name.to_owned(),
        enough: known[at_enough].name.to_owned(),
        most: known[at_most].name.to_owned(),
        hurts: at_most + 1 < known.len(),
        proven,
        finding: String::new(),
    };
    turning.finding = finding(&known, &turning, best);
    Some(turning)
}

/// Does the point differ from the best one by more than chance makes?
fn worse(point: &Known, best: &Known) -> bool {
    match point.nopm.estimate.zip(best.nopm.estimate) {
        Some((one, best)) => one.mean < best.mean && one.compared_with(&best).p_value < SIGNIFICANT,
        None => point.mean < best.mean * (1.0 - ONE_REPEAT_SHARE),
    }
}

fn finding(known: &[Known], turning: &Turning, best: &Known) -> String {
    let Turning { enough, most, .. } = turning;
    let (first, last) = (known[0].name, known[known.len() - 1].name);
    let equal: Vec<bool> = known.iter().map(|point| !worse(point, best)).collect();
    let mut parts = vec![format!("highest at {}", turning.best)];
    if equal.iter().all(|equal| *equal) {
        parts.push(format!("no value from {first} to {last} differs from it"));
    } else {
        // Before a dip, after which throughput recovers.
        let before_enough = known.iter().zip(&equal);
        let as_well: Vec<&str> = before_enough
            .take_while(|(point, _)| point.name != enough)
            .filter(|(_, equal)| **equal)
            .map(|(point, _)| point.name)
            .collect();
        if enough != last && enough != most {
            parts.push(format!("no gain beyond {enough}"));
        }
        match as_well[..] {
            [] if enough == last => parts.push("still rising there".to_owned()),
            [] => {}
            [only] => parts.push(format!("{only} does as well")),
            _ => parts.push(format!("{} do as well", as_well.join(", "))),
        }
        parts.extend(dips(known, &equal, best));
        if turning.hurts {
            // The value after `most`, which is worse than the best.
            let next = known.iter().skip_while(|point| point.name != most).nth(1);
            let loss = next.map(|next| format!(" ({}: {})", next.name, lost(next, best)));
            parts.push(format!(
                "more than {most} hurts{}",
                loss.unwrap_or_default()
            ));
        }
    }
    if !turning.proven {
        parts.push(UNPROVEN.to_owned());
    }
    parts.join("; ")
}

/// Values that are worse than the best one and stand between two that are not. `equal` tells of each value whether it does as well.
fn dips(known: &[Known], equal: &[bool], best: &Known) -> Vec<String> {
    let first = equal.iter().position(|equal| *equal);
    let last = equal.iter().rposition(|equal| *equal);
    let between = first.zip(last).map_or(0..0, |(first, last)| first..last);
    between
        .filter(|at| !equal[*at])
        .map(|at| format!("{} is worse ({})", known[at].name, lost(&known[at], best)))
        .collect()
}

/// `-12 %, p = 0.003`
fn lost(point: &Known, best: &Known) -> String {
    let percent = (point.mean / best.mean - 1.0) * 100.0;
    let compared = point.nopm.estimate.zip(best.nopm.estimate);
    let p = compared.map_or_else(String::new, |(point, best)| {
        match point.compared_with(&best).p_value {
            p if p < 0.001 => ", p < 0.001".to_owned(),
            p => format!(", p = {p:.3}"),
        }
    });
    format!("{percent:.0} %{p}")
}

#[cfg(test)]
mod tests {
    use super::{Turning, sweeps, turning};
    use crate::outcomes::{matrix, tests::cell};
    use crate::runs::Value;

    /// Three repeats of each value, `scatter` apart.
    fn turn(means: &[f64], scatter: f64) -> Turning {
        let names = ["200", "2000", "10000", "15000", "20000", "25000"];
        let values: Vec<(&str, Value)> = names
            .iter()
            .zip(means)
            .map(|(name, mean)| {
                let repeats = [mean - scatter, *mean, mean + scatter];
                (*name, Value::of_repeats(&repeats))
            })
            .collect();
        turning(&values).unwrap()
    }

    fn found(turning: &Turning) -> (&str, &str, &str, bool) {
        let Turning {
            best, enough, most, ..
        } = turning;
        (best, enough, most, turning.hurts)
    }

    #[test]
    fn more_hurts() {
        let found_one = turn(&[100.0, 500.0, 600.0, 598.0, 450.0, 300.0], 5.0);
        assert_eq!(found(&found_one), ("10000", "10000", "15000", true));
        assert!(found_one.proven);
        let words = &found_one.finding;
        let start = "highest at 10000; no gain beyond 10000; more than 15000 hurts (20000: -25 %, p < 0.001)";
        assert!(words.starts_with(start), "{words}");
    }

    #[test]
    fn no_gain_beyond() {
        let level = turn(&[100.0, 500.0, 598.0, 601.0, 599.0, 600.0], 5.0);
        assert_eq!(found(&level), ("15000", "10000", "25000", false));
        assert_eq!(level.finding, "highest at 15000; no gain beyond 10000");
    }

    #[test]
    fn rising_and_flat() {
        let rising = turn(&[100.0, 200.0, 300.0, 400.0, 500.0, 600.0], 5.0);
        assert_eq!(found(&rising), ("25000", "25000", "25000", false));
        assert_eq!(rising.finding, "highest at 25000; still rising there");
        let flat = turn(&[100.0, 101.0, 100.5, 99.0, 100.0, 100.0], 5.0);
        assert_eq!(found(&flat), ("2000", "200", "25000", false));
        let words = "highest at 2000; no value from 200 to 25000 differs from it";
        assert_eq!(flat.finding, words);
        let falling = turn(&[600.0, 500.0, 400.0, 300.0, 200.0, 100.0], 5.0);
        assert_eq!(found(&falling), ("200", "200", "200", true));
    }

    #[test]
    fn a_dip_that_ends_is_no_end() {
        // Had the curve ended at 10000, more than 2000 would hurt.
        let dip = turn(&[100.0, 600.0, 450.0, 598.0, 597.0, 300.0], 5.0);
        assert_eq!(found(&dip), ("2000", "2000", "20000", true));
        let start = "highest at 2000; no gain beyond 2000; 10000 is worse (-25 %, p < 0.001); more than 20000 hurts (25000: ";
        assert!(dip.finding.starts_with(start), "{}", dip.finding);
    }

    #[test]
    fn a_dip_is_named() {
        for (means, words) in [
            (
                &[600.0, 300.0, 595.0][..],
                "highest at 200; no gain beyond 200; 2000 is worse (-50 %, p < 0.001)",
            ),
            (
                &[600.0, 450.0, 601.0],
                "highest at 10000; 200 does as well; 2000 is worse (-25 %, p < 0.001)",
            ),
            (
                &[600.0, 599.0, 300.0, 601.0],
                "highest at 15000; 200, 2000 do as well; 10000 is worse (-50 %, p < 0.001)",
            ),
            (
                &[100.0, 600.0, 300.0, 601.0, 600.0],
                "highest at 15000; no gain beyond 15000; 2000 does as well; 10000 is worse (-50 %, p < 0.001)",
            ),
        ] {
            assert_eq!(turn(means, 5.0).finding, words);
        }
    }

    #[test]
    fn one_repeat_proves_nothing_and_says_so() {
        let one = |mean: f64| Value::of_repeats(&[mean]);
        let points = [("1", 50.0), ("2", 99.0), ("3", 100.0), ("4", 97.0)];
        let of = turning(&points.map(|(name, mean)| (name, one(mean)))).unwrap();
        assert_eq!(found(&of), ("3", "2", "3", true));
        assert!(!of.proven && of.finding.contains("one repeat only"));
        assert!(of.finding.contains("more than 3 hurts (4: -3 %)"));
        // NA is left out; two numbers are no curve.
        let nothing = Value::of_repeats(&[]);
        let few = [("1", one(1.0)), ("2", nothing), ("3", one(2.0))];
        assert_eq!(turning(&few), None);
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
    fn curves_of_a_lab() {
        let capacities = ["2000", "200", "15000"];
        let mut cells = Vec::new();
        for (index, (device, repeats)) in [("hdd-15k", [9.0, 10.0]), ("nvme-pm1725", [90.0, 91.0])]
            .iter()
            .enumerate()
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
        let points: Vec<(&str, u32)> = found[1]
            .points
            .iter()
            .map(|point| (point.value.as_str(), point.ordinal))
            .collect();
        assert_eq!(points, [("200", 5), ("2000", 4), ("15000", 6)]);
        assert!(found[1].points[0].nopm_half_width.is_some());
        assert_eq!(found[1].turning.as_ref().unwrap().enough, "200");
    }
}
