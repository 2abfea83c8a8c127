//! What terminals and schedules add to a repeat: rows, writing them, reading them.

use crate::histogram::histogram_at;
use crate::read::{band, word};
use crate::results::Durable;
use crate::types::{Band, Phase, RepeatId, Verdict, word};
use crate::{Results, StoreError, TimeTotals};
use hdrhistogram::Histogram;
use rusqlite::{Row, Transaction, params};
use std::collections::BTreeMap;

/// How an open loop kept its schedule in one interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScheduleCounts {
    /// Transactions whose intended start lies in the interval.
    pub offered: u64,
    /// That began more than 1 ms after it.
    pub late: u64,
    /// That never began.
    pub skipped: u64,
}

word!(
    /// What a time of `interval_time` is.
    TimeKind {
        /// From the intended start to the begin of the first try.
        Lag = "lag",
        /// From the begin of the first try to the end of the last.
        Service = "service",
        /// From the submission of a Delivery to the word that it has been queued.
        Acknowledgement = "acknowledgement",
        Keying = "keying",
        Think = "think",
    }
);
word!(
    /// What the value of a requirement is.
    RequirementUnit {
        Seconds = "s",
        /// 0..=1.
        Share = "share",
        Average = "average",
        /// New orders per minute and warehouse.
        NopmPerWarehouse = "nopm_per_warehouse",
    }
);

/// Times of one kind in one interval.
#[derive(Clone, Debug)]
pub struct TimeRow {
    pub kind: TimeKind,
    /// None where they are of all types.
    pub transaction: Option<String>,
    pub occurrences: u64,
    pub histogram: Histogram<u64>,
    pub sum_ns: u64,
    pub max_ns: u64,
    pub out_of_bounds: u64,
}

/// What is stored on an interval beside its transactions.
#[derive(Clone, Debug)]
pub struct PacedInterval {
    pub phase: Phase,
    pub start_offset_ns: u64,
    pub end_offset_ns: u64,
    /// Of an open loop.
    pub schedule: Option<ScheduleCounts>,
    pub times: Vec<TimeRow>,
}

/// A requirement of the standard, with what came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Requirement {
    pub name: String,
    /// For people.
    pub title: String,
    pub clause: String,
    pub unit: RequirementUnit,
    pub value: Option<f64>,
    pub allowed: Band,
    /// Where a right run of this length lands with 99.9 % probability.
    pub chance: Band,
    pub verdict: Verdict,
}

impl Requirement {
    /// Is it met, as far as a run of this length can tell? `None` where there was nothing to judge.
    #[must_use]
    pub fn passed(&self) -> Option<bool> {
        match self.verdict {
            Verdict::NoData => None,
            Verdict::Within | Verdict::Chance => Some(true),
            Verdict::Outside => Some(false),
        }
    }
}

/// Times of the window by kind and transaction type; the type is empty where they are of all types.
pub type WindowTimes = BTreeMap<(TimeKind, String), TimeTotals>;

