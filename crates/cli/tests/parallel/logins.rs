//! Logins at real servers: every method over every kind of line, certificates of clients, and a
//! stranger in between.

use crate::connections;
use crate::support::{Held, Server, directory, execute, home, install, mydyno, try_connect};
use base::Connect;
use openssl::asn1::Asn1Time;
use openssl::hash::MessageDigest;
use openssl::pkey::{PKey, Private};
use openssl::rsa::Rsa;
use openssl::x509::extension::BasicConstraints;
use openssl::x509::{X509, X509Builder, X509NameBuilder};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use wire::Connector;

/// A greeting on its way through a [`relay`].
type OnGreeting = fn(Vec<u8>) -> Vec<u8>;

/// Listens for as many connections as there are `changes`, changes the greeting that the server at
/// `port` sends to each, and passes on everything else. Returns its port.
fn relay(port: u16, changes: &'static [OnGreeting]) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let own = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for change in changes {
            let mut client = listener.accept().unwrap().0;
            let mut server = TcpStream::connect(("127.0.0.1", port)).unwrap();
            let mut greeting = vec![0; 4];
            server.read_exact(&mut greeting).unwrap();
            greeting.resize(4 + usize::from(greeting[0]), 0);
            server.read_exact(&mut greeting[4..]).unwrap();
            client.write_all(&change(greeting)).unwrap();
            for (mut from, mut to) in
                [(client.try_clone(), server.try_clone()), (Ok(server), Ok(client))]
                    .map(|(from, to)| (from.unwrap(), to.unwrap()))
            {
                thread::spawn(move || {
                    let _ = std::io::copy(&mut from, &mut to);
                    let _ = to.shutdown(Shutdown::Both);
                });
            }
        }
    });
    own
}

/// Takes the offer of TLS out of a greeting.
fn without_tls(mut greeting: Vec<u8>) -> Vec<u8> {
    let version = greeting[5..].iter().position(|byte| *byte == 0).unwrap();
    // After the version: connection id 4, scramble 8, filler 1, then the low half of the flags.
    greeting[5 + version + 1 + 13 + 1] &= !(1 << (11 - 8));
    greeting
}

/// Adds the answer to a login that has not been made.
fn with_forged_ok(mut greeting: Vec<u8>) -> Vec<u8> {
    greeting.extend_from_slice(&[7, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0]);
    greeting
}

fn unchanged(greeting: Vec<u8>) -> Vec<u8> {
    greeting
}

/// How the bytes of a login travel that works.
#[track_caller]
fn transport(dsn: &str) -> &'static str {
    try_connect(dsn).unwrap_or_else(|error| panic!("{dsn}: {error}")).transport()
}

/// A login that fails says each of these.
#[track_caller]
fn fails(dsn: &str, says: &[&str]) {
    let error = try_connect(dsn).err().unwrap_or_else(|| panic!("{dsn} works")).to_string();
    for words in says {
        assert!(error.contains(words), "{dsn}: {error}");
    }
    assert!(!error.contains("s3cret"), "{error}");
}

/// A pair of files: a certificate that `authority` has signed, or that has signed itself, and its
/// key.
struct Certified {
    certificate: X509,
    key: PKey<Private>,
    files: [PathBuf; 2],
}

fn certificate(directory: &Path, name: &str, authority: Option<&Certified>) -> Certified {
    let key = PKey::from_rsa(Rsa::generate(2048).unwrap()).unwrap();
    let mut subject = X509NameBuilder::new().unwrap();
    subject.append_entry_by_text("CN", name).unwrap();
    let subject = subject.build();
    let mut builder = X509Builder::new().unwrap();
    builder.set_version(2).unwrap();
    builder.set_subject_name(&subject).unwrap();
    let issuer = authority.map_or(&*subject, |authority| authority.certificate.subject_name());
    builder.set_issuer_name(issuer).unwrap();
    builder.set_pubkey(&key).unwrap();
    builder.set_not_before(&Asn1Time::days_from_now(0).unwrap()).unwrap();
    builder.set_not_after(&Asn1Time::days_from_now(2).unwrap()).unwrap();
    if authority.is_none() {
        builder.append_extension(BasicConstraints::new().critical().ca().build().unwrap()).unwrap();
    }
    let signer = authority.map_or(&key, |authority| &authority.key);
    builder.sign(signer, MessageDigest::sha256()).unwrap();
    let certificate = builder.build();
    let files = ["cert", "key"].map(|kind| directory.join(format!("{name}-{kind}.pem")));
    std::fs::write(&files[0], certificate.to_pem().unwrap()).unwrap();
    // The servers of old read this form only.
    std::fs::write(&files[1], key.rsa().unwrap().private_key_to_pem().unwrap()).unwrap();
    Certified { certificate, key, files }
}

