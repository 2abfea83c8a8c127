//! One of several servers that have one database: how it keeps up with the others.

use crate::error::ObserveError;
use crate::replica::replica_status;
use crate::sampler::{Readings, SampleSource};
use crate::server_source::until_stopped;
use base::{Connect, Session, SessionError};
use std::sync::atomic::AtomicBool;
use store::MetricSource;
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

    fn read(&mut self, into: &mut Readings, stop: &AtomicBool) -> Result<(), ObserveError> {
        let failed = |why: String| ObserveError::Server(format!("node {}: {why}", self.label));
        let connector = Connector::new(self.connect.clone()).map_err(|e| failed(e.to_string()))?;
        let values = until_stopped(stop, async {
            let mut session = connector.connect().await.map_err(|e| failed(e.to_string()))?;
            let values = ask(&mut session).await.map_err(|e| failed(e.to_string()))?;
            Connector::close(session).await;
            Ok(values)
        })?;
        into.taken_now();
        values.give(&self.label, into);
        Ok(())
    }
}

/// What a node says; `None` where its kind has no such thing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct NodeValues {
    synced: Option<i64>,
    certification_failures: Option<i64>,
    brute_force_aborts: Option<i64>,
    flow_control_paused_ns: Option<i64>,
    apply_queue: Option<i64>,
    lag_s: Option<i64>,
}

impl NodeValues {
    fn give(&self, label: &str, into: &mut Readings) {
        let counters = [
            ("certification_failures", self.certification_failures),
            ("brute_force_aborts", self.brute_force_aborts),
            ("flow_control_paused_ns", self.flow_control_paused_ns),
        ];
        for (name, value) in counters {
            if let Some(value) = value {
                into.counter(MetricSource::Server, name, label, value);
            }
        }
        let gauges = [
            ("node_synced", self.synced),
            ("apply_queue", self.apply_queue),
            ("replication_lag_s", self.lag_s),
        ];
        for (name, value) in gauges {
            if let Some(value) = value {
                into.gauge(MetricSource::Server, name, label, value);
            }
        }
    }

    fn take_galera(&mut self, variable: &str, value: i64) {
        let place = match variable {
            "wsrep_local_cert_failures" => &mut self.certification_failures,
            "wsrep_local_bf_aborts" => &mut self.brute_force_aborts,
            "wsrep_flow_control_paused_ns" => &mut self.flow_control_paused_ns,
            "wsrep_local_recv_queue" => &mut self.apply_queue,
            "wsrep_local_state" => {
                self.synced = Some(i64::from(value == GALERA_SYNCED));
                return;
            }
            _ => return,
        };
        *place = Some(value);
    }
}

/// Asks a node in the words of whatever it is: of Galera, of Group Replication or a replica.
async fn ask(session: &mut Connection) -> Result<NodeValues, SessionError> {
    let mut values = NodeValues::default();
    let answer = session.query(GALERA).await?;
    if answer.rows().any(|row| row.text(0) == GALERA_CLUSTER && !row.text(1).is_empty()) {
        for row in answer.rows() {
            if let Ok(value) = row.int(1) {
                values.take_galera(&row.text(0), value);
            }
        }
        return Ok(values);
    }
    // Servers without these tables, or that do not show them to this user, say nothing of a group.
    if let Ok(answer) = session.query(GROUP).await
        && let Some(row) = answer.row(0)
    {
        values.certification_failures = row.int(0).ok();
        values.apply_queue = row.int(1).ok();
        values.synced = row.int(2).ok();
        return Ok(values);
    }
    match replica_status(session).await {
        Ok(status) => values.lag_s = status.and_then(|of| of.seconds_behind),
        // This user may not look.
        Err(SessionError::Server { .. }) => {}
        Err(error) => return Err(error),
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::NodeValues;
    use crate::sampler::Readings;

    #[test]
    fn what_galera_says() {
        let mut values = NodeValues::default();
        for (name, value) in [
            ("wsrep_local_state", 4),
            ("wsrep_local_cert_failures", 7),
            ("wsrep_flow_control_paused_ns", 1_000),
            ("wsrep_local_recv_queue", 3),
        ] {
            values.take_galera(name, value);
        }
        let mut into = Readings::default();
        values.give("2", &mut into);
        assert_eq!(into.value("certification_failures", "2"), Some(7));
        assert_eq!(into.value("node_synced", "2"), Some(1));
        assert_eq!(into.value("apply_queue", "2"), Some(3));
        assert_eq!(into.value("replication_lag_s", "2"), None);
        values.take_galera("wsrep_local_state", 2);
        assert_eq!(values.synced, Some(0), "a donor takes no writes in order");
    }
}
