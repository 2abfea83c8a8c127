//! How many transactions an open loop has.

use base::limits;
use humantime::{format_duration, parse_duration};
use serde::{Deserialize, Serialize};
use std::f64::consts::TAU;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// How many transactions of all types come.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub enum Rate {
    PerSecond(f64),
    /// A share of what a closed loop does.
    OfCapacity(f64),
    /// It changes at these times.
    Steps(Vec<RateStep>),
    /// It rises and falls as a sine does, from its mean on.
    Sine {
        low_per_s: f64,
        high_per_s: f64,
        period: Duration,
    },
}

/// From this time of the window on so many transactions come.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RateStep {
    pub from: Duration,
    pub per_s: f64,
}

/// Largest share of the capacity: what is beyond stands in the queue.
const SHARE_MAX: f64 = 10.0;
/// Steps that a period of a sine is made of: each rate is off by 2.5 % of the amplitude on average.
const SINE_STEPS: u32 = 64;
/// Most steps that may be written.
const STEPS_MAX: usize = 1_000;

impl Rate {
    /// Does it change over time?
    pub fn changes(&self) -> bool {
        matches!(self, Rate::Steps(_) | Rate::Sine { .. })
    }

    /// Its steps, the first at 0, and after how long they begin anew; `capacity_per_s` is what a
    /// closed loop does.
    pub fn steps(&self, capacity_per_s: f64) -> (Vec<RateStep>, Option<Duration>) {
        let steady = |per_s: f64| (vec![RateStep { from: Duration::ZERO, per_s }], None);
        match self {
            Rate::PerSecond(per_s) => steady(*per_s),
            Rate::OfCapacity(share) => steady(share * capacity_per_s),
            Rate::Steps(steps) => (steps.clone(), None),
            Rate::Sine { low_per_s, high_per_s, period } => {
                let step = |number: u32| {
                    // Of the middle of the step.
                    let angle = TAU * (f64::from(number) + 0.5) / f64::from(SINE_STEPS);
                    let per_s = low_per_s + (high_per_s - low_per_s) * (1.0 + angle.sin()) / 2.0;
                    RateStep { from: *period * number / SINE_STEPS, per_s }
                };
                ((0..SINE_STEPS).map(step).collect(), Some(*period))
            }
        }
    }
}

fn per_second(text: &str) -> Option<f64> {
    let number = text.trim();
    let value: f64 = number.strip_suffix("/s").unwrap_or(number).trim().parse().ok()?;
    (0.0..=limits::RATE_MAX_PER_S).contains(&value).then_some(value)
}

impl FromStr for Rate {
    type Err = String;

    /// `500`, `500/s`, `80%`, `0s:500,60s:2000` or `sine:500..1500/60s`.
    fn from_str(text: &str) -> Result<Rate, String> {
        if let Some(sine) = text.strip_prefix("sine:") {
            return sine_of(sine).ok_or_else(|| {
                "write a sine as sine:500..1500/60s, its lowest and highest rate and its period"
                    .to_owned()
            });
        }
        if text.contains(':') {
            return steps_of(text).map(Rate::Steps);
        }
        if let Some(percent) = text.strip_suffix('%') {
            let most = SHARE_MAX * 100.0;
            let value: Option<f64> = percent.trim().parse().ok();
            let share = value.filter(|value| *value > 0.0 && *value <= most);
            let why = || format!("write a share of the capacity as 80%, above 0 and up to {most}%");
            return share.map(|value| Rate::OfCapacity(value / 100.0)).ok_or_else(why);
        }
        per_second(text).filter(|rate| *rate > 0.0).map(Rate::PerSecond).ok_or_else(|| {
            format!(
                "write transactions per second as 500 or 500/s, above 0 and up to {}, a share of \
                 the capacity as 80%, or rates that change as 0s:500,60s:2000",
                limits::RATE_MAX_PER_S
            )
        })
    }
}

fn sine_of(text: &str) -> Option<Rate> {
    let (range, period) = text.rsplit_once('/')?;
    let (low, high) = range.split_once("..")?;
    let (low_per_s, high_per_s) = (per_second(low)?, per_second(high)?);
    let period = parse_duration(period.trim()).ok()?;
    let is_sine = low_per_s < high_per_s && period >= Duration::from_secs(1);
    is_sine.then_some(Rate::Sine { low_per_s, high_per_s, period })
}

