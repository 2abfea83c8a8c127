//! The rows of measurements: repeats, their results, intervals and counters.

use crate::histogram::Encoded;
use crate::ids::{CellId, RepeatId};
use crate::row::{Bits, Columns, Parts, Redacted, StoredAs, row};
use crate::types::NewCell;
use crate::values::word;
use hdrhistogram::Histogram;
use rusqlite::Row;
use std::borrow::Cow;
use std::ops::RangeInclusive;

word!(
    /// How far a repeat has come. Only `done` has numbers that may be shown.
    RepeatStatus {
        Running = "running",
        Done = "done",
        Failed = "failed",
        Skipped = "skipped",
    }
);
word!(
    /// Part of a run that an interval belongs to. A transaction belongs to the interval in which it
    /// ended.
    Phase {
        Warmup = "warmup",
        Window = "window",
        /// After the window, until the last transaction has ended.
        Drain = "drain",
    }
);
word!(
    /// When server variables were read.
    Moment {
        /// Before the window.
        Start = "start",
        /// After the window.
        End = "end",
    }
);
word!(
    /// What the value of an input counter is.
    CounterUnit {
        /// hits / trials, 0..=1.
        Share = "share",
        /// hits / trials, any size (lines per order).
        Average = "average",
    }
);
word!(
    /// What an input counter says of the run.
    Verdict {
        /// In the band that the clause allows.
        Within = "within",
        /// Outside the band, but a right generator gives such a value in a run as short as this.
        Chance = "chance",
        /// Outside both.
        Outside = "outside",
        /// Nothing was counted.
        NoData = "no_data",
    }
);

row! {
    /// A repeat about to start.
    #[derive(Clone, Debug, PartialEq)]
    pub struct NewRepeat {
        pub cell: CellId = "cell_id",
        /// The number of the repeat, from 1. Measuring the same ordinal again is a new attempt; the
        /// earlier ones stay in the file.
        pub ordinal: u32,
        /// The server's option file, where it is mydyno's.
        pub my_cnf: Option<String> as Redacted,
        /// What the inputs of its transactions derive from: drawn by each `run`, `ramp` and `demo`
        /// unless `--seed` names it; in a lab one for each repeat, the same in all cells, whenever
        /// it is measured; each point of a ramp has one of its own. `None` where it was not
        /// driven.
        pub seed: Option<u64> as Bits,
        /// Threads of the driver that carried the connections; `None` where it was not
        /// driven.
        pub driver_threads: Option<u32>,
        /// The CPUs that its servers were kept to (`cores` of the cell), as their kernel tells:
        /// `0-3,8`; `None` where they were kept to none.
        pub server_cpus: Option<String>,
        /// The CPUs that mydyno was kept to meanwhile: those that its servers did not have or,
        /// where they had all, all.
        pub driver_cpus: Option<String>,
        /// How many times slower than real clocks those of the server and of the driver ran: all
        /// durations and rates are in their time; 1 is real time.
        pub dilation: f64,
        /// Bytes of the tables and indexes of its database before the run, of all schemas; `None`
        /// where the server did not tell.
        pub data_bytes: Option<u64>,
    }

    /// A repeat as stored.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Repeat {
        pub id: RepeatId,
        pub cell: CellId = "cell_id",
        pub ordinal: u32,
        /// The number of the attempt, from 1; where a repeat was measured again, the highest one
        /// counts.
        pub attempt: u32,
        /// The block of the lab in which it was measured, see `block`; `None` outside labs: take
        /// `ordinal`.
        pub block: u32 as BlockOrOrdinal,
        /// `running`, `done`, `failed`, `skipped`.
        pub status: RepeatStatus,
        /// A word for programs, of a failed or skipped one: `lock_wait_timeout`, `server_died`,
        /// `load_failed`, `timed_out`, `check_failed`, `transaction_errors` (more than 1 % of the
        /// transactions of a type that ended in the window were errors, or connections paused for
        /// more than 1 % of it after errors), `mix_outside_chance` (the types of what ended are not
        /// the mix that was dealt, beyond chance), `not_checked` (the checks after a ramp could not
        /// be made), `disk_full` (no room for the server's files; its lab measures it again),
        /// `interrupted_process` (mydyno itself was killed), ...
        pub reason_code: Option<String>,
        /// The same for people.
        pub reason: Option<String>,
        pub started_utc_ns: i64,
        pub finished_utc_ns: Option<i64>,
        /// What was measured; a failed repeat has it only where it failed after its window.
        pub result: Option<RepeatResult> as Parts = "",
        pub my_cnf: Option<String>,
        /// The last lines of the server's error log, of a repeat that failed.
        pub log_tail: Option<String>,
        /// As [`NewRepeat::seed`].
        pub seed: Option<u64> as Bits,
        /// As [`NewRepeat::driver_threads`].
        pub driver_threads: Option<u32>,
        /// As [`NewRepeat::server_cpus`].
        pub server_cpus: Option<String>,
        /// As [`NewRepeat::driver_cpus`].
        pub driver_cpus: Option<String>,
        /// As [`NewRepeat::dilation`].
        pub dilation: f64,
        /// As [`NewRepeat::data_bytes`].
        pub data_bytes: Option<u64>,
    }
}

