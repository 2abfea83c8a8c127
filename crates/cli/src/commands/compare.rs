//! `mydyno compare`.

use super::{lab_or_last, show_of};
use crate::arguments::{ResultsArguments, one_of};
use crate::failure::{Failure, Outcome};
use crate::text::format::{ms_with_interval, throughput_with_interval};
use analyse::{
    ComparisonAsked, Difference, PairedBy, Ratio, RunComparison, RunsAsked, Table, compare_runs,
};
use base::Exit;
use clap::Args;
use std::str::FromStr;
use store::{Aspect, RepeatId, Results};

#[derive(Args)]
pub struct CompareArguments {
    /// Baseline: the number of a lab (3), of a cell in it (3.2) or of a repeat of that (3.2.1);
    /// several runs of one configuration with commas (3,5,7)
    #[arg(value_name = "A")]
    pub base: RunNames,
    /// Measurement to compare with the baseline, named in the same way; the exit code is 7 where it
    /// is slower by more than --at-least
    #[arg(value_name = "B")]
    pub other: RunNames,
    /// Smallest slowdown that matters: the confidence interval of the ratio must exclude any
    /// smaller one
    #[arg(long, value_name = "SHARE", default_value = "2%", value_parser = slowdown)]
    pub at_least: f64,
    /// Aspects that the two may differ in, with commas; any other difference is refused
    #[arg(
        long, value_name = "ASPECTS", value_delimiter = ',',
        value_parser = one_of(Aspect::NAMED, Aspect::name)
    )]
    pub across: Vec<Aspect>,
    #[command(flatten)]
    pub results: ResultsArguments,
    /// Print one JSON document on stdout
    #[arg(long)]
    pub json: bool,
}

fn slowdown(text: &str) -> Result<f64, String> {
    let share = base::parse_share(text).filter(|share| *share < 1.0);
    share.ok_or_else(|| "write 2% or 0.02, above 0 and below 100%".to_owned())
}

/// Runs as they are named on the command line: `3`, `3.2`, `3.2.1`, several with commas.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunNames {
    pub text: String,
    pub names: Vec<RunName>,
}

/// Numbers of a lab, of a cell in it and of a repeat of that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunName {
    pub lab: i64,
    pub cell: Option<u32>,
    pub repeat: Option<u32>,
}

impl FromStr for RunNames {
    type Err = String;

    fn from_str(text: &str) -> Result<RunNames, String> {
        let names: Option<Vec<RunName>> = text.split(',').map(RunName::parse).collect();
        let names = names.ok_or(
            "use the number of a lab (3), of a cell in it (3.2) or of a repeat of that (3.2.1), or \
             several with commas (3,5,7)",
        )?;
        Ok(RunNames { text: text.to_owned(), names })
    }
}

impl RunName {
    fn parse(text: &str) -> Option<RunName> {
        let numbers: Vec<u32> =
            text.split('.').map(|number| number.parse().ok()).collect::<Option<_>>()?;
        let (lab, cell, repeat) = match numbers[..] {
            [lab] => (lab, None, None),
            [lab, cell] => (lab, Some(cell), None),
            [lab, cell, repeat] => (lab, Some(cell), Some(repeat)),
            _ => return None,
        };
        Some(RunName { lab: i64::from(lab), cell, repeat })
    }
}

/// Lines and values that are listed; --json has all.
const DIFFERENCES_MAX: usize = 20;
const VALUES_MAX: usize = 3;

/// Runs the command.
pub fn run(arguments: &CompareArguments) -> Outcome {
    let results = Results::open(&arguments.results.results)?;
    let asked = ComparisonAsked {
        base: asked(&results, &arguments.base)?,
        other: asked(&results, &arguments.other)?,
        at_least_share: arguments.at_least,
    };
    let mut repeats = asked.base.repeats.iter();
    if let Some(both) = repeats.find(|repeat| asked.other.repeats.contains(repeat)) {
        let message = format!("repeat {both} is on both sides; name each run once");
        return Err(Failure::usage(message));
    }
    let comparison = compare_runs(&results, &asked)?;
    let mut sides = [&comparison.base, &comparison.other].into_iter();
    if let Some(side) = sides.find(|side| side.repeat_ids.is_empty()) {
        let message = format!("{} has no run with a result; nothing can be compared", side.name);
        return Err(Failure::new(Exit::Failed, message));
    }
    require_like(&comparison, &arguments.across)?;
    show_of(comparison.base.metric, arguments.json, &comparison, || text(&comparison))?;
    Ok(if comparison.regression { Exit::Regression } else { Exit::Ok })
}

/// Differences that may be what the numbers differ by have to be named.
fn require_like(comparison: &RunComparison, across: &[Aspect]) -> Result<(), Failure> {
    let unlike = comparison.differences.iter().filter(|difference| {
        difference.aspect != Aspect::Seed && !across.contains(&difference.aspect)
    });
    let unlike: Vec<&Difference> = unlike.collect();
    let mut aspects: Vec<&str> = across.iter().map(|aspect| aspect.name()).collect();
    aspects.extend(unlike.iter().map(|difference| difference.aspect.name()));
    aspects.dedup();
    let (base, other) = (&comparison.base.name, &comparison.other.name);
    Failure::usage_if(
        !unlike.is_empty(),
        format_args!(
            "{base} and {other} are unlike:\n{}say --across {} where that is what you compare",
            listed(&unlike),
            aspects.join(",")
        ),
    )
}

