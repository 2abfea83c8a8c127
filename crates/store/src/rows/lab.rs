//! Labs, their blocks and their ramps.

use crate::row::{Nested, Redacted, RedactedPlan, Skipped, row};
use crate::values::{LabId, NamedTexts, RampId, word};
use spec::RampLimits;
use std::collections::BTreeMap;

word!(
    /// How far a lab has come.
    LabStatus {
        Running = "running",
        Done = "done",
        /// At least one cell has no result, or the lab could not go on.
        Failed = "failed",
        /// Ended by the user, or its process is gone.
        Interrupted = "interrupted",
    }
);

/// What a list of labs has of their cells; of texts each once, by commas.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabFacts {
    pub cells: u32,
    pub engines: String,
    pub workloads: String,
    pub presets: String,
    /// Of data.
    pub devices: String,
    /// Least and most of one cell.
    pub connections: [u32; 2],
    pub warehouses: [Option<u32>; 2],
}

row! {
    /// A lab about to start.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct NewLab {
        /// The name of the plan, or of the command.
        pub name: String,
        /// The plan file as given; `None` where a single command measures.
        pub plan: Option<String> as RedactedPlan,
        /// The command line as typed, without passwords; of `--power-command` the program only.
        pub command_line: String as Redacted,
        /// The version of the program that measured.
        pub mydyno_version: String,
        /// Repeats of all cells that the plan asks for; `None` without a plan.
        pub turns: Option<u32>,
        /// Hardware and system: CPU model, cores, memory, kernel, file system, ...
        pub host_facts: NamedTexts as Skipped,
    }

    /// A lab as stored.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Lab {
        pub id: LabId,
        pub name: String,
        pub plan: Option<String>,
        pub command_line: String,
        pub mydyno_version: String,
        /// As [`NewLab::turns`].
        pub turns: Option<u32>,
        /// Did what came out decide what was measured next (`advise`, `tune`)? Then p-values and
        /// intervals of so many repeats do not hold.
        pub adaptive: bool,
        /// `running`, `done`, `failed` (the machine ended it; of a command that measures one cell,
        /// that has no result: failed cells of a plan leave it `done`), `interrupted` (by the user,
        /// its process is gone, or only a shard is there).
        pub status: LabStatus,
        /// Why it failed or was interrupted.
        pub reason: Option<String>,
        pub started_utc_ns: i64,
        /// `None` while the lab runs.
        pub finished_utc_ns: Option<i64>,
    }

    /// How long a fixed piece of work took on this host: more in a later block shows that the host
    /// has become slower.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct Canary {
        /// Time of a fixed piece of arithmetic on one core, the median of several; `None` where the
        /// canary could not be taken.
        pub cpu_ns: u64,
        /// Time of a fixed number of dependent reads in a buffer larger than the caches.
        pub memory_ns: u64,
        /// The time from the end of a sleep until the thread ran again, in the median.
        pub wake_up_latency_ns: u64,
    }

    /// One block of a lab.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Block in "block" by "block" {
        /// The number of the block, from 1, in the order of time.
        pub block: u32,
        pub started_utc_ns: i64,
        /// The machine that measured it, by its number in the lab.
        pub machine: u32,
        /// `None` where it could not be taken.
        pub canary: Option<Canary> as Nested,
    }
}

row! {
    impl RampLimits {
        /// Connections of the first point.
        start: u32 = "connections_start",
        /// All counts are the start and a multiple of it.
        step: u32 = "connections_step",
        /// No count is larger.
        connections_max: u32,
        /// The most measurements.
        points_max: u32,
        /// Busy share of the server's machine that ends the ramp; `None` where the condition is
        /// left out, here and below.
        cpu_busy_share: Option<f64> = "stop_cpu_busy_share",
        /// A 90th percentile rises as fast as this power of the connections.
        kink_elasticity: Option<f64> = "stop_kink_elasticity",
        /// Throughput rises no faster than this power.
        plateau_elasticity: Option<f64> = "stop_plateau_elasticity",
        p90_us: BTreeMap<String, f64> as Skipped,
        /// Share of the tries of transactions that is retried, which ends the ramp; `None` where
        /// the condition is left out.
        retries_share: Option<f64> = "stop_retries_share",
    }
}

row! {
    /// A ramp about to start.
    #[derive(Clone, Debug, PartialEq)]
    pub struct NewRamp {
        /// The ordinal of the plan's cell, from 1; 1 of `mydyno ramp`.
        pub ordinal: u32,
        /// Which ramp of that cell, from 1.
        pub repeat: u32,
        pub limits: RampLimits as Nested = "",
    }

    /// A ramp as stored.
    #[derive(Clone, Debug, PartialEq)]
    pub struct StoredRamp {
        pub id: RampId,
        pub lab: LabId = "lab_id",
        pub what: NewRamp as Nested = "",
        /// `None` while points, or checks after the last one, are missing.
        pub finished_utc_ns: Option<i64>,
    }
}
