//! What the numbers of a lab do not carry, and what to do about it; and what survived of what it
//! ended on purpose.

use super::cells::LabCells;
use super::evidence::CellEvidence;
use super::words::some_of;
use crate::account::bound::BoundBy;
use crate::account::host_shortfall::FIDELITY_MIN;
use crate::lab::drills::DrillFigures;
use crate::lab::outcomes::LabOutcome;
use crate::stats::blocks::CLAIM_REPEATS_MIN;
use base::counted;
use itertools::Itertools;
use std::collections::BTreeMap;

/// What cannot be said, the gravest first.
pub fn limits(lab: &LabOutcome, cells: &LabCells<'_>, evidence: &[CellEvidence]) -> Vec<String> {
    let of_windows = [silent, too_short, host, driver].into_iter();
    let of_windows = of_windows.filter_map(|limit| limit(cells, evidence));
    let limits = missing(lab).into_iter().chain(failed(cells)).chain(of_windows);
    limits.chain(few_repeats(lab, cells)).collect()
}

fn missing(lab: &LabOutcome) -> Option<String> {
    let first = lab.reason.as_deref().map(|reason| reason.lines().next().unwrap_or_default());
    let because = first.map_or_else(String::new, |first| format!(": {first}"));
    (lab.status != "done").then(|| format!("The lab is {}{because}.", lab.status))
}

/// Cells that have no result, by the reason of their last repeat; and those that have fewer than
/// they have repeats, because some failed.
fn failed(cells: &LabCells<'_>) -> Vec<String> {
    /// How many repeats failed of how many, where some did not, and why.
    type Failed<'a> = (Option<(usize, usize)>, &'a str);
    let mut by: BTreeMap<Failed<'_>, Vec<usize>> = BTreeMap::new();
    for (at, cell) in cells.all.iter().enumerate() {
        let some = cell.nopm.mean.map(|_| cell.failures());
        let codes = cell.repeats.iter().rev().filter(|of| some.is_none() || of.has_failed);
        let code = codes.into_iter().find_map(|of| of.reason_code.as_deref());
        if let Some(code) = code {
            by.entry((some, code)).or_default().push(at);
        }
    }
    let words = |((some, code), of): (_, Vec<usize>)| match (some, cells.words(&of).as_str()) {
        (None, "") => format!("There is no result: {code}."),
        (None, which) => format!("There is no result of {which}: {code}."),
        (Some((failed, all)), "") => {
            format!("{failed} of {all} repeats have no result: {code}.")
        }
        (Some((failed, all)), which) => format!(
            "{failed} of {all} repeats have no result ({code}), so that nothing is claimed against \
             cells that failed less often: {which}."
        ),
    };
    by.into_iter().map(words).collect()
}

/// Cells of which there is such evidence, as words behind what they have, and the evidence of each.
fn told_of<T>(
    cells: &LabCells<'_>,
    evidence: &[CellEvidence],
    what: impl Fn(&CellEvidence) -> Option<T>,
) -> Option<(String, Vec<T>)> {
    let (places, found): (Vec<usize>, Vec<T>) = cells.evidence(evidence, what).into_iter().unzip();
    let which = match cells.words(&places).as_str() {
        "" => String::new(),
        which => format!(" of {which}"),
    };
    (!places.is_empty()).then_some((which, found))
}

/// Servers that stood still for a while.
fn silent(cells: &LabCells<'_>, evidence: &[CellEvidence]) -> Option<String> {
    let (which, silences_s) = told_of(cells, evidence, |of| of.silence_s)?;
    let longest_s = silences_s.into_iter().max_by(f64::total_cmp)?;
    Some(format!(
        "For up to {longest_s:.1} s nothing ended well in windows{which}, although transactions \
         were in flight or failed: the means tell of a server that stood still, or was gone, for a \
         while."
    ))
}

/// Windows that hold few response times.
fn too_short(cells: &LabCells<'_>, evidence: &[CellEvidence]) -> Option<String> {
    let (which, _) = told_of(cells, evidence, |of| of.is_too_short.then_some(()))?;
    Some(format!(
        "Windows{which} are too short for the response times: what was in flight at their ends is \
         much beside what ended in them. Take longer ones."
    ))
}

