//! Ways to a server: TCP and unix sockets, option files, TLS, both login methods, the password from
//! the environment.

use crate::support::{
    ENGINES, Mydyno, QUICK, Server, directory, execute, home, mydyno, result, text,
};
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};

static SERVER: LazyLock<Server> = LazyLock::new(|| {
    let server = Server::loaded("mysql-8.0", &["local_infile=ON"]);
    execute(
        &server.dsn,
        [
            "CREATE USER caching@'%' IDENTIFIED WITH caching_sha2_password BY 'c@ching: secret/'",
            "CREATE USER native@'%' IDENTIFIED WITH mysql_native_password BY 'n@tive: secret/'",
            "CREATE USER open@'%' IDENTIFIED WITH mysql_native_password BY ''",
            "GRANT ALL ON tpcc.* TO caching@'%', native@'%', open@'%'",
        ],
    );
    server
});

/// The server of these tests, which others may use too: accounts of their own, no change of its
/// variables.
pub fn server() -> &'static Server {
    &SERVER
}

/// Passwords in DSNs are percent-encoded.
const CACHING: &str = "caching:c%40ching%3A%20secret%2F";
const NATIVE: &str = "native:n%40tive%3A%20secret%2F";

fn tcp(login: &str, options: &str) -> String {
    format!("mysql://{login}@127.0.0.1:{}/tpcc{options}", SERVER.port)
}

fn unix(login: &str) -> String {
    format!("mysql://{login}@localhost/tpcc?socket={}", SERVER.socket.display())
}

fn check(arguments: &[&str]) -> Mydyno {
    mydyno(["check", "--json"]).and_args(arguments)
}

/// Runs for a second, and returns the transport with the notes. One at a time: a run that is not
/// alone on its database fails.
fn transport_of_run(work: &Path, arguments: &[&str]) -> (String, String) {
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let summary = mydyno(["run", "-c", "2", "--warmup", "0", "--window", "1s", "--json"])
        .and_args(arguments)
        .in_directory(work)
        .run()
        .exits(0)
        .json();
    let stored = "SELECT transport FROM cell ORDER BY id DESC LIMIT 1";
    let stored = result(&work.join("mydyno.db"), stored);
    assert_eq!(text(&summary, "/transport"), stored);
    assert_eq!(text(&summary, "/engine"), "mysql-8.0");
    (stored, summary["notes"].to_string())
}

fn data_file(name: &str) -> PathBuf {
    home().join("instances").join(&SERVER.name).join("data").join(name)
}

#[test]
fn tcp_and_unix_sockets() {
    let work = directory();
    let (transport, notes) = transport_of_run(work.path(), &["--dsn", &SERVER.dsn]);
    assert_eq!(transport, "tcp");
    assert!(!notes.contains("encrypted"), "{notes}");
    // `localhost` does not become a socket behind the user's back.
    let localhost = SERVER.dsn.replace("127.0.0.1", "localhost");
    assert_eq!(transport_of_run(work.path(), &["--dsn", &localhost]).0, "tcp");
    let socket = format!("{}&socket={}", SERVER.dsn, SERVER.socket.display());
    assert_eq!(transport_of_run(work.path(), &["--dsn", &socket]).0, "unix");
    let absent = "mysql://u@localhost/tpcc?socket=/nonexistent/mysql.sock";
    check(&["--dsn", absent])
        .run()
        .exits(4)
        .says(&["cannot reach the server at /nonexistent/mysql.sock"]);
}

#[test]
fn login_methods() {
    let server = &*SERVER;
    // Over a socket and over TLS the password may travel as it is; over plain TCP it is encrypted
    // with the server's key, which has to be believed.
    const KEY: &str = "?get-server-public-key=true";
    execute(&server.dsn, ["FLUSH PRIVILEGES"]);
    let work = directory();
    // Who may log in learns that there are fewer warehouses, which is sooner known than their
    // consistency.
    let logs_in = |dsn: &str| {
        mydyno(["run", "-w", "2", "--dsn", dsn])
            .in_directory(work.path())
            .run()
            .exits(4)
            .says(&["holds 1 warehouse"]);
    };
    for dsn in [
        tcp(CACHING, KEY),
        tcp(CACHING, KEY),
        tcp(CACHING, "?ssl-mode=REQUIRED"),
        unix(CACHING),
        tcp(NATIVE, ""),
        tcp(NATIVE, "?ssl-mode=REQUIRED"),
        unix(NATIVE),
        tcp("open", ""),
    ] {
        logs_in(&dsn);
        execute(&server.dsn, ["FLUSH PRIVILEGES"]);
        logs_in(&dsn);
    }
    for dsn in
        [tcp("caching:wrong", KEY), tcp("native:wrong", ""), tcp("caching", ""), unix("nobody:x")]
    {
        check(&["--dsn", &dsn]).run().exits(4).says(&["was denied", "check user and password"]);
    }
}

#[test]
fn a_login_that_may_not_create_the_schema() {
    let work = directory();
    let forbidden = tcp(NATIVE, "").replace("/tpcc", "/forbidden");
    let load = |dsn: &str, arguments: &[&str]| {
        mydyno(["load", "--dsn", dsn]).and_args(arguments).in_directory(work.path()).run()
    };
    load(&forbidden, &["-w", "1"])
        .exits(4)
        .says(&["user \"native\" may not create schema \"forbidden\"", "GRANT ALL"]);
    // One that is there and granted can be loaded without more rights.
    execute(&SERVER.dsn, ["CREATE DATABASE granted", "GRANT ALL ON granted.* TO native@'%'"]);
    let small = ["--workload", "sysbench-oltp", "--tables", "1", "--table-size", "100"];
    load(&tcp(NATIVE, "").replace("/tpcc", "/granted"), &small).exits(0);
}

