//! A lab as the report shows it: read from the results file once, with what belongs together put
//! together.

use crate::format::{ms, or_na};
use crate::panels::{Panels, panels};
use crate::series::{self, Series, points_max};
pub use crate::variables::Variable;
use crate::variables::{Risen, risen, variables};
use analyse::{
    Bound, CellEvidence, LabAnswer, LabOutcome, MeanValue, ReadRepeat, Resources, RunDocument,
    Samples, lab_outcome, labels_of_stored, marked, profiles,
};
use base::{Dilation, counted};
use device::Profile;
use store::Moment::{End, Start};
use store::{
    Lab, LabId, LabMachine, LoadId, Rates, Repeat, RepeatId, RepeatStatus, Results, StoreResult,
    StoredCell, StoredCheck, StoredLoad, Summary, ThroughputMetric, TimesSpent, TransactionTotals,
    WindowTotals,
};

/// Of more repeats than this a page has only one for each cell, and of that what an overview of so
/// many needs: its page stays below 4 MB.
const REPEATS_IN_FULL_MAX: usize = 48;

/// A whole lab.
pub struct LabView {
    pub lab: Lab,
    pub results_file: String,
    /// What its numbers mean.
    pub outcome: LabOutcome,
    /// Those that measured it.
    pub machines: Vec<LabMachine>,
    /// Of the emulated devices.
    pub profiles: Vec<Profile>,
    pub notes: Vec<String>,
    pub checks: Vec<StoredCheck>,
    pub cells: Vec<CellView>,
    pub loads: Vec<LoadView>,
}

/// A cell with the repeats that count.
pub struct CellView {
    pub cell: StoredCell,
    /// What tells this cell from the others of the lab.
    pub label: String,
    /// As `label`, without the number of connections: what a line over connections stands for.
    pub group: String,
    pub repeats: Vec<RepeatView>,
    /// Attempts that a later one replaced.
    pub earlier_attempts: usize,
    /// Repeats that [`Results::counted_repeats`] tells of.
    counted: Vec<RepeatId>,
}

/// A repeat with all that is stored on it.
pub struct RepeatView {
    pub repeat: Repeat,
    /// What `mydyno run` tells of it.
    pub run: RunDocument,
    pub totals: WindowTotals,
    /// Of these, those of the primary types together.
    pub primary: TransactionTotals,
    pub series: Series,
    pub variables: Vec<Variable>,
    /// What was observed beside the load; of a failed repeat too, as evidence.
    pub panels: Panels,
    /// Where the response time of each transaction type went.
    pub times_spent: TimesSpent,
    /// Status counters of the server that rose in the window.
    pub risen: Vec<Risen>,
}

/// A population that cells of the lab ran on.
pub struct LoadView {
    pub load: StoredLoad,
    pub checks: Vec<StoredCheck>,
}

impl LabView {
    pub fn read(results: &Results, id: LabId) -> StoreResult<LabView> {
        let lab = results.lab(id)?;
        let cells = results.cells(id)?;
        let names = labels_of_stored(&cells);
        let loads = loads_of(results, &lab, &cells)?;
        let profiles = profiles(results, &cells)?;
        let repeats = cells.iter().map(|cell| results.repeats(cell.id).map(|all| all.len()));
        let points_max = points_max(repeats.sum::<StoreResult<usize>>()?);
        let read = |(cell, names)| CellView::read(results, cell, names, points_max);
        let cells = cells.into_iter().zip(names).map(read).collect::<StoreResult<_>>()?;
        let results_file = results.path().file_name().unwrap_or_default();
        Ok(LabView {
            outcome: lab_outcome(results, id)?,
            machines: results.machines(id)?,
            profiles,
            notes: results.notes(id)?,
            checks: results.get(id)?,
            results_file: results_file.to_string_lossy().into_owned(),
            lab,
            cells,
            loads,
        })
    }

    /// What the lab says of itself, in sentences.
    pub fn answer(&self) -> LabAnswer {
        let of_cell = |cell: &CellView| {
            let runs = cell.counted().map(|repeat| &repeat.run);
            CellEvidence::of(cell.cell.what.ordinal, runs)
        };
        LabAnswer::of(&self.outcome, &self.cells.iter().map(of_cell).collect::<Vec<_>>())
    }

    /// The cell with the highest mean NOPM, and that.
    pub fn best(&self) -> Option<(&CellView, f64)> {
        let measured = self.cells.iter().filter_map(|cell| Some((cell, cell.nopm().mean?)));
        measured.max_by(|(_, a), (_, b)| a.total_cmp(b))
    }

    /// What throughput counts in all cells: any transactions, where they do not count the same.
    pub fn metric(&self) -> ThroughputMetric {
        self.outcome.metric()
    }

    /// The cell with this place in the plan.
    pub fn by_ordinal(&self, ordinal: u32) -> Option<&CellView> {
        self.cells.iter().find(|cell| cell.cell.what.ordinal == ordinal)
    }

    /// Are its cells closed, and come last?
    pub fn is_folded(&self) -> bool {
        self.cells.len() > 1
    }

    /// Has the lab too many repeats to show all of each?
    pub fn is_brief(&self) -> bool {
        self.repeats().count() > REPEATS_IN_FULL_MAX
    }

    /// All repeats of all cells.
    pub fn repeats(&self) -> impl Iterator<Item = &RepeatView> {
        self.cells.iter().flat_map(|cell| &cell.repeats)
    }
}

