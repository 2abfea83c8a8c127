//! Conditions under which a run counts as failed, for pipelines that build on it: `p95_ms>50`.
//!
//! A figure is named as in the document of the run, or as people name it. What has no number fails
//! its condition: a pipeline that asks for one must not pass without.

use crate::run::document::RunDocument;
use crate::run::response_times::ResponseTime;
use base::{document, trimmed};
use std::fmt;
use store::{Summary, TransactionSummary};

/// How a figure of a whole run and a count of a type are found, and how a figure is compared with
/// its limit.
type RunValue = fn(&Summary) -> Option<f64>;
type CountValue = fn(&TransactionSummary) -> u64;
type Comparison = fn(f64, f64) -> bool;

/// Figures of the whole run, with what they mean.
const OF_RUN: [(&str, RunValue, &str); 13] = [
    ("nopm", |run| run.rates.nopm, "new orders per minute; of TPC-C"),
    (
        "tpm",
        |run| run.rates.nopm,
        "the same of other workloads: their primary transactions per minute",
    ),
    ("tpm_total", |run| run.rates.tpm_total, "transactions of all types per minute"),
    ("tps", |run| Some(run.rates.tpm_total? / 60.0), "the same per second"),
    ("errors_share", errors_share, "`errors` by all transactions that ended, 0 to 1"),
    ("retries_share", retries_share, "`retries` by all tries, 0 to 1"),
    (
        "recovery_s",
        |run| run.recovery_s,
        "the longest time to recovery after failures, as in a failover",
    ),
    ("reconnects", |run| run.reconnects.map(|of| of as f64), "connections made again after a loss"),
    ("fidelity", |run| run.fidelity, "requests to emulated devices that were in time, 0 to 1"),
    ("late", |run| of_schedule(run, |of| of.late), "of `--rate`: begun more than 1 ms late"),
    ("skipped", |run| of_schedule(run, |of| of.skipped), "of `--rate`: never begun"),
    (
        "window_precision_share",
        |run| run.window_precision_share,
        "of an automatic window: how well the mean throughput is known",
    ),
    (
        "client_cpu_us_per_statement",
        |run| run.rates.client_cpu_us_per_statement,
        "what the driver costs",
    ),
];

/// Counts of the window: of all types of transactions, or of one.
const COUNTS: [(&str, CountValue); 6] = [
    ("committed", |of| of.committed),
    ("rolled_back", |of| of.rolled_back),
    ("retries", |of| of.retries),
    ("retries_deadlock", |of| of.retries_deadlock),
    ("retries_lock_wait_timeout", |of| of.retries_lock_wait_timeout),
    ("errors", |of| of.errors),
];

/// Units of times, with the microseconds in one.
const UNITS: [(&str, f64); 3] = [("us", 1.0), ("ms", 1e3), ("s", 1e6)];

/// Types of transactions whose figures are known before a run.
const TYPES: [&str; 5] = ["new_order", "payment", "order_status", "delivery", "stock_level"];

/// Of the longest first, so that none is taken for another.
const OPERATORS: [(&str, Comparison); 4] = [
    ("<=", |value, limit| value <= limit),
    (">=", |value, limit| value >= limit),
    ("<", |value, limit| value < limit),
    (">", |value, limit| value > limit),
];

/// A condition under which a run counts as failed.
#[derive(Clone)]
pub struct FailCondition {
    name: String,
    operator: &'static str,
    holds: Comparison,
    limit: f64,
    figure: RunFigure,
}

