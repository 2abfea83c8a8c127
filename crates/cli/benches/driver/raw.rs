//! A logged-in socket with one prepared point select, and nothing else: what any client has to pay
//! at least.
//!
//! By hand and not over `wire`: the floor must not move when `wire` does. It speaks
//! `mysql_native_password` alone.

use anyhow::{Context, Result, bail, ensure};
use base::Random;
use openssl::sha::sha1;
use std::fs::File;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;
use wire::{Address, ConnectOptions};

/// Rows of the table that is read.
const ITEMS: u32 = 100_000;
/// What New-Order reads of an item.
const SELECT: &str = "SELECT i_price, i_name, i_data FROM item WHERE i_id = ?";
/// An answer is some 250 bytes, nearly all of them the description of its columns.
const INPUT_BYTES: usize = 16 << 10;
/// A server that is silent for so long is gone.
pub const PATIENCE: Duration = Duration::from_secs(10);

const COM_STMT_PREPARE: u8 = 0x16;
const COM_STMT_EXECUTE: u8 = 0x17;
/// Header 4, command 1, statement 4, flags 1, iterations 4, NULL map 1, new types 1, parameter 8.
const FRAME_BYTES: usize = 24;

/// One connection and its statement in flight.
pub struct Lane {
    socket: File,
    /// An execution, ready to go but for the key.
    frame: Vec<u8>,
    input: Vec<u8>,
    parsed: usize,
    filled: usize,
    packets_per_answer: u32,
    packets_due: u32,
    random: Random,
}

impl Lane {
    /// Logs in, prepares and executes once. `seed` differs between connections.
    pub fn open(login: &ConnectOptions, seed: u64) -> Result<Lane> {
        let mut socket = dial(&login.address)?;
        log_in(&mut socket, login)?;
        let statement = prepare(&mut socket)?;
        let mut frame = vec![FRAME_BYTES as u8 - 4, 0, 0, 0, COM_STMT_EXECUTE];
        frame.extend_from_slice(&statement.to_le_bytes());
        frame.extend_from_slice(&[0, 1, 0, 0, 0, 0, 0]);
        frame.extend_from_slice(&[0; 8]);
        let packets_per_answer = execute_first(&mut socket, &frame)?;
        Ok(Lane {
            socket,
            frame,
            input: vec![0; INPUT_BYTES],
            parsed: 0,
            filled: 0,
            packets_per_answer,
            packets_due: 0,
            random: Random::new(seed, &[]),
        })
    }

    pub fn socket(&self) -> &File {
        &self.socket
    }

    /// Sends the next statement. So few bytes always fit the socket's buffer, as all answers before
    /// were read.
    #[inline]
    pub fn send(&mut self) -> Result<()> {
        self.parsed = 0;
        self.filled = 0;
        self.packets_due = self.packets_per_answer;
        let key = u64::from(self.random.between(1..=ITEMS));
        self.frame[FRAME_BYTES - 8..].copy_from_slice(&key.to_le_bytes());
        let sent = (&self.socket).write(&self.frame)?;
        ensure!(sent == self.frame.len(), "the socket took half a statement");
        Ok(())
    }

    /// Reads once; the number of bytes, and of those that there was room for.
    #[inline]
    pub fn read(&mut self) -> std::io::Result<(usize, usize)> {
        let space = &mut self.input[self.filled..];
        Ok(((&self.socket).read(space)?, space.len()))
    }

    /// Takes note of bytes that were received; true where the statement is answered. Looks at
    /// packet boundaries alone, and at the one byte that tells an error.
    #[inline]
    pub fn received(&mut self, bytes: usize) -> Result<bool> {
        ensure!(bytes > 0, "the server closed the connection");
        self.filled += bytes;
        while let Some(&[a, b, c, _, first]) = self.input[self.parsed..self.filled].first_chunk() {
            let len = u32::from_le_bytes([a, b, c, 0]) as usize;
            if self.filled < self.parsed + 4 + len {
                break;
            }
            ensure!(first != 0xff, "the server refused the select");
            self.parsed += 4 + len;
            self.packets_due = self.packets_due.saturating_sub(1);
        }
        if self.parsed == self.filled {
            self.parsed = 0;
            self.filled = 0;
        }
        ensure!(self.filled < self.input.len(), "the answers do not fit");
        Ok(self.packets_due == 0)
    }

    /// From now on nothing blocks.
    pub fn never_block(&self) -> Result<()> {
        Ok(rustix::io::ioctl_fionbio(&self.socket, true)?)
    }
}

fn dial(address: &Address) -> Result<File> {
    let fd: OwnedFd = match address {
        Address::Tcp { host, port } => {
            let stream = TcpStream::connect((host.as_str(), *port))
                .with_context(|| format!("no connection to {address}"))?;
            stream.set_nodelay(true)?;
            stream.set_read_timeout(Some(PATIENCE))?;
            stream.into()
        }
        Address::Unix(path) => {
            let stream =
                UnixStream::connect(path).with_context(|| format!("no connection to {address}"))?;
            stream.set_read_timeout(Some(PATIENCE))?;
            stream.into()
        }
    };
    // A socket is read and written as a file is.
    Ok(File::from(fd))
}

