//! Servers that have one database: are they fit to be driven together, and do they have the same
//! rows?

use crate::error::LabError;
use crate::measure::workload::AnyWorkload;
use crate::target::sessions::with_session;
use crate::target::subject::Subject;
use base::{Session, SessionError};
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

const IDENTITY: &str = "SELECT CONCAT(@@hostname, ':', @@port, ':', @@datadir)";
const READ_ONLY: &str = "SELECT @@global.read_only OR @@global.innodb_read_only";
const GALERA: &str = "SHOW GLOBAL STATUS WHERE Variable_name IN ('wsrep_ready', \
     'wsrep_cluster_status', 'wsrep_local_state_comment', 'wsrep_cluster_state_uuid')";
const GROUP: &str = "SELECT MEMBER_STATE, @@group_replication_group_name FROM \
     performance_schema.replication_group_members WHERE MEMBER_ID = @@server_uuid";
/// The older name first: MySQL 8.4 forgot it, and MySQL before 8.0.22 does not know the newer one.
const REPLICA: [&str; 2] = ["SHOW SLAVE STATUS", "SHOW REPLICA STATUS"];
/// Columns of it, from 0, which have kept their places: do the threads that receive and that apply
/// run, and why not.
const RECEIVES: usize = 10;
const APPLIES: usize = 11;
const LAST_ERROR: usize = 19;

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
pub(crate) fn require_fit(subject: &Subject) -> Result<(), LabError> {
    let topology = subject.topology();
    if !topology.is_one_database() {
        return Ok(());
    }
    let databases = subject.databases()?;
    let mut nodes: Vec<Node> = Vec::new();
    for (connector, number) in databases.iter().zip(1..) {
        let is_replica = topology == Topology::PrimaryReplicas && number > 1;
        let node =
            with_session(connector, async |session| look_at(session, topology, is_replica).await)
                .map_err(|error| of_node(subject, number, error))?;
        let unfit = |why: String| of_node(subject, number, LabError::Unfit(why));
        if let Some(other) = nodes.iter().position(|other| other.identity == node.identity) {
            return Err(unfit(format!(
                "it is the server that is node {}, too; name each server once",
                other + 1
            )));
        }
        if nodes.first().is_some_and(|first| first.cluster != node.cluster) {
            let why = "it is in another cluster than node 1; name the nodes of one";
            return Err(unfit(why.to_owned()));
        }
        nodes.push(node);
    }
    Ok(())
}

fn of_node(subject: &Subject, number: usize, error: LabError) -> LabError {
    let nodes = subject.instances();
    let dsn = subject.each().nth(number - 1).map(Subject::dsn).unwrap_or_default();
    LabError::Unfit(format!("node {number} of {nodes} ({dsn}): {error}"))
}

async fn look_at(
    session: &mut Connection,
    topology: Topology,
    is_replica: bool,
) -> Result<Node, LabError> {
    let failed = |error| LabError::Session { doing: "asking for its part in the cluster", error };
    let identity = text(session, IDENTITY).await.map_err(failed)?;
    if is_replica {
        require_replica(session).await?;
        return Ok(Node { identity, cluster: None });
    }
    if text(session, READ_ONLY).await.map_err(failed)? == "1" {
        return Err(LabError::Unfit(
            "it is read-only, and connections write to it; SET GLOBAL read_only = 0, or switch the \
             group to several primaries (group_replication_switch_to_multi_primary_mode())"
                .to_owned(),
        ));
    }
    let cluster = match topology {
        Topology::MultiPrimary => Some(cluster_of(session).await?),
        _ => None,
    };
    Ok(Node { identity, cluster })
}

async fn text(session: &mut Connection, sql: &str) -> Result<String, SessionError> {
    let answer = session.query(sql).await?;
    Ok(answer.row(0).map_or_else(String::new, |row| row.text(0)))
}