/// Emulated devices that this host could not keep up with.
fn host(cells: &LabCells<'_>, evidence: &[CellEvidence]) -> Option<String> {
    let is_low = |of: &CellEvidence| of.fidelity.filter(|share| *share < FIDELITY_MIN);
    let (which, low) = told_of(cells, evidence, is_low)?;
    let shares = || low.iter().map(|share| *share * 100.0);
    let least = shares().min_by(f64::total_cmp)?;
    let most = shares().max_by(f64::total_cmp)?;
    let range = [least, most].map(|percent| format!("{:.0}", percent.floor()));
    let range = format!("{} %", range.iter().unique().join(" to "));
    let needed = told_of(cells, evidence, |of| of.dilation_needed.filter(|_| is_low(of).is_some()));
    let needed = needed.and_then(|(_, factors)| factors.into_iter().max_by(f64::total_cmp));
    let remedy = match needed {
        Some(factor) => format!("`--dilate {factor}` would have been enough"),
        None => "`--dilate auto` looks for what would be enough".to_owned(),
    };
    Some(format!(
        "Only {range} of the requests to emulated devices were in time, so that the results{which} \
         tell of this host as much as of the device: {remedy}."
    ))
}

/// Where mydyno itself was the limit.
fn driver(cells: &LabCells<'_>, evidence: &[CellEvidence]) -> Option<String> {
    let by_driver = |of: &CellEvidence| of.bound_by.filter(|by| *by == BoundBy::Driver);
    let (which, _) = told_of(cells, evidence, by_driver)?;
    Some(format!(
        "The results{which} are mydyno's own limit and not the server's: give it more threads \
         (`--driver-threads`) or cores."
    ))
}

/// Cells that support no claim.
fn few_repeats(lab: &LabOutcome, cells: &LabCells<'_>) -> Option<String> {
    let few = |at: &usize| (1..CLAIM_REPEATS_MIN).contains(&cells.all[*at].counted_repeats());
    let few: Vec<usize> = (0..cells.all.len()).filter(few).collect();
    if few.is_empty() || !lab.ramps.is_empty() {
        return None;
    }
    Some(match cells.words(&few).as_str() {
        "" => format!(
            "It has fewer than {CLAIM_REPEATS_MIN} repeats: how another would differ is not known."
        ),
        which => format!(
            "Fewer than {CLAIM_REPEATS_MIN} repeats, so that no difference is claimed: {which}. \
             `repeats = {CLAIM_REPEATS_MIN}` in a plan, or more, tells what is beyond chance."
        ),
    })
}

/// What was lost of the cells whose servers or devices were ended on purpose.
pub fn survived(lab: &LabOutcome, cells: &LabCells<'_>) -> Vec<String> {
    let all: u32 = lab.drills.iter().map(|of| of.drills).sum();
    if all == 0 {
        return Vec::new();
    }
    let with = |of: &DrillFigures| {
        let at = cells.all.iter().position(|cell| cell.ordinal == of.ordinal);
        let label = at.map_or_else(String::new, |at| cells.label(at));
        if label.is_empty() { String::new() } else { format!(" with {label}") }
    };
    let which = |is_hit: &dyn Fn(&DrillFigures) -> u32| {
        let hit = lab.drills.iter().filter(|of| is_hit(of) > 0);
        let words = hit.map(|of| format!("{} of {}{}", is_hit(of), of.drills, with(of)));
        words.collect::<Vec<String>>()
    };
    let unexplained = lab.drills.iter().filter(|of| of.unexplained() > 0);
    let unexplained = unexplained
        .map(|of| format!("{} after {} drills{}", of.unexplained(), of.drills, with(of)));
    let kinds = [
        ("Acknowledged transactions were lost in", which(&|of| of.with_losses)),
        ("The database was damaged in", which(&|of| of.damaged)),
        ("The server did not recover in", which(&|of| of.drills - of.recovered)),
        (
            "Rows were there that no transaction explains, neither acknowledged nor in doubt:",
            unexplained.collect(),
        ),
    ];
    let told = kinds.into_iter().filter(|(_, places)| !places.is_empty());
    let told = told.map(|(title, places)| format!("{title} {}.", some_of(places))).collect_vec();
    if told.is_empty() {
        return vec![format!(
            "In {} nothing was lost that was acknowledged, and nothing damaged.",
            counted(all as usize, "drill", "drills")
        )];
    }
    told
}
