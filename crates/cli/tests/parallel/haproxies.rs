//! A real HAProxy before servers: statements of all styles through it, a failover that it makes,
//! connections that it closes because they are idle, and fewer of them than a run asks for.

use crate::support::{
    Mydyno, Server, all_checks_hold, counts_agree, directory, execute, float, list, mydyno, number,
    query, text, until, value,
};
use serde_json::Value;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// HAProxy in TCP mode, which ends where it is dropped.
struct HaProxy {
    process: Child,
    directory: TempDir,
    port: u16,
}

impl HaProxy {
    /// With these lines about the only listener, which has the servers.
    fn before(servers: &[&Server], lines: &str) -> HaProxy {
        let directory = directory();
        let port = TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port();
        let admin = directory.path().join("admin.sock");
        let mut text = format!(
            "global\n  stats socket {} level admin\ndefaults\n  mode tcp\n  timeout connect 2s\n  \
             timeout client 60s\n  timeout server 60s\nlisten database\n  bind 127.0.0.1:{port}\n\
             {lines}\n",
            admin.display()
        );
        let account = "CREATE USER IF NOT EXISTS haproxy IDENTIFIED WITH \
                       mysql_native_password BY ''";
        for (at, server) in servers.iter().enumerate() {
            // As whom it looks whether the server is up.
            execute(&server.dsn, ["SET sql_log_bin = 0", account]);
            let role = if at == 0 { "on-marked-down shutdown-sessions" } else { "backup" };
            text += &format!("  server s{at} 127.0.0.1:{} check inter 200ms {role}\n", server.port);
        }
        let file = directory.path().join("haproxy.cfg");
        fs::write(&file, text + "  option mysql-check user haproxy\n").unwrap();
        let process = Command::new("/usr/sbin/haproxy")
            .args(["-db", "-f"])
            .arg(&file)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(fs::File::create(directory.path().join("log")).unwrap())
            .spawn()
            .unwrap_or_else(|cause| panic!("cannot start haproxy ({cause}); install it"));
        let mut haproxy = HaProxy { process, directory, port };
        until("haproxy answers", || {
            assert!(haproxy.process.try_wait().unwrap().is_none(), "{}", haproxy.log());
            admin.exists() && haproxy.tell("show servers state").contains("s0")
        });
        haproxy
    }

    fn log(&self) -> String {
        fs::read_to_string(self.directory.path().join("log")).unwrap()
    }

    /// Gives an order over its socket, and returns the answer.
    fn tell(&self, order: &str) -> String {
        let Ok(mut socket) = UnixStream::connect(self.directory.path().join("admin.sock")) else {
            return String::new();
        };
        let mut answer = String::new();
        socket.write_all(format!("{order}\n").as_bytes()).unwrap();
        socket.read_to_string(&mut answer).unwrap();
        answer
    }

    /// `mydyno` through it, with an account that all its servers have.
    fn mydyno(&self, arguments: &str) -> Mydyno {
        let dsn = format!("mysql://clerk:clerk@127.0.0.1:{}/tpcc", self.port);
        mydyno(arguments.split(' ')).and_args(["--dsn", &dsn, "--json"])
    }
}