/// A line for each, as many as a screen holds.
fn listed(all: &[&Difference]) -> String {
    let mut out = String::new();
    for Difference { aspect, name, base, other } in all.iter().take(DIFFERENCES_MAX) {
        let aspect = aspect.name();
        let what = if aspect == name { name.clone() } else { format!("{aspect}: {name}") };
        out += &format!("  {what}: {} | {}\n", values(base), values(other));
    }
    if all.len() > DIFFERENCES_MAX {
        out += &format!("  and {} more\n", all.len() - DIFFERENCES_MAX);
    }
    out
}

/// Of several values the first few.
fn values(all: &[String]) -> String {
    let shown = all.iter().take(VALUES_MAX).cloned().collect::<Vec<_>>();
    let more = if all.len() > VALUES_MAX { ", ..." } else { "" };
    shown.join(", ") + more
}

fn asked(results: &Results, names: &RunNames) -> Result<RunsAsked, Failure> {
    let repeats = names.names.iter().map(|name| repeats_of(results, *name));
    let repeats: Vec<_> = repeats.collect::<Result<_, _>>()?;
    Ok(RunsAsked { name: names.text.clone(), repeats: repeats.concat() })
}

/// The repeats of one name; a lab by itself must have one cell.
fn repeats_of(results: &Results, name: RunName) -> Result<Vec<RepeatId>, Failure> {
    let lab = lab_or_last(results, Some(name.lab))?;
    let cells = results.cells(lab)?;
    let count = cells.len();
    let cell = match (name.cell, &cells[..]) {
        (None, [only]) => Ok(only),
        (None, _) => Err(format!("lab {lab} has {count} cells; name one, such as {lab}.1")),
        (Some(ordinal), _) => {
            let cell = cells.iter().find(|cell| cell.what.ordinal == ordinal);
            cell.ok_or_else(|| format!("lab {lab} has no cell {ordinal}; it has {count}, from 1"))
        }
    };
    let cell = cell.map_err(Failure::usage)?;
    let mut repeats = results.repeats(cell.id)?;
    let (cell, count) = (cell.what.ordinal, repeats.len());
    if let Some(ordinal) = name.repeat {
        repeats.retain(|repeat| repeat.ordinal == ordinal);
        Failure::usage_if(
            repeats.is_empty(),
            format_args!("cell {lab}.{cell} has no repeat {ordinal}; it has {count}, from 1"),
        )?;
    }
    Ok(repeats.iter().map(|repeat| repeat.id).collect())
}

fn text(comparison: &RunComparison) -> String {
    let mut out = String::new();
    let (base, other) = (&comparison.base, &comparison.other);
    if !comparison.differences.is_empty() {
        let listed = listed(&comparison.differences.iter().collect::<Vec<_>>());
        out += &format!("{} | {} differ in\n{listed}\n", base.name, other.name);
    }
    let metric = base.metric;
    let p95 = format!("{} p95", metric.transaction());
    out += &Table::of([base, other])
        .words("", |side| side.name.clone())
        .numbers(metric.title(), |side| throughput_with_interval(&side.nopm))
        .numbers(&format!("{p95}, ms"), |side| ms_with_interval(&side.new_order_p95_us, 2))
        .text();
    let paired = match comparison.paired_by {
        Some(PairedBy::Block) => "inside blocks",
        Some(PairedBy::Time) => "each with its neighbour in time",
        None => "not in turns",
    };
    let pairs = base::counted(comparison.pairs, "pair", "pairs");
    out += &format!("compared {paired}, {pairs}\n");
    let lines = [(metric.title(), &comparison.nopm), (p95.as_str(), &comparison.new_order_p95_us)];
    for (name, found) in lines {
        out += &format!("{name}: {}\n", difference(found));
    }
    for note in &comparison.notes {
        out += &format!("note: {note}\n");
    }
    out + &verdict(comparison) + "\n"
}

/// What follows for the exit code.
fn verdict(comparison: &RunComparison) -> String {
    let least = comparison.at_least_percent;
    let (base, other) = (&comparison.base.name, &comparison.other.name);
    if comparison.regression {
        format!("{other} is slower than {base} by more than {least} %")
    } else if comparison.regression_excluded {
        format!("that {other} is slower than {base} by more than {least} % is excluded")
    } else if comparison.nopm.p_corrected.is_some() {
        format!(
            "that {other} is slower than {base} by more than {least} % is neither shown nor \
             excluded"
        )
    } else {
        "no verdict on the difference".to_owned()
    }
}

/// Percent, ratio with its interval, and p.
fn difference(found: &Ratio) -> String {
    let Some((percent, ratio)) = found.percent_difference.zip(found.ratio.value) else {
        return "not compared".to_owned();
    };
    let mut text = format!("{percent:+.1} %, ratio {ratio:.3}");
    if let Some((low, high)) = found.ratio.interval() {
        text += &format!(" (95 %: {low:.3} to {high:.3})");
    }
    match found.p_value {
        Some(p) if p < 0.001 => text + ", p < 0.001",
        Some(p) => format!("{text}, p = {p:.3}"),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::{RunName, RunNames};

    #[test]
    fn names_of_runs() {
        let names = |text: &str| text.parse::<RunNames>().map(|names| names.names);
        let name = |lab, cell, repeat| RunName { lab, cell, repeat };
        assert_eq!(names("3"), Ok(vec![name(3, None, None)]));
        assert_eq!(names("3.2,4.1.5"), Ok(vec![name(3, Some(2), None), name(4, Some(1), Some(5))]));
        for wrong in ["", "a", "3.", "3.2.1.4", "-1", "3,,4", "99999999999"] {
            assert!(names(wrong).is_err(), "{wrong}");
        }
    }
}
