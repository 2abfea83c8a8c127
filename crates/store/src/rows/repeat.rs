//! Repeats, what came of them, and who took part.

use super::NewCell;
use crate::document::{microseconds, seconds};
use crate::row::{Bits, Nested, Redacted, row};
use crate::values::{CellId, RepeatId, word};
use serde::Serialize;

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
    /// When server variables were read.
    Moment {
        /// Before the window.
        Start = "start",
        /// After the window.
        End = "end",
    }
);

row! {
    /// A repeat about to start.
    #[derive(Clone, Debug, Default, PartialEq)]
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
        /// The block of the lab in which it was measured, see `block`; `ordinal` where the lab has
        /// none.
        pub block: u32,
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
        pub result: Option<RepeatResult> as Nested = "",
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

    /// What else the host did in the moment before a repeat.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct HostBefore in "host_before" by "repeat_id" {
        /// Share of all cores that processes other than mydyno and its servers used.
        pub others_cpu_share: f64,
        /// Share of all cores that the hypervisor gave to other guests.
        pub steal_share: f64,
        /// Bytes that all disks read and wrote.
        pub disk_bytes_per_s: f64,
    }

    /// A rank of a fleet in one repeat.
    #[derive(Clone, Debug, Default, PartialEq, Serialize)]
    pub struct StoredRank in "fleet_rank" by "rank" {
        /// The number of the rank, from 0, which leads.
        pub rank: u32,
        /// The name of its machine.
        pub host: String,
        /// Threads that carried its connections.
        pub driver_threads: u32,
        /// CPU time of its process over the window.
        #[serde(rename = "client_cpu_s", serialize_with = "seconds")]
        pub client_cpu_ns: u64,
        /// Time in the window that its driver's threads were ready to run while no core was free,
        /// all together.
        #[serde(rename = "run_wait_s", serialize_with = "seconds")]
        pub run_wait_ns: u64,
        /// What its machine received and sent in the window, without loopback.
        pub network_bytes: u64,
        /// How far its clock may be from that of rank 0, after correction.
        #[serde(rename = "clock_error_us", serialize_with = "microseconds")]
        pub clock_error_ns: u64,
        /// Between the agreed start and the moment at which it began.
        #[serde(rename = "start_late_us", serialize_with = "microseconds")]
        pub start_late_ns: u64,
        /// New orders, or what else throughput counts, of its connections, in the window,
        /// deliberate rollbacks included.
        pub primary_transactions: u64,
        /// Why it was lost in the run; `None` where it was not.
        pub lost: Option<String>,
    }

    /// What one of several servers did that were driven together.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct InstanceResult in "instance_result" by "instance" {
        /// From 1.
        pub instance: u32,
        /// That ended well, deliberate rollbacks included; their sum is that of the intervals.
        pub primary_transactions: u64,
    }

    /// Reads from a replica in one repeat, those of the warm-up included.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct StoredReplica in "replica" by "node" {
        /// Among the servers of the repeat, from 1; the first is the primary.
        pub node: u32,
        /// Order-Statuses and Stock-Levels that it answered.
        pub reads: u64,
        /// Those of them that did not see an order which this driver had committed before.
        pub stale_reads: u64,
        /// The longest time between such a commit and the begin of the read; 0 without one.
        pub stale_max_ns: u64,
    }

    /// The end of a repeat's server by a fault, and what came of it.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct StoredDrill in "drill" by "repeat_id" {
        /// As `--fault` names it: `power-cut`, `io-error:redo`.
        pub fault: String,
        /// What the server did of a fault of its devices: `kept running`, `stopped` or `hung`;
        /// NULL where the fault was its end.
        pub reaction: Option<String>,
        /// Transactions that clients gave up.
        pub client_errors: Option<u64>,
        /// What its error log said until it was ended; NULL where nothing.
        pub said: Option<String>,
        /// Time from the start of the server until it took connections; NULL where it did not.
        pub recovery_ns: Option<u64>,
        /// What is damaged: why the server did not recover or could not read its data, which
        /// tables are corrupt, which checks do not hold; NULL where nothing is.
        pub damage: Option<String>,
        /// From the first acknowledgement of what was lost to the last of all; NULL where the
        /// database could not be asked.
        pub lost_span_ns: Option<u64>,
        /// Writes that the devices had not promised to keep; NULL where no power was cut.
        pub unstable_writes: Option<u64>,
        /// Of these, writes of which nothing is kept.
        pub lost_writes: Option<u64>,
        /// Of these, writes of which a part is kept.
        pub torn_writes: Option<u64>,
        /// Changes of names and lengths of files that are lost.
        pub lost_names: Option<u64>,
        /// Writes that count as kept because what they replaced was no longer known.
        pub forced_writes: Option<u64>,
        /// Pages of tablespaces that were not whole before the recovery, by their own checksums.
        pub torn_pages: Option<u64>,
        /// The same at the end: after a shutdown in good order, or as a server that did not recover
        /// left them; NULL where it did not shut down.
        pub corrupt_pages: Option<u64>,
    }

    /// Transactions of a drill, in rows.
    #[derive(Clone, Debug, Default, PartialEq, Serialize)]
    pub struct StoredWitness in "drill_witness" by "ordinal" {
        /// `new_order`, `payment` or `delivered_orders`.
        pub name: String,
        /// Rows of transactions that the server acknowledged.
        pub acknowledged: u64,
        /// Rows of transactions whose connection was lost while they were committed.
        pub in_doubt: u64,
        /// Acknowledged, and not there after the recovery.
        pub lost: u64,
        /// There, and neither acknowledged nor in doubt.
        pub unexplained: u64,
    }
}

impl NewRepeat {
    /// One that is not driven.
    pub fn not_driven(cell: CellId, ordinal: u32) -> NewRepeat {
        NewRepeat { cell, ordinal, dilation: 1.0, ..NewRepeat::default() }
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

/// [`RepeatFailure::reason_code`] where the server's files had no room.
pub const DISK_FULL: &str = "disk_full";
