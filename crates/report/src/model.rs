//! A lab as the report shows it: read from the results file once, with what belongs together put
//! together.

use crate::advice::{CellAdvice, advice_of};
use crate::panels::{PanelRun, Panels, panels};
use crate::series::{self, Series, points_max};
use crate::stats::Repeated;
pub use crate::variables::Variable;
use crate::variables::{Risen, risen, variables};
use analyse::{
    Bound, CellEvidence, DATA, EmulatedRun, NamedValue, NodeFigures, Resources, Samples, profiles,
};
use base::{Dilation, counted};
use device::Profile;
use itertools::Itertools;
use std::collections::BTreeMap;
use store::{
    InputCounter, Lab, LabId, LabMachine, LoadId, Moment, PacingSummary, Rates, Repeat, RepeatId,
    RepeatStatus, Results, StorageSummary, StoreError, StoredCell, StoredCheck, StoredFailure,
    StoredLoad, StoredRank, StoredRequirement, ThroughputMetric, TimesSpent, TransactionTotals,
    Verdict, WindowSummary, WindowTotals,
};

/// Of more repeats than this a page has only one for each cell, and of that what an overview of so
/// many needs: its page stays below 4 MB.
const REPEATS_IN_FULL_MAX: usize = 48;

/// A whole lab.
pub struct LabView {
    pub lab: Lab,
    pub results_file: String,
    /// Those that measured it.
    pub machines: Vec<LabMachine>,
    /// Of the emulated devices.
    pub profiles: Vec<Profile>,
    /// For the server of the cell with the highest throughput.
    pub advice: Option<CellAdvice>,
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
    /// Repeats that [`Results::measured_again`] tells of.
    measured_again: Vec<RepeatId>,
}

/// A repeat with all that is stored on it.
pub struct RepeatView {
    pub repeat: Repeat,
    pub rates: Rates,
    /// Of each of several servers.
    pub nopm_by_instance: Vec<f64>,
    /// Of a fleet that drove it.
    pub ranks: Vec<StoredRank>,
    pub nodes: Vec<NodeFigures>,
    pub totals: WindowTotals,
    /// Of these, those of the primary types together.
    pub primary: TransactionTotals,
    pub series: Series,
    pub inputs: Vec<InputCounter>,
    pub pacing: PacingSummary,
    pub requirements: Vec<StoredRequirement>,
    pub storage: StorageSummary,
    pub checks: Vec<StoredCheck>,
    pub failures: Vec<StoredFailure>,
    pub notes: Vec<String>,
    pub variables: Vec<Variable>,
    /// What was observed beside the load; of a failed repeat too, as evidence.
    pub panels: Panels,
    /// `None` where the repeat failed or was not sampled.
    pub resources: Option<Resources>,
    /// At which the host would have been fast enough, where it was not.
    pub dilation_needed: Option<f64>,
    pub window: WindowSummary,
    /// What is to be known of the window.
    pub remarks: Vec<String>,
    /// Where the response time of each transaction type went.
    pub times_spent: TimesSpent,
    /// Do statements whose inputs are known travel together?
    pub is_sent_together: bool,
    /// Status counters of the server that rose in the window.
    pub risen: Vec<Risen>,
}

/// A population that cells of the lab ran on.
pub struct LoadView {
    pub load: StoredLoad,
    pub checks: Vec<StoredCheck>,
}

impl LabView {
    pub fn read(results: &Results, id: LabId) -> Result<LabView, StoreError> {
        let lab = results.lab(id)?;
        let cells = results.cells(id)?;
        let names = labels(&cells);
        let loads = loads_of(results, &lab, &cells)?;
        let profiles = profiles(results, &cells)?;
        let repeats = cells.iter().map(|cell| results.repeats(cell.id).map(|all| all.len()));
        let points_max = points_max(repeats.sum::<Result<usize, StoreError>>()?);
        let cells = cells
            .into_iter()
            .zip(names)
            .map(|(cell, names)| CellView::read(results, cell, names, points_max))
            .collect::<Result<Vec<_>, _>>()?;
        let best = best_of(&cells).and_then(|(cell, _)| Some((cell, cell.whole().next()?)));
        let advice = best.map(|(cell, run)| {
            let account = run.resources.as_ref().and_then(|used| used.account.as_ref());
            advice_of(results, run.repeat.id, &cell.label, account)
        });
        let advice = advice.transpose()?;
        Ok(LabView {
            advice: advice.flatten(),
            machines: results.machines(id)?,
            profiles,
            notes: results.notes(id)?,
            checks: results.get(id)?,
            results_file: results
                .path()
                .file_name()
                .map(|name| name.to_string_lossy().into_owned())
                .unwrap_or_default(),
            lab,
            cells,
            loads,
        })
    }

