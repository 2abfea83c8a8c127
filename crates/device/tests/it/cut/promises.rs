//! Single promises, each in a history that a person can follow.

use super::history::{Act, Killed, Step, run};
use super::{PROTECTED, RING_WORDS, VOLATILE};
use device::cut::{CutImage, FileSystem, Journal, PowerLoss, WriteTraits};
use std::collections::BTreeSet;

/// Seeds among which every way to choose is found.
const SEEDS: u64 = 400;
const DIRECT: WriteTraits = WriteTraits { direct: true, through: false };
const BUFFERED: WriteTraits = WriteTraits { direct: false, through: false };

fn of(file: usize, act: Act) -> Step {
    Step { file, act, over_after: Some(0) }
}

fn page(number: u64, traits: WriteTraits) -> Act {
    Act::Write { at: number * 4096..(number + 1) * 4096, traits }
}

/// In how many images the byte of a file is not the one of the act.
fn losses(killed: &Killed, rules: PowerLoss, on: FileSystem, at: (&str, usize, u8)) -> usize {
    let (name, byte, wanted) = at;
    let images = (0..SEEDS).map(|seed| killed.cut(&[rules; 2], on, seed).0);
    images.filter(|image| image.get(name).is_none_or(|b| b.get(byte) != Some(&wanted))).count()
}

/// `fallocate` or `ftruncate`, flushed; then a write past the page cache.
#[test]
fn a_write_into_unwritten_space_is_lost_until_a_flush() {
    let grown = [of(0, Act::SetLength(16384)), of(0, Act::Flush), of(0, page(3, DIRECT))];
    let at = ("a", 3 * 4096, 3);
    for rules in [PROTECTED, VOLATILE] {
        let killed = run(&grown, rules, RING_WORDS);
        assert!(losses(&killed, rules, FileSystem::Ext4, at) > 0, "{rules:?}");
        // Whoever flushes the log, the space is filled; and what is written over it is safe.
        let flushed = [&grown[..], &[of(2, Act::Create), of(2, Act::Flush)]].concat();
        let killed = run(&flushed, rules, RING_WORDS);
        assert_eq!(losses(&killed, rules, FileSystem::Ext4, at), 0, "{rules:?}");
    }
    let again = [&grown[..], &[of(0, page(3, DIRECT))]].concat();
    let killed = run(&again, PROTECTED, RING_WORDS);
    let lost = losses(&killed, PROTECTED, FileSystem::Ext4, ("a", 3 * 4096, 4));
    assert!(lost > 0, "what is written over it is lost with it");
    // Space that was written is safe as it is.
    let killed = run(&[of(0, page(1, DIRECT))], PROTECTED, RING_WORDS);
    assert_eq!(losses(&killed, PROTECTED, FileSystem::Ext4, ("a", 4096, 1)), 0);
}

/// The end of a write through the page cache makes the file longer. It began while a write past the
/// page cache was filling space before it: the loss of that one says nothing of it, so that its
/// block comes as a whole with its length.
#[test]
fn what_began_while_space_was_filled_is_not_lost_with_it() {
    let of_file = |at, traits, over_after| {
        let act = Act::Write { at, traits };
        Step { file: 1, act, over_after: Some(over_after) }
    };
    let steps = [
        of_file(9728..10240, BUFFERED, 0),
        of_file(3584..4608, DIRECT, 1),
        of_file(9216..10752, BUFFERED, 0),
    ];
    let killed = run(&steps, PROTECTED, RING_WORDS);
    let mut seen = BTreeSet::new();
    for seed in 0..SEEDS {
        let (image, _) = killed.cut(&[PROTECTED; 2], FileSystem::Ext4, seed);
        let is_filled = image["b"].get(4096) == Some(&2);
        let kept = image["b"].iter().filter(|byte| **byte == 3).count();
        assert!([0, 1536].contains(&kept), "seed {seed} keeps {kept} bytes of 1536");
        seen.insert((is_filled, kept > 0));
    }
    assert_eq!(seen.len(), 4, "each is kept or lost without the other: {seen:?}");
}

/// A cache of two pages, to which four came: any of them may still be in it, but not three.
#[test]
fn a_cache_promises_no_order_and_has_a_size() {
    let rules = PowerLoss { volatile_bytes: 8192, ..VOLATILE };
    let long = [of(0, Act::SetLength(16384)), of(0, page(2, BUFFERED)), of(0, page(3, BUFFERED))];
    let pages = [0, 1, 2, 3].map(|number| of(0, page(number, DIRECT)));
    let steps = [&long[..], &[of(0, Act::Flush)], &pages].concat();
    let killed = run(&steps, rules, RING_WORDS);
    let first = losses(&killed, rules, FileSystem::Ext4, ("a", 0, 5));
    assert!(first > 0, "the oldest write is never lost");
    for seed in 0..SEEDS {
        let (image, _) = killed.cut(&[rules; 2], FileSystem::Ext4, seed);
        let lost = (0..16384).filter(|at| image["a"][*at] != 5 + (at / 4096) as u8).count();
        assert!(lost <= 8192, "seed {seed} loses {lost} bytes of a cache of 8192");
    }
}

