//! What is made of a results file afterwards: a page that opens offline in a browser, CSV files,
//! and NA for what failed.

use crate::support::{AMPLE, Server, directory, float, mydyno, signal};
use rustix::process::Signal;
use std::path::Path;
use std::process::{Command, Stdio};

#[test]
fn a_report_and_an_export_of_a_run() {
    let work = directory();
    let server = Server::loaded("mysql-5.7", &[]);
    let run = |window: &str| {
        mydyno(["run", "--dsn", &server.dsn, "-c", "2", "--warmup", "1s", "--window", window])
            .and_args(["--json", "--check"])
            .in_directory(work.path())
    };
    let summary = run("3s").run().exits(0).json();
    let done = mydyno(["report", "-o", "done.html"]).in_directory(work.path()).run().exits(0);
    assert_eq!(done.stdout, "done.html\n");
    let html = std::fs::read_to_string(work.path().join("done.html")).unwrap();
    assert!(html.contains("mysql-5.7") && !html.contains(server.password()));
    assert!(!html.contains("tpmC"), "a trademark for audited results");
    opens_without_a_word(&work.path().join("done.html"), 3);
    csv_holds_the_numbers_of(&work.path().join("csv"), work.path(), &summary);

    // The same file, the same page: the report touches no server.
    let mut failing = run(AMPLE).spawn();
    let second = "SELECT COUNT(*) >= 10 FROM interval WHERE repeat_id = 2";
    failing.until_stored(&work.path().join("mydyno.db"), second);
    signal(server.pid, Signal::KILL);
    failing.wait().exits(5);
    mydyno(["report", "1", "-o", "again.html"]).in_directory(work.path()).run().exits(0);
    assert_eq!(html, std::fs::read_to_string(work.path().join("again.html")).unwrap());
    a_failed_repeat_shows_no_number(work.path());
}

fn a_failed_repeat_shows_no_number(work: &Path) {
    mydyno(["report", "-o", "failed.html"]).in_directory(work).run().exits(0);
    let html = std::fs::read_to_string(work.join("failed.html")).unwrap();
    assert!(html.contains("<b>NA</b>") && html.contains("server_died"));
    opens_without_a_word(&work.join("failed.html"), 2);
    mydyno(["export", "--to", "failed"]).in_directory(work).run().exits(0);
    let row = first_row(&work.join("failed/cells.csv"));
    let cell = |name: &str| row.iter().find(|(key, _)| key == name).unwrap().1.clone();
    assert_eq!((cell("status").as_str(), cell("reason_code").as_str()), ("failed", "server_died"));
    for number in ["nopm", "tpm_total", "new_order_p95_us", "statements"] {
        assert_eq!(cell(number), "", "{number} of a failed repeat");
    }
}

fn csv_holds_the_numbers_of(csv: &Path, work: &Path, summary: &serde_json::Value) {
    let files = mydyno(["export", "--to", "csv"]).in_directory(work).run().exits(0);
    for name in ["cells", "intervals", "latency", "inputs", "checks", "variables"] {
        assert!(files.stdout.contains(&format!("csv/{name}.csv\n")), "{}", files.stdout);
        let text = std::fs::read_to_string(csv.join(format!("{name}.csv"))).unwrap();
        assert!(text.lines().count() >= 2, "{name}: {text}");
    }
    let row = first_row(&csv.join("cells.csv"));
    let cell =
        |name: &str| -> f64 { row.iter().find(|(key, _)| key == name).unwrap().1.parse().unwrap() };
    for name in ["nopm", "tpm_total"] {
        let exact = float(summary, &format!("/{name}"));
        assert!((cell(name) / exact - 1.0).abs() < 1e-9, "{name}: {} {exact}", cell(name));
    }
    assert_eq!(cell("new_order_p95_us"), float(summary, "/transactions/new_order/p95_us"));
}

/// Names and values of the first row.
fn first_row(path: &Path) -> Vec<(String, String)> {
    let mut reader = csv::Reader::from_path(path).unwrap();
    let names: Vec<String> = reader.headers().unwrap().iter().map(str::to_owned).collect();
    let row = reader.records().next().unwrap().unwrap();
    names.into_iter().zip(row.iter().map(str::to_owned)).collect()
}

/// Opens a page in headless Chromium, with a profile of its own; nothing is said on the console,
/// and the charts are drawn: those of the load at `least`, and those of what could be observed on
/// this machine.
fn opens_without_a_word(page: &Path, least: usize) {
    let profile = directory();
    let output = Command::new("chromium")
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
        .args(["--no-first-run", "--enable-logging=stderr", "--window-size=1300,2000"])
        .args(["--virtual-time-budget=4000", "--dump-dom"])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg(format!("file://{}", page.display()))
        .stdin(Stdio::null())
        .output()
        .unwrap_or_else(|cause| {
            panic!("cannot start `chromium` ({cause}); install the package chromium")
        });
    let log = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{log}");
    let console: Vec<&str> = log.lines().filter(|line| line.contains("CONSOLE")).collect();
    assert_eq!(console, Vec::<&str>::new());
    let dom = String::from_utf8_lossy(&output.stdout);
    let ready = dom.split("data-ready=\"").nth(1).and_then(|rest| rest.split('"').next());
    let drawn: usize = ready.and_then(|n| n.parse().ok()).unwrap_or_else(|| panic!("{log}"));
    assert!(drawn >= least, "{drawn} charts are drawn");
    assert_eq!(dom.matches("<canvas").count(), drawn);
}

#[test]
fn what_there_is_nothing_to_report_of() {
    let work = directory();
    for command in ["report", "export"] {
        mydyno([command]).in_directory(work.path()).run().exits(2).says(&["no results file"]);
    }
    // A request that could not be met leaves an empty file.
    let unreachable = ["run", "--dsn", "mysql://u@127.0.0.1:1/tpcc"];
    mydyno(unreachable).in_directory(work.path()).run().exits(4);
    for command in ["report", "export"] {
        let ran = mydyno([command]).in_directory(work.path()).run();
        ran.exits(2).says(&["holds no lab yet", "mydyno run"]);
    }
    let page = work.path().join("report.html");
    assert!(!page.exists());
}
