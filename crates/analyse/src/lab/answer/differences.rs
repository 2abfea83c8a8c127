//! What values and connections do to throughput, where it is shown.

use super::cells::LabCells;
use super::words::{NAMED_MAX, listed, some_of};
use crate::lab::comparisons::{CellComparison, ComparedCell};
use crate::lab::matrix::NamedValue;
use crate::lab::outcomes::LabOutcome;
use crate::lab::ratios::Ratio;
use crate::lab::sweep::{Sweep, Turning, over_connections};
use base::by_key;
use itertools::Itertools;

/// Places that are told one by one with their intervals; of more, the least and the most.
const PLACES_MAX: usize = 2;

/// A comparison with a baseline, and where it was made.
struct ComparedPlace<'a> {
    /// What else was set; nothing where nothing else varies.
    others: String,
    ratio: &'a Ratio,
    times: f64,
}

/// A sentence for each value of each dimension but connections, against the first; of a variable
/// with several amounts, where it turns.
pub fn by_value(lab: &LabOutcome, cells: &LabCells<'_>) -> Vec<String> {
    let metric = lab.metric().title();
    let (mut sentences, mut without) = (Vec::new(), Vec::new());
    for dimension in cells.matrix.dimensions() {
        let turns: Vec<&Sweep> =
            lab.sweeps.iter().filter(|sweep| sweep.dimension == dimension.name).collect();
        if turns.iter().any(|sweep| sweep.turning.is_some()) {
            sentences.extend(turns.iter().filter_map(|sweep| turn(sweep, turns.len() > 1)));
            continue;
        }
        let tables: Vec<&CellComparison> =
            lab.comparisons.iter().filter(|of| of.dimension == dimension.name).collect();
        let [first, others @ ..] = dimension.values.as_slice() else { continue };
        let baseline = dimension.named(0).words();
        let of = format!(" the {metric} of {baseline}");
        let mut alike = Vec::new();
        for (at, value) in others.iter().enumerate() {
            let places = places(cells, &tables, value, first);
            let name = dimension.named(at + 1).words();
            match difference(&name, &of, &places) {
                Some(words) => sentences.push(words),
                None if places.is_empty() => {}
                None => {
                    let all: Vec<&ComparedPlace> = places.iter().collect();
                    alike.push(format!("{name} ({} times)", extent(&all)));
                }
            }
        }
        if !alike.is_empty() {
            without.push(format!("No difference from {baseline} is shown for {}.", some_of(alike)));
        }
    }
    sentences.extend(without);
    sentences
}

/// Where one variable turns, of values that support it; in one of `several` places.
fn turn(sweep: &Sweep, several: bool) -> Option<String> {
    let turning = sweep.turning.as_ref().filter(|turning| turning.proven)?;
    let others = in_words_of(sweep.others.iter().filter(|_| several));
    let with = if others.is_empty() { String::new() } else { format!(" with {others}") };
    Some(format!("{}{with}: {}.", sweep.dimension, turning.finding))
}

fn in_words_of<'a>(others: impl Iterator<Item = &'a NamedValue>) -> String {
    others.map(NamedValue::words).collect::<Vec<_>>().join(", ")
}

/// Where `value` is compared with `baseline`, by repeats that support a claim.
fn places<'a>(
    cells: &LabCells<'_>,
    tables: &[&'a CellComparison],
    value: &str,
    baseline: &str,
) -> Vec<ComparedPlace<'a>> {
    let mut places = Vec::new();
    // What is the same wherever values are compared goes without saying.
    let varies = |other: &&NamedValue| {
        let others = || tables.iter().flat_map(|table| &table.others);
        others().any(|of| of.name == other.name && of.value != other.value)
    };
    for table in tables.iter().filter(|table| table.baseline == baseline) {
        let row = |value: &str| table.rows.iter().find(|row| row.value == value);
        let claimed = row(value).filter(|row| row.nopm.p_corrected.is_some());
        let claimed =
            claimed.filter(|of| row(baseline).is_none_or(|base| supports(cells, of, base)));
        places.extend(claimed.and_then(|ComparedCell { nopm: ratio, .. }| {
            let others = in_words_of(table.others.iter().filter(varies));
            Some(ComparedPlace { others, ratio, times: ratio.ratio.value? })
        }));
    }
    places.sort_by(|one, other| other.times.total_cmp(&one.times));
    places
}

