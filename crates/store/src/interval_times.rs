//! What terminals and schedules add to a repeat.

use crate::histogram::Encoded;
use crate::ids::RepeatId;
use crate::repeats::{Phase, StoredBand, Verdict};
use crate::results::Durable;
use crate::row::{Keys, Parts, Stored, insert, insert_in_order, row};
use crate::values::word;
use crate::{Results, StoreError, TimeTotals};
use hdrhistogram::Histogram;
use std::collections::BTreeMap;

row! {
    /// How an open loop kept its schedule in one interval.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct ScheduleCounts {
        /// Transactions whose intended start lies in the interval.
        pub offered: u64,
        /// Transactions that began in the interval, more than 1 ms after their intended start.
        pub late: u64,
        /// Transactions that never began: 100,000 waited already when they came, or the window
        /// ended before their turn. They count by their intended start, but what is found unstarted
        /// at the end of the window may count in its last interval.
        pub skipped: u64,
    }
}

word!(
    /// What a time of `interval_time` is.
    TimeKind {
        /// From the intended start to the begin of the first try, or to the end of the window where
        /// that came before it.
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

row! {
    /// Times of one kind in one interval.
    #[derive(Clone, Debug)]
    pub struct TimeRow {
        /// What the times are. Of an open loop: `lag` (from the intended start to the begin of the
        /// first try) and `service` (from there to the end of the last); of terminals: `keying`
        /// (measured, when it ends), `think` (drawn, when it begins) and `acknowledgement` (of a
        /// delivery: until it was queued).
        pub kind: TimeKind,
        /// The type of the transactions; `None` for all types together.
        pub transaction: Option<String> = "transaction_type",
        pub occurrences: u64,
        /// As `latency_histogram_ns`.
        pub histogram: Histogram<u64> as Encoded = "histogram_ns",
        /// The exact sum.
        pub sum_ns: u64,
        /// The exact maximum.
        pub max_ns: u64,
        /// As `latency_out_of_bounds`.
        pub out_of_bounds: u64,
    }
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

row! {
    /// A requirement of the standard, with what came of it.
    #[derive(Clone, Debug, PartialEq)]
    pub struct StoredRequirement {
        /// The name, for programs.
        pub name: String,
        /// The title, for people.
        pub title: String,
        /// The clause of TPC-C.
        pub clause: String,
        /// `s`, `share` (0 to 1), `average` or `nopm_per_warehouse`.
        pub unit: RequirementUnit,
        /// `None` where nothing of the kind ended in the window.
        pub value: Option<f64>,
        /// What the clause allows; `None` is open.
        pub allowed: StoredBand as Parts,
        /// Where a right run of this length lands with 99.9 % probability.
        pub chance: StoredBand as Parts,
        /// As in `input_counter`.
        pub verdict: Verdict,
    }
}

impl StoredRequirement {
    /// Is it met, as far as a run of this length can tell? `None` where there was nothing to judge.
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
    /// Appends what an interval has beside its transactions; as [`Results::append_intervals`],
    /// without a flush.
    pub fn append_paced(
        &self,
        repeat: RepeatId,
        interval: &PacedInterval,
    ) -> Result<(), StoreError> {
        let key: Keys<'_> = &[
            ("repeat_id", &repeat),
            ("phase", &interval.phase),
            ("start_offset_ns", &interval.start_offset_ns),
            ("end_offset_ns", &interval.end_offset_ns),
        ];
        self.step(Durable::Written, |transaction| {
            if let Some(counts) = &interval.schedule {
                insert(transaction, "INSERT INTO interval_schedule", key, counts)?;
            }
            for times in &interval.times {
                insert(transaction, "INSERT INTO interval_time", key, times)?;
            }
            Ok(())
        })
    }

    /// Stores what came of the standard's requirements; called again, it replaces them.
    pub fn record_requirements(
        &self,
        repeat: RepeatId,
        requirements: &[StoredRequirement],
    ) -> Result<(), StoreError> {
        self.step(Durable::Written, |transaction| {
            let into = "INSERT OR REPLACE INTO verdict";
            insert_in_order(transaction, into, ("repeat_id", &repeat), requirements)
        })
    }

    /// What came of the standard's requirements, in the order that they were given in.
    pub fn requirements(&self, repeat: RepeatId) -> Result<Vec<StoredRequirement>, StoreError> {
        let sql = "SELECT * FROM verdict WHERE repeat_id = ?1 ORDER BY ordinal";
        self.rows(sql, [repeat])
    }

    /// The schedule's counts over the window; `None` where the repeat had no schedule.
    pub fn window_schedule(&self, repeat: RepeatId) -> Result<Option<ScheduleCounts>, StoreError> {
        let sql = "SELECT sum(offered) AS offered, sum(late) AS late, sum(skipped) AS skipped \
                   FROM interval_schedule WHERE repeat_id = ?1 AND phase = 'window' \
                   HAVING count(*) > 0";
        Ok(self.rows(sql, [repeat])?.pop())
    }

    /// Times of the window, added up.
    pub fn window_times(&self, repeat: RepeatId) -> Result<WindowTimes, StoreError> {
        let run = || -> rusqlite::Result<WindowTimes> {
            let mut totals = WindowTimes::new();
            let mut statement = self.connection.prepare_cached(
                "SELECT * FROM interval_time WHERE repeat_id = ?1 AND phase = 'window'",
            )?;
            let mut rows = statement.query([repeat])?;
            while let Some(row) = rows.next()? {
                let transaction: Option<String> = row.get("transaction_type")?;
                let key = (row.get("kind")?, transaction.unwrap_or_default());
                let times = TimeTotals::get(row, "")?;
                totals.entry(key).or_default().add(&times);
            }
            Ok(totals)
        };
        run().map_err(|cause| self.sql(cause))
    }
}
