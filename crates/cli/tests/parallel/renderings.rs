//! One run as the terminal, `--json`, the report and the pages of `serve` show it: what several of
//! them tell is one number, but for the rounding of each.

use crate::served::serve;
use crate::support::{SMALL_REDO, directory, float, install, list, mydyno, shim, text};
use serde_json::Value;
use std::fs;
use std::path::Path;
use store::{LabId, RepeatId, Results};

/// Titles of the columns of times, with their keys. The terminal has no p99.9.
const TIMES: [(&str, &str); 7] = [
    ("Mean ms", "mean_us"),
    ("p50 ms", "p50_us"),
    ("p90 ms", "p90_us"),
    ("p95 ms", "p95_us"),
    ("p99 ms", "p99_us"),
    ("p99.9 ms", "p999_us"),
    ("Max ms", "max_us"),
];

/// Parts of a transaction's time, with their keys.
const PARTS: [(&str, &str); 14] = [
    ("running", "running_us"),
    ("waiting for a core", "core_wait_us"),
    ("reads of pages", "reads_us"),
    ("row locks", "row_locks_us"),
    ("latches", "latches_us"),
    ("the log at commit", "log_us"),
    ("room in the redo log", "redo_room_us"),
    ("page writes", "page_writes_us"),
    ("admission", "admission_us"),
    ("metadata locks", "metadata_us"),
    ("replication", "replication_us"),
    ("other waits", "other_waits_us"),
    ("network and driver", "network_and_driver_us"),
    ("remainder", "remainder_us"),
];

const SELDOM: [&str; 6] = [
    "latches_us",
    "redo_room_us",
    "admission_us",
    "metadata_us",
    "replication_us",
    "other_waits_us",
];

