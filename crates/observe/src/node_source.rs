//! One of several servers that have one database: how it keeps up with the others.

use crate::error::{ObserveError, ObserveResult};
use crate::readings::{Readings, SampleSource};
use crate::replica::replica_status;
use crate::server_source::until_stopped;
use base::{Connect, Session, SessionError};
use std::sync::atomic::AtomicBool;
use store::{MetricKind, MetricSource};
use wire::{ConnectOptions, Connection, Connector};

/// The state of a Galera node in which it takes writes.
const GALERA_SYNCED: i64 = 4;
const GALERA: &str = "SHOW GLOBAL STATUS WHERE Variable_name IN ('wsrep_local_state', \
     'wsrep_local_cert_failures', 'wsrep_local_bf_aborts', 'wsrep_flow_control_paused_ns', \
     'wsrep_local_recv_queue', 'wsrep_cluster_state_uuid')";
/// Its value is empty on a server that knows Galera and is in no cluster.
const GALERA_CLUSTER: &str = "wsrep_cluster_state_uuid";
const GROUP: &str = "SELECT COUNT_CONFLICTS_DETECTED, COUNT_TRANSACTIONS_IN_QUEUE, \
     MEMBER_STATE = 'ONLINE' FROM performance_schema.replication_group_member_stats \
     JOIN performance_schema.replication_group_members USING (MEMBER_ID) \
     WHERE MEMBER_ID = @@server_uuid";
/// The metrics of its columns.
const GROUP_METRICS: [&str; 3] = ["certification_failures", "apply_queue", "node_synced"];
/// Metrics that are no counters.
const GAUGES: [&str; 3] = ["node_synced", "apply_queue", "replication_lag_s"];

/// A node that is asked over a session of its own for each reading: it may be gone and back by the
/// next one.
pub struct NodeSource {
    connect: ConnectOptions,
    /// From 1, as people count.
    label: String,
}

impl NodeSource {
    /// The node of this number, from 1, at this address.
    pub fn new(connect: ConnectOptions, number: usize) -> NodeSource {
        NodeSource {
            connect: ConnectOptions { schema: None, ..connect },
            label: number.to_string(),
        }
    }
}

impl SampleSource for NodeSource {
    fn title(&self) -> &'static str {
        "a node's place among the others"
    }

    fn read(&mut self, into: &mut Readings, stop: &AtomicBool) -> ObserveResult<()> {
        let failed = |why: String| ObserveError::Server(format!("node {}: {why}", self.label));
        let connector = Connector::new(self.connect.clone()).map_err(|e| failed(e.to_string()))?;
        let values = until_stopped(stop, async {
            let mut session = connector.connect().await.map_err(|e| failed(e.to_string()))?;
            let values = values_of(&mut session).await.map_err(|e| failed(e.to_string()))?;
            Connector::close(session).await;
            Ok(values)
        })?;
        into.taken_now();
        for (name, value) in values {
            let is_gauge = GAUGES.contains(&name);
            let kind = if is_gauge { MetricKind::Gauge } else { MetricKind::Counter };
            into.give(kind, MetricSource::Server, name, &self.label, value);
        }
        Ok(())
    }
}

/// Asks a node in the words of whatever it is: of Galera, of Group Replication or a replica.
async fn values_of(session: &mut Connection) -> Result<Vec<(&'static str, i64)>, SessionError> {
    let answer = session.query(GALERA).await?;
    if answer.rows().any(|row| row.text(0) == GALERA_CLUSTER && !row.text(1).is_empty()) {
        let values = answer.rows().filter_map(|row| galera_value(&row.text(0), row.int(1).ok()?));
        return Ok(values.collect());
    }
    // Servers without these tables, or that do not show them to this user, say nothing of a group.
    if let Ok(answer) = session.query(GROUP).await
        && let Some(row) = answer.row(0)
    {
        let columns = GROUP_METRICS.into_iter().enumerate();
        let values = columns.filter_map(|(column, name)| Some((name, row.int(column).ok()?)));
        return Ok(values.collect());
    }
    match replica_status(session).await {
        Ok(status) => {
            let lag_s = status.and_then(|of| of.seconds_behind);
            Ok(lag_s.map(|lag_s| ("replication_lag_s", lag_s)).into_iter().collect())
        }
        // This user may not look.
        Err(SessionError::Server { .. }) => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

fn galera_value(variable: &str, value: i64) -> Option<(&'static str, i64)> {
    Some(match variable {
        "wsrep_local_cert_failures" => ("certification_failures", value),
        "wsrep_local_bf_aborts" => ("brute_force_aborts", value),
        "wsrep_flow_control_paused_ns" => ("flow_control_paused_ns", value),
        "wsrep_local_recv_queue" => ("apply_queue", value),
        "wsrep_local_state" => ("node_synced", i64::from(value == GALERA_SYNCED)),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::galera_value;

    #[test]
    fn what_galera_says() {
        for (variable, value, told) in [
            ("wsrep_local_state", 4, ("node_synced", 1)),
            // A donor takes no writes in order.
            ("wsrep_local_state", 2, ("node_synced", 0)),
            ("wsrep_local_cert_failures", 7, ("certification_failures", 7)),
            ("wsrep_flow_control_paused_ns", 1_000, ("flow_control_paused_ns", 1_000)),
            ("wsrep_local_recv_queue", 3, ("apply_queue", 3)),
        ] {
            assert_eq!(galera_value(variable, value), Some(told));
        }
    }
}
