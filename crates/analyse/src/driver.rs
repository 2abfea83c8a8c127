//! What to raise where mydyno's own threads had no time left.

use crate::bound::{Bound, BoundBy};
use base::counted;

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
                "the driver had {threads} on {cores}, which are all: drive from a machine with more cores, or from a \
                 second one"
            );
        }
        if self.threads >= self.connections {
            return format!(
                "the driver had {threads}, one for each connection: raise --connections, or drive from a machine with \
                 faster cores"
            );
        }
        format!("the driver had {threads} on {cores}: raise --threads")
    }
}

#[cfg(test)]
mod tests {
    use super::Driver;
    use crate::bound::{Bound, BoundBy};

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
