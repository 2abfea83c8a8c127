//! Running tasks to their end.

use crate::core::Core;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

/// How often a stop is looked for.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// A set of tasks that run together on this thread.
pub struct Tasks<'a> {
    core: Rc<Core>,
    tasks: Vec<Option<Pin<Box<dyn Future<Output = ()> + 'a>>>>,
    alive: usize,
}

impl<'a> Tasks<'a> {
    /// No tasks yet.
    pub fn new() -> io::Result<Tasks<'a>> {
        Ok(Tasks { core: Core::of_this_thread()?, tasks: Vec::new(), alive: 0 })
    }

    /// Adds a task; it runs within [`Tasks::run_until`].
    pub fn spawn(&mut self, task: impl Future<Output = ()> + 'a) {
        self.core.ready.borrow_mut().push_back(self.tasks.len());
        self.tasks.push(Some(Box::pin(task)));
        self.alive += 1;
    }

    /// Runs until every task has ended or, where one is given, until `deadline`. Returns how many
    /// are still alive; they go on with the next call, and end where they stand when `self` is
    /// dropped.
    pub fn run_until(&mut self, deadline: Option<Instant>) -> io::Result<usize> {
        while self.alive > 0 {
            let batch = self.core.ready.borrow().len();
            for _ in 0..batch {
                let next = self.core.ready.borrow_mut().pop_front();
                if let Some(index) = next {
                    self.poll(index);
                }
            }
            if self.alive == 0 || deadline.is_some_and(|at| Instant::now() >= at) {
                break;
            }
            self.core.wait(deadline)?;
        }
        Ok(self.alive)
    }

    fn poll(&mut self, index: usize) {
        let Some(slot) = self.tasks.get_mut(index) else {
            return;
        };
        let Some(task) = slot else { return };
        self.core.current.set(index);
        if task.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready() {
            *slot = None;
            self.alive -= 1;
        }
    }
}

/// Runs one future to its end on this thread. Not within a task.
pub fn block_on<F: Future>(future: F) -> io::Result<F::Output> {
    let mut output = None;
    let mut tasks = Tasks::new()?;
    tasks.spawn(async { output = Some(future.await) });
    tasks.run_until(None)?;
    drop(tasks);
    output.ok_or_else(|| io::Error::other("the reactor ended before its only task"))
}

/// As [`block_on`], but gives the future up soon after `stop` is set; `None` then.
pub fn block_on_unless<F: Future>(stop: &AtomicBool, future: F) -> io::Result<Option<F::Output>> {
    let mut output = None;
    let mut tasks = Tasks::new()?;
    tasks.spawn(async { output = Some(future.await) });
    let look = || Some(Instant::now() + LOOK_EVERY);
    while tasks.run_until(look())? > 0 && !stop.load(Ordering::Relaxed) {}
    drop(tasks);
    Ok(output)
}

/// Runs `work` on so many threads, one at least, each with a reactor of its own. Meanwhile this
/// thread calls `wait` again and again, which takes its time. Fails as the first thread that is not
/// stopped by the failure of another, which `is_stop` tells.
pub fn on_threads<T: Send, E: From<io::Error> + Send, F: Future<Output = Result<T, E>>>(
    threads: u32,
    work: impl Fn() -> F + Sync,
    is_stop: impl Fn(&E) -> bool,
    mut wait: impl FnMut(),
) -> Result<Vec<T>, E> {
    thread::scope(|scope| {
        let on_one = || block_on(work()).map_err(E::from)?;
        let workers: Vec<_> = (0..threads.max(1)).map(|_| scope.spawn(on_one)).collect();
        while workers.iter().any(|worker| !worker.is_finished()) {
            wait();
        }
        let mut all = Vec::new();
        let mut failure = None;
        for worker in workers {
            match worker.join().unwrap_or_else(|_| Err(io::Error::other("it panicked").into())) {
                Ok(done) => all.push(done),
                Err(error) if failure.as_ref().is_none_or(&is_stop) => failure = Some(error),
                Err(_) => {}
            }
        }
        failure.map_or(Ok(all), Err)
    })
}

