//! Bytes and threads, as host and process tell them, are those that this test used. One test, so
//! that nothing else runs in its process.

use crate::alone;
use crate::common::read;
use observe::{HostSource, ProcessSource, Readings};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::channel;
use std::thread;
use store::MetricSource::{self, Host, Process};

const MIB: i64 = 1 << 20;
const SENT_MIB: i64 = 256;
const USED_MIB: i64 = 256;
const THREADS: i64 = 7;
/// What other programs may send or use in the meantime.
const OTHERS_BYTES: i64 = 64 * MIB;
/// Where they do more.
const TRIES: u32 = 10;

fn value(readings: &Readings, source: MetricSource, name: &str, label: &str) -> i64 {
    let found = readings.values().iter().find(|(metric, _)| {
        metric.source == source && metric.name == name && metric.label == label
    });
    found.unwrap_or_else(|| panic!("no {name} of {label:?}")).1
}

/// Sends that much over the loopback interface, and returns how much came.
fn send(bytes: i64) -> i64 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let receiver = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut buffer = vec![0; 1 << 20];
        let mut came = 0;
        loop {
            match stream.read(&mut buffer).unwrap() {
                0 => return came,
                more => came += more as i64,
            }
        }
    });
    let mut stream = TcpStream::connect(address).unwrap();
    let slice = vec![7; MIB as usize];
    for _ in 0..bytes / MIB {
        stream.write_all(&slice).unwrap();
    }
    drop(stream);
    receiver.join().unwrap()
}

fn loopback_carries_what_was_sent() {
    let mut host = HostSource::default();
    let mut rises = Vec::new();
    for _ in 0..TRIES {
        let before = read(&mut host);
        let came = send(SENT_MIB * MIB);
        let after = read(&mut host);
        assert_eq!(came, SENT_MIB * MIB);
        let rise = |name| value(&after, Host, name, "lo") - value(&before, Host, name, "lo");
        let [received, sent] = ["network_received_bytes", "network_sent_bytes"].map(rise);
        println!("lo: {received} bytes received, {sent} sent; this test sent {came}");
        assert!(received >= came && sent >= came, "{received} {sent}");
        // Headers are less than a hundredth of these long packets.
        if received.max(sent) <= came + came / 20 + OTHERS_BYTES {
            return;
        }
        rises.push((received, sent));
    }
    panic!("others are too busy on lo: {rises:?}");
}

fn memory_in_use_is_what_was_taken() {
    let mut host = HostSource::default();
    let mut process = ProcessSource::new("mydyno", std::process::id());
    let mut now = || {
        let resident = value(&read(&mut process), Process, "resident_bytes", "mydyno");
        let available = value(&read(&mut host), Host, "memory_available_bytes", "");
        (resident, available)
    };
    let used = USED_MIB * MIB;
    let first = now();
    let mut falls = Vec::new();
    let mut all = Vec::new();
    // It is kept while the next is taken: newer kernels leave to each core much of what was freed
    // on it, which is not in what is available, and give that out first.
    while all.len() < TRIES as usize {
        let before = now();
        // Not zeros, which would be untouched pages.
        all.push(std::hint::black_box(vec![7_u8; used as usize]));
        let after = now();
        let (rise, fall) = (after.0 - before.0, before.1 - after.1);
        println!("{used} bytes taken: the process rose by {rise}, available fell by {fall}");
        // Newer kernels lag by some pages for each core.
        assert!((rise - used).abs() <= used / 8, "{rise} of {used}");
        falls.push(fall);
        if (fall - used).abs() <= OTHERS_BYTES {
            break;
        }
    }
    let last = now();
    let taken = used * all.len() as i64;
    drop(all);
    let fall = last.0 - now().0;
    assert!((fall - taken).abs() <= taken / 8, "{fall} of {taken}");
    assert!((last.0 - first.0 - taken).abs() <= taken / 8, "{taken}");
    let told = falls.iter().any(|fall| (fall - used).abs() <= OTHERS_BYTES);
    assert!(told, "others take or free too much memory: available fell by {falls:?}");
}

fn threads_are_those_that_there_are() {
    let mut process = ProcessSource::new("mydyno", std::process::id());
    let mut threads = || value(&read(&mut process), Process, "threads", "mydyno");
    let before = threads();
    let mut ends = Vec::new();
    for _ in 0..THREADS {
        let (end, ended) = channel::<()>();
        // Until the other end goes away.
        ends.push((end, thread::spawn(move || ended.recv().is_err())));
    }
    assert_eq!(threads(), before + THREADS);
    for (end, thread) in ends {
        drop(end);
        assert!(thread.join().unwrap());
    }
    // The kernel may be done with the last one a moment later.
    for _ in 0..10_000 {
        if threads() == before {
            return;
        }
        thread::sleep(std::time::Duration::from_millis(10));
    }
    assert_eq!(threads(), before);
}

#[test]
fn amounts_are_those_that_were_used() {
    alone("amounts::amounts_are_those_that_were_used", || {
        threads_are_those_that_there_are();
        loopback_carries_what_was_sent();
        memory_in_use_is_what_was_taken();
    });
}