impl Results {
    /// Appends what an interval has beside its transactions; as [`Results::append_intervals`], without a flush.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn append_paced(
        &self,
        repeat: RepeatId,
        interval: &PacedInterval,
    ) -> Result<(), StoreError> {
        let mut codec = self.codec.borrow_mut();
        let mut encoded = Vec::with_capacity(interval.times.len());
        for times in &interval.times {
            let bytes = codec
                .encode(&times.histogram)
                .map_err(|cause| StoreError::Histogram {
                    transaction: times.kind.to_string(),
                    cause,
                })?;
            encoded.push(bytes.map(<[u8]>::to_vec));
        }
        self.step(Durable::Written, |transaction| {
            if let Some(counts) = interval.schedule {
                insert_counts(transaction, repeat, interval, counts)?;
            }
            let mut insert = transaction.prepare_cached(
                "INSERT INTO interval_time (repeat_id, phase, start_offset_ns, end_offset_ns, kind, transaction_type, \
                 occurrences, sum_ns, max_ns, out_of_bounds, histogram_ns) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
            )?;
            for (row, histogram) in interval.times.iter().zip(&encoded) {
                insert.execute(params![
                    repeat.0,
                    interval.phase.as_str(),
                    interval.start_offset_ns,
                    interval.end_offset_ns,
                    row.kind.as_str(),
                    row.transaction,
                    row.occurrences,
                    row.sum_ns,
                    row.max_ns,
                    row.out_of_bounds,
                    histogram,
                ])?;
            }
            Ok(())
        })
    }

    /// Stores what came of the standard's requirements; called again, it replaces them.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn record_requirements(
        &self,
        repeat: RepeatId,
        requirements: &[Requirement],
    ) -> Result<(), StoreError> {
        self.step(Durable::Written, |transaction| {
            for (ordinal, requirement) in requirements.iter().enumerate() {
                transaction.execute(
                    "INSERT OR REPLACE INTO verdict (repeat_id, ordinal, name, title, clause, unit, value, allowed_low, \
                     allowed_high, chance_low, chance_high, verdict) \
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
                    params![
                        repeat.0,
                        ordinal + 1,
                        requirement.name,
                        requirement.title,
                        requirement.clause,
                        requirement.unit.as_str(),
                        requirement.value,
                        requirement.allowed.low,
                        requirement.allowed.high,
                        requirement.chance.low,
                        requirement.chance.high,
                        requirement.verdict.as_str(),
                    ],
                )?;
            }
            Ok(())
        })
    }

    /// What came of the standard's requirements, in the order that they were given in.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn requirements(&self, repeat: RepeatId) -> Result<Vec<Requirement>, StoreError> {
        self.all(
            "SELECT * FROM verdict WHERE repeat_id = ?1 ORDER BY ordinal",
            params![repeat.0],
            read_requirement,
        )
    }

    /// The schedule's counts over the window; `None` where the repeat had no schedule.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn window_schedule(&self, repeat: RepeatId) -> Result<Option<ScheduleCounts>, StoreError> {
        let mut sums = self.all(
            "SELECT sum(offered) AS offered, sum(late) AS late, sum(skipped) AS skipped FROM interval_schedule \
             WHERE repeat_id = ?1 AND phase = 'window' HAVING count(*) > 0",
            params![repeat.0],
            |row| {
                Ok(ScheduleCounts {
                    offered: row.get("offered")?,
                    late: row.get("late")?,
                    skipped: row.get("skipped")?,
                })
            },
        )?;
        Ok(sums.pop())
    }

    /// Times of the window, added up.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn window_times(&self, repeat: RepeatId) -> Result<WindowTimes, StoreError> {
        let mut codec = self.codec.borrow_mut();
        let mut run = || -> rusqlite::Result<WindowTimes> {
            let mut totals = WindowTimes::new();
            let mut statement = self.connection.prepare_cached(
                "SELECT * FROM interval_time WHERE repeat_id = ?1 AND phase = 'window'",
            )?;
            let mut rows = statement.query(params![repeat.0])?;
            while let Some(row) = rows.next()? {
                let kind = word(row, "kind", TimeKind::parse)?;
                let transaction: Option<String> = row.get("transaction_type")?;
                let of = totals
                    .entry((kind, transaction.unwrap_or_default()))
                    .or_default();
                of.add(&TimeTotals {
                    histogram: histogram_at(row, "histogram_ns", &mut codec)?,
                    sum_ns: row.get("sum_ns")?,
                    max_ns: row.get("max_ns")?,
                    out_of_bounds: row.get("out_of_bounds")?,
                });
            }
            Ok(totals)
        };
        run().map_err(|cause| self.sql(cause))
    }
}

fn insert_counts(
    transaction: &Transaction<'_>,
    repeat: RepeatId,
    interval: &PacedInterval,
    counts: ScheduleCounts,
) -> rusqlite::Result<()> {
    transaction
        .prepare_cached(
            "INSERT INTO interval_schedule (repeat_id, phase, start_offset_ns, end_offset_ns, offered, late, skipped) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?
        .execute(params![
            repeat.0,
            interval.phase.as_str(),
            interval.start_offset_ns,
            interval.end_offset_ns,
            counts.offered,
            counts.late,
            counts.skipped,
        ])?;
    Ok(())
}

fn read_requirement(row: &Row<'_>) -> rusqlite::Result<Requirement> {
    Ok(Requirement {
        name: row.get("name")?,
        title: row.get("title")?,
        clause: row.get("clause")?,
        unit: word(row, "unit", RequirementUnit::parse)?,
        value: row.get("value")?,
        allowed: band(row, "allowed")?,
        chance: band(row, "chance")?,
        verdict: word(row, "verdict", Verdict::parse)?,
    })
}
