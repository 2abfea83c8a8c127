//! What of the command line `mydyno run` and `mydyno ramp` have in common, and what it measures.

use super::dilate::DilateArguments;
use super::place::PlaceArguments;
use super::preset::PresetArguments;
use super::schema::{SbtestArguments, SchemaArguments};
use super::target::TargetArguments;
use super::values::{duration, exporter, interval, named, schemas, shell_command};
use crate::failure::Failure;
use base::{Exit, limits};
use clap::Args;
use spec::{Cell, Field, Isolation, Lengths, Load, Meters, Private, Server, defaults};
use std::time::Duration;

#[derive(Args)]
pub struct MeasuringArguments {
    #[command(flatten)]
    pub target: TargetArguments,
    #[command(flatten)]
    pub preset: PresetArguments,
    #[command(flatten)]
    pub places: PlaceArguments,
    #[command(flatten)]
    pub dilate: DilateArguments,
    /// Length of one interval of the time series
    #[arg(long, default_value = "1s", value_parser = interval)]
    pub interval: Duration,
    /// Seed of the transaction inputs; a repeated seed gives the same inputs, whose rows may still
    /// be in the server's memory [default: a new one, which the summary names]
    #[arg(long, default_value_t = lab::new_seed(), hide_default_value = true)]
    pub seed: u64,
    /// Seed of the population with --engine, as in `mydyno load --seed`
    #[arg(
        long, value_name = "SEED", default_value_t = spec::defaults::POPULATION_SEED,
        conflicts_with_all = ["dsn", "defaults_file"]
    )]
    pub population_seed: u64,
    /// Number of driver threads that carry the connections [default: one per core; one per four
    /// cores with TPC-C where the server is on this machine (--engine, a unix socket or a loopback
    /// address); at most one per core that --cores leaves]
    #[arg(
        long, value_name = "N",
        value_parser = clap::value_parser!(u32).range(1..=i64::from(limits::DRIVER_THREADS_MAX))
    )]
    pub threads: Option<u32>,
    /// Number of cores (hardware threads) that private servers are kept to, all of them together:
    /// at most as many as mydyno may use; mydyno has the others, where there are any [default: all,
    /// shared with mydyno]
    #[arg(
        long, value_name = "N", conflicts_with_all = ["dsn", "defaults_file"],
        value_parser = clap::value_parser!(u32).range(1..=i64::from(limits::CORES_MAX))
    )]
    pub cores: Option<u32>,
    /// Isolation level of the sessions; TPC-C requires repeatable-read [default: repeatable-read;
    /// with tpcc-mysql that of the server]
    #[arg(long, value_name = "LEVEL", value_parser = named(Isolation::ALL, Isolation::name))]
    pub isolation: Option<Isolation>,
    /// Longest pause before the second try of a transaction that met a deadlock or a lock wait
    /// timeout, up to 1s; it doubles with each further try, and is random below that; 0: no pause
    #[arg(long, value_name = "TIME", default_value = "2ms", value_parser = retry_pause)]
    pub retry_pause: Duration,
    /// Bind each connection to one warehouse
    #[arg(long)]
    pub home: bool,
    /// With --topology shards: let remote order lines and payments use warehouses of all shards, by
    /// XA transactions, instead of those of the same shard
    #[arg(long)]
    pub xa: bool,
    #[command(flatten)]
    pub sbtest: SbtestArguments,
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

impl MeasuringArguments {
    /// Refuses to ask of a server what that kind of server cannot give.
    ///
    /// # Errors
    /// Says what to do.
    fn validate(&self) -> Result<(), Failure> {
        self.target.refuse_private_schemas(self.schemas)?;
        if self.cores.is_some() && !self.target.is_private() {
            let words = "--cores is for private servers; add --engine, or give the server its \
                         cores yourself (taskset)";
            return Err(Failure::new(Exit::Usage, words));
        }
        self.places.validate(&self.target)?;
        self.dilate.validate(&self.target)?;
        self.preset.validate(&self.target)?;
        self.schema.validate(&self.target)
    }

    /// What is measured: this load, for so long, on the server that is asked for.
    ///
    /// # Errors
    /// Options for private servers of one that is not, and what contradicts itself.
    pub fn cell(&self, load: Load, lengths: Lengths, instances: u32) -> Result<Cell, Failure> {
        self.validate()?;
        self.sbtest.validate(&self.target, &load.workload)?;
        let warehouses = load.warehouses.unwrap_or(defaults::WAREHOUSES);
        let population =
            self.schema.population(&load.workload, warehouses.0, self.sbtest, self.population_seed);
        let server = match self.target.server(population, self.schemas)? {
            Server::Private(private) => Server::Private(Private {
                preset: self.preset.asked(),
                placement: self.places.placement(),
                dilate: self.dilate.asked(),
                instances: instances.max(private.instances),
                cores: self.cores,
                ..private
            }),
            external => external,
        };
        // A private database has as many warehouses as are asked for, and all are used.
        let is_made = server.private().is_some() && load.workload.is_tpcc();
        let used = load.warehouses.filter(|_| !is_made);
        let cell = Cell {
            server,
            load: Load {
                warehouses: used,
                isolation: self.isolation,
                home: self.home,
                xa: self.xa,
                retry_pause: self.retry_pause,
                threads: self.threads,
                ..load
            },
            lengths: Lengths { interval: self.interval, ..lengths },
            checks: false,
            lock_wait_timeouts_max_share: None,
            meters: Meters {
                power_command: self.power_command.clone(),
                host_metrics: self.host_metrics.clone(),
            },
        };
        valid(cell)
    }

    /// What else names the cell that is measured.
    pub fn settings(&self) -> Vec<(String, String)> {
        let page_cache = self.places.page_cache;
        let page_cache = page_cache.map(|bytes| ("page_cache_bytes".to_owned(), bytes.to_string()));
        self.target.set.iter().cloned().chain(page_cache).collect()
    }
}

/// A cell that does not contradict itself.
///
/// # Errors
/// The option that is to blame, and why.
pub fn valid(cell: Cell) -> Result<Cell, Failure> {
    match cell.validate() {
        Ok(()) => Ok(cell),
        Err(problem) => {
            let option = problem.field.name().replace('_', "-");
            let words = match problem.field {
                // Its limits are options of their own, which the reason names.
                Field::Ramp => problem.why,
                _ => format!("--{option}: {}", problem.why),
            };
            Err(Failure::new(Exit::Usage, words))
        }
    }
}

fn retry_pause(text: &str) -> Result<Duration, String> {
    match duration(text)? {
        long if long > limits::RETRY_PAUSE_MAX => Err("at most 1s".to_owned()),
        pause => Ok(pause),
    }
}