impl NewRepeat {
    /// One that is not driven.
    pub fn not_driven(cell: CellId, ordinal: u32) -> NewRepeat {
        NewRepeat {
            cell,
            ordinal,
            my_cnf: None,
            seed: None,
            driver_threads: None,
            server_cpus: None,
            driver_cpus: None,
            dilation: 1.0,
            data_bytes: None,
        }
    }
}

/// A block; where it is NULL, the ordinal.
struct BlockOrOrdinal;

impl StoredAs<u32> for BlockOrOrdinal {
    fn put<'a>(
        column: Cow<'static, str>,
        value: &'a u32,
        into: &mut Columns<'a>,
    ) -> rusqlite::Result<()> {
        into.add(column, (*value).into());
        Ok(())
    }

    fn get(row: &Row<'_>, column: &str) -> rusqlite::Result<u32> {
        let block: Option<u32> = row.get(column)?;
        block.map_or_else(|| row.get("ordinal"), Ok)
    }
}

impl Repeat {
    /// Length of the warm-up before the window, which begins so long after the start of the run.
    pub fn warmup_ns(&self, cell: &NewCell) -> u64 {
        let measured = self.result.as_ref().and_then(|of| of.warmup_measured_ns);
        measured.unwrap_or(cell.warmup_ns)
    }

    /// Was it measured over its whole window?
    pub fn is_whole(&self) -> bool {
        let was_cut = self.result.as_ref().is_some_and(|result| result.interrupted);
        self.status == RepeatStatus::Done && !was_cut
    }

    /// The reason of a repeat that failed by itself; `None` where it was only interrupted or there
    /// was no room, which says nothing of its cell.
    pub fn own_failure(&self) -> Option<&str> {
        let code = self.reason_code.as_deref();
        code.filter(|code| !["interrupted", "interrupted_process", DISK_FULL].contains(code))
    }
}

row! {
    /// What one finished measurement counted besides its intervals.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct RepeatResult {
        pub window_started_utc_ns: i64,
        pub window_ended_utc_ns: i64,
        /// Length of the warm-up as it was: the window begins so long after the start of the run;
        /// `None` without a result.
        pub warmup_measured_ns: Option<u64>,
        /// Whether the server was steady when an automatic warm-up ended; `None` for other
        /// warm-ups.
        pub warmup_steady: Option<bool>,
        /// Length of the window by the monotonic clock; what rates are computed from.
        pub measured_window_ns: u64,
        /// What an automatic window reached of `precision_share`; `None` for other windows, and
        /// where the window was too short to tell.
        pub window_precision_share: Option<f64>,
        /// Whether the user ended the window early.
        pub interrupted: bool,
        /// User and system time of mydyno over the window.
        pub client_cpu_ns: u64,
        /// Largest memory of mydyno.
        pub client_peak_rss_bytes: Option<u64>,
        /// Statements that were sent over the window.
        pub statements: u64,
        /// New orders that the driver saw committed over the whole run, warm-up and drain included;
        /// `None` where the workload has no new orders, as `in_doubt_new_orders`.
        pub committed_new_orders: Option<u64>,
        /// New orders of the whole run whose connection was lost before COMMIT was answered.
        pub in_doubt_new_orders: Option<u64>,
        /// Sum of `d_next_o_id` before the run.
        pub district_next_o_id_sum_before: Option<i64>,
        /// The same after it; the rise is the number of new orders in the database.
        pub district_next_o_id_sum_after: Option<i64>,
        /// Connections made again after a loss, over the whole run.
        pub reconnects: u64,
        /// Transactions of all types per second that a closed loop did before, in its later half,
        /// where the rate is a share of that.
        pub capacity_per_s: Option<f64>,
        /// Half the width of the 95 % interval of that, as a share of it; `None` where the loop was
        /// too short to tell.
        pub capacity_precision_share: Option<f64>,
        /// Transactions of all types per second of the schedule of an open loop.
        pub rate_per_s: Option<f64>,
        /// New orders per minute that the terminals would do if they waited for nothing but their
        /// users.
        pub ceiling_nopm: Option<f64>,
        /// Its standard deviation in a window of this length.
        pub ceiling_deviation_nopm: Option<f64>,
        /// New orders that began and ended in the window (clause 5.4.2), of workload `tpcc-spec`;
        /// `None` for others.
        pub new_orders_within_window: Option<u64>,
        /// Deliveries that were queued or under way at the end of the window, of workload
        /// `tpcc-spec`; `None` for others.
        pub pending_deliveries: Option<u64>,
        /// `new_orders_within_window` per minute / (12.86 x active warehouses); 0 to 1 and a
        /// little; `None` where there are not ten terminals for each.
        pub efficiency: Option<f64>,
    }
}

