//! What contradicts itself in a cell: the only judge, whoever asks for it.

use crate::cell::{Cell, Lengths};
use crate::defaults;
use crate::dilate::{Dilate, OF_REAL_DEVICES};
use crate::fault::Fault;
use crate::length::Length;
use crate::load::{Connections, DatabaseKind, Load, Style, WorkloadKind};
use crate::server::{PopulationSpec, Private, Server};
use crate::topology::Topology;
use base::Warehouses;
use base::limits::{AUTO_INTERVALS_MIN, CORES_MAX};

/// What is to blame. The command line has an option for it, and a plan a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    Workload,
    Style,
    Home,
    Rate,
    Terminals,
    InactiveWarehouses,
    Warehouses,
    Schemas,
    Instances,
    Topology,
    Xa,
    Cores,
    Fault,
    Partitions,
    Dilate,
    PageCache,
    Warmup,
    Window,
    Precision,
    Interval,
    Ramp,
}

impl Field {
    /// The key of a plan; with dashes the option of the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Field::Workload => "workload",
            Field::Style => "style",
            Field::Home => "home",
            Field::Rate => "rate",
            Field::Terminals => "terminals",
            Field::InactiveWarehouses => "inactive_warehouses",
            Field::Warehouses => "warehouses",
            Field::Schemas => "schemas",
            Field::Instances => "instances",
            Field::Topology => "topology",
            Field::Xa => "xa",
            Field::Cores => "cores",
            Field::Fault => "fault",
            Field::Partitions => "partitions",
            Field::Dilate => "dilate",
            Field::PageCache => "page_cache",
            Field::Warmup => "warmup",
            Field::Window => "window",
            Field::Precision => "precision",
            Field::Interval => "interval",
            Field::Ramp => "ramp",
        }
    }
}

/// Why a cell cannot be measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    pub field: Field,
    /// What contradicts what, and what to do.
    pub why: String,
}

fn problem(field: Field, why: impl Into<String>) -> Result<(), Problem> {
    Err(Problem { field, why: why.into() })
}

impl Cell {
    /// Refuses what contradicts itself.
    ///
    /// # Errors
    /// The first [`Problem`].
    pub fn validate(&self) -> Result<(), Problem> {
        self.load.validate()?;
        if let Connections::Ramp(limits) = &self.load.connections {
            limits.check().or_else(|error| problem(Field::Ramp, error.to_string()))?;
        }
        self.lengths.validate()?;
        let made = self.server.private().and_then(|of| of.population.tpcc_warehouses());
        let inactive = self.load.inactive_warehouses;
        let leaves_none = |all: Warehouses| inactive > 0 && inactive >= all.0;
        if self.load.warehouses.or(made).is_some_and(leaves_none) {
            let why = "it leaves none of the warehouses with terminals; name fewer";
            return problem(Field::InactiveWarehouses, why);
        }
        validate_topology(self.server.topology(), &self.load)?;
        validate_xa(&self.server, &self.load)?;
        match &self.server {
            Server::Private(private) => {
                validate_fault(private, &self.load)?;
                validate_private(private, &self.load)
            }
            Server::External(external) => {
                let has_terminals = self.load.workload == WorkloadKind::TpccSpec;
                if external.schemas.is_some() && has_terminals {
                    let why = "the terminals of workload tpcc-spec share their connections, which \
                               therefore are not spread over schemas; leave one of them out";
                    return problem(Field::Schemas, why);
                }
                if external.schemas.is_some() && external.topology != Topology::Apart {
                    let why = "servers that belong together have one schema; leave one of them out";
                    return problem(Field::Schemas, why);
                }
                Ok(())
            }
        }
    }
}

