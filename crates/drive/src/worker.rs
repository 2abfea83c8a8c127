//! A worker: one thread that carries a share of the connections, and of the terminals where there
//! are any.

use crate::arrivals::Backlog;
use crate::client::{Failed, FailureKind, Opening, Workload};
use crate::company::{DrivenShare, Partner, PartnerEnd};
use crate::connection::{ConnectionTask, Feed, Pausing};
use crate::interval::{Interval, IntervalKey};
use crate::options::{Abort, RunOptions};
use crate::pace::{Pace, Terminals, WorkerShare};
use crate::recorder::Recorder;
use crate::schedule::Schedule;
use crate::streams::THINKING;
use crate::terminals::{Terminal, TerminalQueue};
use base::Random;
use reactor::Tasks;
use std::cell::{Cell, RefCell};
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender};
use std::time::{Duration, Instant};

/// Connections that a worker opens at the same time: servers bound their backlog.
const OPENING_AT_ONCE: usize = 16;
/// The hint of a connection that fails where others did not.
const OTHERS_ARE_OPEN: &str = "; others are open, so the server or a proxy before it may allow no \
    more: use fewer connections, or raise that limit (HAProxy: maxconn)";
/// How often a worker looks for a stop.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// What a worker waits for before it drives.
pub(crate) struct Start {
    pub(crate) schedule: Receiver<Arc<Schedule>>,
    /// Nobody waits for the connections any more.
    pub(crate) cancelled: Arc<AtomicBool>,
}

/// What a worker tells the dispatcher.
pub(crate) enum Message {
    /// All its connections are open.
    Ready,
    /// A connection could not be opened; the worker has ended.
    OpenFailed(Failed),
    Interval(Box<Interval>),
    /// The last message.
    Finished(Box<DrivenShare>),
    /// The thread's reactor failed; the worker has ended.
    Broken(io::Error),
    /// A partner is gone.
    Gone {
        /// The last interval that it reported.
        reported: Option<IntervalKey>,
        /// Why the run cannot go on without it, where that is so.
        abort: Option<Abort>,
    },
}

/// What a worker works on.
pub(crate) struct Work<'a, W> {
    pub(crate) workload: &'a W,
    pub(crate) options: &'a RunOptions,
    pub(crate) share: WorkerShare,
}

impl WorkerShare {
    /// This worker's part of `count` things.
    fn of(self, count: u32) -> Range<u32> {
        let at = |n: u32| (u64::from(n) * u64::from(count) / u64::from(self.workers)) as u32;
        at(self.worker)..at(self.worker + 1)
    }
}

/// Opens the connections, waits for the start and drives until the schedule is over.
pub(crate) fn work<W: Workload>(work: &Work<'_, W>, messages: &Sender<Message>, start: &Start) {
    // The dispatcher hears nothing only where it is gone, and then nobody is left to tell.
    let tell = |message| {
        let _ = messages.send(message);
    };
    let connections = work.share.of(work.options.connections);
    let clients = match open_all(work.workload, connections, &start.cancelled) {
        Ok(Ok(clients)) => clients,
        Ok(Err(failed)) => return tell(Message::OpenFailed(failed)),
        Err(error) => return tell(Message::Broken(error)),
    };
    tell(Message::Ready);
    // Without a start, the opening was cancelled or another worker could not open its connections.
    let Ok(schedule) = start.schedule.recv() else {
        return;
    };
    let recorder = RefCell::new(Recorder::new(work.workload.transactions(), &schedule));
    let driven = work.drive(clients, &schedule, &recorder, messages);
    let mut recorder = recorder.into_inner();
    match driven {
        Ok(abandoned) => {
            for interval in recorder.finish(schedule.now_ns()) {
                tell(Message::Interval(Box::new(interval)));
            }
            let Recorder { totals, breakdowns, .. } = recorder;
            let share = DrivenShare { totals, breakdowns, abandoned, client_cpu_ns: 0 };
            tell(Message::Finished(Box::new(share)));
        }
        Err(error) => tell(Message::Broken(error)),
    }
}

/// The same by a partner.
pub(crate) fn run_partner(partner: &mut dyn Partner, messages: &Sender<Message>, start: &Start) {
    let tell = |message| {
        let _ = messages.send(message);
    };
    match partner.open(&|| start.cancelled.load(Ordering::Relaxed)) {
        Ok(()) => tell(Message::Ready),
        Err(failed) => return tell(Message::OpenFailed(failed)),
    }
    let Ok(schedule) = start.schedule.recv() else {
        return partner.cancel();
    };
    let mut reported = None;
    let ended = partner.drive(&schedule, &mut |interval| {
        reported = Some(interval.key());
        tell(Message::Interval(Box::new(interval)));
    });
    tell(match ended {
        PartnerEnd::Finished(share) => Message::Finished(share),
        PartnerEnd::Gone(abort) => Message::Gone { reported, abort },
    });
}

type Opened<C> = Vec<(u32, C)>;