/// May something be said of a cell against its base? Not of one that failed more often, and not
/// against a base that did and has the better numbers.
fn supports(cells: &LabCells<'_>, row: &ComparedCell, base: &ComparedCell) -> bool {
    let cell = |of: &ComparedCell| cells.all.iter().find(|cell| cell.ordinal == of.ordinal);
    let Some((of, base)) = cell(row).zip(cell(base)) else { return false };
    let is_less = row.nopm.ratio.value.is_some_and(|ratio| ratio < 1.0);
    !(of.failed_more_often(base) || is_less && base.failed_more_often(of))
}

/// What is shown of a value, as times `of` the baseline; `None` where nothing is.
fn difference(value: &str, of: &str, all: &[ComparedPlace<'_>]) -> Option<String> {
    let (differ, open): (Vec<&ComparedPlace>, Vec<&ComparedPlace>) =
        all.iter().partition(|p| p.ratio.differs());
    let (more, less): (Vec<&ComparedPlace>, Vec<&ComparedPlace>) =
        differ.iter().partition(|p| p.times > 1.0);
    let mut words = match (more.as_slice(), less.as_slice()) {
        ([], []) => return None,
        (places, []) | ([], places) => format!("{value} gives {}", times(places, of)),
        (more, less) => format!(
            "What is best depends on what else is set: {value} gives {} and {}",
            times(more, of),
            times(less, "")
        ),
    };
    let open: Vec<String> = open.iter().map(|place| place.others.clone()).collect();
    match open.len() {
        0 => {}
        1..=PLACES_MAX => words += &format!("; no difference is shown with {}", listed(&open)),
        count => words += &format!("; no difference is shown in {count} other places"),
    }
    Some(words + ".")
}

/// `2.2 times (95 %: 1.9 to 2.6) the NOPM of hdd-15k with config-1 and 1.40 times (95 %: 1.31 to
/// 1.50) with config-3`; of many places, from the least to the most. `of` follows the first.
fn times(places: &[&ComparedPlace<'_>], of: &str) -> String {
    let with = |place: &ComparedPlace<'_>| match place.others.as_str() {
        "" => String::new(),
        others => format!(" with {others}"),
    };
    if let [most, .., least] = places
        && places.len() > PLACES_MAX
    {
        let [from, to] = [least.times, most.times].map(number);
        return format!(
            "{from} to {to} times{of}: the least{}, the most{}",
            with(least),
            with(most)
        );
    }
    let one = |(at, place): (usize, &&ComparedPlace<'_>)| {
        let of = if at == 0 { of } else { "" };
        format!("{} times ({}){of}{}", number(place.times), extent(&[place]), with(place))
    };
    listed(&places.iter().enumerate().map(one).collect::<Vec<_>>())
}

/// `95 %: 1.9 to 2.6`: what holds all of their intervals.
fn extent(places: &[&ComparedPlace<'_>]) -> String {
    let lows = places.iter().filter_map(|place| place.ratio.ratio.low);
    let highs = places.iter().filter_map(|place| place.ratio.ratio.high);
    match lows.min_by(f64::total_cmp).zip(highs.max_by(f64::total_cmp)) {
        Some((low, high)) => format!("95 %: {} to {}", number(low), number(high)),
        None => "no interval".to_owned(),
    }
}

fn number(times: f64) -> String {
    match times {
        ..2.0 => format!("{times:.2}"),
        ..10.0 => format!("{times:.1}"),
        _ => format!("{times:.0}"),
    }
}

/// What the best cell gave, where too few repeats support a claim: how many times what others gave
/// that differ from it in one thing, by their means. `None` where there are no such cells.
pub fn measured(cells: &LabCells<'_>, best: usize, gave: &str) -> Option<String> {
    let of_best = &cells.all[best];
    let mut groups = Vec::new();
    let mut repeats = vec![of_best.counted_repeats()];
    for (index, dimension) in cells.matrix.dimensions().iter().enumerate() {
        // Cells that differ from the best in that dimension alone and failed no more often: how
        // many times theirs the best's mean is, their value, and how many repeats they have.
        let beside = |(value, cell): (usize, usize)| {
            let other = &cells.all[cell];
            let times = of_best.nopm.mean? / other.nopm.mean.filter(|mean| *mean > 0.0)?;
            let is_fair = cell != best && !other.failed_more_often(of_best);
            is_fair.then(|| (times, dimension.named(value).words(), other.counted_repeats()))
        };
        let mut slices = cells.matrix.slices(index).into_iter();
        let slice = slices.find(|slice| slice.cells.iter().any(|(_, cell)| *cell == best));
        let others = slice.into_iter().flat_map(|slice| slice.cells).filter_map(beside);
        let mut others = others.sorted_by(|one, other| one.0.total_cmp(&other.0)).collect_vec();
        repeats.extend(others.iter().map(|(_, _, repeats)| *repeats));
        // Of many, the nearest and the last.
        if let Some(dropped @ 1..) = others.len().checked_sub(NAMED_MAX) {
            others.drain(NAMED_MAX - 1..NAMED_MAX - 1 + dropped);
        }
        let named = others.iter().map(|(times, of, _)| format!("{} times {of}", number(*times)));
        groups.extend(named.reduce(|one, other| format!("{one}, {other}")));
    }
    let runs = match repeats.iter().all_equal_value() {
        Ok(1) => "one run each",
        Ok(2) => "two runs each",
        _ => "few runs each",
    };
    (!groups.is_empty()).then(|| {
        let (label, groups) = (cells.label(best), groups.join("; "));
        format!("{label} gave {gave}, {groups}; {runs}, so chance is not excluded.")
    })
}

/// A line of cells over connections, of which enough repeats tell where it turns, grouped by that.
pub fn by_connections(cells: &LabCells<'_>) -> Vec<String> {
    let sweeps = over_connections(cells.all, &cells.matrix);
    let verdicts = by_key(sweeps.iter().filter_map(|sweep| {
        let words = where_it_turns(sweep.turning.as_ref().filter(|turning| turning.proven)?)?;
        Some((words, in_words_of(sweep.others.iter())))
    }));
    let sentence = |(words, lines): (String, Vec<String>)| {
        if lines.len() == sweeps.len() {
            format!("{words}.")
        } else {
            format!("{words}: {}.", listed(&lines))
        }
    };
    verdicts.into_iter().map(sentence).collect()
}

fn where_it_turns(turning: &Turning) -> Option<String> {
    let Turning { best, enough, most, .. } = turning;
    // Beyond the last number nothing is said.
    let words = match (&turning.ends_at, enough) {
        (None, _) if turning.hurts => format!("More than {most} connections hurt"),
        (Some(end), _) if turning.hurts => format!("From {most} to {end} connections, more hurt"),
        (None, Some(enough)) => format!("More than {enough} connections gain 5 % at most"),
        (Some(end), Some(enough)) => {
            format!("From {enough} to {end} connections, throughput rises by 5 % at most")
        }
        (None, None) if turning.is_rising => {
            format!("Throughput still rises at {best} connections")
        }
        (Some(end), None) if turning.is_rising => {
            format!("Throughput rises up to {end} connections")
        }
        _ => return None,
    };
    Some(match turning.unknown.as_slice() {
        [] => words,
        unknown => format!("{words}; nothing is claimed of {}", listed(unknown)),
    })
}
