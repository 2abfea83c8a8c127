//! The command line of `mydyno ramp`.

use super::fleet::FleetArguments;
use super::measuring::MeasuringArguments;
use super::target::ResultsArguments;
use super::values::{named, positive_duration, warehouses, warmup, window, workload};
use base::{limits, parse_share};
use clap::Args;
use spec::{Length, RampLimits, Style, WorkloadKind, defaults};
use std::collections::BTreeMap;
use std::path::PathBuf;
use tpcc::Transaction;

const CONDITIONS: &str = "Ramp";

#[derive(Args)]
pub struct RampArguments {
    /// Workload: tpcc (transactions by the clauses, no waits), tpcc-mysql (the statements of that
    /// tool, with its deviations), sysbench-oltp and its kinds, or FILE.toml; see
    /// `mydyno run --help`
    #[arg(
        long, default_value_t = defaults::WORKLOAD,
        value_parser = workload(&[WorkloadKind::TpccSpec])
    )]
    pub workload: WorkloadKind,
    /// Statement style: statements, pipelined, batched or procedures; see `mydyno run --help`
    #[arg(
        long, default_value = defaults::STYLE.name(), value_parser = named(Style::ALL, Style::name)
    )]
    pub style: Style,
    /// Number of warehouses to use [default: all of the database; 10 with --engine]
    #[arg(short, long, value_parser = warehouses())]
    pub warehouses: Option<u32>,
    /// Time before the window of each point, not measured; auto as in `mydyno run --help`
    #[arg(long, value_name = "TIME", default_value_t = defaults::WARMUP, value_parser = warmup)]
    pub warmup: Length,
    /// Measured time of each point; auto ends when the mean throughput is known to 2%
    #[arg(
        long, value_name = "TIME", default_value_t = defaults::WINDOW_OF_POINT,
        value_parser = window
    )]
    pub window: Length,
    /// Run the checks of `mydyno check` after the last point
    #[arg(long)]
    pub check: bool,
    #[command(flatten)]
    pub measuring: MeasuringArguments,
    /// Say how long each part of a measurement took: copying, starting, driving, checking, ending
    #[arg(short, long)]
    pub verbose: bool,
    /// HTML report
    #[arg(short, long, value_name = "FILE", default_value = "report.html")]
    pub output: PathBuf,
    #[command(flatten)]
    pub fleet: FleetArguments,
    #[command(flatten)]
    pub results: ResultsArguments,
    /// Print one JSON document on stdout
    #[arg(long)]
    pub json: bool,
    // Last, so that their section of the help is.
    /// Number of connections of the first point
    #[arg(
        help_heading = CONDITIONS, long, value_name = "N",
        default_value_t = RampLimits::default().start, value_parser = connections()
    )]
    pub start: u32,
    /// Smallest difference between two points; each number of connections is the start plus a
    /// multiple of it
    #[arg(
        help_heading = CONDITIONS, long, value_name = "N",
        default_value_t = RampLimits::default().step, value_parser = connections()
    )]
    pub step: u32,
    /// Maximum number of connections
    #[arg(
        help_heading = CONDITIONS, long, value_name = "N",
        default_value_t = RampLimits::default().connections_max, value_parser = connections()
    )]
    pub max_connections: u32,
    /// Maximum number of points
    #[arg(
        help_heading = CONDITIONS, long, value_name = "N",
        default_value_t = RampLimits::default().points_max as u32,
        value_parser = clap::value_parser!(u32).range(1..=1_000)
    )]
    pub points: u32,
    /// Stop where the server uses this share of the processor time available to it, or off; mydyno,
    /// the emulation of devices and stolen time do not count; on another machine all processes
    /// count
    #[arg(
        help_heading = CONDITIONS, long, value_name = "SHARE", default_value = "80%",
        value_parser = share
    )]
    pub stop_cpu: Condition<f64>,
    /// Stop where a 90th percentile of response times exceeds its limit: a time for each
    /// transaction type that has one, or off
    #[arg(
        help_heading = CONDITIONS,
        long,
        value_name = "TYPE=TIME,...",
        default_value = "new_order=5s,payment=5s,order_status=5s,delivery=5s,stock_level=20s",
        value_parser = times
    )]
    pub stop_p90: Condition<BTreeMap<String, f64>>,
    /// Stop where this share of the tries of transactions is retried, after deadlocks, lock wait
    /// timeouts and other conflicts, or off
    #[arg(
        help_heading = CONDITIONS,
        long,
        value_name = "SHARE",
        default_value = "off",
        value_parser = share
    )]
    pub stop_retries: Condition<f64>,
    /// Stop where a 90th percentile turns up: it rises as fast as this power of the connections, or
    /// off
    #[arg(
        help_heading = CONDITIONS, long, value_name = "POWER", default_value = "2",
        value_parser = power
    )]
    pub stop_kink: Condition<f64>,
    /// Stop where throughput no longer rises: no faster than this power of the connections, or off
    #[arg(
        help_heading = CONDITIONS, long, value_name = "POWER", default_value = "0.2",
        value_parser = power
    )]
    pub stop_plateau: Condition<f64>,
}

