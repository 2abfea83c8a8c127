//! A lab for people: throughput and response time by connections, a line for each combination of
//! what else differs.

use super::format::{ms, optional};
use super::table::{AsText, Table};
use analyse::{
    Basis, CONNECTIONS, CellOutcome, INSTANCES, Interference, LabOutcome, MachineOutcome,
    MeanValue, interference, varying,
};
use std::collections::BTreeMap;
use std::fmt::Write;
use store::Summary;

/// How it stands, two tables, and why cells have no number.
pub fn lab(lab: &LabOutcome) -> String {
    let mut out = format!("lab {} ({}): {}", lab.lab_id, lab.name, lab.status);
    if let Some(reason) = &lab.reason {
        let _ = write!(out, ", {}", first_line(reason));
    }
    out.push('\n');
    if lab.adaptive {
        out.push_str(
            "what came out decided what was measured next (advise, tune): numbers describe its \
             windows, and no difference is claimed\n",
        );
    }
    machines(&mut out, &lab.machines);
    out.push('\n');
    if !lab.ramps.is_empty() {
        return out + &ramps(lab);
    }
    let varying = varying(&lab.cells);
    let nopm = |cell: &CellOutcome| number(&cell.nopm, 1.0);
    let p95 = |cell: &CellOutcome| number(&cell.new_order_p95_us, 1e-3);
    let metric = lab.metric();
    grid(&mut out, metric.title(), &lab.cells, &varying, &nopm);
    let title = format!("{} p95, ms", metric.transaction());
    grid(&mut out, &title, &lab.cells, &varying, &p95);
    servers(&mut out, &lab.cells, &varying);
    let is_single =
        |cell: &&CellOutcome| cell.nopm.mean.is_some() && cell.basis == Basis::Intervals;
    let single = lab.cells.iter().filter(is_single).count();
    if single > 0 {
        let _ = writeln!(
            out,
            "+- is half of a 95 % interval; of {} with one repeat it tells nothing of how another \
             would differ, and supports no comparison",
            base::counted(single, "cell", "cells")
        );
    } else {
        let _ = writeln!(
            out,
            "+- is half of a 95 % interval over repeats, with the drift between blocks in it; the \
             report compares cells inside blocks"
        );
    }
    for cell in &lab.cells {
        for repeat in &cell.repeats {
            if let (Some(code), Some(reason)) = (&repeat.reason_code, &repeat.reason) {
                let (ordinal, number) = (cell.ordinal, repeat.repeat);
                let _ = writeln!(
                    out,
                    "cell {ordinal}, repeat {number}: {code}: {}",
                    first_line(reason)
                );
            }
        }
    }
    out
}

/// What several machines measured; nothing of one.
fn machines(out: &mut String, machines: &[MachineOutcome]) {
    for machine in machines.iter().filter(|_| machines.len() > 1) {
        let repeats = base::counted(machine.repeats, "repeat", "repeats");
        let ratio = machine.nopm_ratio.map_or_else(String::new, |ratio| {
            format!(", {:+.1} % of throughput against the others", (ratio - 1.0) * 100.0)
        });
        let _ = writeln!(out, "machine {}: {repeats}{ratio}", machine.name);
    }
}

/// The result of one repeat: `12345 NOPM, new order p95 12.30 ms`.
pub fn repeat(summary: &Summary) -> String {
    match (summary.rates.nopm, &summary.reason_code) {
        (Some(nopm), _) => format!(
            "{nopm:.0} {}, {} p95 {} ms",
            summary.throughput_metric.title(),
            summary.throughput_metric.transaction(),
            ms(summary.primary.p95_us)
        ),
        (None, Some(code)) => format!("NA ({code})"),
        (None, None) => "NA".to_owned(),
    }
}

