//! A lab for people: throughput and response time by connections, a line for each combination of
//! what else differs.

use super::format::{
    ms, ms_with_interval, optional, or_dash, throughput, throughput_with_interval,
};
use analyse::{
    CellOutcome, LabAnswer, LabOutcome, MachineOutcome, RampOutcome, RampPoint, ResponseTime,
    Table, interference, labels,
};
use std::collections::{BTreeMap, BTreeSet};
use store::Summary;

/// How it stands, two tables, and why cells have no number.
pub fn lab(lab: &LabOutcome) -> String {
    let mut out = format!("lab {} ({}): {}", lab.lab_id, lab.name, lab.status);
    if let Some(reason) = &lab.reason {
        out += &format!(", {}", first_line(reason));
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
    let labels = labels(&lab.cells);
    let nopm = |cell: &CellOutcome| cell.nopm.mean.map(|_| throughput_with_interval(&cell.nopm));
    let p95 = |cell: &CellOutcome| {
        let decimals = usize::from(cell.new_order_p95_us.mean? < 100e3);
        Some(ms_with_interval(&cell.new_order_p95_us, decimals))
    };
    let metric = lab.metric();
    grid(&mut out, metric.title(), (&lab.cells, &labels), &nopm);
    let title = format!("{} p95, ms", metric.transaction());
    grid(&mut out, &title, (&lab.cells, &labels), &p95);
    servers(&mut out, &lab.cells, &labels);
    out.push_str(
        "± is half of a 95 % interval over repeats, with the drift between blocks in it; one \
         repeat has none. The report compares cells inside blocks\n",
    );
    for cell in &lab.cells {
        for repeat in &cell.repeats {
            if let (Some(code), Some(reason)) = (&repeat.reason_code, &repeat.reason) {
                let (ordinal, number) = (cell.ordinal, repeat.repeat);
                out +=
                    &format!("cell {ordinal}, repeat {number}: {code}: {}\n", first_line(reason));
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
        *out += &format!("machine {}: {repeats}{ratio}\n", machine.name);
    }
}

/// The result of one repeat: `12345 NOPM, new order p95 12.30 ms`.
pub fn repeat(summary: &Summary) -> String {
    match (summary.rates.nopm, &summary.reason_code) {
        (Some(nopm), _) => format!(
            "{} {}, {} p95 {} ms",
            throughput(Some(nopm)),
            summary.throughput_metric.title(),
            summary.throughput_metric.transaction(),
            ResponseTime::P95.shown(&summary.primary, |us| ms(Some(us)))
        ),
        (None, Some(code)) => format!("NA ({code})"),
        (None, None) => "NA".to_owned(),
    }
}

/// Each ramp with its curve, and what each configuration supports.
fn ramps(lab: &LabOutcome) -> String {
    let mut out = String::new();
    let labels = labels(&lab.cells);
    let mut supported = Vec::new();
    for ramp in &lab.ramps {
        let first = ramp.points.first();
        let at = first.and_then(|of| lab.cells.iter().position(|cell| cell.ordinal == of.cell));
        let line = at.map_or_else(String::new, |at| format!(": {}", labels[at].1));
        let name = format!("cell {}, repeat {}{line}", ramp.ordinal, ramp.repeat);
        out += &format!("{name}\n{}\n", self::ramp(ramp));
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

/// What each cell is called, with its connections and without.
type Labels = [(String, String)];

/// What several servers on one machine give against one; nothing where all cells have the same
/// number of them.
fn servers(out: &mut String, cells: &[CellOutcome], labels: &Labels) {
    let rows = interference(cells);
    if rows.is_empty() {
        return;
    }
    let percent = |share: Option<f64>, none: &str| {
        share.map_or_else(|| none.to_owned(), |share| format!("{:.1}", share * 100.0))
    };
    *out += &Table::of(rows)
        .numbers("instances", |row| row.instances.to_string())
        .numbers("NOPM", |row| throughput(row.nopm))
        .numbers("against one, %", |row| percent(row.efficiency, "NA"))
        .numbers("between them, %", |row| percent(row.spread, "-"))
        .words("cell", |row| labels[row.place].0.clone())
        .text();
    out.push('\n');
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

fn grid(
    out: &mut String,
    title: &str,
    (cells, labels): (&[CellOutcome], &Labels),
    shown: &dyn Fn(&CellOutcome) -> Option<String>,
) {
    let connections: BTreeSet<u32> = cells.iter().map(|cell| cell.connections).collect();
    let mut lines: Vec<(&str, BTreeMap<u32, String>)> = Vec::new();
    for (cell, (_, line)) in cells.iter().zip(labels) {
        let absent = if cell.has_failed() { "NA" } else { "-" };
        let text = shown(cell).unwrap_or_else(|| absent.to_owned());
        // Cells that these names do not tell apart have lines of their own.
        let is_free = |row: &BTreeMap<u32, String>| !row.contains_key(&cell.connections);
        match lines.iter_mut().find(|(name, row)| *name == line.as_str() && is_free(row)) {
            Some((_, row)) => {
                row.insert(cell.connections, text);
            }
            None => lines.push((line, BTreeMap::from([(cell.connections, text)]))),
        }
    }
    let mut table = Table::of(&lines).words(title, |(name, _)| *name);
    for number in &connections {
        table = table.numbers(&format!("{number} connections"), |(_, row)| {
            row.get(number).map_or("-", String::as_str).to_owned()
        });
    }
    *out += &table.text();
    out.push('\n');
}

/// The question, what is shown, and what is not.
pub fn answer(answer: &LabAnswer) -> String {
    let list = |sentences: &[String]| -> String {
        sentences.iter().map(|sentence| format!("  - {sentence}\n")).collect()
    };
    let limits = match answer.limits.as_slice() {
        [] => String::new(),
        limits => format!("what this does not tell:\n{}", list(limits)),
    };
    format!("{}\n{}{limits}", answer.question, list(&answer.shown))
}

/// The points by connections, and the saturation point.
pub fn ramp(ramp: &RampOutcome) -> String {
    let telling = ramp.telling_transaction();
    let [p90, p95] = ["p90", "p95"].map(|of| format!("{} {of} ms", ramp.metric.transaction()));
    let mut points: Vec<&RampPoint> = ramp.points.iter().collect();
    points.sort_by_key(|point| point.connections);
    let mut table = Table::of(&points)
        .numbers("connections", |point| point.connections.to_string())
        .numbers(ramp.metric.title(), |point| throughput(point.nopm))
        .numbers("±", |point| or_dash(point.nopm_half_width, |half| format!("{half:.0}")))
        .numbers(&p90, |point| ms(point.primary_p90_us))
        .numbers(&p95, |point| ms(point.new_order_p95_us));
    if let Some(name) = telling {
        let title = format!("{} p90 ms", name.replace('_', " "));
        table = table.numbers(&title, |point| ms(point.p90_us_of(name)));
    }
    let busy = |point: &RampPoint| point.cpu.map(|cpu| cpu.busy_share * 100.0);
    let table = table
        .numbers("CPU %", |point| optional(busy(point), 0))
        .words("", |point| point.reason_code.clone().unwrap_or_default());
    let mut out = format!("{}\n{}", ramp.asked, table.text());
    for (connections, remark) in points
        .iter()
        .flat_map(|point| point.remarks.iter().map(move |remark| (point.connections, remark)))
    {
        out += &format!("{connections} connections: {remark}\n");
    }
    out += &format!("{}\n", ramp.words);
    out
}
