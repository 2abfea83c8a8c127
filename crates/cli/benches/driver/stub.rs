//! A server that answers at once: it says yes to every login and every statement, and does nothing.
//!
//! What is in the buffer of a connection is answered with one write, so the client's own cost is what shows.

use anyhow::{Context, Result, anyhow};
use rustix::event::{Timespec, epoll};
use rustix::io::Errno;
use std::fs::File;
use std::io::{Read, Write};
use std::mem::MaybeUninit;
use std::net::TcpListener;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use tempfile::TempDir;
use wire::{Address, ConnectOptions, Password, Tls};

const COM_QUIT: u8 = 0x01;
const COM_STMT_PREPARE: u8 = 0x16;
const INPUT_BYTES: usize = 64 << 10;
/// OK: nothing changed, autocommit, no warnings.
const OK: [u8; 7] = [0, 0, 0, 2, 0, 0, 0];
/// Statement 1 with no columns and one parameter.
const PREPARED: [u8; 12] = [0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0];
/// A parameter: catalogue `def`, five empty names, then the fixed part, which says LONGLONG.
const PARAMETER: [u8; 22] = [
    3, b'd', b'e', b'f', 0, 0, 0, 0, 0, 12, 63, 0, 20, 0, 0, 0, 8, 0, 0, 0, 0, 0,
];

/// The running server; it ends when dropped.
pub struct Stub {
    tcp_port: u16,
    socket: PathBuf,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<()>>>,
    _directory: TempDir,
}

impl Stub {
    pub fn start() -> Result<Stub> {
        let directory = tempfile::tempdir()?;
        let socket = directory.path().join("stub.sock");
        let tcp = TcpListener::bind(("127.0.0.1", 0)).context("no port for the stub server")?;
        let unix = UnixListener::bind(&socket)?;
        let tcp_port = tcp.local_addr()?.port();
        let stop = Arc::new(AtomicBool::new(false));
        let stopping = Arc::clone(&stop);
        let thread = thread::spawn(move || serve(&tcp, &unix, &stopping));
        Ok(Stub {
            tcp_port,
            socket,
            stop,
            thread: Some(thread),
            _directory: directory,
        })
    }

    pub fn tcp(&self) -> ConnectOptions {
        login(Address::Tcp {
            host: "127.0.0.1".to_owned(),
            port: self.tcp_port,
        })
    }

    pub fn unix(&self) -> ConnectOptions {
        login(Address::Unix(self.socket.clone()))
    }

    /// Ends it; an error of its own is told.
    pub fn stop(mut self) -> Result<()> {
        self.stop.store(true, Ordering::Relaxed);
        match self.thread.take().map(JoinHandle::join) {
            Some(Err(_)) => Err(anyhow!("the stub server panicked")),
            Some(Ok(served)) => served.context("the stub server failed"),
            None => Ok(()),
        }
    }
}

