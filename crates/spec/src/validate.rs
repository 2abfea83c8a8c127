//! What contradicts itself in a cell: the only judge, whoever asks for it.

use crate::cell::{Cell, Lengths};
use crate::defaults;
use crate::dilate::{Dilate, OF_REAL_DEVICES};
use crate::fault::Fault;
use crate::length::Length;
use crate::load::{Connections, Load, Style};
use crate::place::{Placement, UsedShare};
use crate::problem::Problem;
use crate::server::{PopulationSpec, Private, Server};
use crate::topology::Topology;
use crate::workload::{DatabaseKind, WorkloadKind};
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
        if self.load.warehouses.or(made).is_some_and(leaves_none) {
            let why = "it leaves none of the warehouses with terminals; name fewer";
            return Problem::of("inactive_warehouses", why);
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
                    return Problem::of("schemas", why);
                }
                if external.schemas.is_some() && external.topology != Topology::Apart {
                    let why = "servers that belong together have one schema; leave one of them out";
                    return Problem::of("schemas", why);
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
            WorkloadKind::Script(_) => {
                self.validate_as_they_are()?;
                if self.warehouses.is_some() {
                    let why =
                        format!("workload {} has no warehouses; leave them out", self.workload);
                    return Problem::of("warehouses", why);
                }
            }
            WorkloadKind::TpccSpec => return self.validate_terminals(),
        }
        let is_ramp = matches!(self.connections, Connections::Ramp(_));
        if self.rate.is_some() && is_ramp {
            let why = "a ramp raises the connections of a closed loop, and a rate makes the loop \
                       an open one; leave one of them out";
            return Problem::of("rate", why);
        }
        if self.inactive_warehouses > 0 {
            let why =
                "only terminals leave warehouses inactive; use workload tpcc-spec, or leave it out";
            return Problem::of("inactive_warehouses", why);
        }
        if self.terminals.is_some() {
            let why = "terminals are of workload tpcc-spec; use that, or name connections instead";
            return Problem::of("terminals", why);
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
            return Problem::of("style", why);
        }
        if self.home {
            let why = format!(
                "workload {workload} uses any rows for each transaction; leave it out, or use \
                 workload tpcc"
            );
            return Problem::of("home", why);
        }
        Ok(())
    }

    fn validate_terminals(&self) -> Result<(), Problem> {
        if let Connections::Ramp(_) = self.connections {
            let why = "workload tpcc-spec asks as much as its terminals do, however many \
                       connections serve them; leave the ramp out and name connections, or raise \
                       the warehouses";
            return Problem::of("workload", why);
        }
        if self.rate.is_some() {
            let why = "a rate sets the pace of a workload without terminals, and tpcc-spec has \
                       its own; leave one of them out";
            return Problem::of("rate", why);
        }
        if self.home {
            let why =
                "the terminals of workload tpcc-spec have home warehouses anyway; leave it out";
            return Problem::of("home", why);
        }
        Ok(())
    }
}

impl Lengths {
    fn validate(&self) -> Result<(), Problem> {
        if self.precision_share.is_some() && !self.window.is_auto {
            let why = "it ends a window of automatic length, and this one is fixed; leave it out, \
                       or make the window \"auto\"";
            return Problem::of("precision", why);
        }
        if self.interval > self.window.most {
            let why = "it is longer than the window, which then has no point of a time series; \
                       choose a shorter one";
            return Problem::of("interval", why);
        }
        self.require_intervals("warmup", self.warmup)?;
        self.require_intervals("window", self.window)
    }

    /// An automatic length has room for what it is judged by.
    fn require_intervals(&self, option: &'static str, length: Length) -> Result<(), Problem> {
        let needed = self.interval * AUTO_INTERVALS_MIN;
        if !length.is_auto || length.most >= needed {
            return Ok(());
        }
        let why = format!(
            "an automatic length is judged by {AUTO_INTERVALS_MIN} intervals at least, which take \
             {}; allow it more, or choose a shorter interval",
            humantime::format_duration(needed)
        );
        Problem::of(option, why)
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
                Problem::of("topology", why)
            }
            WorkloadKind::Tpcc => Ok(()),
            WorkloadKind::TpccSpec if topology == Topology::PrimaryReplicas => Ok(()),
            _ => {
                let why = format!(
                    "{name} is for workload tpcc, whose transactions mydyno knows; use that, or \
                     multi-primary"
                );
                Problem::of("topology", why)
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
        return Problem::of("xa", why);
    }
    if !matches!(load.style, Style::Statements | Style::Pipelined) {
        let why = format!(
            "a statement or procedure of style {} uses rows of several shards; use style \
             statements or pipelined",
            load.style
        );
        return Problem::of("xa", why);
    }
    if server.private().is_some_and(|private| private.population.foreign_keys) {
        let why = "foreign keys cannot hold between servers; leave the foreign keys out of the \
                   database";
        return Problem::of("xa", why);
    }
    Ok(())
}

