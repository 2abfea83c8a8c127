//! The counters of disks against what fio and this test did, and against the file that they are
//! from. One test, so that its parts do not disturb each other.

use crate::alone;
use crate::common::read;
use observe::{HostSource, ProcessSource, Readings};
use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::process::Command;
use store::MetricSource::{Host, Process};

const MIB: i64 = 1 << 20;
const FILE_MIB: i64 = 256;
/// Other programs use the disk as well, and the file system its journal.
const OTHERS_BYTES: i64 = 64 * MIB;
const FLUSHES: i64 = 200;
const OTHERS_FLUSHES: i64 = 1000;
/// Where another program does much at the same time.
const TRIES: u32 = 3;

/// The whole disk that files in `directory` lie on; `None` where they lie on no block device.
fn disk_of(directory: &Path) -> Option<String> {
    let device = std::fs::metadata(directory).unwrap().dev();
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    let link = format!("/sys/dev/block/{major}:{minor}");
    let entry = std::fs::canonicalize(link).ok()?;
    let disk = if entry.join("partition").exists() { entry.parent()? } else { &entry };
    // As /proc/diskstats writes it.
    let name = disk.file_name()?.to_str()?;
    Some(name.replace('!', "/"))
}

/// Does `how` (`read`, `write`) to a file past the page cache, and returns how many bytes fio says
/// that were.
fn fio(directory: &Path, how: &str) -> i64 {
    let output = Command::new("fio")
        .args(["--name=mydyno", "--filename=used", "--bs=1m", "--direct=1"])
        .args(["--ioengine=psync", "--fallocate=none"])
        .arg(format!("--rw={how}"))
        .arg(format!("--size={FILE_MIB}m"))
        .arg("--output-format=json")
        .current_dir(directory)
        .output()
        .expect("fio is needed: install the package fio");
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}{errors}");
    let document = &said[said.find('{').unwrap()..];
    let document: serde_json::Value = serde_json::from_str(document).unwrap();
    let bytes = document.pointer(&format!("/jobs/0/{how}/io_bytes"));
    let bytes = bytes.unwrap().as_i64().unwrap();
    assert_eq!(bytes, FILE_MIB * MIB);
    bytes
}

fn value(readings: &Readings, name: &str, label: &str) -> i64 {
    let found = readings.values().iter().find(|(metric, _)| {
        let is_ours = matches!(metric.source, Host | Process);
        is_ours && metric.name == name && metric.label == label
    });
    found.unwrap_or_else(|| panic!("no {name} of {label}")).1
}

/// Does `used`, which returns a rise and the most it should be, until no other program did too much
/// in the meantime.
fn tried(mut used: impl FnMut() -> (i64, i64)) {
    let mut rises = Vec::new();
    for _ in 0..TRIES {
        let (rise, most) = used();
        if rise <= most {
            return;
        }
        rises.push((rise, most));
    }
    panic!("others are too busy: it rose by more than this test did each time: {rises:?}");
}

/// `of` is `read` or `write`, `of_process` what the process's counter of it is called.
fn as_fio_says(directory: &Path, disk: &str, of: &str, of_process: &str) {
    let mut host = HostSource::default();
    // What children did is in their parent's counters once it has waited for them.
    let mut process = ProcessSource::new("mydyno", std::process::id());
    tried(|| {
        let before = (read(&mut host), read(&mut process));
        let fio_bytes = fio(directory, of);
        let after = (read(&mut host), read(&mut process));
        let rise = |name: &str| {
            let name = format!("disk_{name}");
            value(&after.0, &name, disk) - value(&before.0, &name, disk)
        };
        let bytes = rise(&format!("{of}_bytes"));
        let requests = rise(&format!("{of}s"));
        let response_ns = rise(&format!("{of}_ns"));
        let process_bytes =
            value(&after.1, of_process, "mydyno") - value(&before.1, of_process, "mydyno");
        println!(
            "{disk}, {of}: {bytes} bytes in {requests} requests, {response_ns} ns, busy {} ns; \
             fio says {fio_bytes} bytes, the process {process_bytes}",
            rise("busy_ns"),
        );
        assert!(bytes >= fio_bytes, "{bytes} of {fio_bytes} on {disk}");
        // A request of 1 MiB may be split, and none is smaller than a sector.
        assert!(requests >= 1 && requests <= bytes / 512, "{requests}");
        assert!(response_ns > 0 && rise("busy_ns") > 0);
        assert!(rise("queue_ns") >= response_ns / 2);
        // The process's own: fio's files of a few pages come with its bytes.
        assert!(
            (fio_bytes..fio_bytes + 16 * MIB).contains(&process_bytes),
            "{process_bytes} of {fio_bytes}"
        );
        (bytes, fio_bytes * 3 / 2 + OTHERS_BYTES)
    });
}

