//! A plan as people read it, before anything is measured.

use crate::schedule::planned::Planned;
use crate::target::populate::what_of;
use analyse::Table;
use base::{counted, percent};
use plan::{Needs, Order, PlannedCell, Turn, gigabytes};
use server::made_with;
use spec::{Cell, Connections, Length};
use std::fmt::Display;
use std::time::Duration;

impl Planned {
    /// The plan for people: what is the same for all cells once, then a line for each of the first
    /// `turns_max` measurements, and what all of them need.
    pub fn text(&self, needs: &Needs, turns_max: usize) -> String {
        let Some(plan) = self.source.plan() else { return String::new() };
        let schedule = plan.schedule();
        let order = match schedule.order {
            Order::Random => format!("in randomised blocks (seed {})", schedule.seed),
            Order::Listed => "in the order of the matrix".to_owned(),
        };
        let mut out = format!(
            "{}: {}, {}, {order}\n\n",
            plan.name(),
            counted(self.cells.len(), "cell", "cells"),
            counted(schedule.repeats as usize, "repeat", "repeats")
        );
        let mut of_times = "about";
        if let Some((first, _)) = self.cells.first() {
            of_times = first.what.estimate_word();
            same_for_all(&mut out, first);
        }
        out += &table(self, turns_max);
        if self.turns.len() > turns_max {
            out += &format!("and {} more\n", self.turns.len() - turns_max);
        }
        out.push('\n');
        for image in self.missing_images(&self.turns) {
            out += &format!(
                "to be populated first: {}{} on {}{}, {} on disk\n",
                what_of(&image.population),
                match image.population.partitions {
                    0 => String::new(),
                    partitions => format!(" in {partitions} partitions"),
                },
                image.engine,
                made_with(&image.settings, image.population.table_options.as_deref()),
                gigabytes(image.disk_bytes())
            );
        }
        let of = |has: Option<u64>, is: &str| {
            has.map_or_else(String::new, |bytes| format!(" ({} are {is})", gigabytes(bytes)))
        };
        out += &format!(
            "needs {} of disk{}, {} of memory{} and {of_times} {}\n",
            gigabytes(needs.disk_bytes),
            of(self.host.disk_free_bytes, "free"),
            gigabytes(needs.memory_bytes),
            of(self.host.memory_available_bytes, "available"),
            rough(needs.duration)
        );
        out.extend(self.notes.iter().map(|note| format!("note: {note}\n")));
        out
    }
}

fn same_for_all(out: &mut String, cell: &PlannedCell) {
    let Cell { server, load, lengths, .. } = &cell.what;
    let mut add = |name: &str, value: &dyn Display| *out += &format!("{name:<23} {value}\n");
    for setting in cell.settings.iter().filter(|setting| !cell.varying.contains(setting)) {
        add(setting.name(), &setting.value());
    }
    add("scale", &cell.scale_name());
    let population = server.private().map(|private| &private.population);
    if let Some(of) = population.filter(|of| of.tpcc_warehouses().is_some()) {
        add("foreign_keys", &of.foreign_keys);
    }
    if let Some(bytes) = server.private().and_then(|of| of.placement.page_cache_bytes) {
        add("page_cache", &gigabytes(bytes));
    }
    if let Connections::Ramp(limits) = &load.connections {
        add("ramp", limits);
    }
    add("warmup", &lengths.warmup);
    add("window", &lengths.window);
    add("interval", &Length::fixed(lengths.interval));
    if let Some(share) = lengths.window_precision_share() {
        add("precision", &percent(share));
    }
    out.push('\n');
}

/// The measurements in the order of execution.
fn table(planned: &Planned, turns_max: usize) -> String {
    let row = |(number, turn): (usize, &Turn)| {
        let (cell, needs) = &planned.cells[turn.index];
        (number, turn.repeat, cell, needs)
    };
    let mut table = Table::of((1..).zip(&planned.turns).take(turns_max).map(row))
        .words("turn", |(number, ..)| number.to_string())
        .words("repeat", |(_, repeat, ..)| repeat.to_string())
        .words("cell", |(.., cell, _)| cell.ordinal.to_string());
    let varying = planned.cells.first().map(|(cell, _)| cell.varying.as_slice());
    for (at, setting) in varying.unwrap_or_default().iter().enumerate() {
        table = table.words(setting.name(), |(.., cell, _)| cell.varying[at].value().to_owned());
    }
    table
        .words("memory", |(.., needs)| gigabytes(needs.memory_bytes()))
        .words("disk", |(.., needs)| gigabytes(needs.disk_bytes()))
        .words("time", |(.., needs)| rough(needs.duration))
        .text()
}

/// A duration as a plan for the day has it: to the minute, where it is longer than one.
fn rough(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let rounded = if seconds > 600 { seconds.div_ceil(60) * 60 } else { seconds };
    humantime::format_duration(Duration::from_secs(rounded)).to_string()
}

#[cfg(test)]
mod tests {
    use super::rough;
    use std::time::Duration;

    #[test]
    fn long_times_are_told_to_the_minute() {
        assert_eq!(rough(Duration::from_millis(75_900)), "1m 15s");
        assert_eq!(rough(Duration::from_secs(3_601)), "1h 1m");
    }
}
