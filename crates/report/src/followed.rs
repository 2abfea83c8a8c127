//! A lab as it stands, for a page that follows it: its matrix, and the course of the repeat that is
//! measured now.

use crate::format::seconds;
use crate::panels::{Panels, panels};
use crate::series::{self, Series};
use analyse::{Part, ReadRepeat, Samples, account_so_far, labels_of_stored};
use base::Dilation;
use serde::Serialize;
use std::collections::btree_map::{BTreeMap, Entry};
use store::{
    LabId, LabStatus, Rates, Repeat, RepeatId, RepeatStatus, Results, StoreResult, StoredCell,
};

/// Points of each line; the page is drawn anew with each.
const POINTS_MAX: u64 = 240;

/// A lab as it stands.
#[derive(Debug, Serialize)]
pub struct FollowedLab {
    pub name: String,
    pub status: &'static str,
    pub reason: Option<String>,
    /// `NOPM`.
    pub throughput: &'static str,
    /// Repeats that have ended, of so many; `None` where no plan says how many.
    pub ended: usize,
    pub turns: Option<u32>,
    /// Seconds that the others will take, by those that have ended.
    pub left_s: Option<f64>,
    pub cells: Vec<FollowedCell>,
    pub running: Option<RunningRepeat>,
}

/// A cell of the matrix.
#[derive(Debug, Serialize)]
pub struct FollowedCell {
    pub ordinal: u32,
    pub label: String,
    pub repeats: Vec<FollowedRepeat>,
}

#[derive(Debug, Serialize)]
pub struct FollowedRepeat {
    pub status: &'static str,
    pub reason_code: Option<String>,
    /// `None` until it has ended, and of one that failed.
    pub throughput: Option<f64>,
}

/// The repeat that is measured now. Times are from its start, dilated where it is.
#[derive(Debug, Serialize)]
pub struct RunningRepeat {
    pub cell: String,
    pub repeat: u32,
    /// In how slow a time, for people; `None` is real time.
    pub dilation: Option<String>,
    pub elapsed_s: f64,
    pub warmup_s: f64,
    pub window_s: f64,
    pub series: Series,
    pub observed: Panels,
    /// What a transaction waits for in the window so far; empty until that is known.
    pub account: Vec<AccountPart>,
}

/// A part of a transaction's time.
#[derive(Debug, Serialize)]
pub struct AccountPart {
    pub title: &'static str,
    pub time_us: f64,
}

/// Follows one lab: what has ended is read once.
#[derive(Debug)]
pub struct LabFollower {
    lab: LabId,
    throughput: BTreeMap<RepeatId, Option<f64>>,
}

impl LabFollower {
    pub fn of(lab: LabId) -> LabFollower {
        LabFollower { lab, throughput: BTreeMap::new() }
    }

    /// The lab as the file has it now.
    ///
    /// # Errors
    /// There is no such lab, or the file cannot be read.
    pub fn read(&mut self, results: &Results) -> StoreResult<FollowedLab> {
        let lab = results.lab(self.lab)?;
        let cells = results.cells(self.lab)?;
        let names = labels_of_stored(&cells);
        let metric = cells.first().map(|cell| cell.what.throughput_metric).unwrap_or_default();
        let (mut followed, mut running, mut took_ns) = (Vec::new(), None, Vec::new());
        for (cell, (label, _)) in cells.iter().zip(names) {
            let mut repeats = Vec::new();
            for repeat in results.repeats(cell.id)? {
                if repeat.status == RepeatStatus::Running && lab.status == LabStatus::Running {
                    running = Some(running_repeat(results, cell, &label, &repeat)?);
                }
                took_ns.extend(repeat.finished_utc_ns.map(|end| end - repeat.started_utc_ns));
                repeats.push(FollowedRepeat {
                    status: repeat.status.name(),
                    throughput: self.throughput(results, &repeat)?,
                    reason_code: repeat.reason_code,
                });
            }
            followed.push(FollowedCell { ordinal: cell.what.ordinal, label, repeats });
        }
        let ended = took_ns.len();
        let left = lab.turns.map(|turns| (turns as usize).saturating_sub(ended));
        let each_s = took_ns.iter().sum::<i64>() as f64 / 1e9 / ended.max(1) as f64;
        let is_running = lab.status == LabStatus::Running && ended > 0;
        Ok(FollowedLab {
            status: lab.status.name(),
            throughput: metric.title(),
            left_s: left.filter(|_| is_running).map(|left| left as f64 * each_s),
            turns: lab.turns,
            reason: lab.reason,
            name: lab.name,
            ended,
            cells: followed,
            running,
        })
    }

    /// Of a repeat that is done.
    fn throughput(&mut self, results: &Results, repeat: &Repeat) -> StoreResult<Option<f64>> {
        Ok(match self.throughput.entry(repeat.id) {
            _ if repeat.status != RepeatStatus::Done => None,
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(new) => {
                *new.insert(Rates::of(repeat, &results.window_totals(repeat.id)?).nopm)
            }
        })
    }
}

fn running_repeat(
    results: &Results,
    cell: &StoredCell,
    label: &str,
    repeat: &Repeat,
) -> StoreResult<RunningRepeat> {
    let (series, totals) = series::read(results, repeat.id, POINTS_MAX)?;
    let end_s = series.time_s.last().copied().unwrap_or(0.0);
    let is_emulated = cell.what.places.iter().any(|place| place.emulated);
    let samples = Samples::read(results, repeat.id)?;
    let of = ReadRepeat { results, repeat, cell, totals: &totals, samples: &samples };
    let account = account_so_far(of, (end_s * 1e9) as u64)?;
    let part = |part: Part| {
        let time_us = account?.parts[part]?;
        Some(AccountPart { title: part.title(), time_us })
    };
    Ok(RunningRepeat {
        account: Part::ALL.into_iter().filter_map(part).collect(),
        cell: label.to_owned(),
        repeat: repeat.ordinal,
        dilation: Dilation::new(repeat.dilation).and_then(Dilation::in_words),
        elapsed_s: end_s,
        warmup_s: seconds(cell.what.warmup_ns),
        window_s: seconds(cell.what.window_ns),
        series,
        observed: panels(&samples, end_s, POINTS_MAX, is_emulated),
    })
}
