//! The clock of the observers, with sources that are quick, slow, failing and stuck.

use base::Instant;
use observe::{ObserveError, Readings, SampleSource, Sampled, Sampler};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use store::MetricSource;

const NAP: Duration = Duration::from_millis(10);
/// Longest time for what comes by itself: far more than a busy machine needs.
const PATIENCE: Duration = Duration::from_secs(600);

/// How late threads are for their times on this machine while a test runs, seen by one that has
/// nothing else to do.
struct Lateness {
    is_over: Arc<AtomicBool>,
    watcher: JoinHandle<Duration>,
}

impl Lateness {
    fn watch() -> Lateness {
        let is_over = Arc::new(AtomicBool::new(false));
        let ends = Arc::clone(&is_over);
        let watcher = thread::spawn(move || {
            let mut worst = Duration::ZERO;
            while !ends.load(Ordering::Relaxed) {
                let begin = Instant::now();
                thread::sleep(NAP);
                worst = worst.max(begin.elapsed() - NAP);
            }
            worst
        });
        Lateness { is_over, watcher }
    }

    /// What another thread may have been late by: it had more to do.
    fn allowed(self) -> Duration {
        self.is_over.store(true, Ordering::Relaxed);
        Duration::from_millis(100) + 4 * self.watcher.join().unwrap()
    }
}

/// A source that gives the number of its reading, or what `read` makes of it.
struct Fake<F> {
    title: &'static str,
    readings: i64,
    read: F,
}

fn fake<F>(title: &'static str, read: F) -> Box<dyn SampleSource>
where
    F: FnMut(i64, &AtomicBool) -> Result<(), ObserveError> + Send + 'static,
{
    Box::new(Fake { title, readings: 0, read })
}

impl<F> SampleSource for Fake<F>
where
    F: FnMut(i64, &AtomicBool) -> Result<(), ObserveError> + Send,
{
    fn title(&self) -> &'static str {
        self.title
    }

    fn read(&mut self, into: &mut Readings, stop: &AtomicBool) -> Result<(), ObserveError> {
        let number = self.readings;
        self.readings += 1;
        (self.read)(number, stop)?;
        into.counter(MetricSource::Server, self.title, "", number);
        Ok(())
    }
}

fn failure(number: i64) -> ObserveError {
    ObserveError::Form { path: PathBuf::from("/proc/fake"), what: format!("reading {number}") }
}

/// Takes `time` unless it is stopped.
fn sleep(time: Duration, stop: &AtomicBool) {
    let begin = Instant::now();
    while begin.elapsed() < time && !stop.load(Ordering::Relaxed) {
        thread::sleep(NAP.min(time.saturating_sub(begin.elapsed())));
    }
}

/// (time, reading's number) of the batches of the source `title`.
fn batches(sampled: &[Sampled], title: &str) -> Vec<(Duration, i64)> {
    let of_title = sampled.iter().filter_map(|sampled| match sampled {
        Sampled::Batch(batch) => {
            let (metric, number) = batch.values.first()?;
            let at = Duration::from_nanos(batch.at_offset_ns);
            (metric.name == title).then_some((at, *number))
        }
        _ => None,
    });
    of_title.collect()
}

fn assert_at(what: &str, at: Duration, expected: Duration, late_max: Duration) {
    assert!(
        at >= expected && at <= expected + late_max,
        "{what} came at {at:?}, expected at {expected:?}"
    );
}

