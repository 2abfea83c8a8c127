//! What the numbers were measured on: populations, server variables, option files, the machine, and
//! how to do it again.

use crate::format::{bytes, duration, instant, integer, seconds, significant};
use crate::hardware::{blocks, hardware};
use crate::lab::missing::to_cell;
use crate::model::{CellView, LabView, LoadView, RepeatView, warehouses};
use crate::table::shown_as;
use crate::tables::checks_table;
use crate::variables::Risen;
use analyse::{IDENTITY_VARIABLES, Table};
use base::{by_key, counted};
use itertools::Itertools;
use maud::{Markup, html};
use std::collections::{BTreeMap, BTreeSet};

/// Populations with their checksums.
pub fn loads(loads: &[LoadView]) -> Markup {
    html! { @for view in loads { (load(view)) } }
}

fn load(view: &LoadView) -> Markup {
    let load = &view.load;
    let table = Table::of(&load.tables)
        .words("Table", |table| &table.name)
        .numbers("Rows", |table| integer(table.rows))
        .words("Checksum", |table| html! { span.mono { (table.checksum) } });
    let caption = "Equal seeds give equal checksums, whatever the number of threads.";
    html! {
        p {
            b { (warehouses(load.warehouses)) " in " (significant(seconds(load.duration_ns))) " s" }
            " on " (load.engine) " " (load.server_version) " by "
            @match load.method {
                store::LoadMethod::LocalInfile => "LOAD DATA LOCAL INFILE",
                store::LoadMethod::Inserts => "multi-row inserts",
            }
            ", " (load.threads) " threads, seed " (load.seed) ", "
            @match load.foreign_keys { Some(true) => "with foreign keys", Some(false) =>
                "without foreign keys", None => {} }
            @if load.partitions > 0 { ", tables in " (load.partitions) " partitions" }
            @if load.history_key == Some(true) { ", HISTORY with a primary key" } "; "
            (integer(load.total_rows())) " rows, " (bytes(load.total_bytes)) " sent, client CPU "
            (significant(seconds(load.client_cpu_ns))) " s"
            @if let Some(rss) = load.client_peak_rss_bytes { ", peak memory " (bytes(rss)) }
            ". " span.soft { "Finished " (instant(load.finished_utc_ns)) "." }
        }
        details { summary { "Rows and checksums" }
            (shown_as("narrow", caption, table))
        }
        @if !view.checks.is_empty() { (checks_table(&view.checks)) }
    }
}

/// The first repeat of a cell whose variables were read.
fn measured(cell: &CellView) -> Option<&RepeatView> {
    cell.repeats.iter().find(|repeat| !repeat.variables.is_empty())
}

/// Machine, server variables, option files.
pub fn configuration(view: &LabView) -> Markup {
    html! {
        (hardware(view))
        (blocks(&view.outcome.blocks))
        (presets(view))
        (changed_variables(view))
        (differing_variables(view))
        (all_variables(view))
        @if !view.is_brief() { (status_tables(view)) }
        (option_files(view))
    }
}

/// Cells that have something in common; of many, how many.
fn cells_in_words(cells: &[&CellView]) -> String {
    if cells.len() > CELLS_NAMED_MAX {
        return counted(cells.len(), "cell", "cells");
    }
    cells.iter().map(|cell| &cell.label).join("; ")
}

/// Each different preset on each engine once, with what became of its variables and the cells that
/// ran on it.
fn presets(view: &LabView) -> Markup {
    let presets = by_key(view.cells.iter().filter_map(|cell| {
        let what = &cell.cell.what;
        Some(((&what.engine, what.preset.as_ref()?), cell))
    }));
    let one = presets.len() == 1;
    html! {
        @for ((engine, preset), cells) in &presets {
            details {
                summary {
                    "Preset " (preset.name) " on " (engine)
                    @if !one { ": " (cells_in_words(cells)) }
                }
                p.soft {
                    @match preset.scaled_to_warehouses {
                        Some(warehouses) => {
                            "Sizes in the proportion to "
                            (counted(warehouses as usize, "warehouse", "warehouses"))
                            " that the papers had to theirs."
                        }
                        None => { "Sizes are the papers' own." }
                    }
                }
                div.scroll { table {
                    thead { tr {
                        @for title in ["Variable", "Asked", "Fate", "Became", "Why"] {
                            th scope="col" { (title) }
                        }
                    } }
                    tbody { @for variable in &preset.variables {
                        tr.changed[!matches!(variable.fate.as_str(), "kept" | "placed")] {
                            th.mono scope="row" { (variable.variable) }
                            td.value.mono { (variable.asked) }
                            td { (variable.fate) }
                            td.value.mono {
                                @if let (Some(name), Some(value)) =
                                    (&variable.became_variable, &variable.became_value) {
                                    @if *name != variable.variable { (name) "=" }
                                    (value)
                                }
                            }
                            td { (variable.reason.as_deref().unwrap_or("")) }
                        }
                    } }
                } }
            }
        }
    }
}

