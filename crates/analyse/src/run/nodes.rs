//! Several servers of one database, side by side: what each says of its place among the others.

use crate::account::bound::{Bound, BoundBy};
use crate::run::samples::{OfWindow, ReadRepeat};
use crate::table::Table;
use base::document;
use std::collections::BTreeSet;
use store::MetricSource::Server;
use store::{StoreResult, StoredReplica};

document! {
    /// One of several servers of one database, in the window. `None` is what its kind does not
    /// tell, or what was not observed for the whole window.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct NodeFigures from (node: u32, of: &OfWindow<'_>, replica: Option<&StoredReplica>);
    let label = node.to_string();
    let mean = |name: &str| of.mean(Server, name, &label);
    {
        /// From 1, in the order in which they were named.
        pub node: u32 = node,
        /// The share of the samples in which it took part.
        pub synced_share: Option<f64> = mean("node_synced"),
        /// Its transactions that another node's had overtaken when they were to commit, a second
        /// (Galera: `wsrep_local_cert_failures`; Group Replication: conflicts detected).
        pub certification_failures_per_s: Option<f64> = mean("certification_failures"),
        /// Galera: its transactions that were aborted because another node's needed their locks.
        pub brute_force_aborts_per_s: Option<f64> = mean("brute_force_aborts"),
        /// Galera: time in which flow control held it up.
        pub flow_control_paused_share: Option<f64> =
            of.mean_s(Server, "flow_control_paused_ns", &label),
        /// Transactions of others that waited to be applied.
        pub apply_queue_mean: Option<f64> = mean("apply_queue"),
        /// How far a replica was behind, by its own word (Seconds_Behind_Source).
        pub lag_mean_s: Option<f64> = mean("replication_lag_s"),
        pub lag_max_s: Option<f64> = of.most(Server, "replication_lag_s", &label),
        /// Order-Statuses and Stock-Levels that a replica answered, those of the warm-up included.
        pub reads: Option<u64> = replica.map(|of| of.reads),
        /// Those of them that did not see an order which this driver had committed before.
        pub stale_reads: Option<u64> = replica.map(|of| of.stale_reads),
        /// The longest time between such a commit and the begin of the read.
        pub stale_max_ms: Option<f64> = replica.map(|of| of.stale_max_ns as f64 / 1e6),
    }
}

/// From this share of the time on, flow control and not a server is what writers wait for.
const FLOW_CONTROL_SHARE: f64 = 0.3;

/// The verdict on nodes that flow control held up; of several, on the one that was held up longest.
pub(crate) fn held_up(nodes: &[NodeFigures]) -> Option<Bound> {
    let share = |node: &NodeFigures| node.flow_control_paused_share.unwrap_or(0.0);
    let longest = nodes.iter().max_by(|a, b| share(a).total_cmp(&share(b)))?;
    (share(longest) >= FLOW_CONTROL_SHARE).then(|| Bound {
        by: BoundBy::Replication,
        share: None,
        because: format!(
            "flow control held node {} up for {:.0} % of the time: a node applies more slowly than \
             the others write; the queue of what is to be applied tells which, and more appliers \
             (wsrep_slave_threads) or fewer writers help",
            longest.node,
            share(longest) * 100.0
        ),
    })
}

type NodeValue = fn(&NodeFigures) -> Option<f64>;

/// Title, unit, decimals and values.
const COLUMNS: [(&str, &str, usize, NodeValue); 10] = [
    ("in sync", "%", 1, |of| of.synced_share.map(|share| share * 100.0)),
    ("cert failures", "1/s", 1, |of| of.certification_failures_per_s),
    ("aborted", "1/s", 1, |of| of.brute_force_aborts_per_s),
    ("flow control", "%", 1, |of| of.flow_control_paused_share.map(|share| share * 100.0)),
    ("to apply", "", 1, |of| of.apply_queue_mean),
    ("lag", "s", 1, |of| of.lag_mean_s),
    ("lag at most", "s", 0, |of| of.lag_max_s),
    ("reads", "", 0, |of| of.reads.map(|count| count as f64)),
    ("stale", "", 0, |of| of.stale_reads.map(|count| count as f64)),
    ("stale at most", "ms", 1, |of| of.stale_max_ms),
];