/// Where a figure is in a run's document.
#[derive(Clone, Copy)]
enum RunFigure {
    OfRun(RunValue),
    /// Of a type; `None` is all.
    Count(Option<&'static str>, CountValue),
    /// Of a type, `None` is those that throughput counts; in units of so many microseconds.
    Time(Option<&'static str>, ResponseTime, f64),
}

document! {
    /// What became of a condition.
    #[derive(Clone, Debug, PartialEq)]
    pub struct JudgedCondition from (condition: &FailCondition, value: Option<f64>);
    {
        pub name: String = condition.name.clone(),
        pub operator: &'static str = condition.operator,
        pub limit: f64 = condition.limit,
        /// `None` is not known.
        pub value: Option<f64> = value,
        /// The condition holds, or the figure is not known.
        pub failed: bool = value.is_none_or(|value| (condition.holds)(value, condition.limit)),
    }
}

impl FailCondition {
    /// Reads a condition as it is written on the command line.
    ///
    /// # Errors
    /// What is wrong with it; where the name is unknown, with the known ones.
    pub fn parse(text: &str) -> Result<FailCondition, String> {
        const FORM: &str = "write NAME<NUMBER with <, <=, > or >=, such as 'p95_ms>50' or \
                            'nopm<10000'";
        let at = text.find(['<', '>']).ok_or(FORM)?;
        let (name, rest) = text.split_at(at);
        let known = OPERATORS.into_iter().find(|(operator, _)| rest.starts_with(operator));
        let (operator, holds) = known.ok_or(FORM)?;
        let number = rest[operator.len()..].trim();
        let name = name.trim();
        let limit = match number.strip_suffix('%') {
            Some(_) if !name.ends_with("_share") && name != "fidelity" => {
                return Err(format!(
                    "{name} is no share, so that {number} is no limit of it; write a number"
                ));
            }
            Some(percent) => percent.trim().parse().map(|percent: f64| percent / 100.0),
            None => number.parse(),
        };
        let limit = limit.ok().filter(|limit: &f64| limit.is_finite());
        let limit = limit.ok_or_else(|| format!("{number:?} is no number; {FORM}"))?;
        let figure = RunFigure::named(name).ok_or_else(|| unknown(name))?;
        Ok(FailCondition { name: name.to_owned(), operator, holds, limit, figure })
    }

    /// Why a workload has no such figure; `None` where it has.
    pub fn misfit(&self, is_tpcc: bool) -> Option<String> {
        // Types have their figures behind a point.
        let is_of_tpcc = self.name == "nopm" || self.name.contains('.');
        match (is_tpcc, self.name.as_str()) {
            (true, "tpm") => {
                Some("tpm is of other workloads; TPC-C has nopm, and tpm_total of all types".into())
            }
            (false, name) if is_of_tpcc => {
                Some(format!("{name} is of TPC-C; this workload has tpm, tps and times as p95_ms"))
            }
            _ => None,
        }
    }

    /// Against what a run gave; `None` where it gave nothing.
    pub fn judge(&self, run: Option<&RunDocument>) -> JudgedCondition {
        let done = run.map(|run| &run.summary).filter(|summary| summary.status == "done");
        let value = done.and_then(|summary| self.figure.of(summary));
        JudgedCondition::of(self, value)
    }
}

impl RunFigure {
    fn named(name: &str) -> Option<RunFigure> {
        let (of, rest) = match name.split_once('.') {
            Some((of, rest)) => (Some(*TYPES.iter().find(|known| **known == of)?), rest),
            None => (None, name),
        };
        if let Some((_, figure, _)) = OF_RUN.iter().find(|(known, _, _)| *known == name) {
            return Some(RunFigure::OfRun(*figure));
        }
        if let Some((_, count)) = COUNTS.iter().find(|(known, _)| *known == rest) {
            return Some(RunFigure::Count(of, *count));
        }
        let (time, unit) = rest.rsplit_once('_')?;
        let time = ResponseTime::ALL.into_iter().find(|known| known.name == time)?;
        let (_, us) = UNITS.iter().find(|(known, _)| *known == unit)?;
        Some(RunFigure::Time(of, time, *us))
    }

    fn of(self, run: &Summary) -> Option<f64> {
        match self {
            RunFigure::OfRun(figure) => figure(run),
            RunFigure::Count(None, count) => Some(sum(run, count)),
            RunFigure::Count(Some(of), count) => Some(count(run.transactions.get(of)?) as f64),
            RunFigure::Time(None, time, us) => Some(time.exact_us(&run.primary)? / us),
            RunFigure::Time(Some(of), time, us) => {
                Some(time.exact_us(run.transactions.get(of)?)? / us)
            }
        }
    }
}

impl fmt::Display for JudgedCondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.name, self.operator, self.limit)
    }
}

impl JudgedCondition {
    /// What was measured, for people: `p95_ms is 61.25`.
    pub fn found(&self) -> String {
        match self.value {
            Some(value) => format!("{} is {}", self.name, in_words(value)),
            None => format!("{} is not known", self.name),
        }
    }
}

/// To three digits at least, and none after the point that a large number does not need.
fn in_words(value: f64) -> String {
    let decimals = (2 - value.abs().log10().floor().max(-4.0) as i32).clamp(0, 6);
    trimmed(value, if value == 0.0 { 0 } else { decimals as usize })
}

fn sum(run: &Summary, count: CountValue) -> f64 {
    run.transactions.iter().map(|(_, of)| count(of)).sum::<u64>() as f64
}

fn ended(run: &Summary) -> f64 {
    sum(run, |of| of.committed + of.rolled_back + of.errors)
}

fn errors_share(run: &Summary) -> Option<f64> {
    let all = ended(run);
    (all > 0.0).then(|| sum(run, |of| of.errors) / all)
}

/// As of the points of a ramp: each transaction has one last try.
fn retries_share(run: &Summary) -> Option<f64> {
    let retries = sum(run, |of| of.retries);
    let tries = retries + ended(run);
    (tries > 0.0).then(|| retries / tries)
}

fn of_schedule(run: &Summary, count: fn(&store::OpenLoopSummary) -> u64) -> Option<f64> {
    run.open_loop.as_ref().map(|of| count(of) as f64)
}

fn unknown(name: &str) -> String {
    let of_run = OF_RUN.map(|(known, _, _)| known);
    let counts = COUNTS.map(|(known, _)| known);
    let times = ResponseTime::ALL.map(|known| format!("{}_ms", known.name));
    format!(
        "unknown figure {name:?}; known are {}, {} and {}; times also end in _us or _s, and with \
         TPC-C counts and times may begin with a type: payment.p95_ms",
        of_run.join(", "),
        counts.join(", "),
        times.join(", ")
    )
}

#[cfg(test)]
mod tests;
