//! Sheets under fio.

use crate::mydyno;
use crate::page::{Page, number, percent};
use anyhow::{Context, Result};

/// Verifies every profile that comes with mydyno.
pub fn sheets(page: &mut Page, seconds: u32) -> Result<()> {
    page.section(
        "Sheets under fio",
        "`mydyno device verify --all`: fio 4 KiB random, 128 KiB sequential, one request at a time \
         for latencies, all under the\n\
         shim. The host's limit is the same job with nothing emulated; where it is not well above \
         the sheet, this machine\n\
         cannot play the device and nothing is judged (host-limited).",
    );
    let directory = tempfile::tempdir()?;
    let seconds = seconds.to_string();
    let arguments = ["device", "verify", "--all", "--seconds", &seconds, "--json"];
    let document = mydyno(&arguments, directory.path())?;
    let devices = document["devices"].as_array().context("no devices")?;
    let mut rows = Vec::new();
    for device in devices {
        let name = device["name"].as_str().context("a device without a name")?;
        for figure in device["figures"].as_array().context("no figures")? {
            let value = |key: &str| figure[key].as_f64();
            let text = |key: &str| figure[key].as_str().unwrap_or_default();
            let signed = |share: f64| format!("{:+.1} %", share * 100.0);
            rows.push(vec![
                name.to_owned(),
                format!("`{}` at depth {}", text("key"), figure["queue_depth"]),
                number(value("sheet"), 0),
                number(value("measured"), 0),
                value("deviation_share").map_or_else(String::new, signed),
                number(value("host_limit"), 0),
                percent(value("fidelity_share")),
                percent(value("overrun_share")),
                text("verdict").to_owned(),
            ]);
        }
    }
    let head = [
        "device",
        "figure",
        "sheet",
        "measured",
        "deviation",
        "host's limit",
        "fidelity",
        "overruns",
        "verdict",
    ];
    page.table(&head, &rows);
    Ok(())
}