impl Drop for Stub {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

fn login(address: Address) -> ConnectOptions {
    ConnectOptions {
        address,
        user: "nobody".to_owned(),
        password: Password::default(),
        schema: None,
        tls: Tls::Disabled,
    }
}

struct Peer {
    stream: File,
    input: Vec<u8>,
    filled: usize,
    logged_in: bool,
}

const TCP_LISTENER: u64 = 0;
const UNIX_LISTENER: u64 = 1;
const FIRST_PEER: u64 = 2;

fn serve(tcp: &TcpListener, unix: &UnixListener, stop: &AtomicBool) -> Result<()> {
    const EVENTS: usize = 256;
    let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    let add = |fd: rustix::fd::BorrowedFd<'_>, key: u64| {
        epoll::add(
            &epoll,
            fd,
            epoll::EventData::new_u64(key),
            epoll::EventFlags::IN,
        )
    };
    add(tcp.as_fd(), TCP_LISTENER)?;
    add(unix.as_fd(), UNIX_LISTENER)?;
    let mut peers: Vec<Option<Peer>> = Vec::new();
    let mut output = Vec::with_capacity(INPUT_BYTES);
    let mut events = [MaybeUninit::<epoll::Event>::uninit(); EVENTS];
    let look = Timespec {
        tv_sec: 0,
        tv_nsec: 50_000_000,
    };
    while !stop.load(Ordering::Relaxed) {
        let (ready, _) = match epoll::wait(&epoll, &mut events, Some(&look)) {
            Err(Errno::INTR) => continue,
            other => other?,
        };
        for event in ready {
            let data = event.data;
            let accepted: OwnedFd = match data.u64() {
                TCP_LISTENER => {
                    let (stream, _) = tcp.accept()?;
                    stream.set_nodelay(true)?;
                    stream.into()
                }
                UNIX_LISTENER => unix.accept()?.0.into(),
                key => {
                    let slot = &mut peers[(key - FIRST_PEER) as usize];
                    if slot.as_mut().is_some_and(|peer| !peer.serve(&mut output)) {
                        *slot = None;
                    }
                    continue;
                }
            };
            add(accepted.as_fd(), FIRST_PEER + peers.len() as u64)?;
            peers.push(Some(Peer::greet(accepted)?));
        }
    }
    Ok(())
}

impl Peer {
    fn greet(socket: OwnedFd) -> Result<Peer> {
        /// Protocol 4.1, login plugins, rows that end with an OK packet.
        const CAPABILITIES: u32 =
            1 | 1 << 1 | 1 << 3 | 1 << 9 | 1 << 13 | 1 << 15 | 1 << 19 | 1 << 24;
        let mut greeting = vec![10];
        greeting.extend_from_slice(b"5.7.0-stub\0");
        greeting.extend_from_slice(&1u32.to_le_bytes());
        greeting.extend_from_slice(b"scramble\0");
        greeting.extend_from_slice(&CAPABILITIES.to_le_bytes()[..2]);
        greeting.extend_from_slice(&[8, 2, 0]);
        greeting.extend_from_slice(&CAPABILITIES.to_le_bytes()[2..]);
        greeting.push(21);
        greeting.extend_from_slice(&[0; 10]);
        greeting.extend_from_slice(b"second part.\0");
        greeting.extend_from_slice(b"mysql_native_password\0");
        let mut output = Vec::new();
        put(&mut output, 0, &greeting);
        let mut stream = File::from(socket);
        stream.write_all(&output)?;
        Ok(Peer {
            stream,
            input: vec![0; INPUT_BYTES],
            filled: 0,
            logged_in: false,
        })
    }

    /// Answers what has come; false where the client is gone.
    fn serve(&mut self, output: &mut Vec<u8>) -> bool {
        match self.stream.read(&mut self.input[self.filled..]) {
            Ok(0) | Err(_) => return false,
            Ok(bytes) => self.filled += bytes,
        }
        output.clear();
        let mut parsed = 0;
        while let Some(&[a, b, c, sequence, command]) =
            self.input[parsed..self.filled].first_chunk()
        {
            let end = parsed + 4 + u32::from_le_bytes([a, b, c, 0]) as usize;
            if end > self.filled {
                break;
            }
            parsed = end;
            match (self.logged_in, command) {
                (false, _) => self.logged_in = true,
                (true, COM_QUIT) => return false,
                (true, COM_STMT_PREPARE) => {
                    put(output, 1, &PREPARED);
                    put(output, 2, &PARAMETER);
                    continue;
                }
                (true, _) => {}
            }
            put(output, sequence.wrapping_add(1), &OK);
        }
        self.input.copy_within(parsed..self.filled, 0);
        self.filled -= parsed;
        self.stream.write_all(output).is_ok()
    }
}

fn put(output: &mut Vec<u8>, sequence: u8, payload: &[u8]) {
    output.extend_from_slice(&(payload.len() as u32).to_le_bytes()[..3]);
    output.push(sequence);
    output.extend_from_slice(payload);
}
