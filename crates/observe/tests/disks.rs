//! The counters of disks against fio's own count.

mod common;

use common::read;
use observe::{HostSource, Readings};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;
use store::MetricKind;

const MIB: i64 = 1 << 20;
const WRITTEN_MIB: i64 = 256;
/// Other programs write as well, and the file system its journal.
const OTHERS_BYTES: i64 = 64 * MIB;
/// Where another program writes much at the same time.
const TRIES: u32 = 3;

/// The whole disk that files in `directory` lie on; `None` where they lie on no block device.
fn disk_of(directory: &Path) -> Option<String> {
    let device = std::fs::metadata(directory).unwrap().dev();
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    let link = format!("/sys/dev/block/{major}:{minor}");
    let entry = std::fs::canonicalize(link).ok()?;
    let disk = if entry.join("partition").exists() {
        entry.parent()?
    } else {
        &entry
    };
    // As /proc/diskstats writes it.
    let name = disk.file_name()?.to_str()?;
    Some(name.replace('!', "/"))
}

/// Writes past the page cache, and returns how much fio says it wrote.
fn fio_writes(directory: &Path) -> i64 {
    let output = Command::new("fio")
        .args(["--name=mydyno", "--filename=written", "--rw=write"])
        .args(["--bs=1m", "--direct=1", "--ioengine=psync"])
        .arg(format!("--size={WRITTEN_MIB}m"))
        .args(["--fallocate=none", "--output-format=json"])
        .current_dir(directory)
        .output()
        .expect("fio is needed: install the package fio");
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}{errors}");
    let document = &said[said.find('{').unwrap()..];
    let document: serde_json::Value = serde_json::from_str(document).unwrap();
    let bytes = document.pointer("/jobs/0/write/io_bytes").unwrap();
    bytes.as_i64().unwrap()
}

fn value(readings: &Readings, name: &str, disk: &str) -> i64 {
    let mut found = readings
        .values()
        .iter()
        .filter(|(metric, _)| metric.name == name && metric.label == disk);
    let (_, value) = found
        .next()
        .unwrap_or_else(|| panic!("no {name} of {disk}"));
    *value
}

#[test]
fn disks_have_written_what_fio_wrote() {
    let directory = tempfile::tempdir().unwrap();
    let mut host = HostSource::new();
    let Some(disk) = disk_of(directory.path()) else {
        println!(
            "the temporary directory is on no block device: asserts only that no counter falls"
        );
        let (before, after) = (read(&mut host), read(&mut host));
        for (metric, earlier) in before.values() {
            let is_disk = metric.name.starts_with("disk_");
            if is_disk && metric.kind == MetricKind::Counter {
                assert!(value(&after, &metric.name, &metric.label) >= *earlier);
            }
        }
        return;
    };
    let mut excess = Vec::new();
    for _ in 0..TRIES {
        let before = read(&mut host);
        let fio_bytes = fio_writes(directory.path());
        let after = read(&mut host);
        let rise = |name| value(&after, name, &disk) - value(&before, name, &disk);
        let bytes = rise("disk_write_bytes");
        println!(
            "{disk}: {bytes} bytes in {} writes, {} ns, busy {} ns; fio wrote {fio_bytes} bytes",
            rise("disk_writes"),
            rise("disk_write_ns"),
            rise("disk_busy_ns"),
        );
        assert_eq!(fio_bytes, WRITTEN_MIB * MIB);
        assert!(bytes >= fio_bytes, "{bytes} of {fio_bytes} on {disk}");
        // A request of 1 MiB may be split, and none is smaller than a sector.
        let writes = rise("disk_writes");
        assert!(writes >= 1 && writes <= bytes / 512, "{writes}");
        assert!(rise("disk_write_ns") > 0 && rise("disk_busy_ns") > 0);
        assert!(rise("disk_queue_ns") >= rise("disk_write_ns") / 2);
        if bytes < fio_bytes * 3 / 2 + OTHERS_BYTES {
            return;
        }
        excess.push(bytes);
    }
    panic!("{disk} wrote {excess:?} bytes while fio wrote {WRITTEN_MIB} MiB each time");
}
