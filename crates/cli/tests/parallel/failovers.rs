//! A failover in the middle of a run: the primary goes read-only, and its address leads to the
//! replica that takes its place. The run goes on there, and tells how long that took.

use crate::support::{Relay, Running, Server, directory, execute, mydyno, query, result, text};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

const ENGINE: &str = "mysql-5.7";
const DEMOTE: [&str; 1] = ["SET GLOBAL super_read_only = ON"];
const PROMOTE: [&str; 2] = ["SET GLOBAL super_read_only = OFF", "SET GLOBAL read_only = OFF"];

fn server(id: &str) -> Server {
    let settings = ["log_bin=binlog", "gtid_mode=ON", "enforce_gtid_consistency=ON"];
    // SET GLOBAL waits for statements under way, one of which may wait for a row of a transaction
    // that its lock holds up.
    let timeout = "innodb_lock_wait_timeout=1";
    let settings = [&settings[..], &["log_slave_updates=ON", timeout, id]].concat();
    Server::loaded(ENGINE, &settings)
}

/// A primary and its replica, with an account that both have.
fn pair() -> (Server, Server) {
    let (primary, replica) = (server("server_id=1"), server("server_id=2"));
    let source = format!(
        "CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = {}, MASTER_USER = 'mydyno', \
         MASTER_PASSWORD = '{}', MASTER_AUTO_POSITION = 1",
        primary.port,
        primary.password()
    );
    execute(&replica.dsn, [source.as_str(), "START SLAVE", DEMOTE[0]]);
    let account = ["CREATE USER clerk IDENTIFIED BY 'clerk'", "GRANT ALL ON *.* TO clerk"];
    execute(&primary.dsn, account);
    (primary, replica)
}

fn begin(relay: &Relay, work: &Path, arguments: &[&str]) -> Running {
    let dsn = format!("mysql://clerk:clerk@localhost:{}/tpcc", relay.port);
    let mut running = mydyno(["run", "--dsn", &dsn, "-c", "4", "--warmup", "1s"])
        .and_args(["--window", "10s", "--interval", "200ms"])
        .and_args(arguments)
        .in_directory(work)
        .spawn();
    running.until_measuring(work);
    running
}

#[test]
fn a_run_goes_on_where_its_server_has_moved_to() {
    let (primary, replica) = pair();
    let (relay, work) = (Relay::to(primary.port), directory());
    let running = begin(&relay, work.path(), &["--watch", "--check"]);
    let demoted = Instant::now();
    execute(&primary.dsn, DEMOTE);
    let is_demoted = demoted.elapsed();
    thread::sleep(Duration::from_secs(2));
    let executed = query(&primary.dsn, "SELECT @@global.gtid_executed").remove(0);
    query(&replica.dsn, &format!("SELECT WAIT_FOR_EXECUTED_GTID_SET('{executed}')"));
    execute(&replica.dsn, ["STOP SLAVE", "RESET SLAVE ALL", PROMOTE[0], PROMOTE[1]]);
    relay.lead_to(replica.port);
    let moved = demoted.elapsed();
    let ran = running.wait().exits(0);

    // All that was committed is where it went on, and that is another server.
    let ran = ran.says(&["another server answered after the run than before it (port from "]);
    let file = work.path().join("mydyno.db");
    let lacks = "SELECT district_next_o_id_sum_after - district_next_o_id_sum_before - \
        committed_new_orders FROM repeat";
    assert_eq!(result(&file, lacks), "0");
    assert_eq!(result(&file, "SELECT reconnects FROM repeat"), "4");
    // Each connection has lost one transaction, and has looked for another server again and again.
    let errors = "SELECT SUM(errors) FROM interval";
    assert_eq!(result(&file, errors), "4");

    // Errors are told as they come, and the time without a commit while it lasts.
    let ran = ran.says(&["s into the run: 1290 in ", "--super-read-only option"]);
    let lines = |words: &str| ran.stdout.lines().filter(|line| line.contains(words)).count();
    assert!(lines("# failed: ") >= 2, "{}", ran.stdout);
    assert!(lines("x 1290 in reconnect") >= 2, "{}", ran.stdout);
    assert!(lines("# nothing has been committed for ") >= 5, "{}", ran.stdout);

    // The recovery time: it began when the server was demoted, and pauses are of 1 s at most.
    let (_, told) = ran.stdout.split_once("recovery took ").unwrap();
    let recovery_s: f64 = told.split_once(' ').unwrap().0.parse().unwrap();
    let least_s = (moved - is_demoted).as_secs_f64() - 0.1;
    let most_s = moved.as_secs_f64() + 2.0;
    assert!((least_s..most_s).contains(&recovery_s), "{recovery_s} of {least_s} to {most_s}");
    let stored = "SELECT COUNT(*) || ' ' || MIN(failures > 4) || ' ' || MIN(is_over) FROM silence";
    assert_eq!(result(&file, stored), "1 1 1");
    let report = ["report", "--results", "mydyno.db", "-o", "page.html"];
    mydyno(report).in_directory(work.path()).run().exits(0);
    let page = std::fs::read_to_string(work.path().join("page.html")).unwrap();
    assert!(page.contains("In this window recovery took ") && page.contains(">recovery took "));

    lacks_what_it_was_not_sent(&primary, &replica, &relay);
}

/// Back to the first, which has nothing of what was committed since.
fn lacks_what_it_was_not_sent(first: &Server, second: &Server, relay: &Relay) {
    let work = directory();
    let running = begin(relay, work.path(), &["--json"]);
    execute(&second.dsn, DEMOTE);
    execute(&first.dsn, PROMOTE);
    relay.lead_to(first.port);
    let ran = running.wait().exits(6);
    let document = ran.json();
    assert_eq!(text(&document, "/reason_code"), "check_failed");
    let reason = text(&document, "/reason");
    for words in ["the driver committed ", "another server answered", "was not sent all that was"] {
        assert!(reason.contains(words), "{reason}");
    }
    assert!(!reason.contains("somebody else"), "{reason}");
    // One that is over sooner is no silence.
    let recovery_s = document["recovery_s"].as_f64();
    assert!(recovery_s.is_none_or(|of| (0.1..5.0).contains(&of)), "{document:#}");
}
