//! What a measurement is asked to be.

use crate::preflight::PreparedStatements;
use base::{Warehouses, limits};
use drive::Spacing;
use plan::Length;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;
use tpcc::tpcc_mysql::{self, DEVIATIONS, Decision, FAILING_CHECKS};
use tpcc::{Isolation, Style};

/// The weakest level that TPC-C takes (clause 3.4.1).
pub(crate) const ISOLATION_DEFAULT: Isolation = Isolation::RepeatableRead;

/// What to run.
#[derive(Clone, Debug)]
pub struct RunSpec {
    pub workload: Workload,
    pub style: Style,
    /// None: [`ISOLATION_DEFAULT`] or, with workload `tpcc-mysql`, the server's.
    pub isolation: Option<Isolation>,
    /// None: 8 or, where there are terminals, one for each.
    pub connections: Option<u32>,
    /// Of the driver. None: one for each core or, where the server is on this machine, for every fourth.
    pub threads: Option<u32>,
    /// An open loop instead of a closed one.
    pub rate: Option<OpenLoop>,
    pub warmup: Length,
    pub window: Length,
    /// Of an automatic window: half the width of the 95 % interval of its mean throughput, as a share of that.
    pub precision_share: f64,
    pub interval: Duration,
    /// That was asked for; each measurement has one of its own for its inputs ([`crate::Place`]).
    pub seed: u64,
    /// Warehouses to use; all that the database has where none are named.
    pub warehouses: Option<Warehouses>,
    /// Of `warehouses`, so many have rows and no terminals (clause 4.2.2).
    pub inactive_warehouses: u32,
    /// None: ten for each active warehouse.
    pub terminals: Option<u32>,
    pub home: bool,
    /// Run the eighteen checks after the run.
    pub checks: bool,
    /// A larger share of tries that end in lock wait timeouts makes the run a failed one; 0 to 1.
    pub lock_wait_timeouts_max_share: Option<f64>,
    /// What is observed beside the load that only the user can name.
    pub meters: Meters,
    /// What the cell's engine is called in results, where that is not what its server is.
    pub engine: Option<String>,
    /// What else names this cell: server variables that were set.
    pub settings: Vec<(String, String)>,
}

/// Where a machine tells of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Meters {
    /// A command for the shell that prints watts.
    pub power_command: Option<String>,
    /// Prometheus' node_exporter on the server's machine.
    pub host_metrics: Option<String>,
}

/// Transactions that come when a schedule says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OpenLoop {
    pub rate: Rate,
    pub spacing: Spacing,
}

/// How many transactions of all types come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rate {
    PerSecond(f64),
    /// A share of what a closed loop does.
    OfCapacity(f64),
}

/// Largest share of the capacity: what is beyond stands in the queue.
const SHARE_MAX: f64 = 10.0;

impl FromStr for Rate {
    type Err = String;

    /// `500`, `500/s` or `80%`.
    fn from_str(text: &str) -> Result<Rate, String> {
        let positive = |number: &str, most: f64| {
            let value: Option<f64> = number.trim().parse().ok();
            value.filter(|value| *value > 0.0 && *value <= most)
        };
        if let Some(percent) = text.strip_suffix('%') {
            return match positive(percent, SHARE_MAX * 100.0) {
                Some(value) => Ok(Rate::OfCapacity(value / 100.0)),
                None => Err(format!(
                    "write a share of the capacity as 80%, above 0 and up to {}%",
                    SHARE_MAX * 100.0
                )),
            };
        }
        let number = text.strip_suffix("/s").unwrap_or(text);
        positive(number, limits::RATE_MAX_PER_S)
            .map(Rate::PerSecond)
            .ok_or_else(|| {
                format!(
                    "write transactions per second as 500 or 500/s, above 0 and up to {}, or a share of the capacity as 80%",
                    limits::RATE_MAX_PER_S
                )
            })
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Rate::PerSecond(per_s) => write!(f, "{per_s}/s"),
            Rate::OfCapacity(share) => write!(f, "{}%", share * 100.0),
        }
    }
}

