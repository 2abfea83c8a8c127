//! What the driver costs, beside the least that any driver costs: `make bench`, described in
//! bench/README.md.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "tables go to stdout, progress to stderr"
)]

mod bed;
mod command;
mod drivers;
mod floor;
mod meter;
mod raw;
mod table;

use anyhow::{Result, ensure};
use bed::Bed;
use clap::Parser;
use drivers::Peer;
use std::process::ExitCode;

/// What the driver costs, beside the least that any driver costs
#[derive(Parser)]
#[command(name = "bench")]
struct Arguments {
    /// Measure so often, interleaved, and take the median
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// Connections of the drivers
    #[arg(
        long, value_delimiter = ',', default_values_t = [8, 32],
        value_parser = clap::value_parser!(u32).range(1..=10_000)
    )]
    connections: Vec<u32>,
    /// Warm-up of a driver
    #[arg(long, value_name = "SECONDS", default_value_t = 1)]
    warmup: u32,
    /// Measured time of a driver
    #[arg(
        long, value_name = "SECONDS", default_value_t = 5,
        value_parser = clap::value_parser!(u32).range(1..)
    )]
    window: u32,
    /// Warehouses of the bench's own server
    #[arg(
        short, long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1000)
    )]
    warehouses: u32,
    /// A server that is there, with a schema that `mydyno load` filled:
    /// mysql://user@host:3306/tpcc; the password may come from MYDYNO_PASSWORD
    #[arg(long, conflicts_with = "warehouses")]
    dsn: Option<String>,
    /// A peer's command line, run by sh once a round for each number of connections; {host} {port}
    /// {socket} {user} {password} {connections} {seconds} are filled in; may be repeated
    #[arg(long, value_name = "COMMAND")]
    against: Vec<String>,
    /// The schema that the command works on, where its new orders are counted, or SCHEMA.TABLE
    /// where its districts are in a table of another name; one for each --against, or one for all
    #[arg(long, value_name = "SCHEMA", default_value = lab::SCHEMA)]
    against_schema: Vec<String>,
    /// Given by `cargo bench`
    #[arg(long, hide = true)]
    bench: bool,
}

impl Arguments {
    fn peers(&self) -> Result<Vec<Peer>> {
        ensure!(
            self.against_schema.len() == 1 || self.against_schema.len() == self.against.len(),
            "give one --against-schema for all, or one for each --against"
        );
        let schemas = self.against_schema.iter().cycle();
        let peers = self.against.iter().zip(schemas);
        Ok(peers
            .map(|(command, schema)| Peer {
                command: command.clone(),
                districts: match schema.split_once('.') {
                    Some((schema, table)) => format!("`{schema}`.`{table}`"),
                    None => format!("`{schema}`.district"),
                },
            })
            .collect())
    }
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench: {error:#}");
            let interrupted = meter::interrupted();
            ExitCode::from(if interrupted { 130 } else { 1 })
        }
    }
}

fn run(arguments: &Arguments) -> Result<()> {
    let peers = arguments.peers()?;
    meter::catch_interrupts()?;
    print_machine();
    let mut bed = match &arguments.dsn {
        Some(dsn) => Bed::existing(dsn)?,
        None => Bed::start_own(arguments.warehouses)?,
    };
    println!();
    for line in &bed.about {
        println!("- {line}");
    }
    let options = drivers::Options {
        rounds: arguments.rounds,
        connections: arguments.connections.clone(),
        warmup_s: arguments.warmup,
        window_s: arguments.window,
        peers,
    };
    drivers::compare(&mut bed, &options)
}

fn print_machine() {
    let facts = observe::host_facts(None);
    let shown = ["cpu_model", "cpu_cores", "memory_bytes", "kernel", "os"];
    println!("## Bench of the driver\n");
    for (name, value) in facts.iter().filter(|(name, _)| shown.contains(&name.as_str())) {
        println!("- {name}: {value}");
    }
    // Others at work on this machine show here.
    if let Ok(load) = std::fs::read_to_string("/proc/loadavg") {
        println!("- load average at the start: {}", load.trim());
    }
}
