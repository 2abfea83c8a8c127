//! What the samples and the driver's own times tell of a window's transactions.

use crate::account::bound::{Evidence, HostCpu, Offered, bound};
use crate::account::load::WindowLoad;
use crate::account::{BlockedTime, GroupCommit, KnownBy, Observed, Sessions};
use crate::run::remarks::silent_share;
use crate::run::resources::{HostMachine, LOGS, OtherWait, Resources};
use crate::run::samples::{OfWindow, ReadRepeat, SESSION_WAITS};
use base::WaitCause;
use itertools::Itertools;
use store::MetricSource::{self, Process, Server, Shim};
use store::{Rates, StoreResult, StoredStatementTime};
use store::{TimeKind, TransactionTime, WindowTotals};

const COMMIT: &str = "commit";
/// From here on an account whose parts are more than the whole is no evidence.
const EXCESS_MAX: f64 = 0.15;

/// What the driver's times of statements tell, in the mean of a transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct AtDriver {
    service_s: f64,
    queued_s: f64,
    /// With the driver: pauses, and its own time.
    driver_s: f64,
    /// In waits at COMMIT; `None` where it is not a statement of its own.
    committing_s: Option<f64>,
}

impl AtDriver {
    fn of(
        transactions: &[TransactionTime],
        statements: &[StoredStatementTime],
        totals: &WindowTotals,
    ) -> Option<AtDriver> {
        let count: u64 = transactions.iter().map(|of| of.transactions).sum();
        if count == 0 || statements.is_empty() {
            return None;
        }
        let each = |ns: u64| ns as f64 / 1e9 / count as f64;
        let sum = |ns: fn(&TransactionTime) -> u64| transactions.iter().map(ns).sum::<u64>();
        let queued_s = each(sum(|of| of.queued_ns));
        let service_s = each(sum(|of| of.response_ns)) - queued_s;
        let in_statements = statements.iter().map(|of| of.times.sum_ns);
        Some(AtDriver {
            service_s,
            queued_s,
            driver_s: (service_s - each(in_statements.sum())).max(0.0),
            committing_s: committing_ns(statements, totals).map(|ns| ns / 1e9 / count as f64),
        })
    }
}

/// Time in waits at COMMIT. One that has changed nothing waits for no log: what it takes is the
/// round trip and the server's work, and the others take so much beside their waits.
fn committing_ns(statements: &[StoredStatementTime], totals: &WindowTotals) -> Option<f64> {
    let commits = || statements.iter().filter(|of| of.kind == COMMIT);
    let sum = |of: &dyn Fn(&StoredStatementTime) -> f64| commits().map(of).sum::<f64>();
    let only_read =
        |of: &StoredStatementTime| f64::from(u8::from(!totals.changes_rows(&of.transaction)));
    let reading = sum(&|of| only_read(of) * of.executions() as f64);
    let reading_ns = sum(&|of| only_read(of) * of.times.sum_ns as f64);
    let all = sum(&|of| of.executions() as f64);
    let all_ns = sum(&|of| of.times.sum_ns as f64);
    let floor_ns = if reading > 0.0 { reading_ns / reading } else { 0.0 };
    (all > 0.0).then(|| (all_ns - floor_ns * all).max(0.0))
}

