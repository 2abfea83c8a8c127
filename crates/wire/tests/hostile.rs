//! Whoever answers at a server's address may be a stranger. He records what he is sent, and learns
//! no password from it. A password that is sent as it is goes where nobody listens.

use base::Connect;
use openssl::asn1::Asn1Time;
use openssl::hash::MessageDigest;
use openssl::pkey::{PKey, Private};
use openssl::rsa::{Padding, Rsa};
use openssl::ssl::{SslAcceptor, SslMethod};
use openssl::x509::X509Builder;
use std::fs;
use std::io::{self, Read, Write};
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::thread::{self, JoinHandle};
use wire::{Address, ConnectError, ConnectOptions, Connector, Password, Security, TlsMode};

const PASSWORD: &str = "s3cret of the user";
const SCRAMBLE: &[u8; 20] = b"12345678901234567890";

fn packet(sequence: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = (payload.len() as u32).to_le_bytes().to_vec();
    bytes[3] = sequence;
    bytes.extend_from_slice(payload);
    bytes
}

/// Protocol 4.1, secure connections and login plugins.
const PLAIN: u32 = 1 | 1 << 9 | 1 << 15 | 1 << 19;
const TLS: u32 = 1 << 11;

fn greeting(method: &str, capabilities: u32) -> Vec<u8> {
    let mut payload = b"\x0a8.0.40\0\x01\0\0\0".to_vec();
    payload.extend_from_slice(&SCRAMBLE[..8]);
    payload.push(0);
    payload.extend_from_slice(&capabilities.to_le_bytes()[..2]);
    payload.extend_from_slice(&[8, 2, 0]);
    payload.extend_from_slice(&capabilities.to_le_bytes()[2..]);
    payload.push(21);
    payload.extend_from_slice(&[0; 10]);
    payload.extend_from_slice(&SCRAMBLE[8..]);
    payload.push(0);
    payload.extend_from_slice(method.as_bytes());
    payload.push(0);
    packet(0, &payload)
}

/// Reads one packet.
fn heard(client: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut header = [0; 4];
    client.read_exact(&mut header)?;
    let len = u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize;
    let mut payload = vec![0; len];
    client.read_exact(&mut payload)?;
    Ok(payload)
}

/// A stranger who greets and then says `says`, one payload after each packet of the client's, and
/// hangs up. His thread returns what he heard.
fn stranger(method: &'static str, says: Vec<Vec<u8>>) -> (u16, JoinHandle<Vec<Vec<u8>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let thread = thread::spawn(move || {
        let mut client = listener.accept().unwrap().0;
        client.write_all(&greeting(method, PLAIN)).unwrap();
        let mut all = Vec::new();
        let mut says = says.iter();
        let mut sequence = 2;
        while let Ok(payload) = heard(&mut client) {
            all.push(payload);
            let Some(payload) = says.next() else { break };
            if client.write_all(&packet(sequence, payload)).is_err() {
                break;
            }
            sequence += 2;
        }
        all
    });
    (port, thread)
}

fn log_in(port: u16, security: Security) -> Result<(), ConnectError> {
    log_in_at(Address::Tcp { host: "127.0.0.1".to_owned(), port }, security)
}

fn log_in_at(address: Address, security: Security) -> Result<(), ConnectError> {
    let connector = Connector::new(ConnectOptions {
        address,
        user: "u".to_owned(),
        password: Password::new(PASSWORD),
        schema: None,
        security,
    })?;
    reactor::block_on(connector.connect()).unwrap().map(|_| ())
}

/// He asks by `says` and fails; returns what the user reads and what he heard.
fn refused(method: &'static str, says: Vec<Vec<u8>>, security: Security) -> (String, Vec<Vec<u8>>) {
    let (port, thread) = stranger(method, says);
    let error = log_in(port, security).unwrap_err();
    let all = thread.join().unwrap();
    let clear = |bytes: &[u8]| bytes.windows(PASSWORD.len()).any(|w| w == PASSWORD.as_bytes());
    assert!(!clear(&all.concat()), "{method}: the stranger has the password");
    assert!(!clear(format!("{error} {error:?}").as_bytes()), "{error}");
    (error.to_string(), all)
}

fn preferred() -> Security {
    Security { ssl_mode: Some(TlsMode::Preferred), ..Security::default() }
}

fn switch(method: &str) -> Vec<u8> {
    [b"\xfe", method.as_bytes(), b"\0", SCRAMBLE, b"\0"].concat()
}

/// What a key's owner makes of a packet that was encrypted with it: the password.
fn decrypted(key: &Rsa<Private>, packet: &[u8]) -> Option<Vec<u8>> {
    let mut hidden = vec![0; key.size() as usize];
    let len = key.private_decrypt(packet, &mut hidden, Padding::PKCS1_OAEP).ok()?;
    let unhide = |(byte, mask): (&u8, &u8)| byte ^ mask;
    Some(hidden[..len].iter().zip(SCRAMBLE.iter().cycle()).map(unhide).collect())
}

#[test]
fn clear_passwords_are_not_for_everybody() {
    for security in [Security::default(), preferred()] {
        for method in ["caching_sha2_password", "mysql_native_password", "mysql_clear_password"] {
            let says = vec![switch("mysql_clear_password")];
            let (error, all) = refused(method, says, security.clone());
            assert!(error.contains("mysql_clear_password"), "{error}");
            assert!(error.contains("ssl-mode=REQUIRED"), "{error}");
            assert_eq!(all.len(), 1, "only the hash of the first packet");
        }
    }
    for old in [switch("mysql_old_password"), vec![0xfe]] {
        let (error, _) = refused("mysql_native_password", vec![old], preferred());
        assert!(error.contains("mysql_old_password"), "{error}");
    }
}

