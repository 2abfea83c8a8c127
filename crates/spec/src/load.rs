//! What is asked of a server.

use crate::defaults;
use crate::identity::as_text_or_none;
use crate::ramp_limits::RampLimits;
use crate::rand_type::RandType;
use crate::rate::Rate;
use crate::workload::WorkloadKind;
use base::{Warehouses, named};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// What is asked of a server, how, and by how many.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Load {
    pub workload: WorkloadKind,
    pub style: Style,
    /// Statements go as text with their values.
    pub no_prepare: bool,
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
    /// Who tells where the time of transactions went. None: the shim, where there is one, else the
    /// server's status.
    #[serde(serialize_with = "as_text_or_none")]
    pub account_from: Option<AccountFrom>,
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
            no_prepare: false,
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
            account_from: None,
            seed,
        }
    }
}

named! {
    /// Who tells where the time of transactions went.
    pub enum AccountFrom {
        /// The preloaded shim: it times what the threads that serve clients wait for.
        Shim = "shim",
        /// The server's own instruments, of the driver's connections.
        PerformanceSchema = "performance_schema",
        /// The counters of the server as a whole: an estimate.
        Status = "status",
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
#[derive(Clone, Debug, PartialEq, Serialize)]
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
