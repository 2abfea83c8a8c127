//! The report in a real browser: it opens offline, says nothing on the console, and draws its
//! charts.

use crate::common::browser::{check, console, open, page_of};
use crate::common::{ONE_CELL, Shape, build, checks, new_cell, new_lab, new_ramp};
use std::path::Path;
use store::{Moment, Results};

#[test]
fn one_cell() {
    let (html, shown) = check(&ONE_CELL, "one-cell", [3, 3]);
    assert!(html.contains("one repeat"));
    assert!(html.contains(report_disclaimer()));
    assert!(!shown.dom.contains("<script>alert"));
    for outside in ["src=\"http", "href=\"http", "url(http", "@import", "fetch(", "XMLHttpRequest"]
    {
        assert!(!html.contains(outside), "{outside}");
    }
}

fn report_disclaimer() -> &'static str {
    "derived from TPC-C; results are not comparable with published TPC-C results"
}

#[test]
fn five_cells_with_a_failed_one() {
    let shape = Shape {
        name: "connections",
        connections: &[1, 8, 16, 32, 64],
        repeats: 3,
        window_s: 30,
        failing_cell: Some(4),
        ..ONE_CELL
    };
    // Three over connections, three for each cell's shown repeat, one less for the cell without a
    // result.
    let (html, _) = check(&shape, "five-cells", [3, 3 + 5 * 3 - 1]);
    assert!(html.contains("server_died"));
    assert!(html.contains("<b>NA</b>"));
    assert!(html.contains("95 % confidence"));
}

#[test]
fn two_engines() {
    let shape = Shape {
        name: "engines",
        engines: &["mysql-5.7", "mysql-8.0"],
        connections: &[8, 32, 250],
        window_s: 20,
        ..ONE_CELL
    };
    // Six over connections, two over time, the spread of five types, three of each cell.
    let (html, _) = check(&shape, "two-engines", [13, 13 + 6 * 3]);
    assert!(html.contains("mysql-8.0, 250 connections"));
}

#[test]
fn a_ramp_has_its_points_and_its_end() {
    let shape = Shape {
        name: "ramp",
        is_ramp: true,
        connections: &[8, 16, 32, 64],
        window_s: 20,
        failing_cell: Some(4),
        ..ONE_CELL
    };
    let scratch = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let (results, lab) = build(&scratch.path().join("mydyno.db"), &shape);
    let cells = results.cells(lab).unwrap();
    let ramp = results.begin_ramp(lab, &new_ramp(1)).unwrap();
    results.finish_ramp(ramp).unwrap();
    results.begin_ramp(lab, &new_ramp(2)).unwrap();
    let html = report::render(&results, lab).unwrap();
    let page = Path::new(env!("CARGO_TARGET_TMPDIR")).join("ramp.html");
    std::fs::write(&page, &html).unwrap();
    let shown = open(&page, scratch.path());
    assert_eq!(console(&shown), Vec::<&str>::new());
    // Over connections.
    assert!(shown.dom.contains("data-ready=\"3\""), "{:?}", shown.log);
    let link = format!("href=\"#cell-{}\"", cells[3].id);
    for words in [
        "Saturation point: 32 connections (it may be anywhere from 32 to 56); 64 connections gave \
         no result",
        "not at its end: 0 points",
        "\"ramps\":[{\"group\":\"mysql-5.7\",\"connections\":32}]",
        &link,
    ] {
        assert!(html.contains(words), "{words}");
    }
}

#[test]
fn two_devices() {
    let shape = Shape {
        name: "devices",
        devices: &["hdd-15k", "nvme-pm1725"],
        connections: &[8, 32],
        window_s: 10,
        failing_cell: Some(2),
        ..ONE_CELL
    };
    // Two small ones of reads besides.
    let (html, _) = check(&shape, "two-devices", [15, 15 + 4 * 3 - 1]);
    for words in [
        "hdd-15k, 8 connections",
        "on hdd-15k, redo nvme-pm1725, ",
        "nvme-pm1725, 32 connections",
        "New-order p95 by connections",
        "Storage by role",
        "Fidelity of the emulation: 98.00 % of requests",
        "io_uring was refused",
        "memory (/dev/shm)",
    ] {
        assert!(html.contains(words), "{words}");
    }
    // Of the failed cell nothing is added up.
    assert_eq!(html.matches("Storage by role").count(), 3);
}