/// How each node kept up with the others, in the columns that have a value: a cluster has no lag,
/// and a replica no certification. `None` where there is nothing to tell.
pub fn nodes_table<C: From<String>>(nodes: &[NodeFigures]) -> Option<Table<&NodeFigures, C>> {
    let mut table = Table::of(nodes).numbers("node", |of| of.node.to_string());
    for (title, unit, decimals, value) in COLUMNS {
        if nodes.iter().any(|node| value(node).is_some()) {
            table = table.numbers_in((title, unit), |node| {
                value(node).map_or_else(|| "-".to_owned(), |value| format!("{value:.decimals$}"))
            });
        }
    }
    (table.columns.len() > 1).then_some(table)
}

/// Names of the metrics that have a node's number for their label.
const METRICS: [&str; 6] = [
    "node_synced",
    "certification_failures",
    "brute_force_aborts",
    "flow_control_paused_ns",
    "apply_queue",
    "replication_lag_s",
];

/// The nodes that were observed in the window of a repeat; none where it failed.
///
/// # Errors
/// The file cannot be read.
pub(crate) fn nodes_of(of: ReadRepeat<'_>) -> StoreResult<Vec<NodeFigures>> {
    let Some(window) = of.window() else { return Ok(Vec::new()) };
    Ok(nodes_in(&of.samples.within(window), &of.results.get(of.repeat.id)?))
}

/// The nodes that samples or replicas tell of.
pub(crate) fn nodes_in(of: &OfWindow<'_>, replicas: &[StoredReplica]) -> Vec<NodeFigures> {
    let labels = METRICS.iter().flat_map(|name| of.samples.labels(Server, name));
    let observed = labels.filter_map(|label| label.parse().ok());
    let numbers: BTreeSet<u32> =
        observed.chain(replicas.iter().map(|replica| replica.node)).collect();
    let figures =
        |node| NodeFigures::of(node, of, replicas.iter().find(|replica| replica.node == node));
    numbers.into_iter().map(figures).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::samples::{Samples, Window};
    use store::{Metric, MetricKind, MetricSeries};

    fn series(name: &str, label: &str, kind: MetricKind, values: &[i64]) -> MetricSeries {
        let metric =
            Metric { source: Server, name: name.to_owned(), label: label.to_owned(), kind };
        let samples = (0..).zip(values).map(|(s, value)| (s * 1_000_000_000, *value)).collect();
        MetricSeries { metric, samples }
    }

    #[test]
    fn each_node_has_its_own() {
        let samples = Samples::of(vec![
            series("certification_failures", "2", MetricKind::Counter, &[10, 12, 14]),
            series("flow_control_paused_ns", "2", MetricKind::Counter, &[0, 0, 500_000_000]),
            series("replication_lag_s", "10", MetricKind::Gauge, &[0, 1, 5]),
            series("threads_running", "", MetricKind::Gauge, &[1, 1, 1]),
        ]);
        let nodes = nodes_in(&samples.within(Window { start_ns: 0, end_ns: 2_000_000_000 }), &[]);
        let [second, tenth] = &nodes[..] else { panic!("{nodes:?}") };
        assert_eq!((second.node, tenth.node), (2, 10));
        assert_eq!(second.certification_failures_per_s, Some(2.0));
        assert_eq!(second.flow_control_paused_share, Some(0.25));
        assert_eq!((tenth.lag_mean_s, tenth.lag_max_s), (Some(2.0), Some(5.0)));
        assert_eq!(tenth.certification_failures_per_s, None);
        assert_eq!(held_up(&nodes), None);
        let held = NodeFigures {
            node: 3,
            flow_control_paused_share: Some(0.41),
            ..NodeFigures::default()
        };
        let verdict = held_up(&[second.clone(), held]).unwrap();
        assert_eq!(verdict.by, BoundBy::Replication);
        assert!(verdict.because.contains("held node 3 up for 41 %"), "{}", verdict.because);
        let table = nodes_table::<String>(&nodes).unwrap();
        let titles: Vec<&str> = table.columns.iter().map(|column| column.title.as_str()).collect();
        assert_eq!(titles, ["node", "cert failures", "flow control", "lag", "lag at most"]);
        assert_eq!(table.columns[1].cells, ["2.0", "-"]);
    }
}
