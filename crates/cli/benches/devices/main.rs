//! What emulated devices deliver: their sheets under fio, and servers on them. `make devices`
//! writes docs/devices.md with it.
//!
//! Everything is measured by `mydyno` itself, as a user would; this program only puts the documents
//! into one page. Ctrl-C reaches the command that runs too, which ends what it started.
#![expect(clippy::print_stderr, reason = "progress goes to stderr")]

mod page;
mod sensitivity;
mod servers;
mod sheets;

use anyhow::{Context, Result, bail};
use clap::{Parser, ValueEnum};
use page::Page;
use serde_json::Value;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// What emulated devices deliver
#[derive(Parser)]
#[command(name = "devices")]
struct Arguments {
    /// The page that is written
    #[arg(short, long)]
    output: PathBuf,
    /// Only these parts; the page keeps the others [default: all]
    #[arg(long, value_name = "PART")]
    only: Vec<Part>,
    /// Measure servers so often, in interleaved rounds
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: u32,
    /// Seconds of fio for each figure of a sheet
    #[arg(long, default_value_t = 3)]
    seconds: u32,
    /// Window of a server, in seconds; on a slow disk an order takes several
    #[arg(long, default_value_t = 20)]
    window: u32,
    /// Given by `cargo bench`
    #[arg(long, hide = true)]
    bench: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Each profile's sheet under fio
    Sheets,
    /// The papers' four devices under 5.7, in rounds
    Papers,
    /// What counting real storage costs
    Cost,
    /// Every engine on every profile
    Engines,
    /// The papers' cell with each figure of a profile less and more
    Sensitivity,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let wants = |part| arguments.only.is_empty() || arguments.only.contains(&part);
    let mut page = Page::begin(arguments.output.clone(), &machine()?, !arguments.only.is_empty())?;
    if wants(Part::Sheets) {
        sheets::sheets(&mut page, arguments.seconds)?;
        page.write()?;
    }
    let bed = servers::Bed::new(arguments.window)?;
    if wants(Part::Papers) {
        servers::papers(&mut page, &bed, arguments.rounds)?;
        page.write()?;
    }
    if wants(Part::Cost) {
        servers::cost(&mut page, &bed, arguments.rounds)?;
        page.write()?;
    }
    if wants(Part::Engines) {
        servers::engines(&mut page, &bed)?;
    }
    if wants(Part::Sensitivity) {
        sensitivity::sensitivity(&mut page, arguments.rounds)?;
    }
    Ok(())
}

/// `CPU model, cores, Linux version, memory`.
fn machine() -> Result<String> {
    let cpuinfo = std::fs::read_to_string("/proc/cpuinfo")?;
    let field =
        |line: &str| Some(line.strip_prefix("model name")?.split_once(':')?.1.trim().to_owned());
    let model = cpuinfo.lines().find_map(field).unwrap_or_else(|| "unknown CPU".to_owned());
    let cores = std::thread::available_parallelism()?;
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease")?;
    let version = release.split('-').next().unwrap_or_default().trim().to_owned();
    Ok(format!("{model}, {cores} cores, Linux {version}"))
}

/// Runs `mydyno` and returns the document that it prints. A check that failed (exit 6) has printed
/// one too.
fn mydyno(arguments: &[&str], directory: &std::path::Path) -> Result<Value> {
    eprintln!("mydyno {}", arguments.join(" "));
    let output = Command::new(env!("CARGO_BIN_EXE_mydyno"))
        .args(arguments)
        .current_dir(directory)
        .stdin(Stdio::null())
        .output()
        .context("mydyno does not start")?;
    if !matches!(output.status.code(), Some(0 | 6)) {
        bail!("mydyno {}: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr));
    }
    serde_json::from_slice(&output.stdout).context("mydyno printed no document")
}
