//! Whatever a server sends, a session ends or goes on: it does not panic or hang, it takes no more
//! memory than what was sent is worth, and of a stream that is well formed it makes the same rows
//! wherever the stream was cut.

use crate::connection::Connection;
use crate::connector::Connector;
use crate::login::{Login, Privacy, ServerKey};
use crate::options::{Address, ConnectOptions, Password, Security};
use crate::packet::{column_type as t, put_lenenc, put_lenenc_bytes};
use crate::protocol::capability;
use crate::transport::Transport;
use base::{Answer, Param, RowSource, Session, SessionError, SqlValue, limits};
use openssl::pkey::PKey;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use std::io::Write;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::pin::pin;
use std::time::{Duration, Instant};

const PASSWORD: &str = "s3cret-of-the-user";
/// ShownRows as people read them.
type ShownRows = Vec<Vec<String>>;

/// What a server sends to the client below, one payload for each packet.
#[derive(Clone, Debug)]
struct ServerScript {
    packets: Vec<Vec<u8>>,
    /// The answers in it.
    answers: Vec<ShownRows>,
}

/// What is done to the bytes of a script before they are sent.
#[derive(Clone, Debug)]
enum Damage {
    None,
    Flip(Vec<(prop::sample::Index, u8)>),
    Cut(prop::sample::Index),
    Insert(prop::sample::Index, Vec<u8>),
    /// All bytes of a packet's payload, so that headers stay whole.
    Replace(prop::sample::Index, Vec<u8>),
}

fn framed(packets: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (sequence, payload) in packets.iter().enumerate() {
        bytes.extend_from_slice(&(payload.len() as u32).to_le_bytes()[..3]);
        bytes.push(sequence as u8);
        bytes.extend_from_slice(payload);
    }
    bytes
}

impl Damage {
    fn done_to(&self, mut packets: Vec<Vec<u8>>) -> Vec<u8> {
        if let Damage::Replace(at, payload) = self {
            *at.get_mut(&mut packets) = payload.clone();
        }
        let mut bytes = framed(&packets);
        match self {
            Damage::None | Damage::Replace(..) => {}
            Damage::Flip(flips) => {
                for (at, mask) in flips {
                    *at.get_mut(&mut bytes) ^= mask;
                }
            }
            Damage::Cut(at) => bytes.truncate(at.index(bytes.len())),
            Damage::Insert(at, more) => {
                let at = at.index(bytes.len());
                bytes.splice(at..at, more.iter().copied());
            }
        }
        bytes
    }
}

fn any_damage() -> impl Strategy<Value = Damage> {
    let index = any::<prop::sample::Index>;
    let bytes = || vec(any::<u8>(), 0..40);
    prop_oneof![
        2 => Just(Damage::None),
        4 => vec((index(), 1u8..), 1..4).prop_map(Damage::Flip),
        1 => index().prop_map(Damage::Cut),
        2 => (index(), bytes()).prop_map(|(at, more)| Damage::Insert(at, more)),
        4 => (index(), bytes()).prop_map(|(at, payload)| Damage::Replace(at, payload)),
    ]
}

fn greeting(capabilities: u32, method: &[u8]) -> Vec<u8> {
    let mut payload = b"\x0a8.0.15\0\x01\0\0\0".to_vec();
    payload.extend_from_slice(b"12345678\0");
    payload.extend_from_slice(&capabilities.to_le_bytes()[..2]);
    payload.extend_from_slice(&[8, 2, 0]);
    payload.extend_from_slice(&capabilities.to_le_bytes()[2..]);
    payload.push(21);
    payload.extend_from_slice(&[0; 10]);
    payload.extend_from_slice(b"123456789012\0");
    payload.extend_from_slice(method);
    payload.push(0);
    payload
}