impl OfWindow<'_> {
    /// What was seen of the transactions. `None` of terminals of which the driver has counted
    /// nothing: their response times have waits for a connection in them.
    pub(crate) fn observed(
        &self,
        of: ReadRepeat<'_>,
        load: WindowLoad,
        resources: &Resources,
    ) -> StoreResult<Option<Observed>> {
        let ReadRepeat { results, repeat, cell, totals, .. } = of;
        let at_driver = AtDriver::of(&results.get(repeat.id)?, &results.get(repeat.id)?, totals);
        if at_driver.is_none() && cell.what.terminals.is_some() {
            return Ok(None);
        }
        let amount = |s: f64| s * load.ended_per_s;
        Ok(Some(Observed {
            under_way: match at_driver {
                Some(of) if !load.is_of_window => amount(of.service_s),
                _ => load.in_transactions_mean,
            },
            ended_per_s: load.ended_per_s,
            queued: at_driver.map(|of| amount(of.queued_s)),
            sessions: self.by_performance_schema().or_else(|| self.by_shim()),
            row_locks: resources.server.row_lock_waiting_mean,
            at_driver: at_driver.map(|of| amount(of.driver_s)),
            committing: at_driver.and_then(|of| of.committing_s).map(amount),
            group_commit: self.group_commit(of, load),
            server_cores: resources.server_process.cpu_cores_used,
            server_run_wait: self.mean_s(Process, "run_wait_ns", "server"),
            reading: self.reading(),
        }))
    }

    /// What the server's threads that serve clients did; `None` where they are not known.
    fn by_shim(&self) -> Option<Sessions> {
        let of_all = |name: &str| self.mean_s(Shim, name, "");
        let of_threads = |name: &str| self.mean_s(Process, name, "server");
        let written = |role: &str| {
            let writes = self.mean_s(Shim, "session_write_ns", role)?;
            Some(writes + self.mean_s(Shim, "session_flush_ns", role)?)
        };
        let log = LOGS.iter().map(|role| written(role)).sum::<Option<f64>>()?;
        let roles = self.samples.labels(Shim, "session_write_ns");
        let all_written = roles.map(written).sum::<Option<f64>>()?;
        Some(Sessions {
            known_by: KnownBy::Sessions,
            active: of_all("session_active_ns")?,
            // To spin before a due time is to wait, and counted as that.
            running: (of_threads("session_cpu_ns")? - of_all("session_spin_ns")?).max(0.0),
            core_wait: of_threads("session_run_wait_ns")?,
            reads: self.total(Shim, "session_read_ns")? / 1e9,
            log,
            page_writes: all_written - log,
            asleep: of_all("session_sleep_ns")?,
            waits: self.waits(),
        })
    }

    /// The same of the threads that serve the driver, as the server's own instruments tell it. Of a
    /// server on another machine nobody knows the CPU time.
    fn by_performance_schema(&self) -> Option<Sessions> {
        let of_threads = |name: &str| self.mean_s(Process, name, "driven").unwrap_or(0.0);
        let mut waits = self.waits_told_by(Server);
        waits.all = waits.by_cause.iter().sum::<f64>() + waits.other;
        Some(Sessions {
            known_by: KnownBy::PerformanceSchema,
            active: self.mean_s(Server, "session_active_ns", "")?,
            running: of_threads("session_cpu_ns"),
            core_wait: of_threads("session_run_wait_ns"),
            waits: Some(waits),
            ..Sessions::default()
        })
    }

    /// What they waited for in other threads; `None` where the shim did not tell.
    fn waits(&self) -> Option<BlockedTime> {
        let all = self.mean_s(Shim, "session_sleep_ns", "")?
            + self.mean_s(Shim, "session_blocked_ns", "")?;
        Some(BlockedTime { all, ..self.waits_told_by(Shim) })
    }

    /// What they waited for, by what it is for.
    fn waits_told_by(&self, source: MetricSource) -> BlockedTime {
        let mut waits = BlockedTime::default();
        for label in self.samples.labels(source, SESSION_WAITS) {
            let amount = self.mean_s(source, SESSION_WAITS, label).unwrap_or(0.0);
            match cause_of(label) {
                Some(cause) => waits.by_cause[cause as usize] += amount,
                None => waits.other += amount,
            }
        }
        waits
    }

    /// Those of them that no cause is known of, the longest first.
    fn other_waits(&self, load: WindowLoad) -> Vec<OtherWait> {
        let of = |source: MetricSource| {
            let labels = self.samples.labels(source, SESSION_WAITS);
            let others = labels.filter(|label| cause_of(label).is_none());
            others.filter_map(move |label| {
                let amount = self.mean_s(source, SESSION_WAITS, label).filter(|of| *of > 0.0)?;
                let time_us = amount / load.ended_per_s * 1e6;
                Some(OtherWait { name: label.to_owned(), time_us })
            })
        };
        let all = of(Shim).chain(of(Server));
        all.sorted_by(|a, b| b.time_us.total_cmp(&a.time_us)).collect()
    }

    /// Transactions that wait at COMMIT, by how often and for how long the logs were flushed.
    fn group_commit(&self, of: ReadRepeat<'_>, load: WindowLoad) -> Option<f64> {
        let totals = of.totals;
        let changing = totals.iter().filter(|(of, _)| of.changes_rows());
        let changing: u64 = changing.map(|(_, totals)| totals.completed()).sum();
        let changing = changing as f64 / totals.completed() as f64;
        let waiting = |role: &&str| {
            let ns = |name: &str| self.mean(Shim, name, role);
            let flushes_per_s = ns("flushes")?;
            let log_ns = ns("flush_response_ns")? + ns("write_response_ns")?;
            let group = GroupCommit {
                flushes_per_s,
                flush_s: log_ns / 1e9 / flushes_per_s,
                commits_per_s: changing * load.ended_per_s,
                group_max: f64::from(of.cell.what.connections),
            };
            Some(if flushes_per_s > 0.0 { group.waiting() } else { 0.0 })
        };
        LOGS.iter().map(waiting).sum()
    }

    /// Reads of data that were outstanding, by who can tell best.
    fn reading(&self) -> Option<f64> {
        let by_server = || self.mean(Server, "data_pending_reads", "");
        self.mean_s(Shim, "read_response_ns", "data").or_else(by_server)
    }

    /// Takes the account of the window, and reads from it what bound it.
    pub(crate) fn judge(
        &self,
        of: ReadRepeat<'_>,
        load: WindowLoad,
        resources: &mut Resources,
    ) -> StoreResult<()> {
        let observed = self.observed(of, load, resources)?;
        resources.account = observed.and_then(|seen| seen.account());
        if resources.account.is_some() {
            resources.other_waits = self.other_waits(load);
        }
        let ReadRepeat { results, repeat, cell, totals, .. } = of;
        let window = results.window_summary(repeat, &cell.what, totals)?;
        let evidence = Evidence {
            account: resources.account.filter(|account| account.excess_share <= EXCESS_MAX),
            offered: offered(of)?,
            cpu: host_cpu(resources),
            driver_threads: &self.driver_threads(),
            silent_share: silent_share(&window),
        };
        resources.bound = bound(&evidence);
        Ok(())
    }
}

