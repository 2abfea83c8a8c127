//! What is asked of a server.

use crate::defaults;
use crate::identity::as_text_or_none;
use crate::ramp_limits::RampLimits;
use crate::rand_type::RandType;
use crate::workload::WorkloadKind;
use base::{Warehouses, limits, named};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// What is asked of a server, how, and by how many.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Load {
    pub workload: WorkloadKind,
    pub style: Style,
    /// None: [`defaults::ISOLATION`] or, with workload `tpcc-mysql`, the server's.
    pub isolation: Option<Isolation>,
    /// Warehouses to use; all of the database where none are named.
    #[serde(serialize_with = "as_text_or_none")]
    pub warehouses: Option<Warehouses>,
    /// Of these, so many have rows and no terminals (clause 4.2.2).
    pub inactive_warehouses: u32,
    pub connections: Connections,
    /// Of workload `tpcc-spec`. None: ten for each active warehouse.
    pub terminals: Option<u32>,
    /// Each connection keeps to a warehouse.
    pub home: bool,
    /// Remote order lines and payments choose among the warehouses of all shards, by XA
    /// transactions.
    pub xa: bool,
    /// How workloads of sysbench draw ids. None: as their names say.
    #[serde(serialize_with = "as_text_or_none")]
    pub rand_type: Option<RandType>,
    /// An open loop instead of a closed one.
    pub rate: Option<OpenLoop>,
    #[serde(flatten)]
    pub pauses: Pauses,
    /// Of the driver. None: one for each core or, with TPC-C and the server on this machine, for
    /// every fourth.
    pub threads: Option<u32>,
    /// Of the inputs, as it was asked for; each repeat and each point of a ramp has one of its own.
    #[serde(skip)]
    pub seed: u64,
}

impl Load {
    /// The default load, with inputs of this seed.
    pub fn of_seed(seed: u64) -> Load {
        Load {
            workload: defaults::WORKLOAD,
            style: defaults::STYLE,
            isolation: None,
            warehouses: None,
            inactive_warehouses: 0,
            connections: Connections::ByDefault,
            terminals: None,
            home: false,
            xa: false,
            rand_type: None,
            rate: None,
            pauses: Pauses::default(),
            threads: None,
            seed,
        }
    }
}

/// The longest pauses of a connection. Each doubles with every further try, up to
/// [`limits::RETRY_PAUSE_MAX`], and is random below that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pauses {
    /// Before the second try of a transaction.
    #[serde(rename = "retry_pause")]
    pub retry: Duration,
    /// After a transaction that was given up, and before a lost connection is opened again. None:
    /// as the driver has it.
    #[serde(rename = "reconnect_pause")]
    pub reconnect: Option<Duration>,
}

impl Default for Pauses {
    fn default() -> Pauses {
        Pauses { retry: Duration::from_millis(2), reconnect: None }
    }
}

named! {
    /// How the statements of workloads `tpcc` and `tpcc-spec` travel.
    #[derive(Serialize)]
    pub enum Style {
        /// One prepared statement per round trip, as applications do.
        Statements = "statements",
        /// The same statements; those whose inputs are known travel together.
        Pipelined = "pipelined",
        /// As few statements as clause 2 needs, each on a set of rows; they travel together too.
        Batched = "batched",
        /// A stored procedure for each transaction.
        Procedures = "procedures",
    }
}

impl Style {
    /// Does it have one statement for each thing that is done?
    pub const fn is_single(self) -> bool {
        matches!(self, Style::Statements | Style::Pipelined)
    }
}

named! {
    /// The isolation level of sessions. TPC-C demands that New-Order, Payment, Delivery and
    /// Order-Status see no phenomenon of each other (clause 3.4.1); with the locks that these
    /// transactions take, `RepeatableRead` gives that. In capitals, a name is the value of the
    /// server's variable.
    #[derive(Serialize)]
    pub enum Isolation {
        RepeatableRead = "repeatable-read",
        ReadCommitted = "read-committed",
        Serializable = "serializable",
        ReadUncommitted = "read-uncommitted",
    }
}

/// How many connections there are.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub enum Connections {
    /// [`defaults::CONNECTIONS`] or, where there are terminals, one for each.
    ByDefault,
    Fixed(u32),
    /// As many as the server supports, which is what the measurement finds.
    Ramp(RampLimits),
}

impl Connections {
    /// Of the first measurement; none where nobody named a number.
    pub fn first(&self) -> Option<u32> {
        match self {
            Connections::ByDefault => None,
            Connections::Fixed(count) => Some(*count),
            Connections::Ramp(limits) => Some(limits.start),
        }
    }

    /// Are they as many as the server supports?
    pub fn is_ramp(&self) -> bool {
        matches!(self, Connections::Ramp(_))
    }

    /// Windows that one repeat has at most.
    pub fn points_max(&self) -> u32 {
        match self {
            Connections::ByDefault | Connections::Fixed(_) => 1,
            Connections::Ramp(limits) => limits.points_max,
        }
    }
}

/// Transactions that come when a schedule says.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct OpenLoop {
    pub rate: Rate,
    pub spacing: Spacing,
}

named! {
    /// The time between two arrivals.
    #[derive(Serialize, Deserialize)]
    pub enum Spacing {
        /// Independent of all others, as many users behave: negative exponential.
        Poisson = "poisson",
        /// Always the same.
        Uniform = "uniform",
    }
}

/// How many transactions of all types come.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
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
            let most = SHARE_MAX * 100.0;
            let share = positive(percent, most).map(|value| Rate::OfCapacity(value / 100.0));
            let why = || format!("write a share of the capacity as 80%, above 0 and up to {most}%");
            return share.ok_or_else(why);
        }
        let number = text.strip_suffix("/s").unwrap_or(text);
        positive(number, limits::RATE_MAX_PER_S).map(Rate::PerSecond).ok_or_else(|| {
            format!(
                "write transactions per second as 500 or 500/s, above 0 and up to {}, or a \
                     share of the capacity as 80%",
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

#[cfg(test)]
mod tests {
    use super::Rate;

    #[test]
    fn rates_as_people_write_them() {
        assert_eq!("500".parse(), Ok(Rate::PerSecond(500.0)));
        assert_eq!("2.5/s".parse(), Ok(Rate::PerSecond(2.5)));
        assert_eq!("80%".parse(), Ok(Rate::OfCapacity(0.8)));
        for bad in
            ["", "0", "-1", "nan", "inf", "fast", "5/min", "0%", "-3%", "1001%", "1e9", "%", "/s"]
        {
            assert!(bad.parse::<Rate>().is_err(), "{bad:?}");
        }
        for text in ["500/s", "2.5/s", "80%"] {
            assert_eq!(text.parse::<Rate>().unwrap().to_string(), text);
        }
    }
}
