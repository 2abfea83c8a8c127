//! The machine and the devices of a lab.

use crate::format::{NOT_MEASURED, bytes, integer, or_dash, percents, significant, transaction};
use crate::model::LabView;
use crate::table::shown;
use analyse::{MachineOutcome, Table, device_price_usd};
use device::Profile;
use itertools::Itertools;
use maud::{Markup, html};

/// Host facts, and what the devices promise.
pub fn hardware(view: &LabView) -> Markup {
    let is_one = view.machines.len() < 2;
    html! {
        @if is_one { h3 { "Machine" } } @else { (machines(&view.outcome.machines)) }
        @if view.machines.is_empty() { p.soft { "Nothing is stored on the machine." } }
        @for machine in &view.machines {
            @let facts = html! {
                dl.pairs {
                    @for (key, value) in &machine.facts {
                        dt { (fact_name(key)) } dd { (fact_value(key, value)) }
                    }
                }
            };
            @if is_one { (facts) } @else { details { summary { (machine.name()) } (facts) } }
        }
        (devices(view))
    }
}

/// Which machine measured what, and how much it gives against the others.
fn machines(machines: &[MachineOutcome]) -> Markup {
    let or_none = |text: &Option<String>| text.clone().unwrap_or_else(|| NOT_MEASURED.to_owned());
    let table = Table::of(machines)
        .words("Machine", |of| &of.name)
        .words("CPU", |of| or_none(&of.cpu_model))
        .numbers("Cores", |of| or_dash(of.cpu_cores, |cores| cores.to_string()))
        .numbers("Memory", |of| or_dash(of.memory_bytes, bytes))
        .words("Kernel", |of| or_none(&of.kernel))
        .words("Blocks", |of| of.blocks.iter().join(", "))
        .numbers("Repeats", |of| integer(of.repeats as u64))
        .numbers_in(("Canary", "ms"), |of| or_dash(of.canary_cpu_us, |us| significant(us / 1e3)))
        .numbers_in(("Against others", "%"), |of| {
            or_dash(of.nopm_ratio, |ratio| percents(ratio - 1.0))
        });
    let caption = "Whole blocks were measured on one machine, and cells are compared inside \
        blocks, so that machines which differ bias no comparison. Against others: throughput of \
        its blocks to that of all other blocks, with the cells taken out. Means over the repeats \
        of a cell have the machines' differences in their intervals.";
    html! { h3 { "Machines" } (shown(caption, table)) }
}

fn fact_name(key: &str) -> String {
    let name = key.trim_end_matches("_bytes").replace('_', " ");
    let capital = transaction(&name);
    capital.replace("Cpu", "CPU").replace("Os", "OS").replace("Mydyno", "mydyno")
}

fn fact_value(key: &str, value: &str) -> String {
    match value.parse() {
        Ok(number) if key.ends_with("_bytes") => bytes(number),
        _ => value.to_owned(),
    }
}

/// A number of a sheet, under its title and unit.
type Promise = ((&'static str, &'static str), fn(&Profile) -> Option<f64>);

const PROMISES: [Promise; 8] = [
    (("Random read", "IOPS"), |of| of.sheet.random_read_iops),
    (("Random write", "IOPS, sustained"), |of| of.sheet.random_write_iops),
    (("Random write", "IOPS, peak"), |of| of.sheet.random_write_peak_iops),
    (("Sequential read", "MB/s"), |of| of.sheet.sequential_read_mb_per_s),
    (("Sequential write", "MB/s"), |of| of.sheet.sequential_write_mb_per_s),
    (("Read", "µs"), |of| of.sheet.read_latency_us),
    (("Flush", "µs"), |of| of.sheet.flush_latency_us),
    (("Price", "USD"), device_price_usd),
];

fn devices(view: &LabView) -> Markup {
    let emulated = view.profiles.iter().map(|profile| {
        let used = spec::used_in_words(profile).map(|used| format!(", {used}"));
        let what = format!("{}, emulated{}", profile.title, used.unwrap_or_default());
        (&profile.name, what, Some(profile))
    });
    // Each real device once, with where its bytes are.
    let places = view.cells.iter().flat_map(|cell| &cell.cell.what.places);
    let real = places.filter(|place| !place.emulated);
    let real = real.unique_by(|place| (&place.device, &place.backing));
    let real = real.map(|place| (&place.device, format!("real: {}", place.backing), None));
    let mut table = Table::of(emulated.chain(real))
        .words("Device", |(name, ..)| *name)
        .words("What it is", |(_, what, _)| what.clone())
        .numbers("Size", |(.., of)| of.map_or_else(String::new, |of| bytes(of.capacity_bytes)));
    for (head, promised) in PROMISES {
        table = table.numbers_in(head, |(.., of)| {
            of.map_or_else(String::new, |of| or_dash(promised(of), significant))
        });
    }
    let caption = "What the sheets of emulated devices promise, full: 4 KiB random, 128 KiB \
        sequential; the shim plays it. -: not promised. docs/emulation.md says how it was checked \
        with fio.";
    html! {
        @if !table.rows().is_empty() {
            h3 { "Devices" }
            (shown(caption, table))
        }
    }
}
