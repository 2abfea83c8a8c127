//! Bytes to and from the server: TCP or unix socket, plain or TLS, never blocking the thread.

use crate::host_name::look_up;
use crate::options::Address;
use crate::tls::reasons;
use base::limits;
use openssl::ssl::{ErrorCode, Ssl, SslStream};
use reactor::PolledSocket;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{
    self, AddressFamily, SendFlags, SocketAddrUnix, SocketFlags, SocketType, sockopt,
};
use std::io::{self, ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// A socket, which OpenSSL may hold, too.
#[derive(Clone)]
struct Socket(Rc<OwnedFd>);

impl Read for Socket {
    #[inline]
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        Ok(rustix::io::read(&*self.0, buffer)?)
    }
}

impl Write for Socket {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(net::send(&*self.0, bytes, SendFlags::NOSIGNAL)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Pause between two tries while a unix socket's backlog is full.
const BACKLOG_PAUSE: Duration = Duration::from_millis(10);

/// A host that vanishes without a word is noticed after about half a minute, however long a
/// statement may take.
fn keep_alive(socket: &OwnedFd) -> io::Result<()> {
    sockopt::set_socket_keepalive(socket, true)?;
    sockopt::set_tcp_keepidle(socket, Duration::from_secs(15))?;
    sockopt::set_tcp_keepintvl(socket, Duration::from_secs(5))?;
    sockopt::set_tcp_keepcnt(socket, 3)?;
    sockopt::set_tcp_user_timeout(socket, 30_000)?;
    Ok(())
}

#[expect(unsafe_code, reason = "no crate of ours has this socket option")]
fn set_receive_low_water(socket: BorrowedFd<'_>, bytes: i32) -> io::Result<()> {
    // SAFETY: the descriptor is open as long as it is borrowed; the kernel reads four bytes from
    // `bytes`, which lives on.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_RCVLOWAT,
            (&raw const bytes).cast(),
            size_of::<i32>() as libc::socklen_t,
        )
    };
    match result {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Where to dial, with names resolved.
#[derive(Clone, Debug)]
pub(crate) enum Endpoint {
    Tcp(Vec<SocketAddr>),
    Unix(std::path::PathBuf),
}

impl Endpoint {
    /// Resolves the address. Blocks while the resolver does: what connects later asks a
    /// [`HostName`](crate::host_name::HostName).
    pub(crate) fn resolve(address: &Address) -> io::Result<Endpoint> {
        Ok(match address {
            Address::Unix(path) => Endpoint::Unix(path.clone()),
            Address::Tcp { host, port } => Endpoint::Tcp(look_up(host, *port)?),
        })
    }

    /// Does all of the way lie inside this machine?
    pub(crate) fn is_local(&self) -> bool {
        match self {
            Endpoint::Unix(_) => true,
            Endpoint::Tcp(found) => found.iter().all(|a| a.ip().to_canonical().is_loopback()),
        }
    }
}

pub(crate) struct Transport {
    // Dropped before the socket, as `Source` asks.
    source: PolledSocket,
    socket: Socket,
    is_unix: bool,
    tls: Option<Box<SslStream<Socket>>>,
    /// The socket's SO_RCVLOWAT.
    wait_for_bytes: usize,
}

impl Transport {
    /// Connects to the first address that answers.
    pub(crate) async fn connect(endpoint: &Endpoint) -> io::Result<Transport> {
        match endpoint {
            Endpoint::Unix(path) => Transport::connect_unix(path).await,
            Endpoint::Tcp(addresses) => {
                let mut last = io::Error::new(ErrorKind::NotFound, "no address");
                // An address that swallows packets must leave time for the next one.
                let share = limits::CONNECT_TIMEOUT / (addresses.len() as u32 + 1);
                for address in addresses {
                    let until = Instant::now() + share;
                    match reactor::timeout_at(until, Transport::connect_tcp(*address)).await {
                        Ok(Ok(transport)) => return Ok(transport),
                        Ok(Err(error)) => last = error,
                        Err(_) => last = ErrorKind::TimedOut.into(),
                    }
                }
                Err(last)
            }
        }
    }

    async fn connect_unix(path: &Path) -> io::Result<Transport> {
        let address = SocketAddrUnix::new(path)?;
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        // The server's backlog is full: there is no event for its end.
        while let Err(error) = net::connect(&socket, &address) {
            if error != Errno::AGAIN {
                return Err(error.into());
            }
            reactor::sleep_until(Instant::now() + BACKLOG_PAUSE).await;
        }
        Transport::new(socket, true)
    }

    async fn connect_tcp(address: SocketAddr) -> io::Result<Transport> {
        let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = net::socket_with(family, SocketType::STREAM, flags, None)?;
        let started = net::connect(&socket, &address);
        sockopt::set_tcp_nodelay(&socket, true)?;
        keep_alive(&socket)?;
        let transport = Transport::new(socket, false)?;
        match started {
            Ok(()) => {}
            Err(Errno::INPROGRESS) => {
                transport.source.writable(transport.socket.0.as_fd()).await?;
                sockopt::socket_error(&*transport.socket.0)??;
            }
            Err(error) => return Err(error.into()),
        }
        Ok(transport)
    }

    fn new(socket: OwnedFd, is_unix: bool) -> io::Result<Transport> {
        let source = PolledSocket::register(socket.as_fd())?;
        let socket = Socket(Rc::new(socket));
        Ok(Transport { source, socket, is_unix, tls: None, wait_for_bytes: 1 })
    }

    /// What a test speaks over.
    #[cfg(test)]
    pub(crate) fn over(stream: std::os::unix::net::UnixStream) -> io::Result<Transport> {
        stream.set_nonblocking(true)?;
        Transport::new(stream.into(), true)
    }

    /// Asks the kernel to say nothing before so many bytes have come: one wake-up for many answers.
    /// A hint: where it is unsupported (unix sockets, TLS) or too high, receiving still works.
    #[inline]
    pub(crate) fn wait_for_bytes(&mut self, bytes: usize) {
        let bytes = bytes.max(1);
        if bytes == self.wait_for_bytes || self.is_unix || self.tls.is_some() {
            return;
        }
        let Ok(value) = i32::try_from(bytes) else {
            return;
        };
        if set_receive_low_water(self.socket.0.as_fd(), value).is_ok() {
            self.wait_for_bytes = bytes;
        }
    }

    pub(crate) fn is_unix(&self) -> bool {
        self.is_unix
    }

    /// Has the other end closed it? What it said before that may wait to be read.
    pub(crate) fn is_closed(&self) -> bool {
        let mut look = [PollFd::new(&*self.socket.0, PollFlags::RDHUP)];
        poll(&mut look, Some(&Timespec::default())).is_ok_and(|ready| ready > 0)
    }

    /// The negotiated TLS version and cipher, for the record.
    pub(crate) fn tls_description(&self) -> Option<String> {
        let ssl = self.tls.as_ref()?.ssl();
        Some(format!("{} {}", ssl.version_str(), ssl.current_cipher()?.name()))
    }

    /// From here on everything is encrypted; finishes the handshake.
    pub(crate) async fn start_tls(&mut self, session: Ssl) -> io::Result<()> {
        let stream = SslStream::new(session, self.socket.clone())?;
        self.tls = Some(Box::new(stream));
        self.with_tls(|tls| tls.connect()).await
    }

    /// Repeats an operation of the TLS stream until it needs no more waiting for the socket.
    async fn with_tls<T>(
        &mut self,
        mut operation: impl FnMut(&mut SslStream<Socket>) -> Result<T, openssl::ssl::Error>,
    ) -> io::Result<T> {
        loop {
            let Some(tls) = &mut self.tls else {
                return Err(io::Error::other("the line is not encrypted"));
            };
            let error = match operation(tls) {
                Ok(done) => return Ok(done),
                Err(error) => error,
            };
            match error.code() {
                ErrorCode::WANT_READ => {
                    self.source.clear_readable();
                    self.source.readable().await;
                }
                ErrorCode::WANT_WRITE => self.source.writable(self.socket.0.as_fd()).await?,
                _ => {
                    let told = error.ssl_error().map(reasons);
                    return Err(match (told, error.into_io_error()) {
                        (_, Ok(error)) => error,
                        (Some(told), Err(_)) => io::Error::other(told),
                        (None, Err(error)) => io::Error::other(error),
                    });
                }
            }
        }
    }

    /// Sends all of `bytes`.
    #[inline]
    pub(crate) async fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.tls.is_some() {
            return self.send_tls(bytes).await;
        }
        let mut rest = bytes;
        while !rest.is_empty() {
            match self.socket.write(rest) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(n) => rest = &rest[n..],
                Err(error) => match error.kind() {
                    ErrorKind::WouldBlock => self.source.writable(self.socket.0.as_fd()).await?,
                    ErrorKind::Interrupted => {}
                    _ => return Err(error),
                },
            }
        }
        Ok(())
    }

