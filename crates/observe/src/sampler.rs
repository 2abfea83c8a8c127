//! The clock of the observers: each source is read about once a second, in a thread of its own, so
//! that one that hangs keeps no other from its times.

use crate::error::ObserveError;
use crate::losses::Losses;
use crate::readings::{Readings, SampleSource, Sampled};
use base::{Instant, clock};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use store::SampleBatch;

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
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            thread.thread().unpark();
            // What panics in it is caught and told as a loss.
            let _ = thread.join();
        }
        self.take()
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        self.stop();
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
