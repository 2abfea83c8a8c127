//! What a transaction may run into, in every style: killed connections, lock waits that time out,
//! deadlocks, a server that is started again. Everything is counted, and what the driver saw
//! committed is in the database. A run is ended when it has had its trouble.

use crate::support::{
    AMPLE, ENGINES, Held, QUICK, Running, Server, directory, float, mydyno, number, result, text,
    until,
};
use rustix::process::Signal;
use serde_json::Value;
use spec::Style;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Not MySQL 5.7: its KILL closes the socket of a session that may be about to wait for it, and
/// which then waits for the next one of that number, with its locks, until wait_timeout.
const ENGINE: &str = ENGINES[1];

/// A loaded server, and runs against it in one style.
struct Trouble {
    server: Server,
    style: Style,
    work: TempDir,
}

impl Trouble {
    fn new(style: Style, settings: &[&str]) -> Trouble {
        Trouble { server: Server::loaded(ENGINE, settings), style, work: directory() }
    }

    /// Starts a run and waits until it measures.
    fn run(&self, connections: &str) -> Running {
        let _ = std::fs::remove_file(self.file());
        let dsn = &self.server.dsn;
        let mut running = mydyno(["run", "--dsn", dsn, "--style", self.style.name()])
            .and_args(["-c", connections, "--warmup", "0", "--window", AMPLE])
            .and_args(["--interval", "200ms", "--json"])
            .in_directory(self.work.path())
            .spawn();
        self.until_stored(&mut running, "COUNT(*) >= 5");
        running
    }

    fn file(&self) -> PathBuf {
        Path::join(self.work.path(), "mydyno.db")
    }

    /// Waits until that is so of the intervals that are stored.
    fn until_stored(&self, running: &mut Running, condition: &str) {
        let sql = format!("SELECT {condition} FROM interval");
        running.until_stored(&self.file(), &sql);
    }

    /// Lets it commit for a second more.
    fn goes_on(&self, running: &mut Running) {
        let last = result(&self.file(), "SELECT MAX(end_offset_ns) FROM interval");
        let is_later = format!("committed > 0 AND start_offset_ns >= {last}");
        let later = format!("COUNT(DISTINCT start_offset_ns) FILTER (WHERE {is_later}) >= 5");
        self.until_stored(running, &later);
    }

    /// Ends it with Ctrl-C, which keeps what was measured: no transaction was given up but with its
    /// connection, and the counts agree.
    fn end(&self, mut running: Running) -> Value {
        self.goes_on(&mut running);
        running.signal(Signal::INT);
        let summary = running.wait().exits(130).json();
        assert_eq!(text(&summary, "/status"), "done");
        let committed = number(&summary, "/new_orders_committed_by_driver");
        let in_doubt = number(&summary, "/new_orders_in_doubt");
        let in_database = number(&summary, "/new_orders_in_database");
        let possible = committed..=committed + in_doubt;
        assert!(possible.contains(&in_database), "{summary:#}");
        assert!(committed > 0);
        summary
    }

    fn is_consistent(&self) {
        mydyno(["check", "--dsn", &self.server.dsn]).run().exits(0);
    }

    fn killed_connections(&self) {
        let mut running = self.run("4");
        let mut other = Held::open(&self.server.dsn);
        let ids = other.query(
            "SELECT id FROM information_schema.processlist WHERE db = 'tpcc' AND id <> \
             CONNECTION_ID()",
        );
        assert!(ids.len() >= 4, "{ids:?}");
        let mut kill = |id: &String| other.try_query(&format!("KILL {id}")).is_ok();
        let killed = ids.iter().filter(|id| kill(id)).count() as u64;
        assert!(killed >= 4);
        self.until_stored(&mut running, "SUM(errors) >= 4");
        let summary = self.end(running);
        let reconnects = number(&summary, "/reconnects");
        assert!((4..=killed).contains(&reconnects), "{reconnects} of {killed}");
        let errors = summary["errors"].as_array().unwrap();
        let lost: u64 = errors.iter().map(|error| number(error, "/count")).sum();
        assert!(lost >= 4, "{errors:?}");
    }

    fn lock_wait_timeouts(&self) {
        let mut other = Held::open(&self.server.dsn);
        other.query("SET GLOBAL innodb_lock_wait_timeout = 1");
        let mut running = self.run("4");
        other.query("SET GLOBAL innodb_lock_wait_timeout = 50");
        other.query("START TRANSACTION");
        other.query("SELECT d_id FROM district WHERE d_w_id = 1 FOR UPDATE");
        self.until_stored(&mut running, "SUM(lock_wait_timeouts) >= 2");
        other.query("ROLLBACK");
        self.until_stored(&mut running, "MAX(latency_max_ns) > 1000000000");
        let summary = self.end(running);
        assert!(retries(&summary, "lock_wait_timeout") >= 2, "{summary:#}");
        // Response times hold the wait and the retries.
        let slowest = ["new_order", "payment"]
            .map(|name| float(&summary["transactions"][name], "/max_us"))
            .into_iter()
            .fold(0.0, f64::max);
        assert!(slowest > 1e6, "{slowest} us");
        assert!(codes(&summary).contains(&"1205"), "{summary:#}");
    }