/// A cost of a run: what follows its number on the terminal, its key among `resources` with the
/// scale there, and table and row of the report with the scale there.
type Cost = (&'static str, (&'static str, f64), [&'static str; 2], f64);

const METER: &str = "Power of what the meter stands at";
const EACH: &str = "One transaction";
const COSTS: [Cost; 8] = [
    (" W", ("/power/watts_mean", 1.0), [METER, "Power, mean"], 1.0),
    (" NOPM/W", ("/power/nopm_per_watt", 1.0), [METER, "New orders per minute"], 1.0),
    (
        " NOPM per dollar of devices",
        ("/price/nopm_per_usd", 1.0),
        ["Price", "New orders per minute"],
        1.0,
    ),
    (
        " thousand cycles",
        ("/per_transaction/path_length_cycles", 1e-3),
        [EACH, "Path length"],
        1e-3,
    ),
    (" kB read", ("/per_transaction/read_bytes", 1e-3), [EACH, "Read from storage"], 1.0),
    (" kB written", ("/per_transaction/written_bytes", 1e-3), [EACH, "Written to storage"], 1.0),
    (" flushes", ("/per_transaction/flushes", 1.0), [EACH, "Flushes"], 1.0),
    (
        " x write amplification",
        ("/per_transaction/write_amplification", 1.0),
        [EACH, "Write amplification"],
        1.0,
    ),
];

/// Cells of a table's rows, of which the first are its titles.
type Rows = Vec<Vec<String>>;

/// The run by each of them.
struct Renderings {
    text: String,
    document: Value,
    report: String,
}

fn run(work: &Path) -> Renderings {
    shim();
    install("mysql-5.7");
    let ran = mydyno(["run", "--engine", "mysql-5.7", "-w", "1", "-c", "4", "--data"])
        .and_args(["nvme-pm1725", "--set", "innodb_buffer_pool_size=24M", "--warmup", "1s"])
        // In which orders are no whole number a minute.
        .and_args(["--window", "3700ms", "--power-command", "echo 50"])
        .and_args(SMALL_REDO)
        .in_directory(work)
        .run()
        .exits(0);
    mydyno(["report"]).in_directory(work).run().exits(0);
    let results = Results::open(&work.join("mydyno.db")).unwrap();
    // What `--json` prints.
    let document = analyse::measurement(&results, RepeatId(1)).unwrap();
    Renderings {
        text: ran.stdout,
        document: serde_json::to_value(&document).unwrap(),
        report: fs::read_to_string(work.join("report.html")).unwrap(),
    }
}

/// As it is shown, by its last digit; what is not known is shown as such.
fn same(what: &str, shown: &str, exact: Option<f64>) {
    let Some(exact) = exact else {
        return assert!(["NA", "-"].contains(&shown), "{what}: {shown}, but it is not known");
    };
    let (number, decimals) = parsed(shown);
    let last_digit = 10.0_f64.powi(-decimals);
    assert!(
        (number - exact).abs() <= 0.5 * last_digit * (1.0 + 1e-6),
        "{what}: {shown} is shown of {exact}"
    );
}

/// The fraction of a throughput is cut off.
fn same_throughput(what: &str, shown: &str, exact: f64) {
    assert_eq!(parsed(shown), (exact.trunc(), 0), "{what}: {shown} is shown of {exact}");
}

/// The number with which a text begins, and its decimals.
fn parsed(shown: &str) -> (f64, i32) {
    let digits = shown.trim_start_matches('≥').replace(',', "");
    let digits = digits.split(' ').next().unwrap();
    let decimals = digits.split_once('.').map_or(0, |(_, decimals)| decimals.len() as i32);
    (digits.parse().unwrap_or_else(|_| panic!("{shown} is no number")), decimals)
}

/// The table on the terminal whose titles begin like this.
fn text_table(text: &str, begins: &str) -> Rows {
    let lines = text.lines().skip_while(|line| !line.starts_with(begins));
    let columns = |line: &str| {
        let columns = line.split("  ").map(str::trim).filter(|column| !column.is_empty());
        columns.map(str::to_owned).collect()
    };
    lines.take_while(|line| line.contains("  ")).map(columns).collect()
}

/// All tables of a page.
fn html_tables(page: &str) -> Vec<Rows> {
    let tables = page.split("<table").skip(1).map(|table| table.split("</table>").next().unwrap());
    let cells = |row: &str| row.split_inclusive("</t").filter_map(cell).collect();
    tables.map(|table| table.split("<tr").skip(1).map(cells).collect()).collect()
}

/// The text of a cell, which reaches to the end of this.
fn cell(html: &str) -> Option<String> {
    let at = html.find("<th").or_else(|| html.find("<td"))?;
    let inside = html[at..].split_once('>')?.1.strip_suffix("</t")?;
    let (mut words, mut is_tag) = (String::new(), false);
    for letter in inside.chars() {
        match letter {
            '<' => is_tag = true,
            '>' => (is_tag, words) = (false, words + " "),
            _ if is_tag => {}
            letter => words.push(letter),
        }
    }
    Some(words.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// The table with this title in its head.
fn html_table(page: &str, title: &str) -> Rows {
    let mut tables = html_tables(page).into_iter();
    let found = tables.find(|rows| rows[0].iter().any(|of| of == title));
    found.unwrap_or_else(|| panic!("no table has {title}"))
}

fn column<'a>(rows: &Rows, row: &'a [String], title: &str) -> &'a str {
    let at = rows[0].iter().position(|of| of == title);
    &row[at.unwrap_or_else(|| panic!("no column {title} in {:?}", rows[0]))]
}

fn us_as_ms(of: &Value, key: &str) -> Option<f64> {
    of[key].as_f64().map(|us| us / 1e3)
}

fn transactions(of: &Renderings) {
    let (text, html) = (text_table(&of.text, "transaction "), html_table(&of.report, "Committed"));
    assert_eq!((text.len(), html.len()), (6, 6));
    for (on_terminal, in_report) in text[1..].iter().zip(&html[1..]) {
        let name = &on_terminal[0];
        let exact = &of.document["transactions"][name];
        assert_eq!(in_report[0].to_lowercase().replace(' ', "_"), *name);
        let shown = |title: &str| column(&html, in_report, title);
        let causes = ["Deadlocks retried", "Lock waits retried", "Other retried"];
        let retried: f64 = causes.iter().map(|cause| parsed(shown(cause)).0).sum();
        assert_eq!(
            (parsed(&on_terminal[3]).0, exact["retries"].as_f64()),
            (retried, Some(retried))
        );
        for (at, title, key) in [
            (1, "Committed", "committed"),
            (2, "Rolled back", "rolled_back"),
            (4, "Errors", "errors"),
        ] {
            let number = parsed(shown(title)).0;
            assert_eq!(parsed(&on_terminal[at]).0, number, "{name} {title}");
            assert_eq!(exact[key].as_f64(), Some(number), "{name} {title}");
        }
        let mut times = on_terminal[5..].iter();
        for (title, key) in TIMES {
            let in_report = shown(title);
            let is_at_least = in_report.starts_with('≥');
            let is_longer = key == "mean_us" && is_at_least;
            let key = if is_longer { "mean_with_in_flight_us" } else { key };
            let what = format!("{name} {title}");
            same(&what, in_report, us_as_ms(exact, key));
            if title != "p99.9 ms" {
                let on_terminal = times.next().unwrap();
                assert_eq!(on_terminal.starts_with('≥'), is_at_least, "{what}");
                same(&what, on_terminal, us_as_ms(exact, key));
            }
        }
        assert_eq!(times.next(), None);
    }
}

fn storage(of: &Renderings) {
    let (text, html) = (text_table(&of.text, "storage "), html_table(&of.report, "Request"));
    let mut device = &Value::Null;
    for row in &html[1..] {
        let shown = |title: &str| column(&html, row, title);
        let is_first = !row[0].is_empty();
        if is_first {
            let role = row[0].to_lowercase();
            let devices = list(&of.document, "/devices");
            device = devices.iter().find(|device| device["role"] == *role).unwrap();
        }
        let role = device["role"].as_str().unwrap();
        let on_terminal = text.iter().find(|line| line[0] == role).unwrap();
        let (what, exact) = (format!("{role} {}", row[2]), &device[&row[2]]);
        // The terminal has no bytes of a flush.
        let (at, p95_at) = match row[2].as_str() {
            "read" => (2, 4),
            "write" => (5, 7),
            _ => (8, 9),
        };
        for (at, title, exact) in [
            (at, "Requests 1/s", exact["per_s"].as_f64()),
            (at + 1, "Throughput MB/s", exact["mb_per_s"].as_f64()),
            (p95_at, "p95 ms", us_as_ms(exact, "response_p95_us")),
        ] {
            same(&what, shown(title), exact);
            if title == "p95 ms" || at < p95_at {
                same(&what, &on_terminal[at], exact);
            }
        }
        let share = |key: &str| device[key].as_f64().map(|share| share * 100.0);
        for (at, title, exact) in [
            (10, "Queue mean", device["queue_depth_mean"].as_f64()),
            (11, "Busy %", share("busy_share")),
            (12, "Fidelity %", share("fidelity")),
        ] {
            same(&format!("{role} {title}"), &on_terminal[at], exact);
            if is_first {
                same(&format!("{role} {title}"), shown(title), exact);
            }
        }
    }
    assert!(html.len() > 5 && text.len() > 3, "{text:?}");
}

fn account(of: &Renderings) {
    let account = &of.document["resources"]["account"];
    let told = of.text.lines().find_map(|line| line.strip_prefix("a transaction took "));
    let (whole, parts) = told.unwrap().split_once(": ").unwrap();
    let html = html_table(&of.report, "remainder ms");
    let in_report = |title: &str| column(&html, &html[1], &format!("{title} ms"));
    same("time", whole, us_as_ms(account, "time_us"));
    same("time", in_report("all"), us_as_ms(account, "time_us"));
    // Waits that a server seldom has are told where it has them.
    let seldom = |key| SELDOM.contains(&key) && float(account, &format!("/{key}")) == 0.0;
    let known = PARTS.iter().filter(|(_, key)| !account[key].is_null() && !seldom(*key));
    assert_eq!(parts.split("), ").count(), known.clone().count());
    for (title, key) in known {
        let part = parts.split("), ").find_map(|part| part.strip_prefix(title));
        let (time, share) = part.unwrap().trim_start().split_once(" ms (").unwrap();
        same(title, time, us_as_ms(account, key));
        let exact = float(account, &format!("/{key}")) / float(account, "/time_us");
        same(title, share, Some(exact * 100.0));
        same(title, in_report(title), us_as_ms(account, key));
    }
    let because = text(&of.document, "/resources/bound/because");
    for rendering in [&of.text, &of.report] {
        assert!(rendering.contains(because), "{because}");
    }
}

fn costs(of: &Renderings) {
    let used = html_tables(&of.report);
    let lines = of.text.lines().filter_map(|line| line.strip_prefix("per ")?.split_once(": "));
    let told: Vec<&str> = lines.flat_map(|(_, numbers)| numbers.split(", ")).collect();
    for (unit, (key, scale), [table, row], scale_in_report) in COSTS {
        let exact = of.document["resources"].pointer(key).unwrap().as_f64();
        let table = used.iter().find(|rows| rows[0][0] == table).unwrap();
        let in_report = table.iter().find(|cells| cells[0] == row).unwrap();
        same(key, &in_report[1], exact.map(|exact| exact * scale_in_report));
        let is_meant = |number: &&&str| number.find(' ').is_some_and(|at| &number[at..] == unit);
        let on_terminal = told.iter().find(is_meant);
        assert_eq!(on_terminal.is_some(), exact.is_some(), "{unit} in {told:?}");
        if let Some(on_terminal) = on_terminal {
            same(key, on_terminal, exact.map(|exact| exact * scale));
        }
    }
}

/// Throughput and p95, which all of them show, and the list of labs.
fn headline(of: &Renderings, work: &Path) {
    let (nopm, tpm) = (float(&of.document, "/nopm"), float(&of.document, "/tpm_total"));
    let p95_ms = us_as_ms(&of.document["transactions"]["new_order"], "p95_us");
    let line = of.text.lines().find(|line| line.contains(" transactions/min over ")).unwrap();
    let (first, rest) = line.split_once(" NOPM, ").unwrap();
    same_throughput("run", first, nopm);
    same("run", rest, Some(tpm));
    let cells = html_table(&of.report, "Connections");
    same_throughput("cells", column(&cells, &cells[1], "Throughput NOPM"), nopm);
    same("cells", column(&cells, &cells[1], "New order p95 ms"), p95_ms);

    let status = |more: &[&str]| {
        mydyno(["lab", "status", "1"]).and_args(more).in_directory(work).run().exits(0)
    };
    let lab = status(&["--json"]).json();
    for place in ["/cells/0/nopm/mean", "/cells/0/repeats/0/nopm"] {
        assert_eq!(float(&lab, place), nopm, "{place}");
    }
    let told = status(&[]).stdout;
    same_throughput("lab status", &text_table(&told, "NOPM ")[1][1], nopm);
    same("lab status", &text_table(&told, "new order p95")[1][1], p95_ms);
    let answer = text(&lab, "/answer/shown/0");
    assert!(told.contains(answer) && of.report.contains(answer), "{answer}");
    same_throughput("answer", answer.split(" gives ").nth(1).unwrap(), nopm);

    let served = serve(work, "127.0.0.1:0");
    let labs = html_table(&served.get("/"), "Highest");
    let shown = |title: &str| column(&labs, &labs[1], title);
    same_throughput("list", shown("Highest"), nopm);
    same("list", shown("p95 ms"), p95_ms);
    assert_eq!(shown("Found"), text(&lab, "/answer/shown/1"));
    let page = served.get("/report?file=.%2Fmydyno.db&lab=1");
    assert!(page.ends_with(&of.report), "the page of `mydyno report` is served");
    let results = Results::open(&work.join("mydyno.db")).unwrap();
    let followed = report::LabFollower::of(LabId(1)).read(&results).unwrap();
    let followed = serde_json::to_value(&followed).unwrap();
    assert_eq!(float(&followed, "/cells/0/repeats/0/throughput"), nopm);
}

#[test]
fn all_tell_the_same_numbers() {
    let work = directory();
    let run = run(work.path());
    transactions(&run);
    storage(&run);
    account(&run);
    costs(&run);
    headline(&run, work.path());
}
