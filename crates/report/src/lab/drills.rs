//! What durability costs and what giving it up loses: throughput beside what survived drills.

use crate::format::{integer, or_dash, trimmed, truncated};
use crate::model::LabView;
use crate::table::{TableContent, shown, shown_as};
use analyse::{DATA, DrillFigures, LabOutcome, Table, varying};
use base::by_key;
use itertools::Itertools;
use maud::{Markup, html};

/// A table of more cells is closed.
const ROWS_OPEN_MAX: usize = 8;
/// Of the longest bar, in percent of its table cell.
const BAR_MAX_PERCENT: f64 = 100.0;

/// A table of all cells whose servers were ended; nothing where none was.
pub fn drills(view: &LabView) -> Markup {
    let all = &view.outcome.drills;
    html! {
        @if !all.is_empty() {
            p.soft.small {
                "Each drill let a fault come at a random moment under load, ended the server, and \
                 looked for everything that it had acknowledged. NOPM is that of the load until \
                 then; where devices fail for 10 seconds, with these."
            }
            (picture(&view.outcome))
            details open[all.len() <= ROWS_OPEN_MAX] {
                summary { "Data table" }
                (shown("", table(view)))
            }
            @for of in all.iter().filter(|of| !of.reactions.is_empty()) {
                details {
                    summary { (label(view, of)) ": what servers said" }
                    ul { @for one in &of.reactions { li {
                        "drill " (one.drill) ": " (one.reaction) ", " (one.client_errors)
                        " transactions given up" @if let Some(said) = &one.said { "; " (said) }
                    } } }
                }
            }
            @for of in all.iter().filter(|of| !of.damage.is_empty()) {
                details {
                    summary { (label(view, of)) ": " (of.damage.len()) " damaged" }
                    ul { @for damage in &of.damage {
                        li { "drill " (damage.drill) ": " (damage.what) }
                    } }
                }
            }
        }
    }
}

fn table(view: &LabView) -> Table<&DrillFigures, TableContent> {
    let all = &view.outcome.drills;
    let nopm = |of: &DrillFigures| {
        let cell = view.outcome.cells.iter().find(|cell| cell.ordinal == of.ordinal);
        cell.and_then(|cell| cell.nopm.mean)
    };
    let most = all.iter().filter_map(nopm).fold(0.0, f64::max);
    let bar = |of: &DrillFigures| {
        let nopm = nopm(of).filter(|_| most > 0.0)?;
        Some(trimmed(nopm / most * BAR_MAX_PERCENT, 0))
    };
    let kind = |of: &DrillFigures, name: &str| {
        let kind = of.witnessed.iter().find(|kind| kind.name == name);
        kind.map_or((0, 0), |kind| (kind.acknowledged, kind.lost))
    };
    let lost = |of: &DrillFigures, name: &str| strong(kind(of, name).1);
    Table::of(all)
        .words("Cell", |of| label(view, of))
        .words("Fault", |of| {
            let reactions = of.reactions_in_words().map(|words| format!(": it {words}"));
            of.fault.clone() + &reactions.unwrap_or_default()
        })
        .numbers("NOPM", |of| or_dash(nopm(of), truncated))
        .words("", |of| {
            html! { @if let Some(bar) = bar(of) { meter min="0" max="100" value=(bar) {} } }
        })
        .numbers("Drills", |of| integer(of.drills.into()))
        .numbers("Recovered", |of| integer(of.recovered.into()))
        .numbers_in(("Recovery", "s"), |of| or_dash(of.recovery_mean_s, |s| trimmed(s, 1)))
        .numbers("Orders acknowledged", |of| integer(kind(of, "new_order").0))
        .numbers("Orders lost", |of| lost(of, "new_order"))
        .numbers("Payments lost", |of| lost(of, "payment"))
        .numbers("Deliveries lost", |of| lost(of, "delivered_orders"))
        .numbers_in(("Longest loss", "s"), |of| trimmed(of.lost_span_max_s, 2))
        .numbers("Damaged", |of| strong(of.damaged.into()))
        .numbers("Pages torn", |of| integer(of.torn_pages))
        .numbers("Pages corrupt", |of| strong(of.corrupt_pages))
        .numbers("Writes lost or torn", |of| integer(of.lost_writes + of.torn_writes))
}

/// What is given up by device: a row for each of what else differs, named by what is another than
/// in the first row; nothing where only one of both varies.
fn picture(outcome: &LabOutcome) -> Markup {
    let varying = varying(&outcome.cells);
    let rows = by_key(outcome.drills.iter().filter_map(|of| {
        let cell = outcome.cells.iter().find(|cell| cell.ordinal == of.ordinal)?;
        let (mut device, mut settings) = (String::new(), Settings::new());
        for (name, value) in cell.names().into_iter().filter(|(name, _)| varying.contains(name)) {
            if name == DATA { device = value } else { settings.push((name, value)) }
        }
        Some((settings, (device, of)))
    }));
    let cells = rows.iter().flat_map(|(_, cells)| cells);
    let devices = cells.map(|(device, _)| device).unique().collect_vec();
    let Some((first, _)) = rows.first().filter(|_| rows.len() > 1 && devices.len() > 1) else {
        return html! {};
    };
    let mut table =
        Table::of(&rows).words("What is given up", |(settings, _)| given_up(first, settings));
    for device in &devices {
        table = table.words(device, |(_, cells)| {
            html! {
                @for (_, of) in cells.iter().filter(|(on, _)| on == *device) { (survived(of)) }
            }
        });
    }
    shown_as("survival", "", table)
}

/// Names and values of what a cell has set.
type Settings = Vec<(String, String)>;

fn given_up(first: &Settings, settings: &Settings) -> String {
    let others = settings.iter().filter(|setting| !first.contains(setting));
    let words = others.map(|(name, value)| format!("{name}={value}")).join(", ");
    if words.is_empty() { "nothing".to_owned() } else { words }
}

fn survived(of: &DrillFigures) -> Markup {
    let lost: u64 = of.witnessed.iter().map(|kind| kind.lost).sum();
    let acknowledged: u64 = of.witnessed.iter().map(|kind| kind.acknowledged).sum();
    let gone = of.drills - of.recovered;
    let damaged = of.damaged.saturating_sub(gone);
    html! {
        span.tag.good[lost == 0].bad[lost > 0] {
            @if lost == 0 { "nothing lost" }
            @else { (integer(lost)) " of " (integer(acknowledged)) " lost" }
        }
        @if gone > 0 { " " span.tag.bad { (gone) " of " (of.drills) " do not start" } }
        @if damaged > 0 { " " span.tag.bad { (damaged) " damaged" } }
    }
}

fn label(view: &LabView, of: &DrillFigures) -> String {
    let cell = view.by_ordinal(of.ordinal);
    cell.map_or_else(|| format!("cell {}", of.ordinal), |cell| cell.label.clone())
}

/// What should be 0 is bold where it is not.
fn strong(count: u64) -> Markup {
    html! { @if count > 0 { b { (integer(count)) } } @else { "0" } }
}