#[test]
fn the_key_of_the_server() {
    let server = connections::server();
    execute(
        &server.dsn,
        [
            "CREATE USER key_caching@'%' IDENTIFIED WITH caching_sha2_password BY 's3cret'",
            "CREATE USER key_sha256@'%' IDENTIFIED WITH sha256_password BY 's3cret'",
        ],
    );
    let work = directory();
    let own = home().join("instances").join(&server.name).join("data/public_key.pem");
    let other = work.path().join("other.pem");
    let stranger = Rsa::generate(2048).unwrap();
    std::fs::write(&other, stranger.public_key_to_pem().unwrap()).unwrap();
    let path = |file: &Path| format!("?server-public-key-path={}", file.display());
    for user in ["key_caching", "key_sha256"] {
        let tcp = |options: &str| {
            // The server forgets who has logged in, and wants the password itself.
            execute(&server.dsn, ["FLUSH PRIVILEGES"]);
            format!("mysql://{user}:s3cret@127.0.0.1:{}/{options}", server.port)
        };
        let ways = ["get-server-public-key=true", "server-public-key-path=FILE", "REQUIRED"];
        fails(&tcp(""), &ways);
        fails(&tcp("?get-server-public-key=false"), &ways);
        fails(&tcp(&path(&other)), &["was denied"]);
        assert_eq!(transport(&tcp("?get-server-public-key=true")), "tcp");
        assert_eq!(transport(&tcp(&path(&own))), "tcp");
        assert_eq!(transport(&tcp("?ssl-mode=REQUIRED")), "tcp+tls");
        assert_eq!(transport(&tcp("?ssl-mode=PREFERRED")), "tcp+tls");
        execute(&server.dsn, ["FLUSH PRIVILEGES"]);
        let socket = server.socket.display();
        let unix = format!("mysql://{user}:s3cret@localhost/?socket={socket}");
        assert_eq!(transport(&unix), "unix");
        let wrong = tcp("?ssl-mode=REQUIRED").replace("s3cret", "wr0ng");
        fails(&wrong, &["was denied"]);
    }
    // In the words of an option file, and the refusal of the program itself.
    execute(&server.dsn, ["GRANT SELECT ON tpcc.* TO key_caching@'%'"]);
    let file = work.path().join("client.cnf");
    for (line, code) in [("", 4), ("get-server-public-key", 0)] {
        execute(&server.dsn, ["FLUSH PRIVILEGES"]);
        let login = "user=key_caching\npassword=s3cret\nhost=127.0.0.1\ndatabase=tpcc";
        let text = format!("[client]\n{login}\nport={}\n{line}\n", server.port);
        std::fs::write(&file, text).unwrap();
        let ran = mydyno(["check", "--defaults-file"]).and_args([&file]).run().exits(code);
        assert!(!ran.stderr.contains("s3cret"), "{}", ran.stderr);
        if code != 0 {
            ran.says(&["get-server-public-key=true", "ssl-mode=REQUIRED"]);
        }
    }
}

#[test]
fn certificates_of_clients() {
    let server = connections::server();
    execute(
        &server.dsn,
        ["CREATE USER certified@'%' IDENTIFIED WITH mysql_native_password BY 's3cret' \
             REQUIRE X509"],
    );
    let data = home().join("instances").join(&server.name).join("data");
    let dsn =
        |options: &str| format!("mysql://certified:s3cret@127.0.0.1:{}/?{options}", server.port);
    let file = |name: &str| data.join(name).display().to_string();
    let cert = format!("ssl-cert={}", file("client-cert.pem"));
    let key = format!("ssl-key={}", file("client-key.pem"));
    // Whoever names a certificate wants it used.
    assert_eq!(transport(&dsn(&format!("{cert}&{key}"))), "tcp+tls");
    let ca = format!("ssl-mode=VERIFY_CA&ssl-ca={}", file("ca.pem"));
    assert_eq!(transport(&dsn(&format!("{ca}&{cert}&{key}"))), "tcp+tls");
    fails(&dsn("ssl-mode=REQUIRED"), &["was denied", "requires TLS or a certificate", "ssl-cert"]);
    fails(&dsn(&format!("{cert}&{key}&ssl-mode=DISABLED")), &["was denied"]);
    let of_another = format!("ssl-key={}", file("server-key.pem"));
    fails(&dsn(&format!("{cert}&{of_another}")), &["ssl-key", "private key of ssl-cert"]);
    mydyno(["check", "--dsn", &dsn(&cert)]).run().exits(2).says(&["belong together"]);
}

