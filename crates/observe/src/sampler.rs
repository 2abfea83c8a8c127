//! The clock of the observers: each source is read about once a second, in a thread of its own, so
//! that one that hangs keeps no other from its times.

use crate::error::ObserveError;
use crate::losses::Losses;
use base::{Instant, clock};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use store::{Metric, MetricKind, MetricSource, SampleBatch};

/// Something that can be read again and again.
pub trait SampleSource: Send {
    /// For people: `the host`.
    fn title(&self) -> &'static str;

    /// Reads what there is now. Where that takes time, it gives up soon after `stop` is set.
    fn read(&mut self, into: &mut Readings, stop: &AtomicBool) -> Result<(), ObserveError>;
}

/// Values as a source gives them.
#[derive(Debug, Default)]
pub struct Readings {
    pub(crate) values: Vec<(Metric, i64)>,
    pub(crate) lost: Vec<(&'static str, ObserveError)>,
    pub(crate) at: Option<Instant>,
}

impl Readings {
    /// Now is the time of these values. Without it, the time is when the source has been read.
    pub fn taken_now(&mut self) {
        self.at = Some(Instant::now());
    }

    /// A counter: it only grows. What the host counts of time or energy comes out in dilated time:
    /// a second of it has a second of each core, and its watts.
    pub fn counter(&mut self, source: MetricSource, name: &str, label: &str, value: i64) {
        let is_of_host = !matches!(source, MetricSource::Server | MetricSource::Shim);
        let unit = name.rsplit('_').next();
        let value = match unit {
            Some("ns" | "us" | "uj") if is_of_host => {
                (value as f64 / clock::dilation().factor()) as i64
            }
            _ => value,
        };
        self.push(source, MetricKind::Counter, name, label, value);
    }

    /// A value that goes up and down.
    pub fn gauge(&mut self, source: MetricSource, name: &str, label: &str, value: i64) {
        self.push(source, MetricKind::Gauge, name, label, value);
    }

    /// A part of the source, named as in [`SampleSource::title`], could not be read; the values of
    /// the others are good.
    pub fn lose(&mut self, part: &'static str, error: ObserveError) {
        self.lost.push((part, error));
    }

    /// The parts that could not be read.
    pub fn lost(&self) -> &[(&'static str, ObserveError)] {
        &self.lost
    }

    /// All values so far.
    pub fn values(&self) -> &[(Metric, i64)] {
        &self.values
    }

    fn push(
        &mut self,
        source: MetricSource,
        kind: MetricKind,
        name: &str,
        label: &str,
        value: i64,
    ) {
        let metric = Metric { source, name: name.to_owned(), label: label.to_owned(), kind };
        self.values.push((metric, value));
    }
}

/// What samplers tell. Of a source, or a part of one, they tell the first loss and the first return
/// only, and all of them in one number at the end: one that comes and goes all the time does not
/// fill a terminal.
#[derive(Debug)]
pub enum Sampled {
    Batch(SampleBatch),
    /// A source that could be read before, or was never asked, cannot be read: there is a gap from
    /// here on.
    Lost {
        source: &'static str,
        at_offset_ns: u64,
        reason: String,
    },
    /// A source that was lost can be read again.
    Back {
        source: &'static str,
        at_offset_ns: u64,
        lost_ns: u64,
    },
    /// At the end, of each source that was ever lost.
    LostInAll {
        source: &'static str,
        times: u64,
        /// From the first reading that failed to the next that did not, or to the end.
        lost_ns: u64,
    },
}

/// Threads that read sources until they are stopped.
pub struct Sampler {
    stop: Arc<AtomicBool>,
    sampled: Receiver<Sampled>,
    threads: Vec<JoinHandle<()>>,
}

impl Sampler {
    /// Reads each source now and then each `period`, at times that are multiples of it from
    /// `start`.
    pub fn start(
        sources: Vec<Box<dyn SampleSource>>,
        start: Instant,
        period: Duration,
    ) -> std::io::Result<Sampler> {
        let stop = Arc::new(AtomicBool::new(false));
        let (sender, sampled) = channel();
        let mut sampler = Sampler { stop: Arc::clone(&stop), sampled, threads: Vec::new() };
        for source in sources {
            let round = Rounds { start, period, stop: Arc::clone(&stop), sender: sender.clone() };
            let builder = thread::Builder::new().name("observer".to_owned());
            sampler.threads.push(builder.spawn(move || round.run(source))?);
        }
        Ok(sampler)
    }

    /// What has come since the last call.
    pub fn take(&self) -> Vec<Sampled> {
        self.sampled.try_iter().collect()
    }

    /// Ends the threads and returns what has come since [`Sampler::take`]; nothing comes after
    /// that.
    pub fn stop(&mut self) -> Vec<Sampled> {
        self.end();
        self.take()
    }

    fn end(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            thread.thread().unpark();
            // What panics in it is caught and told as a loss.
            let _ = thread.join();
        }
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        self.end();
    }
}

/// The rounds of one source.
struct Rounds {
    start: Instant,
    period: Duration,
    stop: Arc<AtomicBool>,
    sender: Sender<Sampled>,
}

impl Rounds {
    /// Reads the source until the stop. One that panics is not asked again: nobody knows what state
    /// it is in.
    fn run(&self, source: Box<dyn SampleSource>) {
        let title = source.title();
        let mut losses = Losses::default();
        let rounds = catch_unwind(AssertUnwindSafe(|| self.go(source, &mut losses)));
        if let Err(panic) = rounds {
            let error = ObserveError::Panicked(words_of(panic.as_ref()));
            self.tell(Some(losses.end(title, self.offset_ns(), &error)));
            while self.wait() {}
        }
        for sampled in losses.in_all(self.offset_ns()) {
            self.tell(Some(sampled));
        }
    }

    fn go(&self, mut source: Box<dyn SampleSource>, losses: &mut Losses) {
        loop {
            let mut readings = Readings::default();
            let read = source.read(&mut readings, &self.stop);
            let at = readings.at.unwrap_or_else(Instant::now);
            let at_offset_ns = (at - self.start).as_nanos() as u64;
            let stopped = self.stop.load(Ordering::Relaxed);
            match read {
                Ok(()) => {
                    self.tell(losses.read(source.title(), at_offset_ns, &readings.lost));
                    self.tell([Sampled::Batch(SampleBatch {
                        at_offset_ns,
                        values: readings.values,
                    })]);
                }
                // What was given up because of the stop is no loss.
                Err(_) if stopped => {}
                Err(error) => self.tell(losses.lose(source.title(), at_offset_ns, &error)),
            }
            if stopped || !self.wait() {
                return;
            }
        }
    }

    fn tell(&self, all: impl IntoIterator<Item = Sampled>) {
        for sampled in all {
            // Nobody listens when the sampler is gone, which has set the stop.
            let _ = self.sender.send(sampled);
        }
    }

    fn offset_ns(&self) -> u64 {
        self.start.elapsed().as_nanos() as u64
    }

    /// Waits for the next multiple of the period; times that have passed are left out. Returns
    /// whether to go on.
    fn wait(&self) -> bool {
        let elapsed = self.start.elapsed().as_nanos();
        let rounds = elapsed / self.period.as_nanos().max(1) + 1;
        let next = self.start + self.period * u32::try_from(rounds).unwrap_or(u32::MAX);
        while !self.stop.load(Ordering::Relaxed) {
            let left = next - Instant::now();
            if left.is_zero() {
                return true;
            }
            thread::park_timeout(clock::real(left));
        }
        false
    }
}

/// What a panic said, where it said anything.
fn words_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("without words").to_owned()
}
