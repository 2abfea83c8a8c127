//! A run that a fleet drives: what rank 0 tells the others, and what it stores of them.

use crate::error::{LabResult, unfit};
use crate::measure::pacing::Concurrency;
use base::{Dilation, counted};
use drive::{RunOptions, RunReport, WorkerPlace};
use fleet::{DividedWorkers, Leader, RankUsage};
use std::num::NonZeroU32;
use store::StoredRank;

/// The fleet that drives a run, as rank 0 has it.
#[derive(Clone, Copy)]
pub(crate) struct FleetRun<'a> {
    pub(crate) leader: &'a Leader,
    /// Driver threads of this rank, as if it were alone.
    threads: NonZeroU32,
    /// Connections, or terminals where these are fewer: each worker needs one.
    shares: u32,
}

impl<'a> FleetRun<'a> {
    /// A fleet for runs over so many connections and terminals; `threads` are those of this rank's
    /// driver, as if it were alone.
    ///
    /// # Errors
    /// Where a rank would have nothing to drive, or the server's time is dilated.
    pub(crate) fn of(
        leader: &'a Leader,
        concurrency: Concurrency,
        (threads, dilation): (u32, Dilation),
    ) -> LabResult<FleetRun<'a>> {
        require_real_time(dilation)?;
        let shares = concurrency.connections.min(concurrency.terminals.unwrap_or(u32::MAX));
        if shares < leader.size() {
            return Err(unfit(format!(
                "{} ranks cannot share {}: give each rank one connection at least",
                leader.size(),
                counted(shares as usize, "connection or terminal", "connections or terminals")
            )));
        }
        let threads = NonZeroU32::new(threads).unwrap_or(NonZeroU32::MIN);
        Ok(FleetRun { leader, threads, shares })
    }

    /// Driver threads of the ranks that are there by now.
    pub(crate) fn workers(&self) -> DividedWorkers {
        self.leader.divide(self.threads, self.shares)
    }

    /// What this rank drives of a run with these options.
    pub(crate) fn own_share(&self, options: RunOptions) -> RunOptions {
        let workers = self.workers();
        let place = WorkerPlace { first: 0, workers_of_all: workers.of_all() };
        RunOptions { workers: workers.own, place: Some(place), ..options }
    }

    /// All ranks, as they are stored; `usage` is what this one used, `report` that of all.
    pub(crate) fn rows(&self, report: &RunReport, usage: RankUsage) -> Vec<StoredRank> {
        let others = self.leader.outcomes();
        let of_others: u64 = others.iter().map(|rank| rank.primary_transactions).sum();
        let of_all = report.window.as_ref().map_or(0, |window| window.primary_completed());
        let mut own = StoredRank {
            host: rustix::system::uname().nodename().to_string_lossy().into_owned(),
            driver_threads: self.workers().own,
            primary_transactions: of_all.saturating_sub(of_others),
            ..StoredRank::default()
        };
        usage.tell(&mut own);
        std::iter::once(own).chain(others).collect()
    }
}

/// Refuses a server whose clocks are slower than those of the ranks.
pub(crate) fn require_real_time(dilation: Dilation) -> LabResult<()> {
    if dilation.is_none() {
        return Ok(());
    }
    Err(unfit(
        "a fleet drives in real time, and the time of this server is dilated: drive it from one \
         process, or start it without --dilate",
    ))
}

/// What is to be known of a result that a rank is missing from.
pub(crate) fn note_on_lost(ranks: &[StoredRank]) -> Option<String> {
    let lost: Vec<String> = ranks
        .iter()
        .filter_map(|rank| {
            let (why, host) = (rank.lost.as_ref()?, &rank.host);
            Some(format!("rank {} ({host}) was lost while it drove: {why}", rank.rank))
        })
        .collect();
    (!lost.is_empty()).then(|| {
        format!(
            "{}. From then on its connections are missing, and what it committed after its last \
             interval is in the database only, so the driver's orders are not compared with the \
             database's",
            lost.join("; ")
        )
    })
}