fn read_packet(socket: &mut File) -> Result<(u8, Vec<u8>)> {
    let mut header = [0u8; 4];
    socket.read_exact(&mut header)?;
    let [a, b, c, sequence] = header;
    let mut payload = vec![0; u32::from_le_bytes([a, b, c, 0]) as usize];
    socket.read_exact(&mut payload)?;
    if payload.first() == Some(&0xff) {
        let text = payload.get(9..).unwrap_or_default();
        bail!("the server says: {}", String::from_utf8_lossy(text));
    }
    ensure!(!payload.is_empty(), "the server sent an empty packet");
    Ok((sequence, payload))
}

fn send_packet(socket: &mut File, sequence: u8, payload: &[u8]) -> Result<()> {
    let mut packet = (payload.len() as u32).to_le_bytes()[..3].to_vec();
    packet.push(sequence);
    packet.extend_from_slice(payload);
    Ok(socket.write_all(&packet)?)
}

/// `mysql_native_password`: SHA1(password) XOR SHA1(scramble, SHA1(SHA1(password))).
fn response(password: &str, scramble: &[u8]) -> Vec<u8> {
    if password.is_empty() {
        return Vec::new();
    }
    let once = sha1(password.as_bytes());
    let mask = sha1(&[scramble, &sha1(&once)].concat());
    once.iter().zip(mask).map(|(a, b)| a ^ b).collect()
}

fn log_in(socket: &mut File, login: &ConnectOptions) -> Result<()> {
    const METHOD: &[u8] = b"mysql_native_password\0";
    /// Protocol 4.1 with schema, login plugins, and rows that end with an OK packet.
    const CAPABILITIES: u32 = 1 | 1 << 3 | 1 << 9 | 1 << 13 | 1 << 15 | 1 << 19 | DEPRECATE_EOF;
    const DEPRECATE_EOF: u32 = 1 << 24;
    let (_, greeting) = read_packet(socket)?;
    let version_end = greeting.iter().position(|&b| b == 0).unwrap_or_default();
    // Behind the version: connection 4, scramble 8, filler 1, flags 2, charset 1, status 2, flags
    // 2, length 1, filler 10.
    let rest = greeting.get(version_end + 1..).unwrap_or_default();
    ensure!(rest.len() >= 43, "the greeting is too short");
    let high = u32::from(u16::from_le_bytes([rest[18], rest[19]])) << 16;
    ensure!(
        high & DEPRECATE_EOF != 0,
        "the server is older than MySQL 5.7; the floor needs its way to end rows"
    );
    let scramble = [&rest[4..12], &rest[31..43]].concat();
    let password = login.password.reveal();
    let mut packet = CAPABILITIES.to_le_bytes().to_vec();
    packet.extend_from_slice(&(1u32 << 30).to_le_bytes());
    packet.push(8);
    packet.extend_from_slice(&[0; 23]);
    packet.extend_from_slice(login.user.as_bytes());
    packet.push(0);
    let proof = response(password, &scramble);
    packet.push(proof.len() as u8);
    packet.extend_from_slice(&proof);
    packet.extend_from_slice(login.schema.as_deref().unwrap_or_default().as_bytes());
    packet.push(0);
    packet.extend_from_slice(METHOD);
    send_packet(socket, 1, &packet)?;
    let (sequence, answer) = read_packet(socket)?;
    match answer.strip_prefix(&[0xfe]) {
        None => return Ok(()),
        Some(switch) => {
            let scramble = switch.strip_prefix(METHOD).context(
                "the account wants another login than mysql_native_password, which is all \
                    the floor speaks",
            )?;
            let proof = response(password, scramble.strip_suffix(&[0]).unwrap_or(scramble));
            send_packet(socket, sequence + 1, &proof)?;
        }
    }
    read_packet(socket).map(drop)
}

/// Prepares the select; its id.
fn prepare(socket: &mut File) -> Result<u32> {
    let mut packet = vec![COM_STMT_PREPARE];
    packet.extend_from_slice(SELECT.as_bytes());
    send_packet(socket, 0, &packet)?;
    let (_, head) = read_packet(socket)?;
    let Some(&[_, a, b, c, d, columns, _, params, _]) = head.first_chunk() else {
        bail!("the answer to PREPARE is too short");
    };
    for _ in 0..u32::from(columns) + u32::from(params) {
        read_packet(socket)?;
    }
    Ok(u32::from_le_bytes([a, b, c, d]))
}

/// Executes with the parameter's type, which later executions leave out; counts the packets of the
/// answer.
fn execute_first(socket: &mut File, frame: &[u8]) -> Result<u32> {
    const LONGLONG: u8 = 8;
    let (head, _) = frame[4..].split_at(FRAME_BYTES - 4 - 9);
    let mut packet = head.to_vec();
    packet.extend_from_slice(&[1, LONGLONG, 0]);
    packet.extend_from_slice(&1u64.to_le_bytes());
    send_packet(socket, 0, &packet)?;
    let (_, first) = read_packet(socket)?;
    if first[0] == 0 {
        return Ok(1);
    }
    let mut packets = 1;
    for _ in 0..first[0] {
        read_packet(socket)?;
        packets += 1;
    }
    loop {
        packets += 1;
        if read_packet(socket)?.1[0] == 0xfe {
            return Ok(packets);
        }
    }
}
