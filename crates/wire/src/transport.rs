//! Bytes to and from the server: TCP or unix socket, plain or TLS, never blocking the thread.

use crate::options::Address;
use reactor::Source;
use rustix::net::{self, AddressFamily, SocketFlags, SocketType};
use rustls::ClientConnection;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Socket::Tcp(stream) => stream.as_fd(),
            Socket::Unix(stream) => stream.as_fd(),
        }
    }
}

impl Read for &Socket {
    #[inline]
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Socket::Tcp(stream) => (&*stream).read(buffer),
            Socket::Unix(stream) => (&*stream).read(buffer),
        }
    }
}

impl Write for &Socket {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Socket::Tcp(stream) => (&*stream).write(bytes),
            Socket::Unix(stream) => (&*stream).write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Where to dial, with names resolved.
#[derive(Clone, Debug)]
pub(crate) enum Endpoint {
    Tcp(Vec<SocketAddr>),
    Unix(std::path::PathBuf),
}

impl Endpoint {
    /// Resolves the address. Blocks while the resolver does; once per run, not per connection.
    pub(crate) fn resolve(address: &Address) -> io::Result<Endpoint> {
        use std::net::ToSocketAddrs;
        match address {
            Address::Unix(path) => Ok(Endpoint::Unix(path.clone())),
            Address::Tcp { host, port } => {
                let found: Vec<SocketAddr> = (host.as_str(), *port).to_socket_addrs()?.collect();
                if found.is_empty() {
                    return Err(io::Error::new(
                        ErrorKind::NotFound,
                        "the name has no address",
                    ));
                }
                Ok(Endpoint::Tcp(found))
            }
        }
    }
}

pub(crate) struct Transport {
    // Dropped before the socket, as `Source` asks.
    source: Source,
    socket: Socket,
    tls: Option<Box<ClientConnection>>,
}

impl Transport {
    /// Connects to the first address that answers.
    pub(crate) async fn connect(endpoint: &Endpoint) -> io::Result<Transport> {
        match endpoint {
            Endpoint::Unix(path) => {
                // Connecting to a unix socket waits only while the server's backlog is full.
                let stream = UnixStream::connect(path)?;
                stream.set_nonblocking(true)?;
                Transport::new(Socket::Unix(stream))
            }
            Endpoint::Tcp(addresses) => {
                let mut last = io::Error::new(ErrorKind::NotFound, "no address");
                for address in addresses {
                    match Transport::connect_tcp(*address).await {
                        Ok(transport) => return Ok(transport),
                        Err(error) => last = error,
                    }
                }
                Err(last)
            }
        }
    }

    async fn connect_tcp(address: SocketAddr) -> io::Result<Transport> {
        let family = if address.is_ipv4() {
            AddressFamily::INET
        } else {
            AddressFamily::INET6
        };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = net::socket_with(family, SocketType::STREAM, flags, None)?;
        let started = net::connect(&socket, &address);
        let stream = TcpStream::from(socket);
        stream.set_nodelay(true)?;
        let transport = Transport::new(Socket::Tcp(stream))?;
        match started {
            Ok(()) => {}
            Err(rustix::io::Errno::INPROGRESS) => {
                transport.source.writable(transport.socket.as_fd()).await?;
                net::sockopt::socket_error(&transport.socket)??;
            }
            Err(error) => return Err(error.into()),
        }
        Ok(transport)
    }

    fn new(socket: Socket) -> io::Result<Transport> {
        let source = Source::register(socket.as_fd())?;
        Ok(Transport {
            source,
            socket,
            tls: None,
        })
    }

    pub(crate) fn is_unix(&self) -> bool {
        matches!(self.socket, Socket::Unix(_))
    }

    /// The negotiated TLS version and cipher, for the record.
    pub(crate) fn tls_description(&self) -> Option<String> {
        let tls = self.tls.as_ref()?;
        Some(format!(
            "{:?} {:?}",
            tls.protocol_version()?,
            tls.negotiated_cipher_suite()?.suite()
        ))
    }

    /// From here on everything is encrypted; finishes the handshake.
    pub(crate) async fn start_tls(&mut self, connection: ClientConnection) -> io::Result<()> {
        self.tls = Some(Box::new(connection));
        while self.tls.as_ref().is_some_and(|tls| tls.is_handshaking()) {
            self.flush_tls().await?;
            if self.tls.as_ref().is_some_and(|tls| tls.is_handshaking()) {
                self.read_tls().await?;
            }
        }
        self.flush_tls().await
    }

    /// Sends all of `bytes`.
    #[inline]
    pub(crate) async fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.tls.is_some() {
            return self.send_tls(bytes).await;
        }
        let mut rest = bytes;
        while !rest.is_empty() {
            match (&self.socket).write(rest) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(n) => rest = &rest[n..],
                Err(error) => self.writable_after(error).await?,
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
            self.source.readable().await;
            match (&self.socket).read(buffer) {
                Ok(n) => {
                    if n < buffer.len() {
                        // Drained: the next event comes with the next bytes.
                        self.source.clear_readable();
                    }
                    return Ok(n);
                }
                Err(error) => self.readable_after(error)?,
            }
        }
    }

    fn readable_after(&self, error: io::Error) -> io::Result<()> {
        match error.kind() {
            ErrorKind::WouldBlock => self.source.clear_readable(),
            ErrorKind::Interrupted => {}
            _ => return Err(error),
        }
        Ok(())
    }

    async fn writable_after(&self, error: io::Error) -> io::Result<()> {
        match error.kind() {
            ErrorKind::WouldBlock => self.source.writable(self.socket.as_fd()).await,
            ErrorKind::Interrupted => Ok(()),
            _ => Err(error),
        }
    }

    async fn send_tls(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut rest = bytes;
        while !rest.is_empty() {
            if let Some(tls) = &mut self.tls {
                let taken = tls.writer().write(rest)?;
                rest = &rest[taken..];
            }
            self.flush_tls().await?;
        }
        Ok(())
    }

    async fn flush_tls(&mut self) -> io::Result<()> {
        while let Some(tls) = self.tls.as_mut().filter(|tls| tls.wants_write()) {
            if let Err(error) = tls.write_tls(&mut &self.socket) {
                self.writable_after(error).await?;
            }
        }
        Ok(())
    }

    /// Reads one batch of encrypted bytes and decrypts it.
    async fn read_tls(&mut self) -> io::Result<usize> {
        loop {
            self.source.readable().await;
            let Some(tls) = &mut self.tls else {
                return Ok(0);
            };
            match tls.read_tls(&mut &self.socket) {
                Ok(n) => {
                    tls.process_new_packets()
                        .map_err(|error| io::Error::new(ErrorKind::InvalidData, error))?;
                    return Ok(n);
                }
                Err(error) => self.readable_after(error)?,
            }
        }
    }

    async fn receive_tls(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if let Some(tls) = &mut self.tls {
                match tls.reader().read(buffer) {
                    Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                    other => return other,
                }
            }
            if self.read_tls().await? == 0 {
                return Ok(0);
            }
        }
    }
}
