//! Servers on emulated devices.

use crate::mydyno;
use crate::page::{Page, number, percent};
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use tempfile::TempDir;

const ENGINES: [&str; 4] = ["mysql-5.7", "mysql-8.0", "mariadb-10.11", "xtradb-5.6"];
/// The papers' devices, fastest first.
const PAPERS: [&str; 4] = ["nvme-pm1725", "sas-pm1633", "sata-850pro", "hdd-15k"];
const WAREHOUSES: &str = "10";
const CONNECTIONS: &str = "32";
/// 5 % of the data of ten warehouses; and what the papers set for all their devices.
const SETTINGS: [&str; 3] = [
    "innodb_buffer_pool_size=50M",
    "innodb_flush_method=O_DIRECT",
    "innodb_adaptive_hash_index=OFF",
];
/// Alternations of runs that are counted and runs that are not, for each round.
const COST_PAIRS: u32 = 4;

/// Where runs store their results, and how long they measure.
pub struct Bed {
    directory: TempDir,
    window: String,
}

struct Measured {
    /// `None` where the run failed.
    nopm: Option<f64>,
    p95_us: Option<f64>,
    fidelity: Option<f64>,
    overrun_share: Option<f64>,
    /// Of all roles that are counted.
    requests_per_s: f64,
    checks_hold: bool,
}

impl Bed {
    pub fn new(window_s: u32) -> Result<Bed> {
        Ok(Bed { directory: tempfile::tempdir()?, window: format!("{window_s}s") })
    }

    fn run(&self, engine: &str, settings: &[&str], more: &[&str]) -> Result<Measured> {
        let mut arguments = vec!["run", "--engine", engine, "-w", WAREHOUSES, "-c", CONNECTIONS];
        arguments.extend(["--warmup", "5s", "--window", &self.window, "--check", "--json"]);
        arguments.extend(settings.iter().flat_map(|setting| ["--set", setting]));
        arguments.extend(more);
        let document = mydyno(&arguments, self.directory.path())?;
        let checks = document["checks"].as_array().context("no checks")?;
        Ok(Measured {
            nopm: document["nopm"].as_f64(),
            p95_us: document["transactions"]["new_order"]["p95_us"].as_f64(),
            fidelity: document["fidelity"].as_f64(),
            overrun_share: document["overrun_share"].as_f64(),
            requests_per_s: requests_per_s(&document),
            checks_hold: checks.len() == 18
                && checks.iter().all(|check| check["passed"] == Value::Bool(true)),
        })
    }
}

/// Of all roles that are counted.
fn requests_per_s(document: &Value) -> f64 {
    let devices = document["devices"].as_array();
    let kinds =
        |device: &Value| ["read", "write", "flush"].map(|kind| device[kind]["per_s"].as_f64());
    devices.into_iter().flatten().flat_map(kinds).flatten().sum()
}

/// The papers' four devices in rounds: their order, and NVMe against disk.
pub fn papers(page: &mut Page, bed: &Bed, rounds: u32) -> Result<()> {
    page.section(
        "The papers' devices under MySQL 5.7",
        &format!(
            "{WAREHOUSES} warehouses, {CONNECTIONS} connections, all files on the device, `{}`, \
             `--style batched`: statement by\n\
             statement, driver and server together need this machine's cores before they need a \
             fast device. Each round measures all\n\
             four.",
            SETTINGS.join("`, `")
        ),
    );
    let mut rows = Vec::new();
    let mut ratios = Vec::new();
    let mut in_order = 0;
    for round in 1..=rounds {
        let mut row = vec![round.to_string()];
        let mut nopm = Vec::new();
        for device in PAPERS {
            let more = ["--data", device, "--style", "batched"];
            let measured = bed.run("mysql-5.7", &SETTINGS, &more)?;
            ensure!(measured.checks_hold, "{device}: a check failed");
            row.push(format!("{} ({})", number(measured.nopm, 0), percent(measured.fidelity)));
            nopm.push(measured.nopm.context("no NOPM")?);
        }
        let ratio = nopm[0] / nopm[3];
        in_order += u32::from(nopm.is_sorted_by(|faster, slower| faster > slower));
        row.push(number(Some(ratio), 0));
        ratios.push(ratio);
        rows.push(row);
    }
    let columns: Vec<String> =
        PAPERS.iter().map(|device| format!("{device}: NOPM (fidelity)")).collect();
    let mut head = vec!["round"];
    head.extend(columns.iter().map(String::as_str));
    head.push("NVMe / HDD");
    page.table(&head, &rows);
    page.words(&format!(
        "NVMe > SAS SSD > SATA SSD > HDD in {in_order} of {rounds} rounds; median NVMe / HDD {}.",
        number(median(ratios), 0)
    ));
    Ok(())
}

