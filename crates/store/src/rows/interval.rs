//! What a run did in time: its intervals, and where the time of transactions and connections went.

use crate::row::{Nested, row};
use crate::totals::{TimeTotals, WithCount};
use crate::values::word;

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

row! {
    /// One transaction type in one interval.
    #[derive(Clone, Debug)]
    pub struct IntervalRow in "interval" by "start_offset_ns, id" {
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
        /// Exact sum of the response times of committed and rolled back transactions, retries
        /// included: from the begin of the first try; of an open loop from the intended start; of
        /// terminals from the submission, that of a delivery until its deferred end.
        pub latency: TimeTotals as Nested,
    }

    /// How an open loop kept its schedule in one interval.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct ScheduleCounts in "interval_schedule" by "start_offset_ns" {
        /// Transactions whose intended start lies in the interval.
        pub offered: u64,
        /// Transactions that began in the interval, more than 1 ms after their intended start.
        pub late: u64,
        /// Transactions that never began: 100,000 waited already when they came, or the window
        /// ended before their turn. They count by their intended start, but what is found unstarted
        /// at the end of the window may count in its last interval.
        pub skipped: u64,
    }

    /// Times of one kind in one interval.
    #[derive(Clone, Debug)]
    pub struct TimeRow in "interval_time" by "id" {
        /// What the times are. Of an open loop: `lag` (from the intended start to the begin of the
        /// first try) and `service` (from there to the end of the last); of terminals: `keying`
        /// (measured, when it ends), `think` (drawn, when it begins) and `acknowledgement` (of a
        /// delivery: until it was queued).
        pub kind: TimeKind,
        /// The type of the transactions; `None` for all types together.
        pub transaction: Option<String> = "transaction_type",
        /// The exact sum.
        pub times: TimeTotals as WithCount = "occurrences",
    }

    /// The transactions of one type that the window counts.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub struct TransactionTime in "transaction_time" by "transaction_type" {
        /// As in `interval`.
        pub transaction: String = "transaction_type",
        /// Transactions that were committed or deliberately rolled back.
        pub transactions: u64,
        /// The sum of their response times, as `latency_sum_ns`.
        pub response_ns: u64 = "response_sum_ns",
        /// The part of it before the first try: since the intended start of an open loop or the
        /// submission by a terminal.
        pub queued_ns: u64 = "queued_sum_ns",
        /// The part of it that is pauses of the driver before a new try.
        pub paused_ns: u64 = "paused_sum_ns",
    }

    /// One kind of statement of the same transactions, those of all tries together.
    #[derive(Clone, Debug)]
    pub struct StoredStatementTime
        in "statement_time" by "transaction_type, sum_ns DESC, statement_kind"
    {
        /// As in `interval`.
        pub transaction: String = "transaction_type",
        /// `commit`, `rollback`, or what a prepared statement does: `order_district`,
        /// `update_stock`, ...; of style `procedures` the CALL, `call_new_order`, ...
        pub kind: String = "statement_kind",
        /// The exact sum of the times from sending a statement to its whole answer; where
        /// statements travel together (styles `pipelined` and `batched`) of the times spent waiting
        /// for the answer, so that the first of those sent together has nearly all of their time.
        pub times: TimeTotals as WithCount = "executions",
    }

    /// Transactions of one type that were in flight at the end of the window.
    #[derive(Clone, Debug)]
    pub struct InFlight in "in_flight" by "transaction_type" {
        /// As in `interval`.
        pub transaction: String = "transaction_type",
        /// Their ages at the end of the window: from the begin of the first try, the submission or
        /// the intended start. A transaction of an open loop that had not begun by then was of no
        /// type yet, and counts for the types by their shares.
        pub ages: TimeTotals as WithCount = "transactions",
    }

    /// Where the connections were in the window: times of all together.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct StoredConnectionTime in "connection_time" by "repeat_id" {
        /// In transactions, from the begin of the first try on; of those that began before the
        /// window or ended after it, what lies in it.
        pub in_transactions_ns: u64,
        /// Between transactions: waiting for one to come, or drawing its input.
        pub idle_ns: u64,
        /// Pausing after transactions that were given up.
        pub error_pauses_ns: u64,
        /// Lost, and being opened again. With the others it is the window for each connection.
        pub lost_ns: u64,
    }

    /// A time in which transactions were in flight, or failed, and none ended well, of more than
    /// 1 s (0.1 s with failures) and ten median response times. It lies in the window at least in
    /// part.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct StoredSilence in "silence" by "ordinal" {
        /// From the start of the run; it may begin before the window.
        pub start_offset_ns: u64,
        /// May be after the window.
        pub end_offset_ns: u64,
        /// Transactions that were in flight, those in a queue included.
        pub in_flight: u64,
        /// Transactions that were given up in it, and tries to open connections again that failed.
        pub failures: u64,
        /// A transaction that ended well ended it, not the end of the run.
        pub is_over: bool,
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

impl StoredStatementTime {
    /// Statements of this kind that were answered, by an error too.
    pub fn executions(&self) -> u64 {
        self.times.count()
    }
}