/// What is driven.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workload {
    /// Transactions of clause 2 without keying and think time.
    Tpcc,
    /// Terminals with keying and think times, as clause 5 has them.
    TpccSpec,
    /// The statement sequence of tpcc-mysql.
    TpccMysql,
}

impl Workload {
    pub const ALL: [Workload; 3] = [Workload::Tpcc, Workload::TpccSpec, Workload::TpccMysql];

    /// The name on the command line and in results.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Workload::Tpcc => "tpcc",
            Workload::TpccSpec => "tpcc-spec",
            Workload::TpccMysql => "tpcc-mysql",
        }
    }

    /// What each connection holds.
    pub(crate) fn prepared_statements(self, style: Style) -> PreparedStatements {
        PreparedStatements(match self {
            Workload::Tpcc | Workload::TpccSpec => style.prepared_statements(),
            Workload::TpccMysql => tpcc_mysql::PREPARED_STATEMENTS,
        })
    }
}

impl RunSpec {
    /// The isolation level of its sessions, on a server with these variables.
    pub(crate) fn isolation_on(&self, variables: &[(String, String)]) -> Option<String> {
        match (self.isolation, self.workload) {
            (Some(named), _) => Some(named.name().to_owned()),
            (None, Workload::Tpcc | Workload::TpccSpec) => {
                Some(ISOLATION_DEFAULT.name().to_owned())
            }
            (None, Workload::TpccMysql) => {
                let of_server = |(name, _): &&(String, String)| {
                    name == "transaction_isolation" || name == "tx_isolation"
                };
                let found = variables.iter().find(of_server);
                found.map(|(_, value)| value.to_ascii_lowercase())
            }
        }
    }
}

/// What a reader should know of results at this isolation level.
pub(crate) fn isolation_note(isolation: &str) -> Option<String> {
    let demanded = [ISOLATION_DEFAULT, Isolation::Serializable].map(Isolation::name);
    (!demanded.contains(&isolation)).then(|| {
        format!(
            "isolation level {isolation} is weaker than TPC-C demands: New-Order, Payment, Delivery and Order-Status must not \
             see phantoms or rows that change between two reads (clause 3.4.1); compare it with runs at the same level only"
        )
    })
}

/// What a reader of results of workload `tpcc-mysql` should know.
pub(crate) fn tpcc_mysql_notes() -> [String; 3] {
    let list = |decision| {
        let of_it = DEVIATIONS.iter().filter(|one| one.decision == decision);
        of_it.map(|one| one.short).collect::<Vec<_>>().join("; ")
    };
    [
        format!(
            "workload tpcc-mysql keeps of that tool: {}",
            list(Decision::Kept)
        ),
        format!(
            "workload tpcc-mysql does as it should be: {}",
            list(Decision::Fixed)
        ),
        format!(
            "after workload tpcc-mysql the checks {} cannot hold any more; load the database anew before they are asked",
            FAILING_CHECKS.join(", ")
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::{Rate, isolation_note};

    #[test]
    fn a_level_below_the_demanded_one_is_told() {
        assert_eq!(isolation_note("repeatable-read"), None);
        assert_eq!(isolation_note("serializable"), None);
        for weaker in ["read-committed", "read-uncommitted"] {
            let note = isolation_note(weaker).unwrap();
            assert!(note.contains(weaker) && note.contains("3.4.1"), "{note}");
        }
    }

    #[test]
    fn rates_as_people_write_them() {
        assert_eq!("500".parse(), Ok(Rate::PerSecond(500.0)));
        assert_eq!("2.5/s".parse(), Ok(Rate::PerSecond(2.5)));
        assert_eq!("80%".parse(), Ok(Rate::OfCapacity(0.8)));
        for bad in [
            "", "0", "-1", "nan", "inf", "fast", "5/min", "0%", "-3%", "1001%", "1e9", "%", "/s",
        ] {
            assert!(bad.parse::<Rate>().is_err(), "{bad:?}");
        }
        for text in ["500/s", "2.5/s", "80%"] {
            assert_eq!(text.parse::<Rate>().unwrap().to_string(), text);
        }
    }
}