impl CellView {
    fn read(
        results: &Results,
        cell: StoredCell,
        (label, group): (String, String),
        points_max: u64,
    ) -> StoreResult<CellView> {
        let repeats = results.repeats(cell.id)?;
        let earlier_attempts = results.attempts(cell.id)?.len() - repeats.len();
        let counted = results.counted_repeats(&cell)?;
        let read = |repeat| RepeatView::read(results, &cell, repeat, points_max);
        let repeats = repeats.into_iter().map(read).collect::<StoreResult<_>>()?;
        Ok(CellView { repeats, cell, label, group, earlier_attempts, counted })
    }

    /// Those that its numbers are of.
    pub fn counted(&self) -> impl Iterator<Item = &RepeatView> {
        self.repeats.iter().filter(|view| self.counted.contains(&view.repeat.id))
    }

    /// The repeat that is seen first.
    pub fn shown(&self) -> Option<&RepeatView> {
        self.counted().next().or(self.repeats.first())
    }

    /// Some number over the repeats that count.
    pub fn repeated(&self, number: impl Fn(&RepeatView) -> Option<f64>) -> MeanValue {
        let values: Vec<f64> = self.counted().filter_map(number).collect();
        MeanValue::of_repeats(&values)
    }

    pub fn nopm(&self) -> MeanValue {
        self.repeated(|repeat| repeat.rates().nopm)
    }

    /// What its throughput counts.
    pub fn metric(&self) -> ThroughputMetric {
        self.cell.what.throughput_metric
    }

    /// A percentile of the response times of primary transactions in the mean, in ns.
    pub fn primary_ns(&self, quantile: f64) -> Option<f64> {
        self.repeated(|repeat| repeat.primary_ns(quantile)).mean
    }

    /// The longest such response time of all repeats that count.
    pub fn primary_max_ns(&self) -> Option<u64> {
        self.counted().filter_map(|repeat| repeat.primary.max_ns()).max()
    }

    /// A percentile for people, in ms; with ≥ where response times are at least so long.
    pub fn primary_ms(&self, quantile: f64) -> String {
        let is_at_least = self.counted().any(|repeat| repeat.primary.is_at_least(quantile));
        marked(or_na(self.primary_ns(quantile), ms), is_at_least)
    }

    /// The longest for people, as [`CellView::primary_ms`].
    pub fn primary_max_ms(&self) -> String {
        let is_at_least = self.counted().any(|repeat| repeat.primary.max_is_at_least());
        marked(or_na(self.primary_max_ns(), |ns| ms(ns as f64)), is_at_least)
    }
}

impl RepeatView {
    /// That it was measured in dilated time, for people; nothing where it was not.
    pub(crate) fn dilation(&self) -> Option<String> {
        Dilation::new(self.repeat.dilation).and_then(Dilation::in_words)
    }

    fn read(
        results: &Results,
        cell: &StoredCell,
        repeat: Repeat,
        points_max: u64,
    ) -> StoreResult<RepeatView> {
        let id = repeat.id;
        let (series, totals) = series::read(results, id, points_max)?;
        let samples = Samples::read(results, id)?;
        let end_s = series.time_s.last().copied().unwrap_or(0.0);
        let is_emulated = cell.what.places.iter().any(|place| place.emulated);
        let of = ReadRepeat { results, repeat: &repeat, cell, totals: &totals, samples: &samples };
        Ok(RepeatView {
            run: analyse::document_of(of)?,
            series,
            variables: variables(results.variables(id, Start)?, results.variables(id, End)?),
            panels: panels(&samples, end_s, points_max, is_emulated),
            times_spent: results.times_spent(&repeat)?,
            risen: risen(results.status(id, Start)?, results.status(id, End)?),
            primary: totals.primary(),
            totals,
            repeat,
        })
    }

    pub fn is_done(&self) -> bool {
        self.repeat.status == RepeatStatus::Done
    }

    /// The document without what follows from samples.
    pub fn summary(&self) -> &Summary {
        &self.run.summary
    }

    pub fn rates(&self) -> &Rates {
        &self.run.summary.rates
    }

    /// `None` where the repeat failed or was not sampled.
    pub fn resources(&self) -> Option<&Resources> {
        self.run.resources.as_ref()
    }

    /// What the run could not have done without more of.
    pub fn bound(&self) -> Option<&Bound> {
        self.resources()?.bound.as_ref()
    }

    /// A percentile of the response times of primary transactions, in ns.
    pub fn primary_ns(&self, quantile: f64) -> Option<f64> {
        Some(self.primary.quantile_ns(quantile)? as f64)
    }

    pub fn failed_checks(&self) -> usize {
        self.summary().checks.iter().filter(|check| !check.passed).count()
    }
}

/// Loads of this lab, or the last one of the same target where the lab found its database loaded.
fn loads_of(results: &Results, lab: &Lab, cells: &[StoredCell]) -> StoreResult<Vec<LoadView>> {
    let all = results.loads()?;
    let own = all.iter().filter(|(_, load)| load.lab == Some(lab.id));
    let mut chosen: Vec<&(LoadId, StoredLoad)> = own.collect();
    if chosen.is_empty() {
        let is_of = |cell: &StoredCell, load: &StoredLoad| {
            cell.what.target == load.target && cell.what.engine == load.engine
        };
        chosen.extend(all.iter().rev().find(|(_, load)| {
            load.finished_utc_ns <= lab.started_utc_ns && cells.iter().any(|cell| is_of(cell, load))
        }));
    }
    let view = |(id, load): &(LoadId, StoredLoad)| {
        Ok(LoadView { load: load.clone(), checks: results.get(*id)? })
    };
    chosen.into_iter().map(view).collect()
}

/// `10 warehouses`; nothing where the workload has none.
pub fn warehouses(count: Option<u32>) -> String {
    let count = count.map(|count| counted(count as usize, "warehouse", "warehouses"));
    count.unwrap_or_default()
}
