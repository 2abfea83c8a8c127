//! How often comparisons in blocks find what is there, and what is not. Prints the table of
//! docs/statistics.md: `cargo run -p analyse --example blocks`.
#![expect(clippy::print_stdout, reason = "a program whose output is this table")]

#[path = "../tests/it/simulated.rs"]
mod simulated;

const TRIALS: usize = 20_000;

fn main() {
    let columns = [
        "lab",
        "false alarms",
        "of noisy pairs",
        "+5 %",
        "+5 %, one-sided",
        "+20 %",
        "tables with a false alarm, corrected",
        "+5 %, corrected",
        "+20 %, corrected",
    ];
    println!("| {} |", columns.join(" | "));
    println!("| --- |{}", " ---: |".repeat(columns.len() - 1));
    for scenario in simulated::scenarios() {
        let found = scenario.tried(TRIALS);
        let shares = [
            found.false_alarms,
            found.false_alarms_noisy,
            found.five_percent,
            found.five_percent_one_sided,
            found.twenty_percent,
            found.tables_with_false_alarms,
            found.five_percent_corrected,
            found.twenty_percent_corrected,
        ];
        let shares = shares.map(|share| match share.is_finite() {
            true => format!("{:.1} %", share * 100.0),
            false => "-".to_owned(),
        });
        println!("| {} | {} |", scenario.name, shares.join(" | "));
    }
}
