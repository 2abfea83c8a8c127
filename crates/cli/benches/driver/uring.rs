//! The floor on io_uring: a send linked with the receive of its answer, and one system call for all that is ready.

use crate::meter::Meter;
use crate::raw::{Lane, PATIENCE};
use anyhow::{Context, Result, anyhow, bail};
use io_uring::types::{Fd, SubmitArgs, Timespec};
use io_uring::{IoUring, cqueue, opcode, squeue};
use rustix::net::{Shutdown, shutdown};
use std::io;
use std::os::fd::AsRawFd;

/// Marks the completion of a send, which comes only where it failed.
const SEND: u64 = 1 << 32;

fn ring(entries: u32) -> io::Result<IoUring> {
    // From Linux 6.1 on completions are worked off in the thread that waits for them, without an interrupt for each.
    IoUring::builder()
        .setup_single_issuer()
        .setup_defer_taskrun()
        .build(entries)
        .or_else(|_| IoUring::new(entries))
}

/// Does this machine let us use io_uring?
pub fn probe() -> Result<()> {
    ring(8)
        .map(drop)
        .context("the kernel refuses io_uring (see sysctl kernel.io_uring_disabled, or a sandbox)")
}

/// Drives the connections until the meter says that it is time.
pub fn drive(share: Vec<Lane>, meter: &mut Meter) -> Result<()> {
    let mut ring = ring((share.len() as u32 * 2).next_power_of_two().max(8))?;
    let mut state = State {
        receiving: 0,
        lanes: share,
    };
    let driven = state.run(&mut ring, meter);
    // The kernel writes into buffers of the lanes until their last receive has ended.
    let drained = state.drain(&mut ring);
    if drained.is_err() {
        std::mem::forget(state);
    }
    driven.and(drained)
}

struct State {
    lanes: Vec<Lane>,
    /// Receives that the kernel has. Each ends with one completion: its own, or that of its send, which failed and took
    /// it along without a word.
    receiving: u32,
}

impl State {
    fn run(&mut self, ring: &mut IoUring, meter: &mut Meter) -> Result<()> {
        for index in 0..self.lanes.len() {
            self.push_batch(ring, index)?;
        }
        let mut completed: Vec<(u64, i32)> = Vec::with_capacity(self.lanes.len() * 2);
        loop {
            wait(ring)?;
            completed.extend(ring.completion().map(|entry| key_and_result(&entry)));
            // Whatever comes of it: `drain` waits for the rest.
            self.receiving -= completed.len() as u32;
            for (key, result) in completed.drain(..) {
                if !self.completed(ring, meter, key, result)? {
                    return Ok(());
                }
            }
        }
    }

    /// Goes on with one connection; false where it is time to end.
    fn completed(
        &mut self,
        ring: &mut IoUring,
        meter: &mut Meter,
        key: u64,
        result: i32,
    ) -> Result<bool> {
        if key & SEND != 0 {
            bail!("sending failed: {}", io::Error::from_raw_os_error(-result));
        }
        let bytes = usize::try_from(result)
            .map_err(|_| anyhow!(io::Error::from_raw_os_error(-result)))
            .context("receiving failed")?;
        let index = key as usize;
        if !self.lanes[index].received(bytes)? {
            self.push_receive(ring, index)?;
        } else if meter.answered(self.lanes[index].in_flight()) {
            self.push_batch(ring, index)?;
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    /// Queues the next batch and the receive of its answers.
    fn push_batch(&mut self, ring: &mut IoUring, index: usize) -> Result<()> {
        let lane = &mut self.lanes[index];
        let fd = Fd(lane.socket().as_raw_fd());
        let batch = lane.next_batch();
        let send = opcode::Send::new(fd, batch.as_ptr(), batch.len() as u32)
            .build()
            .flags(squeue::Flags::IO_LINK | squeue::Flags::SKIP_SUCCESS)
            .user_data(SEND | index as u64);
        push(ring, &send)?;
        self.push_receive(ring, index)
    }

    fn push_receive(&mut self, ring: &mut IoUring, index: usize) -> Result<()> {
        let lane = &mut self.lanes[index];
        let fd = Fd(lane.socket().as_raw_fd());
        let space = lane.space();
        let receive = opcode::Recv::new(fd, space.as_mut_ptr(), space.len() as u32)
            .build()
            .user_data(index as u64);
        push(ring, &receive)?;
        self.receiving += 1;
        Ok(())
    }

    /// Ends the receives that are under way.
    fn drain(&mut self, ring: &mut IoUring) -> Result<()> {
        for lane in &self.lanes {
            // One that is closed already has no receive to end.
            let _ = shutdown(lane.socket(), Shutdown::Both);
        }
        while self.receiving > 0 {
            wait(ring)?;
            self.receiving -= ring.completion().count() as u32;
        }
        Ok(())
    }
}

fn key_and_result(entry: &cqueue::Entry) -> (u64, i32) {
    (entry.user_data(), entry.result())
}

#[expect(
    unsafe_code,
    reason = "the kernel reads and writes the entry's buffers, which live and stay until `drain` has seen their end"
)]
fn push(ring: &mut IoUring, entry: &squeue::Entry) -> Result<()> {
    // SAFETY: the buffers belong to lanes, whose vectors are neither resized nor dropped while an operation is under way.
    let pushed = unsafe { ring.submission().push(entry) };
    pushed.context("the submission queue is full")
}

/// Submits what is queued and waits for a completion.
fn wait(ring: &IoUring) -> Result<()> {
    let patience = Timespec::from(PATIENCE);
    let submitted = ring
        .submitter()
        .submit_with_args(1, &SubmitArgs::new().timespec(&patience));
    match submitted {
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
        other => other.map(drop).context("no answer"),
    }
}