    /// Receives some bytes into `buffer`; 0 means that the server closed the connection.
    #[inline]
    pub(crate) async fn receive(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.tls.is_some() {
            return self.receive_tls(buffer).await;
        }
        loop {
            if self.wait_for_bytes > 1 {
                self.source.readable_or_after_a_while().await;
            } else {
                self.source.readable().await;
            }
            match self.socket.read(buffer) {
                Ok(n) => {
                    if n < buffer.len() {
                        // Drained: the next event comes with the next bytes.
                        self.source.clear_readable();
                    }
                    return Ok(n);
                }
                Err(error) => match error.kind() {
                    ErrorKind::WouldBlock => {
                        // Nothing is held back: what is waited for takes long, and nobody has to
                        // look for it.
                        self.wait_for_bytes(1);
                        self.source.clear_readable();
                    }
                    ErrorKind::Interrupted => {}
                    _ => return Err(error),
                },
            }
        }
    }

    async fn send_tls(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let sent = self.with_tls(|tls| tls.ssl_write(rest)).await?;
            rest = &rest[sent..];
        }
        Ok(())
    }

    async fn receive_tls(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.with_tls(|tls| match tls.ssl_read(buffer) {
            Err(error) if error.code() == ErrorCode::ZERO_RETURN => Ok(0),
            other => other,
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_is_what_does_not_leave_the_machine() {
        for (addresses, is_local) in [
            (&["127.0.0.1:1", "[::1]:1"][..], true),
            (&["127.8.0.1:1"], true),
            (&["[::ffff:127.0.0.1]:1"], true),
            (&["192.0.2.1:1"], false),
            (&["127.0.0.1:1", "192.0.2.1:1"], false),
        ] {
            let found = addresses.iter().map(|a| a.parse().unwrap()).collect();
            assert_eq!(Endpoint::Tcp(found).is_local(), is_local, "{addresses:?}");
        }
        assert!(Endpoint::Unix("/s".into()).is_local());
    }
}
