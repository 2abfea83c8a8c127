//! Phases of automatic length over made-up intervals of a second.

use super::PhaseEnds;
use analyse::Awaited;
use base::Random;
use drive::{Control, Interval, Phase, RunReport};
use spec::{Length, Lengths};
use std::time::Duration;
use store::{Metric, MetricKind, MetricSource, RepeatResult, SampleBatch};
use tpcc::Transaction;

const S: u64 = 1_000_000_000;
const AUTO: Length = Length::auto(Duration::from_secs(600));

pub(crate) fn asked(warmup: Length, window: Length) -> Lengths {
    Lengths { warmup, window, ..Lengths::default() }
}

fn lengths(warmup: Length, window: Length) -> PhaseEnds {
    PhaseEnds::of(&asked(warmup, window), 0.0)
}

pub(crate) fn interval(phase: Phase, second: u64, new_orders: u64) -> Interval {
    let offsets_ns = second * S..(second + 1) * S;
    let mut interval = Interval::new(Transaction::TYPES, phase, offsets_ns);
    interval.transactions[0].committed = new_orders;
    interval
}

fn sample(second: u64, name: &str, value: i64) -> SampleBatch {
    let metric = Metric {
        source: MetricSource::Server,
        name: name.to_owned(),
        label: String::new(),
        kind: MetricKind::Gauge,
    };
    SampleBatch { at_offset_ns: second * S, values: vec![(metric, value)] }
}

/// Feeds seconds of a phase until it is ended; returns how many it took.
fn feed(
    lengths: &mut PhaseEnds,
    phase: Phase,
    seconds: std::ops::Range<u64>,
    of: impl Fn(u64) -> (u64, Option<i64>),
) -> Option<u64> {
    let start = seconds.start;
    for second in seconds {
        let (new_orders, dirty_pages) = of(second);
        if let Some(pages) = dirty_pages {
            lengths.sampled(&[sample(second, "buffer_pool_pages_dirty", pages)]);
            lengths.sampled(&[sample(second, "buffer_pool_pages_free", 100)]);
        }
        if lengths.take(&interval(phase, second, new_orders)) == Control::EndPhase(phase) {
            return Some(second + 1 - start);
        }
    }
    None
}

fn ended(window_s: u64) -> RunReport {
    RunReport { window_ns: window_s * S, ..RunReport::default() }
}

/// From 190 to 210 by chance.
fn noisy(second: u64) -> u64 {
    190 + u64::from(Random::new(second, &[1]).below(21))
}

/// The same, or half of it in a third of the seconds.
fn halting(second: u64) -> u64 {
    noisy(second) / (1 + u64::from(Random::new(second, &[2]).below(3) == 0))
}

#[test]
fn a_warm_up_ends_when_all_is_steady() {
    let mut lengths = lengths(AUTO, Length::fixed(Duration::from_secs(60)));
    let nothing = lengths.awaited(true, Duration::ZERO);
    assert!(matches!(nothing, Some(Awaited::Steadiness { of: None, .. })));
    // Throughput stands from the start, and dirty pages rise for a minute.
    let of = |second: u64| (200, Some(1_000 + 100 * second.min(60) as i64));
    assert_eq!(feed(&mut lengths, Phase::Warmup, 0..60, of), None);
    let of_dirty_pages = Some(Awaited::Steadiness {
        of: Some("dirty pages"),
        so_far: Duration::from_secs(60),
        most: AUTO.most,
    });
    assert_eq!(lengths.awaited(true, Duration::from_secs(60)), of_dirty_pages);
    assert!(lengths.may_end_early(true) && !lengths.may_end_early(false));
    let more = feed(&mut lengths, Phase::Warmup, 60..600, of).unwrap();
    assert!((5..120).contains(&more), "{more}");
    assert_eq!(lengths.awaited(false, Duration::ZERO), None);
    // The interval under way, whatever it shows, then the window, which has its time.
    let rest = 60 + more..61 + more;
    assert_eq!(feed(&mut lengths, Phase::Warmup, rest, |_| (0, None)), None);
    assert_eq!(feed(&mut lengths, Phase::Window, 200..260, |_| (200, None)), None);
    let notes = lengths.finish(&ended(60));
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(notes[0].contains("judged without the server's checkpoint age, which"), "{notes:?}");
    let result = lengths.complete(RepeatResult::default());
    assert_eq!(result.warmup_steady, Some(true));
    assert_eq!(result.window_precision_share, None);
}

