//! The windows of a proof: which cells of which lab they are, and what they gave.

use crate::course::Course;
use crate::elimination::{Elimination, ProposalBlock, Window};
use crate::judge::JudgeLimits;
use crate::proof::AdviceProof;
use crate::settings::Settings;
use advise::{AdvisedDevice, Finding, Gain, Risk, ServerSnapshot, advise, stored_snapshot};
use analyse::{mean, measurement};
use base::{Dilation, Exit};
use device::Profile;
use lab::{Eta, Job, LabError, LabResult, LabRun, LabRunOptions, Planned, TrialCell, account_of};
use server::acts_on_new_data_only;
use spec::{Cell, Dilate, Server};
use std::collections::BTreeMap;
use std::time::Instant;
use store::{RepeatId, Results};

const LAB: &str = "advise";
const START_NAME: &str = "the server as it is";
/// Why a window that was driven to its end has no throughput.
pub(crate) const NOTHING_ENDED: &str =
    "no transaction that counts ended in its window, which is too short";
pub(crate) const NOT_FINISHED: &str = "it was not finished";
/// The last windows of the start by its first one; beyond it they have not had one load.
const STEADY: std::ops::Range<f64> = 0.67..1.5;

/// Windows of the start whose mean is how it ended.
const LAST_STARTS: usize = 3;

/// A server that is looked at and measured.
pub struct Prover<'a> {
    results: &'a Results,
    lab: LabRun<'a>,
    job: &'a Job<'a>,
    /// The server as it is, and the load.
    cell: Cell,
    limits: JudgeLimits,
    /// Cells that were measured, by what is set on top of the start.
    cells: BTreeMap<Settings, TrialCell>,
    /// What windows took so far.
    eta: Eta,
    /// Throughput of the start, in the order in which it was measured.
    starts: Vec<f64>,
}

/// A server under its load, and what is to be said of it.
pub struct LookedAt {
    pub snapshot: ServerSnapshot,
    pub findings: Vec<Finding>,
    /// The run that was the load.
    pub run: RepeatId,
}