/// [`RepeatFailure::reason_code`] where the server's files had no room.
pub const DISK_FULL: &str = "disk_full";

row! {
    /// Why a repeat has no result.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct RepeatFailure {
        /// A word for programs: `lock_wait_timeout`, `server_died`, `load_failed`, `timed_out`,
        /// `check_failed`, ...
        pub reason_code: String,
        /// A sentence for people.
        pub reason: String as Redacted,
        /// The last lines of the server's error log.
        pub log_tail: Option<String> as Redacted,
    }

    /// One transaction type in one interval.
    #[derive(Clone, Debug)]
    pub struct IntervalRow {
        /// `warmup`, `window` or `drain` (after the window, until the last transaction ended).
        pub phase: Phase,
        /// From the start of the run (the first warm-up transaction).
        pub start_offset_ns: u64,
        pub end_offset_ns: u64,
        /// The type of the transactions, as in `cell_transaction`.
        pub transaction: String = "transaction_type",
        pub committed: u64,
        /// Deliberate rollbacks (clause 2.4.1.4).
        pub rolled_back: u64,
        /// Tries that ended in a deadlock and were made again.
        pub deadlocks: u64,
        /// Tries that ended in a lock wait timeout and were made again.
        pub lock_wait_timeouts: u64,
        /// Tries made again for any other cause.
        pub other_retries: u64,
        /// Transactions given up.
        pub errors: u64,
        /// The same response times as HdrHistogram V2, deflated (any HdrHistogram library reads it;
        /// not base64); `None` where there is none.
        pub latency: Histogram<u64> as Encoded = "latency_histogram_ns",
        /// Exact sum of the response times of committed and rolled back transactions, retries
        /// included: from the begin of the first try; of an open loop from the intended start; of
        /// terminals from the submission, that of a delivery until its deferred end.
        pub latency_sum_ns: u64,
        /// Exact maximum of the same.
        pub latency_max_ns: u64,
        /// Response times above the histogram's bound: in sum and maximum, not in the histogram.
        pub latency_out_of_bounds: u64,
    }

    /// Failed tries of one transaction type by error, over the whole run.
    #[derive(Clone, Debug, PartialEq)]
    pub struct StoredFailure {
        pub transaction: String = "transaction_type",
        /// The server's number (`1213`), or `lost` for a lost connection.
        pub error_code: String,
        pub occurrences: u64,
        pub first_message: String as Redacted,
    }

    /// A clause-5 counter of the inputs that were generated, with the band that the clause allows.
    #[derive(Clone, Debug, PartialEq)]
    pub struct InputCounter {
        /// The name, for programs.
        pub name: String,
        /// The title, for people: `remote order lines`.
        pub title: String,
        /// `share` (0 to 1) or `average`.
        pub unit: CounterUnit,
        pub hits: u64,
        pub trials: u64,
        /// Hits / trials; `None` where there were no trials.
        pub value: Option<f64>,
        /// The band that the clause allows; `None` is open.
        pub allowed: StoredBand as Parts,
        /// Where a right generator lands with 99.9 % probability in a run of so many trials.
        pub chance: StoredBand as Parts,
        /// `within` the allowed band, `chance` (outside it, and the run is too short to tell),
        /// `outside` both, `no_data`.
        pub verdict: Verdict,
    }

    /// A range; a missing end is open.
    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    pub struct StoredBand {
        pub low: Option<f64>,
        pub high: Option<f64>,
    }
}

impl StoredBand {
    /// Open on neither side.
    pub fn between(range: RangeInclusive<f64>) -> StoredBand {
        let (low, high) = range.into_inner();
        StoredBand { low: Some(low), high: Some(high) }
    }

    /// Does `value` lie inside?
    pub fn contains(self, value: f64) -> bool {
        self.low.is_none_or(|low| value >= low) && self.high.is_none_or(|high| value <= high)
    }
}

impl Verdict {
    /// The verdict on a counter's value.
    pub fn of(value: Option<f64>, allowed: StoredBand, chance: StoredBand) -> Verdict {
        match value {
            None => Verdict::NoData,
            Some(value) if allowed.contains(value) => Verdict::Within,
            Some(value) if chance.contains(value) => Verdict::Chance,
            Some(_) => Verdict::Outside,
        }
    }
}
