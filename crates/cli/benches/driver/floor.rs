//! The floor: a bare loop on sockets, in three forms.

use crate::meter::{Measured, Meter, Span, interrupted};
use crate::raw::{Lane, PATIENCE};
use crate::uring;
use anyhow::{Context, Result, anyhow, bail};
use rustix::event::{Timespec, epoll};
use rustix::io::Errno;
use std::io::ErrorKind;
use std::mem::MaybeUninit;
use std::os::fd::AsFd;
use std::sync::{Arc, Barrier};
use std::thread;
use wire::ConnectOptions;

/// How a thread waits for answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Epoll,
    /// One thread per connection.
    Threads,
    IoUring,
}

impl Form {
    pub fn name(self) -> &'static str {
        match self {
            Form::Epoll => "epoll, one thread",
            Form::Threads => "blocking sockets, a thread each",
            Form::IoUring => "io_uring, one thread",
        }
    }
}

/// What is measured at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    pub form: Form,
    pub connections: u32,
    /// Statements sent together over a connection, which then waits for all their answers.
    pub in_flight: u32,
    /// Threads that share the connections; of no meaning where each has one of its own.
    pub workers: u32,
}

/// Runs the loop and measures its threads.
pub fn measure(login: &ConnectOptions, shape: Shape, span: Span) -> Result<Measured> {
    if shape.form == Form::IoUring {
        uring::probe()?;
    }
    let mut lanes = Vec::new();
    for connection in 0..shape.connections {
        lanes.push(Lane::open(login, shape.in_flight, connection.into())?);
    }
    let workers = match shape.form {
        Form::Threads => shape.connections,
        Form::Epoll | Form::IoUring => shape.workers,
    };
    let mut shares: Vec<Vec<Lane>> = (0..workers).map(|_| Vec::new()).collect();
    for (index, lane) in lanes.into_iter().enumerate() {
        shares[index % workers as usize].push(lane);
    }
    let start = Arc::new(Barrier::new(workers as usize));
    let threads: Vec<_> = shares
        .into_iter()
        .map(|share| {
            let start = Arc::clone(&start);
            thread::spawn(move || {
                start.wait();
                let mut meter = Meter::start(span);
                match shape.form {
                    Form::Epoll => epoll(share, &mut meter)?,
                    Form::Threads => blocking(share, &mut meter)?,
                    Form::IoUring => uring::drive(share, &mut meter)?,
                }
                meter
                    .measured()
                    .ok_or_else(|| anyhow!("interrupted, or too few statements for a window"))
            })
        })
        .collect();
    let mut all = Measured::default();
    for thread in threads {
        let measured = thread
            .join()
            .map_err(|_| anyhow!("a thread of the floor panicked"))?;
        all = all.and(measured?);
    }
    if interrupted() {
        bail!("interrupted");
    }
    Ok(all)
}

fn blocking(share: Vec<Lane>, meter: &mut Meter) -> Result<()> {
    for mut lane in share {
        let batch = lane.in_flight();
        loop {
            lane.send()?;
            loop {
                let bytes = match lane.read() {
                    Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                    other => other.context("no answer")?,
                };
                if lane.received(bytes)? {
                    break;
                }
            }
            if !meter.answered(batch) {
                break;
            }
        }
    }
    Ok(())
}

fn epoll(mut share: Vec<Lane>, meter: &mut Meter) -> Result<()> {
    const EVENTS: usize = 256;
    let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    for (index, lane) in share.iter_mut().enumerate() {
        lane.never_block()?;
        let data = epoll::EventData::new_u64(index as u64);
        let flags = epoll::EventFlags::IN | epoll::EventFlags::ET;
        epoll::add(&epoll, lane.socket().as_fd(), data, flags)?;
        lane.send()?;
    }
    let patience = Timespec {
        tv_sec: PATIENCE.as_secs().cast_signed(),
        tv_nsec: 0,
    };
    let mut events = [MaybeUninit::<epoll::Event>::uninit(); EVENTS];
    loop {
        let (ready, _) = match epoll::wait(&epoll, &mut events, Some(&patience)) {
            Err(Errno::INTR) => continue,
            other => other?,
        };
        if ready.is_empty() {
            bail!("no answer within {PATIENCE:?}");
        }
        for event in ready {
            let data = event.data;
            if !answer(&mut share[data.u64() as usize], meter)? {
                return Ok(());
            }
        }
    }
}

/// Reads what there is, and sends the next batch where one is answered. False where it is time to end.
fn answer(lane: &mut Lane, meter: &mut Meter) -> Result<bool> {
    loop {
        let space = lane.space().len();
        let bytes = match lane.read() {
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(true),
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            other => other?,
        };
        if lane.received(bytes)? {
            if !meter.answered(lane.in_flight()) {
                return Ok(false);
            }
            lane.send()?;
        }
        if bytes < space {
            // Drained: the next event comes with the next bytes.
            return Ok(true);
        }
    }
}