impl Load {
    fn validate(&self) -> Result<(), Problem> {
        match &self.workload {
            WorkloadKind::Tpcc => {}
            WorkloadKind::TpccMysql => self.validate_as_they_are()?,
            WorkloadKind::SysbenchOltp(_) | WorkloadKind::File(_) => {
                self.validate_as_they_are()?;
                if self.warehouses.is_some() {
                    let why =
                        format!("workload {} has no warehouses; leave them out", self.workload);
                    return problem(Field::Warehouses, why);
                }
            }
            WorkloadKind::TpccSpec => return self.validate_terminals(),
        }
        let is_ramp = matches!(self.connections, Connections::Ramp(_));
        if self.rate.is_some() && is_ramp {
            let why = "a ramp raises the connections of a closed loop, and a rate makes the loop \
                       an open one; leave one of them out";
            return problem(Field::Rate, why);
        }
        if self.inactive_warehouses > 0 {
            let why =
                "only terminals leave warehouses inactive; use workload tpcc-spec, or leave it out";
            return problem(Field::InactiveWarehouses, why);
        }
        if self.terminals.is_some() {
            let why = "terminals are of workload tpcc-spec; use that, or name connections instead";
            return problem(Field::Terminals, why);
        }
        Ok(())
    }

    /// Workloads whose statements are sent as they are written.
    fn validate_as_they_are(&self) -> Result<(), Problem> {
        let workload = &self.workload;
        if self.style != Style::Statements {
            let why = format!(
                "workload {workload} is a sequence of statements, each a round trip of its own, \
                 and has no style {:?}; leave the style out, or use workload tpcc",
                self.style.name()
            );
            return problem(Field::Style, why);
        }
        if self.home {
            let why = format!(
                "workload {workload} uses any rows for each transaction; leave it out, or use \
                 workload tpcc"
            );
            return problem(Field::Home, why);
        }
        Ok(())
    }

    fn validate_terminals(&self) -> Result<(), Problem> {
        if let Connections::Ramp(_) = self.connections {
            let why = "workload tpcc-spec asks as much as its terminals do, however many \
                       connections serve them; leave the ramp out and name connections, or raise \
                       the warehouses";
            return problem(Field::Workload, why);
        }
        if self.rate.is_some() {
            let why = "a rate sets the pace of a workload without terminals, and tpcc-spec has \
                       its own; leave one of them out";
            return problem(Field::Rate, why);
        }
        if self.home {
            let why =
                "the terminals of workload tpcc-spec have home warehouses anyway; leave it out";
            return problem(Field::Home, why);
        }
        Ok(())
    }
}

impl Lengths {
    fn validate(&self) -> Result<(), Problem> {
        if self.precision_share.is_some() && !self.window.is_auto {
            let why = "it ends a window of automatic length, and this one is fixed; leave it out, \
                       or make the window \"auto\"";
            return problem(Field::Precision, why);
        }
        if self.interval > self.window.most {
            let why = "it is longer than the window, which then has no point of a time series; \
                       choose a shorter one";
            return problem(Field::Interval, why);
        }
        self.require_intervals(Field::Warmup, self.warmup)?;
        self.require_intervals(Field::Window, self.window)
    }

    /// An automatic length has room for what it is judged by.
    fn require_intervals(&self, field: Field, length: Length) -> Result<(), Problem> {
        let needed = self.interval * AUTO_INTERVALS_MIN;
        if !length.is_auto || length.most >= needed {
            return Ok(());
        }
        let why = format!(
            "an automatic length is judged by {AUTO_INTERVALS_MIN} intervals at least, which take \
             {}; allow it more, or choose a shorter interval",
            humantime::format_duration(needed)
        );
        problem(field, why)
    }
}

fn validate_topology(topology: Topology, load: &Load) -> Result<(), Problem> {
    let name = topology.name();
    match topology {
        Topology::Apart | Topology::MultiPrimary => Ok(()),
        Topology::PrimaryReplicas | Topology::Shards => match load.workload {
            _ if topology == Topology::PrimaryReplicas && !load.style.is_single() => {
                let why = "only in styles statements and pipelined are the orders known that a \
                           replica did not have; use one of them";
                problem(Field::Topology, why)
            }
            WorkloadKind::Tpcc => Ok(()),
            WorkloadKind::TpccSpec if topology == Topology::PrimaryReplicas => Ok(()),
            _ => {
                let why = format!(
                    "{name} is for workload tpcc, whose transactions mydyno knows; use that, or \
                     multi-primary"
                );
                problem(Field::Topology, why)
            }
        },
    }
}

