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
    /// Length of one interval of the time series
    #[arg(long, default_value = "1s", value_parser = interval)]
    pub interval: Duration,
    /// Seed of the transaction inputs; a repeated seed gives the same inputs, whose rows may still
    /// be in the server's memory [default: a new one, which the summary names]
    #[arg(long, default_value_t = lab::new_seed(), hide_default_value = true)]
    pub seed: u64,
    /// Seed of the population with --engine, as in `mydyno load --seed`
    #[arg(long, value_name = "SEED", default_value_t = spec::defaults::POPULATION_SEED, conflicts_with_all = ["dsn", "defaults_file"])]
    pub population_seed: u64,
    /// Number of driver threads that carry the connections [default: one per core; one per four
    /// cores where the server is on this machine (--engine, a unix socket or a loopback address)]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(limits::DRIVER_THREADS_MAX)))]
    pub threads: Option<u32>,
    /// Isolation level of the sessions; TPC-C requires repeatable-read [default: repeatable-read;
    /// with tpcc-mysql that of the server]
    #[arg(long, value_name = "LEVEL", value_parser = named(Isolation::ALL, Isolation::name))]
    pub isolation: Option<Isolation>,
    /// Bind each connection to one warehouse
    #[arg(long)]
    pub home: bool,
    #[command(flatten)]
    pub schema: SchemaArguments,
    /// Number of schemas to spread the connections over: <schema>_0, <schema>_1 and so on (see
    /// `mydyno load --schemas`)
    #[arg(long, value_name = "K", value_parser = schemas())]
    pub schemas: Option<u32>,
    /// Shell command that reads watts from a meter, run each second, such as 'ipmitool dcmi power
    /// reading'; of its output the number before W or Watts counts, else the only number. Other
    /// users can see its command line: read a password from a file (ipmitool -f) or from the
    /// environment (ipmitool -E) [default: the counters of the processors, where they can be read]
    #[arg(long, value_name = "COMMAND", value_parser = shell_command)]
    pub power_command: Option<String>,
    /// URL of the Prometheus node_exporter of the server's machine, such as http://db:9100/metrics
    /// [default: this machine, where the server is on it]
    #[arg(long, value_name = "URL", value_parser = exporter)]
    pub host_metrics: Option<String>,
}