/// Each ramp with its curve, and what each configuration supports.
fn ramps(lab: &LabOutcome) -> String {
    let mut out = String::new();
    let varying = varying(&lab.cells);
    let mut supported = Vec::new();
    for ramp in &lab.ramps {
        let first = ramp.points.first();
        let cell = first.and_then(|point| lab.cells.iter().find(|cell| cell.ordinal == point.cell));
        let mut name = vec![format!("cell {}, repeat {}", ramp.ordinal, ramp.repeat)];
        let values = cell.map(|cell| values_of(cell, &varying));
        name.extend(values.filter(|values| !values.is_empty()));
        let name = name.join(": ");
        let _ = writeln!(out, "{name}\n{}", super::ramp(ramp));
        supported.push((name, ramp.supported_words()));
    }
    if supported.len() > 1 {
        out += &Table::of(supported)
            .words("", |(name, _)| name.clone())
            .numbers("supported connections", |(_, connections)| connections.to_string())
            .text();
    }
    out
}

/// The values of these names.
fn values_of(cell: &CellOutcome, varying: &[String]) -> String {
    let names: BTreeMap<String, String> = cell.names().into_iter().collect();
    let values = varying.iter().map(|name| names.get(name).map_or("-", String::as_str));
    values.collect::<Vec<_>>().join(", ")
}

/// What several servers on one machine give against one; nothing where all cells have the same
/// number of them.
fn servers(out: &mut String, cells: &[CellOutcome], varying: &[String]) {
    let rows = interference(cells);
    if rows.is_empty() {
        return;
    }
    let percent = |share: Option<f64>, none: &str| {
        share.map_or_else(|| none.to_owned(), |share| format!("{:.1}", share * 100.0))
    };
    let cell = |row: &Interference| {
        let names = cells[row.place].names().into_iter();
        let told = names.filter(|(name, _)| {
            name == CONNECTIONS || (name != INSTANCES && varying.contains(name))
        });
        told.map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
    };
    *out += &Table::of(rows)
        .numbers("instances", |row| row.instances.to_string())
        .numbers("NOPM", |row| optional(row.nopm.map(f64::trunc), 0))
        .numbers("against one, %", |row| percent(row.efficiency, "NA"))
        .numbers("between them, %", |row| percent(row.spread, "-"))
        .words("cell", cell)
        .text();
    out.push('\n');
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

fn grid(
    out: &mut String,
    title: &str,
    cells: &[CellOutcome],
    varying: &[String],
    shown: &dyn Fn(&CellOutcome) -> Option<String>,
) {
    let mut connections: Vec<u32> = cells.iter().map(|cell| cell.connections).collect();
    connections.sort_unstable();
    connections.dedup();
    let mut lines: Vec<(String, BTreeMap<u32, String>)> = Vec::new();
    for cell in cells {
        let line = values_of(cell, varying);
        let absent = if cell.has_failed() { "NA" } else { "-" };
        let text = shown(cell).unwrap_or_else(|| absent.to_owned());
        // Cells that these names do not tell apart have lines of their own.
        let is_free = |row: &BTreeMap<u32, String>| !row.contains_key(&cell.connections);
        match lines.iter_mut().find(|(name, row)| *name == line && is_free(row)) {
            Some((_, row)) => {
                row.insert(cell.connections, text);
            }
            None => lines.push((line, BTreeMap::from([(cell.connections, text)]))),
        }
    }
    let mut table = Table::of(&lines).words(title, |(name, _)| name.clone());
    for number in &connections {
        table = table.numbers(&format!("{number} connections"), |(_, row)| {
            row.get(number).map_or("-", String::as_str).to_owned()
        });
    }
    *out += &table.text();
    out.push('\n');
}

/// A mean with half of its interval.
fn number(value: &MeanValue, unit: f64) -> Option<String> {
    let mean = value.mean? * unit;
    let decimals = usize::from(mean < 100.0);
    let half = value.high.map(|high| high * unit - mean);
    Some(match half {
        Some(half) => format!("{mean:.decimals$} +-{half:.decimals$}"),
        None => format!("{mean:.decimals$}"),
    })
}
