//! Answers Prometheus over HTTP. Over std::net, because no small server library bounds what this
//! one must: the time, the size and the number of requests, so that no client keeps a run from
//! going on or ending.

use crate::exposition::{cpu_text, text};
use crate::state::State;
use base::{Exit, lock};
use rustix::time::{ClockId, clock_gettime};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// How long a client may take to ask, and to read the answer.
const PATIENCE: Duration = Duration::from_secs(2);
/// Most bytes of a request.
const REQUEST_BYTES_MAX: usize = 8 << 10;
/// Most clients at one time; others are sent away.
const CLIENTS_MAX: usize = 16;
/// Where no connection can be accepted, as when there are no files left, this is waited before the
/// next try.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The address for the metrics cannot be had.
#[derive(Debug, thiserror::Error)]
#[error(
    "cannot listen on {address} for --metrics-listen: {cause}; choose another port or an address \
     of this machine, or end what listens there"
)]
pub struct ListenError {
    address: SocketAddr,
    /// In the message, and no `source`, which would be told a second time.
    cause: io::Error,
}

impl ListenError {
    pub fn exit(&self) -> Exit {
        Exit::Usage
    }
}

/// The listener; it ends with the program.
pub struct Exporter {
    text: Arc<Mutex<String>>,
}

impl Exporter {
    /// Listens on `address`, and there only.
    ///
    /// # Errors
    /// Where that is not possible: what to do instead.
    pub fn listen(address: SocketAddr) -> Result<Exporter, ListenError> {
        let refused = |cause| ListenError { address, cause };
        let listener = TcpListener::bind(address).map_err(refused)?;
        let text = Arc::<Mutex<String>>::default();
        let answered = Arc::clone(&text);
        thread::Builder::new()
            .name("metrics".to_owned())
            .spawn(move || accept(&listener, &answered))
            .map_err(refused)?;
        Ok(Exporter { text })
    }

    /// What is answered from now on.
    pub fn publish(&self, state: &State) {
        *lock(&self.text) = text(state);
    }
}

fn accept(listener: &TcpListener, text: &Arc<Mutex<String>>) {
    // Each client's thread holds one more of these.
    let clients = Arc::new(());
    for stream in listener.incoming() {
        let Ok(stream) = stream else {
            thread::sleep(ACCEPT_PAUSE);
            continue;
        };
        if Arc::strong_count(&clients) > CLIENTS_MAX {
            continue;
        }
        let (text, client) = (Arc::clone(text), Arc::clone(&clients));
        // Where no thread can be made, the client finds the connection closed.
        let builder = thread::Builder::new().name("metrics-client".to_owned());
        let _ = builder.spawn(move || {
            let _client = client;
            // A client that goes away or takes too long gets nothing.
            let _ = answer(stream, &text);
        });
    }
}

fn answer(mut stream: TcpStream, text: &Mutex<String>) -> io::Result<()> {
    let (status, kind, body) = if is_for_metrics(&request(&mut stream)?) {
        let mut body = lock(text).clone();
        let cpu = clock_gettime(ClockId::ProcessCPUTime);
        body.push_str(&cpu_text(cpu.tv_sec as f64 + cpu.tv_nsec as f64 / 1e9));
        ("200 OK", "text/plain; version=0.0.4; charset=utf-8", body)
    } else {
        let body = "the metrics are at GET /metrics\n".to_owned();
        ("404 Not Found", "text/plain; charset=utf-8", body)
    };
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n{body}",
        body.len()
    );
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.write_all(answer.as_bytes())
}

/// The head of a request, as far as it has come when it is whole, has the most bytes, or ends.
fn request(stream: &mut TcpStream) -> io::Result<Vec<u8>> {
    let begun = Instant::now();
    let mut head = Vec::new();
    let mut buffer = [0; 1024];
    loop {
        let left = PATIENCE.saturating_sub(begun.elapsed());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        let room = buffer.len().min(REQUEST_BYTES_MAX - head.len());
        let count = stream.read(&mut buffer[..room])?;
        head.extend_from_slice(&buffer[..count]);
        let is_whole = head.windows(4).any(|end| end == b"\r\n\r\n");
        if count == 0 || is_whole || head.len() == REQUEST_BYTES_MAX {
            return Ok(head);
        }
    }
}

