//! Servers that have one database: are they fit to be driven together, and do they have the same
//! rows?

use crate::error::{LabError, LabResult, WhileDoing, unfit};
use crate::measure::workload::AnyWorkload;
use crate::target::membership::{cluster_of, require_replica};
use crate::target::sessions::{IDENTITY, text, with_session};
use crate::target::subject::Subject;
use drive::{Facts, Schemas};
use spec::Topology;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use wire::{Connection, Connector};

/// How long nodes may take to have what the first one has: before a run, when nobody has written
/// for a while, and after it.
pub(crate) const PATIENCE_BEFORE: Duration = Duration::from_secs(10);
pub(crate) const PATIENCE_AFTER: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_millis(200);

const READ_ONLY: &str = "SELECT @@global.read_only OR @@global.innodb_read_only";
/// What of a node has to be so.
struct Node {
    identity: String,
    /// Of its cluster, where it is in one.
    cluster: Option<String>,
}

/// Looks at every server of one database, whether it can play its part.
///
/// # Errors
/// [`LabError::Unfit`] with the first that cannot, and what to do.
pub(crate) fn require_fit(subject: &Subject) -> LabResult<()> {
    let topology = subject.topology;
    if !topology.is_one_database() {
        return Ok(());
    }
    let databases = subject.databases()?;
    let mut nodes: Vec<Node> = Vec::new();
    for ((connector, server), number) in databases.iter().zip(subject.each()).zip(1..) {
        let is_replica = topology == Topology::PrimaryReplicas && number > 1;
        let of_node = |error: LabError| {
            let (nodes, dsn) = (subject.instances(), server.dsn());
            unfit(format!("node {number} of {nodes} ({dsn}): {error}"))
        };
        let look = async |session: &mut Connection| {
            let doing = "asking for its part in the cluster";
            let identity = text(session, IDENTITY).await.doing(doing)?;
            if is_replica {
                require_replica(session).await?;
                return Ok(Node { identity, cluster: None });
            }
            if text(session, READ_ONLY).await.doing(doing)? == "1" {
                return Err(unfit(
                    "it is read-only, and connections write to it; SET GLOBAL read_only = 0, or \
                     switch the group to several primaries \
                     (group_replication_switch_to_multi_primary_mode())",
                ));
            }
            let cluster = match topology {
                Topology::MultiPrimary => Some(cluster_of(session).await?),
                _ => None,
            };
            Ok(Node { identity, cluster })
        };
        let node = with_session(connector, look).map_err(of_node)?;
        if let Some(other) = nodes.iter().position(|other| other.identity == node.identity) {
            let why =
                format!("it is the server that is node {}, too; name each server once", other + 1);
            return Err(of_node(unfit(why)));
        }
        if nodes.first().is_some_and(|first| first.cluster != node.cluster) {
            let why = "it is in another cluster than node 1; name the nodes of one";
            return Err(of_node(unfit(why)));
        }
        nodes.push(node);
    }
    Ok(())
}

/// Waits until all servers of one database have the rows of the first, told by what they add up to
/// while nobody writes, and returns that sum. Where each has a database of its own, theirs are
/// added.
///
/// # Errors
/// Where a server is not reached or refuses; [`LabError::Unfit`] where one does not catch up;
/// [`LabError::Interrupted`].
pub(crate) fn facts_of_all(
    databases: &Schemas<Connector>,
    workload: &AnyWorkload,
    patience: Duration,
    stop: &AtomicBool,
) -> LabResult<Facts> {
    if !databases.topology().is_one_database() {
        return workload.facts(databases);
    }
    let compare = || {
        let first = workload.facts_of(databases.first())?;
        for (node, number) in databases.others().iter().zip(2..) {
            let other = workload.facts_of(node)?;
            if other != first {
                let [other, first] = [other, first].map(|facts| facts.0);
                return Err(unfit(format!(
                    "node {number} adds up to {other:?} and node 1 to {first:?}, after waiting for \
                     {} s: one of the {} nodes has diverged or lags far behind; make it anew from \
                     the others",
                    patience.as_secs(),
                    databases.iter().count()
                )));
            }
        }
        Ok(first)
    };
    let deadline = Instant::now() + patience;
    loop {
        // A node that comes back answers at first that it is not ready.
        let compared = compare();
        if compared.is_ok() || Instant::now() >= deadline {
            return compared;
        }
        if stop.load(Ordering::Relaxed) {
            return Err(LabError::Interrupted);
        }
        std::thread::sleep(LOOK_EVERY);
    }
}
