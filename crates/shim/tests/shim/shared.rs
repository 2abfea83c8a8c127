//! Processes that share a device: together they get what one of them gets alone.

use crate::common::{Aligned, Bench, open, slow, tell};
use device::page::{Global, Snapshot};
use device::{Role, SHARED_BYTES, Sharing};
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime};

const JOB: &str = "reads-of-a-slow-device";
/// So many requests pass the device of [`slow`] in a second, one after another.
const PER_S: u64 = 500;
const READS: u64 = 150;
/// Time of two requests: the first does not wait, and the clock is read in whole milliseconds.
const TOLERATED_MS: u64 = 2 * 1_000 / PER_S;
const GO: &str = "go";

/// Waits for the word to begin, and reads.
pub fn job(name: &str, files: &Path) -> bool {
    if name != JOB {
        return false;
    }
    let file = open(&files.join("t.ibd"), libc::O_DIRECT);
    let mut page = Box::new(Aligned([0; 65536]));
    while !files.join(GO).exists() {
        sleep(Duration::from_millis(1));
    }
    tell("began_ms", now_ms());
    for read in 0..READS {
        file.read_exact_at(&mut page.0[..4096], read * 4096).unwrap();
    }
    tell("ended_ms", now_ms());
    true
}

/// A clock that processes share.
fn now_ms() -> u64 {
    SystemTime::UNIX_EPOCH.elapsed().unwrap().as_millis() as u64
}

/// Milliseconds that `count` processes need together, from the first one's begin to the last one's
/// end.
fn elapsed_ms(count: u32) -> u64 {
    let mut bench = Bench::new(&[Role::Data]);
    bench.fill("t.ibd", READS as usize * 4096);
    bench.setup.devices[0].profile = slow();
    let path = |name: String| bench.directory.path().join(name);
    let memory = path("memory".to_owned());
    let file = File::create(&memory).unwrap();
    file.set_len(SHARED_BYTES as u64).unwrap();
    let pages: Vec<PathBuf> = (0..count).map(|n| path(format!("page{n}"))).collect();
    let mut children = Vec::new();
    for (process, page) in (0..).zip(&pages) {
        bench.setup.page = page.to_str().unwrap().to_owned();
        bench.setup.sharing =
            Some(Sharing { memory: memory.to_str().unwrap().to_owned(), process });
        fs::write(page, Snapshot::fresh()).unwrap();
        bench.arm(true);
        children.push(bench.spawn(JOB, &format!("setup{process}.toml")));
    }
    let is_there = |page: &PathBuf| {
        let page = Snapshot::decode(&fs::read(page).unwrap()).unwrap();
        page.global(Global::Process) != 0
    };
    let begun = Instant::now();
    // One that ends instead says why below.
    while !pages.iter().all(is_there) && begun.elapsed() < Duration::from_secs(10) {
        sleep(Duration::from_millis(5));
    }
    // Until they look for it.
    sleep(Duration::from_millis(300));
    fs::write(bench.file(GO), "").unwrap();
    let told: Vec<_> = children.into_iter().map(|child| child.told()).collect();
    let began_ms = told.iter().map(|told| told.get("began_ms")).min();
    let ended_ms = told.iter().map(|told| told.get("ended_ms")).max();
    ended_ms.unwrap() - began_ms.unwrap()
}

#[test]
fn two_processes_get_together_what_one_gets() {
    let one_ms = READS * 1_000 / PER_S;
    let alone = elapsed_ms(1);
    assert!(alone + TOLERATED_MS >= one_ms, "{alone} ms");
    // Each request of one is a request before the other's: none of them is faster for being in a
    // process of its own.
    let both = elapsed_ms(2);
    assert!(both + TOLERATED_MS >= 2 * one_ms, "{both} ms, alone {alone} ms");
    assert!(both < 20 * one_ms, "{both} ms");
}
