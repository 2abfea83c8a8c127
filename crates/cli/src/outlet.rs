//! A thread that writes for others, so that a terminal or a pipe whose reader stalls holds up this
//! thread and nobody else: not the one that marks where a window begins and ends. What waits to be
//! written is bounded: a newer picture of a thing takes the place of an older one, and of what
//! comes one after the other the oldest is left out and counted.

use crate::failure::Failure;
use base::{Exit, lock};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::Timespec;
use std::collections::VecDeque;
use std::os::fd::AsFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// Most items that wait.
const WAITING_MAX: usize = 1_000;

/// What is written.
pub trait OutletItem: Send + 'static {
    /// Does it make `waiting`, the newest that waits, needless?
    fn replaces(&self, _waiting: &Self) -> bool {
        false
    }
}

/// How long the last items may take when the outlet is dropped.
const DROP_PATIENCE: Duration = Duration::from_millis(500);

/// The end where items are handed over. When it is dropped, its thread writes what waits and ends.
pub struct Outlet<T: OutletItem> {
    shared: Arc<SharedQueue<T>>,
}

struct SharedQueue<T> {
    queue: Mutex<OutletQueue<T>>,
    changed: Condvar,
}

struct OutletQueue<T> {
    waiting: VecDeque<T>,
    /// Left out before the first that waits.
    left_out: u64,
    /// An item is being written.
    is_busy: bool,
    /// Nothing more comes.
    is_closed: bool,
    /// The thread is no more.
    has_ended: bool,
}

impl<T> SharedQueue<T> {
    fn lock(&self) -> MutexGuard<'_, OutletQueue<T>> {
        lock(&self.queue)
    }

    /// The next item, and how many were left out before it; `None` at the end.
    fn next(&self) -> Option<(T, u64)> {
        let mut queue = self.lock();
        queue.is_busy = false;
        self.changed.notify_all();
        let is_idle = |queue: &mut OutletQueue<T>| queue.waiting.is_empty() && !queue.is_closed;
        let waited = self.changed.wait_while(queue, is_idle);
        let mut queue = waited.unwrap_or_else(PoisonError::into_inner);
        let item = queue.waiting.pop_front()?;
        queue.is_busy = true;
        Some((item, std::mem::take(&mut queue.left_out)))
    }
}

/// Tells of the thread's end, also where it panics.
struct Ends<'a, T>(&'a SharedQueue<T>);

impl<T> Drop for Ends<'_, T> {
    fn drop(&mut self) {
        self.0.lock().has_ended = true;
        self.0.changed.notify_all();
    }
}

impl<T: OutletItem> Outlet<T> {
    /// Starts the thread `name`; `write` is given each item, with the number of those that were
    /// left out before it.
    ///
    /// # Errors
    /// Where no thread can be made.
    pub fn start(
        name: &str,
        mut write: impl FnMut(T, u64) + Send + 'static,
    ) -> Result<Outlet<T>, Failure> {
        let shared = Arc::new(SharedQueue {
            queue: Mutex::new(OutletQueue {
                waiting: VecDeque::new(),
                left_out: 0,
                is_busy: false,
                is_closed: false,
                has_ended: false,
            }),
            changed: Condvar::new(),
        });
        let of_thread = Arc::clone(&shared);
        let builder = thread::Builder::new().name(name.to_owned());
        let started = builder.spawn(move || {
            let _ends = Ends(&*of_thread);
            while let Some((item, left_out)) = of_thread.next() {
                write(item, left_out);
            }
        });
        started.map(|_| Outlet { shared }).map_err(|error| {
            let message = format!("cannot make a thread for the output: {error}; see `ulimit -u`");
            Failure::new(Exit::Environment, message)
        })
    }

    /// Hands an item over; never waits for a reader.
    pub fn push(&self, item: T) {
        let mut queue = self.shared.lock();
        if queue.has_ended {
            return;
        }
        if queue.waiting.back().is_some_and(|newest| item.replaces(newest)) {
            queue.waiting.pop_back();
        } else if queue.waiting.len() == WAITING_MAX {
            queue.waiting.pop_front();
            queue.left_out += 1;
        }
        queue.waiting.push_back(item);
        self.shared.changed.notify_all();
    }