/// The name of the cluster in which it is ready.
async fn cluster_of(session: &mut Connection) -> Result<String, LabError> {
    let failed = |error| LabError::Session { doing: "asking for its part in the cluster", error };
    let answer = session.query(GALERA).await.map_err(failed)?;
    let status: Vec<(String, String)> =
        answer.rows().map(|row| (row.text(0), row.text(1))).collect();
    let of = |name: &str| {
        status.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value.as_str())
    };
    let uuid = of("wsrep_cluster_state_uuid");
    if !uuid.is_empty() {
        let (ready, status) = (of("wsrep_ready"), of("wsrep_cluster_status"));
        let state = of("wsrep_local_state_comment");
        if ready == "ON" && status == "Primary" && state == "Synced" {
            return Ok(uuid.to_owned());
        }
        return Err(LabError::Unfit(format!(
            "it is not ready (wsrep_ready {ready}, wsrep_cluster_status {status}, \
             wsrep_local_state_comment {state}); wait until it is Synced, or leave it out"
        )));
    }
    match session.query(GROUP).await {
        Ok(answer) => match answer.row(0).map(|row| (row.text(0), row.text(1))) {
            Some((state, group)) if state == "ONLINE" => Ok(group),
            Some((state, _)) => Err(LabError::Unfit(format!(
                "it is {state} in its group; wait until it is ONLINE, or leave it out"
            ))),
            None => Err(no_member()),
        },
        Err(SessionError::Server { .. }) => Err(no_member()),
        Err(error) => Err(failed(error)),
    }
}

fn no_member() -> LabError {
    LabError::Unfit(
        "it is in no cluster: neither Galera nor Group Replication is at work; start it as a \
         member, or leave the topology out"
            .to_owned(),
    )
}

async fn require_replica(session: &mut Connection) -> Result<(), LabError> {
    let mut last = None;
    for sql in REPLICA {
        match session.query(sql).await {
            Ok(answer) => {
                let Some(row) = answer.row(0) else {
                    return Err(LabError::Unfit(
                        "it replicates from nobody; make it a replica of node 1, or name the \
                         primary first"
                            .to_owned(),
                    ));
                };
                if row.text(RECEIVES) == "Yes" && row.text(APPLIES) == "Yes" {
                    return Ok(());
                }
                return Err(LabError::Unfit(format!(
                    "it does not replicate (receives: {}, applies: {}; last error: {:?}); mend it \
                     and START REPLICA, or leave it out",
                    row.text(RECEIVES),
                    row.text(APPLIES),
                    row.text(LAST_ERROR)
                )));
            }
            Err(error) => last = Some(error),
        }
    }
    let error = last.unwrap_or(SessionError::Lost("no answer".to_owned()));
    Err(LabError::Session { doing: "asking how it replicates", error })
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
) -> Result<Facts, LabError> {
    if !databases.topology().is_one_database() {
        return workload.facts(databases);
    }
    let nodes = databases.iter().count();
    let deadline = Instant::now() + patience;
    loop {
        let behind = match compare(databases, workload) {
            Ok(Compared::Equal(facts)) => return Ok(facts),
            Ok(Compared::Behind(why)) => LabError::Unfit(format!(
                "{why}, after waiting for {} s: one of the {nodes} nodes has diverged or lags far \
                 behind; make it anew from the others",
                patience.as_secs()
            )),
            // A node that comes back answers at first that it is not ready.
            Err(error) => error,
        };
        if Instant::now() >= deadline {
            return Err(behind);
        }
        if stop.load(Ordering::Relaxed) {
            return Err(LabError::Interrupted);
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

enum Compared {
    Equal(Facts),
    /// Which is not, and how.
    Behind(String),
}

fn compare(databases: &Schemas<Connector>, workload: &AnyWorkload) -> Result<Compared, LabError> {
    let first = workload.facts_of(databases.first())?;
    for (node, number) in databases.others().iter().zip(2..) {
        let other = workload.facts_of(node)?;
        if other != first {
            return Ok(Compared::Behind(format!(
                "node {number} adds up to {:?} and node 1 to {:?}",
                other.0, first.0
            )));
        }
    }
    Ok(Compared::Equal(first))
}