fn flushes_as_asked_for(directory: &Path, disk: &str) {
    let queue = format!("/sys/block/{}/queue/write_cache", disk.replace('/', "!"));
    let cache = std::fs::read_to_string(queue).unwrap_or_default();
    if cache.trim() != "write back" {
        println!("not tried: {disk} has no cache that is to be flushed");
        return;
    }
    let file = File::create(directory.join("flushed")).unwrap();
    let mut host = HostSource::default();
    tried(|| {
        let before = read(&mut host);
        for number in 0..FLUSHES {
            file.write_all_at(b"flushed", number as u64 * 4096).unwrap();
            file.sync_data().unwrap();
        }
        let after = read(&mut host);
        let rise = |name| value(&after, name, disk) - value(&before, name, disk);
        let flushes = rise("disk_flushes");
        println!("{disk}: {flushes} flushes, {} ns; {FLUSHES} asked for", rise("disk_flush_ns"));
        assert!(flushes >= FLUSHES && rise("disk_flush_ns") > 0, "{flushes}");
        // With the file system's journal.
        (flushes, FLUSHES * 4 + OTHERS_FLUSHES)
    });
}

/// Reads, bytes read, writes, bytes written and flushes of each device, from /proc/diskstats,
/// without the code under test.
fn own_reading() -> BTreeMap<String, [Option<i64>; 5]> {
    let text = std::fs::read_to_string("/proc/diskstats").unwrap_or_default();
    let lines = text.lines().map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let number = |at: usize| words.get(at).map(|word| word.parse::<i64>().unwrap());
        let bytes = |at| number(at).map(|sectors| sectors * 512);
        let values = [number(3), bytes(5), number(7), bytes(9), number(18)];
        (words[2].to_owned(), values)
    });
    lines.collect()
}

/// Each value lies between those of two own readings.
fn as_the_kernel_says() {
    let names =
        ["disk_reads", "disk_read_bytes", "disk_writes", "disk_write_bytes", "disk_flushes"];
    let before = own_reading();
    let readings = read(&mut HostSource::default());
    let after = own_reading();
    let mut compared = 0;
    for (disk, lows) in &before {
        for ((name, low), high) in names.iter().zip(lows).zip(&after[disk]) {
            let told = readings
                .values()
                .iter()
                .find(|(metric, _)| metric.name == *name && metric.label == *disk);
            let (Some((_, told)), Some(low), Some(high)) = (told, low, high) else {
                continue;
            };
            assert!((low..=high).contains(&told), "{disk} {name}: {told}");
            compared += 1;
        }
    }
    println!("{compared} values lie between those of /proc/diskstats");
    let is_disk = |disk: &&String| ["sd", "vd", "nvme"].iter().any(|kind| disk.starts_with(kind));
    if before.keys().any(|disk| is_disk(&disk)) {
        assert!(compared >= 4, "{compared} values were compared");
    }
}

#[test]
fn disks_did_what_was_done_to_them() {
    alone("disks::disks_did_what_was_done_to_them", used_disks);
}

fn used_disks() {
    as_the_kernel_says();
    // Not in /tmp, which may be memory.
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let Some(disk) = disk_of(directory.path()) else {
        println!("not tried: this directory is on no block device");
        return;
    };
    if !own_reading().contains_key(&disk)
        || read(&mut HostSource::default()).values().iter().all(|(metric, _)| metric.label != disk)
    {
        println!("not tried: this directory is on {disk}, which lies on other disks");
        return;
    }
    as_fio_says(directory.path(), &disk, "write", "written_bytes");
    as_fio_says(directory.path(), &disk, "read", "read_bytes");
    flushes_as_asked_for(directory.path(), &disk);
}
