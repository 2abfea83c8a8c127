//! The floor: a bare loop on sockets with one statement in flight on each, on one thread.

use crate::meter::{Meter, Span, interrupted};
use crate::raw::{Lane, PATIENCE};
use anyhow::{Context, Result, bail};
use rustix::event::{Timespec, epoll};
use rustix::io::Errno;
use std::io::ErrorKind;
use std::mem::MaybeUninit;
use std::os::fd::AsFd;
use wire::ConnectOptions;

/// Runs the loop and measures this thread.
pub fn cpu_us_per_statement(login: &ConnectOptions, connections: u32, span: Span) -> Result<f64> {
    let mut lanes = Vec::new();
    for connection in 0..connections {
        lanes.push(Lane::open(login, connection.into())?);
    }
    let mut meter = Meter::start(span);
    drive(lanes, &mut meter)?;
    if interrupted() {
        bail!("interrupted");
    }
    meter.cpu_us_per_statement().context("too few statements for a window")
}

fn drive(mut lanes: Vec<Lane>, meter: &mut Meter) -> Result<()> {
    const EVENTS: usize = 256;
    let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    for (index, lane) in lanes.iter_mut().enumerate() {
        lane.never_block()?;
        let data = epoll::EventData::new_u64(index as u64);
        let flags = epoll::EventFlags::IN | epoll::EventFlags::ET;
        epoll::add(&epoll, lane.socket().as_fd(), data, flags)?;
        lane.send()?;
    }
    let patience = Timespec { tv_sec: PATIENCE.as_secs().cast_signed(), tv_nsec: 0 };
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
            if !answer(&mut lanes[data.u64() as usize], meter)? {
                return Ok(());
            }
        }
    }
}

/// Reads what there is, and sends the next statement where one is answered. False where it is time
/// to end.
fn answer(lane: &mut Lane, meter: &mut Meter) -> Result<bool> {
    loop {
        let (bytes, space) = match lane.read() {
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(true),
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            other => other?,
        };
        if lane.received(bytes)? {
            if !meter.answered() {
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
