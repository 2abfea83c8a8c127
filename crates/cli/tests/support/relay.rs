//! A network between two programs.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};
use std::thread;
use std::time::Duration;

/// A relay to a server, that can be told to forward nothing, and to lead to another server.
pub struct Relay {
    pub port: u16,
    leads_to: Arc<AtomicU16>,
    is_stopped: Arc<AtomicBool>,
}

impl Relay {
    pub fn to(port: u16) -> Relay {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let (is_stopped, leads_to) =
            (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU16::new(port)));
        let relay = Relay {
            port: listener.local_addr().unwrap().port(),
            leads_to: leads_to.clone(),
            is_stopped: is_stopped.clone(),
        };
        thread::spawn(move || {
            for near in listener.incoming() {
                let near = near.unwrap();
                let port = leads_to.load(Ordering::Relaxed);
                let far = TcpStream::connect(("127.0.0.1", port)).unwrap();
                for stream in [&near, &far] {
                    stream.set_nodelay(true).unwrap();
                }
                let ways = [(near.try_clone(), far.try_clone()), (Ok(far), Ok(near))];
                for (from, to) in ways {
                    let (from, to, is_stopped) = (from.unwrap(), to.unwrap(), is_stopped.clone());
                    thread::spawn(move || forward(from, to, &is_stopped));
                }
            }
        });
        relay
    }

    /// Leads new connections to another server; those that there are stay where they are.
    pub fn lead_to(&self, port: u16) {
        self.leads_to.store(port, Ordering::Relaxed);
    }

    pub fn stop(&self, is_stopped: bool) {
        self.is_stopped.store(is_stopped, Ordering::Relaxed);
    }
}

fn forward(mut from: TcpStream, mut to: TcpStream, is_stopped: &AtomicBool) {
    let mut buffer = vec![0; 1 << 16];
    while let Ok(bytes @ 1..) = from.read(&mut buffer) {
        while is_stopped.load(Ordering::Relaxed) {
            thread::sleep(Duration::from_millis(5));
        }
        if to.write_all(&buffer[..bytes]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(std::net::Shutdown::Write);
}

/// A proxy before a server, on plain lines, that refuses a command.
pub struct Proxy {
    pub port: u16,
}

impl Proxy {
    /// It refuses what begins with this command and text.
    pub fn to(port: u16, command: u8, text: &'static [u8]) -> Proxy {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let proxy = Proxy { port: listener.local_addr().unwrap().port() };
        thread::spawn(move || {
            for near in listener.incoming() {
                let near = near.unwrap();
                let far = TcpStream::connect(("127.0.0.1", port)).unwrap();
                let (answers, to) = (far.try_clone().unwrap(), near.try_clone().unwrap());
                let runs = AtomicBool::new(false);
                thread::spawn(move || forward(answers, to, &runs));
                thread::spawn(move || refuse(near, far, &[&[command], text].concat()));
            }
        });
        proxy
    }
}

/// Forwards the packets of a client but those that begin so.
fn refuse(mut near: TcpStream, mut far: TcpStream, refused: &[u8]) {
    let error = b"\xff\x17\x04#08S01Unknown command";
    let mut head = [0; 4];
    while near.read_exact(&mut head).is_ok() {
        let mut payload = vec![0; u32::from_le_bytes([head[0], head[1], head[2], 0]) as usize];
        if near.read_exact(&mut payload).is_err() {
            break;
        }
        // A packet of a login or of a file has another number than the first one of a command.
        let sent = if head[3] == 0 && payload.starts_with(refused) {
            near.write_all(&[&[error.len() as u8, 0, 0, 1][..], error].concat())
        } else {
            far.write_all(&[&head[..], &payload].concat())
        };
        if sent.is_err() {
            break;
        }
    }
    let _ = far.shutdown(std::net::Shutdown::Both);
}