/// Is it `GET /metrics HTTP/1.x`, perhaps with a query, which says nothing here?
fn is_for_metrics(head: &[u8]) -> bool {
    let head = String::from_utf8_lossy(head);
    let line = head.split('\r').next().unwrap_or_default();
    match line.split(' ').collect::<Vec<_>>()[..] {
        ["GET", target, version] => {
            target.split('?').next() == Some("/metrics") && version.starts_with("HTTP/1.")
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::{CLIENTS_MAX, Exporter, REQUEST_BYTES_MAX, is_for_metrics};
    use crate::state::State;
    use crate::testkit::interval;
    use drive::Phase;
    use std::io::{Read, Write};
    use std::net::{SocketAddr, TcpListener, TcpStream};
    use std::time::{Duration, Instant};

    /// An exporter on a port that was free a moment ago.
    fn exporter() -> (Exporter, SocketAddr) {
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let exporter = Exporter::listen(address).unwrap();
        exporter.publish(&at_nopm(7));
        (exporter, address)
    }

    fn at_nopm(nopm: u64) -> State {
        let mut state = State::default();
        state.end_interval(&interval(Phase::Window, 0.0..60.0, nopm));
        state
    }

    fn ask(address: SocketAddr, request: &[u8]) -> String {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let mut answer = Vec::new();
        // Where it is sent away with bytes unread, writing and reading end in a reset.
        let _ = stream.write_all(request);
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8(answer).unwrap()
    }

    #[test]
    fn metrics_and_nothing_else() {
        let (exporter, address) = exporter();
        let answer = ask(address, b"GET /metrics HTTP/1.1\r\nHost: here\r\n\r\n");
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
        assert!(head.contains("Content-Type: text/plain; version=0.0.4"), "{head}");
        assert!(head.contains(&format!("Content-Length: {}", body.len())), "{head}");
        assert!(body.contains("\nmydyno_nopm 7\n"), "{body}");
        assert!(body.contains("\nmydyno_cpu_seconds_total "), "{body}");
        exporter.publish(&at_nopm(8));
        let answer = ask(address, b"GET /metrics?x=y HTTP/1.0\r\n\r\n");
        assert!(answer.contains("mydyno_nopm 8\n"), "{answer}");
        for other in [&b"GET / HTTP/1.1\r\n\r\n"[..], b"POST /metrics HTTP/1.1\r\n\r\n"] {
            let answer = ask(address, other);
            assert!(answer.starts_with("HTTP/1.1 404 "), "{answer}");
            assert!(!answer.contains("mydyno_nopm"), "{answer}");
        }
    }

    #[test]
    fn requests_are_read_by_their_first_line() {
        assert!(is_for_metrics(b"GET /metrics HTTP/1.1\r\nA: b\r\n\r\n"));
        for other in [
            &b""[..],
            b"\r\n\r\n",
            b"GET /metrics",
            b"GET /metricsx HTTP/1.1\r\n\r\n",
            b"GET /x?/metrics HTTP/1.1\r\n\r\n",
            b"HEAD /metrics HTTP/1.1\r\n\r\n",
            b"\xff\xfe \x00",
        ] {
            assert!(!is_for_metrics(other), "{other:?}");
        }
    }

    #[test]
    fn silent_slow_and_endless_clients_keep_nobody_waiting() {
        let (_exporter, address) = exporter();
        let silent: Vec<TcpStream> =
            (0..CLIENTS_MAX / 2).map(|_| TcpStream::connect(address).unwrap()).collect();
        let begun = Instant::now();
        let answer = ask(address, b"GET /metrics HTTP/1.1\r\n\r\n");
        assert!(answer.contains("mydyno_nopm 7\n"), "{answer}");
        assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
        // More than there is room for: the last ones are sent away at once, and nothing grows.
        let more: Vec<TcpStream> =
            (0..2 * CLIENTS_MAX).map(|_| TcpStream::connect(address).unwrap()).collect();
        assert_eq!(ask(address, b"GET /metrics HTTP/1.1\r\n\r\n"), "");
        drop((silent, more));
        let begun = Instant::now();
        while !ask(address, b"GET /metrics HTTP/1.1\r\n\r\n").contains("mydyno_nopm 7\n") {
            assert!(begun.elapsed() < Duration::from_secs(10), "nobody is served");
            std::thread::sleep(Duration::from_millis(20));
        }
        let mut endless = b"GET /metrics HTTP/1.1\r\nX: ".to_vec();
        endless.resize(4 * REQUEST_BYTES_MAX, b'x');
        let begun = Instant::now();
        ask(address, &endless);
        assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
        assert!(ask(address, b"GET /metrics HTTP/1.1\r\n\r\n").contains("mydyno_nopm 7\n"));
        // One that sends a byte now and then is given up too.
        let mut slow = TcpStream::connect(address).unwrap();
        let begun = Instant::now();
        while slow.write_all(b"G").is_ok() {
            assert!(begun.elapsed() < Duration::from_secs(5), "it is still served");
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    #[test]
    fn an_address_in_use_is_told() {
        let (_exporter, address) = exporter();
        let Err(error) = Exporter::listen(address) else {
            panic!("it is in use");
        };
        let words = error.to_string();
        assert!(words.contains(&address.to_string()), "{words}");
        assert!(words.contains("--metrics-listen") && words.contains("choose"), "{words}");
        assert_eq!(error.exit(), base::Exit::Usage);
    }
}
