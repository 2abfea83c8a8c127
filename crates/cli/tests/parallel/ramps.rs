//! `mydyno ramp` and `[ramp]` in a plan, on real servers: each reason to stop, a count that is
//! refused, Ctrl-C, and a lab that goes on. Windows are seconds here, so that only reasons are
//! asserted: where a ramp ends is tested on synthetic curves.

use crate::support::{
    Mydyno, Ran, SMALL_REDO, assert_described, directory, float, install, list, mydyno, number,
    result, results, shim, text,
};
use rustix::process::Signal;
use serde_json::Value;
use std::fs;
use std::path::Path;

const ENGINE: &str = "mysql-5.7";
const SCHEMA: &str = include_str!("../../../../docs/plan.schema.json");

/// All conditions; a later one of the same name would be refused, so each test names those that it
/// leaves out.
fn conditions() -> Vec<String> {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    let of_ramp = schema["properties"]["ramp"]["properties"].as_object().unwrap();
    let stops = of_ramp.keys().filter(|key| key.starts_with("stop_"));
    stops.map(|key| format!("--{}", key.replace('_', "-"))).collect()
}

/// A ramp with this condition alone.
fn ramp(directory: &Path, condition: Option<(&str, &str)>, more: &[&str]) -> Mydyno {
    shim();
    install(ENGINE);
    let mut all = vec![
        "ramp",
        "--engine",
        ENGINE,
        "-w",
        "1",
        "--json",
        "--warmup",
        "0s",
        "--interval",
        "100ms",
    ];
    if !more.contains(&"--window") {
        // A new order ends in it even where other tests hold the disk up for a second.
        all.extend(["--window", "3s"]);
    }
    let conditions = conditions();
    for name in &conditions {
        let value = condition.filter(|(asked, _)| asked == name);
        all.extend([name.as_str(), value.map_or("off", |(_, value)| value)]);
    }
    all.extend(SMALL_REDO);
    mydyno(all.iter().chain(more)).in_directory(directory)
}

/// The document of a ramp that came to its end, for which an image may have to be made.
fn ended(mydyno: Mydyno) -> Value {
    let ran: Ran = mydyno.run();
    let document = ran.exits(0).json();
    assert_described(&document);
    document
}

fn reason(document: &Value) -> &str {
    text(document, "/ramp/saturation/reason/condition")
}

#[test]
#[ignore = "make soak"]
fn busy_processors_end_a_ramp() {
    let temp = directory();
    let small = ["--start", "1", "--step", "1", "--connections-max", "64", "--points", "7"];
    let document = ended(ramp(temp.path(), Some(("--stop-cpu", "80%")), &small));
    assert_eq!(reason(&document), "cpu");
    assert!(float(&document, "/ramp/saturation/reason/cpu_busy_share") >= 0.8);
    for point in list(&document, "/ramp/points") {
        assert!(float(point, "/nopm") > 0.0 && float(point, "/cpu/busy_share") > 0.0);
    }
}

/// On an emulated device with a pool that is too small.
const DEVICE: [&str; 4] = ["--data", "sata-850pro", "--set", "innodb_buffer_pool_size=16M"];

/// Few connections, few points.
const SMALL: [&str; 8] =
    ["--start", "2", "--step", "2", "--connections-max", "64", "--points", "6"];

#[test]
fn response_times_end_a_ramp() {
    let temp = directory();
    let limit = Some(("--stop-p90", "new_order=20ms"));
    let document = ended(ramp(temp.path(), limit, &[&SMALL[..], &DEVICE].concat()));
    assert_eq!(reason(&document), "response_time");
    assert_eq!(text(&document, "/ramp/saturation/reason/transaction"), "new_order");
    assert!(float(&document, "/ramp/saturation/reason/p90_us") > 20_000.0);
    assert_eq!(float(&document, "/ramp/conditions/stop_p90_us/new_order"), 20_000.0);
}

#[test]
#[ignore = "make soak"]
fn throughput_that_no_longer_rises_ends_a_ramp() {
    let temp = directory();
    let plateau = Some(("--stop-plateau", "0.2"));
    let document = ended(ramp(temp.path(), plateau, &[&SMALL[..], &DEVICE].concat()));
    assert_eq!(reason(&document), "plateau");
    assert!(number(&document, "/ramp/saturation/connections") >= 2);
}

