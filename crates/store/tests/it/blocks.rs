//! Blocks of a lab: a repeat belongs to the block in which it was measured.

use crate::common::{cell, lab};
use store::{Block, Canary, HostBefore, NewCell, Results};

#[test]
fn a_repeat_that_is_measured_again_is_in_a_later_block() {
    let directory = tempfile::tempdir().unwrap();
    let results = Results::create_or_open(&directory.path().join("mydyno.db")).unwrap();
    let lab = lab(&results);
    let cell = results.begin_cell(lab, &cell()).unwrap();
    let measure = |ordinal| {
        let repeat = testkit::begin(&results, cell, ordinal);
        results.repeat(repeat).unwrap()
    };
    // Outside of blocks, as `mydyno run` measures.
    assert_eq!(measure(1).block, 1);
    let facts = |cores: &str| [("cpu_cores".to_owned(), cores.to_owned())];
    let (here, other) = (facts("2"), facts("64"));
    let canary = Canary { cpu_ns: 10, memory_ns: 20, wake_up_latency_ns: 30 };
    assert_eq!(results.begin_block(lab, &here, Some(canary)).unwrap(), 2);
    assert_eq!(measure(2).block, 2);
    assert_eq!(results.begin_block(lab, &other, None).unwrap(), 3);
    let again = measure(1);
    assert_eq!((again.ordinal, again.attempt, again.block), (1, 2, 3));
    let blocks = results.get::<Block>(lab).unwrap();
    let canaries: Vec<_> = blocks.iter().map(|block| block.canary).collect();
    assert_eq!(canaries, [Some(canary), None]);
    let machines: Vec<u32> = blocks.iter().map(|block| block.machine).collect();
    assert_eq!(machines, [1, 2]);
    assert_eq!(results.host_facts(&again).unwrap(), other);
    assert_eq!(results.machines(lab).unwrap().len(), 2);
    let host = HostBefore { others_cpu_share: 0.25, steal_share: 0.0, disk_bytes_per_s: 1e6 };
    assert!(results.get::<HostBefore>(again.id).unwrap().is_empty());
    results.put(again.id, &[host]).unwrap();
    assert_eq!(results.get::<HostBefore>(again.id).unwrap(), [host]);
}

#[test]
fn what_the_user_ended_early_counts_where_a_cell_is_alone() {
    let scratch = testkit::Scratch::default();
    let counted = || {
        let cells = scratch.cells(scratch.lab).unwrap();
        scratch.counted_repeats(&cells[0]).unwrap()
    };
    let early = scratch.begin(&testkit::cell());
    testkit::measure(&scratch, early, 100);
    scratch.cut_repeat(early).unwrap();
    assert_eq!(counted(), [early]);
    let whole = testkit::begin(&scratch, scratch.repeat(early).unwrap().cell, 2);
    testkit::measure(&scratch, whole, 90);
    assert_eq!(counted(), [whole]);
    scratch.cut_repeat(whole).unwrap();
    assert_eq!(counted(), [early, whole]);
    // Numbers of shorter windows are held against nothing.
    scratch.begin_cell(scratch.lab, &NewCell { ordinal: 2, ..cell() }).unwrap();
    assert!(counted().is_empty());
}
