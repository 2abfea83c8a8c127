//! A lab as Markdown, for a ticket: the answer, a table of cells, and where it was measured.

use crate::bound::bound_words;
use crate::error::ReportResult;
use crate::format::{instant, or_na, percent, significant, truncated};
use crate::model::{CellView, LabView};
use crate::page::DISCLAIMER;
use itertools::Itertools;
use store::{LabId, Results, ThroughputMetric};

/// The text.
///
/// # Errors
/// There is no such lab, or the file cannot be read.
pub fn export_markdown(results: &Results, lab: LabId) -> ReportResult<String> {
    let view = LabView::read(results, lab)?;
    let answer = view.answer();
    let mut out = format!("## {}\n\n{}\n\n", plain(&view.lab.name), plain(&answer.question));
    list(&mut out, &answer.shown);
    if !answer.limits.is_empty() {
        out.push_str("\nWhat this does not tell:\n\n");
        list(&mut out, &answer.limits);
    }
    let unit = view.metric().title();
    out += &format!("\n| cell | {unit} | p95, ms | bound by | requests in time |\n");
    out += "|---|---:|---:|---|---:|\n";
    view.cells.iter().for_each(|cell| row(&mut out, cell));
    let at = instant(view.lab.started_utc_ns);
    let engines = view.cells.iter().map(|cell| {
        let what = &cell.cell.what;
        format!("{} {}", what.engine, what.server_version).trim().to_owned()
    });
    let disclaimer = match view.metric() {
        ThroughputMetric::Nopm => format!(" {DISCLAIMER}"),
        ThroughputMetric::Tpm => String::new(),
    };
    out += &format!(
        "\n{at}; {}; mydyno {}; lab {} of {}.{disclaimer}\n",
        plain(&engines.unique().join(", ")),
        view.lab.mydyno_version,
        view.lab.id,
        plain(&view.results_file)
    );
    Ok(out)
}

fn row(out: &mut String, cell: &CellView) {
    let nopm = cell.nopm();
    let half = nopm.half_width().map(|half| format!(" ± {}", significant(half)));
    let throughput = or_na(nopm.mean, truncated) + &half.unwrap_or_default();
    let (label, p95, bound) = (plain(&cell.label), cell.primary_ms(0.95), bound_words(cell));
    let fidelity = cell.repeated(|repeat| repeat.summary().fidelity).mean;
    let fidelity = fidelity.map(percent).unwrap_or_default();
    *out += &format!("| {label} | {throughput} | {p95} | {bound} | {fidelity} |\n");
}

fn list(out: &mut String, sentences: &[String]) {
    for sentence in sentences {
        *out += &format!("- {}\n", plain(sentence));
    }
}

/// Text that is no markup: what would end a cell, begin a tag or emphasise is escaped.
fn plain(text: &str) -> String {
    let mut out = String::new();
    for letter in text.chars() {
        match letter {
            '\n' | '\r' => out.push(' '),
            '|' | '<' | '>' | '*' | '_' | '[' | ']' | '\\' | '#' => out.extend(['\\', letter]),
            _ => out.push(letter),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn names_are_no_markup() {
        assert_eq!(plain("a|b<c>\n*d*"), "a\\|b\\<c\\> \\*d\\*");
        assert_eq!(plain("set `repeats = 3`"), "set `repeats = 3`");
    }
}