fn open_all<W: Workload>(
    workload: &W,
    connections: Range<u32>,
    cancelled: &AtomicBool,
) -> io::Result<Result<Opened<W::Client>, Failed>> {
    let next = Cell::new(connections.start);
    let end = connections.end;
    let opened = RefCell::new(Ok(Vec::new()));
    let mut tasks = Tasks::new()?;
    for _ in 0..OPENING_AT_ONCE.min(connections.len()) {
        tasks.spawn(async {
            while next.get() < end && opened.borrow().is_ok() {
                let connection = next.replace(next.get() + 1);
                let client = workload.open(Opening { connection, earlier: 0 }).await;
                let mut opened = opened.borrow_mut();
                match (client, &mut *opened) {
                    (Ok(client), Ok(clients)) => clients.push((connection, client)),
                    (Err(mut failed), Ok(clients)) => {
                        // What names a limit needs no guess.
                        let is_lost = matches!(failed.kind, FailureKind::Lost { .. });
                        if is_lost && !clients.is_empty() {
                            failed.message += OTHERS_ARE_OPEN;
                        }
                        *opened = Err(failed);
                    }
                    (_, Err(_)) => {}
                }
            }
        });
    }
    while tasks.run_until(Some(Instant::now() + LOOK_EVERY))? > 0
        && opened.borrow().is_ok()
        && !cancelled.load(Ordering::Relaxed)
    {}
    drop(tasks);
    Ok(opened.into_inner())
}

impl<W: Workload> Work<'_, W> {
    /// Runs all connections to the end of the schedule; returns how many transactions were still
    /// under way then, which are in doubt.
    fn drive(
        &self,
        clients: Opened<W::Client>,
        schedule: &Schedule,
        recorder: &RefCell<Recorder>,
        messages: &Sender<Message>,
    ) -> io::Result<usize> {
        let under_way: Vec<_> = clients.iter().map(|_| Cell::new(None)).collect();
        let alive = Cell::new(clients.len());
        let feed = self.feed()?;
        let has_terminals = matches!(feed, Feed::Terminals(_));
        let mut tasks = Tasks::new()?;
        for ((connection, client), under_way) in clients.into_iter().zip(&under_way) {
            schedule.connected();
            let task = ConnectionTask {
                workload: self.workload,
                which: Opening { connection, earlier: 0 },
                feed: &feed,
                source: (!has_terminals).then(|| self.workload.source(connection)),
                under_way,
                alive: &alive,
                schedule,
                recorder,
                pauses: Pausing::new(self.options, connection),
                errors_in_a_row: 0,
                free_from_ns: 0,
            };
            tasks.spawn(task.run(client));
        }
        match (&feed, &self.options.pace) {
            (Feed::Schedule(backlog), _) => tasks.spawn(backlog.fill(schedule, recorder)),
            (Feed::Terminals(queue), Pace::Terminals(times)) => {
                for (place, number) in self.share.of(times.count).enumerate() {
                    let terminal = Terminal {
                        source: self.workload.source(number),
                        random: Random::new(self.options.seed, &[THINKING, u64::from(number)]),
                        times,
                        queue,
                        place,
                        schedule,
                        recorder,
                    };
                    tasks.spawn(terminal.run());
                }
            }
            _ => {}
        }
        loop {
            let boundary = recorder.borrow().current_end_ns().min(schedule.drain_end_ns());
            // A stop or an abort may come at any time; looking for it a few times a second costs
            // nothing.
            let look = Instant::now() + LOOK_EVERY;
            tasks.run_until(Some(schedule.instant(boundary).min(look)))?;
            let now_ns = schedule.now_ns();
            let mut recorder = recorder.borrow_mut();
            feed.advance(now_ns, &mut recorder);
            recorder.advance(now_ns);
            if schedule.is_over() {
                feed.end(&mut recorder);
            }
            for interval in recorder.take_finished() {
                let _ = messages.send(Message::Interval(Box::new(interval)));
            }
            // What a schedule brings is offered to the end, though nobody may be left to take it.
            let scheduled = matches!(feed, Feed::Schedule(_));
            let ended = alive.get() == 0 && (schedule.is_over() || !scheduled);
            if ended || schedule.aborted() || now_ns >= schedule.drain_end_ns() {
                let abandoned: Vec<_> = under_way.iter().filter_map(Cell::get).collect();
                abandoned.iter().for_each(|under_way| recorder.abandoned(*under_way));
                if let Feed::Terminals(queue) = &feed {
                    queue.give_up(&mut recorder);
                }
                return Ok(abandoned.iter().filter(|of| !of.is_paused).count());
            }
        }
    }

    fn feed(&self) -> io::Result<Feed<W::Operation>> {
        Ok(match &self.options.pace {
            Pace::Closed => Feed::Own,
            Pace::Arrivals(arrivals) => {
                Feed::Schedule(Backlog::new(arrivals, self.share, self.options.seed)?)
            }
            Pace::Terminals(Terminals { count, .. }) => {
                Feed::Terminals(TerminalQueue::new(self.share.of(*count).len())?)
            }
        })
    }
}