fn validate_xa(server: &Server, load: &Load) -> Result<(), Problem> {
    if !load.xa {
        return Ok(());
    }
    if server.topology() != Topology::Shards {
        let why = "XA transactions are over several shards; add topology shards, or leave it out";
        return problem(Field::Xa, why);
    }
    if !matches!(load.style, Style::Statements | Style::Pipelined) {
        let why = format!(
            "a statement or procedure of style {} uses rows of several shards; use style \
             statements or pipelined",
            load.style
        );
        return problem(Field::Xa, why);
    }
    if server.private().is_some_and(|private| private.population.foreign_keys) {
        let why = "foreign keys cannot hold between servers; leave the foreign keys out of the \
                   database";
        return problem(Field::Xa, why);
    }
    Ok(())
}

/// What survives is known of one server, whose every transaction is witnessed.
fn validate_fault(private: &Private, load: &Load) -> Result<(), Problem> {
    let Some(fault) = private.fault else { return Ok(()) };
    if private.instances > 1 {
        let why = "one server is ended by it, and several are asked for; leave instances, nodes \
                   and topology out";
        return problem(Field::Fault, why);
    }
    let is_witnessed = matches!(load.workload, WorkloadKind::Tpcc | WorkloadKind::TpccSpec);
    if !is_witnessed || matches!(load.connections, Connections::Ramp(_)) {
        let why = "what was acknowledged is known of workloads tpcc and tpcc-spec with a fixed \
                   number of connections; take these";
        return problem(Field::Fault, why);
    }
    if fault != Fault::Kill && !private.placement.is_all_emulated() {
        let why = "only an emulated device can lose its power or fail; place the data on a profile \
                   (data: sata-850pro), and no other role on a directory";
        return problem(Field::Fault, why);
    }
    Ok(())
}

fn validate_private(private: &Private, load: &Load) -> Result<(), Problem> {
    let PopulationSpec { database, foreign_keys, partitions, .. } = &private.population;
    if *database != DatabaseKind::Tpcc && *partitions > 0 {
        let why = format!(
            "only tables of TPC-C are partitioned, which workload {} does not use; leave it out",
            load.workload
        );
        return problem(Field::Partitions, why);
    }
    let instances = private.instances;
    if private.topology != Topology::Apart && instances < 2 {
        let why = "servers that belong together are two at least; name their number by `nodes`";
        return problem(Field::Topology, why);
    }
    let own_databases = !private.topology.is_one_database();
    if instances > 1 && own_databases && load.workload == WorkloadKind::TpccSpec {
        let why = "the terminals of workload tpcc-spec share connections to one server, so that \
                   it has no instances; use workload tpcc, or one instance";
        return problem(Field::Instances, why);
    }
    let warehouses = private.population.warehouses;
    if private.topology == Topology::Shards && warehouses.0 < instances {
        let why = format!(
            "{instances} shards cannot divide {warehouses} warehouses, as each has one at least; \
             name more warehouses or fewer nodes"
        );
        return problem(Field::Warehouses, why);
    }
    let connections = load.connections.first().unwrap_or(defaults::CONNECTIONS);
    if instances > 1 && instances > connections {
        let why = format!(
            "{instances} instances cannot share {connections} connections, as each needs one at \
             least; name more connections or fewer instances"
        );
        return problem(Field::Instances, why);
    }
    if private.cores.is_some_and(|cores| !(1..=CORES_MAX).contains(&cores)) {
        let why = format!("private servers have 1 to {CORES_MAX} cores; name so many");
        return problem(Field::Cores, why);
    }
    if *foreign_keys && *partitions > 0 {
        let why = "partitioned tables have no foreign keys (error 1506, \"Foreign keys are not \
                   yet supported in conjunction with partitioning\"); leave the foreign keys out, \
                   or the partitions";
        return problem(Field::Partitions, why);
    }
    let placement = &private.placement;
    if placement.page_cache_bytes.is_some() && !placement.is_emulated() {
        let why = "it is for emulated devices, and real ones have this machine's page cache; \
                   place a role on a profile (data: hdd-15k), or leave it out";
        return problem(Field::PageCache, why);
    }
    if private.dilate != Dilate::NONE && !placement.is_all_emulated() {
        return problem(Field::Dilate, OF_REAL_DEVICES);
    }
    Ok(())
}

#[cfg(test)]
mod tests;