    /// Waits until all that was handed over is written, but no longer than `patience`.
    pub fn settle(&self, patience: Duration) {
        let is_under_way = |queue: &mut OutletQueue<T>| {
            !queue.has_ended && (queue.is_busy || !queue.waiting.is_empty())
        };
        drop(self.shared.changed.wait_timeout_while(self.shared.lock(), patience, is_under_way));
    }
}

impl<T: OutletItem> Drop for Outlet<T> {
    fn drop(&mut self) {
        self.shared.lock().is_closed = true;
        self.shared.changed.notify_all();
        self.settle(DROP_PATIENCE);
    }
}

/// Does a terminal or a pipe take a few bytes now, or within `patience`?
pub fn is_writable(out: &impl AsFd, patience: Duration) -> bool {
    let mut fds = [PollFd::new(out, PollFlags::OUT)];
    let patience = Timespec::try_from(patience);
    patience.is_ok_and(|patience| poll(&mut fds, Some(&patience)).is_ok_and(|ready| ready > 0))
}

#[cfg(test)]
mod tests {
    use super::{Outlet, OutletItem, WAITING_MAX};
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::time::{Duration, Instant};

    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Said {
        Line(usize),
        Picture(usize),
    }

    impl OutletItem for Said {
        fn replaces(&self, waiting: &Said) -> bool {
            matches!((self, waiting), (Said::Picture(_), Said::Picture(_)))
        }
    }

    /// An outlet that writes an item when it is let, and what it has written.
    fn stalled() -> (Outlet<Said>, Sender<()>, Receiver<(Said, u64)>) {
        let (letting, is_let) = channel::<()>();
        let (writing, written) = channel();
        let outlet = Outlet::start("test", move |item, left_out| {
            // Both fail where the test is over.
            let _ = is_let.recv();
            let _ = writing.send((item, left_out));
        });
        let outlet = outlet.unwrap_or_else(|failure| panic!("{}", failure.error));
        (outlet, letting, written)
    }

    /// Hands over a first item, and waits until it is being written.
    fn block(outlet: &Outlet<Said>) {
        outlet.push(Said::Line(0));
        let begun = Instant::now();
        while !outlet.shared.lock().is_busy {
            assert!(begun.elapsed() < Duration::from_secs(10));
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn a_reader_who_stalls_keeps_nobody_waiting() {
        let (outlet, letting, written) = stalled();
        block(&outlet);
        let begun = Instant::now();
        for number in 1..=WAITING_MAX + 7 {
            outlet.push(Said::Line(number));
        }
        outlet.settle(Duration::from_millis(50));
        assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
        assert!(written.try_recv().is_err());
        // Once it is read again, all comes but what was left out, which is told in its place.
        drop(letting);
        outlet.settle(Duration::MAX);
        let written: Vec<(Said, u64)> = written.try_iter().collect();
        assert_eq!(written.len(), WAITING_MAX + 1);
        assert_eq!(written[..2], [(Said::Line(0), 0), (Said::Line(8), 7)]);
        assert!(written[2..].iter().all(|(_, left_out)| *left_out == 0));
    }

    #[test]
    fn only_the_newest_picture_waits() {
        let (outlet, letting, written) = stalled();
        block(&outlet);
        for number in 0..5_000 {
            outlet.push(Said::Picture(number));
        }
        outlet.push(Said::Line(1));
        outlet.push(Said::Picture(7));
        drop(letting);
        outlet.settle(Duration::MAX);
        let items: Vec<Said> = written.try_iter().map(|(item, _)| item).collect();
        let expected = [Said::Line(0), Said::Picture(4_999), Said::Line(1), Said::Picture(7)];
        assert_eq!(items, expected);
    }

    #[test]
    fn a_writer_that_ends_is_not_waited_for() {
        let outlet = Outlet::start("test", |_: Said, _| panic!("as a test wants it"));
        let outlet = outlet.unwrap_or_else(|failure| panic!("{}", failure.error));
        outlet.push(Said::Line(1));
        outlet.settle(Duration::MAX);
        outlet.push(Said::Line(2));
        assert!(outlet.shared.lock().waiting.is_empty());
    }
}