#[test]
fn a_slow_source_delays_no_other() {
    let period = Duration::from_millis(500);
    let slow_reading = Duration::from_millis(2500);
    let sources = vec![
        fake("quick", |_, _| Ok(())),
        fake("slow", move |number, stop| {
            if number == 1 {
                sleep(slow_reading, stop);
            }
            Ok(())
        }),
    ];
    let lateness = Lateness::watch();
    let start = Instant::now();
    let mut sampler = Sampler::start(sources, start, period).unwrap();
    thread::sleep(Duration::from_millis(1700));
    let mut sampled = sampler.take();
    assert!(!sampled.is_empty(), "nothing came while it ran");
    thread::sleep(Duration::from_millis(4200).saturating_sub(start.elapsed()));
    sampled.extend(sampler.stop());
    let lost = |sampled: &Sampled| matches!(sampled, Sampled::Lost { .. });
    assert!(!sampled.iter().any(lost), "{sampled:?}");
    let late = lateness.allowed();

    let quick = batches(&sampled, "quick");
    assert!(quick.len() >= 9, "{quick:?}");
    // What is left out came while this thread was late to end it.
    for (round, (at, number)) in (0..).zip(quick).take(9) {
        assert_eq!(number, i64::from(round));
        assert_at("the quick source", at, period * round, late);
    }
    let slow = batches(&sampled, "slow");
    let times: Vec<Duration> = slow.iter().map(|(at, _)| *at).collect();
    assert_at("the first reading", times[0], Duration::ZERO, late);
    // It began with the first period and took five. What it missed is a gap, not a crowd of
    // readings afterwards.
    assert_at("the slow reading", times[1], period + slow_reading, late);
    let next = period + slow_reading + period;
    assert_at("the next one", times[2], next, late);
    assert_at("the one after", times[3], next + period, late);
    assert!((4..6).contains(&slow.len()), "{slow:?}");
}

/// In words, of one source.
fn events(sampled: &[Sampled], title: &str) -> Vec<String> {
    let of_title = sampled.iter().filter_map(|sampled| match sampled {
        Sampled::Batch(batch) => {
            let (metric, number) = batch.values.first()?;
            (metric.name == title).then(|| format!("read {number}"))
        }
        Sampled::Lost { source, reason, .. } => {
            let (_, after) = reason.split_once("reading ").unwrap();
            let number = after.split(';').next().unwrap();
            (*source == title).then(|| format!("lost at {number}"))
        }
        Sampled::Back { source, .. } => (*source == title).then(|| "back".to_owned()),
        Sampled::LostInAll { source, times, .. } => {
            (*source == title).then(|| format!("lost {times} times"))
        }
    });
    of_title.collect()
}

#[test]
fn the_first_loss_and_return_are_told_and_all_at_the_end() {
    let fails = |number| (2..5).contains(&number) || number == 6;
    let sources = vec![
        fake("failing", move |number, _| {
            if fails(number) {
                return Err(failure(number));
            }
            Ok(())
        }),
        fake("never", |number, _| Err(failure(number))),
    ];
    let mut sampler = Sampler::start(sources, Instant::now(), Duration::from_millis(20)).unwrap();
    let mut sampled = Vec::new();
    let deadline = Instant::now() + PATIENCE;
    while batches(&sampled, "failing").len() < 6 {
        assert!(Instant::now() < deadline, "{sampled:?}");
        thread::sleep(NAP);
        sampled.extend(sampler.take());
    }
    sampled.extend(sampler.stop());
    let mut failing = events(&sampled, "failing");
    assert_eq!(failing.pop().unwrap(), "lost 2 times");
    let expected =
        ["read 0", "read 1", "lost at 2", "back", "read 5", "read 7", "read 8", "read 9"];
    assert_eq!(failing[..expected.len()], expected);
    assert!(failing[expected.len()..].iter().all(|event| event.starts_with("read")));
    assert_eq!(events(&sampled, "never"), ["lost at 0", "lost 1 times"]);
}

#[test]
fn a_source_that_flaps_is_told_three_times() {
    let flapping = fake("flapping", |number, _| {
        if number % 2 == 0 {
            return Err(failure(number));
        }
        Ok(())
    });
    let period = Duration::from_millis(5);
    let start = Instant::now();
    let mut sampler = Sampler::start(vec![flapping], start, period).unwrap();
    thread::sleep(period * 40);
    let sampled = sampler.stop();
    let whole = start.elapsed();
    let mut told = events(&sampled, "flapping");
    told.retain(|event| !event.starts_with("read"));
    assert_eq!(told[..2], ["lost at 0", "back"]);
    assert_eq!(told.len(), 3, "{told:?}");
    let Some(Sampled::LostInAll { times, lost_ns, .. }) = sampled.last() else {
        panic!("{sampled:?}");
    };
    // Half of the time, in as many gaps as there were readings.
    let readings = batches(&sampled, "flapping").len() as u64;
    assert!(*times >= 5 && times.abs_diff(readings) <= 1, "{times} {readings}");
    let lost = Duration::from_nanos(*lost_ns);
    assert!(lost > whole / 4 && lost < whole * 9 / 10, "{lost:?} of {whole:?}");
}

