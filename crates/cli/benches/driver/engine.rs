//! `wire` and `reactor` as the driver uses them, with statements that do nothing.

use crate::allocations;
use crate::meter::{Measured, Reading, Span, interrupted};
use anyhow::{Context, Result, anyhow, bail};
use base::{Connect, Param, Session, SessionError, StatementId};
use reactor::Tasks;
use std::cell::{Cell, RefCell};
use std::thread;
use std::time::Instant;
use wire::{ConnectOptions, Connection, Connector};

/// What the engine's thread did in the window.
#[derive(Clone, Copy)]
pub struct Driven {
    pub measured: Measured,
    pub allocations: u64,
}

/// How connections are driven.
#[derive(Clone, Copy)]
pub struct Load {
    pub connections: u32,
    /// 1: statement by statement. More: pipelined, so many together.
    pub in_flight: u32,
}

/// Drives the stub server on a thread of its own.
pub fn measure(login: &ConnectOptions, load: Load, span: Span) -> Result<Driven> {
    let login = login.clone();
    let thread = thread::spawn(move || drive(login, load, span));
    thread
        .join()
        .map_err(|_| anyhow!("the engine's thread panicked"))?
}

fn drive(login: ConnectOptions, load: Load, span: Span) -> Result<Driven> {
    let connector = Connector::new(login)?;
    let mut sessions = Vec::new();
    for _ in 0..load.connections {
        let opened = reactor::block_on(open(&connector, load))?;
        sessions.push(opened.context("the stub server does not take a connection")?);
    }
    let statements = Cell::new(0u64);
    let failed = RefCell::new(None);
    let mut tasks = Tasks::new()?;
    for (session, statement) in sessions {
        let (statements, failed) = (&statements, &failed);
        tasks.spawn(async move {
            if let Err(error) = run(session, statement, load, statements).await {
                *failed.borrow_mut() = Some(error);
            }
        });
    }
    let start = Instant::now();
    tasks.run_until(Some(start + span.warmup))?;
    let begin = (
        Reading::now(statements.get()),
        allocations::of_this_thread(),
    );
    let alive = tasks.run_until(Some(Instant::now() + span.window))?;
    let end = (
        Reading::now(statements.get()),
        allocations::of_this_thread(),
    );
    drop(tasks);
    if let Some(error) = failed.into_inner() {
        bail!("the engine failed on the stub server: {error}");
    }
    if alive == 0 || interrupted() {
        bail!("interrupted");
    }
    Ok(Driven {
        measured: begin.0.until(&end.0),
        allocations: end.1 - begin.1,
    })
}

async fn open(connector: &Connector, load: Load) -> Result<(Connection, StatementId)> {
    let mut session = connector.connect().await?;
    session.set_pipelined(load.in_flight > 1);
    let statement = session.prepare("DO ?").await?;
    Ok((session, statement))
}

/// Runs until it is dropped, or Ctrl-C.
async fn run(
    mut session: Connection,
    statement: StatementId,
    load: Load,
    statements: &Cell<u64>,
) -> Result<(), SessionError> {
    let mut key = 0;
    while !interrupted() {
        key += 1;
        if load.in_flight == 1 {
            session.execute(statement, &[Param::Int(key)]).await?;
            statements.set(statements.get() + 1);
            continue;
        }
        for _ in 0..load.in_flight {
            session.queue(statement, &[Param::Int(key)])?;
        }
        for _ in 0..load.in_flight {
            session.answer().await?;
            statements.set(statements.get() + 1);
        }
    }
    Ok(())
}
