//! What ends a ramp, and the counts of connections that it may measure.

use crate::problem::Problem;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

/// Throughput that rises with this power of the connections at most is on a plateau: 15 % for twice
/// as many.
pub const PLATEAU_ELASTICITY: f64 = 0.2;

/// Conditions and bounds of a ramp. [`RampLimits::default`] has those of the white papers; `None`,
/// or a type that is not named, is no condition.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RampLimits {
    /// Connections of the first point; at least 1.
    #[serde(rename = "connections_start")]
    pub start: u32,
    /// The finest difference of connections; at least 1. All counts are the start and a multiple of
    /// it.
    #[serde(rename = "connections_step")]
    pub step: u32,
    pub connections_max: u32,
    /// Points measured at most; at least 1.
    pub points_max: u32,
    /// Of the server's machine, above 0 to 1.
    #[serde(rename = "stop_cpu_busy_share")]
    pub cpu_busy_share: Option<f64>,
    /// 90th percentiles of response times by transaction type; above 0.
    #[serde(rename = "stop_p90_us")]
    pub p90_us: BTreeMap<String, f64>,
    /// Of all tries of transactions, those that were made again; above 0 to 1.
    #[serde(rename = "stop_retries_share")]
    pub retries_share: Option<f64>,
    /// A response time that rises faster than this power of the connections has a kink; above 1,
    /// since one of a saturated closed loop rises with the connections.
    #[serde(rename = "stop_kink_elasticity")]
    pub kink_elasticity: Option<f64>,
    /// Throughput that rises slower than this power of the connections is on a plateau; 0 to 1.
    #[serde(rename = "stop_plateau_elasticity")]
    pub plateau_elasticity: Option<f64>,
}

impl Default for RampLimits {
    fn default() -> RampLimits {
        let types = ["new_order", "payment", "order_status", "delivery", "stock_level"];
        let most_s = |name: &str| if name == "stock_level" { 20.0 } else { 5.0 };
        RampLimits {
            start: 8,
            step: 8,
            connections_max: 1024,
            points_max: 24,
            cpu_busy_share: Some(0.8),
            p90_us: types.map(|name| (name.to_owned(), most_s(name) * 1e6)).into(),
            retries_share: None,
            kink_elasticity: Some(2.0),
            plateau_elasticity: Some(PLATEAU_ELASTICITY),
        }
    }
}

/// `start=8 step=8 connections_max=1024 points=24 stop_cpu=0.8 stop_p90.new_order=5s stop_kink=2
/// stop_plateau=0.2`: equal for equal limits.
impl fmt::Display for RampLimits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let told = |(option, limit, ..): (&str, Option<f64>, &str, Fits)| {
            limit.map_or_else(String::new, |limit| format!(" {option}={limit}"))
        };
        let [of_cpu, others @ ..] = self.conditions().map(told);
        write!(
            f,
            "start={} step={} connections_max={} points={}{of_cpu}",
            self.start, self.step, self.connections_max, self.points_max
        )?;
        for (transaction, us) in &self.p90_us {
            write!(f, " stop_p90.{transaction}={}s", us / 1e6)?;
        }
        f.write_str(&others.concat())
    }
}

/// Does a limit make sense?
type Fits = fn(f64) -> bool;

impl RampLimits {
    /// Each condition but for the limits of response times: its option and its limit, and what that
    /// has to be.
    fn conditions(&self) -> [(&'static str, Option<f64>, &'static str, Fits); 4] {
        const SHARE: &str = "above 0 and at most 1";
        let is_share: Fits = |share| share > 0.0 && share <= 1.0;
        let is_kink: Fits = |power| power > 1.0 && power.is_finite();
        let is_plateau: Fits = |power| (0.0..=1.0).contains(&power);
        [
            ("stop_cpu", self.cpu_busy_share, SHARE, is_share),
            ("stop_retries", self.retries_share, SHARE, is_share),
            ("stop_kink", self.kink_elasticity, "above 1", is_kink),
            ("stop_plateau", self.plateau_elasticity, "from 0 to 1", is_plateau),
        ]
    }

