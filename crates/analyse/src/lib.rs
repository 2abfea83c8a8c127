//! What the numbers of the results file mean: rates and shares from raw samples, costs per
//! transaction, and what bound a run.

mod account;
mod answer;
mod bend;
mod blocks;
mod bound;
mod cell_account;
mod cells;
mod comparisons;
mod device_effects;
mod document;
mod drifting;
mod drills;
mod driver;
mod effects;
mod evidence;
mod fail_if;
mod host_shortfall;
mod interference;
mod linear;
mod load;
mod machines;
mod matrix;
mod memory;
mod nodes;
#[cfg(test)]
mod noise;
mod outcomes;
mod pairs;
mod precision;
mod price;
mod profiles;
mod progress;
mod published;
mod ramp_cpu;
mod ramp_point;
mod ramps;
mod ratios;
mod remarks;
mod repeat_resources;
mod resources;
mod reversals;
mod runs;
mod samples;
mod saturation;
mod sequential;
mod statistics;
mod steady;
mod student;
mod sweep;
mod unlike;
mod usage;

pub use account::{Account, KnownBy, OfParts, Part};
pub use answer::{CellEvidence, LabAnswer, lab_answer};
pub use blocks::{Base, Blocks, CLAIM_REPEATS_MIN, Contrast, Observation, holm};
pub use bound::{Bound, BoundBy};
pub use cell_account::{CellAccount, Change, Spent};
pub use cells::{CellOutcome, DATA, INSTANCES, RepeatOutcome, varying};
pub use comparisons::{CellComparison, ComparedCell};
pub use device_effects::{DeviceEffects, Extremes};
pub use document::{RunDocument, measurement};
pub use drifting::{DriftRound, ratio_in_drift};
pub use drills::{DrillDamage, DrillFigures, DrillReaction, WitnessedTotal, drills};
pub use effects::{DimensionEffects, ValueEffect};
pub use fail_if::{FailCondition, JudgedCondition};
pub use host_shortfall::{DILATION_STEPS, EmulatedRun, HostShortfall};
pub use interference::{Interference, instance_spread, interference};
pub use machines::MachineOutcome;
pub use matrix::{CONNECTIONS, Dimension, Matrix, NamedValue, Slice};
pub use nodes::{NodeColumn, NodeFigures, node_columns, nodes_of};
pub use outcomes::{BlockOutcome, LabOutcome, lab_outcome};
pub use pairs::{ComparisonAsked, PairedBy, RunComparison, RunsAsked, compare_runs};
pub use precision::{Precision, PrecisionAsked, precision};
pub use price::{PriceResources, device_price_usd};
pub use profiles::profiles;
pub use progress::{Awaited, RunProgress};
pub use published::PublishedRatio;
pub use ramp_cpu::{CpuOf, RampCpu};
pub use ramp_point::{RampPoint, ramp_point};
pub use ramps::{RampConditions, RampOutcome, StandingPoints, ramps, standing_points};
pub use ratios::Ratio;
pub use remarks::{is_too_short, longest_silence_s, remarks};
pub use repeat_resources::{account_so_far, used_by};
pub use resources::{
    DiskResources, DriverResources, HostMachine, HostResources, IoCountedBy, PerTransaction,
    PowerMeter, PowerResources, ProcessResources, Resources, ServerResources,
};
pub use reversals::{Reversal, ReversalPlace};
pub use runs::{Basis, MeanValue, Runs};
pub use samples::{MetricStep, Samples, Window};
pub use saturation::{Ramp, RampStep, Saturation, StopReason, is_of_count};
pub use sequential::PairedRatios;
pub use statistics::{
    CONFIDENCE, Estimate, NoInterval, RatioInterval, SERIES_POINTS_MIN, autocorrelation, deviation,
    mean,
};
pub use steady::{Steadiness, Trend, Watched, steadiness};
pub use sweep::{Sweep, SweepPoint, Turning};
pub use unlike::{Aspect, Difference, IDENTITY_VARIABLES};
pub use usage::{
    CpuShares, IoCounters, IoRates, cores_used, emulated_iowait, lock_waiting, pool_dirty,
    pool_miss,
};
