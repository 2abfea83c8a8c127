//! A process that is killed, and the power of its device with it: what it had flushed is there.

use crate::common::{Aligned, Bench, open};
use crate::libaio::{Context, Event, block};
use device::page::Snapshot;
use device::{JournalSetup, Profile, Role, RoleSetup, builtin};
use std::fs::{self, File};
use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};
use storage::{PowerCut, cut_power};

const PAGE: usize = 16384;
/// Pages of the file that is written over and over.
const SLOTS: u64 = 32;
/// Every so many rounds, a file takes the name of another one.
const RENAME_EVERY: u64 = 4;
const NAMES: u64 = 3;
const ROUNDS: u64 = 24;
/// Pages of a file that is written once.
const SPACE_PAGES: u64 = 4096;
/// Ends a writer that nobody kills.
const TIME_MAX: Duration = Duration::from_secs(30);
const AIO_WRITE: u16 = 1;

pub fn job(name: &str, files: &Path) -> bool {
    match name {
        "flush direct" => write(files, libc::O_DIRECT, false),
        "flush buffered" => write(files, 0, false),
        "flush asynchronous" => write(files, libc::O_DIRECT, true),
        "write through" => write(files, libc::O_DIRECT | libc::O_DSYNC, false),
        "fill" => fill(files),
        "flush the directory" => flush_the_directory(files),
        _ => return false,
    }
    true
}

/// Writes rounds for ever: a page, an entry of a log, and now and then a file that replaces
/// another. Each round is flushed, and only then told.
fn write(files: &Path, flags: i32, asynchronously: bool) {
    let data = open(&files.join("t.ibd"), flags);
    let mut log = open(&files.join("log"), libc::O_APPEND);
    let told = open(&files.with_file_name("told"), 0);
    let mut page = Box::new(Aligned([0; 65536]));
    let context = Context::new();
    let mut events = [Event::default(); 1];
    let began = Instant::now();
    for round in 1_u64.. {
        for bytes in page.0[..PAGE].chunks_exact_mut(8) {
            bytes.copy_from_slice(&round.to_le_bytes());
        }
        let at = round % SLOTS * PAGE as u64;
        if asynchronously {
            let bytes = (page.0.as_ptr(), PAGE as u64);
            let mut blocks = [block(&data, AIO_WRITE, bytes, at)];
            assert_eq!(context.submit(&mut blocks), 1);
            assert_eq!(context.get(1, &mut events, None), 1);
        } else {
            data.write_all_at(&page.0[..PAGE], at).unwrap();
        }
        log.write_all(&round.to_le_bytes()).unwrap();
        if flags & libc::O_DSYNC == 0 {
            data.sync_data().unwrap();
        }
        log.sync_data().unwrap();
        if round.is_multiple_of(RENAME_EVERY) {
            replace(files, round);
        }
        told.write_all_at(&round.to_le_bytes(), 0).unwrap();
        if began.elapsed() > TIME_MAX {
            return;
        }
    }
}

fn replace(files: &Path, round: u64) {
    let new = files.join(format!("new{round}"));
    let mut file = File::create(&new).unwrap();
    file.write_all(&round.to_le_bytes()).unwrap();
    file.sync_all().unwrap();
    drop(file);
    fs::rename(&new, files.join(name_of(round))).unwrap();
    File::open(files).unwrap().sync_all().unwrap();
}

/// Writes pages one after the other past the page cache, each followed by `then`, and tells each.
fn write_pages(files: &Path, data: &File, then: impl Fn()) {
    let told = open(&files.with_file_name("told"), 0);
    let mut page = Box::new(Aligned([0; 65536]));
    let began = Instant::now();
    for round in 1..SPACE_PAGES {
        for bytes in page.0[..PAGE].chunks_exact_mut(8) {
            bytes.copy_from_slice(&round.to_le_bytes());
        }
        data.write_all_at(&page.0[..PAGE], round * PAGE as u64).unwrap();
        then();
        told.write_all_at(&round.to_le_bytes(), 0).unwrap();
        if began.elapsed() > TIME_MAX {
            return;
        }
    }
    std::thread::sleep(TIME_MAX);
}

