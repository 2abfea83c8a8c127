//! Terminals: users who key, wait for the answer, and think, and who share the connections as
//! behind a transaction monitor.

use crate::client::{Failed, FailureKind, Source, TransactionType};
use crate::interval::TerminalStats;
use crate::pace::{Terminals, think_time};
use crate::recorder::Recorder;
use crate::schedule::Schedule;
use base::{Random, limits};
use reactor::{Queue, Signal};
use std::cell::RefCell;
use std::io;
use std::time::Duration;

/// A transaction to do, as a terminal has submitted it or a connection has drawn it.
pub(crate) struct Request<O> {
    pub(crate) transaction: TransactionType,
    pub(crate) operation: O,
    pub(crate) begin_ns: u64,
    /// Who waits for the answer, by place among the worker's terminals; nobody does for a deferred
    /// one, or one that a connection has drawn.
    pub(crate) terminal: Option<usize>,
}

/// Between the terminals of a worker and its connections.
pub(crate) struct TerminalQueue<O> {
    /// Deferred ones wait until nobody waits for anything else, as clause 2.7.2 of TPC-C has it,
    /// but no longer than [`limits::DEFERRED_MAX`].
    pub(crate) requests: Queue<Request<O>>,
    answers: Vec<Signal>,
}

impl<O> TerminalQueue<O> {
    pub(crate) fn new(terminals: usize) -> io::Result<TerminalQueue<O>> {
        Ok(TerminalQueue {
            requests: Queue::new()?,
            answers: (0..terminals).map(|_| Signal::default()).collect(),
        })
    }

    /// Tells who submitted it that the request has ended.
    pub(crate) fn answer(&self, terminal: Option<usize>) {
        if let Some(terminal) = terminal {
            self.answers[terminal].set();
        }
    }

    /// Gives up what waits still, when nobody is left to serve it.
    pub(crate) fn give_up(&self, recorder: &mut Recorder) {
        let why = "the run ended before a connection was free for it";
        while let Some(request) = self.requests.try_pop() {
            recorder.pending(request.transaction, request.begin_ns);
            refuse(request.transaction, "never_begun", why, recorder);
        }
    }
}

fn refuse(transaction: TransactionType, code: &'static str, why: &str, recorder: &mut Recorder) {
    let failed = Failed { kind: FailureKind::Fatal, code: code.into(), message: why.to_owned() };
    recorder.failed_try(transaction, &failed);
    recorder.given_up(transaction);
}

/// One user.
pub(crate) struct Terminal<'a, S: Source> {
    pub(crate) source: S,
    /// Decides think times.
    pub(crate) random: Random,
    pub(crate) times: &'a Terminals,
    pub(crate) queue: &'a TerminalQueue<S::Operation>,
    /// Among the worker's terminals.
    pub(crate) place: usize,
    pub(crate) schedule: &'a Schedule,
    pub(crate) recorder: &'a RefCell<Recorder>,
}

/// Keying or thinking.
struct Pause {
    of: TransactionType,
    is_keying: bool,
    length: Duration,
}

impl<S: Source> Terminal<'_, S> {
    /// Keys, submits and thinks until the window is over.
    pub(crate) async fn run(mut self) {
        let mut pause = self.warm_start();
        self.sleep(0, &pause).await;
        while !self.schedule.is_over() {
            if pause.is_keying {
                self.submit(pause.of).await;
                pause = self.thinking(pause.of);
                // As it begins: of those that end in a window, short ones are too many where the
                // load has just grown. How late timers are is seen in keying times.
                self.at_terminals(|stats, _| {
                    stats.think[pause.of.index()].record(pause.length.as_nanos() as u64);
                });
                self.sleep(self.schedule.now_ns(), &pause).await;
            } else {
                pause = self.keying();
                let begin_ns = self.schedule.now_ns();
                self.sleep(begin_ns, &pause).await;
                self.at_terminals(|stats, now_ns| {
                    stats.keying[pause.of.index()].record(now_ns - begin_ns);
                });
            }
        }
    }

    async fn sleep(&self, begin_ns: u64, pause: &Pause) {
        let end_ns = begin_ns + pause.length.as_nanos() as u64;
        reactor::sleep_until(self.schedule.instant(end_ns)).await;
    }

    /// The think time after a transaction.
    fn thinking(&mut self, of: TransactionType) -> Pause {
        let mean = self.times.think_mean[of.index()];
        Pause { of, is_keying: false, length: think_time(&mut self.random, mean) }
    }

    /// The keying time of the next transaction.
    fn keying(&mut self) -> Pause {
        let of = self.source.deal();
        Pause { of, is_keying: true, length: self.times.keying[of.index()] }
    }

    fn at_terminals(&self, record: impl FnOnce(&mut TerminalStats, u64)) {
        let now_ns = self.schedule.now_ns();
        let mut recorder = self.recorder.borrow_mut();
        record(recorder.terminals_at(now_ns), now_ns);
    }

    /// Submits one transaction and waits for its answer; a deferred one is answered when it has
    /// been queued.
    async fn submit(&mut self, transaction: TransactionType) {
        let operation = self.source.draw(transaction);
        let deferred = self.recorder.borrow().is_deferred(transaction);
        let submitted_ns = self.schedule.now_ns();
        let request = Request {
            transaction,
            operation,
            begin_ns: submitted_ns,
            terminal: (!deferred).then_some(self.place),
        };
        if !deferred {
            self.recorder.borrow_mut().came(submitted_ns);
            self.queue.requests.push(request);
            self.queue.answers[self.place].wait().await;
        } else if self.queue.requests.len().1 < limits::QUEUE_MAX {
            let waits_ns = limits::DEFERRED_MAX.as_nanos() as u64;
            let latest = self.schedule.instant(submitted_ns + waits_ns);
            self.recorder.borrow_mut().came(submitted_ns);
            self.queue.requests.push_deferred(request, latest);
            self.at_terminals(|stats, now_ns| stats.acknowledgement.record(now_ns - submitted_ns));
        } else {
            let why = "as many deferred transactions wait as the driver keeps; the server does not \
                       keep up";
            refuse(transaction, "queue_full", why, &mut self.recorder.borrow_mut());
        }
    }

    /// Lives through some time before the start in which nothing is submitted, so that the run
    /// starts in the middle of keying and thinking, at any place of the source's deck: the load is
    /// then the same from the first second on, and terminals are not in step.
    fn warm_start(&mut self) -> Pause {
        const CYCLES: u32 = 16;
        let longest = |of: &[Duration]| of.iter().copied().max().unwrap_or_default();
        let cycle = longest(&self.times.keying) + longest(&self.times.think_mean);
        let mut to_start = (cycle * CYCLES).mul_f64(1.0 + self.random.unit());
        for _ in 0..self.random.below(self.times.deck_size) {
            self.source.deal();
        }
        let mut pause = self.keying();
        while pause.length <= to_start {
            to_start -= pause.length;
            pause = if pause.is_keying { self.thinking(pause.of) } else { self.keying() };
        }
        pause.length -= to_start;
        pause
    }
}
