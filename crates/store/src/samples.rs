//! What was sampled beside the load. Values are raw: counters as the source has them, which only
//! grow while the source lives, and gauges. Who reads them takes differences, and takes a gap for a
//! gap.

use crate::results::Durable;
use crate::row::{Keys, Stored, insert, row};
use crate::values::{RepeatId, word};
use crate::{Results, StoreResult};
use rusqlite::{Connection, Result};
use std::collections::{BTreeMap, HashMap};

word!(
    /// Where a metric comes from.
    MetricSource {
        /// The machine that the server runs on.
        Host = "host",
        /// One process; the label says which: `server` or `mydyno`.
        Process = "process",
        /// What the server says of itself, in names that all engines share.
        Server = "server",
        /// The shim's counters, by role.
        Shim = "shim",
        /// What it all draws.
        Power = "power",
    }
);
word!(
    /// How to read the values of a metric.
    MetricKind {
        /// It grows: only differences mean something.
        Counter = "counter",
        Gauge = "gauge",
    }
);

row! {
    /// What a value is of.
    #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub struct Metric {
        /// `host`, `process`, `server`, `shim` or `power`.
        pub source: MetricSource,
        /// The name, with its unit: `cpu_user_ns`.
        pub name: String,
        /// Which of several: core, disk, process, thread, role; empty where there is one.
        pub label: String,
        /// `counter` only grows, so that differences mean something; or `gauge`.
        pub kind: MetricKind,
    }
}

/// What one source said at one time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SampleBatch {
    /// When it was read, from the start of the run.
    pub at_offset_ns: u64,
    pub values: Vec<(Metric, i64)>,
}

/// Values of one metric by time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetricSeries {
    pub metric: Metric,
    /// (offset from the start of the run in ns, value), in order.
    pub samples: Vec<(u64, i64)>,
}

/// The numbers of a repeat's metrics in the file, so that they are looked up once.
#[derive(Debug, Default)]
pub struct MetricIds(HashMap<Metric, i64>);

impl Results {
    /// Appends samples; called about once a second during a run. It waits for no flush.
    pub fn append_samples(
        &self,
        repeat: RepeatId,
        ids: &mut MetricIds,
        batches: &[SampleBatch],
    ) -> StoreResult<()> {
        self.step(Durable::Written, |transaction| {
            let mut insert = transaction.prepare_cached(
                "INSERT OR IGNORE INTO sample (metric_id, at_offset_ns, value) VALUES (?1, ?2, ?3)",
            )?;
            for batch in batches {
                for (metric, value) in &batch.values {
                    let id = match ids.0.get(metric) {
                        Some(id) => *id,
                        None => {
                            let id = insert_metric(transaction, repeat, metric)?;
                            *ids.0.entry(metric.clone()).or_insert(id)
                        }
                    };
                    insert.execute((id, batch.at_offset_ns, value))?;
                }
            }
            Ok(())
        })
    }

    /// All metrics of a repeat with their values, by source, name and label.
    pub fn samples(&self, repeat: RepeatId) -> StoreResult<Vec<MetricSeries>> {
        let sql = "SELECT * FROM metric WHERE repeat_id = ?1 ORDER BY source, name, label";
        let metrics = self.all(sql, [repeat], |row| {
            let samples = Vec::new();
            let metric = Metric::get(row, "")?;
            Ok((row.get("id")?, MetricSeries { metric, samples }))
        })?;
        let mut series: BTreeMap<i64, MetricSeries> = metrics.into_iter().collect();
        let sql = "SELECT sample.* FROM sample JOIN metric ON metric.id = metric_id \
                   WHERE repeat_id = ?1 ORDER BY metric_id, at_offset_ns";
        self.all(sql, [repeat], |row| {
            if let Some(series) = series.get_mut(&row.get::<_, i64>("metric_id")?) {
                series.samples.push((row.get("at_offset_ns")?, row.get("value")?));
            }
            Ok(())
        })?;
        let mut all: Vec<MetricSeries> = series.into_values().collect();
        all.sort_by(|a, b| a.metric.cmp(&b.metric));
        Ok(all)
    }
}

fn insert_metric(connection: &Connection, repeat: RepeatId, metric: &Metric) -> Result<i64> {
    let key: Keys<'_> = &[("repeat_id", &repeat)];
    insert(connection, "INSERT OR IGNORE INTO metric", key, metric)?;
    connection.query_row(
        "SELECT id FROM metric WHERE repeat_id = ?1 AND source = ?2 AND name = ?3 AND label = ?4",
        (repeat, metric.source, &metric.name, &metric.label),
        |row| row.get(0),
    )
}