/// What a stop condition is set to.
#[derive(Clone, Debug, PartialEq)]
pub enum Condition<T> {
    Off,
    At(T),
}

impl<T: Clone> Condition<T> {
    fn at(&self) -> Option<T> {
        match self {
            Condition::Off => None,
            Condition::At(value) => Some(value.clone()),
        }
    }
}

impl RampArguments {
    /// What is asked for.
    pub fn limits(&self) -> RampLimits {
        RampLimits {
            start: self.start,
            step: self.step,
            connections_max: self.max_connections,
            points_max: self.points as usize,
            cpu_busy_share: self.stop_cpu.at(),
            p90_us: self.stop_p90.at().unwrap_or_default(),
            retries_share: self.stop_retries.at(),
            kink_elasticity: self.stop_kink.at(),
            plateau_elasticity: self.stop_plateau.at(),
        }
    }
}

fn connections() -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(1..=i64::from(limits::CONNECTIONS_MAX))
}

fn or_off<T>(
    text: &str,
    read: impl FnOnce(&str) -> Result<T, String>,
) -> Result<Condition<T>, String> {
    match text {
        "off" => Ok(Condition::Off),
        _ => read(text).map(Condition::At),
    }
}

fn share(text: &str) -> Result<Condition<f64>, String> {
    or_off(text, |text| {
        parse_share(text)
            .ok_or_else(|| "write a share as 80%, above 0 and up to 100%, or off".to_owned())
    })
}

/// Its bounds are those of [`RampLimits`], which tells them.
fn power(text: &str) -> Result<Condition<f64>, String> {
    or_off(text, |text| {
        let power: Result<f64, _> = text.trim().parse();
        power.map_err(|_| "write a number such as 0.2 or 2, or off".to_owned())
    })
}

/// Times in us by transaction type.
fn times(text: &str) -> Result<Condition<BTreeMap<String, f64>>, String> {
    or_off(text, |text| {
        let mut times = BTreeMap::new();
        for one in text.split(',') {
            let (name, time) =
                one.split_once('=').ok_or("the form is new_order=5s,stock_level=20s, or off")?;
            let known = Transaction::ALL.map(Transaction::name);
            if !known.contains(&name) {
                return Err(format!(
                    "unknown transaction type {name:?}; known are {}",
                    known.join(", ")
                ));
            }
            let limit = positive_duration(time).map_err(|error| format!("{name}: {error}"))?;
            if times.insert(name.to_owned(), limit.as_secs_f64() * 1e6).is_some() {
                return Err(format!("{name} has two limits; leave one out"));
            }
        }
        Ok(times)
    })
}

#[cfg(test)]
mod tests {
    use super::RampArguments;
    use crate::arguments::{Arguments, Command};
    use clap::Parser;
    use spec::RampLimits;

    fn parsed(arguments: &[&str]) -> Result<RampArguments, clap::Error> {
        let all = ["mydyno", "ramp"].iter().chain(arguments);
        match Arguments::try_parse_from(all)?.command {
            Command::Ramp(ramp) => Ok(*ramp),
            _ => panic!("it is `ramp`"),
        }
    }

    #[test]
    fn the_papers_conditions_are_the_default() {
        assert_eq!(parsed(&[]).unwrap().limits(), RampLimits::default());
    }

    #[test]
    fn conditions_as_people_write_them() {
        let limits = parsed(&[
            "--start",
            "2",
            "--step",
            "1",
            "--max-connections",
            "9",
            "--points",
            "5",
            "--stop-cpu",
            "off",
            "--stop-p90",
            "payment=250ms",
            "--stop-retries",
            "5%",
            "--stop-kink",
            "off",
            "--stop-plateau",
            "0",
        ]);
        let expected = RampLimits {
            start: 2,
            step: 1,
            connections_max: 9,
            points_max: 5,
            cpu_busy_share: None,
            p90_us: [("payment".to_owned(), 250_000.0)].into(),
            retries_share: Some(0.05),
            kink_elasticity: None,
            plateau_elasticity: Some(0.0),
        };
        assert_eq!(limits.unwrap().limits(), expected);
        for bad in [
            ["--start", "0"],
            ["--step", "-1"],
            ["--max-connections", "1000000"],
            ["--points", "0"],
            ["--stop-cpu", "0%"],
            ["--stop-cpu", "101%"],
            ["--stop-cpu", "much"],
            ["--stop-p90", "5s"],
            ["--stop-p90", "new_order=0"],
            ["--stop-p90", "new_odrer=5s"],
            ["--stop-p90", "payment=1s,payment=2s"],
            ["--stop-retries", "0"],
            ["--stop-retries", "101%"],
            ["--stop-kink", "steep"],
            ["--stop-plateau", ""],
            ["--workload", "tpcc-spec"],
        ] {
            let error = parsed(&bad).err().unwrap();
            assert_eq!(error.exit_code(), 2, "{bad:?}");
        }
    }
}