/// Runs futures side by side in one task. What wakes one has all of them polled: for a few.
pub async fn join_all<F: Future>(futures: impl IntoIterator<Item = F>) -> Vec<F::Output> {
    let mut futures: Vec<_> = futures.into_iter().map(Box::pin).collect();
    let mut outputs: Vec<_> = futures.iter().map(|_| None).collect();
    poll_fn(|context| {
        for (future, output) in futures.iter_mut().zip(&mut outputs) {
            if output.is_none()
                && let Poll::Ready(value) = future.as_mut().poll(context)
            {
                *output = Some(value);
            }
        }
        if outputs.iter().all(Option::is_some) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    outputs.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use crate::{
        PolledSocket, Tasks, TimedOut, block_on, join_all, on_threads, sleep_until, timeout_at,
    };
    use std::cell::RefCell;
    use std::io::{self, ErrorKind, Read, Write};
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::time::{Duration, Instant};

    #[test]
    fn sleepers_wake_in_order_of_time() {
        let order = RefCell::new(Vec::new());
        let start = Instant::now();
        let mut tasks = Tasks::new().unwrap();
        for ms in [30u64, 10, 20] {
            let order = &order;
            tasks.spawn(async move {
                sleep_until(start + Duration::from_millis(ms)).await;
                order.borrow_mut().push(ms);
            });
        }
        assert_eq!(tasks.run_until(None).unwrap(), 0);
        drop(tasks);
        assert_eq!(order.into_inner(), [10, 20, 30]);
        assert!(start.elapsed() >= Duration::from_millis(30));
    }

    #[test]
    fn what_is_joined_runs_side_by_side_and_keeps_its_order() {
        let start = Instant::now();
        let sleeps = [60u64, 20, 40].map(|ms| async move {
            sleep_until(start + Duration::from_millis(ms)).await;
            (ms, start.elapsed())
        });
        let ended = block_on(join_all(sleeps)).unwrap();
        assert_eq!(ended.iter().map(|of| of.0).collect::<Vec<_>>(), [60, 20, 40]);
        assert!(ended[1].1 < ended[2].1 && ended[2].1 < ended[0].1, "{ended:?}");
        assert!(block_on(join_all(Vec::<std::future::Ready<()>>::new())).unwrap().is_empty());
    }

    #[test]
    fn threads_fail_as_the_first_that_no_other_stopped() {
        let numbers = AtomicU32::new(0);
        let number = || numbers.fetch_add(1, Ordering::Relaxed);
        let is_stop = |error: &io::Error| error.kind() == ErrorKind::Interrupted;
        let mut waits = 0;
        let ended =
            on_threads(3, || async { Ok::<_, io::Error>(number()) }, is_stop, || waits += 1);
        let mut ended = ended.unwrap();
        ended.sort_unstable();
        assert_eq!(ended, [0, 1, 2]);
        let failing = || async {
            match number() % 2 {
                0 => Err::<(), _>(io::Error::from(ErrorKind::Interrupted)),
                _ => Err(io::Error::other("why")),
            }
        };
        let failed = on_threads(4, failing, is_stop, || {}).unwrap_err();
        assert_eq!(failed.to_string(), "why");
        let panicking = || async { panic!("of a test") };
        let failed = on_threads::<(), io::Error, _>(1, panicking, is_stop, || {}).unwrap_err();
        assert_eq!(failed.to_string(), "it panicked");
    }

    #[test]
    fn a_stuck_task_outlives_the_deadline_and_ends_when_dropped() {
        let (ours, _theirs) = UnixStream::pair().unwrap();
        ours.set_nonblocking(true).unwrap();
        let source = PolledSocket::register(ours.as_fd()).unwrap();
        let mut tasks = Tasks::new().unwrap();
        tasks.spawn(async {
            source.clear_readable();
            source.readable().await;
            unreachable!("nothing is ever sent");
        });
        let deadline = Instant::now() + Duration::from_millis(20);
        assert_eq!(tasks.run_until(Some(deadline)).unwrap(), 1);
    }

    #[test]
    fn sleeps_end_within_a_fraction_of_a_millisecond() {
        let late = block_on(async {
            let mut late = Vec::new();
            for n in 0..200u64 {
                let at = Instant::now() + Duration::from_nanos(200_000 + n * 7_777);
                sleep_until(at).await;
                late.push(at.elapsed());
            }
            late.sort_unstable();
            late
        })
        .unwrap();
        // A busy machine delays some of them.
        assert!(late[50] < Duration::from_micros(300), "{late:?}");
    }

    #[test]
    fn timeouts_cut_a_sleep() {
        let now = Instant::now();
        let long = sleep_until(now + Duration::from_secs(60));
        let cut = block_on(timeout_at(now + Duration::from_millis(10), long)).unwrap();
        assert_eq!(cut, Err(TimedOut));
        assert_eq!(
            block_on(timeout_at(now + Duration::from_secs(60), async { 7 })).unwrap(),
            Ok(7)
        );
    }

    #[test]
    fn a_close_that_came_with_the_last_bytes_is_seen() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        ours.set_nonblocking(true).unwrap();
        let source = PolledSocket::register(ours.as_fd()).unwrap();
        let seen = block_on(timeout_at(Instant::now() + Duration::from_secs(5), async {
            let mut buffer = [0u8; 64];
            source.clear_readable();
            theirs.write_all(b"half").unwrap();
            drop(theirs);
            let mut reads = Vec::new();
            while reads.last() != Some(&0) {
                source.readable().await;
                reads.push((&ours).read(&mut buffer).unwrap());
                source.clear_readable();
            }
            reads
        }));
        assert_eq!(seen.unwrap(), Ok(vec![4, 0]));
    }

    async fn echo_all(stream: &UnixStream, source: &PolledSocket, bytes: usize) -> usize {
        let mut buffer = [0u8; 4096];
        let mut seen = 0;
        while seen < bytes {
            source.readable().await;
            match (&*stream).read(&mut buffer) {
                Ok(n) => seen += n,
                Err(e) if e.kind() == ErrorKind::WouldBlock => source.clear_readable(),
                Err(e) => panic!("{e}"),
            }
        }
        seen
    }

    #[test]
    fn bytes_cross_in_both_directions_even_when_the_pipe_is_full() {
        const BYTES: usize = 4 << 20;
        let (a, b) = UnixStream::pair().unwrap();
        a.set_nonblocking(true).unwrap();
        b.set_nonblocking(true).unwrap();
        let (source_a, source_b) = (
            PolledSocket::register(a.as_fd()).unwrap(),
            PolledSocket::register(b.as_fd()).unwrap(),
        );
        let mut tasks = Tasks::new().unwrap();
        let seen = RefCell::new(0);
        tasks.spawn(async {
            let data = vec![7u8; BYTES];
            let mut sent = 0;
            while sent < BYTES {
                match (&a).write(&data[sent..]) {
                    Ok(n) => sent += n,
                    Err(e) if e.kind() == ErrorKind::WouldBlock => {
                        source_a.writable(a.as_fd()).await.unwrap();
                    }
                    Err(e) => panic!("{e}"),
                }
            }
        });
        tasks.spawn(async { *seen.borrow_mut() = echo_all(&b, &source_b, BYTES).await });
        assert_eq!(tasks.run_until(Some(Instant::now() + Duration::from_secs(10))).unwrap(), 0);
        drop(tasks);
        assert_eq!(seen.into_inner(), BYTES);
    }
}
