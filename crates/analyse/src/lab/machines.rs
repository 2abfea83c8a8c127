//! The machines of a lab: what each is, what it measured, and how much it gives against the others.

use crate::lab::cells::CellOutcome;
use crate::stats::blocks::Blocks;
use crate::stats::statistics::mean;
use base::document;
use store::{Block, LabMachine};

document! {
    /// One machine of a lab.
    #[derive(Clone, Debug, PartialEq)]
    pub struct MachineOutcome from (
        machine: &LabMachine,
        blocks: &[Block],
        cells: &[CellOutcome],
        model: &Blocks
    );
    let text = |key: &str| machine.fact(key).map(str::to_owned);
    let mine = blocks.iter().filter(|block| block.machine == machine.machine);
    let numbers = mine.clone().map(|block| block.block).collect::<Vec<u32>>();
    let repeats = cells.iter().flat_map(|cell| &cell.repeats);
    let done = repeats.filter(|of| of.nopm.is_some() && numbers.contains(&of.block)).count();
    let canaries = mine.filter_map(|block| Some(block.canary?.cpu_ns as f64 / 1e3));
    let canaries = canaries.collect::<Vec<f64>>();
    let places = numbers.iter().map(|block| *block as usize).collect::<Vec<usize>>();
    {
        /// That of its host; `machine 1` where it is not known.
        pub name: String = machine.name(),
        pub cpu_model: Option<String> = text("cpu_model"),
        pub cpu_cores: Option<u32> = text("cpu_cores").and_then(|cores| cores.parse().ok()),
        pub memory_bytes: Option<u64> = text("memory_bytes").and_then(|bytes| bytes.parse().ok()),
        pub kernel: Option<String> = text("kernel"),
        /// Those that it measured.
        pub blocks: Vec<u32> = numbers,
        /// Of these, with a result.
        pub repeats: usize = done,
        /// The mean of its blocks.
        pub canary_cpu_us: Option<f64> = mean(&canaries),
        /// Throughput of its blocks to that of the others' blocks, in the geometric mean, with the
        /// cells taken out; `None` where there is no other machine, or no cell that links them.
        pub nopm_ratio: Option<f64> = model.ratio_of_blocks(&places),
    }
}

#[cfg(test)]
mod tests {
    use super::MachineOutcome;
    use crate::lab::cells::{blocks, tests::cell};
    use store::{Block, LabMachine};

    #[test]
    fn machines_are_compared_by_what_they_give_to_the_same_cells() {
        // Blocks 1 and 3 are of a machine that gives half; the cells differ much more.
        let cells = [
            cell(1, ("hdd-15k", "200"), 8, &[100.0, 200.0, 100.0]),
            cell(2, ("nvme-pm1725", "200"), 8, &[1_000.0, 2_000.0, 1_000.0]),
        ];
        let model = blocks(&cells, |repeat| repeat.nopm);
        let of = |block, machine| Block { block, machine, started_utc_ns: 0, canary: None };
        let all = [of(1, 1), of(2, 2), of(3, 1)];
        let facts = vec![("host_name".to_owned(), "slow".to_owned())];
        let machine = LabMachine { machine: 1, facts };
        let outcome = MachineOutcome::of(&machine, &all, &cells, &model);
        assert_eq!((outcome.name.as_str(), outcome.repeats), ("slow", 4));
        assert_eq!(outcome.blocks, [1, 3]);
        assert!((outcome.nopm_ratio.unwrap() - 0.5).abs() < 1e-9, "{outcome:?}");
        let alone = MachineOutcome::of(&machine, &[of(1, 1), of(2, 1), of(3, 1)], &cells, &model);
        assert_eq!(alone.nopm_ratio, None);
    }
}
