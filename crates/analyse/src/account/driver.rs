//! What to raise where mydyno's own threads had no time left.

use crate::account::bound::{Bound, BoundBy, DRIVER_BUSY_SHARE};
use base::counted;
use store::StoredRank;

/// The driver of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Driver {
    pub(crate) threads: u32,
    /// Of its machine or, where the server has some of these for itself, the others.
    pub(crate) cores: u32,
    pub(crate) leaves_cores: bool,
    pub(crate) connections: u32,
}

impl Driver {
    /// Adds to a verdict on the driver what to raise.
    pub(crate) fn advise(self, bound: Bound) -> Bound {
        if bound.by != BoundBy::Driver {
            return bound;
        }
        Bound { because: format!("{}; {}", bound.because, self.advice()), ..bound }
    }

    fn advice(self) -> String {
        let threads = counted(self.threads as usize, "thread", "threads");
        let cores = counted(self.cores as usize, "core", "cores");
        if self.threads >= self.cores && self.leaves_cores {
            return format!(
                "the driver had {threads} on {cores}, which are all that the server did not have: \
                 give the server fewer (--cores), or use a machine with more"
            );
        }
        if self.threads >= self.cores {
            return format!(
                "the driver had {threads} on {cores}, which are all: drive from a machine with \
                 more cores, or from a second one"
            );
        }
        if self.threads >= self.connections {
            return format!(
                "the driver had {threads}, one for each connection: raise --connections, or drive \
                 from a machine with faster cores"
            );
        }
        format!("the driver had {threads} on {cores}: raise --threads")
    }
}

/// The verdict on another rank of a fleet whose driver had no time left in a window of so many ns;
/// of several, on the busiest.
pub(crate) fn busy_rank(ranks: &[StoredRank], window_ns: u64) -> Option<Bound> {
    let share = |rank: &StoredRank| {
        let threads = u64::from(rank.driver_threads.max(1));
        rank.client_cpu_ns as f64 / (threads * window_ns.max(1)) as f64
    };
    // Of this process, rank 0, each thread is known.
    let others = ranks.iter().filter(|rank| rank.rank > 0);
    let busiest = others.max_by(|a, b| share(a).total_cmp(&share(b)))?;
    (share(busiest) >= DRIVER_BUSY_SHARE).then(|| Bound {
        by: BoundBy::Driver,
        share: None,
        because: format!(
            "the {} of rank {} ({}) were on cores for {:.0} % of the time: raise --threads there, \
             or drive from more ranks",
            counted(busiest.driver_threads as usize, "driver thread", "driver threads"),
            busiest.rank,
            busiest.host,
            share(busiest) * 100.0
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::{Driver, busy_rank};
    use crate::account::bound::{Bound, BoundBy};
    use store::StoredRank;

    #[test]
    fn a_busy_rank_has_a_name() {
        let rank = |rank: u32, client_cpu_ns: u64| StoredRank {
            rank,
            host: format!("node{rank}"),
            driver_threads: 2,
            client_cpu_ns,
            ..StoredRank::default()
        };
        let told = |ranks: &[StoredRank]| busy_rank(ranks, 1_000).map(|bound| bound.because);
        assert_eq!(told(&[rank(0, 2_000), rank(1, 500)]), None);
        let words = told(&[rank(0, 0), rank(1, 1_900), rank(2, 1_990)]).unwrap();
        assert!(words.contains("the 2 driver threads of rank 2 (node2)"), "{words}");
        assert!(words.contains("100 % of the time"), "{words}");
    }

    #[test]
    fn the_verdict_on_the_driver_says_what_to_raise() {
        let told = |by, threads, connections| {
            let driver = Driver { threads, cores: 16, leaves_cores: false, connections };
            let because = "it was busy".to_owned();
            let share = None;
            driver.advise(Bound { by, share, because }).because
        };
        let words = told(BoundBy::Driver, 4, 64);
        assert_eq!(words, "it was busy; the driver had 4 threads on 16 cores: raise --threads");
        assert!(told(BoundBy::Driver, 16, 64).contains("a machine with more cores"));
        assert!(told(BoundBy::Driver, 4, 4).contains("--connections"));
        assert_eq!(told(BoundBy::Cpu, 4, 64), "it was busy");
        let beside = Driver { threads: 1, cores: 1, leaves_cores: true, connections: 8 };
        assert!(beside.advice().contains("give the server fewer (--cores)"));
    }
}
