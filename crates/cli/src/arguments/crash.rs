//! The command line of `mydyno crash`.

use super::measuring::MeasuringArguments;
use super::target::ResultsArguments;
use super::values::{named, warehouses, warmup, window};
use base::limits;
use clap::Args;
use spec::{Fault, Length, Style, defaults};
use std::path::PathBuf;

#[derive(Args)]
pub struct CrashArguments {
    /// Number of drills, each on a server of its own
    #[arg(
        long, value_name = "N", default_value_t = 10,
        value_parser = clap::value_parser!(u32).range(1..=10_000)
    )]
    pub cuts: u32,
    /// What happens: power-cut (emulated devices lose their power: they keep what they had
    /// promised, and of the rest any part), kill (SIGKILL; every byte written is kept), or for 10
    /// seconds, before the server is killed: disk-full, io-error, short-write (the first half is
    /// written, all acknowledged), device-lost (one of an array, or the only one) or fail-slow (10
    /// times slower); of files of one role with it behind a colon: io-error:redo
    #[arg(long, value_name = "FAULT", default_value = Fault::NAMES[0])]
    pub fault: Fault,
    /// Statement style, as in `mydyno run`
    #[arg(
        long, default_value = defaults::STYLE.name(), value_parser = named(Style::ALL, Style::name)
    )]
    pub style: Style,
    /// Number of connections
    #[arg(
        short, long, default_value_t = 8,
        value_parser = clap::value_parser!(u32).range(1..=i64::from(limits::CONNECTIONS_MAX))
    )]
    pub connections: u32,
    /// Number of warehouses
    #[arg(short, long, default_value_t = 1, value_parser = warehouses())]
    pub warehouses: u32,
    /// Time before the window
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = warmup)]
    pub warmup: Length,
    /// Longest time from the warm-up to the fault, which comes at a random moment of its second
    /// half
    #[arg(long, value_name = "TIME", default_value = "4s", value_parser = window)]
    pub window: Length,
    #[command(flatten)]
    pub measuring: MeasuringArguments,
    /// Say how long each part of a measurement took: copying, starting, driving, checking, ending
    #[arg(short, long)]
    pub verbose: bool,
    /// Report to write, an HTML page
    #[arg(short, long, value_name = "FILE", default_value = "report.html")]
    pub output: PathBuf,
    #[command(flatten)]
    pub results: ResultsArguments,
    /// Print one JSON document on stdout
    #[arg(long)]
    pub json: bool,
}