fn changed_variables(view: &LabView) -> Markup {
    let repeats =
        view.cells.iter().flat_map(|cell| cell.repeats.iter().map(move |repeat| (cell, repeat)));
    let changed = repeats.flat_map(|(cell, repeat)| {
        let changed = repeat.variables.iter().filter(|variable| variable.changed());
        changed.map(move |variable| (cell, repeat, variable))
    });
    let value = |value: &Option<String>| {
        html! { span.value.mono { (value.as_deref().unwrap_or("")) } }
    };
    let table = Table::of(changed)
        .words("Variable", |(.., variable)| html! { span.mono { (variable.name) } })
        .words("Cell", |(cell, repeat, _)| {
            html! {
                (cell.label) @if cell.repeats.len() > 1 { ", repeat " (repeat.repeat.ordinal) }
            }
        })
        .words("Before", |(.., variable)| value(&variable.start))
        .words("After", |(.., variable)| value(&variable.end));
    html! {
        @if !table.rows().is_empty() {
            h3 { "Server variables that changed during a run" }
            (shown_as("changed", "", table))
        }
    }
}

/// More cells than this are counted, not named.
const CELLS_NAMED_MAX: usize = 4;

fn differing_variables(view: &LabView) -> Markup {
    let of_cell = |cell| {
        let variables = measured(cell)?.variables.iter();
        Some((cell, variables.map(|of| (of.name.as_str(), of.value())).collect()))
    };
    let columns: Vec<(&CellView, BTreeMap<&str, &str>)> =
        view.cells.iter().filter_map(of_cell).collect();
    let names: BTreeSet<&str> = columns.iter().flat_map(|(_, of)| of.keys().copied()).collect();
    let is_differing = |name: &&str| {
        let is_configured = !IDENTITY_VARIABLES.contains(name);
        is_configured && !columns.iter().map(|(_, values)| values.get(name)).all_equal()
    };
    let differing = names.into_iter().filter(is_differing).collect_vec();
    // Cells whose variables are the same share a column.
    let distinct = by_key(columns.iter().map(|(cell, values)| {
        let of = |name: &&str| values.get(name).copied().unwrap_or("");
        (differing.iter().map(of).collect_vec(), *cell)
    }));
    html! {
        @if !differing.is_empty() {
            details { summary { (differing.len()) " server variables differ between cells" }
                div.scroll { table {
                    thead { tr {
                        th scope="col" { "Variable" }
                        @for (_, cells) in &distinct { th scope="col" { (column_title(cells)) } }
                    } }
                    tbody { @for (row, name) in differing.iter().enumerate() { tr {
                        th.mono scope="row" { (name) }
                        @for (column, _) in &distinct { td.value.mono { (column[row]) } }
                    } } }
                } }
            }
        }
    }
}

/// The cells of a column; of many, their numbers.
fn column_title(cells: &[&CellView]) -> Markup {
    html! {
        @if cells.len() <= CELLS_NAMED_MAX { (cells_in_words(cells)) }
        @else {
            "Cells "
            @for (index, cell) in cells.iter().enumerate() {
                @if index > 0 { ", " }
                (to_cell(cell, &cell.cell.what.ordinal.to_string()))
            }
        }
    }
}

fn all_variables(view: &LabView) -> Markup {
    let Some((cell, repeat)) = view.cells.iter().find_map(|cell| Some((cell, measured(cell)?)))
    else {
        return html! { p.soft { "No server variables are stored." } };
    };
    html! {
        details { summary { "All " (repeat.variables.len())
            " server variables" @if view.cells.len() > 1 { " of the first cell, " (cell.label) } }
            input type="search" data-rows="variables" placeholder="Filter by name or value"
                aria-label="Filter server variables";
            div.scroll { table id="variables" {
                thead { tr { th scope="col" { "Variable" } th scope="col" { "Value" } } }
                tbody { @for variable in &repeat.variables { tr.changed[variable.changed()] {
                    th.mono scope="row" { (variable.name) }
                    td.value.mono {
                        (variable.value())
                        @if variable.changed() {
                            ", after the window: " (variable.end.as_deref().unwrap_or("")) }
                    }
                } } }
            } }
        }
    }
}