/// How many charts of full width are blank but for axes, and at how many places their time axes
/// are: set on the page.
const LOOK: &str = "<script>setTimeout(() => {
  const isLine = (d, i) => d[i + 3] > 128 && Math.max(d[i], d[i + 1], d[i + 2]) - Math.min(d[i], \
  d[i + 1], d[i + 2]) > 40;
  const drawn = (c) => { const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data; \
  let n = 0;
    for (let i = 0; i < d.length; i += 4) if (isLine(d, i)) n++; return n; };
  const canvases = [...document.querySelectorAll('[data-chart=throughput] canvas, \
  [data-chart=panel] canvas')];
  const places = [...document.querySelectorAll('[data-chart=throughput] .u-over, \
  [data-chart=panel] .u-over')].map((e) => e.getBoundingClientRect());
  document.body.dataset.blank = canvases.filter((c) => drawn(c) < 100).length;
  document.body.dataset.places = new Set(places.map((r) => r.left + ' ' + r.width)).size;
}, 1000)</script>";

#[test]
fn what_was_observed_stands_below_the_throughput() {
    let shape = Shape {
        name: "observed",
        devices: &["hdd-15k"],
        connections: &[8, 32, 250],
        repeats: 2,
        window_s: 50,
        failing_cell: Some(2),
        observed: true,
        ..ONE_CELL
    };
    // Three over connections and those of the machine; three of each cell, one less of the failed
    // one; three panels of each.
    let of_lab = 3 + 6;
    let (html, _) = check(&shape, "observed", [of_lab, of_lab + 3 * 3 - 1 + 3 * 3]);
    // Ten panels more of each, once they are asked for.
    let closed = "<details class=\"wide panels\">";
    assert_eq!(html.matches(closed).count(), 6);
    let opened = html
        .replace(closed, "<details class=\"wide panels\" open>")
        .replace("<details><summary><h2>", "<details open><summary><h2>")
        + LOOK;
    let scratch = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let page = Path::new(env!("CARGO_TARGET_TMPDIR")).join("observed-open.html");
    std::fs::write(&page, &opened).unwrap();
    let shown = open(&page, scratch.path());
    assert_eq!(console(&shown), Vec::<&str>::new());
    let charts = of_lab + 3 * 3 - 1 + 3 * 13;
    assert!(shown.dom.contains(&format!("data-ready=\"{charts}\"")));
    assert_eq!(shown.dom.matches("<canvas").count(), charts);
    assert!(shown.dom.contains("data-blank=\"0\""), "{}", shown.dom);
    assert!(shown.dom.contains("data-places=\"1\""), "{}", shown.dom);
}

#[test]
fn what_a_cell_used_and_what_bound_it() {
    let shape = Shape {
        name: "used",
        devices: &["hdd-15k"],
        connections: &[8, 32, 250],
        repeats: 2,
        window_s: 20,
        failing_cell: Some(2),
        observed: true,
        ..ONE_CELL
    };
    let (_, _, html) = page_of(&shape, "used");
    // Not of the failed cell, of which nothing is added up.
    for (words, cells) in [
        ("<h3>What it used</h3>", 2),
        ("<b>Bound by the log</b>: waits for the log at commit are ", 1),
        ("<b>Driver bound</b>", 1),
        ("These numbers are mydyno's, not the server's", 1),
        ("Path length</th><td class=\"num\">NA</td>", 2),
        ("Host, of server and mydyno", 2),
        ("Bytes and flushes as the shim counted them", 2),
        (">Idle</th><td class=\"num\">56", 2),
        ("Means of the window over 2 repeats", 2),
        ("1 status counter rose in the window", 2),
        ("<b>60,000</b>", 2),
    ] {
        assert_eq!(html.matches(words).count(), cells, "{words}");
    }
    let tag =
        "<span class=\"tag bad\" title=\"the busiest of mydyno's threads was on a core for 95 %";
    assert_eq!(html.matches(tag).count(), 1);
    assert!(html.contains(">Bound by</th>"));
    let plain = page_of(&ONE_CELL, "unused").2;
    for words in ["What it used", "Bound by", "status counter", "details class=\"wide panels\""] {
        assert!(!plain.contains(words), "{words}");
    }
}

