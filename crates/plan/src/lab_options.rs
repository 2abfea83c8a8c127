//! What a plan says of its experiment as a whole, of which a command line has no need.

use crate::kinds::{Count, DURATION_MAX_MS, Seed, Text, Time};
use crate::order::Order;
use crate::values::Given;
use schemars::JsonSchema;
use serde::Deserialize;

/// Most repeats of a cell: far above what a confidence interval asks for.
const REPEATS_MAX: u32 = 1_000;
const CHANGES_MAX: u32 = 100;

/// The experiment as a whole.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct LabOptions {
    /// The name of the lab in results and reports [default: required]
    pub(crate) name: Option<Given<Text>>,
    /// Measurements of each cell; with one only, a report has no uncertainty [default: 3]
    pub(crate) repeats: Option<Given<Count<1, REPEATS_MAX>>>,
    /// `random`: each repeat is a block of all cells in an order of its own, drawn from `seed`, so
    /// drift over time does not bias any cell; `listed`: blocks in the order of the matrix
    /// [default: random]
    pub(crate) order: Option<Given<Order>>,
    /// Seed of the order and of the inputs; each repeat has inputs of its own, which derive from it
    /// and from the repeat's number and are the same in all cells [default: 1]
    pub(crate) seed: Option<Given<Seed>>,
    /// Settings in which a cell may differ from the first values of the plan: its `preset`, its
    /// variables and the places of roles other than `data`. 1 changes one at a time, in all
    /// combinations of everything else [default: no limit]
    pub(crate) changes_max: Option<Given<Count<1, CHANGES_MAX>>>,
    /// Time after which a lab starts no repeat; a plan that is expected to take longer is refused
    /// [default: none]
    pub(crate) time_limit: Option<Given<Time<1000, DURATION_MAX_MS>>>,
    /// Time from the start of a repeat's server to its end, after which the repeat is ended as
    /// failed (`timed_out`); automatic times count with their most [default: warm-up + window (of a
    /// ramp, and a minute, for each of its `points`) + 10m + 10s a warehouse for each of
    /// `instances`]
    pub(crate) repeat_time_limit: Option<Given<Time<1000, DURATION_MAX_MS>>>,
}
