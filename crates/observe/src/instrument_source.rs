//! What the driver's connections wait for, as performance_schema of the server tells it.
//!
//! Its instruments have to be switched on. What they time of a thread goes with it, so the last
//! values of each are kept.

use crate::error::{ObserveError, ObserveResult};
use crate::proc_file::as_stored;
use crate::readings::{Readings, SampleSource};
use crate::server_source::until_stopped;
use crate::threads::{Sum, Threads};
use crate::wait_instruments::label_of;
use base::{Connect, Instant, Session, SessionResult, WaitCause};
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use store::MetricKind::Counter;
use store::MetricSource::{Process, Server};
use wire::{ConnectOptions, Connection, Connector, OpenConnections};

/// A reading takes the longer, the more threads and instruments there are: it is followed by so
/// many times as long without one.
const REST: u32 = 5;

/// A server that is driven over connections that are known.
pub struct InstrumentSource {
    connect: ConnectOptions,
    driven: OpenConnections,
    /// Of its process, where that is known.
    threads: Option<Threads>,
    sums: SessionTimes,
    next: Option<Instant>,
}

/// Of the threads that serve these connections.
#[derive(Default)]
struct SessionTimes {
    active_ns: Sum,
    waits_ns: BTreeMap<String, Sum>,
    cpu_ns: Sum,
    run_wait_ns: Sum,
}

/// What the server tells of threads, each by its number there.
struct TimedThreads {
    /// With the number that the host has for it.
    threads: Vec<(u32, u32)>,
    active_ns: Vec<(u32, u64)>,
    waits_ns: BTreeMap<(u32, String), u64>,
}

impl InstrumentSource {
    /// The server at this address, which is the process `pid` where that is known.
    pub fn new(
        connect: ConnectOptions,
        driven: OpenConnections,
        pid: Option<u32>,
    ) -> InstrumentSource {
        InstrumentSource {
            connect: ConnectOptions { schema: None, ..connect },
            driven,
            threads: pid.map(|pid| Threads::of_process(&pid.to_string())),
            sums: SessionTimes::default(),
            next: None,
        }
    }
}

impl SampleSource for InstrumentSource {
    fn title(&self) -> &'static str {
        "performance_schema"
    }

    fn read(&mut self, into: &mut Readings, stop: &AtomicBool) -> ObserveResult<()> {
        let ids = self.driven.ids();
        if ids.is_empty() || self.next.is_some_and(|next| Instant::now() < next) {
            return Ok(());
        }
        let failed = |why: String| ObserveError::Server(format!("performance_schema: {why}"));
        let connector = Connector::new(self.connect.clone()).map_err(|e| failed(e.to_string()))?;
        let (timed, took) = until_stopped(stop, async {
            let mut session = connector.connect().await.map_err(|e| failed(e.to_string()))?;
            let begun = Instant::now();
            let timed = timed(&mut session, &ids).await.map_err(|e| failed(e.to_string()))?;
            let took = begun.elapsed();
            Connector::close(session).await;
            Ok((timed, took))
        })?;
        into.taken_now();
        if timed.active_ns.is_empty() {
            let why = "it times none of the driver's connections (see its setup_actors)";
            return Err(failed(why.to_owned()));
        }
        if let Some(threads) = &mut self.threads {
            threads.ids()?;
            for (number, id) in &timed.threads {
                if let Some(scheduled) = threads.scheduled(*id)? {
                    self.sums.cpu_ns.add(*number, scheduled.cpu_ns);
                    self.sums.run_wait_ns.add(*number, scheduled.wait_ns);
                }
            }
        }
        self.sums.add(timed);
        self.sums.tell(self.threads.is_some(), into);
        self.next = Some(Instant::now() + took * REST);
        Ok(())
    }
}

impl SessionTimes {
    fn add(&mut self, timed: TimedThreads) {
        for (thread, ns) in timed.active_ns {
            self.active_ns.add(thread, ns);
        }
        for ((thread, label), ns) in timed.waits_ns {
            self.waits_ns.entry(label).or_default().add(thread, ns);
        }
    }

    /// A cause that nothing waited for has a 0, which is known.
    fn tell(&mut self, has_threads: bool, into: &mut Readings) {
        let ns = |sum: &mut Sum| as_stored(sum.end_round());
        into.give(Counter, Server, "session_active_ns", "", ns(&mut self.active_ns));
        for cause in WaitCause::ALL {
            self.waits_ns.entry(cause.name().to_owned()).or_default();
        }
        for (label, sum) in &mut self.waits_ns {
            into.give(Counter, Server, "session_wait_ns", label, ns(sum));
        }
        if has_threads {
            into.give(Counter, Process, "session_cpu_ns", "driven", ns(&mut self.cpu_ns));
            into.give(Counter, Process, "session_run_wait_ns", "driven", ns(&mut self.run_wait_ns));
        }
    }
}

/// Asks for the threads that serve these connections.
async fn timed(session: &mut Connection, ids: &[u32]) -> SessionResult<TimedThreads> {
    let ids = ids.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
    let of_driver = format!("INSTRUMENTED = 'YES' AND PROCESSLIST_ID IN ({ids})");
    let sql = format!(
        "SELECT THREAD_ID, THREAD_OS_ID FROM performance_schema.threads WHERE {of_driver} AND \
         THREAD_OS_ID IS NOT NULL"
    );
    let number = |value: i64| u32::try_from(value).unwrap_or(u32::MAX);
    let answer = session.query(&sql).await?;
    let threads = answer.rows().map(|row| Ok((number(row.int(0)?), number(row.int(1)?))));
    let threads = threads.collect::<SessionResult<_>>()?;
    // What a procedure does is in its CALL.
    let sql = format!(
        "SELECT THREAD_ID, SUM(SUM_TIMER_WAIT) DIV 1000 FROM performance_schema.threads JOIN \
         performance_schema.events_statements_summary_by_thread_by_event_name USING (THREAD_ID) \
         WHERE {of_driver} AND EVENT_NAME NOT LIKE 'statement/sp/%' GROUP BY THREAD_ID"
    );
    let answer = session.query(&sql).await?;
    let active = answer.rows().map(|row| Ok((number(row.int(0)?), row.int(1)?.unsigned_abs())));
    let active_ns = active.collect::<SessionResult<_>>()?;
    let sql = format!(
        "SELECT THREAD_ID, EVENT_NAME, SUM_TIMER_WAIT DIV 1000 FROM performance_schema.threads \
         JOIN performance_schema.events_waits_summary_by_thread_by_event_name USING (THREAD_ID) \
         WHERE {of_driver} AND SUM_TIMER_WAIT > 0"
    );
    let answer = session.query(&sql).await?;
    let mut waits_ns = BTreeMap::new();
    for row in answer.rows() {
        if let Some(label) = label_of(&row.text(1)) {
            *waits_ns.entry((number(row.int(0)?), label.to_owned())).or_default() +=
                row.int(2)?.unsigned_abs();
        }
    }
    Ok(TimedThreads { threads, active_ns, waits_ns })
}
