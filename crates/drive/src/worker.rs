//! A worker: one thread that carries a share of the connections.

use crate::client::{Attempt, Client, Failed, FailureKind, Opening, Workload};
use crate::recorder::{Interval, OperationTimes, Recorder, Totals};
use crate::run::Schedule;
use base::{Random, limits};
use reactor::Tasks;
use std::cell::{Cell, RefCell};
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender};
use std::time::{Duration, Instant};
use tpcc::Transaction;

/// Connections that a worker opens at the same time: servers bound their backlog.
const OPENING_AT_ONCE: usize = 16;
/// Longest pause between two tries of a transaction or of a login.
const PAUSE_MAX: Duration = Duration::from_secs(1);

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
    /// The last message. `abandoned`: transactions that were still under way.
    Finished {
        totals: Totals,
        abandoned: usize,
    },
    /// The thread's reactor failed; the worker has ended.
    Broken(io::Error),
}

/// Opens the connections, waits for the start and drives until the schedule is over.
pub(crate) fn work<W: Workload>(
    workload: &W,
    connections: Range<u32>,
    seed: u64,
    messages: &Sender<Message>,
    start: &Start,
) {
    // The dispatcher hears nothing only where it is gone, and then nobody is left to tell.
    let tell = |message| {
        let _ = messages.send(message);
    };
    let clients = match open_all(workload, connections, &start.cancelled) {
        Ok(Ok(clients)) => clients,
        Ok(Err(failed)) => return tell(Message::OpenFailed(failed)),
        Err(error) => return tell(Message::Broken(error)),
    };
    tell(Message::Ready);
    // Without a start, the opening was cancelled or another worker could not open its connections.
    let Ok(schedule) = start.schedule.recv() else {
        return;
    };
    let recorder = RefCell::new(Recorder::new(&schedule));
    let driven = drive(workload, clients, seed, &schedule, &recorder, messages);
    let mut recorder = recorder.into_inner();
    match driven {
        Ok(abandoned) => {
            for interval in recorder.finish(schedule.now_ns(), &schedule) {
                tell(Message::Interval(Box::new(interval)));
            }
            tell(Message::Finished {
                totals: recorder.totals,
                abandoned,
            });
        }
        Err(error) => tell(Message::Broken(error)),
    }
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
                let client = workload
                    .open(Opening {
                        connection,
                        losses: 0,
                    })
                    .await;
                let mut opened = opened.borrow_mut();
                match (client, &mut *opened) {
                    (Ok(client), Ok(clients)) => clients.push((connection, client)),
                    (Err(failed), Ok(_)) => *opened = Err(failed),
                    (_, Err(_)) => {}
                }
            }
        });
    }
    let look = || Instant::now() + Duration::from_nanos(LOOK_EVERY_NS);
    while tasks.run_until(Some(look()))? > 0 && !cancelled.load(Ordering::Relaxed) {}
    drop(tasks);
    Ok(opened.into_inner())
}

/// Runs all connections to the end of the schedule; returns how many transactions were still under way then, which are
/// in doubt.
fn drive<W: Workload>(
    workload: &W,
    clients: Opened<W::Client>,
    seed: u64,
    schedule: &Schedule,
    recorder: &RefCell<Recorder>,
    messages: &Sender<Message>,
) -> io::Result<usize> {
    let under_way: Vec<_> = clients.iter().map(|_| Cell::new(None)).collect();
    let mut tasks = Tasks::new()?;
    for (index, (connection, client)) in clients.into_iter().enumerate() {
        schedule.connected();
        let random = Random::new(seed, &[PAUSES, u64::from(connection)]);
        let task = Connection {
            workload,
            which: Opening {
                connection,
                losses: 0,
            },
            under_way: &under_way[index],
            schedule,
            recorder,
            random,
        };
        tasks.spawn(task.run(client));
    }
    loop {
        let boundary = recorder
            .borrow()
            .current_end_ns(schedule)
            .min(schedule.drain_end_ns());
        // A stop or an abort may come at any time; looking for it a few times a second costs nothing.
        let look = schedule.now_ns() + LOOK_EVERY_NS;
        let alive = tasks.run_until(Some(schedule.instant(boundary.min(look))))?;
        let now_ns = schedule.now_ns();
        let mut recorder = recorder.borrow_mut();
        recorder.advance(now_ns, schedule);
        for interval in recorder.take_finished() {
            let _ = messages.send(Message::Interval(Box::new(interval)));
        }
        if alive == 0 || schedule.aborted() || now_ns >= schedule.drain_end_ns() {
            let abandoned: Vec<_> = under_way.iter().filter_map(Cell::get).collect();
            abandoned
                .iter()
                .for_each(|transaction| recorder.abandoned(*transaction));
            return Ok(abandoned.len());
        }
    }
}

