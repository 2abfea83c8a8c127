//! The pictures of the README and of docs/tutorial.md, from the tutorial's lab: measured once,
//! watched in a browser, and its report. `make pictures`.
#![expect(clippy::print_stderr, reason = "progress goes to stderr")]

#[path = "../tests/support/tab.rs"]
mod tab;

use anyhow::{Context, Result, bail, ensure};
use clap::Parser;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use std::fs::{copy, create_dir_all, read, write};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tab::Tab;
use tempfile::TempDir;

const MYDYNO: &str = env!("CARGO_BIN_EXE_mydyno");
const WIDTH: u32 = 1_300;
/// What is below that is left out.
const HEIGHT_MAX: u32 = 1_400;
/// For anything that is waited for: the lab takes less.
const PATIENCE: Duration = Duration::from_secs(3_600);
/// The lab is pictured when so many repeats are there.
const REPEATS_BEFORE: u32 = 8;

/// The pictures of the README and the tutorial
#[derive(Parser)]
#[command(name = "pictures")]
struct Arguments {
    /// Where they are written
    #[arg(short, long)]
    output: PathBuf,
    /// Plan of the lab
    #[arg(long)]
    plan: PathBuf,
    /// Results file of that lab, measured before: no picture of the page that shows it live
    #[arg(long)]
    results: Option<PathBuf>,
    /// Given by `cargo bench`
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let output = &arguments.output;
    create_dir_all(output).with_context(|| format!("cannot make {}", output.display()))?;
    let work = directory();
    let file = work.path().join("tutorial.db");
    if let Some(results) = &arguments.results {
        copy(results, &file).with_context(|| format!("cannot read {}", results.display()))?;
    }
    let mut served = Command::new(MYDYNO)
        .args(["serve", ".", "--listen", "127.0.0.1:0"])
        .current_dir(work.path())
        .stderr(Stdio::piped())
        .spawn()
        .context("mydyno does not start")?;
    let taken = address_of(&mut served).and_then(|address| {
        if arguments.results.is_none() {
            measure(&arguments, &file, &address)?;
        }
        of_report(&address, &file, output)
    });
    interrupt(&served);
    served.wait()?;
    taken
}

/// Where a server listens, which is in the first line that it prints.
fn address_of(served: &mut Child) -> Result<String> {
    let stderr = served.stderr.take().context("a pipe was asked for")?;
    let mut line = String::new();
    BufReader::new(stderr).read_line(&mut line)?;
    let rest = line.split("http://").nth(1).with_context(|| format!("no address in {line:?}"))?;
    let address = rest.split('/').next().unwrap_or_default();
    Ok(format!("http://{address}"))
}

fn interrupt(child: &Child) {
    if let Some(pid) = Pid::from_raw(child.id().cast_signed()) {
        // It may have ended by itself.
        let _ = kill_process(pid, Signal::INT);
    }
}

/// Measures the lab, and takes a picture of the page that shows it.
fn measure(arguments: &Arguments, file: &Path, address: &str) -> Result<()> {
    let mut lab = Command::new(MYDYNO)
        .args(["lab", "run"])
        .arg(&arguments.plan)
        .arg("--results")
        .arg(file)
        .arg("--output")
        .arg(file.with_extension("html"))
        .stdout(Stdio::null())
        .spawn()
        .context("mydyno does not start")?;
    until("the lab has begun", || file.exists());
    std::thread::sleep(Duration::from_secs(2));
    let mut tab = Tab::open(&format!("{address}/lab?file=.%2Ftutorial.db&lab=1"), WIDTH);
    let shown = format!(
        "document.querySelectorAll('#matrix [data-status=done]').length >= {REPEATS_BEFORE} && \
         !document.querySelector('#running').hidden && \
         document.querySelector('#running progress')?.value > 2 && \
         document.querySelectorAll('[data-account] tr').length > 3"
    );
    until("the page shows a window", || tab.value(&shown) == true);
    picture(&mut tab, "document.body", &arguments.output.join("live.png"))?;
    ensure!(lab.wait()?.success(), "the lab was not measured");
    Ok(())
}

/// Takes the pictures of a report.
fn of_report(address: &str, file: &Path, output: &Path) -> Result<()> {
    let mut tab = Tab::open(&format!("{address}/report?file=.%2Ftutorial.db&lab=1"), WIDTH);
    let drawn = "document.querySelectorAll('#picture canvas, #picture svg').length > 0";
    until("the report is drawn", || tab.value(drawn) == true);
    for (name, last) in [("report", "#picture"), ("account", "#account"), ("effects", "#effects")] {
        let element = format!("document.querySelector('{last}')");
        picture(&mut tab, &element, &output.join(name).with_extension("png"))?;
    }
    let figure = Command::new(MYDYNO)
        .args(["report", "--figure", "throughput-by-connections", "--results"])
        .arg(file)
        .arg("-o")
        .arg(output.join("throughput.png"))
        .status()?;
    ensure!(figure.success(), "mydyno report --figure failed");
    Ok(())
}

/// Writes what an element shows; of the first section of a page, all that is above it too.
fn picture(tab: &mut Tab, element: &str, file: &Path) -> Result<()> {
    let found = tab.text(&format!("{element} ? 'yes' : 'no'"));
    ensure!(found == "yes", "the page has no {element}; it said {:?}", tab.console);
    let bounds = tab.value(&format!(
        "(() => {{ const of = {element}.getBoundingClientRect(); \
         const top = {element}.id === 'picture' ? 0 : of.top + scrollY; \
         const height = Math.min(of.bottom + scrollY - top, {HEIGHT_MAX}); \
         return {{ x: 0, y: top, width: innerWidth, height, scale: 1 }}; \
         }})()"
    ));
    let asked = json!({ "format": "png", "captureBeyondViewport": true, "clip": bounds });
    let answer = tab.ask("Page.captureScreenshot", asked);
    let Some(encoded) = answer["data"].as_str() else { bail!("no picture: {answer}") };
    write(file, openssl::base64::decode_block(encoded)?)?;
    eprintln!("{}: {} kB", file.display(), read(file)?.len() / 1_000);
    Ok(())
}

fn directory() -> TempDir {
    tempfile::tempdir().unwrap_or_else(|cause| panic!("no temporary directory: {cause}"))
}

fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let began = Instant::now();
    while !condition() {
        assert!(began.elapsed() < PATIENCE, "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(200));
    }
}
