//! The machines and the devices of a lab, and its blocks: did a host become slower or faster from
//! one to the next?

use crate::format::{NOT_MEASURED, bytes, integer, or_dash, percents, significant, transaction};
use crate::model::LabView;
use crate::table::shown;
use analyse::{BlockOutcome, MachineOutcome, Table, device_price_usd};
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
                dl.pairs { @for (key, value) in &machine.facts {
                    dt { (fact_name(key)) } dd { (fact_value(key, value)) }
                } }
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

/// From here on the host itself has changed enough to be seen in throughput.
const DRIFT_SHARE: f64 = 0.05;

/// The canary of each block against the first; nothing where there is one block.
pub fn blocks(blocks: &[BlockOutcome]) -> Markup {
    let ms = |us: Option<f64>| or_dash(us, |us| significant(us / 1e3));
    let table = Table::of(blocks)
        .numbers("Block", |block| block.block)
        .numbers_in(("Arithmetic", "ms"), |block| ms(block.canary_cpu_us))
        .numbers_in(("Memory", "ms"), |block| ms(block.canary_memory_us))
        .numbers_in(("Wake-up latency", "us"), |block| {
            or_dash(block.canary_wake_up_latency_us, significant)
        })
        .numbers_in(("Arithmetic against the first", "%"), |block| {
            or_dash(change(blocks, block), percents)
        });
    let caption = "The same fixed work at the start of each block. More time than in the first \
        block of a machine is a slower host; comparisons are made inside blocks. -: not measured.";
    html! {
        @if blocks.len() > 1 {
            h3 { "Blocks" }
            p { (drift(blocks)) }
            (shown(caption, table))
        }
    }
}

/// How much more time arithmetic took than in the first block of the machine.
fn change(blocks: &[BlockOutcome], block: &BlockOutcome) -> Option<f64> {
    let first = blocks.iter().find(|first| first.machine == block.machine)?.canary_cpu_us?;
    Some(block.canary_cpu_us? / first - 1.0)
}

fn drift(blocks: &[BlockOutcome]) -> String {
    let changes = blocks.iter().filter_map(|block| change(blocks, block));
    let Some(largest) = changes.max_by(|a, b| a.abs().total_cmp(&b.abs())) else {
        return "The host's own speed was not measured.".to_owned();
    };
    let percent = percents(largest.abs());
    if largest.abs() < DRIFT_SHARE {
        return format!("The host's own speed changed by at most {percent} % from block to block.");
    }
    let more = if largest > 0.0 { "more" } else { "less" };
    format!(
        "The host's own speed changed: fixed work took {percent} % {more} time than in the first \
         block. That is no effect of a setting."
    )
}

#[cfg(test)]
mod tests {
    use super::blocks;
    use analyse::BlockOutcome;

    fn block(block: u32, canary_cpu_us: f64) -> BlockOutcome {
        BlockOutcome {
            block,
            machine: None,
            started_utc_ns: 0,
            canary_cpu_us: Some(canary_cpu_us),
            canary_memory_us: None,
            canary_wake_up_latency_us: Some(60.0),
        }
    }

    #[test]
    fn a_host_that_became_slower_is_told() {
        let all = [block(1, 10_000.0), block(2, 10_100.0), block(3, 13_000.0)];
        assert_eq!(blocks(&all[..1]).into_string(), "");
        let text = blocks(&all[..2]).into_string();
        assert!(text.contains("changed by at most 1 %"), "{text}");
        let text = blocks(&all).into_string();
        assert!(text.contains("fixed work took 30 % more time"), "{text}");
        // Another machine is slower, and stays as it is.
        let slow = |number| BlockOutcome { machine: Some("b".to_owned()), ..block(number, 2e4) };
        let text = blocks(&[block(1, 1e4), slow(2), slow(3)]).into_string();
        assert!(text.contains("changed by at most 0 %"), "{text}");
    }
}
