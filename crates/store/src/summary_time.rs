//! The part of the summary that tells where the response time of each transaction type goes.

use crate::document::object;
use crate::rows::{Repeat, RepeatStatus, StoredStatementTime, TransactionTime};
use crate::{Results, StoreResult};
use std::collections::BTreeMap;

object! {
    /// What the transactions of one type spent time on; the shares of a type add up to 1.
    pub struct TimeSpent {
        /// A statement by what it does (`lock_stock`, `commit`, ...; see `statement_kind` in the
        /// [results file](results-file.md)), or `queued` (waiting for a connection), `paused`
        /// (pauses between tries) or `driver` (the driver's own time between statements).
        pub what: String,
        /// Executions per completed transaction, those of failed tries included; 1 for what is no
        /// statement.
        pub per_transaction: f64,
        /// Of one execution; exact.
        pub mean_us: f64,
        /// Of statements, the maximum exact and percentiles to two digits; else `None`.
        pub p95_us: Option<f64>,
        pub p99_us: Option<f64>,
        pub max_us: Option<f64>,
        /// Of the response time of the type, 0 to 1; the shares of a type add up to 1. With styles
        /// `pipelined` and `batched` the first of the statements that were sent together has nearly
        /// all of their time.
        pub share: f64,
    }
}

/// Waiting for a connection: since the intended start of an open loop or the submission by a
/// terminal.
pub const QUEUED: &str = "queued";
/// Pauses of the driver before a new try.
pub const PAUSED: &str = "paused";
/// The driver's own time between statements.
pub const DRIVER: &str = "driver";

impl TimeSpent {
    /// Is it a kind of statement?
    pub fn is_statement(&self) -> bool {
        self.max_us.is_some()
    }
}

/// By transaction type: statements, those with most of the time first, and then what is none.
pub type TimesSpent = BTreeMap<String, Vec<TimeSpent>>;

impl Results {
    /// Where the response time of each transaction type went; empty where it was not measured or
    /// the repeat has no result.
    pub fn times_spent(&self, repeat: &Repeat) -> StoreResult<TimesSpent> {
        let mut spent = TimesSpent::new();
        if repeat.status != RepeatStatus::Done {
            return Ok(spent);
        }
        let statements: Vec<StoredStatementTime> = self.get(repeat.id)?;
        for of in self.get::<TransactionTime>(repeat.id)? {
            if of.transactions > 0 {
                let own = statements.iter().filter(|s| s.transaction == of.transaction);
                spent.insert(of.transaction.clone(), spent_by(&of, own));
            }
        }
        Ok(spent)
    }
}

fn spent_by<'a>(
    of: &TransactionTime,
    statements: impl Iterator<Item = &'a StoredStatementTime>,
) -> Vec<TimeSpent> {
    let count = of.transactions as f64;
    let response_ns = of.response_ns.max(1) as f64;
    let mut driver_ns = of.response_ns;
    let no_statement = |what: &str, ns: u64| TimeSpent {
        what: what.to_owned(),
        per_transaction: 1.0,
        mean_us: ns as f64 / count / 1e3,
        p95_us: None,
        p99_us: None,
        max_us: None,
        share: ns as f64 / response_ns,
    };
    let mut rows = Vec::new();
    for statement in statements {
        let times = &statement.times;
        driver_ns = driver_ns.saturating_sub(times.sum_ns);
        let us = |ns: Option<u64>| ns.map(|ns| ns as f64 / 1e3);
        rows.push(TimeSpent {
            per_transaction: statement.executions() as f64 / count,
            mean_us: times.mean_ns().unwrap_or_default() / 1e3,
            p95_us: us(times.quantile_ns(0.95)),
            p99_us: us(times.quantile_ns(0.99)),
            max_us: us(times.max_ns()),
            ..no_statement(&statement.kind, times.sum_ns)
        });
    }
    driver_ns = driver_ns.saturating_sub(of.queued_ns + of.paused_ns);
    let others = [(QUEUED, of.queued_ns), (PAUSED, of.paused_ns), (DRIVER, driver_ns)];
    rows.extend(others.map(|(what, ns)| no_statement(what, ns)));
    rows
}
