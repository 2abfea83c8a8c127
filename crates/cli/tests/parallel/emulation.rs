//! Runs on emulated devices: every engine under the shim, devices that differ, deaths, and what is
//! refused.

use crate::support::{
    AMPLE, Ran, Running, SMALL_REDO, directory, directory_on_disk, float, home, install, mydyno,
    number, result, results, servers_under, shim, signal, text, value,
};
use rustix::process::Signal;
use serde_json::Value;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

fn start_run(engine: &str, work: &Path, arguments: &[&str]) -> Running {
    shim();
    install(engine);
    mydyno(["run", "--engine", engine, "-w", "1", "--json"])
        .and_args(SMALL_REDO)
        .and_args(arguments)
        .in_directory(work)
        .spawn()
}

fn run(engine: &str, work: &Path, arguments: &[&str]) -> Ran {
    start_run(engine, work, arguments).wait()
}

fn device<'a>(document: &'a Value, role: &str) -> &'a Value {
    let devices = document["devices"].as_array().unwrap();
    let found = devices.iter().find(|device| device["role"] == role);
    found.unwrap_or_else(|| panic!("no {role} in {document:#}"))
}

fn requests(device: &Value, kind: &str) -> u64 {
    device[kind]["requests"].as_u64().unwrap_or(0)
}

/// The run proves its database, its devices were counted, and it says how true they were.
fn is_emulated_and_proven(engine: &str) -> Value {
    let work = directory();
    let arguments = [
        "-c",
        "4",
        "--warmup",
        "1s",
        "--window",
        "3s",
        "--check",
        "--data",
        "nvme-pm1725",
        "--set",
        "innodb_buffer_pool_size=24M",
    ];
    let document = run(engine, work.path(), &arguments).exits(0).json();
    let checks = document["checks"].as_array().unwrap();
    assert_eq!(checks.len(), 18);
    assert!(checks.iter().all(|check| check["passed"] == true));
    assert_eq!(
        number(&document, "/new_orders_in_database"),
        number(&document, "/new_orders_committed_by_driver")
    );
    let data = device(&document, "data");
    assert_eq!(text(data, "/device"), "nvme-pm1725");
    assert_eq!(data["emulated"], true);
    assert!(!text(data, "/backing").is_empty());
    assert!(requests(data, "read") > 0 && requests(data, "write") > 0, "{data:#}");
    assert!(float(data, "/read/service_mean_us") > 10.0, "{data:#}");
    assert!(
        float(data, "/read/response_mean_us") >= 0.9 * float(data, "/read/service_mean_us"),
        "{data:#}"
    );
    let redo = device(&document, "redo");
    assert!(requests(redo, "write") > 0 && requests(redo, "flush") > 0, "{redo:#}");
    for share in ["/fidelity", "/overrun_share"] {
        assert!((0.0..=1.0).contains(&float(&document, share)), "{share}");
    }
    let file = work.path().join("mydyno.db");
    assert_eq!(result(&file, "SELECT count(*) FROM cell_place"), "6");
    let counted_s = "SELECT min(counted_ns) / 1e9 FROM role_io";
    let counted_s: f64 = result(&file, counted_s).parse().unwrap();
    assert!((2.0..12.0).contains(&counted_s), "{counted_s}");
    document
}

engines! {
    is_emulated_and_proven;
    test: mysql_5_7;
    // The last holds libaio itself.
    soak: mysql_8_0, xtradb_5_6, mysql_9_7, mariadb_11_4;
}

fn falls_back_from_io_uring(engine: &str) {
    let document = is_emulated_and_proven(engine);
    assert!(number(&document, "/shim/uring_refused") > 0);
    let notes = document["notes"].to_string();
    assert!(notes.contains("io_uring"), "{notes}");
}

engines! {
    falls_back_from_io_uring;
    test: mariadb_11_8;
    soak: mariadb_10_11;
}

