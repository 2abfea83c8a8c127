//! A plan as people read it, before anything is measured.

use crate::schedule::planned::Planned;
use crate::target::populate::what_of;
use base::{counted, percent};
use plan::{Needs, Order, Plan, PlannedCell, Setting};
use spec::{Cell, Connections, Length};
use std::fmt::Write;
use std::time::Duration;

impl Planned {
    /// The plan for people: what is the same for all cells once, then a line for each of the first
    /// `turns_max` measurements, and what all of them need.
    pub fn text(&self, needs: &Needs, turns_max: usize) -> String {
        self.source.plan().map_or_else(String::new, |plan| words(plan, self, needs, turns_max))
    }
}

fn words(plan: &Plan, planned: &Planned, needs: &Needs, turns_max: usize) -> String {
    let mut out = String::new();
    let schedule = plan.schedule();
    let order = match schedule.order {
        Order::Random => format!("in randomised blocks (seed {})", schedule.seed),
        Order::Listed => "in the order of the matrix".to_owned(),
    };
    // Writing to a string cannot fail, here and below.
    let _ = writeln!(
        out,
        "{}: {}, {}, {order}\n",
        plan.name(),
        counted(planned.cells.len(), "cell", "cells"),
        counted(schedule.repeats as usize, "repeat", "repeats")
    );
    let mut of_times = "about";
    if let Some((first, _)) = planned.cells.first() {
        of_times = first.what.estimate_word();
        same_for_all(&mut out, first);
    }
    for line in aligned(&table(planned, turns_max)) {
        let _ = writeln!(out, "{line}");
    }
    if planned.turns.len() > turns_max {
        let _ = writeln!(out, "and {} more", planned.turns.len() - turns_max);
    }
    let _ = writeln!(out);
    for image in planned.missing_images(&planned.turns) {
        let _ = writeln!(
            out,
            "to be populated first: {}{} on {}, {} on disk",
            what_of(&image.population),
            match image.population.partitions {
                0 => String::new(),
                partitions => format!(" in {partitions} partitions"),
            },
            image.engine,
            gigabytes(image.disk_bytes())
        );
    }
    let of = |has: Option<u64>, is: &str| {
        has.map_or_else(String::new, |bytes| format!(" ({} are {is})", gigabytes(bytes)))
    };
    let _ = writeln!(
        out,
        "needs {} of disk{}, {} of memory{} and {of_times} {}",
        gigabytes(needs.disk_bytes),
        of(planned.host.disk_free_bytes, "free"),
        gigabytes(needs.memory_bytes),
        of(planned.host.memory_available_bytes, "available"),
        rough(needs.duration)
    );
    for note in &planned.notes {
        let _ = writeln!(out, "note: {note}");
    }
    out
}

fn same_for_all(out: &mut String, cell: &PlannedCell) {
    let Cell { server, load, lengths, .. } = &cell.what;
    let is_same = |setting: &&Setting| !cell.varying.contains(setting);
    let same = cell.settings.iter().filter(is_same);
    let mut named: Vec<(String, String)> =
        same.map(|s| (s.name().to_owned(), s.value().to_owned())).collect();
    named.push(("scale".to_owned(), cell.scale_name()));
    let population = server.private().map(|private| &private.population);
    if let Some(of) = population.filter(|of| of.tpcc_warehouses().is_some()) {
        named.push(("foreign_keys".to_owned(), of.foreign_keys.to_string()));
    }
    if let Some(bytes) = server.private().and_then(|of| of.placement.page_cache_bytes) {
        named.push(("page_cache".to_owned(), gigabytes(bytes)));
    }
    if let Connections::Ramp(limits) = &load.connections {
        named.push(("ramp".to_owned(), limits.to_string()));
    }
    for (name, length) in [
        ("warmup", lengths.warmup),
        ("window", lengths.window),
        ("interval", Length::fixed(lengths.interval)),
    ] {
        named.push((name.to_owned(), length.to_string()));
    }
    if let Some(share) = lengths.window_precision_share() {
        named.push(("precision".to_owned(), percent(share)));
    }
    for (name, value) in named {
        let _ = writeln!(out, "{name:<23} {value}");
    }
    let _ = writeln!(out);
}

/// Rows of the measurements in the order of execution, below a head.
fn table(planned: &Planned, turns_max: usize) -> Vec<Vec<String>> {
    let varying = planned.cells.first().map(|(cell, _)| cell.varying.as_slice());
    let varying = varying.unwrap_or_default().iter();
    let mut head = vec!["turn".to_owned(), "repeat".to_owned(), "cell".to_owned()];
    head.extend(varying.map(|setting| setting.name().to_owned()));
    head.extend(["memory", "disk", "time"].map(str::to_owned));
    let mut rows = vec![head];
    for (index, turn) in planned.turns.iter().take(turns_max).enumerate() {
        let (cell, needs) = &planned.cells[turn.index];
        let mut row =
            vec![(index + 1).to_string(), turn.repeat.to_string(), cell.ordinal.to_string()];
        row.extend(cell.varying.iter().map(|s| s.value().to_owned()));
        row.push(gigabytes(needs.memory_bytes()));
        row.push(gigabytes(needs.disk_bytes()));
        row.push(rough(needs.duration));
        rows.push(row);
    }
    rows
}

/// Lines with columns of equal width.
fn aligned(rows: &[Vec<String>]) -> Vec<String> {
    let columns = rows.first().map_or(0, Vec::len);
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths);
        let padded: Vec<String> = cells.map(|(cell, width)| format!("{cell:<width$}")).collect();
        padded.join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

fn gigabytes(bytes: u64) -> String {
    format!("{:.1} GB", bytes as f64 / 1e9)
}

/// A duration as a plan for the day has it: to the minute, where it is longer than one.
fn rough(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let rounded = if seconds > 600 { seconds.div_ceil(60) * 60 } else { seconds };
    humantime::format_duration(Duration::from_secs(rounded)).to_string()
}

#[cfg(test)]
mod tests {
    use super::{aligned, rough};
    use std::time::Duration;

    #[test]
    fn columns_are_as_wide_as_their_widest() {
        let rows =
            [["a", "bb", "c"], ["dddd", "e", "f"]].map(|row| row.map(str::to_owned).to_vec());
        assert_eq!(aligned(&rows), ["a     bb  c", "dddd  e   f"]);
        assert_eq!(aligned(&[]), Vec::<String>::new());
    }

    #[test]
    fn long_times_are_told_to_the_minute() {
        assert_eq!(rough(Duration::from_millis(75_900)), "1m 15s");
        assert_eq!(rough(Duration::from_secs(3_601)), "1h 1m");
    }
}
