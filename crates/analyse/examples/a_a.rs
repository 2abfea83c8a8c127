//! How many pairs of cells of a lab were called different: of equal cells each is a false alarm.
//! `cargo run -p analyse --example a_a -- a-a.db`, after `mydyno lab run plans/a-a-small.toml
//! --results a-a.db`.
#![expect(clippy::print_stdout, reason = "a program whose output is this table")]

use analyse::{Base, Blocks, Observation, holm, lab_outcome};
use std::path::PathBuf;
use store::Results;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let file = std::env::args_os().nth(1).map(PathBuf::from);
    let file = file.ok_or("name the results file of a lab of equal cells")?;
    let results = Results::open(&file)?;
    let lab = results.labs()?.pop().ok_or("the file holds no lab")?;
    let outcome = lab_outcome(&results, lab.id)?;
    let mut measured = Vec::new();
    for (index, cell) in outcome.cells.iter().enumerate() {
        let of = |repeat: &analyse::RepeatOutcome| {
            Some(Observation { cell: index, block: repeat.block as usize, value: repeat.nopm? })
        };
        measured.extend(cell.repeats.iter().filter_map(of));
    }
    let blocks = Blocks::of(&measured);
    let cells = outcome.cells.len();
    let pairs = (0..cells).flat_map(|base| (base + 1..cells).map(move |cell| (cell, base)));
    let contrasts = pairs.filter_map(|(cell, base)| blocks.contrast(cell, Base(base)));
    let p_values: Vec<f64> = contrasts.filter_map(|contrast| contrast.p_value()).collect();
    let below = |p_values: &[f64]| p_values.iter().filter(|p| **p < 0.05).count();
    println!(
        "{} cells, {} repeats, {} pairs: {} with p < 0.05, {} after correction",
        cells,
        measured.len(),
        p_values.len(),
        below(&p_values),
        below(&holm(&p_values)),
    );
    let mut sorted = p_values;
    sorted.sort_by(f64::total_cmp);
    let shown = sorted.iter().map(|p| format!("{p:.3}"));
    println!("p: {}", shown.collect::<Vec<_>>().join(" "));
    Ok(())
}