#[test]
#[ignore = "make soak"]
fn devices_differ_and_are_counted_apart() {
    let work = directory();
    let on = |places: &[&str]| {
        let arguments =
            ["-c", "8", "--warmup", "1s", "--window", "3s", "--set", "innodb_buffer_pool_size=5M"];
        let all = [&arguments[..], places].concat();
        run("mysql-5.7", work.path(), &all).exits(0).json()
    };
    let nvme = on(&["--data", "nvme-pm1725"]);
    let hdd = on(&["--data", "hdd-15k"]);
    let apart = on(&["--data", "hdd-15k", "--redo", "nvme-pm1725"]);
    // By the models' times, to which a busy host adds its own.
    let read_us = |document: &Value| float(device(document, "data"), "/read/service_mean_us");
    assert!(read_us(&hdd) > 1_000.0 && read_us(&nvme) < read_us(&hdd) / 4.0);
    assert!(float(&nvme, "/nopm") > float(&hdd, "/nopm"));
    let redo = device(&apart, "redo");
    assert_eq!(text(redo, "/device"), "nvme-pm1725");
    assert_eq!(text(device(&apart, "data"), "/device"), "hdd-15k");
    let flush_us = |document: &Value| float(device(document, "redo"), "/flush/service_mean_us");
    assert!(flush_us(&apart) < flush_us(&hdd), "{} {}", flush_us(&apart), flush_us(&hdd));
    // The report and the export come from the file alone.
    mydyno(["report", "-o", "report.html"]).in_directory(work.path()).run().exits(0);
    let page = std::fs::read_to_string(work.path().join("report.html")).unwrap();
    for words in ["Storage by role", "hdd-15k, redo nvme-pm1725", "Fidelity"] {
        assert!(page.contains(words), "{words}");
    }
}

#[test]
fn real_storage_is_counted_where_that_is_asked_for() {
    let work = directory();
    let arguments = ["-c", "2", "--warmup", "0", "--window", "2s", "--count-io"];
    let document = run("mysql-5.7", work.path(), &arguments).exits(0).json();
    let redo = device(&document, "redo");
    assert_eq!(redo["emulated"], false);
    assert!(requests(redo, "flush") > 0, "{redo:#}");
    assert!(document["fidelity"].is_null() && redo["write"]["service_mean_us"].is_null());
}

#[test]
fn a_private_server_that_dies_under_the_shim_leaves_nothing() {
    let work = directory();
    let file = work.path().join("mydyno.db");
    let arguments = ["-c", "4", "--warmup", "0", "--window", AMPLE, "--data", "sata-850pro"];
    let mut running = start_run("mysql-5.7", work.path(), &arguments);
    running.until_measuring(work.path());
    let servers = servers_under(running.pid());
    assert_eq!(servers.len(), 1);
    let data = data_directory(&file);
    assert!(data.is_dir(), "{}", data.display());
    signal(servers[0], Signal::KILL);
    let ran = running.wait().exits(5);
    assert_eq!(text(&ran.json(), "/reason_code"), "server_died");
    // It did not crash by itself, so nobody is blamed.
    assert!(!ran.stderr.contains("the crash"), "{}", ran.stderr);
    assert!(!data.exists(), "{} is left", data.display());
}

/// Of the last repeat's option file.
fn data_directory(file: &Path) -> PathBuf {
    let rows = results(file, "SELECT my_cnf FROM repeat ORDER BY id DESC LIMIT 1");
    let lines = rows[0][0].lines();
    let found = lines.filter_map(|line| line.strip_prefix("datadir = ")).next();
    PathBuf::from(found.unwrap().trim_matches('"'))
}

/// Starts the named server, on what data there is. Returns DSN and process.
fn start_named(engine: &str, name: &str, places: &[&str]) -> (String, u32) {
    let arguments = [
        "server",
        "start",
        "--engine",
        engine,
        "--name",
        name,
        "--json",
        "--set",
        "innodb_buffer_pool_size=32M",
        "--set",
        "innodb_log_file_size=32M",
    ];
    let started = mydyno(arguments).and_args(places).run().exits(0).json();
    let pid = u32::try_from(number(&started, "/pid")).unwrap();
    (text(&started, "/dsn").to_owned(), pid)
}

/// Loaded, driven and killed under the shim, recovered and checked under it.
fn what_was_committed_survives_a_kill_9_of(engine: &str, profile: &str) {
    what_was_committed_survives(engine, profile, "1");
}

engines! {
    what_was_committed_survives_a_kill_9_of;
    soak: mysql_5_7("sata-850pro");
    others: soak("nvme-pm1725");
}

