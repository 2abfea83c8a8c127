//! A session that is warm allocates nothing: what a statement costs the driver is what it is judged
//! by. The server is a thread that answers without looking.

use base::{Connect, Param, Session};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::io::{self, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::thread;
use wire::{Address, ConnectOptions, Connector, Password, Security};

const STATEMENTS: u32 = 500;

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn count() {
    // A thread that ends may allocate after its locals are gone; nobody asks for its count then.
    let _ = COUNT.try_with(|count| count.set(count.get() + 1));
}

#[expect(unsafe_code, reason = "an allocator cannot be written without")]
// SAFETY: each call goes to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count();
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// A packet with its header.
fn packet(sequence: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![payload.len() as u8, 0, 0, sequence];
    bytes.extend_from_slice(payload);
    bytes
}

fn greeting() -> Vec<u8> {
    // Protocol 4.1, secure connections and login plugins; no description of columns is left out.
    let capabilities: u32 = 1 | 1 << 9 | 1 << 15 | 1 << 19;
    let mut payload = b"\x0a5.7.22\0".to_vec();
    payload.extend_from_slice(&[1, 0, 0, 0]);
    payload.extend_from_slice(b"12345678\0");
    payload.extend_from_slice(&capabilities.to_le_bytes()[..2]);
    payload.extend_from_slice(&[8, 2, 0]);
    payload.extend_from_slice(&capabilities.to_le_bytes()[2..]);
    payload.push(21);
    payload.extend_from_slice(&[0; 10]);
    payload.extend_from_slice(b"123456789012\0mysql_native_password\0");
    packet(0, &payload)
}

/// Answers to a statement with a parameter that returns an integer.
fn answers() -> (Vec<u8>, Vec<u8>) {
    let column =
        [&b"\x03def\0\0\0\x01n\0"[..], &[12, 63, 0, 11, 0, 0, 0, 3, 0, 0, 0, 0, 0]].concat();
    let end = [0xfe, 0, 0, 2, 0];
    let prepared = [
        packet(1, &[0, 1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0]),
        packet(2, &column),
        packet(3, &end),
        packet(4, &column),
        packet(5, &end),
    ];
    let executed = [
        packet(1, &[1]),
        packet(2, &column),
        packet(3, &end),
        packet(4, &[0, 0, 7, 0, 0, 0]),
        packet(5, &end),
    ];
    (prepared.concat(), executed.concat())
}

fn serve(mut client: UnixStream) -> io::Result<()> {
    let (prepared, executed) = answers();
    let ok = packet(2, &[0, 0, 0, 2, 0, 0, 0]);
    client.write_all(&greeting())?;
    let mut header = [0; 4];
    let mut payload = Vec::new();
    let mut is_in = false;
    while client.read_exact(&mut header).is_ok() {
        payload.resize(usize::from(header[0]) + usize::from(header[1]) * 256, 0);
        client.read_exact(&mut payload)?;
        let answer = match payload.first() {
            _ if !is_in => &ok,
            // What a session is set to behind its login.
            Some(0x03) => &ok,
            Some(0x16) => &prepared,
            Some(0x17) => &executed,
            _ => return Ok(()),
        };
        is_in = true;
        client.write_all(answer)?;
    }
    Ok(())
}

async fn allocations_of_statements(socket: &Path, pipelined: bool) -> u64 {
    let options = ConnectOptions {
        address: Address::Unix(socket.to_owned()),
        user: "u".to_owned(),
        password: Password::new("p"),
        schema: None,
        security: Security::default(),
    };
    let mut session = Connector::new(options).unwrap().connect().await.unwrap();
    let statement = session.prepare_kind("select", "SELECT n FROM t WHERE n = ?").await.unwrap();
    session.set_pipelined(pipelined);
    let mut before = 0;
    for round in 0..2 * STATEMENTS {
        if round == STATEMENTS {
            before = COUNT.get();
        }
        for value in [1, 2] {
            session.queue(statement, &[Param::Int(value)]).unwrap();
        }
        for _ in 0..2 {
            let answer = session.answer().await.unwrap();
            assert_eq!(answer.row(0).unwrap().int(0), Ok(7));
        }
    }
    let after = COUNT.get();
    session.close().await;
    after - before
}

#[test]
fn warm_sessions_allocate_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("s");
    let listener = UnixListener::bind(&socket).unwrap();
    let server = thread::spawn(move || {
        for _ in 0..2 {
            serve(listener.accept().unwrap().0).unwrap();
        }
    });
    for pipelined in [false, true] {
        let allocations = reactor::block_on(allocations_of_statements(&socket, pipelined)).unwrap();
        assert_eq!(allocations, 0, "pipelined: {pipelined}");
    }
    server.join().unwrap();
}