#[test]
#[ignore = "make soak"]
fn response_times_that_turn_up_end_a_ramp() {
    let temp = directory();
    // Who spins for long takes the core from whom it waits for.
    let spinning = ["--set", "innodb_spin_wait_delay=6000", "--set", "innodb_sync_spin_loops=300"];
    // A convoy of such threads lasts longer than a second.
    let small = [
        "--start",
        "2",
        "--step",
        "2",
        "--connections-max",
        "128",
        "--points",
        "9",
        "--window",
        "4s",
    ];
    let kink = Some(("--stop-kink", "1.1"));
    let document = ended(ramp(temp.path(), kink, &[&small[..], &spinning].concat()));
    assert_eq!(reason(&document), "kink");
    assert!(float(&document, "/ramp/saturation/reason/elasticity") >= 1.1);
}

#[test]
fn a_refused_count_ends_a_ramp_and_bad_limits_none() {
    let temp = directory();
    let here = temp.path();
    let room = ["--set", "max_connections=30", "--connections-max", "64", "--check"];
    let document = ended(ramp(here, None, &room));
    assert_eq!(reason(&document), "failed");
    assert_eq!(text(&document, "/ramp/saturation/reason/reason_code"), "refused");
    assert_eq!(number(&document, "/ramp/saturation/connections"), 16);
    let words = text(&document, "/ramp/words");
    assert!(words.contains("max_connections of the server is 30"), "{words}");
    let database = here.join("mydyno.db");
    let checks = "SELECT count(*) FROM check_result c JOIN ramp_point p USING (repeat_id) JOIN \
        repeat r ON r.id = p.repeat_id JOIN cell ON cell.id = r.cell_id WHERE passed AND \
        connections = 16";
    assert_eq!(result(&database, checks), "18");
    let report = fs::read_to_string(here.join("report.html")).unwrap();
    assert!(report.contains("id=\"ramp\"") && report.contains("Saturation point: 16 connections"));
    // The same from the results file alone, as a table.
    let status = mydyno(["lab", "status"]).in_directory(here).run().exits(0);
    let lines: Vec<&str> = status.stdout.lines().collect();
    let line = |count: &str| lines.iter().find(|line| line.trim_start().starts_with(count));
    assert!(line("16 ").is_some() && line("32 ").unwrap().contains("refused"), "{lines:?}");

    let above = ramp(here, None, &["--start", "16", "--connections-max", "8"]);
    above.run().exits(2).says(&["starts at 16 connections, above its maximum of 8"]);
    let flat = ramp(here, Some(("--stop-kink", "0.5")), &[]);
    flat.run().exits(2).says(&["kink", "above 1"]);
}

#[test]
fn ctrl_c_keeps_the_points() {
    let temp = directory();
    let here = temp.path();
    let mut running = ramp(here, None, &["--start", "1", "--step", "1"]).spawn();
    running.until_says("point 2 of at most 24: 2 connections; at most");
    running.signal(Signal::INT);
    let document = running.wait().exits(130).json();
    assert_eq!(list(&document, "/ramp/points").len(), 1);
    assert!(document.pointer("/ramp/saturation").unwrap().is_null());
    assert!(text(&document, "/ramp/words").contains("not at its end"));
    assert_eq!(result(&here.join("mydyno.db"), "SELECT status FROM lab"), "interrupted");
}