/// The same with a clock that is so many times slower.
fn what_was_committed_survives(engine: &str, profile: &str, dilation: &str) {
    let work = directory();
    let file = work.path().join("mydyno.db");
    shim();
    install(engine);
    let name = &format!("crashing-{engine}-{dilation}");
    let (dsn, pid) = start_named(engine, name, &["--data", profile, "--dilate", dilation]);
    mydyno(["load", "--dsn", &dsn, "-w", "1"]).in_directory(work.path()).run().exits(0);
    let sum = "SELECT CAST(SUM(d_next_o_id) AS SIGNED) FROM district";
    let before: i64 = value(&dsn, sum).parse().unwrap();
    let arguments = ["-c", "8", "--warmup", "0", "--window", AMPLE, "--json"];
    let mut running =
        mydyno(["run", "--dsn", &dsn]).and_args(arguments).in_directory(work.path()).spawn();
    running.until_measuring(work.path());
    signal(pid, Signal::KILL);
    running.wait().exits(5);
    let committed = "SELECT sum(committed) FROM interval WHERE transaction_type = 'new_order'";
    let committed: i64 = result(&file, committed).parse().unwrap();
    assert!(committed > 0);

    // On another device its files would not be found.
    let other = ["server", "start", "--engine", engine, "--name", name, "--data", "hdd-15k"];
    mydyno(other).run().exits(4).says(&[&format!("--data {profile}")]);
    let (dsn, _) = start_named(engine, name, &["--dilate", dilation]);
    let after: i64 = value(&dsn, sum).parse().unwrap();
    assert!(
        after - before >= committed,
        "{committed} orders were committed, and {} are there",
        after - before
    );
    mydyno(["check", "--dsn", &dsn]).run().exits(0);
    // Its device is at work again, and is counted.
    let arguments = ["-c", "2", "--warmup", "0", "--window", "1s", "--json"];
    let ran = mydyno(["run", "--dsn", &dsn]).and_args(arguments).in_directory(work.path()).run();
    let document = ran.exits(0).json();
    assert_eq!(float(&document, "/dilation").to_string(), dilation);
    let redo = device(&document, "redo");
    assert_eq!(text(redo, "/device"), profile);
    assert!(float(redo, "/flush/service_mean_us") > 10.0, "{redo:#}");
    mydyno(["server", "stop", name, "--remove"]).run().exits(0);
}

#[test]
#[ignore = "make soak"]
fn what_was_committed_survives_a_kill_9_in_dilated_time() {
    what_was_committed_survives("mysql-5.7", "nvme-pcie4", "2");
}

#[test]
fn a_named_server_goes_on_in_the_data_directory_that_was_made_for_it() {
    let work = directory_on_disk();
    shim();
    install("mysql-5.7");
    let data = work.path().join("data");
    let name = "elsewhere";
    let places = ["--data", data.to_str().unwrap(), "--count-io"];
    start_named("mysql-5.7", name, &places);
    assert!(data.join("ibdata1").is_file());
    mydyno(["server", "stop", name]).run().exits(0);
    start_named("mysql-5.7", name, &places);
    // Another server's files would go with it.
    let inside = ["server", "start", "--engine", "mysql-5.7", "--name", "inside"];
    mydyno(inside).and_args(places).run().exits(4).says(&["another server", "outside of it"]);
    mydyno(["server", "stop", name]).run().exits(0);
    // A file system that is not mounted is not made anew.
    let aside = work.path().join("aside");
    std::fs::rename(&data, &aside).unwrap();
    let start = |more: &[&str]| {
        mydyno(["server", "start", "--engine", "mysql-5.7", "--name", name]).and_args(more).run()
    };
    start(&places).exits(4).says(&["are not there", "data"]);
    std::fs::rename(&aside, &data).unwrap();
    let outside = ["--set", "innodb_log_group_home_dir=/tmp"];
    start(&outside).exits(2).says(&["--redo"]);
    mydyno(["server", "stop", name, "--remove"]).run().exits(0);
    assert!(!data.exists());
}

/// Compiles C with these arguments.
fn compile(arguments: &[&OsStr]) {
    let status = Command::new("cc").args(arguments).status().unwrap();
    assert!(status.success());
}

