//! Results files whose bytes are not what they were: an error in words or what is left of them, and
//! never a panic.

use crate::common::{interval, result, running};
use base::Random;
use std::path::Path;
use std::thread;
use store::{Phase, Results, StoreError};

const CASES: u64 = 2_000;
const CASES_OF_SOAK: u64 = 1_000_000;
const PAGE_BYTES: usize = 4096;

/// The bytes of a file with a measurement.
fn sound() -> Vec<u8> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("mydyno.db");
    let (results, _, _, repeat) = running(&path);
    results.put(repeat, &[interval(0, Phase::Window, &[1_000; 100])]).unwrap();
    results.finish_repeat(repeat, &result()).unwrap();
    drop(results);
    std::fs::read(path).unwrap()
}

/// Cuts the file off, changes some bytes, or puts two pages in each other's place.
fn damage(content: &mut Vec<u8>, random: &mut Random) {
    let mut below = |bound: usize| (random.bits() % bound as u64) as usize;
    match below(4) {
        0 => content.truncate(below(content.len())),
        1 => {
            let (one, other) =
                (below(content.len() / PAGE_BYTES), below(content.len() / PAGE_BYTES));
            for at in 0..PAGE_BYTES {
                content.swap(one * PAGE_BYTES + at, other * PAGE_BYTES + at);
            }
        }
        // The header of the file tells what all else is.
        2 => content[below(100)] = below(256) as u8,
        _ => {
            for _ in 0..=below(40) {
                let at = below(content.len());
                content[at] = below(256) as u8;
            }
        }
    }
}

/// Opens a file and reads what there is in it.
fn read(path: &Path) -> Result<(), StoreError> {
    let results = Results::open(path)?;
    for lab in results.labs()?.iter().take(3) {
        for cell in results.cells(lab.id)?.iter().take(3) {
            for repeat in results.repeats(cell.id)?.iter().take(3) {
                results.summary(repeat.id)?;
            }
        }
    }
    Ok(())
}

fn damages_end_in_order(cases: u64) {
    const THREADS: u64 = 2;
    let sound = sound();
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let sound = &sound;
            scope.spawn(move || {
                let directory = tempfile::tempdir().unwrap();
                let path = directory.path().join("mydyno.db");
                let mut readable = 0;
                for case in (0..cases).filter(|case| case % THREADS == thread) {
                    let mut content = sound.clone();
                    damage(&mut content, &mut Random::new(1, &[case]));
                    for left in ["mydyno.db-wal", "mydyno.db-shm"] {
                        let _ = std::fs::remove_file(directory.path().join(left));
                    }
                    std::fs::write(&path, content).unwrap();
                    match read(&path) {
                        Ok(()) => readable += 1,
                        Err(error) => assert!(!error.to_string().is_empty()),
                    }
                }
                // Both happen, else these are no cases.
                let of = cases / THREADS;
                assert!((of / 50..of - of / 50).contains(&readable), "{readable} of {of}");
            });
        }
    });
}

#[test]
fn damaged_files_end_in_order() {
    damages_end_in_order(CASES);
}

#[test]
#[ignore = "make soak"]
fn a_million_damaged_files_end_in_order() {
    damages_end_in_order(CASES_OF_SOAK);
}