/// The server's side of a login by `mysql_clear_password`, from the client's login packet on.
fn ask_for_clear(client: &mut (impl Read + Write)) -> Vec<u8> {
    heard(client).unwrap();
    client.write_all(&packet(2, &switch("mysql_clear_password"))).unwrap();
    let password = heard(client).unwrap();
    let ok = [0, 0, 0, 2, 0, 0, 0];
    client.write_all(&packet(4, &ok)).unwrap();
    // What a session is set to behind its login.
    while heard(client).is_ok() && client.write_all(&packet(1, &ok)).is_ok() {}
    password
}

#[test]
fn clear_passwords_go_where_nobody_listens() {
    let clear = [PASSWORD.as_bytes(), b"\0"].concat();
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("s");
    let listener = UnixListener::bind(&socket).unwrap();
    let server = thread::spawn(move || {
        let mut client = listener.accept().unwrap().0;
        client.write_all(&greeting("mysql_native_password", PLAIN)).unwrap();
        ask_for_clear(&mut client)
    });
    log_in_at(Address::Unix(socket), Security::default()).unwrap();
    assert_eq!(server.join().unwrap(), clear);

    let key = PKey::from_rsa(Rsa::generate(2048).unwrap()).unwrap();
    let mut certificate = X509Builder::new().unwrap();
    certificate.set_pubkey(&key).unwrap();
    certificate.set_not_before(&Asn1Time::days_from_now(0).unwrap()).unwrap();
    certificate.set_not_after(&Asn1Time::days_from_now(1).unwrap()).unwrap();
    certificate.sign(&key, MessageDigest::sha256()).unwrap();
    let mut acceptor = SslAcceptor::mozilla_intermediate_v5(SslMethod::tls_server()).unwrap();
    acceptor.set_private_key(&key).unwrap();
    acceptor.set_certificate(&certificate.build()).unwrap();
    let acceptor = acceptor.build();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = thread::spawn(move || {
        let mut client = listener.accept().unwrap().0;
        client.write_all(&greeting("mysql_native_password", PLAIN | TLS)).unwrap();
        heard(&mut client).unwrap();
        ask_for_clear(&mut acceptor.accept(client).unwrap())
    });
    log_in(port, preferred()).unwrap();
    assert_eq!(server.join().unwrap(), clear);
}

#[test]
fn the_key_of_a_stranger_is_not_believed() {
    let his = Rsa::generate(2048).unwrap();
    let pem = [&[1], &his.public_key_to_pem().unwrap()[..]].concat();
    for (says, request) in [
        (vec![vec![1, 4], pem.clone()], 2),
        (vec![switch("sha256_password"), pem.clone()], 1),
        (vec![switch("caching_sha2_password"), vec![1, 4], pem.clone()], 2),
    ] {
        let asks_and_gets = |security: Security| {
            let (port, thread) = stranger("caching_sha2_password", says.clone());
            let result = log_in(port, security);
            (result, thread.join().unwrap())
        };
        for security in [Security::default(), preferred()] {
            let (error, all) = refused("caching_sha2_password", says.clone(), security);
            for word in
                ["get-server-public-key=true", "server-public-key-path=FILE", "ssl-mode=REQUIRED"]
            {
                assert!(error.contains(word), "{error}");
            }
            assert!(all.iter().all(|packet| decrypted(&his, packet).is_none()));
            assert!(!all.contains(&vec![request]), "his key was asked for");
        }
        // Whoever says so believes him; this is what it means.
        let believing = Security { get_server_public_key: Some(true), ..Security::default() };
        let (_, all) = asks_and_gets(believing);
        let told = decrypted(&his, all.last().unwrap()).unwrap();
        assert_eq!(told, [PASSWORD.as_bytes(), b"\0"].concat());
        // With the key of the server that was meant, he has nothing of it.
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("public_key.pem");
        let meant = Rsa::generate(2048).unwrap();
        fs::write(&file, meant.public_key_to_pem().unwrap()).unwrap();
        let knowing = Security {
            server_public_key_path: Some(file),
            get_server_public_key: Some(true),
            ..Security::default()
        };
        let (_, all) = asks_and_gets(knowing);
        assert!(all.iter().all(|packet| decrypted(&his, packet).is_none()));
        assert!(all.iter().any(|packet| decrypted(&meant, packet).is_some()));
        assert!(!all.contains(&vec![request]), "his key was asked for");
    }
}

#[test]
fn files_that_are_no_keys_are_named() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("no-key.pem");
    fs::write(&file, "no key").unwrap();
    let said = |security: Security| log_in(1, security).unwrap_err().to_string();
    let path = Some(file.clone());
    let key = Security { server_public_key_path: path.clone(), ..Security::default() };
    let pair = Security { ssl_cert: path.clone(), ssl_key: path, ..Security::default() };
    let lone = Security { ssl_cert: Some(file), ..Security::default() };
    for (security, says) in
        [(key, "server-public-key-path "), (pair, "ssl-cert "), (lone, "belong together")]
    {
        let said = said(security);
        assert!(said.contains(says), "{said}");
    }
    let no_ca = Security { ssl_mode: Some(TlsMode::VerifyCa), ..Security::default() };
    assert!(said(no_ca).contains("ssl-ca=FILE"));
}