/// Writes into space that was allocated and never written, without a flush.
fn fill(files: &Path) {
    let data = open(&files.join("t.ibd"), libc::O_DIRECT);
    let bytes = SPACE_PAGES * PAGE as u64;
    // SAFETY: the descriptor is the file's.
    assert_eq!(unsafe { libc::posix_fallocate(data.as_raw_fd(), 0, bytes as i64) }, 0);
    data.sync_all().unwrap();
    write_pages(files, &data, || {});
}

/// Writes a log, and flushes the directory in which it is, which is on another device.
fn flush_the_directory(files: &Path) {
    let log = open(&files.join("ib_logfile0"), libc::O_DIRECT);
    log.set_len(SPACE_PAGES * PAGE as u64).unwrap();
    log.sync_all().unwrap();
    let directory = File::open(files).unwrap();
    write_pages(files, &log, || directory.sync_all().unwrap());
}

/// How many of the pages that were told are not there.
fn missing_pages(file: &Path, told: u64) -> usize {
    let data = fs::read(file).unwrap_or_default();
    let is_there = |round: u64| {
        let page = data.get(round as usize * PAGE..(round as usize + 1) * PAGE);
        page.is_some_and(|page| page.chunks_exact(8).all(|bytes| bytes == round.to_le_bytes()))
    };
    (1..=told).filter(|round| !is_there(*round)).count()
}

fn name_of(round: u64) -> String {
    format!("name{}", round / RENAME_EVERY % NAMES)
}

/// What is missing of what was told; what came after that may be there or not.
fn missing(files: &Path, told: u64) -> Vec<String> {
    let mut missing = Vec::new();
    let log = fs::read(files.join("log")).unwrap_or_default();
    let entries: Vec<u64> =
        log.chunks_exact(8).map(|bytes| u64::from_le_bytes(bytes.try_into().unwrap())).collect();
    for round in 1..=told {
        if entries.get(round as usize - 1) != Some(&round) {
            missing.push(format!("entry {round} of the log"));
        }
    }
    let data = fs::read(files.join("t.ibd")).unwrap_or_default();
    for round in told.saturating_sub(SLOTS - 2).max(1)..=told {
        let begin = (round % SLOTS) as usize * PAGE;
        let page = data.get(begin..begin + PAGE).unwrap_or_default();
        let is_whole = page.chunks_exact(8).all(|bytes| bytes == round.to_le_bytes());
        if page.is_empty() || !is_whole {
            missing.push(format!("page {round}"));
        }
    }
    let last = told / RENAME_EVERY * RENAME_EVERY;
    for back in 0..NAMES {
        let Some(round) = last.checked_sub(back * RENAME_EVERY).filter(|round| *round > 0) else {
            continue;
        };
        let content = fs::read(files.join(name_of(round))).unwrap_or_default();
        let newer = round + RENAME_EVERY * NAMES;
        if content != round.to_le_bytes() && content != newer.to_le_bytes() {
            missing.push(format!("file {round}"));
        }
    }
    missing
}

/// The profile of a device, with its flushes lying or not.
fn profile(name: &str, lies: bool) -> Profile {
    let mut profile = builtin(name).unwrap();
    if let Some(solid_state) = &mut profile.solid_state {
        solid_state.flush_lies = Some(lies);
    }
    profile
}

/// Kills a writer at some moment and cuts the power of its device; what was told and is missing.
fn kill_and_cut(bench: &Bench, job: &str, seed: u64) -> (Vec<String>, PowerCut) {
    let (told, cut) = kill_and_cut_at(bench, job, seed);
    (missing(&bench.directory.path().join("files"), told), cut)
}

/// Returns how much the writer had told.
fn kill_and_cut_at(bench: &Bench, job: &str, seed: u64) -> (u64, PowerCut) {
    let directory = bench.directory.path();
    let files = directory.join("files");
    for old in [&files, &directory.join("files.removed")] {
        let _ = fs::remove_dir_all(old);
    }
    fs::create_dir(&files).unwrap();
    fs::write(&bench.setup.page, Snapshot::fresh()).unwrap();
    // Every other one waits for its device.
    bench.arm(seed.is_multiple_of(2));
    let told = directory.join("told");
    let _ = fs::remove_file(&told);
    let writer = bench.spawn(job, "shim.toml");
    let number = || {
        let bytes = fs::read(&told).unwrap_or_default();
        bytes.try_into().map_or(0, u64::from_le_bytes)
    };
    let began = Instant::now();
    while number() < 20 + seed % 13 {
        assert!(began.elapsed() < TIME_MAX, "{job} does not begin");
        std::thread::sleep(Duration::from_micros(100));
    }
    std::thread::sleep(Duration::from_micros(seed * 7919 % 20_000));
    writer.kill();
    let cut = cut_power(directory, seed).unwrap();
    assert_eq!(fs::read_dir(directory.join("files.removed")).unwrap().count(), 0);
    (number(), cut)
}

