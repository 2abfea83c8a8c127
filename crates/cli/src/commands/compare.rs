//! `mydyno compare`.

use super::{lab_or_last, print_json};
use crate::arguments::CompareArguments;
use crate::console::print;
use crate::failure::{Failure, Outcome};
use analyse::{Basis, Comparison, RunComparison, RunsAsked, Value, compare_runs};
use base::Exit;
use std::fmt::Write;
use std::str::FromStr;
use store::{RepeatId, Results};

/// Runs the command.
pub fn run(arguments: &CompareArguments) -> Outcome {
    let results = Results::open(&arguments.results.results)?;
    let base = asked(&results, &arguments.base)?;
    let other = asked(&results, &arguments.other)?;
    let comparison = compare_runs(&results, &base, &other)?;
    for side in [&comparison.base, &comparison.other] {
        if side.repeat_ids.is_empty() {
            let words = format!(
                "{} has no run with a result; nothing can be compared",
                side.name
            );
            return Err(Failure::new(Exit::Failed, words));
        }
    }
    if arguments.json {
        print_json(&comparison)?;
    } else {
        print(words(&comparison))?;
    }
    Ok(if comparison.regression {
        Exit::Regression
    } else {
        Exit::Ok
    })
}

/// Runs as they are named on the command line: `3`, `3.2`, `3.2.1`, several with commas.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunNames {
    text: String,
    names: Vec<RunName>,
}

/// Numbers of a lab, of a cell in it and of a repeat of that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct RunName {
    lab: i64,
    cell: Option<u32>,
    repeat: Option<u32>,
}

impl FromStr for RunNames {
    type Err = String;

    fn from_str(text: &str) -> Result<RunNames, String> {
        let names: Option<Vec<RunName>> = text.split(',').map(RunName::parse).collect();
        let names = names.ok_or(
            "use the number of a lab (3), of a cell in it (3.2) or of a repeat of that (3.2.1), or several with commas (3,5,7)",
        )?;
        Ok(RunNames {
            text: text.to_owned(),
            names,
        })
    }
}

impl RunName {
    fn parse(text: &str) -> Option<RunName> {
        let numbers: Vec<u32> = text
            .split('.')
            .map(|number| number.parse().ok())
            .collect::<Option<_>>()?;
        let (lab, cell, repeat) = match numbers[..] {
            [lab] => (lab, None, None),
            [lab, cell] => (lab, Some(cell), None),
            [lab, cell, repeat] => (lab, Some(cell), Some(repeat)),
            _ => return None,
        };
        Some(RunName {
            lab: i64::from(lab),
            cell,
            repeat,
        })
    }
}

fn asked(results: &Results, names: &RunNames) -> Result<RunsAsked, Failure> {
    let mut repeats = Vec::new();
    for name in &names.names {
        repeats.extend(repeats_of(results, *name)?);
    }
    Ok(RunsAsked {
        name: names.text.clone(),
        repeats,
    })
}

/// The repeats of one name; a lab by itself must have one cell.
fn repeats_of(results: &Results, name: RunName) -> Result<Vec<RepeatId>, Failure> {
    let lab = lab_or_last(results, Some(name.lab))?;
    let cells = results.cells(lab)?;
    let refuse = |words: String| Err(Failure::new(Exit::Usage, words));
    let cell = match (name.cell, &cells[..]) {
        (None, [only]) => only,
        (None, _) => {
            let count = cells.len();
            return refuse(format!(
                "lab {lab} has {count} cells; name one, such as {lab}.1"
            ));
        }
        (Some(ordinal), _) => match cells.iter().find(|cell| cell.what.ordinal == ordinal) {
            Some(cell) => cell,
            None => {
                let count = cells.len();
                return refuse(format!(
                    "lab {lab} has no cell {ordinal}; it has {count}, from 1"
                ));
            }
        },
    };
    let repeats = results.repeats(cell.id)?;
    let wanted = repeats
        .iter()
        .filter(|repeat| name.repeat.is_none_or(|ordinal| ordinal == repeat.ordinal));
    let ids: Vec<RepeatId> = wanted.map(|repeat| repeat.id).collect();
    match (ids.is_empty(), name.repeat) {
        (true, Some(ordinal)) => {
            let (cell, count) = (cell.what.ordinal, repeats.len());
            refuse(format!(
                "cell {lab}.{cell} has no repeat {ordinal}; it has {count}, from 1"
            ))
        }
        _ => Ok(ids),
    }
}

