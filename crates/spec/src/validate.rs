//! What contradicts itself in a cell: the only judge, whoever asks for it.

use crate::cell::{Cell, Lengths};
use crate::defaults;
use crate::dilate::{Dilate, OF_REAL_DEVICES};
use crate::fault::Fault;
use crate::length::Length;
use crate::load::{Connections, Load, Style};
use crate::place::{Placement, Used, UsedShare};
use crate::problem::Problem;
use crate::rand_type::RandType;
use crate::server::{PopulationSpec, Private, Server};
use crate::topology::Topology;
use crate::workload::{DatabaseKind, ScriptDatabase, ScriptKind, WorkloadKind};
use base::Warehouses;
use base::limits::{AUTO_INTERVALS_MIN, CORES_MAX};

impl Cell {
    /// Refuses what contradicts itself.
    ///
    /// # Errors
    /// The first [`Problem`].
    pub fn validate(&self) -> Result<(), Problem> {
        self.load.validate()?;
        if let Connections::Ramp(limits) = &self.load.connections {
            limits.check()?;
        }
        self.lengths.validate()?;
        let made = self.server.private().and_then(|of| of.population.tpcc_warehouses());
        let inactive = self.load.inactive_warehouses;
        let leaves_none = |all: Warehouses| inactive > 0 && inactive >= all.0;
        let is_none_left = self.load.warehouses.or(made).is_some_and(leaves_none);
        let why = "it leaves none of the warehouses with terminals; name fewer";
        Problem::when(is_none_left, "inactive_warehouses", why)?;
        let Lengths { warmup, window, .. } = &self.lengths;
        let changes = self.load.rate.as_ref().is_some_and(|open| open.rate.changes());
        let why = "the times of a rate that changes are those of a fixed window behind a fixed \
                   warm-up, and `auto` looks for a steady state; name both lengths";
        Problem::when(changes && (warmup.is_auto || window.is_auto), "rate", why)?;
        validate_topology(self.server.topology(), &self.load)?;
        validate_xa(&self.server, &self.load)?;
        match &self.server {
            Server::Private(private) => {
                validate_fault(private, &self.load)?;
                validate_private(private, &self.load)
            }
            Server::External(external) => {
                let has_schemas = external.schemas.is_some();
                let has_terminals = self.load.workload == WorkloadKind::TpccSpec;
                let why = "the terminals of workload tpcc-spec share their connections, which \
                           therefore are not spread over schemas; leave one of them out";
                Problem::when(has_schemas && has_terminals, "schemas", why)?;
                let belong_together = external.topology != Topology::Apart;
                let why = "servers that belong together have one schema; leave one of them out";
                Problem::when(has_schemas && belong_together, "schemas", why)
            }
        }
    }
}

impl Load {
    fn validate(&self) -> Result<(), Problem> {
        match &self.workload {
            WorkloadKind::Tpcc => {}
            WorkloadKind::TpccMysql => self.validate_as_they_are()?,
            WorkloadKind::Script(_) => {
                self.validate_as_they_are()?;
                let why = format!("workload {} has no warehouses; leave them out", self.workload);
                Problem::when(self.warehouses.is_some(), "warehouses", why)?;
            }
            WorkloadKind::TpccSpec => return self.validate_terminals(),
        }
        self.validate_rand_type()?;
        let why = "a ramp raises the connections of a closed loop, and a rate makes the loop an \
                   open one; leave one of them out";
        Problem::when(self.rate.is_some() && self.connections.is_ramp(), "rate", why)?;
        let why =
            "only terminals leave warehouses inactive; use workload tpcc-spec, or leave it out";
        Problem::when(self.inactive_warehouses > 0, "inactive_warehouses", why)?;
        let why = "terminals are of workload tpcc-spec; use that, or name connections instead";
        Problem::when(self.terminals.is_some(), "terminals", why)
    }

    /// Workloads whose statements are sent as they are written.
    fn validate_as_they_are(&self) -> Result<(), Problem> {
        let workload = &self.workload;
        let why = format!(
            "workload {workload} is a sequence of statements, each a round trip of its own, and \
             has no style {:?}; leave the style out, or use workload tpcc",
            self.style.name()
        );
        Problem::when(self.style != Style::Statements, "style", why)?;
        let why = format!(
            "workload {workload} uses any rows for each transaction; leave it out, or use workload \
             tpcc"
        );
        Problem::when(self.home, "home", why)
    }

    fn validate_rand_type(&self) -> Result<(), Problem> {
        let why = match &self.workload {
            WorkloadKind::Script(ScriptKind::SysbenchOltp(mix)) => match mix.rand_type() {
                RandType::Uniform => {
                    "the workload's name says that ids are drawn uniformly; leave \
                                      one of them out"
                }
                RandType::Special
                | RandType::Gaussian
                | RandType::Pareto { .. }
                | RandType::Zipfian { .. } => return Ok(()),
            },
            WorkloadKind::Script(ScriptKind::File(_)) => {
                "a workload's file says itself how parameters are drawn; leave it out"
            }
            WorkloadKind::Tpcc | WorkloadKind::TpccSpec | WorkloadKind::TpccMysql => {
                "it is for workloads of sysbench, such as sysbench-oltp; use one of them, or leave \
                 it out"
            }
        };
        Problem::when(self.rand_type.is_some(), "rand_type", why)
    }