fn bench(device: &str, lies: bool) -> Bench {
    let mut bench = Bench::new(&[Role::Data]);
    bench.setup.devices[0].profile = profile(device, lies);
    let file = bench.directory.path().join("journal").to_str().unwrap().to_owned();
    bench.setup.journal = Some(JournalSetup { file, ring_bytes: 32 << 20 });
    bench
}

fn nothing_told_is_lost(device: &str) {
    let bench = bench(device, false);
    let mut lost = 0;
    for job in ["flush direct", "flush buffered", "flush asynchronous", "write through"] {
        for seed in 0..ROUNDS {
            let (missing, cut) = kill_and_cut(&bench, job, seed);
            assert!(missing.is_empty(), "{job}, seed {seed}: {missing:?} {cut:?}");
            assert_eq!((cut.forced_writes, cut.unrecorded), (0, 0));
            let counts = cut.counts;
            lost += counts.lost_writes + counts.torn_writes + counts.lost_names;
        }
    }
    // A power cut that takes nothing shows nothing.
    assert!(lost > 0);
}

#[test]
fn what_was_flushed_survives_on_a_volatile_cache() {
    nothing_told_is_lost("sata-850pro");
}

#[test]
fn what_was_flushed_survives_on_a_protected_cache() {
    nothing_told_is_lost("nvme-pm1725");
}

/// A drive that keeps all that it has keeps no page in space that was never written: that it is
/// written now is in a log, which nobody has flushed.
#[test]
fn unwritten_space_is_lost_without_a_flush() {
    let bench = bench("nvme-pm1725", false);
    let file = bench.file("t.ibd");
    let cuts = (0..ROUNDS).map(|seed| {
        let (told, _) = kill_and_cut_at(&bench, "fill", seed);
        assert_eq!(fs::metadata(&file).unwrap().len(), SPACE_PAGES * PAGE as u64);
        missing_pages(&file, told)
    });
    let losses = cuts.filter(|missing| *missing > 1).count();
    assert!(losses > 4, "{losses} of {ROUNDS} cuts lost pages");
}

/// The flush of a directory empties no cache of another device, whatever else is in it.
#[test]
fn a_directory_is_on_one_device() {
    let mut bench = bench("sata-850pro", false);
    bench.setup.devices.push(bench.setup.devices[0].clone());
    bench.setup.roles.push(RoleSetup { role: Role::Redo, device: 1 });
    let file = bench.file("ib_logfile0");
    let cuts = (0..ROUNDS).map(|seed| {
        let (told, _) = kill_and_cut_at(&bench, "flush the directory", seed);
        missing_pages(&file, told)
    });
    let losses = cuts.filter(|missing| *missing > 1).count();
    assert!(losses > 4, "{losses} of {ROUNDS} cuts lost pages");
}

#[test]
fn flushes_that_lie_lose() {
    let bench = bench("sata-850pro", true);
    for job in ["flush direct", "flush buffered"] {
        let cuts = (0..ROUNDS).map(|seed| kill_and_cut(&bench, job, seed));
        let losses = cuts.filter(|(missing, _)| !missing.is_empty()).count();
        assert!(losses > 4, "{job}: {losses} of {ROUNDS} cuts lost something");
    }
}

#[test]
fn who_was_not_asked_has_no_journal() {
    let mut bench = bench("sata-850pro", false);
    bench.setup.journal = None;
    let writer = bench.spawn("flush direct", "shim.toml");
    std::thread::sleep(Duration::from_millis(200));
    writer.kill();
    let error = cut_power(bench.directory.path(), 1).unwrap_err().to_string();
    assert!(error.contains("without a journal"), "{error}");
    assert!(!bench.directory.path().join("files.removed").exists());
}
