//! Handing work from task to task of one thread: a queue that many tasks serve, and a signal that
//! one waits for.

use crate::core::{Core, TaskIndex};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Instant;

/// Work for whichever task is free. What was deferred is taken where nothing else waits, or where
/// it has waited as long as it may.
pub struct Queue<T> {
    core: Rc<Core>,
    urgent: RefCell<VecDeque<T>>,
    /// With the moment from which an item goes before all others.
    deferred: RefCell<VecDeque<(Instant, T)>>,
    waiting: RefCell<Waiting>,
    closed: Cell<bool>,
}

/// Tasks that wait, the longest first.
#[derive(Default)]
struct Waiting {
    order: VecDeque<TaskIndex>,
    /// Does each task still wait? A task that was served without being woken stays in `order` until
    /// its turn.
    waits: Vec<bool>,
}

impl Waiting {
    fn add(&mut self, task: TaskIndex) {
        if self.waits.len() <= task {
            self.waits.resize(task + 1, false);
        }
        if !std::mem::replace(&mut self.waits[task], true) {
            self.order.push_back(task);
        }
    }

    /// Returns whether it still waited.
    fn remove(&mut self, task: TaskIndex) -> bool {
        self.waits.get_mut(task).is_some_and(|waits| std::mem::replace(waits, false))
    }

    fn next(&mut self) -> Option<TaskIndex> {
        while let Some(task) = self.order.pop_front() {
            if self.remove(task) {
                return Some(task);
            }
        }
        None
    }
}

impl<T> Queue<T> {
    /// An empty queue of this thread.
    pub fn new() -> io::Result<Queue<T>> {
        Ok(Queue {
            core: Core::of_this_thread()?,
            urgent: RefCell::default(),
            deferred: RefCell::default(),
            waiting: RefCell::default(),
            closed: Cell::new(false),
        })
    }

    /// Adds an item to those that are taken first.
    pub fn push(&self, item: T) {
        self.urgent.borrow_mut().push_back(item);
        self.wake_one();
    }

    /// Adds an item that is taken where nothing else waits, and from `latest` on before anything
    /// else: those who come first must not come later than the next ones.
    pub fn push_deferred(&self, item: T, latest: Instant) {
        self.deferred.borrow_mut().push_back((latest, item));
        self.wake_one();
    }

    /// How many items wait: (urgent, deferred).
    pub fn len(&self) -> (usize, usize) {
        (self.urgent.borrow().len(), self.deferred.borrow().len())
    }

    /// Does nothing wait?
    pub fn is_empty(&self) -> bool {
        self.len() == (0, 0)
    }

    /// The next item without waiting.
    pub fn try_pop(&self) -> Option<T> {
        let mut deferred = self.deferred.borrow_mut();
        let is_late = |(latest, _): &(Instant, T)| *latest <= Instant::now();
        let item = match deferred.front() {
            Some(first) if is_late(first) => None,
            _ => self.urgent.borrow_mut().pop_front(),
        };
        item.or_else(|| deferred.pop_front().map(|(_, item)| item))
    }

    /// Waits for an item; `None` where the queue is closed and empty. Tasks are served in the order
    /// in which they came.
    pub fn pop(&self) -> impl Future<Output = Option<T>> {
        Pop { queue: self, waits_as: None }
    }

    /// No more items come: those that are here are served, then every [`Queue::pop`] ends.
    pub fn close(&self) {
        self.closed.set(true);
        let mut waiting = self.waiting.borrow_mut();
        while let Some(task) = waiting.next() {
            self.core.wake(task);
        }
    }

    fn wake_one(&self) {
        if let Some(task) = self.waiting.borrow_mut().next() {
            self.core.wake(task);
        }
    }
}

struct Pop<'a, T> {
    queue: &'a Queue<T>,
    waits_as: Option<TaskIndex>,
}

impl<T> Future for Pop<'_, T> {
    type Output = Option<T>;

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<T>> {
        let queue = self.queue;
        let item = queue.try_pop();
        if item.is_some() || queue.closed.get() {
            if let Some(task) = self.waits_as.take() {
                queue.waiting.borrow_mut().remove(task);
            }
            return Poll::Ready(item);
        }
        let task = queue.core.current.get();
        queue.waiting.borrow_mut().add(task);
        self.waits_as = Some(task);
        Poll::Pending
    }
}

impl<T> Drop for Pop<'_, T> {
    fn drop(&mut self) {
        let Some(task) = self.waits_as else { return };
        // Woken and never polled again: the item is another's to take.
        let was_woken = !self.queue.waiting.borrow_mut().remove(task);
        if was_woken && !self.queue.is_empty() {
            self.queue.wake_one();
        }
    }
}

/// Something that one task tells another, once or again and again.
#[derive(Default)]
pub struct Signal {
    is_set: Cell<bool>,
    waiting: Cell<Option<TaskIndex>>,
}

