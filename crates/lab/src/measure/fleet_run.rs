//! A run that a fleet drives: what rank 0 tells the others, and what it stores of them.

use drive::{Partner, RunOptions, RunReport, TransactionInfo, WorkerPlace};
use fleet::{Job, JobPace, Leader, RankOutcome, RankUsage};
use std::time::Duration;
use store::StoredRank;

/// The fleet that drives a run, as rank 0 has it.
#[derive(Clone, Copy)]
pub(crate) struct FleetRun<'a> {
    pub(crate) leader: &'a Leader,
    /// Driver threads of this rank, as if it were alone.
    pub(crate) threads: u32,
}

impl<'a> FleetRun<'a> {
    fn threads(&self, connections: u32) -> Vec<u32> {
        self.leader.threads(self.threads, connections)
    }

    /// What this rank drives of a run with these options.
    pub(crate) fn own_share(&self, options: RunOptions) -> RunOptions {
        let threads = self.threads(options.connections);
        let place = WorkerPlace { first: 0, workers_of_all: threads.iter().sum() };
        RunOptions { workers: threads[0], place: Some(place), ..options }
    }

    /// The other ranks, for a run whose inputs have this seed.
    pub(crate) fn partners(
        &self,
        options: &RunOptions,
        input_seed: u64,
        types: &'static [TransactionInfo],
    ) -> Vec<Box<dyn Partner + 'a>> {
        let ns = |time: Duration| time.as_nanos() as u64;
        let threads = self.threads(options.connections);
        let job = Job {
            connections: options.connections,
            workers: threads[0],
            first_worker: 0,
            workers_of_all: threads.iter().sum(),
            warmup_ns: ns(options.warmup),
            window_ns: ns(options.window),
            interval_ns: ns(options.interval),
            retry_pause_ns: ns(options.retry_pause),
            pace: match &options.pace {
                drive::Pace::Closed => JobPace::Closed,
                drive::Pace::Arrivals(arrivals) => JobPace::Arrivals { per_s: arrivals.per_s },
                drive::Pace::Terminals(_) => JobPace::Terminals,
            },
            seed: options.seed,
            input_seed,
        };
        self.leader.partners(&job, &threads, types)
    }

    /// All ranks, as they are stored; `usage` is what this one used, `report` that of all.
    pub(crate) fn rows(&self, report: &RunReport, usage: RankUsage) -> Vec<StoredRank> {
        let others = self.leader.outcomes();
        let of_others: u64 = others.iter().map(|rank| rank.primary).sum();
        let of_all = report.window.as_ref().map_or(0, |window| window.primary_completed());
        let own = RankOutcome {
            host: rustix::system::uname().nodename().to_string_lossy().into_owned(),
            threads: self.threads,
            usage,
            primary: of_all.saturating_sub(of_others),
            ..RankOutcome::default()
        };
        std::iter::once(own).chain(others).map(row).collect()
    }
}

fn row(rank: RankOutcome) -> StoredRank {
    StoredRank {
        rank: rank.rank,
        host: rank.host,
        driver_threads: rank.threads,
        client_cpu_ns: rank.usage.cpu_ns,
        run_wait_ns: rank.usage.run_wait_ns,
        network_bytes: rank.usage.network_bytes,
        clock_error_ns: rank.clock_error_ns,
        start_late_ns: rank.start_late_ns,
        primary_transactions: rank.primary,
        lost: rank.lost,
    }
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