#[test]
fn a_stranger_in_between() {
    let server = connections::server();
    execute(
        &server.dsn,
        [
            "CREATE USER between_native@'%' IDENTIFIED WITH mysql_native_password BY 's3cret'",
            "CREATE USER between_caching@'%' IDENTIFIED WITH caching_sha2_password BY 's3cret'",
        ],
    );
    let dsn = |user: &str, port: u16, mode: &str| {
        format!("mysql://{user}:s3cret@127.0.0.1:{port}/?ssl-mode={mode}")
    };
    // What he says before TLS begins is no answer.
    for mode in ["REQUIRED", "PREFERRED"] {
        let port = relay(server.port, &[with_forged_ok]);
        fails(&dsn("nobody", port, mode), &["no TLS", "follow the server's greeting"]);
    }
    assert_eq!(
        transport(&dsn("between_native", relay(server.port, &[unchanged]), "REQUIRED")),
        "tcp+tls"
    );
    // He hides that the server has TLS: no line without it, or no password on it.
    fails(
        &dsn("between_native", relay(server.port, &[without_tls]), "REQUIRED"),
        &["the server has TLS switched off"],
    );
    let plain = dsn("between_native", relay(server.port, &[without_tls]), "PREFERRED");
    assert_eq!(transport(&plain), "tcp");
    fails(
        &dsn("between_caching", relay(server.port, &[without_tls]), "PREFERRED"),
        &["get-server-public-key=true", "ssl-mode=REQUIRED"],
    );
    // He comes later.
    let port = relay(server.port, &[unchanged, without_tls]);
    let options = crate::support::connect_options(&dsn("between_native", port, "PREFERRED"));
    let connector = Connector::new(options).unwrap();
    let connect = || reactor::block_on(connector.connect()).unwrap();
    assert_eq!(connect().unwrap().transport(), "tcp+tls");
    let error = connect().err().unwrap().to_string();
    assert!(error.contains("somebody may be in between"), "{error}");
}

/// MySQL 5.7 makes no certificates, and its RSA needs files.
#[test]
fn mysql_5_7_with_certificates_of_its_own() {
    let work = directory();
    let authority = certificate(work.path(), "authority", None);
    let own = certificate(work.path(), "127.0.0.1", Some(&authority));
    let setting = |name: &str, file: &Path| format!("{name}={}", file.display());
    let settings = [
        setting("ssl_ca", &authority.files[0]),
        setting("ssl_cert", &own.files[0]),
        setting("ssl_key", &own.files[1]),
    ];
    let server = Server::loaded("mysql-5.7", &settings.each_ref().map(String::as_str));
    execute(
        &server.dsn,
        [
            "CREATE USER sha256@'%' IDENTIFIED WITH sha256_password BY 's3cret'",
            "CREATE USER native@'%' IDENTIFIED WITH mysql_native_password BY 's3cret'",
            "CREATE USER certified@'%' IDENTIFIED BY 's3cret' REQUIRE X509",
        ],
    );
    let dsn = |user: &str, options: &str| {
        format!("mysql://{user}:s3cret@127.0.0.1:{}/?{options}", server.port)
    };
    let ca = format!("ssl-mode=VERIFY_CA&ssl-ca={}", authority.files[0].display());
    for user in ["sha256", "native"] {
        for options in ["ssl-mode=REQUIRED", "ssl-mode=PREFERRED", &ca] {
            assert_eq!(transport(&dsn(user, options)), "tcp+tls", "{user} {options}");
        }
    }
    fails(&dsn("sha256", ""), &["sha256_password", "get-server-public-key=true", "REQUIRED"]);
    assert_eq!(transport(&dsn("native", "")), "tcp");
    let client = certificate(work.path(), "client", Some(&authority));
    let [cert, key] = &client.files;
    let pair = format!("ssl-cert={}&ssl-key={}", cert.display(), key.display());
    assert_eq!(transport(&dsn("certified", &pair)), "tcp+tls");
    fails(&dsn("certified", &ca), &["was denied"]);
}