#[test]
fn a_directory_is_flushed_on_its_own_device() {
    let steps = [of(0, page(0, DIRECT)), of(1, page(0, DIRECT)), of(0, Act::FlushDirectory)];
    let killed = run(&steps, VOLATILE, RING_WORDS);
    assert_eq!(losses(&killed, VOLATILE, FileSystem::Ext4, ("a", 0, 1)), 0);
    assert!(losses(&killed, VOLATILE, FileSystem::Ext4, ("b", 0, 2)) > 0);
}

/// A program that makes a new file, writes it and renames it over the old one, without a flush.
#[test]
fn a_rename_over_a_file_brings_its_data_on_ext4() {
    let steps = [of(2, Act::Create), of(2, page(0, BUFFERED)), of(2, Act::Rename { to: 0 })];
    let killed = run(&steps, VOLATILE, RING_WORDS);
    let empty = |on| {
        let images = (0..SEEDS).map(|seed| killed.cut(&[VOLATILE; 2], on, seed).0);
        images.filter(|image| image["a"].is_empty()).count()
    };
    assert_eq!(empty(FileSystem::Ext4), 0);
    assert!(empty(FileSystem::Xfs) > 0);
}

/// A lie of a drive that keeps its cache is none.
#[test]
fn flushes_lie_only_where_something_is_lost() {
    let steps = [of(0, page(0, BUFFERED)), of(0, Act::Flush)];
    for (rules, is_lost) in [(PROTECTED, false), (VOLATILE, true)] {
        let rules = PowerLoss { flush_lies: true, ..rules };
        let killed = run(&steps, rules, RING_WORDS);
        let lost = losses(&killed, rules, FileSystem::Ext4, ("a", 0, 1));
        assert_eq!(lost > 0, is_lost, "{rules:?}");
    }
}

/// What makes room in the ring and was promised is not counted; what was not is.
#[test]
fn only_what_was_not_promised_counts_as_forced() {
    let lies = PowerLoss { flush_lies: true, ..VOLATILE };
    let through = WriteTraits { direct: true, through: true };
    for (traits, rules, flush, grows, is_forced) in [
        (DIRECT, PROTECTED, false, false, false),
        (DIRECT, PROTECTED, false, true, true),
        (BUFFERED, PROTECTED, false, false, true),
        (DIRECT, VOLATILE, false, false, true),
        (DIRECT, VOLATILE, true, false, false),
        (DIRECT, lies, true, false, true),
        (through, VOLATILE, false, false, false),
        (through, lies, false, false, true),
    ] {
        // What makes a file longer replaces nothing, and its records are short.
        let rounds = if grows { 300 } else { 30 };
        let steps = (0..rounds).flat_map(|round| {
            let number = if grows { 2 + round } else { round % 2 };
            let flush = flush.then(|| of(2, Act::FlushDirectory));
            [of(0, page(number, traits))].into_iter().chain(flush)
        });
        let killed = run(&steps.collect::<Vec<_>>(), rules, 2200);
        let journal = Journal::decode(killed.journal).unwrap();
        let forced = journal.forced_writes > 0;
        assert_eq!(forced, is_forced, "{traits:?} {rules:?} {flush} {grows}");
        let image = CutImage::choose(&journal, &[rules; 2], FileSystem::Ext4, 1);
        assert!(image.counts.unstable_writes <= rounds);
    }
}

/// One image in eight has nothing that was not promised and one all of it; three in eight keep each
/// write as a whole or not at all, most of them.
#[test]
fn each_way_to_choose_comes_as_often_as_it_should() {
    const WRITES: u64 = 8;
    let pages =
        |number| of(0, Act::Write { at: number * 16384..(number + 1) * 16384, traits: DIRECT });
    // Over space that is safe: what makes a file longer may be lost with its length.
    let safe = (0..WRITES).map(pages).chain([of(0, Act::Flush)]);
    let steps: Vec<Step> = safe.chain((0..WRITES).map(pages)).collect();
    let killed = run(&steps, VOLATILE, RING_WORDS);
    let counts: Vec<_> = (0..SEEDS)
        .map(|seed| killed.cut(&[VOLATILE; 2], FileSystem::Ext4, seed).1.counts)
        .filter(|counts| counts.unstable_writes == WRITES)
        .collect();
    assert_eq!(counts.len() as u64, SEEDS);
    let lost = |some: fn(u64) -> bool| {
        counts.iter().filter(|of| of.torn_writes == 0 && some(of.lost_writes)).count()
    };
    for (images, expected) in [
        (lost(|writes| writes == 0), 30..100),
        (lost(|writes| writes == WRITES), 30..100),
        (lost(|writes| (1..WRITES).contains(&writes)), 25..120),
    ] {
        assert!(expected.contains(&images), "{images} of {SEEDS}");
    }
}