    /// # Errors
    /// The first limit that makes no sense.
    pub fn check(&self) -> Result<(), Problem> {
        let (start, most) = (self.start, self.connections_max);
        for (option, count) in [("start", start), ("step", self.step), ("points", self.points_max)]
        {
            Problem::when(count == 0, option, "it is 0 for this ramp, and at least 1")?;
        }
        let why = format!(
            "a ramp starts at {start} connections, above its maximum of {most}; lower one or raise \
             the other"
        );
        Problem::when(start > most, "start", why)?;
        let p90_us = self.p90_us.values().copied().find(|us| us.is_nan() || *us <= 0.0);
        let of_types: (_, _, _, Fits) = ("stop_p90", p90_us, "longer than 0", |_| false);
        for (option, value, expected, fits) in self.conditions().into_iter().chain([of_types]) {
            if let Some(value) = value.filter(|value| !fits(*value)) {
                let why = format!("it is {value} for this ramp; it must be {expected}");
                return Problem::of(option, why);
            }
        }
        Ok(())
    }

    /// Every count that may be measured, ascending.
    pub fn grid(&self) -> impl Iterator<Item = u32> + use<> {
        let step = self.step as usize;
        (self.start..=self.connections_max).step_by(step)
    }

    /// Counts of which each is twice the one before, to the grid; the last is the grid's.
    pub fn doubling(&self) -> impl Iterator<Item = u32> + use<> {
        let (start, step) = (self.start, self.step);
        let last = start + (self.connections_max - start) / step * step;
        std::iter::successors(Some(start), move |count| {
            let steps = (count.saturating_mul(2) - start).div_ceil(step);
            let doubled = steps.saturating_mul(step).saturating_add(start);
            (*count < last).then_some(doubled.min(last))
        })
    }

    /// The count of the grid in the middle between two of it; `None` where they are neighbours.
    pub fn between(&self, counts: Range<u32>) -> Option<u32> {
        let steps = (counts.end - counts.start) / self.step;
        (steps > 1).then(|| counts.start + steps / 2 * self.step)
    }
}

#[cfg(test)]
mod tests {
    use super::RampLimits;

    fn limits(start: u32, step: u32, connections_max: u32) -> RampLimits {
        RampLimits { start, step, connections_max, ..RampLimits::default() }
    }

    #[test]
    fn counts_double_on_the_grid() {
        let of = |limits: RampLimits| limits.doubling().collect::<Vec<u32>>();
        assert_eq!(of(limits(8, 8, 100)), [8, 16, 32, 64, 96]);
        assert_eq!(of(limits(1, 4, 30)), [1, 5, 13, 29]);
        assert_eq!(of(limits(32, 100, 50)), [32]);
        let grid: Vec<u32> = limits(1, 4, 15).grid().collect();
        assert_eq!(grid, [1, 5, 9, 13]);
        assert_eq!(limits(8, 8, 100).between(32..64), Some(48));
        assert_eq!(limits(8, 8, 100).between(32..56), Some(40));
        assert_eq!(limits(8, 8, 100).between(32..40), None);
    }

    #[test]
    fn equal_limits_have_equal_texts() {
        let text = RampLimits::default().to_string();
        assert!(
            text.starts_with(
                "start=8 step=8 connections_max=1024 points=24 stop_cpu=0.8 stop_p90.delivery=5s"
            ),
            "{text}"
        );
        let other = RampLimits { plateau_elasticity: None, ..RampLimits::default() };
        assert_eq!(text, format!("{other} stop_plateau=0.2"));
        let set = RampLimits { retries_share: Some(0.05), ..RampLimits::default() };
        assert_eq!(set.to_string(), text.replace(" stop_kink", " stop_retries=0.05 stop_kink"));
    }

    #[test]
    fn nonsense_is_refused() {
        assert_eq!(RampLimits::default().check(), Ok(()));
        assert_eq!(limits(8, 0, 100).check().unwrap_err().option, "step");
        let above = limits(200, 8, 100).check().unwrap_err();
        assert!(above.to_string().contains("200 connections"), "{above}");
        assert_eq!(above.option, "start");
        let of = RampLimits::default;
        for (option, wrong) in [
            ("stop_cpu", RampLimits { cpu_busy_share: Some(80.0), ..of() }),
            ("stop_retries", RampLimits { retries_share: Some(0.0), ..of() }),
            ("stop_retries", RampLimits { retries_share: Some(1.5), ..of() }),
            ("stop_kink", RampLimits { kink_elasticity: Some(1.0), ..of() }),
            ("stop_plateau", RampLimits { plateau_elasticity: Some(f64::NAN), ..of() }),
            ("stop_p90", RampLimits { p90_us: [("payment".to_owned(), 0.0)].into(), ..of() }),
        ] {
            let error = wrong.check().unwrap_err();
            assert_eq!(error.option, option, "{error}");
        }
    }
}