/// The packets of a login, after the greeting.
fn any_login() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let switch = |name: &str, data: &[u8]| [b"\xfe", name.as_bytes(), b"\0", data].concat();
    let native = switch("mysql_native_password", b"abcdefghijklmnopqrst\0");
    let ok = vec![0, 0, 0, 2, 0, 0, 0];
    prop_oneof![
        Just(vec![]),
        Just(vec![native]),
        Just(vec![vec![1, 3]]),
        Just(vec![vec![1, 4]]),
        Just(vec![switch("mysql_clear_password", b"")]),
        Just(vec![switch("client_ed25519", &[9; 32])]),
        Just(vec![switch("parsec", &[9; 32]), [&b"P\0"[..], &[7; 18]].concat()]),
        Just(vec![switch("sha256_password", b"abcdefghijklmnopqrst\0"), b"\x01no key".to_vec()]),
    ]
    .prop_map(move |mut packets| {
        packets.push(ok.clone());
        packets
    })
}

/// The end of columns or rows, in both forms.
fn end(capabilities: u32) -> Vec<u8> {
    match capabilities & capability::DEPRECATE_EOF {
        0 => vec![0xfe, 0, 0, 2, 0],
        _ => vec![0xfe, 0, 0, 2, 0, 0, 0],
    }
}

fn column(type_code: u8) -> Vec<u8> {
    [&b"\x03def\0\0\0\x01n\0"[..], &[12, 63, 0, 11, 0, 0, 0, type_code, 0, 0, 0, 0, 0]].concat()
}

fn columns(width: usize, type_code: u8, capabilities: u32) -> Vec<Vec<u8>> {
    let mut packets = vec![column(type_code); width];
    if capabilities & capability::DEPRECATE_EOF == 0 {
        packets.push(end(capabilities));
    }
    packets
}

/// A result of two columns: of integers in the binary protocol, of text in the other.
fn result(
    values: &[[Option<i32>; 2]],
    binary: bool,
    capabilities: u32,
) -> (Vec<Vec<u8>>, ShownRows) {
    let type_code = if binary { t::LONG } else { t::VAR_STRING };
    let mut head = vec![2];
    if capabilities & capability::OPTIONAL_METADATA != 0 {
        head.push(1);
    }
    let mut packets = vec![head];
    packets.extend(columns(2, type_code, capabilities));
    for row in values {
        let mut payload = Vec::new();
        if binary {
            let null = |at: usize| u8::from(row[at].is_none()) << (at + 2);
            payload.extend_from_slice(&[0, null(0) | null(1)]);
        }
        for value in row {
            match value {
                Some(value) if binary => payload.extend_from_slice(&value.to_le_bytes()),
                Some(value) => put_lenenc_bytes(&mut payload, value.to_string().as_bytes()),
                None if binary => {}
                None => payload.push(0xfb),
            }
        }
        packets.push(payload);
    }
    packets.push(end(capabilities));
    let text = |value: &Option<i32>| value.map_or("NULL".to_owned(), |value| value.to_string());
    (packets, values.iter().map(|row| row.iter().map(text).collect()).collect())
}

/// What [`client`] asks for, answered.
fn any_script() -> impl Strategy<Value = ServerScript> {
    let capabilities = (any::<bool>(), any::<bool>()).prop_map(|(deprecate, optional)| {
        let eof = if deprecate { capability::DEPRECATE_EOF } else { 0 };
        let metadata = if optional { capability::OPTIONAL_METADATA } else { 0 };
        1 | 1 << 9 | 1 << 15 | 1 << 19 | eof | metadata
    });
    let value = proptest::option::of(any::<i32>());
    let values = || vec([value.clone(), value.clone()], 0..5);
    let many = (0usize..3000, any::<i32>()).prop_map(|(n, value)| vec![[Some(value), None]; n]);
    let last = prop_oneof![20 => values(), 1 => many];
    (capabilities, any_login(), values(), last).prop_map(|(capabilities, login, first, second)| {
        let mut packets = vec![greeting(capabilities, b"caching_sha2_password")];
        packets.extend(login);
        // Statement 1 with one parameter and two columns.
        packets.push(vec![0, 1, 0, 0, 0, 2, 0, 1, 0, 0, 0, 0]);
        packets.extend(columns(1, t::LONGLONG, capabilities));
        packets.extend(columns(2, t::LONG, capabilities));
        let mut answers = Vec::new();
        for (values, binary) in [(&first, true), (&second, false), (&second, true)] {
            let (more, rows) = result(values, binary, capabilities);
            packets.extend(more);
            answers.push(rows);
        }
        // LOAD DATA LOCAL, with two affected rows.
        packets.extend([vec![0xfb, b'x'], vec![0, 2, 0, 2, 0, 0, 0]]);
        ServerScript { packets, answers }
    })
}