#[test]
fn a_warm_up_that_is_never_steady_says_what_is_not() {
    let mut lengths = lengths(AUTO, Length::fixed(Duration::from_secs(60)));
    let of = |second: u64| (200, Some(100 * second as i64));
    assert_eq!(feed(&mut lengths, Phase::Warmup, 0..600, of), None);
    feed(&mut lengths, Phase::Window, 600..660, of);
    let notes = lengths.finish(&ended(60));
    assert_eq!(notes.len(), 2, "{notes:?}");
    // 30,000 of 45,000 pages, where a tenth is allowed.
    let words =
        "600 s, and the server was not steady: dirty pages changed over its later half by 6.";
    assert!(notes[0].contains(words), "{notes:?}");
    let result = lengths.complete(RepeatResult::default());
    assert_eq!(result.warmup_steady, Some(false));
}

#[test]
fn a_warm_up_waits_for_the_flash_below_the_data() {
    let unsettled = |second: u64, role: &str, servers| {
        let mut batch = sample(second, "unsettled", servers);
        batch.values[0].0 = Metric {
            source: MetricSource::Shim,
            label: role.to_owned(),
            ..batch.values[0].0.clone()
        };
        batch
    };
    let mut lengths = lengths(AUTO, Length::fixed(Duration::from_secs(60)));
    let of = |_| (200, None);
    // A log that is written in sequence leaves its device as it is.
    lengths.sampled(&[unsettled(0, "redo", 2), unsettled(0, "data", 2)]);
    assert_eq!(feed(&mut lengths, Phase::Warmup, 0..300, of), None);
    let awaited = lengths.awaited(true, Duration::from_secs(300));
    let of_flash = Some("write amplification of the flash");
    assert!(matches!(awaited, Some(Awaited::Steadiness { of, .. }) if of == of_flash));
    let words = ": the flash below its data does not copy yet what it will after long writing";
    assert_eq!(lengths.why_unsteady(), words);
    lengths.sampled(&[unsettled(300, "redo", 2), unsettled(300, "data", 0)]);
    let took = feed(&mut lengths, Phase::Warmup, 300..600, of);
    assert!(took.is_some_and(|took| took < 10), "{took:?}");
}

#[test]
fn throughput_alone_is_enough_and_is_told() {
    let fixed = Length::fixed(Duration::from_secs(60));
    let mut silent = lengths(AUTO, fixed);
    let took = feed(&mut silent, Phase::Warmup, 0..600, |second| (noisy(second), None));
    assert!(took.is_some_and(|took| (30..200).contains(&took)), "{took:?}");
    feed(&mut silent, Phase::Window, 200..260, |_| (200, None));
    let notes = silent.finish(&ended(60));
    let words = "judged without the server's dirty pages and checkpoint age and free pages, which";
    assert!(notes[0].contains(words), "{notes:?}");
    // A gauge that is not read any more holds the end up until it is gone.
    let mut lost = lengths(AUTO, fixed);
    let of = |second: u64| (200, (second < 20).then_some(1_000));
    assert_eq!(feed(&mut lost, Phase::Warmup, 0..40, of), None);
    assert_eq!(
        lost.awaited(true, Duration::ZERO),
        Some(Awaited::Steadiness {
            of: Some("dirty pages"),
            so_far: Duration::ZERO,
            most: AUTO.most,
        })
    );
    // Last read after 19 s, and gone more than 40 s after that.
    assert_eq!(feed(&mut lost, Phase::Warmup, 40..600, of), Some(20));
    feed(&mut lost, Phase::Window, 60..120, |_| (200, None));
    assert!(lost.finish(&ended(60))[0].contains(words));
    // One that comes late holds it up for as long again.
    let mut late = lengths(AUTO, fixed);
    let of = |second: u64| (200, (second >= 25).then_some(1_000));
    assert_eq!(feed(&mut late, Phase::Warmup, 0..600, of), Some(49));
}