impl<'a> Prover<'a> {
    pub fn new(
        results: &'a Results,
        options: &'a LabRunOptions,
        cell: Cell,
        limits: JudgeLimits,
        job: &'a Job<'a>,
    ) -> Prover<'a> {
        let lab = LabRun::new(results, Planned::of_search(LAB), options);
        let (cells, eta) = (BTreeMap::new(), Eta::default());
        Prover { results, lab, job, cell, limits, cells, eta, starts: Vec::new() }
    }

    /// Drives the server once as it is, and says what rules find. `device` is that of the data,
    /// where mydyno does not emulate it.
    ///
    /// # Errors
    /// Where the server cannot be started, driven, or understood.
    pub fn look(&mut self, device: Option<Profile>) -> LabResult<LookedAt> {
        let mut run = self.start_window()?;
        if self.throughput(run)?.is_err() {
            // A hiccup of the machine decides nothing.
            run = self.start_window()?;
        }
        let throughput = self.throughput(run)?.map_err(|reason| no_result(START_NAME, &reason))?;
        self.starts.push(throughput);
        let mut snapshot = snapshot_of_run(self.results, run)?;
        if let Some(profile) = device {
            snapshot.device = Some(AdvisedDevice::of(&profile));
        }
        self.keep_dilation(run)?;
        Ok(LookedAt { findings: advise(&snapshot), snapshot, run })
    }

    fn start_window(&mut self) -> LabResult<RepeatId> {
        let start = self.cell_of(&Settings::new())?;
        let runs = self.lab.block(&[start], START_NAME, self.job)?;
        runs.first().copied().ok_or(LabError::Interrupted)
    }

    /// Measures what a server under its load is to be told.
    ///
    /// # Errors
    /// The server as it is has no result, or nothing can be stored. What a proposal dies of is its
    /// result.
    pub fn prove(&mut self, looked: &LookedAt) -> LabResult<AdviceProof> {
        let mut proof = AdviceProof {
            dilation: self.results.repeat(looked.run)?.dilation,
            error_rate: self.limits.error_rate,
            gain_min_percent: self.limits.gain_min_share * 100.0,
            ..AdviceProof::default()
        };
        let ended = self.prove_findings(&looked.findings, &mut proof);
        self.job.notes(drift(&self.starts));
        proof.lab_id = self.lab.begun().map(|lab| lab.0);
        match ended {
            Err(error) if error.exit() == Exit::Interrupted => proof.interrupted = true,
            Err(error @ LabError::NotSetBack { .. }) => return Err(error),
            // Hours may have gone into what was judged before.
            Err(error) if proof.is_begun() => proof.ended_by = Some(error.to_string()),
            other => other?,
        }
        Ok(proof)
    }

    /// Stores that the lab is over.
    ///
    /// # Errors
    /// The results file cannot be written.
    pub fn finish(self, is_whole: bool) -> LabResult<()> {
        self.lab.finish(is_whole)
    }

    fn prove_findings(&mut self, findings: &[Finding], proof: &mut AdviceProof) -> LabResult<()> {
        let left_out = findings.iter().map(|finding| self.left_out(finding)).collect();
        let mut course = Course::new(Elimination::new(self.limits, findings, left_out));
        let ended = course.run(|block| self.block(&block));
        proof.option_lines = course.elimination.option_lines();
        proof.measured_anew = course.is_repeated;
        let given = (course.whole(), course.proposed(), course.is_better_together());
        let failed = course.failed.take();
        proof.proposals = course.elimination.proven();
        ended?;
        if let Some((set, reason)) = failed {
            let what = if set.is_empty() { START_NAME } else { "all that was kept" };
            return Err(no_result(what, &reason));
        }
        (proof.whole, proof.proposed, proof.better_together) = given;
        Ok(())
    }

    /// A window of each, side by side. The first, to which the others are compared, is in the
    /// middle, and every second block is turned: so drift is in both halves of each comparison.
    fn block(
        &mut self,
        ProposalBlock { sets, title, windows_left }: &ProposalBlock,
    ) -> LabResult<Vec<Window>> {
        let begun = Instant::now();
        let left = self.eta.of(*windows_left as f64).map(|left| left.as_secs_f64() / 60.0);
        let left = left.map(|min| format!("; rarely more than {:.0} min left", min.ceil()));
        let title = format!("{title}: block {}{}", self.lab.asked_blocks, left.unwrap_or_default());
        let mut order: Vec<usize> = (1..sets.len()).collect();
        order.insert(order.len() / 2, 0);
        if self.lab.asked_blocks.is_multiple_of(2) {
            order.reverse();
        }
        let cells = order.iter().map(|place| self.cell_of(&sets[*place]));
        let cells = cells.collect::<Result<Vec<_>, _>>()?;
        let runs = self.lab.block(&cells, &title, self.job)?;
        if runs.len() < cells.len() {
            return Err(LabError::Interrupted);
        }
        let mut windows = vec![Ok(0.0); sets.len()];
        for (place, run) in order.into_iter().zip(runs) {
            let window = self.throughput(run)?;
            if let (true, Ok(throughput)) = (sets[place].is_empty(), &window) {
                self.starts.push(*throughput);
            }
            windows[place] = window;
        }
        self.eta.learn(sets.len() as f64, begun.elapsed());
        Ok(windows)
    }

    fn left_out(&self, finding: &Finding) -> Option<String> {
        never_measured(finding).or_else(|| match &self.cell.server {
            Server::Private(_) => refused_by_private(finding),
            Server::External(_) => refused_by_external(finding),
        })
    }

    /// The cell with these variables, which is made once.
    fn cell_of(&mut self, set: &Settings) -> LabResult<TrialCell> {
        if let Some(cell) = self.cells.get(set) {
            return Ok(*cell);
        }
        let variables: Vec<(String, String)> =
            set.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        let mut what = self.cell.clone();
        match &mut what.server {
            Server::Private(private) => {
                let is_left = |name: &str| !set.contains_key(base::variable_name(name).as_str());
                private.set.retain(|(name, _)| is_left(name));
                private.set.extend(variables.iter().cloned());
            }
            Server::External(external) => external.set.clone_from(&variables),
        }
        let cell = self.lab.add(what, &variables)?;
        self.cells.insert(set.clone(), cell);
        Ok(cell)
    }

    /// NOPM, or what the workload has instead; why there is none.
    fn throughput(&self, run: RepeatId) -> LabResult<Result<f64, String>> {
        let nopm = measurement(self.results, run)?.summary.rates.nopm;
        let repeat = self.results.repeat(run)?;
        let unsaid = if repeat.is_whole() { NOTHING_ENDED } else { NOT_FINISHED };
        let reason = || repeat.reason.clone().unwrap_or_else(|| unsaid.to_owned());
        Ok(nopm.filter(|nopm| repeat.is_whole() && *nopm > 0.0).ok_or_else(reason))
    }

    /// All cells have the clock of the first one.
    fn keep_dilation(&mut self, run: RepeatId) -> LabResult<()> {
        let found = Dilation::new(self.results.repeat(run)?.dilation);
        if let (Server::Private(private), Some(dilation)) = (&mut self.cell.server, found)
            && private.dilate.fixed().is_none()
        {
            private.dilate = Dilate::By(dilation);
            self.cells.clear();
        }
        Ok(())
    }
}