struct OneRow;

impl RowSource for OneRow {
    fn fill(&mut self, buffer: &mut Vec<u8>) -> bool {
        buffer.extend_from_slice(b"1\t2\n");
        false
    }
}

fn rows(answer: &Answer<'_>) -> ShownRows {
    let row = |row: base::Row<'_>| (0..answer.width).map(|column| row.text(column)).collect();
    answer.rows().map(row).collect()
}

#[derive(Clone, Copy, Debug)]
struct Mode {
    pipelined: bool,
    keeps_rows: bool,
}

/// Logs in, prepares, executes, queries, loads.
async fn client(
    connector: &Connector,
    connection: &mut Connection,
    mode: Mode,
    seen: &mut Vec<ShownRows>,
) -> Result<(), SessionError> {
    let logged_in = connector.log_in(connection).await;
    logged_in.map_err(|error| SessionError::Lost(error.to_string()))?;
    let statement = connection.prepare_kind("select", "SELECT a, b FROM t WHERE a = ?").await?;
    connection.set_pipelined(mode.pipelined);
    connection.set_keeps_rows(mode.keeps_rows);
    connection.queue(statement, &[Param::Int(1)])?;
    connection.queue_query("SELECT a, b FROM t")?;
    connection.queue(statement, &[Param::Null])?;
    while connection.unanswered() > 0 {
        match connection.answer().await {
            Ok(answer) => seen.push(rows(&answer)),
            Err(SessionError::Server { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    connection.load_local("LOAD DATA LOCAL", &mut OneRow).await?;
    connection.discard().await
}

/// Lets a client read `bytes`, each of `chunks` when it has read the one before; returns the
/// answers, whether there was an error, and the bytes of the client's buffer.
fn run(connector: &Connector, chunks: &[&[u8]], mode: Mode) -> (Vec<ShownRows>, bool, usize) {
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    let sent: usize = chunks.iter().map(|chunk| chunk.len()).sum();
    let mut chunks = chunks.iter();
    let mut seen = Vec::new();
    let result = reactor::block_on(async {
        let mut connection = Connection::new(Transport::over(ours).unwrap(), true);
        let limit = Instant::now() + Duration::from_secs(300);
        let ended = {
            let mut client = pin!(client(connector, &mut connection, mode, &mut seen));
            let served = std::future::poll_fn(|context| {
                let polled = client.as_mut().poll(context);
                if polled.is_pending() {
                    match chunks.next() {
                        Some(chunk) => theirs.write_all(chunk).unwrap(),
                        None => drop(theirs.shutdown(Shutdown::Write)),
                    }
                }
                polled
            });
            reactor::timeout_at(limit, served).await.expect("the client hangs")
        };
        let (input, cells) = connection.memory();
        assert!(input <= 16 * 1024 + 2 * sent, "{input} bytes of buffer for {sent}");
        assert!(cells <= 64 + 16 * sent, "{cells} cells for {sent} bytes");
        (ended, input)
    });
    let (ended, buffer) = result.unwrap();
    (seen, ended.is_err(), buffer)
}

/// What a session that keeps no rows needs for answers of any size.
const BUFFER_WITHOUT_ROWS: usize = 64 << 10;

fn connector() -> Connector {
    Connector::new(ConnectOptions {
        address: Address::Unix("/nonexistent".into()),
        user: "u".to_owned(),
        password: Password::new(PASSWORD),
        schema: None,
        security: Security::default(),
    })
    .unwrap()
}

fn streams(cases: u32) {
    let connector = connector();
    let cuts = vec(any::<prop::sample::Index>(), 0..6);
    let modes =
        any::<(bool, bool)>().prop_map(|(pipelined, keeps_rows)| Mode { pipelined, keeps_rows });
    let strategy = (any_script(), any_damage(), cuts, modes);
    let config = ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() };
    let test = |(mut script, damage, cuts, mode): (
        ServerScript,
        Damage,
        Vec<prop::sample::Index>,
        Mode,
    )| {
        let has_key = script.packets.iter().any(|packet| packet == b"\x01no key");
        let bytes = damage.done_to(script.packets.clone());
        let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        at.extend([0, bytes.len()]);
        at.sort_unstable();
        // The socket takes no more at once, and an empty write says nothing.
        let chunks: Vec<&[u8]> = at
            .windows(2)
            .flat_map(|cut| bytes[cut[0]..cut[1]].chunks(32 << 10))
            .filter(|chunk| !chunk.is_empty())
            .collect();
        let (seen, failed, buffer) = run(&connector, &chunks, mode);
        if !mode.keeps_rows {
            script.answers.iter_mut().for_each(Vec::clear);
        }
        if matches!(damage, Damage::None) && !has_key {
            prop_assert!(!failed);
            prop_assert!(mode.keeps_rows || buffer <= BUFFER_WITHOUT_ROWS, "{buffer}");
            prop_assert_eq!(seen, script.answers);
        }
        Ok(())
    };
    TestRunner::new(config).run(&strategy, test).unwrap();
}

#[test]
fn streams_of_a_server() {
    streams(4_000);
}

#[test]
#[ignore = "make soak"]
fn a_million_streams_of_a_server() {
    streams(1_000_000);
}

/// Packets that a login may meet, more of what has a meaning than chance would give.
fn any_packet() -> impl Strategy<Value = Vec<u8>> {
    let name = prop::sample::select(vec![
        "mysql_native_password",
        "caching_sha2_password",
        "sha256_password",
        "client_ed25519",
        "parsec",
        "mysql_clear_password",
        "mysql_old_password",
    ]);
    let key = openssl::rsa::Rsa::generate(1024).unwrap().public_key_to_pem().unwrap();
    let switch = (name, vec(any::<u8>(), 0..40))
        .prop_map(|(name, data)| [b"\xfe", name.as_bytes(), b"\0", &data].concat());
    prop_oneof![
        4 => switch,
        2 => prop::sample::select(vec![vec![1, 3], vec![1, 4], vec![4], vec![0xfe]]),
        1 => Just([&[1], &key[..]].concat()),
        1 => vec(any::<u8>(), 18).prop_map(|salt| [b"P\x03", &salt[..]].concat()),
        2 => vec(any::<u8>(), 0..40),
    ]
}

fn says_password(bytes: &[u8]) -> bool {
    bytes.windows(PASSWORD.len()).any(|window| window == PASSWORD.as_bytes())
}

fn logins(cases: u32) {
    let config = ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() };
    let strategy = (vec(any_packet(), 1..6), any::<bool>());
    let none = ServerKey::default();
    let rsa = openssl::rsa::Rsa::generate(1024).unwrap().public_key_to_pem().unwrap();
    let known = ServerKey { known: PKey::public_key_from_pem(&rsa).ok(), is_believed: false };
    let test = |(packets, has_key): (Vec<Vec<u8>>, bool)| {
        let key = if has_key { &known } else { &none };
        let mut login = Login::new(PASSWORD.as_bytes(), Privacy::Open, key);
        for packet in packets {
            let said = match packet.first() {
                Some(0xfe) => login.switch(&packet[1..]).map(Some),
                _ => login.next(&packet),
            };
            match said {
                Ok(said) => {
                    let said = said.unwrap_or_default();
                    prop_assert!(!says_password(&said));
                    // RSA of 1024 bits: a password that somebody's key has encrypted.
                    prop_assert!(has_key || said.len() != 128, "encrypted for a stranger");
                }
                Err(error) => {
                    let error = format!("{error:?}");
                    prop_assert!(!says_password(error.as_bytes()));
                }
            }
        }
        Ok(())
    };
    TestRunner::new(config).run(&strategy, test).unwrap();
}

#[test]
fn no_login_tells_the_password_on_an_open_line() {
    logins(2_000);
}

#[test]
#[ignore = "make soak"]
fn a_million_logins_on_an_open_line() {
    logins(1_000_000);
}

/// A row of NULLs has eight cells in a byte, each of which takes sixteen.
#[test]
fn an_answer_has_a_limit_of_cells() {
    const WIDTH: usize = 4096;
    let capabilities = 1 | 1 << 9 | 1 << 15 | 1 << 19;
    let mut packets = vec![greeting(capabilities, b"caching_sha2_password"), vec![0; 7]];
    packets.push([&[0, 1, 0, 0, 0][..], &(WIDTH as u16).to_le_bytes(), &[1, 0, 0, 0, 0]].concat());
    packets.extend(columns(1, t::LONGLONG, capabilities));
    packets.extend(columns(WIDTH, t::LONG, capabilities));
    let mut head = Vec::new();
    put_lenenc(&mut head, WIDTH as u64);
    packets.push(head);
    packets.extend(columns(WIDTH, t::LONG, capabilities));
    let nulls = [&[0][..], &[0xff; (WIDTH + 9) / 8]].concat();
    packets.resize(packets.len() + limits::ANSWER_CELLS_MAX / WIDTH + 1, nulls);
    packets.push(end(capabilities));
    let bytes = framed(&packets);
    let chunks: Vec<&[u8]> = bytes.chunks(32 << 10).collect();
    let (seen, failed, _) = run(&connector(), &chunks, KEEPING);
    assert!(seen.is_empty() && failed);
    assert_eq!(size_of::<SqlValue>(), 16);
}

const KEEPING: Mode = Mode { pipelined: false, keeps_rows: true };

/// The first byte of the packet behind it is that of an error.
#[test]
fn an_empty_packet_is_no_row() {
    let capabilities = 1 | 1 << 9 | 1 << 15 | 1 << 19;
    let mut packets = vec![greeting(capabilities, b"caching_sha2_password"), vec![0; 7]];
    packets.push(vec![0, 1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0]);
    packets.extend(columns(1, t::LONG, capabilities));
    packets.extend(columns(1, t::LONG, capabilities));
    packets.push(vec![1]);
    packets.extend(columns(1, t::LONG, capabilities));
    packets.extend([vec![], vec![0; 0xff]]);
    let bytes = framed(&packets);
    for keeps_rows in [true, false] {
        let (seen, failed, _) = run(&connector(), &[&bytes], Mode { keeps_rows, ..KEEPING });
        assert!(seen.is_empty() && failed);
    }
}

/// A session that keeps no rows reads those that are larger than a packet, and answers that are
/// larger than any buffer.
#[test]
fn rows_that_are_not_kept_have_no_limit() {
    let capabilities = 1 | 1 << 9 | 1 << 15 | 1 << 19;
    let column = || columns(1, t::VAR_STRING, capabilities);
    let mut packets = vec![greeting(capabilities, b"caching_sha2_password"), vec![0; 7]];
    packets.push(vec![0, 1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0]);
    packets.extend(columns(1, t::LONGLONG, capabilities).into_iter().chain(column()));
    let row = [&[0, 0][..], &[7; (1 << 24) - 3]].concat();
    // Of the largest packet's size, continued by an empty one, and by one that looks like an end.
    for more in [vec![], vec![0xfe, 0, 0], vec![0xff; 9]] {
        packets.push(vec![1]);
        packets.extend(column());
        packets.extend([row.clone(), more, row[..1 << 20].to_vec()]);
        packets.push(end(capabilities));
    }
    packets.extend([vec![0xfb, b'x'], vec![0, 2, 0, 2, 0, 0, 0]]);
    let bytes = framed(&packets);
    let chunks: Vec<&[u8]> = bytes.chunks(32 << 10).collect();
    let skipping = Mode { keeps_rows: false, ..KEEPING };
    let (seen, failed, buffer) = run(&connector(), &chunks, skipping);
    assert!(!failed && seen == vec![ShownRows::new(); 3], "{seen:?} {failed}");
    assert!(buffer <= BUFFER_WITHOUT_ROWS, "{buffer}");
    let (_, failed, _) = run(&connector(), &chunks, KEEPING);
    assert!(failed);
}

#[test]
fn an_idle_connection_that_the_server_closes_is_closed() {
    reactor::block_on(async {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let connection = Connection::new(Transport::over(ours).unwrap(), true);
        assert!(!connection.is_closed());
        // It may say why before, as servers do.
        theirs.write_all(b"bye").unwrap();
        assert!(!connection.is_closed());
        drop(theirs);
        assert!(connection.is_closed());
    })
    .unwrap();
}
