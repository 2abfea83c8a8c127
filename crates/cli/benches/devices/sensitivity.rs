//! How much a figure of a profile matters: the papers' cell with each of them less and more.

use crate::mydyno;
use crate::page::{Page, number};
use crate::servers::median;
use anyhow::{Context, Result};
use std::path::Path;
use toml::{Table, Value};

/// The papers' devices with a K at which this machine is not what bounds them.
const DEVICES: [(&str, u32); 4] =
    [("sata-850pro", 8), ("hdd-15k", 1), ("sas-pm1633", 12), ("nvme-pm1725", 20)];
/// `config-3` on what their database took of each device.
const CELL: [&str; 18] = [
    "--engine",
    "mysql-5.7",
    "--preset",
    "config-3",
    "--set",
    "innodb_spin_wait_delay=6",
    "--style",
    "batched",
    "-w",
    "10",
    "-c",
    "32",
    "--redo",
    "twin",
    "--used",
    "auto",
    "--json",
    "--data",
];
/// Real time; what a server is told is in dilated time.
const WARMUP_MS: u32 = 10_000;
const WINDOW_MS: u32 = 24_000;
const LESS_AND_MORE: [f64; 2] = [0.75, 1.25];

/// Measures the cell on each device with each figure of its model 25 % less and more.
pub fn sensitivity(page: &mut Page, rounds: u32) -> Result<()> {
    let directory = tempfile::tempdir()?;
    let at = directory.path();
    page.section(
        "How much each figure of a profile matters",
        &format!(
            "NOPM of the papers' cell in proportion (`mydyno run {} FILE.toml --dilate K`) with \
             one figure of the\n\
             profile's model 25 % less and 25 % more, one run each; `-` where such a profile is \
             refused. What the profile as it\n\
             is gives is the median of {rounds} runs, whose range says what is chance.",
            CELL.join(" ")
        ),
    );
    page.head(&["device", "figure", "value", "NOPM at 75 %", "change", "at 125 %", "change"]);
    for (device, k) in DEVICES {
        let profile: Table = std::fs::read_to_string(profile_path(device))?.parse()?;
        let as_it_is = (0..rounds).map(|_| nopm(at, &profile, k));
        let as_it_is = as_it_is.collect::<Result<Option<Vec<f64>>>>()?;
        let as_it_is = as_it_is.context("a profile that comes with mydyno is refused")?;
        let of_range = |pick: fn(f64, f64) -> f64| as_it_is.iter().copied().reduce(pick);
        let range = [of_range(f64::min), of_range(f64::max)].map(|nopm| number(nopm, 0));
        let base = median(as_it_is).context("no runs")?;
        page.row(&[
            device,
            "none",
            "",
            &number(Some(base), 0),
            &format!("{} to {}", range[0], range[1]),
            "",
            "",
        ]);
        let model = |section| Some((section, profile.get(section)?.as_table()?));
        let (section, model) =
            ["solid_state", "disk"].into_iter().find_map(model).context("a device of no kind")?;
        for (figure, value) in model.iter().filter(|(_, of)| of.is_integer() || of.is_float()) {
            let mut row = vec![device.to_owned(), format!("`{figure}`"), value.to_string()];
            for factor in LESS_AND_MORE {
                let mut changed = profile.clone();
                changed[section][figure] = scaled(value, factor);
                let found = nopm(at, &changed, k)?;
                let change = found.map(|nopm| format!("{:+.1} %", (nopm / base - 1.0) * 100.0));
                row.extend([number(found, 0), change.unwrap_or_else(|| "-".to_owned())]);
            }
            page.row(&row);
        }
        page.write()?;
    }
    Ok(())
}

fn profile_path(device: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../profiles/{device}.toml"))
}

fn scaled(value: &Value, factor: f64) -> Value {
    match value {
        Value::Integer(number) => Value::Integer((*number as f64 * factor).round() as i64),
        Value::Float(number) => Value::Float(number * factor),
        other => other.clone(),
    }
}

/// Of one run; none where the profile is refused. What the device promises is left out: the model
/// need not keep it.
fn nopm(at: &Path, profile: &Table, k: u32) -> Result<Option<f64>> {
    let mut profile = profile.clone();
    for told in ["sheet", "sources"] {
        profile.remove(told);
    }
    std::fs::write(at.join("changed.toml"), profile.to_string())?;
    if mydyno(&["device", "show", "changed.toml", "--json"], at).is_err() {
        return Ok(None);
    }
    let of_k = |real_ms: u32| format!("{}ms", real_ms / k);
    let (k, warmup, window) = (k.to_string(), of_k(WARMUP_MS), of_k(WINDOW_MS));
    let mut arguments = vec!["run"];
    arguments.extend(CELL);
    arguments.extend(["changed.toml", "--dilate", &k, "--warmup", &warmup, "--window", &window]);
    let document = mydyno(&arguments, at)?;
    Ok(Some(document["nopm"].as_f64().context("no NOPM")?))
}
