//! The blocks of a lab: did the host become slower or faster from one to the next?

use crate::format::{or_dash, percents, significant};
use crate::table::shown;
use analyse::{BlockOutcome, Table};
use maud::{Markup, html};

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
    let largest = changes.max_by(|a, b| a.abs().total_cmp(&b.abs()));
    match largest {
        None => "The host's own speed was not measured.".to_owned(),
        Some(change) if change.abs() < DRIFT_SHARE => format!(
            "The host's own speed changed by at most {} % from block to block.",
            percents(change.abs())
        ),
        Some(change) => format!(
            "The host's own speed changed: fixed work took {} % {} time than in the first block. \
             That is no effect of a setting.",
            percents(change.abs()),
            if change > 0.0 { "more" } else { "less" }
        ),
    }
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