    /// A Payment holds the warehouse and waits for a district; this session holds the districts,
    /// has written far more, and asks for the warehouse. InnoDB rolls back the one that has written
    /// less.
    fn deadlocks(&self) {
        let mut other = Held::open(&self.server.dsn);
        let mut watcher = Held::open(&self.server.dsn);
        let mut running = self.run("16");
        other.query("START TRANSACTION");
        other.query("UPDATE item SET i_im_id = i_im_id + 1 WHERE i_id <= 2000");
        other.query("SELECT d_id FROM district WHERE d_w_id = 1 FOR UPDATE");
        // Its one changed row is the warehouse.
        let waiting = "SELECT COUNT(*) FROM information_schema.innodb_trx \
            WHERE trx_state = 'LOCK WAIT' AND trx_rows_modified = 1";
        until("a Payment waits for a district", || {
            // The table is made anew only for who has not asked for a tenth of a second.
            std::thread::sleep(Duration::from_millis(150));
            watcher.query(waiting)[0] != "0"
        });
        other.query("UPDATE warehouse SET w_ytd = w_ytd + 1 WHERE w_id = 1");
        other.query("ROLLBACK");
        self.until_stored(&mut running, "SUM(deadlocks) >= 1");
        let summary = self.end(running);
        assert!(retries(&summary, "deadlock") >= 1, "{summary:#}");
        assert!(codes(&summary).contains(&"1213"), "{summary:#}");
    }
}

fn retries(summary: &Value, cause: &str) -> u64 {
    let transactions = summary["transactions"].as_object().unwrap();
    let of = |of: &Value| number(of, &format!("/retries_{cause}"));
    transactions.values().map(of).sum()
}

fn codes(summary: &Value) -> Vec<&str> {
    let errors = summary["errors"].as_array().unwrap();
    errors.iter().map(|error| text(error, "/code")).collect()
}

fn trouble_in(style: Style) {
    let trouble = Trouble::new(style, &["innodb_lock_wait_timeout=50"]);
    trouble.killed_connections();
    trouble.lock_wait_timeouts();
    trouble.deadlocks();
    trouble.is_consistent();
}

#[test]
#[ignore = "make soak"]
fn statements() {
    trouble_in(Style::Statements);
}

#[test]
fn pipelined() {
    trouble_in(Style::Pipelined);
}

#[test]
#[ignore = "make soak"]
fn batched() {
    trouble_in(Style::Batched);
}

#[test]
#[ignore = "make soak"]
fn procedures() {
    trouble_in(Style::Procedures);
}

#[test]
fn a_server_that_is_started_again_is_found_again() {
    // Nothing is lost in an ordinary shutdown.
    const ORDINARY: [&str; 2] = ["innodb_fast_shutdown=1", "innodb_flush_log_at_trx_commit=1"];
    // A run gives a server up that is gone for 10 s. Where the machine is too busy to start one
    // sooner, it is asked again.
    let is_found = (0..3).any(|_| is_found_again(&ORDINARY));
    assert!(is_found, "three times no server was back within {RESTART_MAX:?}");
}

const RESTART_MAX: Duration = Duration::from_secs(8);

/// False where starting it again took too long to tell.
fn is_found_again(ordinary: &[&str]) -> bool {
    let trouble = Trouble::new(Style::Pipelined, ordinary);
    let server = &trouble.server;
    let mut running = trouble.run("8");
    let began = Instant::now();
    mydyno(["server", "stop", &server.name]).run().exits(0);
    let port = server.port.to_string();
    let all = QUICK.iter().chain(ordinary);
    let settings = all.flat_map(|setting| ["--set", setting]);
    mydyno(["server", "start", "--engine", ENGINE, "--name", &server.name])
        .and_args(["--port", &port, "--json"])
        .and_args(settings)
        .run()
        .exits(0);
    if began.elapsed() > RESTART_MAX {
        return false;
    }
    // Whoever has asked in vain asks again within a second.
    trouble.goes_on(&mut running);
    let summary = trouble.end(running);
    assert!(number(&summary, "/reconnects") >= 8, "{summary:#}");
    trouble.is_consistent();
    true
}