/// What is to be said of a start whose throughput changed while proposals were measured.
fn drift(starts: &[f64]) -> Option<String> {
    let (first, later) = starts.split_first()?;
    let last = mean(&later[later.len().saturating_sub(LAST_STARTS)..])?;
    (!STEADY.contains(&(last / first))).then(|| {
        format!(
            "{START_NAME} did {first:.0} NOPM at first and {last:.0} at the end: something else \
             loaded it or its host, or its data grew. Each gain is one of windows side by side; \
             measure again under a steady load before you rely on it"
        )
    })
}

/// Why nobody measures it, where that is so.
fn never_measured(finding: &Finding) -> Option<String> {
    if finding.changes.is_empty() {
        return Some("no variable does it".to_owned());
    }
    if finding.risks.iter().any(|risk| matches!(risk, Risk::Durability(_))) {
        return Some("it gives up durability, which no throughput is worth by itself".to_owned());
    }
    (finding.gain == Gain::Safety).then(|| "it protects data, whatever that costs".to_owned())
}

/// Why it is not measured on a server that mydyno starts.
fn refused_by_private(finding: &Finding) -> Option<String> {
    let set = finding.changes.iter();
    let set = set.map(|change| (change.variable.to_owned(), change.proposed.clone()));
    let refused = server::validate_settings(&set.collect::<Vec<_>>()).err();
    refused.map(|error| format!("mydyno cannot set it on a private server: {error}"))
}

/// Why it is not measured on a server that is there already.
fn refused_by_external(finding: &Finding) -> Option<String> {
    let why = if finding.restart_needed {
        "the server would have to be restarted"
    } else if finding.changes.iter().any(|change| acts_on_new_data_only(change.variable)) {
        "its data would have to be made anew"
    } else {
        return None;
    };
    Some(format!("{why}; prove it on private ones (--engine)"))
}

/// What the rules can be asked of a server under the load of a stored run.
pub(crate) fn snapshot_of_run(results: &Results, run: RepeatId) -> LabResult<ServerSnapshot> {
    let snapshot = stored_snapshot(results, run, account_of(results, run)?)?;
    snapshot.ok_or_else(|| {
        LabError::Unfit(
            "the version of this server names no release to advise; ask it for @@version"
                .to_owned(),
        )
    })
}

fn no_result(what: &str, reason: &str) -> LabError {
    LabError::Unfit(format!("{what} has no result: {reason}; mend that, or ask for another load"))
}

#[cfg(test)]
mod tests {
    use super::{drift, refused_by_external};
    use crate::tests::finding;

    #[test]
    fn data_of_a_server_that_is_there_are_not_made_anew() {
        let refused = |variable| refused_by_external(&finding("x", &[variable]));
        assert_eq!(refused("innodb_io_capacity"), None);
        let why = refused("innodb_fill_factor").unwrap_or_default();
        assert!(why.contains("made anew") && why.contains("--engine"), "{why}");
    }

    #[test]
    fn a_start_that_changes_is_told() {
        assert_eq!(drift(&[100.0]), None);
        assert_eq!(drift(&[100.0, 30.0, 90.0, 120.0, 80.0, 110.0, 120.0]), None);
        let told = drift(&[100.0, 110.0, 45.0, 55.0, 50.0, 45.0, 55.0]).unwrap_or_default();
        assert!(told.contains("did 100 NOPM at first and 50 at the end"), "{told}");
    }
}