const PLAN: &str = "\
[lab]
name = \"supported\"
repeats = 1
[server]
engine = \"mysql-5.7\"
set = { innodb_buffer_pool_size = [\"64M\", \"128M\"], innodb_log_file_size = \"16M\" }
[load]
warehouses = 1
warmup = \"0s\"
window = \"1s\"
[ramp]
start = 1
step = 1
connections_max = 4
stop_cpu = false
stop_p90 = false
stop_kink = false
stop_plateau = false
";

fn points(database: &Path) -> Vec<Vec<String>> {
    results(
        database,
        "SELECT a.ordinal, c.connections, r.id FROM ramp a JOIN ramp_point p ON p.ramp_id = a.id \
         JOIN repeat r ON r.id = p.repeat_id JOIN cell c ON c.id = r.cell_id WHERE r.status = \
         'done' ORDER BY r.id",
    )
}

#[test]
#[ignore = "make soak"]
fn a_lab_of_ramps_goes_on_from_its_points() {
    let temp = directory();
    let here = temp.path();
    fs::write(here.join("plan.toml"), PLAN).unwrap();
    shim();
    install(ENGINE);
    let lab_run = |more: &[&str]| {
        let all = ["lab", "run", "plan.toml", "--json"];
        mydyno(all.iter().chain(more)).in_directory(here)
    };
    let plan = mydyno(["lab", "plan", "plan.toml"]).in_directory(here).run().exits(0);
    let told = ["start=1 step=1 connections_max=4", "available) and at most"];
    assert!(told.iter().all(|words| plan.stdout.contains(words)), "{}", plan.stdout);

    let mut first = lab_run(&[]).spawn();
    first.until_says("point 3 of at most 24: 4 connections");
    first.signal(Signal::KILL);
    drop(first);
    let database = here.join("mydyno.db");
    let before = points(&database);
    assert_eq!(before.len(), 2, "{before:?}");

    let ran = lab_run(&[]).run();
    let document = ran.exits(0).says(&["goes on", "point 3 of at most 24: 4 connections"]).json();
    assert_eq!(number(&document, "/left"), 0);
    let after = points(&database);
    assert_eq!(after.len(), 6, "{after:?}");
    // What was there was not measured again.
    assert!(before.iter().all(|row| after.contains(row)), "{before:?} {after:?}");
    let ramps = list(&document, "/ramps");
    assert_eq!(ramps.len(), 2);
    for ramp in ramps {
        assert_described(ramp);
        assert_eq!(number(ramp, "/saturation/connections"), 4, "{ramp}");
        assert!(ramp.pointer("/saturation/reason").unwrap().is_null());
    }
    let checked =
        "SELECT count(DISTINCT repeat_id) FROM check_result JOIN ramp_point USING (repeat_id)";
    assert_eq!(result(&database, checked), "2");
    let again = lab_run(&[]).run();
    again.exits(0).says(&["nothing is left to do"]);
    assert_eq!(points(&database), after);
    let status = mydyno(["lab", "status"]).in_directory(here).run().exits(0);
    assert!(status.stdout.contains("supported connections"), "{}", status.stdout);
}

#[test]
fn a_ramp_goes_on_with_its_own_server_and_device_only() {
    let temp = directory();
    let here = temp.path();
    let shown = mydyno(["device", "show", "nvme-pm1725"]).run().exits(0);
    let profile = here.join("my-disk.toml");
    fs::write(&profile, &shown.stdout).unwrap();
    let one = PLAN.replace("innodb_buffer_pool_size = [\"64M\", \"128M\"], ", "");
    let placed = one.replace("[load]", "[storage]\ndata = \"./my-disk.toml\"\n[load]");
    assert_ne!(one, PLAN);
    fs::write(here.join("plan.toml"), placed).unwrap();
    shim();
    install(ENGINE);
    let lab_run = || mydyno(["lab", "run", "plan.toml"]).in_directory(here);
    let mut first = lab_run().spawn();
    first.until_says("point 2 of at most 24: 2 connections");
    first.signal(Signal::INT);
    first.wait().exits(130);

    let larger = shown.stdout.replacen("capacity_bytes = ", "capacity_bytes = 1", 1);
    assert_ne!(larger, shown.stdout);
    fs::write(&profile, larger).unwrap();
    let refused = |words: &[&str]| lab_run().run().exits(3).says(words);
    refused(&["plan.toml:8:8: ", "other figures", "--results"]);
    fs::write(&profile, &shown.stdout).unwrap();
    let file = rusqlite::Connection::open(here.join("mydyno.db")).unwrap();
    let other = "UPDATE cell SET server_version = '5.7.10-log'";
    assert!(file.execute(other, []).unwrap() > 0);
    drop(file);
    refused(&["plan.toml:5:10: ", "5.7.10-log", "--results"]);
}