impl Signal {
    /// Wakes the task that waits, or lets the next wait end at once.
    pub fn set(&self) {
        self.is_set.set(true);
        // Who waits was polled by this thread's reactor, so there is one.
        if let (Some(task), Ok(core)) = (self.waiting.take(), Core::of_this_thread()) {
            core.wake(task);
        }
    }

    /// Waits until the signal is set, and takes it back. For one task at a time.
    pub async fn wait(&self) {
        poll_fn(|_| {
            if self.is_set.replace(false) {
                return Poll::Ready(());
            }
            // A thread without a reactor polls no task, so there is one here.
            if let Ok(core) = Core::of_this_thread() {
                self.waiting.set(Some(core.current.get()));
            }
            Poll::Pending
        })
        .await;
    }
}

#[cfg(test)]
mod tests {
    use super::{Queue, Signal};
    use crate::{Tasks, sleep_until, timeout_at};
    use std::cell::RefCell;
    use std::time::{Duration, Instant};

    fn soon(ms: u64) -> Instant {
        Instant::now() + Duration::from_millis(ms)
    }

    #[test]
    fn items_come_in_order_and_deferred_ones_last() {
        let queue = Queue::new().unwrap();
        let seen = RefCell::new(Vec::new());
        queue.push_deferred(9, soon(60_000));
        queue.push(1);
        queue.push(2);
        assert_eq!(queue.len(), (2, 1));
        let mut tasks = Tasks::new().unwrap();
        tasks.spawn(async {
            while let Some(item) = queue.pop().await {
                seen.borrow_mut().push(item);
            }
        });
        tasks.spawn(async {
            sleep_until(soon(5)).await;
            queue.push_deferred(8, soon(60_000));
            queue.push(3);
            queue.close();
        });
        assert_eq!(tasks.run_until(Some(soon(5_000))).unwrap(), 0);
        drop(tasks);
        assert_eq!(seen.into_inner(), [1, 2, 9, 3, 8]);
    }

    /// More work comes than is done: what was deferred would never be taken.
    #[test]
    fn what_was_deferred_too_long_goes_first() {
        let queue = Queue::new().unwrap();
        queue.push_deferred(9, Instant::now());
        queue.push_deferred(8, soon(60_000));
        for item in 0..3 {
            queue.push(item);
        }
        let taken: Vec<i32> = (0..5).filter_map(|_| queue.try_pop()).collect();
        assert_eq!(taken, [9, 0, 1, 2, 8]);
    }

    #[test]
    fn each_item_wakes_one_of_those_that_wait() {
        let queue = Queue::new().unwrap();
        let served = RefCell::new(vec![0; 3]);
        let mut tasks = Tasks::new().unwrap();
        for index in 0..3 {
            let (queue, served) = (&queue, &served);
            tasks.spawn(async move {
                while queue.pop().await.is_some() {
                    served.borrow_mut()[index] += 1;
                }
            });
        }
        tasks.spawn(async {
            for item in 0..9 {
                sleep_until(soon(1)).await;
                queue.push(item);
            }
            sleep_until(soon(1)).await;
            queue.close();
        });
        assert_eq!(tasks.run_until(Some(soon(5_000))).unwrap(), 0);
        drop(tasks);
        // In turn: who was served last waits longest.
        assert_eq!(served.into_inner(), [3, 3, 3]);
    }

    #[test]
    fn an_item_is_not_lost_with_the_task_that_it_woke() {
        let queue = Queue::<u32>::new().unwrap();
        let served = RefCell::new(Vec::new());
        let mut tasks = Tasks::new().unwrap();
        for index in 0..20 {
            let (queue, served) = (&queue, &served);
            tasks.spawn(async move {
                // Every other one gives up at about the moment at which the items come.
                let limit = soon(if index % 2 == 0 { 10 } else { 4_000 });
                while let Ok(Some(item)) = timeout_at(limit, queue.pop()).await {
                    served.borrow_mut().push(item);
                }
            });
        }
        tasks.spawn(async {
            for item in 0..10 {
                sleep_until(soon(2)).await;
                queue.push(item);
            }
            queue.close();
        });
        assert_eq!(tasks.run_until(Some(soon(5_000))).unwrap(), 0);
        drop(tasks);
        assert_eq!(served.into_inner().len(), 10);
    }

    #[test]
    fn a_signal_ends_a_wait_before_and_after_it_began() {
        let (first, second) = (Signal::default(), Signal::default());
        let mut tasks = Tasks::new().unwrap();
        first.set();
        tasks.spawn(async {
            first.wait().await;
            second.wait().await;
        });
        tasks.spawn(async {
            sleep_until(soon(5)).await;
            second.set();
        });
        assert_eq!(tasks.run_until(Some(soon(5_000))).unwrap(), 0);
    }
}
