//! What fio sees under the shim: its data unaltered, and the device's latency.

use crate::common::{Bench, profile, requests, slow};
use base::Dilation;
use device::Role;
use device::page::{AccessKind, Global, OfKind, OfRole, Snapshot};
use std::process::Command;
use std::time::{Duration, Instant};

/// Runs one fio job over a file of 16 MiB.
fn fio(bench: &Bench, options: &[&str]) -> (bool, String) {
    let mut command: Command = bench.command("fio");
    let name = bench.file("fio.data").to_str().unwrap().to_owned();
    command
        .args(["--name=job", "--thread", "--size=16m", "--randseed=1", "--output-format=terse"])
        .arg(format!("--filename={name}"))
        .args(options)
        .current_dir(bench.directory.path());
    let output = command.output().expect("fio runs (package fio)");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.success(), text + &errors)
}

fn bench() -> Bench {
    let mut bench = Bench::new(&[Role::Data]);
    bench.setup.every_file = Some(Role::Data);
    bench
}

fn count(page: &Snapshot, kind: AccessKind) -> u64 {
    page.of_kind(Role::Data, kind, OfKind::Requests)
}

/// Writes a file and reads it back, comparing checksums.
fn verified(engine: &str, direct: &str, more: &[&str]) -> Snapshot {
    verified_on(&bench(), engine, direct, more)
}

fn verified_on(bench: &Bench, engine: &str, direct: &str, more: &[&str]) -> Snapshot {
    let (engine, direct) = (format!("--ioengine={engine}"), format!("--direct={direct}"));
    let mut options = vec![engine.as_str(), direct.as_str(), "--rw=randwrite", "--bs=16k"];
    options.extend(["--verify=crc32c", "--verify_fatal=1"]);
    options.extend(more);
    let (ok, text) = fio(bench, &options);
    assert!(ok, "{text}");
    bench.page()
}

#[test]
fn synchronous_data_is_unaltered() {
    for engine in ["psync", "sync", "pvsync", "pvsync2"] {
        let page = verified(engine, "1", &[]);
        assert_eq!(count(&page, AccessKind::Write), 1024, "{engine}");
        assert_eq!(count(&page, AccessKind::Read), 1024, "{engine}");
        assert!(page.global(Global::ModelCalls) >= 2048, "{engine}");
    }
}

#[test]
fn asynchronous_data_is_unaltered() {
    let page = verified("libaio", "1", &["--iodepth=32"]);
    assert_eq!(count(&page, AccessKind::Write), 1024);
    assert_eq!(count(&page, AccessKind::Read), 1024);
    let outstanding_max = page.of_role(Role::Data, OfRole::OutstandingMax);
    assert!((16..=32).contains(&outstanding_max), "{outstanding_max}");
    assert_eq!(page.of_role(Role::Data, OfRole::Outstanding), 0);
}

/// A disk decides late which request comes next, and a buffered writer fills its queue.
#[test]
fn disks_lose_nothing() {
    for (engine, direct) in [("libaio", "1"), ("psync", "0")] {
        let mut bench = bench();
        bench.setup.devices[0].profile = profile("hdd-15k");
        bench.setup.cache.bytes = 1 << 20;
        let page = verified_on(&bench, engine, direct, &["--size=4m", "--iodepth=16"]);
        assert!(requests(&page, Role::Data)[1] > 0, "{engine}");
        if direct == "1" {
            assert_eq!(requests(&page, Role::Data), [256, 256, 0]);
            assert_eq!(page.of_role(Role::Data, OfRole::Outstanding), 0);
        }
    }
}

#[test]
fn buffered_data_is_unaltered() {
    for (engine, more) in [("psync", "--fsync=16"), ("libaio", "--iodepth=4")] {
        let page = verified(engine, "0", &[more]);
        // What is read back comes through the modelled cache, each block in four of its pages.
        let read = page.global(Global::CacheHits) + page.global(Global::CacheMisses);
        assert_eq!(read, 4 * 1024, "{engine}");
    }
}

#[test]
fn many_write_through_a_small_cache() {
    for (name, io_size) in [("nvme-pm1725", "--io_size=8m"), ("hdd-15k", "--io_size=512k")] {
        let mut bench = bench();
        bench.setup.cache.bytes = 2 << 20;
        bench.setup.devices[0].profile = profile(name);
        let threads = ["--numjobs=8", "--rw=randrw", "--bs=16k", "--fsync=16", io_size];
        let (success, text) = fio(&bench, &threads);
        assert!(success, "{text}");
        let page = bench.page();
        assert!(page.global(Global::CachePages) <= 512);
    }
}

/// fio measures the device that it would measure without, by a clock that is slower.
#[test]
fn a_dilated_fio_sees_the_same_device() {
    const FACTOR: u32 = 4;
    const RUNTIME: Duration = Duration::from_millis(500);
    let mut bench = bench();
    bench.setup.devices[0].profile = slow();
    bench.dilation = Dilation::new(FACTOR.into()).unwrap();
    bench.fill("fio.data", 16 << 20);
    let runtime = format!("--runtime={}ms", RUNTIME.as_millis());
    let options = ["--rw=randread", "--bs=4k", "--direct=1", "--ioengine=psync"];
    let timing = ["--time_based", "--clocksource=clock_gettime", &runtime];
    let begun = Instant::now();
    let (ok, text) = fio(&bench, &[&options[..], &timing[..]].concat());
    assert!(ok, "{text}");
    assert!(begun.elapsed() >= RUNTIME * FACTOR, "{:?}", begun.elapsed());
    // The eighth field of a line with a version of 3; the device lets 500 pass.
    let line = text.lines().find(|line| line.starts_with("3;")).unwrap();
    let rate: f64 = line.split(';').nth(7).unwrap().parse().unwrap();
    assert!(rate > 250.0 && rate < 520.0, "{rate}");
}

#[test]
fn io_uring_is_refused() {
    let bench = bench();
    let (ok, _) = fio(&bench, &["--ioengine=io_uring", "--rw=read", "--bs=16k"]);
    assert!(!ok);
    assert!(bench.page().global(Global::UringRefused) > 0);
}

#[test]
fn without_a_setup_nothing_happens() {
    let bench = bench();
    let mut command = bench.command("fio");
    command
        .env_remove(device::SETUP_VARIABLE)
        .args(["--name=job", "--size=1m", "--rw=read", "--ioengine=psync"])
        .arg(format!("--filename={}", bench.file("x").display()))
        .current_dir(bench.directory.path());
    assert!(command.output().unwrap().status.success());
    bench.arm(false);
    assert_eq!(bench.page(), Snapshot::decode(&Snapshot::fresh()).unwrap());
}

#[test]
fn a_setup_that_cannot_be_used_ends_the_process() {
    let bench = bench();
    let mut command = bench.command("fio");
    command.arg("--version");
    std::fs::write(bench.directory.path().join("setup.toml"), "page = 1\n").unwrap();
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(4));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.starts_with("mydyno shim: "), "{errors}");

    drop(bench);
    let mut bench = Bench::new(&[Role::Data]);
    bench.setup.page = "/nowhere".to_owned();
    let output = bench.command("fio").arg("--version").output().unwrap();
    assert_eq!(output.status.code(), Some(4));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("the page /nowhere"), "{errors}");
}