/// What waits with that label are for; `None` where it is a place in the server.
fn cause_of(label: &str) -> Option<WaitCause> {
    WaitCause::ALL.into_iter().find(|cause| match cause {
        // One without a name may have its place behind that word.
        WaitCause::Unnamed => label.starts_with(cause.name()),
        _ => label == cause.name(),
    })
}

fn host_cpu(resources: &Resources) -> Option<HostCpu> {
    let (cores, cpu) = resources.cores();
    let own = resources.server_cores;
    let is_here = resources.host.machine == Some(HostMachine::Driver);
    let is_drivers = own.map_or(is_here, |own| own.is_drivers);
    let driver = if is_drivers { resources.driver.cpu_cores_used } else { Some(0.0) };
    let used = resources.server_process.cpu_cores_used.zip(driver);
    let used = used.filter(|_| is_here || own.is_some());
    Some(HostCpu {
        busy_share: cpu.busy()?,
        steal_share: cpu.steal.unwrap_or(0.0),
        own_share: used.zip(cores).map(|((server, driver), cores)| (server + driver) / cores),
        is_drivers,
        server_cores: own.map(|own| own.cores),
    })
}

/// What the schedule or the terminals asked for.
fn offered(of: ReadRepeat<'_>) -> StoreResult<Option<Offered>> {
    let ReadRepeat { results, repeat, totals, .. } = of;
    if let Some(counts) = results.window_schedule(repeat.id)? {
        let times = results.window_times(repeat.id)?;
        let mean_us = |kind: TimeKind| Some(times.get(&(kind, String::new()))?.mean_ns()? / 1e3);
        let lag_and_service = mean_us(TimeKind::Lag).zip(mean_us(TimeKind::Service));
        return Ok(lag_and_service.map(|(lag_us, service_us)| Offered::Schedule {
            offered: counts.offered,
            ended: totals.completed(),
            lag_us,
            service_us,
        }));
    }
    let result = repeat.result.as_ref();
    let ceiling = result.and_then(|result| result.ceiling_nopm);
    let nopm = Rates::of(repeat, totals).nopm;
    Ok(nopm.zip(ceiling).map(|(nopm, ceiling_nopm)| Offered::Terminals {
        nopm,
        ceiling_nopm,
        deviation_nopm: result.and_then(|result| result.ceiling_deviation_nopm).unwrap_or(0.0),
    }))
}

#[cfg(test)]
mod tests;