    fn validate_terminals(&self) -> Result<(), Problem> {
        let why = "workload tpcc-spec asks as much as its terminals do, however many connections \
                   serve them; leave the ramp out and name connections, or raise the warehouses";
        Problem::when(self.connections.is_ramp(), "workload", why)?;
        let why = "a rate sets the pace of a workload without terminals, and tpcc-spec has its \
                   own; leave one of them out";
        Problem::when(self.rate.is_some(), "rate", why)?;
        self.validate_rand_type()?;
        let why = "the terminals of workload tpcc-spec have home warehouses anyway; leave it out";
        Problem::when(self.home, "home", why)
    }
}

impl Lengths {
    fn validate(&self) -> Result<(), Problem> {
        let why = "it ends a window of automatic length, and this one is fixed; leave it out, or \
                   make the window \"auto\"";
        Problem::when(self.precision_share.is_some() && !self.window.is_auto, "precision", why)?;
        let why = "it is longer than the window, which then has no point of a time series; \
                   choose a shorter one";
        Problem::when(self.interval > self.window.most, "interval", why)?;
        self.require_intervals("warmup", self.warmup)?;
        self.require_intervals("window", self.window)
    }

    /// An automatic length has room for what it is judged by.
    fn require_intervals(&self, option: &'static str, length: Length) -> Result<(), Problem> {
        let needed = self.interval * AUTO_INTERVALS_MIN;
        let why = format!(
            "an automatic length is judged by {AUTO_INTERVALS_MIN} intervals at least, which take \
             {}; allow it more, or choose a shorter interval",
            humantime::format_duration(needed)
        );
        Problem::when(length.is_auto && length.most < needed, option, why)
    }
}

fn validate_topology(topology: Topology, load: &Load) -> Result<(), Problem> {
    let has_replicas = topology == Topology::PrimaryReplicas;
    let why = "only in styles statements and pipelined are the orders known that a replica did not \
               have; use one of them";
    Problem::when(has_replicas && !load.style.is_single(), "topology", why)?;
    let is_fit = match topology {
        Topology::Apart | Topology::MultiPrimary => true,
        Topology::PrimaryReplicas => load.workload.is_by_the_clauses(),
        Topology::Shards => load.workload == WorkloadKind::Tpcc,
    };
    let why = format!(
        "{topology} is for workload tpcc, whose transactions mydyno knows; use that, or \
         multi-primary"
    );
    Problem::when(!is_fit, "topology", why)
}

fn validate_xa(server: &Server, load: &Load) -> Result<(), Problem> {
    if !load.xa {
        return Ok(());
    }
    let why = "XA transactions are over several shards; add topology shards, or leave it out";
    Problem::when(server.topology() != Topology::Shards, "xa", why)?;
    let why = format!(
        "a statement or procedure of style {} uses rows of several shards; use style statements or \
         pipelined",
        load.style
    );
    Problem::when(!load.style.is_single(), "xa", why)?;
    let has_keys = server.private().is_some_and(|private| private.population.foreign_keys);
    let why =
        "foreign keys cannot hold between servers; leave the foreign keys out of the database";
    Problem::when(has_keys, "xa", why)
}

/// What survives is known of one server, whose every transaction is witnessed.
fn validate_fault(private: &Private, load: &Load) -> Result<(), Problem> {
    let Some(fault) = private.fault else { return Ok(()) };
    let why = "one server is ended by it, and several are asked for; leave instances, nodes and \
               topology out";
    Problem::when(private.instances > 1, "fault", why)?;
    let is_witnessed = load.workload.is_by_the_clauses();
    let why = "what was acknowledged is known of workloads tpcc and tpcc-spec with a fixed number \
               of connections; take these";
    Problem::when(!is_witnessed || load.connections.is_ramp(), "fault", why)?;
    let why = "only an emulated device can lose its power or fail; place the data on a profile \
               (data: sata-850pro), and no other role on a directory";
    Problem::when(fault != Fault::Kill && !private.placement.is_all_emulated(), "fault", why)
}

/// A mark in the database has them, beside others.
const TABLE_OPTIONS_BYTES_MAX: usize = 150;
/// Storage engines by lower case.
const WITHOUT_TRANSACTIONS: [&str; 9] =
    ["archive", "aria", "blackhole", "csv", "heap", "memory", "merge", "mrg_myisam", "myisam"];

