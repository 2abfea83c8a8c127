//! What the numbers of the results file mean: rates and shares from raw samples, costs per
//! transaction, and what bound a run.

mod account;
mod lab;
mod ramp;
mod run;
mod stats;
mod table;

pub use account::bound::{Bound, BoundBy};
pub use account::cell_account::{CellAccount, Change, Spent};
pub use account::host_shortfall::{DILATION_STEPS, HostShortfall};
pub use account::{Account, KnownBy, OfParts, Part};
pub use lab::answer::{CellEvidence, LabAnswer, capitalised, lab_answer};
pub use lab::cells::{CellOutcome, DATA, RepeatOutcome, labels, labels_of_stored, varying};
pub use lab::comparisons::{CellComparison, ComparedCell};
pub use lab::device_effects::{DeviceEffects, Extremes};
pub use lab::drills::{DrillFigures, drills};
pub use lab::effects::{DimensionEffects, ValueEffect};
pub use lab::glance::{LabGlance, lab_glance};
pub use lab::interference::{Interference, instance_spread, interference};
pub use lab::machines::MachineOutcome;
pub use lab::matrix::{CONNECTIONS, NamedValue};
pub use lab::outcomes::{BlockOutcome, LabOutcome, lab_outcome};
pub use lab::pairs::{ComparisonAsked, PairedBy, RunComparison, RunsAsked, compare_runs};
pub use lab::profiles::profiles;
pub use lab::published::{BesidePublished, PublishedRatio};
pub use lab::published_cells::PublishedCell;
pub use lab::ratios::Ratio;
pub use lab::reversals::{Reversal, ReversalPlace};
pub use lab::sweep::{Sweep, SweepPoint, Turning};
pub use lab::unlike::{Difference, IDENTITY_VARIABLES};
pub use ramp::ramp_point::{RampPoint, ramp_point};
pub use ramp::ramps::{RampOutcome, ramps, standing_points};
pub use ramp::saturation::{Ramp, RampStep, Saturation, is_of_count};
pub use run::document::{RunDocument, document_of, measurement};
pub use run::fail_if::{FailCondition, JudgedCondition};
pub use run::nodes::nodes_table;
pub use run::price::device_price_usd;
pub use run::progress::{Awaited, RunProgress};
pub use run::ranks::ranks_table;
pub use run::remarks::remarks;
pub use run::repeat_resources::account_so_far;
pub use run::resources::{
    DiskResources, HostMachine, IoCountedBy, OtherWait, PowerMeter, Resources,
};
pub use run::response_times::{ResponseTime, marked};
pub use run::runs::{MeanValue, Runs};
pub use run::samples::{MetricStep, OfWindow, ReadRepeat, Samples, Window};
pub use run::sentences;
pub use run::usage::{
    CpuShares, Get, IoCounters, IoRates, cores_used, emulated_iowait, lock_waiting, pool_dirty,
    pool_miss,
};
pub use stats::blocks::{Base, Blocks, Contrast, Observation, holm};
pub use stats::drifting::{DriftRound, ratio_in_drift};
pub use stats::precision::{Precision, PrecisionAsked, precision};
pub use stats::sequential::PairedRatios;
pub use stats::statistics::{Estimate, NoInterval, RatioInterval, deviation, mean};
pub use stats::steady::{Steadiness, Trend, Watched, steadiness};
pub use table::{Table, TableColumn};
