//! What of the command line `mydyno run` and `mydyno ramp` have in common.

use super::place::PlaceArguments;
use super::preset::PresetArguments;
use super::schema::SchemaArguments;
use super::target::TargetArguments;
use super::values::{exporter, interval, named, schemas, shell_command};
use base::limits;
use clap::Args;
use spec::Isolation;
use std::time::Duration;

#[derive(Args)]
pub struct MeasuringArguments {
    #[command(flatten)]
    pub target: TargetArguments,
    #[command(flatten)]
    pub preset: PresetArguments,
    #[command(flatten)]
    pub places: PlaceArguments,
    /// One point of the time series
    #[arg(long, default_value = "1s", value_parser = interval)]
    pub interval: Duration,
    /// Seed of the transactions' inputs; the same gives the same inputs, and finds their rows in the server's memory
    /// [default: a new one, which the summary names]
    #[arg(long, default_value_t = lab::new_seed(), hide_default_value = true)]
    pub seed: u64,
    /// Seed of the population of --engine, as in `mydyno load --seed`
    #[arg(long, value_name = "SEED", default_value_t = spec::defaults::POPULATION_SEED, conflicts_with_all = ["dsn", "defaults_file"])]
    pub population_seed: u64,
    /// Threads of the driver that carry the connections [default: one for each core or, where the server is on this
    /// machine (--engine, a unix socket or a loopback address), for every fourth]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(limits::DRIVER_THREADS_MAX)))]
    pub threads: Option<u32>,
    /// Isolation level of the sessions; TPC-C demands repeatable-read [default: repeatable-read; with tpcc-mysql the server's]
    #[arg(long, value_name = "LEVEL", value_parser = named(Isolation::ALL, Isolation::name))]
    pub isolation: Option<Isolation>,
    /// Bind each connection to a warehouse
    #[arg(long)]
    pub home: bool,
    #[command(flatten)]
    pub schema: SchemaArguments,
    /// Spread the connections over so many schemas, <schema>_0, <schema>_1 and so on (see `mydyno load --schemas`)
    #[arg(long, value_name = "K", value_parser = schemas())]
    pub schemas: Option<u32>,
    /// Read watts each second from a meter by a command for the shell, such as 'ipmitool dcmi power reading'; of what it prints, the
    /// number before W or Watts counts, else the only one. Other users see commands while they run: have a password read from a file (ipmitool -f) or from the environment
    /// (ipmitool -E) [default: the processors' own counters, where they can be read]
    #[arg(long, value_name = "COMMAND", value_parser = shell_command)]
    pub power_command: Option<String>,
    /// Observe the server's machine through its Prometheus node_exporter, http://db:9100/metrics [default: this machine, where
    /// the server is on it]
    #[arg(long, value_name = "URL", value_parser = exporter)]
    pub host_metrics: Option<String>,
}
