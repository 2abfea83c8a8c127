//! Is a server in the cluster that it is to be in? Each kind of cluster tells in its own words.

use crate::error::{LabResult, WhileDoing, unfit};
use crate::target::sessions::with_session;
use base::{Session, SessionError, clock, value_of};
use observe::{ReplicaStatus, replica_status};
use reactor::sleep_until;
use spec::Topology;
use std::time::{Duration, Instant};
use wire::{Connection, Connector};

/// How long a node may take to be in the cluster once it takes connections.
pub(crate) const JOIN_PATIENCE: Duration = Duration::from_secs(60);
/// How long a replica that was just started may take to connect to its source.
const CONNECT_PATIENCE: Duration = Duration::from_secs(5);
/// How often a node that is on its way is looked for.
pub(crate) const LOOK_EVERY: Duration = Duration::from_millis(100);

const GALERA: &str = "SHOW GLOBAL STATUS WHERE Variable_name IN ('wsrep_ready', \
     'wsrep_cluster_status', 'wsrep_local_state_comment', 'wsrep_cluster_state_uuid')";
const GROUP: &str = "SELECT MEMBER_STATE, @@group_replication_group_name FROM \
     performance_schema.replication_group_members WHERE MEMBER_ID = @@server_uuid";

/// Waits until the server is in its cluster: one of several primaries says that it is ready, and a
/// replica receives what its primary writes, and applies it.
///
/// # Errors
/// [`crate::LabError::Unfit`] with what it says instead, after [`JOIN_PATIENCE`]; where it is not
/// reached. `ended` says whether there is anything to wait for.
pub(crate) fn wait_for_member(
    topology: Topology,
    connector: &Connector,
    ended: impl Fn() -> bool,
) -> LabResult<()> {
    let begun = clock::Instant::now();
    loop {
        let looked = with_session(connector, async |session| match topology {
            Topology::PrimaryReplicas => require_replica(session).await,
            Topology::MultiPrimary => cluster_of(session).await.map(drop),
            Topology::Apart | Topology::Shards => Ok(()),
        });
        // One that joins refuses everybody for a moment.
        let Err(why) = looked else { return Ok(()) };
        if begun.elapsed() >= JOIN_PATIENCE || ended() {
            return Err(why);
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

/// The name of the cluster in which it is ready.
///
/// # Errors
/// [`crate::LabError::Unfit`] where it is in none, or not ready; what the session failed by.
pub(crate) async fn cluster_of(session: &mut Connection) -> LabResult<String> {
    let doing = "asking for its part in the cluster";
    let answer = session.query(GALERA).await.doing(doing)?;
    let status: Vec<(String, String)> =
        answer.rows().map(|row| (row.text(0), row.text(1))).collect();
    let of = |name: &str| value_of(&status, name).unwrap_or_default();
    let uuid = of("wsrep_cluster_state_uuid");
    if !uuid.is_empty() {
        let (ready, status) = (of("wsrep_ready"), of("wsrep_cluster_status"));
        let state = of("wsrep_local_state_comment");
        if ready == "ON" && status == "Primary" && state == "Synced" {
            return Ok(uuid.to_owned());
        }
        return Err(unfit(format!(
            "it is not ready (wsrep_ready {ready}, wsrep_cluster_status {status}, \
             wsrep_local_state_comment {state}); wait until it is Synced, or leave it out"
        )));
    }
    let member = match session.query(GROUP).await {
        Err(SessionError::Server { .. }) => None,
        answer => answer.doing(doing)?.row(0).map(|row| (row.text(0), row.text(1))),
    };
    match member {
        Some((state, group)) if state == "ONLINE" => Ok(group),
        Some((state, _)) => Err(unfit(format!(
            "it is {state} in its group; wait until it is ONLINE, or leave it out"
        ))),
        None => Err(unfit(
            "it is in no cluster: neither Galera nor Group Replication is at work; start it as a \
             member, or leave the topology out",
        )),
    }
}

/// Refuses what does not replicate; one that connects to its source is waited for.
///
/// # Errors
/// [`crate::LabError::Unfit`] with what it says, and what to do; what the session failed by.
pub(crate) async fn require_replica(session: &mut Connection) -> LabResult<()> {
    let doing = "asking how it replicates";
    let until = Instant::now() + CONNECT_PATIENCE;
    let mut status = replica_status(session).await.doing(doing)?;
    while status.as_ref().is_some_and(ReplicaStatus::is_connecting) && Instant::now() < until {
        sleep_until(Instant::now() + LOOK_EVERY).await;
        status = replica_status(session).await.doing(doing)?;
    }
    match status {
        Some(status) if status.replicates() => Ok(()),
        Some(status) => Err(unfit(format!(
            "it does not replicate (receives: {}, applies: {}; {}{}); mend it and START REPLICA, \
             or leave it out",
            status.receives, status.applies, status.receiving_error, status.applying_error
        ))),
        None => Err(unfit(
            "it replicates from nobody; make it a replica of node 1, or name the primary first",
        )),
    }
}
