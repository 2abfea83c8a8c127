//! Waiting for a moment.

use crate::core::Core;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Instant;

/// Waits until `at`.
pub async fn sleep_until(at: Instant) {
    let mut set = false;
    poll_fn(|_| poll_timer(at, &mut set)).await;
}

fn poll_timer(at: Instant, set: &mut bool) -> Poll<()> {
    if Instant::now() >= at {
        return Poll::Ready(());
    }
    if !*set {
        // A thread without a reactor polls no task, so there is one here.
        if let Ok(core) = Core::of_this_thread() {
            core.add_timer(at);
            *set = true;
        }
    }
    Poll::Pending
}

/// The moment came before the future was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimedOut;

/// Runs `future` until `at`, then drops it.
pub async fn timeout_at<F: Future>(at: Instant, future: F) -> Result<F::Output, TimedOut> {
    let mut future = pin!(future);
    let mut set = false;
    poll_fn(|context| {
        if let Poll::Ready(output) = future.as_mut().poll(context) {
            return Poll::Ready(Ok(output));
        }
        poll_timer(at, &mut set).map(|()| Err(TimedOut))
    })
    .await
}