#[test]
fn a_named_server_without_the_shim_is_stopped_again() {
    let work = directory();
    shim();
    install("mysql-5.7");
    let name = "bare";
    let program = work.path().join("mydyno");
    std::fs::copy(env!("CARGO_BIN_EXE_mydyno"), &program).unwrap();
    let library = work.path().join("libmydyno_shim.so");
    let arguments = ["-shared", "-x", "c", "/dev/null", "-o"].map(OsStr::new);
    compile(&[&arguments[..], &[library.as_os_str()]].concat());
    let started = Command::new(program)
        .args(["server", "start", "--engine", "mysql-5.7", "--name", name])
        .args(["--data", "sata-850pro"])
        .args(SMALL_REDO)
        .env("MYDYNO_HOME", home())
        .output()
        .unwrap();
    let said = String::from_utf8(started.stderr).unwrap();
    assert_eq!(started.status.code(), Some(4), "{said}");
    assert!(said.contains("has not loaded the shim"), "{said}");
    assert!(said.contains("the server was stopped again"), "{said}");
    // A mydyno elsewhere, whose shim is one, goes on with it.
    start_named("mysql-5.7", name, &["--data", "sata-850pro"]);
    mydyno(["server", "stop", name, "--remove"]).run().exits(0);
}

/// A program that says that it is a server, and that no loader preloads anything into.
fn fake_static_server(directory: &Path) -> String {
    let source = directory.join("mysqld.c");
    let program = directory.join("mysqld");
    let text = "#include <stdio.h>\nint main(void) { return puts(\"mysqld  Ver 5.7.22 for Linux on \
        x86_64\") < 0; }\n";
    std::fs::write(&source, text).unwrap();
    let arguments = ["-static", "-o"].map(OsStr::new);
    compile(&[&arguments[..], &[program.as_os_str(), source.as_os_str()]].concat());
    program.to_str().unwrap().to_owned()
}

#[test]
fn what_cannot_be_placed_is_refused() {
    let work = directory();
    shim();
    install("mysql-5.7");
    let refused = |arguments: &[&str], code: i32, words: &[&str]| {
        mydyno(["run"]).and_args(arguments).in_directory(work.path()).run().exits(code).says(words);
    };
    let dsn = ["--dsn", "mysql://me@127.0.0.1:1/tpcc"];
    for place in
        [&["--data", "hdd-15k"][..], &["--temp", "/tmp"], &["--page-cache", "1G"], &["--count-io"]]
    {
        refused(&[&dsn[..], place].concat(), 2, &["--dsn names one", "mydyno server start"]);
    }
    refused(&["--redo", "hdd-15k"], 2, &["name an --engine"]);
    let engine = ["--engine", "mysql-5.7", "-w", "1"];
    let with = |more: &[&'static str]| [&engine[..], more].concat();
    refused(&with(&["--data", "hdd-16k"]), 2, &["hdd-15k", "mydyno device list"]);
    refused(&with(&["--page-cache", "1G"]), 2, &["--page-cache: it is for emulated devices"]);
    refused(&with(&["--page-cache", "much", "--data", "hdd-15k"]), 2, &["512M"]);
    refused(&with(&["--page-cache", "65G", "--data", "hdd-15k"]), 2, &["up to 64G"]);
    refused(
        &with(&["--data", "hdd-15k", "--set", "log_bin=/tmp/binlog"]),
        2,
        &["outside", "--binlog"],
    );
    let server = fake_static_server(work.path());
    let by_file = ["--server-binary", &server, "--data", "hdd-15k"];
    let words = ["cannot run under the shim", "statically linked"];
    refused(&by_file, 4, &words);
    refused(&with(&["--data", "/nonexistent/disk"]), 4, &["/nonexistent/disk"]);
    // A server that stays is asked the same.
    for (arguments, words) in [
        (&["--page-cache", "1G"][..], "--page-cache: it is for emulated devices"),
        (&["--used", "5%"], "--used: it is for emulated devices"),
        (&["--data", "hdd-15k", "--used", "auto"], "name the preset that it was measured with"),
    ] {
        let start = ["server", "start", "--name", "never-placed", "--engine", "mysql-5.7"];
        mydyno(start).and_args(arguments).run().exits(2).says(&[words]);
    }
    assert!(!home().join("instances/never-placed").exists());
}