#[test]
fn an_observer_that_panics_is_a_loss() {
    let period = Duration::from_millis(20);
    let panics = fake("panics", |number, _| {
        assert!(number < 2, "reading {number}");
        Ok(())
    });
    let sources = vec![panics, fake("sound", |_, _| Ok(()))];
    let mut sampler = Sampler::start(sources, Instant::now(), period).unwrap();
    // It is told while the others go on, not at the end.
    let mut sampled = Vec::new();
    let deadline = Instant::now() + PATIENCE;
    while events(&sampled, "panics").len() < 3 {
        assert!(Instant::now() < deadline, "{sampled:?}");
        thread::sleep(NAP);
        sampled.extend(sampler.take());
    }
    let expected = ["read 0", "read 1", "lost at 2"];
    assert_eq!(events(&sampled, "panics"), expected);
    sampled.extend(sampler.stop());
    assert_eq!(events(&sampled, "panics").last().unwrap(), "lost 1 times");
    assert!(batches(&sampled, "sound").len() >= 3);
    let reason = sampled.iter().find_map(|sampled| match sampled {
        Sampled::Lost { reason, .. } => Some(reason.as_str()),
        _ => None,
    });
    assert_eq!(
        reason.unwrap(),
        "the observer panicked: reading 2; please report it, with what stands on stderr"
    );
}

#[test]
fn losses_have_their_time() {
    let period = Duration::from_millis(200);
    let failing = fake("failing", |number, _| {
        if number >= 2 {
            return Err(failure(number));
        }
        Ok(())
    });
    let lateness = Lateness::watch();
    let mut sampler = Sampler::start(vec![failing], Instant::now(), period).unwrap();
    thread::sleep(period * 3);
    let sampled = sampler.stop();
    let late = lateness.allowed();
    let lost = sampled.iter().find_map(|sampled| match sampled {
        Sampled::Lost { source, at_offset_ns, reason } => {
            Some((*source, Duration::from_nanos(*at_offset_ns), reason))
        }
        _ => None,
    });
    let (source, at, reason) = lost.unwrap();
    assert_eq!(source, "failing");
    assert_at("the loss", at, period * 2, late);
    let in_all = sampled.iter().find_map(|sampled| match sampled {
        Sampled::LostInAll { times, lost_ns, .. } => Some((*times, Duration::from_nanos(*lost_ns))),
        _ => None,
    });
    let (times, lost) = in_all.unwrap();
    assert_eq!(times, 1);
    // It is lost from the second period to the end.
    assert_at("the end of the loss", at + lost, period * 3, late);
    assert!(reason.contains("/proc/fake") && reason.contains("reading 2;"), "{reason}");
}

#[test]
fn stopping_does_not_wait() {
    let hour = Duration::from_secs(3600);
    let stuck = move |_: i64, stop: &AtomicBool| {
        sleep(hour, stop);
        Ok(())
    };
    let gives_up = move |number: i64, stop: &AtomicBool| {
        sleep(hour, stop);
        Err(failure(number))
    };
    let sources = vec![
        fake("idle", |_, _| Ok(())),
        fake("stuck", stuck),
        fake("gives up", gives_up),
        fake("also stuck", stuck),
    ];
    let mut sampler = Sampler::start(sources, Instant::now(), hour).unwrap();
    thread::sleep(Duration::from_millis(100));
    let begin = Instant::now();
    let sampled = sampler.stop();
    let took = begin.elapsed();
    assert!(took < hour / 2, "{took:?}");
    assert_eq!(batches(&sampled, "idle").len(), 1, "{sampled:?}");
    // What was given up because of the stop is no loss.
    let lost = |sampled: &Sampled| matches!(sampled, Sampled::Lost { .. });
    assert!(!sampled.iter().any(lost), "{sampled:?}");
    // Without a call of it, too: guards end what they started.
    let sources = vec![fake("stuck", stuck)];
    let sampler = Sampler::start(sources, Instant::now(), hour).unwrap();
    let begin = Instant::now();
    drop(sampler);
    let took = begin.elapsed();
    assert!(took < hour / 2, "{took:?}");
}