    /// The cell with the highest mean NOPM.
    pub fn best(&self) -> Option<(&CellView, Repeated)> {
        best_of(&self.cells)
    }

    /// What throughput counts in all cells: any transactions, where they do not count the same.
    pub fn metric(&self) -> ThroughputMetric {
        let mut all = self.cells.iter().map(CellView::metric);
        let first = all.next().unwrap_or_default();
        if all.all(|metric| metric == first) { first } else { ThroughputMetric::Tpm }
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

fn best_of(cells: &[CellView]) -> Option<(&CellView, Repeated)> {
    let measured = cells.iter().filter_map(|cell| cell.nopm().map(|nopm| (cell, nopm)));
    measured.max_by(|(_, a), (_, b)| a.mean.total_cmp(&b.mean))
}

impl CellView {
    fn read(
        results: &Results,
        cell: StoredCell,
        (label, group): (String, String),
        points_max: u64,
    ) -> Result<CellView, StoreError> {
        let repeats = results.repeats(cell.id)?;
        let earlier_attempts = results.attempts(cell.id)?.len() - repeats.len();
        let measured_again = results.measured_again(cell.id)?;
        Ok(CellView {
            repeats: repeats
                .into_iter()
                .map(|repeat| RepeatView::read(results, &cell, repeat, points_max))
                .collect::<Result<_, _>>()?,
            cell,
            label,
            group,
            earlier_attempts,
            measured_again,
        })
    }

    /// Those that its numbers are of: measured over their whole windows, and not once more on the
    /// server of the same ramp.
    pub fn whole(&self) -> impl Iterator<Item = &RepeatView> {
        let counts = |view: &&RepeatView| {
            view.repeat.is_whole() && !self.measured_again.contains(&view.repeat.id)
        };
        self.repeats.iter().filter(counts)
    }

    /// The repeat that is seen first.
    pub fn shown(&self) -> Option<&RepeatView> {
        self.whole().next().or(self.repeats.first())
    }

    /// Some number over the repeats that are whole.
    pub fn repeated(&self, number: impl Fn(&RepeatView) -> Option<f64>) -> Option<Repeated> {
        let values: Vec<f64> = self.whole().filter_map(number).collect();
        Repeated::of(&values)
    }

    pub fn nopm(&self) -> Option<Repeated> {
        self.repeated(|repeat| repeat.rates.nopm)
    }

    /// What its repeats tell of it.
    pub fn evidence(&self) -> CellEvidence {
        let ordinal = self.cell.what.ordinal;
        let repeats: Vec<CellEvidence> = self
            .whole()
            .map(|repeat| CellEvidence {
                ordinal,
                bound_by: repeat.bound().map(|bound| bound.by),
                fidelity: repeat.storage.fidelity,
                dilation_needed: repeat.dilation_needed,
                silence_s: analyse::longest_silence_s(&repeat.window),
                is_too_short: analyse::is_too_short(&repeat.window, &self.cell.what),
            })
            .collect();
        CellEvidence::of(ordinal, &repeats)
    }

    /// What its throughput counts.
    pub fn metric(&self) -> ThroughputMetric {
        self.cell.what.throughput_metric
    }

    /// A percentile of the response times of primary transactions, in ns.
    pub fn primary_ns(&self, quantile: f64) -> Option<Repeated> {
        self.repeated(|repeat| {
            let ns = repeat.primary.quantile_ns(quantile)?;
            Some(ns as f64)
        })
    }

    /// The longest such response time of all repeats that are whole.
    pub fn primary_max_ns(&self) -> Option<u64> {
        self.whole().filter_map(|repeat| repeat.primary.max_ns()).max()
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
    ) -> Result<RepeatView, StoreError> {
        let id = repeat.id;
        let (series, totals) = series::read(results, id, points_max)?;
        let samples = Samples::read(results, id)?;
        let run = PanelRun {
            points_max,
            end_s: series.time_s.last().copied().unwrap_or(0.0),
            is_emulated: cell.what.places.iter().any(|place| place.emulated),
        };
        let storage = results.storage_summary(&repeat, cell)?;
        let window = results.window_summary(&repeat, &cell.what, &totals)?;
        let resources = analyse::used_by(results, (&repeat, cell), &totals, &samples)?;
        let emulated = EmulatedRun {
            fidelity: storage.fidelity,
            lateness_share: storage.lateness_share,
            connections: cell.what.connections,
            dilation: repeat.dilation,
        };
        let missed = resources.as_ref().and_then(|used| emulated.dilation_missed(used));
        Ok(RepeatView {
            rates: Rates::of(&repeat, &totals),
            nopm_by_instance: results.throughput_by_instance(&repeat)?,
            ranks: results.get(id)?,
            nodes: analyse::nodes_of(results, (&repeat, cell), &samples)?,
            pacing: results.pacing_summary(&repeat, cell, &totals)?,
            requirements: results.get(id)?,
            storage,
            series,
            inputs: results.get(id)?,
            checks: results.get(id)?,
            failures: results.get(id)?,
            notes: results.notes(id)?,
            variables: variables(
                results.variables(id, Moment::Start)?,
                results.variables(id, Moment::End)?,
            ),
            panels: panels(&samples, run),
            resources,
            dilation_needed: missed.map(Dilation::factor),
            remarks: analyse::remarks(&window, &cell.what),
            window,
            times_spent: results.times_spent(&repeat)?,
            is_sent_together: matches!(cell.what.style.as_str(), "pipelined" | "batched"),
            risen: risen(results.status(id, Moment::Start)?, results.status(id, Moment::End)?),
            primary: totals.primary(),
            totals,
            repeat,
        })
    }

    pub fn is_done(&self) -> bool {
        self.repeat.status == RepeatStatus::Done
    }

    /// What the run could not have done without more of.
    pub fn bound(&self) -> Option<&Bound> {
        self.resources.as_ref()?.bound.as_ref()
    }

    pub fn failed_checks(&self) -> usize {
        self.checks.iter().filter(|check| !check.passed).count()
    }

    pub fn inputs_outside(&self) -> usize {
        let outside = |counter: &&InputCounter| counter.judged.verdict == Verdict::Outside;
        self.inputs.iter().filter(outside).count()
    }
}

/// Loads of this lab, or the last one of the same target where the lab found its database loaded.
fn loads_of(
    results: &Results,
    lab: &Lab,
    cells: &[StoredCell],
) -> Result<Vec<LoadView>, StoreError> {
    let all = results.loads()?;
    let mut chosen: Vec<(LoadId, StoredLoad)> =
        all.iter().filter(|(_, load)| load.lab == Some(lab.id)).cloned().collect();
    if chosen.is_empty() {
        let of_target = |(_, load): &&(LoadId, StoredLoad)| {
            load.finished_utc_ns <= lab.started_utc_ns
                && cells
                    .iter()
                    .any(|cell| cell.what.target == load.target && cell.what.engine == load.engine)
        };
        chosen.extend(all.iter().rev().find(of_target).cloned());
    }
    chosen
        .into_iter()
        .map(|(id, load)| {
            let checks = results.get(id)?;
            Ok(LoadView { load, checks })
        })
        .collect()
}

/// (label, group) of each cell: the fields in which the cells of this lab differ.
pub fn labels(cells: &[StoredCell]) -> Vec<(String, String)> {
    let all: Vec<Vec<(&str, String)>> = cells.iter().map(fields).collect();
    let values: Vec<BTreeMap<&str, &str>> = all
        .iter()
        .map(|of| of.iter().map(|(name, text)| (*name, text.as_str())).collect())
        .collect();
    // A cell that never had a server does not say all that the others do; that tells nothing apart.
    let is_started = |cell: &StoredCell| !cell.what.server_version.is_empty();
    let varies = |name: &str| {
        let pairs = cells.iter().zip(&values);
        let telling = pairs.filter(|(cell, of)| is_started(cell) || of.contains_key(name));
        !telling.map(|(_, of)| of.get(name)).all_equal()
    };
    let label = |(cell, fields): (&StoredCell, &Vec<(&str, String)>)| {
        let told = fields.iter().filter(|(name, _)| varies(name));
        let group = told.map(|(_, text)| text).join(", ");
        let connections = counted(cell.what.connections as usize, "connection", "connections");
        if group.is_empty() {
            return (connections, cell.what.engine.clone());
        }
        (format!("{group}, {connections}"), group)
    };
    cells.iter().zip(&all).map(label).collect()
}

/// What may tell a cell from another: (field, its value for people).
fn fields(cell: &StoredCell) -> Vec<(&str, String)> {
    let what = &cell.what;
    let either = |is_so: Option<bool>, so: &str, not_so: &str| {
        is_so.map(|is_so| (if is_so { so } else { not_so }).to_owned())
    };
    let count = |number: u32, one: &str, several: &str| counted(number as usize, one, several);
    let arrivals = what.arrivals.as_deref().unwrap_or_default();
    // A plan says where data goes among its settings, and names other roles there where they
    // differ.
    let is_planned = what.settings.iter().any(|(name, _)| name == DATA);
    let fields = [
        ("engine", Some(what.engine.clone())),
        ("transport", Some(what.transport.clone())),
        ("workload", Some(what.workload.clone())),
        ("style", Some(what.style.clone())),
        ("warehouses", Some(warehouses(what.warehouses))),
        ("schemas", Some(format!("{} schemas", what.schemas))),
        ("instances", Some(count(what.instances, "server", "servers"))),
        ("home", either(what.home, "home", "any warehouse")),
        ("foreign_keys", either(what.foreign_keys, "foreign keys", "no foreign keys")),
        ("partitions", Some(count(what.partitions, "partition", "partitions"))),
        ("cores", what.cores.map(|cores| count(cores, "core", "cores"))),
        ("isolation", what.isolation.clone()),
        ("history_key", either(what.history_key, "key of HISTORY", "")),
        ("rate", what.rate_asked.as_ref().map(|rate| format!("{rate}, {arrivals}"))),
        ("terminals", what.terminals.map(|terminals| format!("{terminals} terminals"))),
        ("device", what.devices_in_words().filter(|_| !is_planned)),
    ];
    let settings = what.settings.iter();
    let settings =
        settings.map(|(name, value)| (name.as_str(), NamedValue::of(name, value).words()));
    let known = fields.into_iter().filter_map(|(name, text)| Some((name, text?)));
    known.chain(settings).filter(|(_, text)| !text.is_empty()).collect()
}

/// `10 warehouses`; nothing where the workload has none.
pub fn warehouses(count: Option<u32>) -> String {
    let count = count.map(|count| counted(count as usize, "warehouse", "warehouses"));
    count.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::labels;
    use store::{CellId, CellPlace, LabId, NewCell, StoredCell};

    /// On a device, as a plan has it; with a server, or one that never started.
    fn cell(id: i64, device: &str, connections: u32, is_started: bool) -> StoredCell {
        let mut what = NewCell {
            engine: "mysql-5.7".to_owned(),
            connections,
            settings: vec![("data".to_owned(), device.to_owned())],
            ..NewCell::default()
        };
        if is_started {
            what.server_version = "5.7.22".to_owned();
            what.transport = "tcp".to_owned();
            what.places = vec![CellPlace {
                role: "data".to_owned(),
                device: device.to_owned(),
                ..CellPlace::default()
            }];
            what.settings.push(("scale".to_owned(), "papers".to_owned()));
        }
        StoredCell { id: CellId(id), lab: LabId(1), what }
    }

    #[test]
    fn a_cell_that_never_started_is_among_its_like() {
        let cells = [
            cell(1, "hdd-15k", 8, true),
            cell(2, "hdd-15k", 16, false),
            cell(3, "nvme-pm1725", 8, true),
        ];
        let pair = |label: &str, group: &str| (label.to_owned(), group.to_owned());
        assert_eq!(
            labels(&cells),
            [
                pair("hdd-15k, 8 connections", "hdd-15k"),
                pair("hdd-15k, 16 connections", "hdd-15k"),
                pair("nvme-pm1725, 8 connections", "nvme-pm1725"),
            ]
        );
        let mut other = cell(4, "hdd-15k", 8, true);
        other.what.transport = "unix".to_owned();
        let two = [cell(1, "hdd-15k", 8, true), other];
        assert_eq!(labels(&two)[1], pair("unix, 8 connections", "unix"));
        assert_eq!(labels(&cells[..1])[0], pair("8 connections", "mysql-5.7"));
    }
}
