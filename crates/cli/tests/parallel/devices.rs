//! Devices: profiles, and what cannot be verified or probed. What fio measures is in
//! `serial/sheets.rs`.

use crate::support::{assert_described, directory, float, list, mydyno, number, shim, text, until};
use rustix::process::Signal;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

#[test]
fn the_papers_devices_are_there() {
    let document = mydyno(["device", "list", "--json"]).run().exits(0).json();
    assert_eq!(number(&document, "/schema_version"), 1);
    assert_described(&document);
    let devices = list(&document, "/devices");
    for (name, kind) in
        [("hdd-15k", "disk"), ("sata-850pro", "solid_state"), ("nvme-pm1725", "solid_state")]
    {
        let device = devices.iter().find(|d| d["name"] == name).unwrap();
        assert_eq!(text(device, "/kind"), kind);
        assert!(float(device, "/sheet/random_read_iops") > 0.0);
        assert!(number(device, "/capacity_bytes") > 1 << 30);
    }
    let words = mydyno(["device", "list"]).run().exits(0);
    assert_eq!(words.stdout.lines().count(), devices.len() + 1);
}

#[test]
fn a_shown_profile_is_one_to_start_from() {
    let work = directory();
    let shown = mydyno(["device", "show", "sata-850pro"]).run().exits(0);
    assert!(shown.stdout.contains("[sources]"));
    let mine = shown.stdout.replace("sata-850pro", "mine");
    fs::write(work.path().join("mine.toml"), &mine).unwrap();
    let again = mydyno(["device", "show", "mine.toml", "--json"])
        .in_directory(work.path())
        .run()
        .exits(0)
        .json();
    assert_eq!(text(&again, "/profile/name"), "mine");
    assert_described(&again);

    // An impossible figure names its key.
    let lines = mine.lines().map(|line| match line.split_once(" = ") {
        Some(("random_read_iops", _)) => "random_read_iops = -7",
        _ => line,
    });
    let bad: Vec<&str> = lines.collect();
    fs::write(work.path().join("bad.toml"), bad.join("\n")).unwrap();
    for command in ["show", "verify"] {
        let ran = mydyno(["device", command, "bad.toml"]).in_directory(work.path());
        ran.run().exits(2).says(&["bad.toml", "sheet.random_read_iops"]);
    }
}

#[test]
fn unknown_devices_are_told_with_the_nearest() {
    for command in ["show", "verify"] {
        let ran = mydyno(["device", command, "sata-850por"]).run().exits(2);
        ran.says(&["unknown device", "\"sata-850pro\"", "mydyno device list"]);
    }
}

#[test]
fn fio_is_asked_for_by_its_package() {
    let empty = directory();
    for command in [&["device", "verify", "hdd-15k"][..], &["device", "probe", "/tmp"]] {
        let ran = mydyno(command).env("PATH", empty.path()).run().exits(4);
        ran.says(&["fio is needed", "install the package fio"]);
    }
}

#[test]
fn a_sheet_that_promises_nothing_is_refused() {
    shim();
    let work = directory();
    let profile = "name = \"mute\"\ntitle = \"A mute disk\"\ncapacity_bytes = \
        600_000_000_000\n[sheet]\n[disk]\nrpm = 7200\n\
                   average_seek_ms = 8.0\nsequential_mb_per_s = 150\n";
    fs::write(work.path().join("mute.toml"), profile).unwrap();
    let ran = mydyno(["device", "verify", "hdd-15k", "mute.toml"]).in_directory(work.path());
    ran.run().exits(2).says(&["[sheet] of mute", "read_latency_us"]);
}

fn fio_directories(parent: &Path) -> usize {
    let entries = fs::read_dir(parent).unwrap().flatten();
    let ours = |name: &std::ffi::OsStr| name.to_string_lossy().starts_with("mydyno-fio-");
    entries.filter(|entry| ours(&entry.file_name())).count()
}

#[test]
fn ctrl_c_ends_fio_and_leaves_nothing() {
    shim();
    let work = directory();
    let path = work.path().to_str().unwrap();
    let arguments = ["device", "verify", "hdd-15k", "--seconds", "60", "--directory", path];
    let mut running = mydyno(arguments).spawn();
    let started = || {
        let directories = fs::read_dir(work.path()).unwrap().flatten();
        directories.into_iter().any(|d| d.path().join("shim.page").exists())
    };
    until("fio runs", started);
    assert!(!running.has_ended());
    running.signal(Signal::INT);
    running.wait().exits(130);
    assert_eq!(fio_directories(work.path()), 0);
}

/// A program that says that it is a server.
#[test]
fn a_setuid_server_is_refused() {
    shim();
    let work = directory();
    let source = work.path().join("server.c");
    let server = work.path().join("mysqld");
    let text = "#include <stdio.h>\nint main(void) { puts(\"mysqld  Ver 8.0.36 for Linux on x86_64 \
        (x)\"); return 0; }\n";
    fs::write(&source, text).unwrap();
    let compiled = Command::new("cc").arg("-o").args([&server, &source]).status();
    assert!(compiled.unwrap().success());
    fs::set_permissions(&server, fs::Permissions::from_mode(0o4755)).unwrap();
    let binary = server.to_str().unwrap();
    let arguments = ["run", "--server-binary", binary, "-w", "1", "--data", "hdd-15k"];
    let ran = mydyno(arguments).in_directory(work.path()).run().exits(4);
    ran.says(&["cannot run under the shim", "setuid"]);
}
