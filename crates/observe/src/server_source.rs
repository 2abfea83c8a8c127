//! What the server says of itself, in names that all engines share.
//!
//! A source has a session of its own, which stays open from reading to reading and is dropped after
//! an error. A session belongs to the thread that opened it (see the crate `reactor`) while a
//! source may be handed from thread to thread, so the thread keeps the session and the source has
//! its number.

mod innodb_status;
mod names;
mod session;

use crate::error::{ObserveError, ObserveResult};
use crate::readings::{Readings, SampleSource};
use session::ServerSession;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use wire::{ConnectOptions, Connector};

pub use session::global_status;

thread_local! {
    /// Sessions of the sources that this thread reads, by the number of the source.
    static SESSIONS: RefCell<BTreeMap<u64, ServerSession>> =
        const { RefCell::new(BTreeMap::new()) };
}

/// A server that can be asked over a session of its own.
pub struct ServerSource {
    connect: ConnectOptions,
    /// Made at the first reading: resolving a name may take its time, which is the reading
    /// thread's.
    connector: Option<Connector>,
    number: u64,
}

impl ServerSource {
    /// The server at this address; its schema is of no interest.
    pub fn new(connect: ConnectOptions) -> ServerSource {
        static SOURCES: AtomicU64 = AtomicU64::new(0);
        ServerSource {
            connect: ConnectOptions { schema: None, ..connect },
            connector: None,
            number: SOURCES.fetch_add(1, Ordering::Relaxed),
        }
    }
}

impl SampleSource for ServerSource {
    fn title(&self) -> &'static str {
        "the server's status"
    }

    fn read(&mut self, into: &mut Readings, stop: &AtomicBool) -> ObserveResult<()> {
        let connector = match &mut self.connector {
            Some(connector) => connector,
            none => none.insert(Connector::new(self.connect.clone()).map_err(failed)?),
        };
        let kept = SESSIONS.with_borrow_mut(|sessions| sessions.remove(&self.number));
        // A session that fails is dropped.
        let session = until_stopped(stop, async {
            let mut session = match kept {
                Some(session) => session,
                None => ServerSession::open(connector).await?,
            };
            session.read(into).await?;
            Ok(session)
        })?;
        SESSIONS.with_borrow_mut(|sessions| sessions.insert(self.number, session));
        Ok(())
    }
}

impl Drop for ServerSource {
    /// Says good-bye, so that the server counts no aborted client.
    fn drop(&mut self) {
        let number = self.number;
        // A source that is dropped by another thread than the one that read it leaves its session
        // to the end of that one.
        let kept = SESSIONS.try_with(|sessions| sessions.borrow_mut().remove(&number));
        if let Ok(Some(session)) = kept {
            let at_once = AtomicBool::new(true);
            // The word is sent or it is not: nobody waits for it.
            let _ = until_stopped(&at_once, async {
                session.close().await;
                Ok(())
            });
        }
    }
}

/// Runs `future` on this thread; gives it up soon after `stop` is set.
pub(crate) fn until_stopped<T>(
    stop: &AtomicBool,
    future: impl Future<Output = ObserveResult<T>>,
) -> ObserveResult<T> {
    let ended = reactor::block_on_unless(stop, future).map_err(failed)?;
    ended.unwrap_or_else(|| Err(failed("it had not answered when it was no longer needed")))
}

fn failed(error: impl Display) -> ObserveError {
    ObserveError::Server(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::thread;
    use std::time::{Duration, Instant};
    use wire::{Address, Password, Security};

    fn at(port: u16) -> ServerSource {
        ServerSource::new(ConnectOptions {
            address: Address::Tcp { host: "127.0.0.1".to_owned(), port },
            user: "u".to_owned(),
            password: Password::default(),
            schema: Some("s".to_owned()),
            security: Security::default(),
        })
    }

    #[test]
    fn nobody_there_is_an_error_and_not_the_end() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut source = at(listener.local_addr().unwrap().port());
        drop(listener);
        let stop = AtomicBool::new(false);
        for _ in 0..2 {
            let mut into = Readings::default();
            let error = source.read(&mut into, &stop).unwrap_err().to_string();
            assert!(
                error.starts_with("cannot read the server's status: cannot reach the server"),
                "{error}"
            );
            assert!(into.values().is_empty());
        }
    }

    #[test]
    fn a_server_that_never_greets_is_given_up_soon_after_the_stop() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut source = at(listener.local_addr().unwrap().port());
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            let reader = scope.spawn(|| {
                let error = source.read(&mut Readings::default(), &stop);
                (error.is_err(), Instant::now())
            });
            thread::sleep(Duration::from_millis(120));
            assert!(!reader.is_finished());
            let stopped = Instant::now();
            stop.store(true, Ordering::Relaxed);
            let (is_error, ended) = reader.join().unwrap();
            assert!(is_error);
            assert!(ended - stopped < Duration::from_secs(2));
        });
    }

    /// The sampler hands sources to threads.
    #[test]
    fn a_source_can_go_to_another_thread() {
        fn is_send<T: Send>(_: &T) {}
        let source = at(1);
        is_send(&source);
        thread::spawn(move || drop(source)).join().unwrap();
    }
}