impl Drop for HaProxy {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn server(settings: &[&str]) -> Server {
    let server = Server::loaded("mysql-8.0", settings);
    let create = "CREATE USER clerk IDENTIFIED WITH mysql_native_password BY 'clerk'";
    execute(&server.dsn, ["SET sql_log_bin = 0", create, "GRANT ALL ON *.* TO clerk"]);
    server
}

fn errors(document: &Value) -> u64 {
    let transactions = document["transactions"].as_object().unwrap();
    transactions.values().map(|of| number(of, "/errors")).sum()
}

#[test]
#[ignore = "make soak"]
fn all_styles_through_it() {
    let (server, work) = (server(&[]), directory());
    let haproxy = HaProxy::before(&[&server], "");
    let run = |arguments: &str| haproxy.mydyno(arguments).in_directory(work.path()).run().exits(0);
    run("load -w 1 --force");
    for style in ["statements", "pipelined", "batched", "procedures", "statements --no-prepare"] {
        let arguments = format!("run -c 4 --warmup 0 --window 2s --check --style {style}");
        let document = run(&arguments).json();
        assert!(number(&document, "/new_orders_committed_by_driver") > 0, "{style}");
        assert_eq!(errors(&document), 0, "{style}: {document:#}");
        counts_agree(&document);
        all_checks_hold(&document);
    }
    let checked = run("check").json();
    assert!(list(&checked, "/checks").iter().all(|check| check["passed"] == true));
}

/// The second server is a replica that is promoted; HAProxy ends the sessions of the first.
#[test]
#[ignore = "make soak"]
fn it_leads_to_another_server() {
    let of =
        |id: &str| server(&["log_bin=binlog", "gtid_mode=ON", "enforce_gtid_consistency=ON", id]);
    let (primary, replica, work) = (of("server_id=1"), of("server_id=2"), directory());
    let source = format!(
        "CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = {}, MASTER_USER = 'clerk', \
         MASTER_PASSWORD = 'clerk', MASTER_AUTO_POSITION = 1",
        primary.port
    );
    execute(&replica.dsn, [source.as_str(), "START SLAVE"]);
    let haproxy = HaProxy::before(&[&primary, &replica], "");
    let mut running = haproxy
        .mydyno("run -c 4 --warmup 1s --window 10s --interval 200ms --check")
        .in_directory(work.path())
        .spawn();
    running.until_measuring(work.path());
    let begun = Instant::now();
    // Nobody writes to the first any more when the second takes its place.
    haproxy.tell("set server database/s1 state maint");
    haproxy.tell("set server database/s0 state maint");
    haproxy.tell("shutdown sessions server database/s0");
    let writers = "SELECT COUNT(*) FROM information_schema.processlist WHERE user = 'clerk' AND \
                   command NOT LIKE 'Binlog Dump%'";
    until("its sessions have ended", || value(&primary.dsn, writers) == "0");
    let executed = value(&primary.dsn, "SELECT @@global.gtid_executed");
    query(&replica.dsn, &format!("SELECT WAIT_FOR_EXECUTED_GTID_SET('{executed}')"));
    execute(&replica.dsn, ["STOP SLAVE", "RESET SLAVE ALL"]);
    thread::sleep(Duration::from_secs(1).saturating_sub(begun.elapsed()));
    haproxy.tell("set server database/s1 state ready");
    let moved_s = begun.elapsed().as_secs_f64();
    let document = running.wait().exits(0).json();
    let recovery_s = float(&document, "/recovery_s");
    assert!((moved_s - 0.5..moved_s + 2.5).contains(&recovery_s), "{recovery_s} of {moved_s}");
    assert_eq!(number(&document, "/reconnects"), 4, "{document:#}");
    assert!(errors(&document) <= 4, "{document:#}");
    all_checks_hold(&document);
}

/// Connections of a slow open loop are idle for longer than HAProxy keeps them: they are opened
/// again before they are used, and no transaction is lost.
#[test]
#[ignore = "make soak"]
fn it_closes_connections_that_are_idle() {
    let (server, work) = (server(&[]), directory());
    let haproxy = HaProxy::before(&[&server], "  timeout client 2s");
    let arguments = "run -c 4 --warmup 0 --window 20s --rate 1/s --check";
    let document = haproxy.mydyno(arguments).in_directory(work.path()).run().exits(0).json();
    assert!(number(&document, "/reconnects") >= 2, "{document:#}");
    assert_eq!(errors(&document), 0, "{document:#}");
    counts_agree(&document);
    all_checks_hold(&document);
}

/// It keeps connections beyond its limit waiting: at its door for ever, or for a server as long as
/// it is told to.
#[test]
#[ignore = "make soak"]
fn it_has_room_for_fewer_connections() {
    let (server, work) = (server(&[]), directory());
    for (lines, words) in [
        ("  maxconn 6", "no answer within 10 s"),
        ("  timeout queue 2s\n  default-server maxconn 6", "the server closed the connection"),
    ] {
        let haproxy = HaProxy::before(&[&server], lines);
        let begun = Instant::now();
        let arguments = "run -c 12 --warmup 0 --window 1s";
        let ran = haproxy.mydyno(arguments).in_directory(work.path()).run().exits(4);
        let ran = ran.says(&["cannot open 12 connections", words, "others are open", "maxconn"]);
        assert_eq!(text(&ran.json(), "/error/reason"), "environment");
        assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
    }
}
