//! How long the report of a lab of 64 cells takes to make, how large it is, and how long a browser
//! takes to open it: `cargo bench -p report --bench page`.
#![expect(clippy::print_stdout, reason = "the table is what it is for")]
#![expect(dead_code, reason = "the tests' module has more than a benchmark needs")]

#[path = "../tests/common/mod.rs"]
mod common;

use common::browser::open_with;
use common::{ONE_CELL, Shape, build, spend_on_statements};
use std::path::Path;
use std::time::Instant;

const ROUNDS: usize = 5;

/// The page tells when all of it was read and drawn, in ms since it was asked for.
const DRAWN: &str = "<script>document.body.dataset.drawn = Math.round(performance.now());</script>";

fn main() {
    let scratch = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    println!(
        "\n| repeats | results file, MB | made in, s | page, MB | opened in, ms |\n| --: | --: | \
         --: | --: | --: |"
    );
    for repeats in 1..=3 {
        let file = scratch.path().join(format!("{repeats}.db"));
        let shape = Shape {
            name: "64 cells",
            devices: &["hdd-15k", "sata-850pro", "sas-pm1633", "nvme-pm1725"],
            connections: &[8, 16, 32, 64],
            capacities: &[("200", 0.5), ("2000", 1.0), ("15000", 0.99), ("30000", 0.6)],
            repeats,
            warmup_s: 15,
            window_s: 60,
            observed: true,
            ..ONE_CELL
        };
        let (results, lab) = build(&file, &shape);
        spend_on_statements(&results);
        let made = median((0..ROUNDS).map(|_| {
            let begun = Instant::now();
            std::hint::black_box(report::render(&results, lab).unwrap());
            begun.elapsed().as_secs_f64()
        }));
        let html = report::render(&results, lab).unwrap();
        let page = scratch.path().join("page.html");
        std::fs::write(&page, format!("{html}{DRAWN}")).unwrap();
        let opened = median((0..ROUNDS).map(|_| opened_ms(&page, scratch.path())));
        let megabytes = |bytes: u64| bytes as f64 / 1e6;
        println!(
            "| {} | {:.0} | {made:.2} | {:.1} | {opened:.0} |",
            64 * repeats,
            megabytes(std::fs::metadata(&file).unwrap().len()),
            megabytes(html.len() as u64),
        );
    }
}

fn opened_ms(page: &Path, scratch: &Path) -> f64 {
    let shown = open_with(page, scratch, &["--window-size=1300,2000"]);
    let told = shown.dom.split("data-drawn=\"").nth(1).unwrap();
    told.split('"').next().unwrap().parse().unwrap()
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