fn steps_of(text: &str) -> Result<Vec<RateStep>, String> {
    let mut steps: Vec<RateStep> = Vec::new();
    for written in text.split(',') {
        let wrong = |why: &str| Err(format!("{:?} {why}", written.trim()));
        let parts = written.split_once(':');
        let step = parts.and_then(|(from, rate)| {
            let from = parse_duration(from.trim()).ok()?;
            Some(RateStep { from, per_s: per_second(rate)? })
        });
        let Some(step) = step else {
            return wrong("is no time with transactions per second; write it as 60s:2000");
        };
        match steps.last() {
            None if !step.from.is_zero() => return wrong("comes first and is not at 0s"),
            Some(last) if step.from <= last.from => return wrong("is not after the one before it"),
            Some(_) | None => steps.push(step),
        }
    }
    if steps.iter().all(|step| step.per_s <= 0.0) {
        return Err("no rate is above 0".to_owned());
    }
    match steps.len() <= STEPS_MAX {
        true => Ok(steps),
        false => Err(format!("there are {} steps, and {STEPS_MAX} at most", steps.len())),
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Rate::PerSecond(per_s) => write!(f, "{per_s}/s"),
            Rate::OfCapacity(share) => write!(f, "{}%", share * 100.0),
            Rate::Steps(steps) => {
                for (number, RateStep { from, per_s }) in steps.iter().enumerate() {
                    let comma = if number > 0 { "," } else { "" };
                    let from = format_duration(*from).to_string().replace(' ', "");
                    write!(f, "{comma}{from}:{per_s}")?;
                }
                Ok(())
            }
            Rate::Sine { low_per_s, high_per_s, period } => {
                let period = format_duration(*period).to_string().replace(' ', "");
                write!(f, "sine:{low_per_s}..{high_per_s}/{period}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Rate, RateStep};
    use std::time::Duration;

    #[test]
    fn rates_as_people_write_them() {
        assert_eq!("500".parse(), Ok(Rate::PerSecond(500.0)));
        assert_eq!("2.5/s".parse(), Ok(Rate::PerSecond(2.5)));
        assert_eq!("80%".parse(), Ok(Rate::OfCapacity(0.8)));
        let step = |from_s, per_s| RateStep { from: Duration::from_secs(from_s), per_s };
        let steps = vec![step(0, 1000.0), step(60, 0.0), step(90, 4000.0)];
        assert_eq!("0s:1000, 1m: 0/s,90s:4000".parse(), Ok(Rate::Steps(steps)));
        for bad in
            ["", "0", "-1", "nan", "inf", "fast", "5/min", "0%", "-3%", "1001%", "1e9", "%", "/s"]
        {
            assert!(bad.parse::<Rate>().is_err(), "{bad:?}");
        }
        for (bad, word) in [
            ("5s:1000", "\"5s:1000\" comes first"),
            ("0s:1000,60s:80%", "\"60s:80%\" is no time"),
            ("0s:1000,60:5", "\"60:5\" is no time"),
            ("0s:1000,60s:5,30s:9", "\"30s:9\" is not after"),
            ("0s:0,60s:0", "above 0"),
            ("0s:10,", "\"\" is no time"),
            ("sine:9..5/60s", "sine:500..1500/60s"),
            ("sine:5..9/0s", "sine:500..1500/60s"),
        ] {
            let why = bad.parse::<Rate>().unwrap_err();
            assert!(why.contains(word), "{bad}: {why}");
        }
        for text in ["500/s", "2.5/s", "80%", "0s:1000,1m30s:4000", "sine:500..1500/1m"] {
            assert_eq!(text.parse::<Rate>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn a_sine_has_its_mean_and_its_ends() {
        let (steps, period) = "sine:500..1500/60s".parse::<Rate>().unwrap().steps(0.0);
        let mean = steps.iter().map(|step| step.per_s).sum::<f64>() / steps.len() as f64;
        assert!((mean - 1_000.0).abs() < 1e-6 && period == Some(Duration::from_secs(60)));
        let at = |quarter: usize| steps[quarter * 16].per_s;
        assert!((at(1) - 1_500.0).abs() < 2.0 && (at(3) - 500.0).abs() < 2.0);
        assert!(at(0) > 1_000.0 && at(2) < 1_000.0);
    }
}
