//! One connection: transaction after transaction, with retries, reopened where it is lost.

use crate::arrivals::Backlog;
use crate::breakdown::Waits;
use crate::client::{Attempt, Client, FailureKind, Opening, Source, Workload};
use crate::options::RunOptions;
use crate::recorder::{Operated, Recorder, UnderWay};
use crate::schedule::Schedule;
use crate::streams::PAUSES;
use crate::terminals::{Request, TerminalQueue};
use crate::totals::ConnectionTime;
use base::{Instant, Random, limits};
use spec::Pauses;
use std::cell::{Cell, RefCell};
use std::time::Duration;

/// Of a load that says nothing else.
const RECONNECT_PAUSE: Duration = Duration::from_millis(2);

/// A connection that was idle for so long may have been closed by a proxy or a server meanwhile,
/// whose time-outs are of 1 s at least. To look costs a system call.
const LOOKED_AT_AFTER_NS: u64 = 1_000_000_000;

/// The pauses of a connection.
pub(crate) struct Pausing {
    random: Random,
    longest: Pauses,
}

impl Pausing {
    pub(crate) fn new(options: &RunOptions, connection: u32) -> Pausing {
        let random = Random::new(options.seed, &[PAUSES, u64::from(connection)]);
        Pausing { random, longest: options.pauses }
    }

    /// Between this try of a transaction and the next one.
    fn before_retry(&mut self, tries: u32) -> Duration {
        self.length(self.longest.retry, tries)
    }

    /// After so many errors in a row.
    fn after_errors(&mut self, errors: u32) -> Duration {
        self.length(self.longest.reconnect.unwrap_or(RECONNECT_PAUSE), errors)
    }

    /// A random time, longer with each try, so that two transactions do not meet again and again.
    fn length(&mut self, first: Duration, tries: u32) -> Duration {
        let most = first.saturating_mul(1 << (tries - 1).min(10)).min(limits::RETRY_PAUSE_MAX);
        most.mul_f64(self.random.unit())
    }
}

/// Where the transactions of a worker's connections come from.
pub(crate) enum Feed<O> {
    /// Their own sources, whenever they are free.
    Own,
    /// Their own sources, when the schedule says.
    Schedule(Backlog),
    /// Terminals.
    Terminals(TerminalQueue<O>),
}

impl<O> Feed<O> {
    /// Lets come what is due, so that it counts in its interval before that is sent.
    pub(crate) fn advance(&self, now_ns: u64, recorder: &mut Recorder) {
        if let Feed::Schedule(backlog) = self {
            backlog.offer_due(now_ns, recorder);
        }
    }

    /// The window is over: nothing new begins. May be called again.
    pub(crate) fn end(&self, recorder: &mut Recorder) {
        match self {
            Feed::Own => {}
            Feed::Schedule(backlog) => backlog.end(recorder),
            Feed::Terminals(queue) => queue.requests.close(),
        }
    }
}

/// A transaction that was taken up.
struct QueuedOperation<O> {
    request: Request<O>,
    /// When it was taken up, to be tried at once.
    taken_ns: u64,
    scheduled_try_ns: Option<u64>,
}

/// What follows a try.
enum Next {
    Transaction,
    /// The next transaction, after a pause: this one was given up.
    AfterError,
    Try,
    /// This one is lost, or of no more use.
    Connection {
        takes_no_writes: bool,
    },
}

/// How a transaction left its connection.
#[derive(PartialEq)]
enum Left {
    Alive,
    Lost,
    /// The server takes no writes any more.
    Refused,
}

pub(crate) struct ConnectionTask<'a, W: Workload> {
    pub(crate) workload: &'a W,
    pub(crate) which: Opening,
    pub(crate) feed: &'a Feed<W::Operation>,
    /// None where terminals have theirs.
    pub(crate) source: Option<W::Source>,
    pub(crate) schedule: &'a Schedule,
    pub(crate) recorder: &'a RefCell<Recorder>,
    /// The transaction that this connection is in.
    pub(crate) under_way: &'a Cell<Option<UnderWay>>,
    /// Connections of this worker that have not ended.
    pub(crate) alive: &'a Cell<usize>,
    pub(crate) pauses: Pausing,
    /// Transactions given up since the last one that ended well.
    pub(crate) errors_in_a_row: u32,
    /// Since when it is in no transaction, from the start of the run.
    pub(crate) free_from_ns: u64,
}

