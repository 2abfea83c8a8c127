//! The journal's ring: what it holds, what it gives up, and what the death of a process leaves.

use super::history::{Act, Step, identity, run};
use super::{PROTECTED, VOLATILE};
use device::cut::{
    CutImage, EntryKind, FileSystem, Journal, JournalError, JournalRing, NewEntry, WriteTraits,
};
use proptest::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};

/// Seeds among which every way to choose is found.
const SEEDS: u64 = 64;
fn words(count: usize) -> Vec<AtomicU64> {
    (0..count).map(|_| AtomicU64::new(0)).collect()
}

fn decoded(words: &[AtomicU64]) -> Result<Journal, JournalError> {
    let bytes = words.iter().flat_map(|word| word.load(Ordering::SeqCst).to_ne_bytes());
    Journal::decode(bytes.collect())
}

fn write(bytes: u64) -> NewEntry<'static> {
    NewEntry {
        kind: EntryKind::Write,
        device: 0,
        traits: WriteTraits::default(),
        file: identity(0),
        place: 0,
        offset: 0,
        length: bytes,
        file_bytes: bytes,
        other: 0,
        names: [b"", b""],
    }
}

fn rounds(count: usize, with_flush: bool) -> Vec<Step> {
    let step = |act| Step { file: 0, act, over_after: Some(0) };
    let traits = WriteTraits::default();
    (0..count)
        .flat_map(|round| {
            let at = round as u64 % 8 * 1024;
            let flush = with_flush.then_some(Act::Flush);
            [Act::Write { at: at..at + 1024, traits }].into_iter().chain(flush)
        })
        .map(step)
        .collect()
}

#[test]
fn what_has_no_room_counts_as_written() {
    let killed = run(&rounds(30, false), VOLATILE, 2000);
    let journal = Journal::decode(killed.journal.clone()).unwrap();
    let held = journal.entries.len() as u64;
    assert!((4..30).contains(&held), "{held}");
    assert_eq!((journal.forced_writes, journal.forced_bytes), (30 - held, (30 - held) * 1024));
    // The least of all images: the last of each page that had no room is there.
    let images = (0..SEEDS).map(|seed| killed.cut(&[VOLATILE; 2], FileSystem::Ext4, seed));
    let least = images.max_by_key(|(_, image)| image.counts.lost_writes);
    let (contents, image) = least.unwrap();
    assert_eq!(image.counts.lost_writes, held);
    for page in 0..8_u64 {
        let last = (0..30 - held).rev().find(|round| round % 8 == page);
        let expected = last.map_or(200, |round| round as u8 + 1);
        assert_eq!(contents["a"][page as usize * 1024], expected, "{page}");
    }
}

#[test]
fn what_was_flushed_is_not_missed() {
    let killed = run(&rounds(30, true), VOLATILE, 2000);
    let journal = Journal::decode(killed.journal.clone()).unwrap();
    assert!(journal.entries.len() < 60);
    assert_eq!((journal.forced_writes, journal.unrecorded), (0, 0));
    for seed in 0..SEEDS {
        let (contents, image) = killed.cut(&[VOLATILE; 2], FileSystem::Ext4, seed);
        assert_eq!(contents, killed.files.contents());
        assert_eq!(image.counts.unstable_writes, 0);
    }
}

#[test]
fn records_that_are_not_ready_are_of_nothing() {
    let words = words(4000);
    assert_eq!(decoded(&words).unwrap_err(), JournalError::NoJournal);
    let ring = JournalRing::new(&words, 1, vec![VOLATILE]).unwrap();
    assert!(decoded(&words).unwrap().entries.is_empty());
    let reserved = ring.begin(&write(100)).unwrap();
    let refused = ring.begin(&write(0)).unwrap();
    ring.give_up(&refused, false);
    let ready = ring.begin(&write(8)).unwrap();
    ring.ready(&ready, 8);
    let journal = decoded(&words).unwrap();
    assert_eq!(journal.entries.len(), 1);
    assert_eq!(journal.entries[0].length, 8);
    assert_eq!(journal.entries[0].over, None);
    ring.ready(&reserved, 100);
    let over = ring.finish(&reserved);
    let journal = decoded(&words).unwrap();
    assert_eq!(journal.entries[0].over, Some(over));
    // What is longer than a quarter of the ring is not recorded, and told.
    assert!(ring.begin(&write(1 << 20)).is_none());
    assert_eq!(decoded(&words).unwrap().unrecorded, 1);
    let image = CutImage::choose(&journal, &[VOLATILE], FileSystem::Ext4, 1);
    assert_eq!(image.counts.unstable_writes, 2);
    // No process leaves this.
    words[64].store(0, Ordering::SeqCst);
    assert!(matches!(decoded(&words), Err(JournalError::Damaged { .. })));
}

#[test]
fn a_refused_write_that_made_room_leaves_what_took_it() {
    let words = words(64 + 900);
    let ring = JournalRing::new(&words, 1, vec![PROTECTED]).unwrap();
    let refused = ring.begin(&write(8)).unwrap();
    ring.ready(&refused, 8);
    for _ in 0..50 {
        let ticket = ring.begin(&write(1000)).unwrap();
        ring.ready(&ticket, 1000);
        ring.finish(&ticket);
    }
    let before = decoded(&words).unwrap().entries;
    ring.give_up(&refused, false);
    assert_eq!(decoded(&words).unwrap().entries, before);
}

proptest! {
    /// Whatever the lengths are, the ring has the last records, in their order and with their
    /// bytes.
    #[test]
    fn the_last_records_are_held(lengths in proptest::collection::vec(0_u64..1000, 1..200)) {
        let words = words(64 + 900);
        let ring = JournalRing::new(&words, 1, vec![PROTECTED]).unwrap();
        let mut made = Vec::new();
        for (number, length) in lengths.iter().enumerate() {
            let Some(ticket) = ring.begin(&write(*length)) else { continue };
            let value = u64::from_ne_bytes([number as u8; 8]);
            for word in ring.room(&ticket) {
                word.store(value, Ordering::SeqCst);
            }
            ring.ready(&ticket, *length);
            let over = ring.finish(&ticket);
            made.push((number as u8, *length, ticket.began, over));
        }
        let journal = decoded(&words).unwrap();
        let entries = &journal.entries;
        prop_assert!(entries.len() >= made.len().min(4), "{} of {}", entries.len(), made.len());
        let last = &made[made.len() - entries.len()..];
        for (entry, (number, length, began, over)) in entries.iter().zip(last) {
            prop_assert_eq!((entry.began, entry.over), (*began, Some(*over)));
            prop_assert_eq!(journal.replaced(entry), vec![*number; *length as usize]);
        }
    }
}