fn words(comparison: &RunComparison) -> String {
    let mut out = String::new();
    let (base, other) = (&comparison.base, &comparison.other);
    let width = base.name.len().max(other.name.len()).max(4);
    // Writing to a string cannot fail, here and below.
    let _ = writeln!(
        out,
        "{:<width$}  {:>24}  {:>24}",
        "", "NOPM", "new order p95, ms"
    );
    for side in [base, other] {
        let _ = writeln!(
            out,
            "{:<width$}  {:>24}  {:>24}",
            side.name,
            interval(&side.nopm, 1.0, 0),
            interval(&side.new_order_p95_us, 1000.0, 2)
        );
    }
    let of = match (base.basis, other.basis) {
        (Basis::Repeats, Basis::Repeats) => "",
        _ => ", within the runs",
    };
    let lines = [
        ("NOPM", comparison.nopm),
        ("new order p95", comparison.new_order_p95_us),
    ];
    for (name, found) in lines {
        let _ = match found {
            Some(found) => writeln!(out, "{name}: {}{of}", difference(&found)),
            None => writeln!(out, "{name}: not comparable"),
        };
    }
    for note in &comparison.notes {
        let _ = writeln!(out, "note: {note}");
    }
    if comparison.regression {
        let _ = writeln!(out, "{} is slower than {}", other.name, base.name);
    }
    out
}

/// `12345 ± 67`, or `NA`.
fn interval(value: &Value, unit: f64, decimals: usize) -> String {
    let Some(mean) = value.mean else {
        return "NA".to_owned();
    };
    let mean = mean / unit;
    match &value.estimate {
        Some(estimate) => {
            let half = estimate.half_width() / unit;
            format!("{mean:.decimals$} ± {half:.decimals$}")
        }
        None => format!("{mean:.decimals$}"),
    }
}

/// Percent, ratio with its interval, effect and p.
fn difference(found: &Comparison) -> String {
    let percent = found
        .percent_difference
        .map_or_else(|| "NA".to_owned(), |percent| format!("{percent:+.1} %"));
    let ratio = match (found.ratio, found.ratio_low, found.ratio_high) {
        (Some(ratio), Some(low), Some(high)) => {
            format!(", ratio {ratio:.3} ({low:.3} to {high:.3})")
        }
        _ => String::new(),
    };
    let effect = found.effect_size.map_or_else(String::new, |size| {
        format!(", effect {size:+.1} deviations")
    });
    let chance = if found.p_value < 0.001 {
        "p < 0.001".to_owned()
    } else {
        format!("p = {:.3}", found.p_value)
    };
    format!("{percent}{ratio}{effect}, {chance}")
}

#[cfg(test)]
mod tests {
    use super::{RunName, RunNames};

    #[test]
    fn names_of_runs() {
        let names = |text: &str| text.parse::<RunNames>().map(|names| names.names);
        let name = |lab, cell, repeat| RunName { lab, cell, repeat };
        assert_eq!(names("3"), Ok(vec![name(3, None, None)]));
        assert_eq!(
            names("3.2,4.1.5"),
            Ok(vec![name(3, Some(2), None), name(4, Some(1), Some(5))])
        );
        for wrong in ["", "a", "3.", "3.2.1.4", "-1", "3,,4", "99999999999"] {
            assert!(names(wrong).is_err(), "{wrong}");
        }
    }
}