impl PopulationSpec {
    /// Refuses a database that cannot be.
    ///
    /// # Errors
    /// The first [`Problem`].
    pub fn validate(&self) -> Result<(), Problem> {
        let (is_tpcc, is_split) = (self.database == DatabaseKind::Tpcc, self.partitions > 0);
        let why =
            "only tables of TPC-C are partitioned, and this workload has others; leave it out";
        Problem::when(is_split && !is_tpcc, "partitions", why)?;
        let why = "partitioned tables have no foreign keys (error 1506, \"Foreign keys are not yet \
                   supported in conjunction with partitioning\"); leave the foreign keys out, or \
                   the partitions";
        Problem::when(is_split && self.foreign_keys, "partitions", why)?;
        self.table_options.as_deref().map_or(Ok(()), |options| self.validate_options(options))
    }

    fn validate_options(&self, options: &str) -> Result<(), Problem> {
        let refuse = |is_wrong, why| Problem::when(is_wrong, "table_options", why);
        let is_file = matches!(self.database, DatabaseKind::Script(ScriptDatabase::File(_)));
        let why = "the setup of a workload's file makes its tables; write them there";
        refuse(is_file, why)?;
        let is_plain = |c: char| !c.is_control() && c != ';' && c != '\\';
        let is_one = options.len() <= TABLE_OPTIONS_BYTES_MAX && options.chars().all(is_plain);
        let why = "they are options of CREATE TABLE, at most 150 bytes without `;` and backslashes";
        refuse(!is_one, why)?;
        let mut words = options.split([' ', '=', ',']).filter(|word| !word.is_empty());
        let engine = words.by_ref().any(|word| word.eq_ignore_ascii_case("engine"));
        let engine = words.next().filter(|_| engine).unwrap_or_default().to_ascii_lowercase();
        let has_none = WITHOUT_TRANSACTIONS.contains(&engine.trim_matches(['\'', '"']));
        let why = "this storage engine has no transactions, which those of TPC-C need; name one \
                   that has, such as InnoDB";
        refuse(has_none && self.database == DatabaseKind::Tpcc, why)
    }
}

fn validate_private(private: &Private, load: &Load) -> Result<(), Problem> {
    private.population.validate()?;
    let &Private { instances, topology, dilate, .. } = private;
    let why = "servers that belong together are two at least; name their number by `nodes`";
    Problem::when(topology != Topology::Apart && instances < 2, "topology", why)?;
    let has_own_databases = instances > 1 && !topology.is_one_database();
    let has_terminals = load.workload == WorkloadKind::TpccSpec;
    let why = "the terminals of workload tpcc-spec share connections to one server, so that it has \
               no instances; use workload tpcc, or one instance";
    Problem::when(has_own_databases && has_terminals, "instances", why)?;
    let warehouses = private.population.warehouses;
    let why = format!(
        "{instances} shards cannot divide {warehouses} warehouses, as each has one at least; name \
         more warehouses or fewer nodes"
    );
    let is_divided = topology == Topology::Shards;
    Problem::when(is_divided && warehouses.0 < instances, "warehouses", why)?;
    let connections = load.connections.first().unwrap_or(defaults::CONNECTIONS);
    let why = format!(
        "{instances} instances cannot share {connections} connections, as each needs one at least; \
         name more connections or fewer instances"
    );
    Problem::when(instances > 1 && instances > connections, "instances", why)?;
    let is_beyond = |cores: u32| !(1..=CORES_MAX).contains(&cores);
    let why = format!("private servers have 1 to {CORES_MAX} cores; name so many");
    Problem::when(private.cores.is_some_and(is_beyond), "cores", why)?;
    private.placement.validate(private.preset.as_ref().map(|of| of.name.as_str()))?;
    let is_dilated = dilate != Dilate::NONE;
    Problem::when(is_dilated && !private.placement.is_all_emulated(), "dilate", OF_REAL_DEVICES)
}

impl Placement {
    /// Refuses what contradicts itself, beside a preset of that name.
    ///
    /// # Errors
    /// The first [`Problem`].
    pub fn validate(&self, preset: Option<&str>) -> Result<(), Problem> {
        let is_real = !self.is_emulated();
        let why = "it is for emulated devices, and real ones have this machine's page cache; place \
                   a role on a profile (data: hdd-15k), or leave it out";
        Problem::when(self.page_cache_bytes.is_some() && is_real, "page_cache", why)?;
        let Some(Used { share, is_fresh }) = self.used else { return Ok(()) };
        let is_none = matches!(share, UsedShare::Of(share) if !device::is_occupancy(share));
        let why = "a device is used by 0.1 % to 100 %; name such a share, as 5%";
        Problem::when(is_none, "used", why)?;
        let why = "it is for emulated devices, and a real one is as full as it is; place a role on \
                   a profile (data: sata-850pro), or leave it out";
        Problem::when(is_real, "used", why)?;
        let has_none = preset.is_none_or(|name| name == defaults::PRESET);
        let why = "`used` is `auto`, what the papers' database took of the device; name the preset \
                   that it was measured with, such as config-3, or a share, as 5%";
        Problem::when(share == UsedShare::Auto && has_none, "preset", why)?;
        let why = "flash is `fresh` where it is erased, and a disk has none; place a role on an \
                   SSD (data: sata-850pro), or name the share alone";
        Problem::when(is_fresh && !self.has_flash(), "used", why)
    }
}

#[cfg(test)]
mod tests;