/// On the machine's own disks, and with a server of which nobody knows more than what it says.
#[test]
fn disks_are_drawn_where_there_is_no_shim() {
    let shape = Shape { name: "disks", window_s: 20, observed: true, ..ONE_CELL };
    let (html, _) = check(&shape, "disks", [3 + 3; 2]);
    for words in [
        "Reads and writes by disk",
        "Disks of the host that did anything",
        "<b>CPU bound</b>: running and waiting for a core are ",
        "and cores were busy for 9",
    ] {
        assert!(html.contains(words), "{words}");
    }
    assert!(!html.contains("emulated I/O wait (derived)"));
}

#[test]
fn three_points_and_two_hours() {
    let few = Shape { warmup_s: 0, window_s: 3, ..ONE_CELL };
    check(&few, "three-points", [3, 3]);
    let long = Shape { warmup_s: 600, window_s: 7_200, ..ONE_CELL };
    let (html, _) = check(&long, "two-hours", [3, 3]);
    assert!(html.len() < 1_000_000, "{} bytes", html.len());
}

/// A report may be asked for at any time: of a lab that has just begun, runs, or was interrupted.
#[test]
fn labs_that_are_not_finished() {
    let scratch = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let results = Results::create_or_open(&scratch.path().join("mydyno.db")).unwrap();
    let named = Shape { name: "<b>Größe & \"Ort\"</b>", ..ONE_CELL };
    let lab = results.begin_lab(&new_lab(&named)).unwrap();
    let empty = report::render(&results, lab).unwrap();
    assert!(empty.contains("&lt;b&gt;Größe &amp; &quot;Ort&quot;&lt;/b&gt;"));
    assert!(empty.contains("still running"));
    let running = results.begin_cell(lab, &new_cell(&named, "mysql-5.7", 1, 8)).unwrap();
    results.begin_cell(lab, &new_cell(&named, "mysql-5.7", 2, 16)).unwrap();
    let repeat = testkit::begin(&results, running, 1);
    results.record_checks(repeat, &checks(false)).unwrap();
    let html = report::render(&results, lab).unwrap();
    assert!(html.contains("there is no result yet") && html.contains("This cell was not run yet."));
    assert!(html.contains("2 offending rows"));
    let page = Path::new(env!("CARGO_TARGET_TMPDIR")).join("unfinished.html");
    std::fs::write(&page, html).unwrap();
    let shown = open(&page, scratch.path());
    assert_eq!(console(&shown), Vec::<&str>::new());
    assert!(shown.dom.contains("data-ready=\"0\""));
    let missing = report::render(&results, store::LabId(99)).unwrap_err();
    assert_eq!(missing.exit(), base::Exit::Usage);
}

#[test]
fn a_lab_that_chose_what_it_measured_says_so_and_has_no_p_values() {
    let scratch = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let shape = Shape {
        devices: &["hdd-15k", "nvme-pm1725"],
        capacities: &[("200", 0.5), ("2000", 1.0)],
        repeats: 3,
        window_s: 6,
        ..ONE_CELL
    };
    let (results, lab) = build(&scratch.path().join("mydyno.db"), &shape);
    let said = "What came out decided what was measured next";
    let plain = report::render(&results, lab).unwrap();
    assert!(plain.contains("(Holm)") && !plain.contains(said));
    results.mark_adaptive(lab).unwrap();
    let marked = report::render(&results, lab).unwrap();
    assert!(marked.contains(said) && marked.contains("id=\"comparisons\""));
    assert!(!marked.contains("(Holm)") && !marked.contains("of too few repeats"));
}

#[test]
fn same_file_same_page() {
    let (scratch, _, first) = page_of(&ONE_CELL, "same");
    let results = Results::open(&scratch.path().join("mydyno.db")).unwrap();
    let lab = results.labs().unwrap()[0].id;
    assert!(first == report::render(&results, lab).unwrap());
}

/// The other tests would not notice a request or a message if this browser did not tell of them.
#[test]
fn the_browser_tells_of_requests_and_messages() {
    let scratch = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let page = scratch.path().join("bad.html");
    let html = "<p>x</p><img src='http://127.0.0.1:9/x.png'><script>console.warn('seen')</script>";
    std::fs::write(&page, html).unwrap();
    let shown = open(&page, scratch.path());
    assert!(shown.asked > 0);
    assert!(console(&shown).iter().any(|line| line.contains("seen")), "{}", shown.log);
}