/// What survives is known of one server, whose every transaction is witnessed.
fn validate_fault(private: &Private, load: &Load) -> Result<(), Problem> {
    let Some(fault) = private.fault else { return Ok(()) };
    if private.instances > 1 {
        let why = "one server is ended by it, and several are asked for; leave instances, nodes \
                   and topology out";
        return Problem::of("fault", why);
    }
    let is_witnessed = load.workload.is_by_the_clauses();
    if !is_witnessed || matches!(load.connections, Connections::Ramp(_)) {
        let why = "what was acknowledged is known of workloads tpcc and tpcc-spec with a fixed \
                   number of connections; take these";
        return Problem::of("fault", why);
    }
    if fault != Fault::Kill && !private.placement.is_all_emulated() {
        let why = "only an emulated device can lose its power or fail; place the data on a profile \
                   (data: sata-850pro), and no other role on a directory";
        return Problem::of("fault", why);
    }
    Ok(())
}

impl PopulationSpec {
    /// Refuses a database that cannot be.
    ///
    /// # Errors
    /// The first [`Problem`].
    pub fn validate(&self) -> Result<(), Problem> {
        if self.database != DatabaseKind::Tpcc && self.partitions > 0 {
            let why = "only tables of TPC-C are partitioned, and this workload has others; leave \
                       it out";
            return Problem::of("partitions", why);
        }
        if self.foreign_keys && self.partitions > 0 {
            let why = "partitioned tables have no foreign keys (error 1506, \"Foreign keys are not \
                       yet supported in conjunction with partitioning\"); leave the foreign keys \
                       out, or the partitions";
            return Problem::of("partitions", why);
        }
        Ok(())
    }
}

fn validate_private(private: &Private, load: &Load) -> Result<(), Problem> {
    private.population.validate()?;
    let instances = private.instances;
    if private.topology != Topology::Apart && instances < 2 {
        let why = "servers that belong together are two at least; name their number by `nodes`";
        return Problem::of("topology", why);
    }
    let own_databases = !private.topology.is_one_database();
    if instances > 1 && own_databases && load.workload == WorkloadKind::TpccSpec {
        let why = "the terminals of workload tpcc-spec share connections to one server, so that \
                   it has no instances; use workload tpcc, or one instance";
        return Problem::of("instances", why);
    }
    let warehouses = private.population.warehouses;
    if private.topology == Topology::Shards && warehouses.0 < instances {
        let why = format!(
            "{instances} shards cannot divide {warehouses} warehouses, as each has one at least; \
             name more warehouses or fewer nodes"
        );
        return Problem::of("warehouses", why);
    }
    let connections = load.connections.first().unwrap_or(defaults::CONNECTIONS);
    if instances > 1 && instances > connections {
        let why = format!(
            "{instances} instances cannot share {connections} connections, as each needs one at \
             least; name more connections or fewer instances"
        );
        return Problem::of("instances", why);
    }
    if private.cores.is_some_and(|cores| !(1..=CORES_MAX).contains(&cores)) {
        let why = format!("private servers have 1 to {CORES_MAX} cores; name so many");
        return Problem::of("cores", why);
    }
    private.placement.validate(private.preset.as_ref().map(|of| of.name.as_str()))?;
    if private.dilate != Dilate::NONE && !private.placement.is_all_emulated() {
        return Problem::of("dilate", OF_REAL_DEVICES);
    }
    Ok(())
}

impl Placement {
    /// Refuses what contradicts itself, beside a preset of that name.
    ///
    /// # Errors
    /// The first [`Problem`].
    pub fn validate(&self, preset: Option<&str>) -> Result<(), Problem> {
        if self.page_cache_bytes.is_some() && !self.is_emulated() {
            let why = "it is for emulated devices, and real ones have this machine's page cache; \
                       place a role on a profile (data: hdd-15k), or leave it out";
            return Problem::of("page_cache", why);
        }
        if self.no_account && !self.count && !self.is_emulated() {
            let why = "it is for servers whose I/O is counted, and this one has no account of its \
                       threads; place a role on a profile (data: hdd-15k), say `count_io` too, or \
                       leave it out";
            return Problem::of("no_account", why);
        }
        let share = self.used.map(|used| used.share);
        if matches!(share, Some(UsedShare::Of(share)) if !device::is_occupancy(share)) {
            let why = "a device is used by 0.1 % to 100 %; name such a share, as 5%";
            return Problem::of("used", why);
        }
        if self.used.is_some() && !self.is_emulated() {
            let why = "it is for emulated devices, and a real one is as full as it is; place a \
                       role on a profile (data: sata-850pro), or leave it out";
            return Problem::of("used", why);
        }
        if share == Some(UsedShare::Auto) && preset.is_none_or(|name| name == defaults::PRESET) {
            let why = "`used` is `auto`, what the papers' database took of the device; name the \
                       preset that it was measured with, such as config-3, or a share, as 5%";
            return Problem::of("preset", why);
        }
        if self.used.is_some_and(|used| used.is_fresh) && !self.has_flash() {
            let why = "flash is `fresh` where it is erased, and a disk has none; place a role on \
                       an SSD (data: sata-850pro), or name the share alone";
            return Problem::of("used", why);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