impl<W: Workload> ConnectionTask<'_, W> {
    /// Does what comes until nothing comes any more.
    pub(crate) async fn run(mut self, client: W::Client) {
        if let Some(client) = self.serve(client).await {
            client.close().await;
            self.schedule.disconnected();
        }
        self.alive.set(self.alive.get() - 1);
    }

    /// Returns the client, unless it was lost and did not come back.
    async fn serve(&mut self, mut client: W::Client) -> Option<W::Client> {
        loop {
            let idle_since_ns = self.free_from_ns;
            let next = self.next().await;
            let taken_ns = next.as_ref().map_or_else(|| self.schedule.now_ns(), |of| of.taken_ns);
            self.rested(|times| &mut times.idle_ns, taken_ns);
            let Some(mut job) = next else {
                return Some(client);
            };
            if job.taken_ns >= idle_since_ns + LOOKED_AT_AFTER_NS && client.is_closed() {
                client = self.renew(client, &mut job).await;
            }
            let refused = match self.transaction(&mut client, &job).await {
                Left::Alive => {
                    self.pause_after_errors().await;
                    continue;
                }
                Left::Lost => {
                    drop(client);
                    self.schedule.disconnected();
                    None
                }
                Left::Refused => Some(client),
            };
            let reopened = self.reopen(refused).await;
            self.rested(|times| &mut times.lost_ns, self.schedule.now_ns());
            client = reopened?;
        }
    }

    /// Opens a connection again that was closed while it was idle, before it takes up a
    /// transaction: nothing was sent, so none has failed. Where it does not come back, the
    /// transaction is tried on the closed one, and lost.
    async fn renew(
        &mut self,
        closed: W::Client,
        job: &mut QueuedOperation<W::Operation>,
    ) -> W::Client {
        self.schedule.disconnected();
        let reopened = self.reopen(None).await;
        job.taken_ns = self.schedule.now_ns();
        job.scheduled_try_ns = job.scheduled_try_ns.map(|_| job.taken_ns);
        self.rested(|times| &mut times.lost_ns, job.taken_ns);
        reopened.unwrap_or_else(|| {
            self.schedule.connected();
            closed
        })
    }

    /// It was in no transaction until now.
    fn rested(&mut self, counted: impl FnOnce(&mut ConnectionTime) -> &mut u64, now_ns: u64) {
        self.recorder.borrow_mut().rested(counted, self.free_from_ns..now_ns);
        self.free_from_ns = now_ns;
    }

    /// Waits for the next transaction; `None` where there is none to come.
    async fn next(&mut self) -> Option<QueuedOperation<W::Operation>> {
        let scheduled = match self.feed {
            Feed::Own if self.schedule.is_over() => return None,
            Feed::Own => None,
            Feed::Schedule(backlog) => Some(backlog.next(self.recorder).await?),
            Feed::Terminals(queue) => {
                let request = queue.requests.pop().await?;
                let taken_ns = self.schedule.now_ns();
                return Some(QueuedOperation { request, taken_ns, scheduled_try_ns: None });
            }
        };
        let source = self.source.as_mut()?;
        let transaction = source.deal();
        let operation = source.draw(transaction);
        let now_ns = self.schedule.now_ns();
        if scheduled.is_none() {
            self.recorder.borrow_mut().came(now_ns);
        }
        let (begin_ns, taken_ns) = scheduled.unwrap_or((now_ns, now_ns));
        let scheduled_try_ns = scheduled.map(|_| taken_ns);
        let request = Request { transaction, operation, begin_ns, terminal: None };
        Some(QueuedOperation { request, taken_ns, scheduled_try_ns })
    }

    /// One transaction with its retries.
    async fn transaction(
        &mut self,
        client: &mut W::Client,
        job: &QueuedOperation<W::Operation>,
    ) -> Left {
        let Request { transaction, begin_ns, terminal, .. } = job.request;
        let under_way =
            UnderWay { transaction, begin_ns, taken_ns: job.taken_ns, is_paused: false };
        self.under_way.set(Some(under_way));
        let statements_before = client.statements();
        client.begin();
        let mut tries = 1;
        let mut waits = Waits { queued_ns: job.taken_ns.saturating_sub(begin_ns), paused_ns: 0 };
        let left = loop {
            let attempt = client.attempt(&job.request.operation).await;
            match self.settle(client, job, attempt, tries, waits) {
                Next::Transaction => {
                    self.errors_in_a_row = 0;
                    break Left::Alive;
                }
                Next::AfterError => {
                    self.errors_in_a_row += 1;
                    break Left::Alive;
                }
                Next::Connection { takes_no_writes: false } => break Left::Lost,
                Next::Connection { takes_no_writes: true } => break Left::Refused,
                Next::Try => {
                    // What pauses has been rolled back and is in no doubt.
                    self.under_way.set(Some(UnderWay { is_paused: true, ..under_way }));
                    let begin = Instant::now();
                    reactor::sleep_until((begin + self.pauses.before_retry(tries)).real()).await;
                    waits.paused_ns += begin.elapsed().as_nanos() as u64;
                    self.under_way.set(Some(under_way));
                }
            }
            tries += 1;
        };
        self.under_way.set(None);
        let statements = client.statements() - statements_before;
        self.recorder.borrow_mut().add_statements(statements);
        if let Feed::Terminals(queue) = self.feed {
            queue.answer(terminal);
        }
        left
    }

    /// Records how a try ended, and says what follows from it.
    fn settle(
        &mut self,
        client: &W::Client,
        job: &QueuedOperation<W::Operation>,
        attempt: Attempt,
        tries: u32,
        waits: Waits,
    ) -> Next {
        let Request { transaction, begin_ns, .. } = job.request;
        let operated = Operated {
            server: client.server(),
            begin_ns,
            scheduled_try_ns: job.scheduled_try_ns,
            end_ns: self.schedule.now_ns(),
            waits,
        };
        let mut recorder = self.recorder.borrow_mut();
        recorder.advance(operated.end_ns);
        let worked_ns = job.taken_ns..operated.end_ns;
        let failed = match attempt {
            Attempt::Failed(failed) => failed,
            well => {
                let statements = client.statement_times();
                recorder.ended_well(transaction, &well, operated, statements, |counters| {
                    client.count(&job.request.operation, counters);
                });
                recorder.worked(worked_ns);
                self.free_from_ns = operated.end_ns;
                return Next::Transaction;
            }
        };
        recorder.failed_try(transaction, &failed);
        if failed.kind == (FailureKind::Lost { in_doubt: true }) {
            client.count(&job.request.operation, &mut recorder.totals.in_doubt_counters);
        }
        let next = match failed.kind {
            FailureKind::Lost { .. } => Next::Connection { takes_no_writes: false },
            FailureKind::NoWrites => Next::Connection { takes_no_writes: true },
            FailureKind::Fatal => Next::AfterError,
            _ if tries >= limits::TRIES_MAX => Next::AfterError,
            _ => return Next::Try,
        };
        recorder.pending(transaction, begin_ns);
        recorder.ended_badly(transaction, &failed, operated.end_ns);
        recorder.worked(worked_ns);
        self.free_from_ns = operated.end_ns;
        next
    }

    /// Waits after a transaction that was given up, longer with each one in a row: a server that
    /// takes no more writes is not asked again as fast as it refuses.
    async fn pause_after_errors(&mut self) {
        if self.errors_in_a_row == 0 {
            return;
        }
        let pause = self.pauses.after_errors(self.errors_in_a_row);
        let end_ns = (self.free_from_ns + pause.as_nanos() as u64).min(self.schedule.end_ns());
        reactor::sleep_until(self.schedule.instant(end_ns)).await;
        self.rested(|times| &mut times.error_pauses_ns, self.schedule.now_ns());
    }

    /// Connects again until it works, cannot work any more, or the run is over. Where the server
    /// has refused a write, one that takes writes is looked for: its connection is kept through the
    /// pause, so that a server that answers is none that is gone.
    async fn reopen(&mut self, mut refused: Option<W::Client>) -> Option<W::Client> {
        let takes_no_writes = refused.is_some();
        let mut tries = 3;
        while !self.schedule.is_over() {
            let pause = self.pauses.after_errors(tries);
            reactor::sleep_until((Instant::now() + pause).real()).await;
            self.give_up(&mut refused);
            self.which.earlier += 1;
            let failed = match self.workload.open(self.which).await {
                Ok(mut client) => {
                    self.schedule.connected();
                    let asked = match takes_no_writes {
                        true => client.takes_writes().await,
                        false => Ok(()),
                    };
                    let Err(failed) = asked else {
                        self.recorder.borrow_mut().totals.reconnects += 1;
                        return Some(client);
                    };
                    refused = Some(client);
                    failed
                }
                Err(failed) => failed,
            };
            let now_ns = self.schedule.now_ns();
            self.recorder.borrow_mut().failed_reconnect(&failed, now_ns);
            if failed.kind == FailureKind::Fatal {
                break;
            }
            tries += 1;
        }
        self.give_up(&mut refused);
        None
    }

    /// Drops a connection that is of no use.
    fn give_up(&self, refused: &mut Option<W::Client>) {
        if refused.take().is_some() {
            self.schedule.disconnected();
        }
    }
}