#[test]
fn the_password_from_the_environment() {
    let with = |login: &str, password: &str| {
        check(&["--dsn", &tcp(login, "?get-server-public-key=1")])
            .env("MYDYNO_PASSWORD", password)
            .run()
    };
    with("native", "n@tive: secret/").exits(0);
    with("caching", "c@ching: secret/").exits(0);
    let denied = with("native", "wr0ng-one").exits(4).says(&["was denied"]);
    assert!(!denied.stderr.contains("wr0ng-one"));
    // What the DSN says, wins.
    with(NATIVE, "wr0ng-one").exits(0);
}

#[test]
fn option_files() {
    let work = directory();
    let file = work.path().join("client.cnf");
    let write = |lines: &str| {
        std::fs::write(&file, format!("[mysqld]\nport=1\n[client]\n{lines}\n")).unwrap();
    };
    let argument = file.to_str().unwrap().to_owned();
    let arguments = ["--defaults-file", argument.as_str()];
    let login = "user=native\npassword=\"n@tive: secret/\"\ndatabase=tpcc";
    write(&format!("{login}\nhost=127.0.0.1\nport={}", SERVER.port));
    let (transport, _) = transport_of_run(work.path(), &arguments);
    assert_eq!(transport, "tcp");
    write(&format!("{login}\nsocket={}", SERVER.socket.display()));
    assert_eq!(transport_of_run(work.path(), &arguments).0, "unix");
    write(&format!("{login}\nhost=127.0.0.1\nport={}\nssl-mode=PREFERRED", SERVER.port));
    assert_eq!(transport_of_run(work.path(), &arguments).0, "tcp+tls");
    // The DSN adds the schema, the file the rest.
    write(&format!(
        "user=native\npassword='n@tive: secret/'\nport={}\nhost=127.0.0.1",
        SERVER.port
    ));
    check(&arguments).run().exits(4).says(&["no schema is selected"]);
    check(&arguments).and_args(["--dsn", "mysql:///tpcc"]).run().exits(0);
    // ~/.my.cnf is read where no other file is named.
    std::fs::rename(&file, work.path().join(".my.cnf")).unwrap();
    check(&["--dsn", "mysql:///tpcc"]).env("HOME", work.path()).run().exits(0);
    check(&arguments).run().exits(2).says(&["client.cnf"]);
    let database = work.path().join("mydyno.db");
    let bytes = std::fs::read(database).unwrap();
    assert!(!bytes.windows(6).any(|window| window == b"n@tive"));
}

#[test]
fn tls() {
    let work = directory();
    let (transport, notes) =
        transport_of_run(work.path(), &["--dsn", &tcp(NATIVE, "?ssl-mode=REQUIRED")]);
    assert_eq!(transport, "tcp+tls");
    assert!(notes.contains("encrypted: TLSv1."), "{notes}");
    let ca = data_file("ca.pem");
    let verified = tcp(CACHING, &format!("?ssl-mode=VERIFY_CA&ssl-ca={}", ca.display()));
    assert_eq!(transport_of_run(work.path(), &["--dsn", &verified]).0, "tcp+tls");
    // Whoever names a certificate authority wants it used.
    let implied = tcp(CACHING, &format!("?ssl-ca={}", ca.display()));
    assert_eq!(transport_of_run(work.path(), &["--dsn", &implied]).0, "tcp+tls");
    // The certificate that the server made for itself names no host.
    let identity = tcp(NATIVE, &format!("?ssl-mode=VERIFY_IDENTITY&ssl-ca={}", ca.display()));
    check(&["--dsn", &identity]).run().exits(4).says(&["no TLS connection"]);
    // The certificate of another authority: that of another server.
    let other = Server::start("mysql-9.7", &QUICK);
    let wrong = home().join("instances").join(&other.name).join("data/ca.pem");
    assert!(wrong.exists(), "{}", wrong.display());
    let dsn = tcp(NATIVE, &format!("?ssl-mode=VERIFY_CA&ssl-ca={}", wrong.display()));
    let refused = check(&["--dsn", &dsn]).run().exits(4);
    let refused = refused.says(&["no TLS connection", "certificate verify failed"]);
    // Without the functions and lines of OpenSSL.
    assert!(!refused.stderr.contains("routines"), "{}", refused.stderr);
    let none = tcp(NATIVE, "?ssl-mode=VERIFY_CA&ssl-ca=/nonexistent/ca.pem");
    check(&["--dsn", &none]).run().exits(4).says(&["/nonexistent/ca.pem: No such file"]);
    let unnamed = tcp(NATIVE, "?ssl-mode=VERIFY_CA");
    check(&["--dsn", &unnamed]).run().exits(2).says(&["ssl-ca=FILE"]);
}

/// A server that has TLS switched off is told as such.
#[test]
fn no_tls_on_the_server() {
    let server = Server::start(ENGINES[2], &["innodb_log_file_size=16M"]);
    execute(&server.dsn, ["CREATE DATABASE tpcc"]);
    let dsn = format!("{}?ssl-mode=REQUIRED", server.dsn);
    check(&["--dsn", &dsn]).run().exits(4).says(&[
        "no TLS connection",
        "the server has TLS switched off",
        "ssl-mode=DISABLED",
    ]);
}
