//! Frames that no rank sends: each is a message or an error, and takes no more memory than frames
//! may.

use crate::frame::{FRAME_BYTES_MAX, HEAD_BYTES, Inbox, MARK, READ_BYTES, send};
use crate::messages::{
    Agreement, Introduction, RankAbout, RankShare, RankUsage, RunJob, RunOrder, ToFollower,
    ToLeader, Word,
};
use drive::{
    Arrivals, DrivenShare, FailedTries, Interval, Pace, Phase, PhaseOffsets, RunOptions, Times,
    TransactionInfo,
};
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::TestRunner;
use spec::Spacing;
use std::io::ErrorKind;
use std::time::Duration;

const TYPES: &[TransactionInfo] = &[TransactionInfo {
    name: "new_order",
    is_primary: true,
    is_deferred: false,
    share: 1.0,
    row_bytes: None,
}];

fn words() -> Vec<Word> {
    let mut interval = Interval::new(TYPES, Phase::Window, 0..1_000_000_000);
    (1..500).for_each(|at| interval.transactions[0].latency.record(at * 7_919));
    let mut share = DrivenShare::default();
    let tries = FailedTries { occurrences: 2, first_message: "Deadlock found".to_owned() };
    share.totals.failed_tries.insert(("new_order", "1213".to_owned()), tries);
    let mut times = Times::default();
    times.record_coarsely(2_000_000);
    share.breakdowns[0].statements.push(("lock_stock", times));
    let usage = RankUsage::default();
    let share = RankShare { share, usage, start_late_ns: 5, aborted: None };
    vec![
        Word::Opened { clock_error_ns: 3 },
        Word::Failed("rank".to_owned()),
        Word::Interval(Box::new(interval)),
        Word::Share(Box::new(share)),
    ]
}

fn introductions() -> [Introduction; 2] {
    let text = || "rank".to_owned();
    let agreement = Agreement { command: text(), key: text() };
    let about = RankAbout { host: text(), threads: 2 };
    [
        Introduction::Hello { version: text(), rank: 1, size: 2, nonce: [7; 32] },
        Introduction::Proof { proof: vec![1; 32], agreement, about },
    ]
}

fn orders() -> Vec<ToFollower> {
    let options = RunOptions {
        connections: 1,
        workers: 1,
        window: Duration::from_nanos(1),
        interval: Duration::from_nanos(1),
        pace: Pace::Arrivals(Arrivals::steady(5.0, Spacing::Uniform)),
        seed: 1,
        ..RunOptions::default()
    };
    let job = RunJob { options, input_seed: 1 };
    vec![
        ToFollower::Challenge([7; 32]),
        ToFollower::Welcome(vec![1; 32]),
        ToFollower::Refused("no".to_owned()),
        ToFollower::Order { order: 1, what: RunOrder::Run(Box::new(job)) },
        ToFollower::Phases(PhaseOffsets { warmup_end_ns: 1, window_end_ns: 2 }),
    ]
}

/// All messages, as they travel.
fn frames() -> Vec<Vec<u8>> {
    let mut frames = Vec::new();
    for introduction in introductions() {
        let mut frame = Vec::new();
        send(&mut frame, &introduction).unwrap();
        frames.push(frame);
    }
    for word in words() {
        let mut frame = Vec::new();
        send(&mut frame, &ToLeader { order: 1, word }).unwrap();
        frames.push(frame);
    }
    for order in orders() {
        let mut frame = Vec::new();
        send(&mut frame, &order).unwrap();
        frames.push(frame);
    }
    frames
}

/// What both sides make of these bytes.
fn received(bytes: &[u8], bytes_max: usize) -> Result<(), TestCaseError> {
    let (mut to_leader, mut to_follower) = (Inbox::default(), Inbox::default());
    let mut from = bytes;
    loop {
        let message = to_leader.receive::<ToLeader>(&mut from, bytes_max);
        prop_assert!(to_leader.bytes.len() <= HEAD_BYTES + bytes_max + READ_BYTES);
        match message {
            Ok(Some(ToLeader { word: Word::Interval(told), .. })) => {
                let _ = Interval { types: TYPES, ..*told }.is_consistent();
            }
            Ok(_) => {}
            Err(error) => break prop_assert!(is_of_frames(error.kind())),
        }
    }
    let mut from = bytes;
    loop {
        match to_follower.receive::<ToFollower>(&mut from, bytes_max) {
            Ok(Some(ToFollower::Order { what: RunOrder::Run(job), .. })) => {
                let _ = job.options.is_consistent();
            }
            Ok(_) => {}
            Err(error) => break prop_assert!(is_of_frames(error.kind())),
        }
    }
    let (mut from, mut introduced) = (bytes, Inbox::default());
    let error = loop {
        match introduced.receive::<Introduction>(&mut from, bytes_max) {
            Ok(_) => {}
            Err(error) => break error,
        }
    };
    prop_assert!(is_of_frames(error.kind()));
    Ok(())
}

fn is_of_frames(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::InvalidData | ErrorKind::UnexpectedEof)
}

fn framed(body: &[u8]) -> Vec<u8> {
    [&MARK[..], &(body.len() as u32).to_le_bytes(), body].concat()
}

fn tried(cases: u32) {
    let config = ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() };
    let mut runner = TestRunner::new(config);
    let frames = frames();
    let change = (any::<Index>(), prop_oneof![any::<u8>(), Just(0), Just(0x7f), Just(0xff)]);
    let changes = prop::collection::vec(change, 0..8);
    let changed = (any::<Index>(), changes, any::<bool>(), any::<Index>());
    let ran = runner.run(&changed, |(which, changes, keeps_head, end)| {
        let mut frame = frames[which.index(frames.len())].clone();
        let from = if keeps_head { HEAD_BYTES } else { 0 };
        for (at, by) in changes {
            let at = from + at.index(frame.len() - from);
            frame[at] = by;
        }
        received(&frame, FRAME_BYTES_MAX)?;
        frame.truncate(end.index(frame.len()));
        received(&frame, 64)
    });
    ran.unwrap();
    let bodies = prop::collection::vec(any::<u8>(), 0..120);
    runner.run(&bodies, |body| received(&framed(&body), FRAME_BYTES_MAX)).unwrap();
}

#[test]
fn any_bytes_are_a_message_or_an_error() {
    tried(2_000);
}

#[test]
#[ignore = "make soak"]
fn a_million_of_any_bytes_are_messages_or_errors() {
    tried(1_000_000);
}

/// Its head asks for counts that do not follow.
#[test]
fn a_histogram_takes_memory_by_its_bytes() {
    let share = |head: &[u8]| {
        let mut bytes = postcard::to_stdvec(&words().pop().unwrap()).unwrap();
        let at = bytes.windows(4).position(|of| of == [0x1c, 0x84, 0x93, 0x13]).unwrap();
        bytes[at..at + head.len()].copy_from_slice(head);
        postcard::from_bytes::<Word>(&bytes).is_ok()
    };
    assert!(share(&[0x1c]));
    assert!(!share(&[0x1c, 0x84, 0x93, 0x13, 0xff, 0xff, 0xff, 0xff]));
}