/// Every engine on every profile, once. The page is written after each of them.
pub fn engines(page: &mut Page, bed: &Bed) -> Result<()> {
    page.section(
        "Engines on devices",
        "As above but statement by statement, one run each; the eighteen checks are asked after \
         each. NOPM, 95th percentile of New-Order, fidelity, and the\n\
         share of requests for which this machine needed longer than the device.",
    );
    let listed = mydyno(&["device", "list", "--json"], bed.directory.path())?;
    let profiles = listed["devices"].as_array().context("no devices")?;
    page.head(&["device", "engine", "NOPM", "p95 ms", "fidelity", "overruns", "checks"]);
    for profile in profiles {
        let device = profile["name"].as_str().context("a device without a name")?;
        for engine in ENGINES {
            let measured = bed.run(engine, &SETTINGS, &["--data", device])?;
            page.row(&[
                device.to_owned(),
                engine.to_owned(),
                number(measured.nopm, 0),
                number(measured.p95_us.map(|us| us / 1e3), 1),
                percent(measured.fidelity),
                percent(measured.overrun_share),
                if measured.checks_hold { "18 of 18" } else { "failed" }.to_owned(),
            ]);
        }
        page.write()?;
    }
    Ok(())
}

/// Runs with and without the shim that only counts, alternating, with the data in memory: there a
/// request costs least, and so there are most of them.
pub fn cost(page: &mut Page, bed: &Bed, rounds: u32) -> Result<()> {
    let pairs = rounds * COST_PAIRS;
    let mut ratios = Vec::new();
    let mut requests_per_s = Vec::new();
    for pair in 0..pairs {
        let run = |more: &[&str]| {
            let memory = tempfile::tempdir_in("/dev/shm")?;
            let data = memory.path().to_str().context("a path that is no text")?;
            let mut arguments = vec!["--data", data, "--style", "batched"];
            arguments.extend(more);
            bed.run("mysql-5.7", &SETTINGS, &arguments)
        };
        // Neither is always the first.
        let (with, without) = if pair % 2 == 0 {
            (run(&["--count-io"])?, run(&[])?)
        } else {
            let without = run(&[])?;
            (run(&["--count-io"])?, without)
        };
        requests_per_s.push(with.requests_per_s);
        let nopm = |measured: Measured| measured.nopm.context("no NOPM");
        ratios.push(nopm(with)? / nopm(without)?);
    }
    let spread = (
        ratios.iter().copied().fold(f64::INFINITY, f64::min),
        ratios.iter().copied().fold(0.0, f64::max),
    );
    page.section(
        "What counting costs",
        &format!(
            "`--count-io`, the server of the papers' devices with its data in memory, {pairs} \
             pairs of runs: NOPM with / without,\n\
             median {} ({} to {}), at {} counted requests a second. What one of them costs is \
             measured by\n\
             `cargo bench -p shim --bench counting`.",
            number(median(ratios), 3),
            number(Some(spread.0), 3),
            number(Some(spread.1), 3),
            number(median(requests_per_s), 0)
        ),
    );
    Ok(())
}

pub fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len().checked_sub(1)? / 2;
    Some(if values.len() % 2 == 1 {
        values[middle]
    } else {
        f64::midpoint(values[middle], values[middle + 1])
    })
}
