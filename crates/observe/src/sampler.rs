//! The clock of the observers: each source is read about once a second, in a thread of its own, so that one that hangs keeps no other
//! from its times.

use crate::error::ObserveError;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use store::{Metric, MetricKind, MetricSource, SampleBatch};

/// Something that can be read again and again.
pub trait Source: Send {
    /// For people: `the host`.
    fn title(&self) -> &'static str;

    /// Reads what there is now. Where that takes time, it gives up soon after `stop` is set.
    ///
    /// # Errors
    /// Where nothing can be read now; it is asked again at the next time.
    fn read(&mut self, into: &mut Readings, stop: &AtomicBool) -> Result<(), ObserveError>;
}

/// Values as a source gives them.
#[derive(Debug, Default)]
pub struct Readings {
    values: Vec<(Metric, i64)>,
    at: Option<Instant>,
}

impl Readings {
    /// Now is the time of these values. Without it, the time is when the source has been read.
    pub fn taken_now(&mut self) {
        self.at = Some(Instant::now());
    }

    /// A counter: it only grows.
    pub fn counter(&mut self, source: MetricSource, name: &str, label: &str, value: i64) {
        self.push(source, MetricKind::Counter, name, label, value);
    }

    /// A value that goes up and down.
    pub fn gauge(&mut self, source: MetricSource, name: &str, label: &str, value: i64) {
        self.push(source, MetricKind::Gauge, name, label, value);
    }

    /// All values so far.
    #[must_use]
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
        let metric = Metric {
            source,
            name: name.to_owned(),
            label: label.to_owned(),
            kind,
        };
        self.values.push((metric, value));
    }
}

/// What samplers tell.
#[derive(Debug)]
pub enum Sampled {
    Batch(SampleBatch),
    /// A source that could be read before, or was never asked, cannot be read: there is a gap from here on.
    Lost {
        source: &'static str,
        at_offset_ns: u64,
        reason: String,
    },
}

/// Threads that read sources until they are stopped.
pub struct Sampler {
    stop: Arc<AtomicBool>,
    sampled: Receiver<Sampled>,
    threads: Vec<JoinHandle<()>>,
}

impl Sampler {
    /// Reads each source now and then each `period`, at times that are multiples of it from `start`.
    ///
    /// # Errors
    /// Where a thread cannot be made.
    pub fn start(
        sources: Vec<Box<dyn Source>>,
        start: Instant,
        period: Duration,
    ) -> std::io::Result<Sampler> {
        let stop = Arc::new(AtomicBool::new(false));
        let (sender, sampled) = channel();
        let mut sampler = Sampler {
            stop: Arc::clone(&stop),
            sampled,
            threads: Vec::new(),
        };
        for source in sources {
            let round = Rounds {
                start,
                period,
                stop: Arc::clone(&stop),
                sender: sender.clone(),
            };
            let builder = thread::Builder::new().name("observer".to_owned());
            sampler
                .threads
                .push(builder.spawn(move || round.go(source))?);
        }
        Ok(sampler)
    }

    /// What has come since the last call.
    #[must_use]
    pub fn take(&self) -> Vec<Sampled> {
        self.sampled.try_iter().collect()
    }

    /// Ends the threads and returns what has come since [`Sampler::take`]; nothing comes after that.
    #[must_use]
    pub fn stop(&mut self) -> Vec<Sampled> {
        self.end();
        self.take()
    }

    fn end(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            thread.thread().unpark();
            // One that panicked has told so on stderr, and left a gap.
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
    fn go(&self, mut source: Box<dyn Source>) {
        let mut was_lost = false;
        loop {
            let mut readings = Readings::default();
            let read = source.read(&mut readings, &self.stop);
            let at = readings.at.unwrap_or_else(Instant::now);
            let at_offset_ns = at.saturating_duration_since(self.start).as_nanos() as u64;
            let stopped = self.stop.load(Ordering::Relaxed);
            let sampled = match read {
                Ok(()) => {
                    was_lost = false;
                    Some(Sampled::Batch(SampleBatch {
                        at_offset_ns,
                        values: readings.values,
                    }))
                }
                // What was given up because of the stop is no loss.
                Err(_) if was_lost || stopped => None,
                Err(error) => {
                    was_lost = true;
                    Some(Sampled::Lost {
                        source: source.title(),
                        at_offset_ns,
                        reason: error.to_string(),
                    })
                }
            };
            if sampled.is_some_and(|sampled| self.sender.send(sampled).is_err()) || stopped {
                return;
            }
            if !self.wait() {
                return;
            }
        }
    }

    /// Waits for the next multiple of the period; times that have passed are left out. Returns whether to go on.
    fn wait(&self) -> bool {
        let elapsed = self.start.elapsed().as_nanos();
        let rounds = elapsed / self.period.as_nanos().max(1) + 1;
        let next = self.start + self.period * u32::try_from(rounds).unwrap_or(u32::MAX);
        while !self.stop.load(Ordering::Relaxed) {
            let left = next.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return true;
            }
            thread::park_timeout(left);
        }
        false
    }
}
