//! A host's name, which is resolved again for each connection: after a failover another server
//! may have it. The system's resolver blocks, so a thread of its own asks it.

use base::lock;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// How old an answer may be: of connections that are opened together one asks for all.
const ANSWER_AGE_MAX: Duration = Duration::from_millis(100);
/// How often it is looked whether there is an answer.
const LOOK_EVERY: Duration = Duration::from_millis(10);

type Lookup = fn(&str, u16) -> io::Result<Vec<SocketAddr>>;

#[derive(Debug)]
pub(crate) struct HostName {
    host: String,
    port: u16,
    lookup: Lookup,
    last: Mutex<LastAnswer>,
}

#[derive(Debug)]
struct LastAnswer {
    found: Result<Vec<SocketAddr>, String>,
    at: Instant,
    /// A thread asks for the next one. There is one at a time, however long it takes.
    is_asked: bool,
}

impl HostName {
    /// A name that was resolved just now; `None` where the host is an address.
    pub(crate) fn of(host: &str, port: u16, found: &[SocketAddr]) -> Option<Arc<HostName>> {
        let is_name = host.parse::<IpAddr>().is_err();
        is_name.then(|| Arc::new(HostName::asked_by(look_up, host, port, found)))
    }

    fn asked_by(lookup: Lookup, host: &str, port: u16, found: &[SocketAddr]) -> HostName {
        let found = Ok(found.to_vec());
        let last = Mutex::new(LastAnswer { found, at: Instant::now(), is_asked: false });
        HostName { host: host.to_owned(), port, lookup, last }
    }

    /// What it leads to now.
    pub(crate) async fn addresses(self: &Arc<HostName>) -> io::Result<Vec<SocketAddr>> {
        loop {
            if let Some(found) = self.recent()? {
                return found.map_err(io::Error::other);
            }
            reactor::sleep_until(Instant::now() + LOOK_EVERY).await;
        }
    }

    /// The last answer, where it is recent; else sees to it that another comes.
    fn recent(self: &Arc<HostName>) -> io::Result<Option<Result<Vec<SocketAddr>, String>>> {
        let mut last = lock(&self.last);
        if last.is_asked {
            return Ok(None);
        }
        if last.at.elapsed() <= ANSWER_AGE_MAX {
            return Ok(Some(last.found.clone()));
        }
        let name = Arc::clone(self);
        let ask = move || {
            let found = (name.lookup)(&name.host, name.port).map_err(|error| error.to_string());
            *lock(&name.last) = LastAnswer { found, at: Instant::now(), is_asked: false };
        };
        thread::Builder::new().name("resolver".to_owned()).spawn(ask)?;
        last.is_asked = true;
        Ok(None)
    }
}

/// Asks the system's resolver, and waits.
pub(crate) fn look_up(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    let found: Vec<SocketAddr> = (host, port).to_socket_addrs()?.collect();
    match found.is_empty() {
        true => Err(io::Error::new(ErrorKind::NotFound, "the name has no address")),
        false => Ok(found),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::sync::atomic::{AtomicU16, Ordering};

    fn port(number: u16) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], number))
    }

    fn name(lookup: Lookup) -> Arc<HostName> {
        Arc::new(HostName::asked_by(lookup, "db", 3306, &[port(1)]))
    }

    fn ages() {
        thread::sleep(ANSWER_AGE_MAX + LOOK_EVERY);
    }

    /// A name that leads to another port each time, and is unknown once.
    #[test]
    fn a_name_is_resolved_again() {
        static ASKED: AtomicU16 = AtomicU16::new(1);
        let name = name(|host, _| {
            assert_eq!(host, "db");
            thread::sleep(LOOK_EVERY);
            match ASKED.fetch_add(1, Ordering::Relaxed) + 1 {
                3 => Err(io::Error::other("no such name")),
                times => Ok(vec![port(times)]),
            }
        });
        let found = || reactor::block_on(name.addresses()).unwrap();
        assert_eq!(found().unwrap(), [port(1)], "one that was just resolved is not asked for");
        ages();
        // Those that come together get one answer.
        thread::scope(|scope| {
            for one in [(); 8].map(|()| scope.spawn(|| found().unwrap())) {
                assert_eq!(one.join().unwrap(), [port(2)]);
            }
        });
        assert_eq!(ASKED.load(Ordering::Relaxed), 2);
        // What is unknown in mid-run may be known again.
        ages();
        assert!(found().unwrap_err().to_string().contains("no such name"));
        ages();
        assert_eq!(found().unwrap(), [port(4)]);
    }

    #[test]
    fn a_thread_whose_task_waits_for_the_resolver_does_other_things() {
        let name = name(|_, _| {
            thread::sleep(30 * LOOK_EVERY);
            Ok(vec![port(2)])
        });
        ages();
        let ticks = Cell::new(0);
        let mut tasks = reactor::Tasks::new().unwrap();
        tasks.spawn(async {
            for _ in 0..20 {
                reactor::sleep_until(Instant::now() + LOOK_EVERY).await;
                ticks.set(ticks.get() + 1);
            }
        });
        tasks.spawn(async {
            assert_eq!(name.addresses().await.unwrap(), [port(2)]);
            assert!(ticks.get() >= 10, "{}", ticks.get());
        });
        while tasks.run_until(None).unwrap() > 0 {}
    }

    #[test]
    fn addresses_are_no_names() {
        for address in ["127.0.0.1", "::1", "192.0.2.1"] {
            assert!(HostName::of(address, 1, &[port(1)]).is_none(), "{address}");
        }
        let name = HostName::of("localhost", 7, &[port(7)]).unwrap();
        ages();
        let found = reactor::block_on(name.addresses()).unwrap().unwrap();
        assert!(found.iter().all(|of| of.ip().is_loopback() && of.port() == 7), "{found:?}");
    }
}
