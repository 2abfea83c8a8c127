//! What of the command line says how one number of connections drives a server, and for how long.

use super::values::{named, precision, warehouses, warmup, window, workload};
use base::{Warehouses, limits};
use clap::Args;
use spec::{
    Connections, Length, Lengths, Load, OpenLoop, Rate, Spacing, Style, WorkloadKind, defaults,
};

#[derive(Args)]
pub struct DrivenArguments {
    /// Workload: tpcc (transactions by the clauses, no waits), tpcc-spec (terminals with keying and
    /// think times), tpcc-mysql (the statements of that tool, with its deviations), sysbench-oltp,
    /// sysbench-oltp-read-only, sysbench-oltp-write-only, sysbench-oltp-point-select (the
    /// statements of sysbench 1.0.20) or FILE.toml (transactions of your own: docs/oltp.md)
    #[arg(long, default_value_t = defaults::WORKLOAD, value_parser = workload(&[]))]
    pub workload: WorkloadKind,
    /// Statement style: statements (one per round trip, as applications send them), pipelined (the
    /// same, sent together), batched (set-based, the fewest round trips) or procedures (stored
    /// procedures)
    #[arg(
        long, default_value = defaults::STYLE.name(), value_parser = named(Style::ALL, Style::name)
    )]
    pub style: Style,
    /// Number of connections; each is a closed loop without think time, or serves the arrivals of
    /// --rate or the terminals of tpcc-spec [default: 8; with tpcc-spec one per terminal]
    #[arg(
        short, long,
        value_parser = clap::value_parser!(u32).range(1..=i64::from(limits::CONNECTIONS_MAX))
    )]
    pub connections: Option<u32>,
    /// Open loop: transactions of all types per second (500 or 500/s), which arrive whether a
    /// connection is free or not; or a share of what a closed loop does (80%), which is measured
    /// first: after a warm-up like --warmup, until its throughput is steady and known to 3 %, for 1
    /// minute at most
    #[arg(long, value_name = "RATE")]
    pub rate: Option<Rate>,
    /// Spacing of arrivals: poisson (random, as independent users arrive) or uniform [default:
    /// poisson]
    #[arg(
        long, requires = "rate", hide_possible_values = true,
        value_parser = named(Spacing::ALL, Spacing::name)
    )]
    pub arrivals: Option<Spacing>,
    /// Number of warehouses to use [default: all of the database; 10 with --engine]; with tpcc-spec
    /// each has ten terminals
    #[arg(short, long, value_parser = warehouses())]
    pub warehouses: Option<u32>,
    /// Number of those warehouses that have rows but no terminals, with tpcc-spec (clause 4.2.2)
    /// [default: 0]
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub inactive_warehouses: u32,
    /// Number of terminals, with tpcc-spec [default: ten per active warehouse]; with another number
    /// some share a district, and clause 4.1.3 is not judged
    #[arg(
        long, value_name = "N",
        value_parser = clap::value_parser!(u32).range(1..=i64::from(limits::TERMINALS_MAX))
    )]
    pub terminals: Option<u32>,
    /// Time before the window, not measured; auto ends when throughput, dirty pages and checkpoint
    /// age are steady, after at least 30 s and 30 intervals and at most 30 minutes (auto:10m: at
    /// most 10 minutes)
    #[arg(long, value_name = "TIME", default_value_t = defaults::WARMUP, value_parser = warmup)]
    pub warmup: Length,
    /// Measured time; auto ends when the mean throughput is known to --precision, after at least
    /// 180 intervals and at most 1 hour (auto:10m: at most 10 minutes)
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = window)]
    pub window: Length,
    /// Precision that ends --window auto: half the width of the 95 % confidence interval of the
    /// mean, as a share of the mean [default: 2%]
    #[arg(long, value_name = "SHARE", value_parser = precision)]
    pub precision: Option<f64>,
}

impl DrivenArguments {
    /// What is asked of the server, with inputs of this seed.
    pub fn load(&self, seed: u64) -> Load {
        Load {
            workload: self.workload.clone(),
            style: self.style,
            warehouses: self.warehouses.map(Warehouses),
            inactive_warehouses: self.inactive_warehouses,
            connections: self.connections.map_or(Connections::ByDefault, Connections::Fixed),
            terminals: self.terminals,
            rate: self
                .rate
                .map(|rate| OpenLoop { rate, spacing: self.arrivals.unwrap_or(defaults::SPACING) }),
            ..Load::of_seed(seed)
        }
    }

    /// Is anything other than the defaults asked for?
    pub fn asks_for_anything(&self) -> bool {
        self.load(0) != Load::of_seed(0) || self.lengths() != Lengths::default()
    }

    pub fn lengths(&self) -> Lengths {
        Lengths {
            warmup: self.warmup,
            window: self.window,
            precision_share: self.precision,
            ..Lengths::default()
        }
    }
}