#[test]
fn a_window_ends_when_its_mean_is_known() {
    let fixed = Length::fixed(Duration::ZERO);
    let long = Length::auto(Duration::from_secs(3_600));
    let mut lengths = lengths(fixed, long);
    assert_eq!(
        lengths.awaited(false, Duration::from_secs(40)),
        Some(Awaited::Precision {
            asked_share: 0.02,
            reached_share: None,
            so_far: Duration::from_secs(40),
            about: None,
            most: long.most,
        })
    );
    let of = |second: u64| (halting(second), None);
    assert_eq!(feed(&mut lengths, Phase::Window, 0..40, of), None);
    let Some(Awaited::Precision { reached_share: Some(reached), about: Some(about), .. }) =
        lengths.awaited(false, Duration::from_secs(40))
    else {
        panic!("{:?}", lengths.awaited(false, Duration::from_secs(40)));
    };
    assert!((0.02..0.3).contains(&reached), "{reached}");
    assert!(about > Duration::from_secs(40) && about < long.most);
    let more = feed(&mut lengths, Phase::Window, 40..4_000, of);
    assert!(more.is_some(), "{:?}", lengths.awaited(false, Duration::from_secs(40)));
    assert_eq!(lengths.finish(&ended(900)), Vec::<String>::new());
    let result = lengths.complete(RepeatResult::default());
    assert!(result.window_precision_share.unwrap() <= 0.02);
    assert_eq!(result.warmup_steady, None);
}

#[test]
fn a_window_that_ends_before_says_what_it_reached() {
    let fixed = Length::fixed(Duration::ZERO);
    let of = |second: u64| (halting(second), None);
    let reached = |report: RunReport| {
        let mut lengths = lengths(fixed, AUTO);
        feed(&mut lengths, Phase::Window, 0..50, of);
        let notes = lengths.finish(&report);
        let result = lengths.complete(RepeatResult::default());
        assert!(result.window_precision_share.unwrap() > 0.02);
        notes
    };
    let notes = reached(ended(600));
    assert_eq!(notes.len(), 1);
    assert!(
        notes[0].contains("600 s, and its mean is known to ± ")
            && notes[0].contains("where ± 2 % was asked for"),
        "{notes:?}"
    );
    // Who interrupts a run knows why.
    assert_eq!(reached(ended(50)), Vec::<String>::new());
}

#[test]
fn a_piece_of_an_interval_says_nothing() {
    let mut lengths = lengths(Length::fixed(Duration::ZERO), AUTO);
    feed(&mut lengths, Phase::Window, 0..179, |_| (200, None));
    let piece = Interval { end_offset_ns: 179 * S + S / 10, ..interval(Phase::Window, 179, 0) };
    assert_eq!(lengths.take(&piece), Control::Continue);
    let last = interval(Phase::Window, 180, 200);
    assert_eq!(lengths.take(&last), Control::EndPhase(Phase::Window));
}

#[test]
fn what_a_window_ended_by_stays() {
    let mut lengths = lengths(Length::fixed(Duration::ZERO), AUTO);
    let took = feed(&mut lengths, Phase::Window, 0..600, |second| (noisy(second), None));
    let took = took.unwrap();
    let before = lengths.complete(RepeatResult::default());
    // The interval under way is one of a stall: the figure knows it, and nobody asked for more
    // time.
    let rest = took..took + 1;
    assert_eq!(feed(&mut lengths, Phase::Window, rest, |_| (0, None)), None);
    assert_eq!(lengths.finish(&ended(600)), Vec::<String>::new());
    let result = lengths.complete(RepeatResult::default());
    let [before, after] = [before, result].map(|of| of.window_precision_share);
    assert!(after.unwrap() > before.unwrap(), "{before:?} {after:?}");
}

#[test]
fn a_stalled_server_is_not_steady() {
    let mut lengths = lengths(AUTO, Length::fixed(Duration::from_secs(60)));
    let of = |second: u64| (if second < 20 { 200 } else { 0 }, Some(1_000));
    assert_eq!(feed(&mut lengths, Phase::Warmup, 0..600, of), None);
    feed(&mut lengths, Phase::Window, 600..660, of);
    let notes = lengths.finish(&ended(60));
    assert!(notes[0].contains("was not steady: throughput was 0;"), "{notes:?}");
}

#[test]
fn short_intervals_do_not_end_a_warm_up_before_30_s() {
    let mut lengths = lengths(AUTO, Length::fixed(Duration::from_secs(60)));
    lengths.lengths.interval = Duration::from_millis(100);
    let tenth = |index: u64| Interval {
        start_offset_ns: index * S / 10,
        end_offset_ns: (index + 1) * S / 10,
        ..interval(Phase::Warmup, 0, 20)
    };
    let took = (0..6_000).find(|index| lengths.take(&tenth(*index)) != Control::Continue);
    assert!(took.is_some_and(|index| (299..303).contains(&index)), "{took:?}");
}
