//! One count of connections that a ramp measured, read from the results file.

use crate::ramp::ramp_cpu::RampCpu;
use crate::run::remarks::remarks;
use crate::run::repeat_resources::used_by;
use crate::run::runs::{Run, Runs, percentile_noise_share};
use crate::run::samples::{ReadRepeat, Samples};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use store::{
    MetricSource, Repeat, Results, StoreResult, StoredCell, ThroughputMetric, WindowTotals,
};

/// Of a count that was measured, and did nothing.
const NO_NEW_ORDERS: &str = "no_new_orders";
const NO_TRANSACTIONS: &str = "no_transactions";
/// Of fewer transactions the 90th percentile rests on the slowest three at most: it may double by
/// chance.
const KINK_TRANSACTIONS_MIN: u64 = 30;

/// One measurement of a ramp; without numbers where it failed.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RampPoint {
    pub cell_id: i64,
    /// Of its cell in the lab.
    pub cell: u32,
    pub repeat: u32,
    pub repeat_id: i64,
    pub connections: u32,
    pub nopm: Option<f64>,
    pub nopm_half_width: Option<f64>,
    /// How far chance moves `nopm`: its standard error, by itself; `None` where that is not known.
    #[serde(skip)]
    pub nopm_noise_share: Option<f64>,
    pub new_order_p95_us: Option<f64>,
    /// Of the same transactions, which are those that people look at first.
    #[serde(skip)]
    pub primary_p90_us: Option<f64>,
    /// By transaction type.
    pub p90_us: BTreeMap<String, f64>,
    /// How far chance moves each of these, as [`RampPoint::nopm_noise_share`], where that is known.
    #[serde(skip)]
    pub p90_noise_share: BTreeMap<String, f64>,
    /// As [`crate::RunDocument::remarks`].
    pub remarks: Vec<String>,
    /// Types that were too few for their 90th percentile to tell a kink from noise.
    #[serde(skip)]
    pub rare: BTreeSet<String>,
    /// `None` is not known.
    pub cpu: Option<RampCpu>,
    /// Of all tries of transactions, those that were made again; `None` where there were none.
    pub retries_share: Option<f64>,
    /// Why it ends its ramp, where it does: it gave no result.
    pub reason_code: Option<String>,
    pub reason: Option<String>,
}

/// A stored measurement as a point; `None` where it was interrupted, so that it says nothing.
///
/// # Errors
/// The file cannot be read.
pub fn ramp_point(results: &Results, repeat: &Repeat) -> StoreResult<Option<RampPoint>> {
    let cell = results.cell(repeat.cell)?;
    let failed = repeat.own_failure().is_some();
    let mut point = RampPoint {
        cell_id: cell.id.0,
        cell: cell.what.ordinal,
        repeat: repeat.ordinal,
        repeat_id: repeat.id.0,
        connections: cell.what.connections,
        reason_code: repeat.reason_code.clone().filter(|_| failed),
        reason: repeat.reason.clone().filter(|_| failed),
        ..RampPoint::default()
    };
    if failed {
        return Ok(Some(point));
    }
    if !repeat.is_whole() {
        return Ok(None);
    }
    point.measure(results, repeat, &cell)?;
    Ok(Some(point))
}

impl RampPoint {
    /// Has it a result?
    pub fn is_good(&self) -> bool {
        self.reason_code.is_none()
    }

    /// The numbers of a whole window.
    fn measure(
        &mut self,
        results: &Results,
        repeat: &Repeat,
        cell: &StoredCell,
    ) -> StoreResult<()> {
        let run: Vec<Run> = Run::read(results, repeat.id)?.into_iter().collect();
        let run = Runs::of(&self.connections.to_string(), &run);
        if run.nopm.mean.is_none_or(|nopm| nopm <= 0.0) {
            let metric = cell.what.throughput_metric;
            let code = match metric {
                ThroughputMetric::Nopm => NO_NEW_ORDERS,
                ThroughputMetric::Tpm => NO_TRANSACTIONS,
            };
            self.reason_code = Some(code.to_owned());
            self.reason =
                Some(format!("no {} ended in the window; take a longer one", metric.transaction()));
            return Ok(());
        }
        self.nopm = run.nopm.mean;
        self.nopm_half_width = run.nopm.half_width();
        self.nopm_noise_share = run.nopm.estimate.map(|of| of.standard_error / of.mean);
        self.new_order_p95_us = run.new_order_p95_us.mean;
        let window = results.window_totals(repeat.id)?;
        self.primary_p90_us = window.primary().quantile_ns(0.9).map(|ns| ns as f64 / 1e3);
        for (transaction, totals) in window.iter() {
            let transaction = &transaction.name;
            if totals.completed() < KINK_TRANSACTIONS_MIN {
                self.rare.insert(transaction.clone());
            }
            if let Some(ns) = totals.quantile_ns(0.9) {
                self.p90_us.insert(transaction.clone(), ns as f64 / 1e3);
                let noise = percentile_noise_share(results, repeat.id, transaction, totals, 0.9)?;
                self.p90_noise_share.extend(noise.map(|noise| (transaction.clone(), noise)));
            }
        }
        self.retries_share = retries_share(&window);
        let of_window = results.window_summary(repeat, &cell.what, &window)?;
        self.remarks = remarks(&of_window, &cell.what);
        let samples = Samples::read(results, repeat.id)?;
        let of = ReadRepeat { results, repeat, cell, totals: &window, samples: &samples };
        let whole = of.window().map(|whole| samples.within(whole));
        let spin_cores = whole.and_then(|of| of.mean_s(MetricSource::Shim, "spin_ns", ""));
        self.cpu = used_by(of)?.and_then(|used| RampCpu::of(&used, spin_cores.unwrap_or(0.0)));
        Ok(())
    }

    /// The 90th percentile of a type.
    pub fn p90_us_of(&self, transaction: &str) -> Option<f64> {
        self.p90_us.get(transaction).copied()
    }
}

/// Of all tries in a window, those that were made again; `None` where there were no tries.
fn retries_share(window: &WindowTotals) -> Option<f64> {
    let retries: u64 = window.iter().map(|(_, of)| of.retries()).sum();
    // Each transaction has one last try, whether it ended well or was given up.
    let tries = retries + window.iter().map(|(_, of)| of.completed() + of.errors).sum::<u64>();
    (tries > 0).then(|| retries as f64 / tries as f64)
}