#[test]
fn csv_files_have_units_and_no_number_of_a_failed_cell() {
    let shape = Shape {
        name: "export",
        connections: &[8, 16],
        window_s: 6,
        failing_cell: Some(2),
        observed: true,
        ..ONE_CELL
    };
    let scratch = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let (results, lab) = build(&scratch.path().join("mydyno.db"), &shape);
    let directory = scratch.path().join("csv");
    let files = report::export_csv(&results, lab, &directory).unwrap();
    let names: Vec<&str> =
        files.iter().map(|path| path.file_name().unwrap().to_str().unwrap()).collect();
    assert_eq!(
        names,
        [
            "cells.csv",
            "intervals.csv",
            "latency.csv",
            "statements.csv",
            "devices.csv",
            "inputs.csv",
            "checks.csv",
            "variables.csv",
            "samples.csv",
            "ramps.csv"
        ]
    );
    let cells = table(&files[0]);
    assert_eq!((cells[0]["status"].as_str(), cells[1]["status"].as_str()), ("done", "failed"));
    assert_eq!(cells[0]["settings_json"], "{\"preset\":\"config-3\"}");
    let summary = results.summary(store::RepeatId(1)).unwrap();
    assert_eq!(cells[0]["nopm"].parse(), Ok(summary.rates.nopm.unwrap()));
    assert_eq!(cells[0]["new_order_p95_us"].parse(), Ok(summary.primary.p95_us.unwrap()));
    for number in
        ["nopm", "tpm_total", "new_order_p95_us", "new_order_max_us", "client_cpu_s", "statements"]
    {
        assert_eq!(cells[1][number], "", "{number}");
    }
    let committed: u64 = table(&files[1])
        .iter()
        .filter(|row| {
            row["cell"] == "1" && row["phase"] == "window" && row["transaction"] == "new_order"
        })
        .map(|row| row["committed"].parse::<u64>().unwrap())
        .sum();
    assert_eq!(committed, summary.transactions.0[0].1.committed);
    assert!(table(&files[2]).iter().all(|row| row["cell"] == "1"));
    samples_are_raw(&files[8]);
    for path in &files {
        assert!(!std::fs::read_to_string(path).unwrap().contains("geheim"));
    }
    let file = scratch.path().join("file");
    std::fs::write(&file, "").unwrap();
    let refused = report::export_csv(&results, lab, &file).unwrap_err();
    assert_eq!(refused.exit(), base::Exit::Environment);
}

/// Of the cell's disk: a line for each second, as the machine counted.
fn samples_are_raw(path: &Path) {
    let samples = table(path);
    let of = |row: &&std::collections::HashMap<String, String>| {
        row["cell"] == "1" && row["metric"] == "disk_flushes" && row["label"] == "vda"
    };
    let flushes: Vec<_> = samples.iter().filter(of).collect();
    assert_eq!(flushes.len(), 17);
    assert_eq!((flushes[2]["at_s"].as_str(), flushes[2]["kind"].as_str()), ("2", "counter"));
    let value = |n: usize| flushes[n]["value"].parse::<i64>().unwrap();
    assert_eq!(value(5) - value(4), 480);
}

fn table(path: &Path) -> Vec<std::collections::HashMap<String, String>> {
    let mut reader = csv::Reader::from_path(path).unwrap();
    reader.deserialize().map(|row| row.unwrap()).collect()
}

#[test]
fn what_to_set_and_what_each_setting_does() {
    let shape = Shape {
        name: "advised",
        devices: &["sata-850pro", "nvme-pm1725"],
        capacities: &[("200", 1.0), ("2000", 1.5)],
        repeats: 3,
        window_s: 10,
        ..ONE_CELL
    };
    let directory = tempfile::tempdir().unwrap();
    let (results, lab) = build(&directory.path().join("mydyno.db"), &shape);
    let html = report::render(&results, lab).unwrap();
    // No version, no release to advise.
    assert!(!html.contains("What to set"));
    assert!(html.contains("What each setting does") && html.contains("href=\"#effects\""));
    let variables = [("version", "5.7.22-log"), ("innodb_checksum_algorithm", "none")];
    let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
    for cell in results.cells(lab).unwrap() {
        for repeat in results.repeats(cell.id).unwrap() {
            results.record_server(repeat.id, Moment::Start, &variables, &[]).unwrap();
        }
    }
    let html = report::render(&results, lab).unwrap();
    for words in [
        "What to set",
        "of the cell with the highest throughput (innodb_io_capacity=2000, nvme-pm1725, ",
        "Have pages checked by CRC-32C",
        "innodb_checksum_algorithm</code>: none → crc32",
    ] {
        assert!(html.contains(words), "{words}");
    }
}