/// A closed table for each cell, of its first repeat that is done.
fn status_tables(view: &LabView) -> Markup {
    html! {
        @for cell in &view.cells {
            @if let Some(repeat) = cell.counted().find(|repeat| !repeat.risen.is_empty()) {
                details {
                    summary {
                        (counted(repeat.risen.len(), "status counter", "status counters"))
                        " rose in the window" @if view.cells.len() > 1 { " of " (cell.label) }
                    }
                    @if cell.repeats.len() > 1 { p.soft.small {
                        "Of repeat " (repeat.repeat.ordinal) "." } }
                    (risen_table(&repeat.risen))
                }
            }
        }
    }
}

fn risen_table(risen: &[Risen]) -> Markup {
    let table = Table::of(risen)
        .words("Counter", |counter| html! { span.mono { (counter.name) } })
        .numbers("Start", |counter| integer(counter.start))
        .numbers("End", |counter| integer(counter.end))
        .numbers("Rise", |counter| html! { b { (integer(counter.end - counter.start)) } });
    let caption = "As the server gave them, of all its sessions since it started. Some are no \
        counters, but happened to be higher at the end.";
    shown_as("narrow", caption, table)
}

/// What an option file says, as (name, value): without the values of paths, ports and such, in
/// which servers differ that are configured alike. That a path is given at all is configuration:
/// files have a place of their own.
fn configured(my_cnf: &str) -> Vec<(&str, &str)> {
    let option = |line| {
        let (name, value) = str::split_once(line, '=').unwrap_or((line, ""));
        let (name, value) = (name.trim(), value.trim());
        let is_identity = IDENTITY_VARIABLES.contains(&name) || value.starts_with('/');
        (name, if is_identity { "" } else { value })
    };
    my_cnf.lines().map(option).collect()
}

/// Each different option file once, with the cells that ran on it.
fn option_files(view: &LabView) -> Markup {
    let files = by_key(view.cells.iter().flat_map(|cell| {
        let texts = cell.repeats.iter().filter_map(|repeat| repeat.repeat.my_cnf.as_deref());
        texts.map(move |text| (configured(text), (text, cell)))
    }));
    let one = files.len() == 1;
    html! {
        @for (_, alike) in &files {
            @let (text, cells) = (alike[0].0, alike.iter().map(|(_, cell)| *cell));
            @let cells = cells.dedup_by(|one, other| one.cell.id == other.cell.id).collect_vec();
            details { summary { "my.cnf" @if !one { " of " (cells_in_words(&cells)) } }
                p.soft.small { "Of the first of its servers; those configured alike differ in \
                    paths and ports." }
                pre { (text) }
            }
        }
    }
}

/// The commands that make the numbers and this page again.
pub fn reproduce(view: &LabView) -> Markup {
    let lab = &view.lab;
    html! {
        p { "These numbers were made by" }
        pre { (lab.command_line) }
        p { "and this page from the results file alone by" }
        pre { "mydyno report " (lab.id) " --results " (view.results_file) " -o report.html" }
        dl.pairs {
            dt { "mydyno" } dd { (lab.mydyno_version) }
            dt { "Started" } dd { (instant(lab.started_utc_ns)) }
            @if let Some(finished) = lab.finished_utc_ns {
                @let took = u64::try_from(finished - lab.started_utc_ns).unwrap_or(0);
                dt { "Finished" } dd { (instant(finished)) " (" (duration(took)) ")" }
            }
            dt { "Numbers as CSV" }
            dd { code { "mydyno export " (lab.id) " --results " (view.results_file) } }
        }
        @if let Some(plan) = &lab.plan { details { summary { "The plan" } pre { (plan) } } }
    }
}

#[cfg(test)]
mod tests {
    use super::configured;

    #[test]
    fn paths_and_ports_are_no_configuration() {
        let one = "[mysqld]\nport = 1\nundo = /a/b\ndatadir=/x\ninnodb_flush_method = O_DIRECT\n";
        let other = one.replace("= 1", "= 2").replace("/a/b", "/c");
        assert_eq!(configured(one), configured(&other));
        assert_eq!(configured(one)[4], ("innodb_flush_method", "O_DIRECT"));
        let placed = format!("{one}innodb_log_group_home_dir = /redo\n");
        assert_ne!(configured(one), configured(&placed));
        assert_ne!(configured(one), configured("[mysqld]"));
    }
}
