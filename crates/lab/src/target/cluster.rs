//! Private servers that have one database: what makes them nodes of a cluster, and when each is in
//! it.

use crate::error::{LabError, LabResult, WhileDoing, unfit};
use crate::target::sessions::with_session;
use base::{Session, Since, given_in};
use server::{
    GaleraNode, InstanceOptions, ServerBuild, ServerError, refuse_own_settings, require_provider,
};
use spec::{DatabaseKind, Private, Topology};
use wire::{Address, ConnectOptions, Connector};

/// Threads that apply what comes from other nodes. One alone falls behind a primary that many
/// connections write to.
const APPLIERS: &str = "4";

/// Refuses servers that cannot be a cluster, before anything is started.
///
/// # Errors
/// [`LabError::Unfit`] and [`LabError::Server`] with the reason and what to do.
pub(crate) fn require_possible(build: &ServerBuild, private: &Private) -> LabResult<()> {
    match private.topology {
        Topology::Apart | Topology::Shards => Ok(()),
        Topology::MultiPrimary => {
            require_provider(build)?;
            refuse_own_settings(&private.set)?;
            match private.population.database {
                DatabaseKind::Tpcc => Ok(()),
                _ => Err(unfit(
                    "private nodes of several primaries have the database of TPC-C; take workload \
                     tpcc, or load a cluster of your own and name it by DSN",
                )),
            }
        }
        Topology::PrimaryReplicas => {
            let own = ["server_id", "binlog_format", "gtid_mode", "enforce_gtid_consistency"];
            match own.into_iter().find(|name| given_in(&private.set, name).is_some()) {
                None => Ok(()),
                Some(name) => Err(LabError::Server(ServerError::Setting {
                    name: name.to_owned(),
                    why: "mydyno sets it for a primary with replicas; leave it out".to_owned(),
                })),
            }
        }
    }
}

/// Does a table of the cluster have to have a primary key, which TPC-C gives HISTORY none?
pub(crate) fn needs_history_key(topology: Topology) -> bool {
    topology == Topology::MultiPrimary
}

/// The variables of all nodes alike, where the user's `set` does not say otherwise.
pub(crate) fn common_settings(
    build: &ServerBuild,
    topology: Topology,
    set: &[(String, String)],
) -> Vec<(String, String)> {
    let lines: Vec<(&str, &str)> = match topology {
        Topology::Apart | Topology::Shards => Vec::new(),
        Topology::MultiPrimary => vec![("wsrep_slave_threads", APPLIERS)],
        Topology::PrimaryReplicas => replication_settings(build),
    };
    let lines = lines.into_iter().filter(|(name, _)| given_in(set, name).is_none());
    lines.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// As the manuals recommend for replicas that keep up and survive a crash: positions in tables,
/// transactions applied in parallel as far as their rows allow, committed in order.
fn replication_settings(build: &ServerBuild) -> Vec<(&'static str, &'static str)> {
    let mut lines = vec![("log_bin", "binlog"), ("binlog_format", "ROW"), ("sync_binlog", "1")];
    lines.extend([("relay_log", "relay"), ("relay_log_recovery", "ON")]);
    if build.release.family.is_mariadb() {
        lines.extend([("slave_parallel_threads", APPLIERS), ("slave_parallel_mode", "optimistic")]);
        return lines;
    }
    lines.extend([("gtid_mode", "ON"), ("enforce_gtid_consistency", "ON")]);
    let has = |version| build.release.has(Since::mysql(version));
    if !has((8, 0, 0)) {
        lines.extend([
            ("log_slave_updates", "ON"),
            ("master_info_repository", "TABLE"),
            ("relay_log_info_repository", "TABLE"),
            ("transaction_write_set_extraction", "XXHASH64"),
        ]);
    }
    if !has((8, 0, 26)) {
        lines.extend([
            ("slave_parallel_type", "LOGICAL_CLOCK"),
            ("slave_parallel_workers", APPLIERS),
            ("slave_preserve_commit_order", "ON"),
        ]);
    } else {
        lines.extend([
            ("replica_parallel_workers", APPLIERS),
            ("replica_preserve_commit_order", "ON"),
        ]);
    }
    if has((5, 7, 22)) && !has((8, 4, 0)) {
        lines.push(("binlog_transaction_dependency_tracking", "WRITESET"));
    }
    lines
}

/// What makes so many servers of this build nodes of Galera, where they are to be that.
///
/// # Errors
/// Where ports cannot be found, or the build cannot be a node.
pub(crate) fn galera_nodes(
    build: &ServerBuild,
    topology: Topology,
    count: u32,
) -> LabResult<Vec<GaleraNode>> {
    Ok(match topology {
        Topology::MultiPrimary => GaleraNode::cluster(build, count)?,
        Topology::Apart | Topology::Shards | Topology::PrimaryReplicas => Vec::new(),
    })
}

/// What makes the server of this place, from 0, the primary or a replica, where it is to be that.
pub(crate) fn replica_options(
    build: &ServerBuild,
    topology: Topology,
    place: usize,
) -> InstanceOptions {
    if topology != Topology::PrimaryReplicas {
        return InstanceOptions::default();
    }
    let read_only = match build.release.family.is_mariadb() {
        true => "SET GLOBAL read_only = ON",
        false => "SET GLOBAL super_read_only = ON",
    };
    let init = if place == 0 { Vec::new() } else { vec![read_only.to_owned()] };
    let set = vec![("server_id".to_owned(), (place + 1).to_string())];
    InstanceOptions { set, init, ..InstanceOptions::default() }
}

/// Makes a server, whose data are those of the primary, a replica of it.
///
/// # Errors
/// Where the server is not reached or refuses.
pub(crate) fn follow(
    build: &ServerBuild,
    replica: &Connector,
    primary: &ConnectOptions,
) -> LabResult<()> {
    let port = match &primary.address {
        Address::Tcp { port, .. } => *port,
        Address::Unix(_) => 0,
    };
    let (user, password) = (&primary.user, primary.password.reveal());
    let has = |version| build.release.has(Since::mysql(version));
    let (change, word, start) = match has((8, 0, 23)) {
        true => ("CHANGE REPLICATION SOURCE TO", "SOURCE", "START REPLICA"),
        false => ("CHANGE MASTER TO", "MASTER", "START SLAVE"),
    };
    let from = match build.release.family.is_mariadb() {
        // Since 11.4 a replica wants TLS where it is not told otherwise.
        true => "MASTER_USE_GTID = slave_pos, MASTER_SSL = 0, MASTER_SSL_VERIFY_SERVER_CERT = 0"
            .to_owned(),
        false => format!("{word}_AUTO_POSITION = 1"),
    };
    // Its password travels encrypted by this key, as there is no TLS between them.
    let key = if has((8, 0, 4)) { format!(", GET_{word}_PUBLIC_KEY = 1") } else { String::new() };
    let connect = format!(
        "{change} {word}_HOST = '127.0.0.1', {word}_PORT = {port}, {word}_USER = '{user}', \
         {word}_PASSWORD = '{password}', {word}_CONNECT_RETRY = 1, {from}{key}"
    );
    with_session(replica, async |session| {
        for sql in [&*connect, start] {
            session.query(sql).await.doing("making it a replica of node 1")?;
        }
        Ok(())
    })
}