/// How often a worker looks for a stop.
const LOOK_EVERY_NS: u64 = 100_000_000;
/// The random stream of pauses.
const PAUSES: u64 = 2;

/// What follows a try.
enum Next {
    Transaction,
    Try,
    /// This one is lost.
    Connection,
}

struct Connection<'a, W> {
    workload: &'a W,
    which: Opening,
    schedule: &'a Schedule,
    recorder: &'a RefCell<Recorder>,
    /// The transaction that this connection is in.
    under_way: &'a Cell<Option<Transaction>>,
    random: Random,
}

impl<W: Workload> Connection<'_, W> {
    /// The closed loop of one connection: transaction after transaction until the window is over.
    async fn run(mut self, mut client: W::Client) {
        while !self.schedule.is_over() {
            if self.transaction(&mut client).await {
                continue;
            }
            drop(client);
            self.schedule.disconnected();
            match self.reopen().await {
                Some(reopened) => client = reopened,
                None => return,
            }
        }
        client.close().await;
        self.schedule.disconnected();
    }

    /// One transaction with its retries; false where the connection was lost.
    async fn transaction(&mut self, client: &mut W::Client) -> bool {
        let transaction = client.draw();
        self.under_way.set(Some(transaction));
        let begin_ns = self.schedule.now_ns();
        let statements_before = client.statements();
        let mut tries = 1;
        let alive = loop {
            let attempt = client.attempt().await;
            let end_ns = self.schedule.now_ns();
            let times = OperationTimes { begin_ns, end_ns };
            match self.settle(client, transaction, attempt, times, tries) {
                Next::Transaction => break true,
                Next::Connection => break false,
                Next::Try => self.pause(tries).await,
            }
            tries += 1;
        };
        self.under_way.set(None);
        let statements = client.statements() - statements_before;
        self.recorder.borrow_mut().add_statements(statements);
        alive
    }

    /// Records how a try ended, and says what follows from it.
    fn settle(
        &self,
        client: &W::Client,
        transaction: Transaction,
        attempt: Attempt,
        times: OperationTimes,
        tries: u32,
    ) -> Next {
        let mut recorder = self.recorder.borrow_mut();
        recorder.advance(times.end_ns, self.schedule);
        let failed = match attempt {
            Attempt::Failed(failed) => failed,
            well => {
                let inputs = recorder.ended_well(transaction, &well, times, self.schedule);
                if let Some(inputs) = inputs {
                    client.count_inputs(inputs);
                }
                return Next::Transaction;
            }
        };
        recorder.failed_try(transaction, &failed);
        let next = match failed.kind {
            FailureKind::Lost { .. } => Next::Connection,
            FailureKind::Fatal => Next::Transaction,
            _ if tries >= limits::TRIES_MAX => Next::Transaction,
            _ => return Next::Try,
        };
        recorder.given_up(transaction);
        next
    }

    /// Waits a random time, longer with each try, so that two transactions do not meet again and again.
    async fn pause(&mut self, tries: u32) {
        let most = Duration::from_millis(1 << tries.min(10)).min(PAUSE_MAX);
        let pause = most.mul_f64(self.random.unit());
        reactor::sleep_until(Instant::now() + pause).await;
    }

    /// Connects again until it works, cannot work any more, or the run is over.
    async fn reopen(&mut self) -> Option<W::Client> {
        self.which.losses += 1;
        let mut tries = 3;
        while !self.schedule.is_over() {
            self.pause(tries).await;
            match self.workload.open(self.which).await {
                Ok(client) => {
                    self.schedule.connected();
                    self.recorder.borrow_mut().totals.reconnects += 1;
                    return Some(client);
                }
                Err(failed) => {
                    self.recorder.borrow_mut().failed_reconnect(&failed);
                    if failed.kind == FailureKind::Fatal {
                        return None;
                    }
                }
            }
            tries += 1;
        }
        None
    }
}