/// Plugins of the package `mariadb-server`, which engines do not hold: fetched once, by an apt with
/// a configuration of its own, from the suite of the engine.
fn plugins_of_mariadb() -> PathBuf {
    const FETCH: &str = r#"
        set -eu
        mkdir -p lists/partial cache/archives/partial
        : >status
        own() {
            apt-get -q -o Dir::State="$PWD" -o Dir::State::status="$PWD/status" \
                -o Dir::Cache="$PWD/cache" -o Dir::Etc::SourceList="$PWD/sources.list" \
                -o Dir::Etc::SourceParts=/dev/null -o Dir::Etc::Preferences=/dev/null \
                -o Dir::Etc::PreferencesParts=/dev/null -o APT::Sandbox::User= "$@"
        }
        for archive in $(apt-get --print-uris update | sed -n "s|^'\(.*\)/dists/.*|\1|p"); do
            key=/usr/share/keyrings/debian-archive-keyring.gpg
            echo "deb [signed-by=$key target=Packages] $archive trixie main" >sources.list
            own update && own download mariadb-server && break
        done
        dpkg-deb --extract mariadb-server_*.deb .
    "#;
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("plugins-mariadb-11.8");
    let plugins = place.join("usr/lib/mysql/plugin");
    if !plugins.is_dir() {
        // On the file system of `place`.
        let work = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let output =
            Command::new("sh").args(["-c", FETCH]).current_dir(work.path()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "fetching mariadb-server of trixie: {said}");
        // Another process may have been here first.
        let _ = std::fs::rename(work.path(), &place);
    }
    plugins
}

#[test]
fn signatures_of_mariadb() {
    install("mariadb-11.8");
    let plugins = plugins_of_mariadb();
    let plugin_dir = format!("plugin_dir={}", plugins.display());
    // MariaDB does not start on data that were made without doublewrite and a slow shutdown.
    let settings = ["innodb_log_file_size=16M", &plugin_dir, "ssl=ON"];
    let server = Server::start("mariadb-11.8", &settings);
    execute(&server.dsn, ["INSTALL SONAME 'auth_ed25519'", "INSTALL SONAME 'auth_parsec'"]);
    for method in ["ed25519", "parsec"] {
        let create = |user: &str, password: &str| {
            format!(
                "CREATE USER {user}_{method}@'%' IDENTIFIED VIA {method} \
                 USING PASSWORD('{password}')"
            )
        };
        execute(&server.dsn, [create("user", "s3cret"), create("long", &"s3cret".repeat(20))]);
        let dsn = |user: &str, password: &str, options: &str| {
            format!("mysql://{user}_{method}:{password}@127.0.0.1:{}/{options}", server.port)
        };
        // Nonces and salts are new each time.
        for _ in 0..5 {
            assert_eq!(transport(&dsn("user", "s3cret", "")), "tcp");
        }
        assert_eq!(transport(&dsn("long", &"s3cret".repeat(20), "")), "tcp");
        assert_eq!(transport(&dsn("user", "s3cret", "?ssl-mode=REQUIRED")), "tcp+tls");
        let socket = format!("?socket={}", server.socket.display());
        assert_eq!(transport(&dsn("user", "s3cret", &socket)), "unix");
        for wrong in ["wr0ng", ""] {
            fails(&dsn("user", wrong, ""), &["was denied"]);
        }
    }
}

/// A server that `server start` has made is reached by the DSN that it printed, over TCP and with
/// the login method of its default.
#[test]
fn servers_of_our_own() {
    let server = connections::server();
    execute(&server.dsn, ["FLUSH PRIVILEGES"]);
    let mut held = Held::open(&server.dsn);
    let plugin = "SELECT plugin FROM mysql.user WHERE user = 'mydyno' AND host = '127.0.0.1'";
    assert_eq!(held.query(plugin), ["caching_sha2_password"]);
    assert_eq!(held.transport(), "tcp");
    assert!(server.dsn.contains("server-public-key-path="), "{}", server.dsn);
    let listed = mydyno(["server", "list", "--json"]).run().exits(0);
    assert!(!listed.stdout.contains("server-public-key-path"), "{}", listed.stdout);
}
