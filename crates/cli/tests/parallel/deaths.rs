//! What dies while it is measured: servers, connections, mydyno itself. Everything is counted,
//! stored and told, and no server survives.

use crate::support::{
    AMPLE, Held, Mydyno, Running, SMALL_REDO, Server, alive, directory, float, home,
    home_of_its_own, install, lent, mydyno, number, populate, result, servers_under, signal, text,
    until,
};
use rustix::process::Signal;
use serde_json::Value;
use std::path::{Path, PathBuf};

const ENGINE: &str = "mysql-5.7";
const WINDOW_INTERVALS: &str = "SELECT COUNT(*) FROM interval WHERE phase = 'window' AND repeat_id \
    = (SELECT MAX(id) FROM repeat)";

/// Starts a run against a server; the results file is in `work`.
fn run_against(dsn: &str, work: &Path, arguments: &[&str]) -> Running {
    mydyno(["run", "--dsn", dsn, "--json"]).and_args(arguments).in_directory(work).spawn()
}

/// A run with a private server.
fn private(work: &Path, arguments: &[&str]) -> Mydyno {
    install(ENGINE);
    mydyno(["run", "--engine", ENGINE, "-w", "1", "--json"])
        .and_args(arguments)
        .and_args(["--set", "innodb_buffer_pool_size=256M"])
        .and_args(SMALL_REDO)
        .in_directory(work)
}

/// Starts it, once its image is there.
fn run_private(work: &Path, arguments: &[&str]) -> Running {
    populate(ENGINE);
    private(work, arguments).spawn()
}

fn file(work: &Path) -> PathBuf {
    work.join("mydyno.db")
}

/// The last repeat failed because its server died, and keeps what was measured until then.
fn is_stored_as_server_died(work: &Path, document: &Value) {
    let last = |column: &str| {
        let sql = format!("SELECT {column} FROM repeat ORDER BY id DESC LIMIT 1");
        result(&file(work), &sql)
    };
    assert_eq!(last("status"), "failed");
    assert_eq!(last("reason_code"), "server_died");
    assert!(last("log_tail").contains("ready for connections"), "{}", last("log_tail"));
    let intervals: u64 = result(&file(work), WINDOW_INTERVALS).parse().unwrap();
    assert!(intervals >= 10, "{intervals} rows");
    assert_eq!(result(&file(work), "SELECT status FROM lab ORDER BY id DESC LIMIT 1"), "failed");
    assert_eq!(text(document, "/status"), "failed");
    assert_eq!(text(document, "/reason_code"), "server_died");
    assert_eq!(text(document, "/error/reason"), "server_died");
    for key in ["nopm", "tpm_total", "new_orders_in_database"] {
        assert!(document[key].is_null(), "{key} of a failed repeat: {document:#}");
    }
    let new_order = &document["transactions"]["new_order"];
    assert!(number(new_order, "/committed") > 0, "the counts are evidence: {document:#}");
    assert!(new_order["p95_us"].is_null(), "{document:#}");
}

#[test]
fn a_named_server_is_killed_during_a_run() {
    let work = directory();
    let server = Server::loaded(ENGINE, &[]);
    let arguments = ["-c", "4", "--warmup", "1s", "--window", AMPLE];
    let mut running = run_against(&server.dsn, work.path(), &arguments);
    running.until_measuring(work.path());
    signal(server.pid, Signal::KILL);
    let ran = running.wait().exits(5);
    is_stored_as_server_died(work.path(), &ran.json());
    let told = ran.says(&["has ended", "the end of the server's log", "ready for connections"]);
    assert!(!told.stderr.contains(server.password()));
    // Nothing is left to talk to, and that is told with another code.
    run_against(&server.dsn, work.path(), &["--window", "1s"])
        .wait()
        .exits(4)
        .says(&["cannot reach the server"]);
    assert_eq!(result(&file(work.path()), "SELECT COUNT(*) FROM repeat"), "1");
}

#[test]
fn a_private_server_is_killed_during_a_run() {
    let work = directory();
    let arguments = ["-c", "4", "--warmup", "0", "--window", AMPLE];
    let mut running = run_private(work.path(), &arguments);
    running.until_measuring(work.path());
    let owner = running.pid();
    let servers = servers_under(owner);
    assert_eq!(servers.len(), 1, "{servers:?}");
    signal(servers[0], Signal::KILL);
    let ran = running.wait().exits(5).says(&["SIGKILL"]);
    is_stored_as_server_died(work.path(), &ran.json());
    assert!(!alive(servers[0]));
    assert_eq!(left_in_run(home(), owner), Vec::<PathBuf>::new());
}

/// Directories of private servers that the process `owner` has started.
fn left_in_run(home: &Path, owner: u32) -> Vec<PathBuf> {
    let prefix = format!("{owner}-");
    std::fs::read_dir(home.join("run"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.file_name().unwrap().to_string_lossy().starts_with(&prefix))
        .collect()
}

#[test]
fn mydyno_is_killed_during_a_run() {
    let work = directory();
    // What is left is swept by the next command, which may be another test's where that has the
    // same home.
    let home = home_of_its_own();
    populate(ENGINE);
    let run = |arguments: &[&str]| {
        private(work.path(), arguments).env("MYDYNO_HOME", home.path()).spawn()
    };
    let mut running = run(&["-c", "4", "--warmup", "0", "--window", AMPLE]);
    running.until_measuring(work.path());
    let owner = running.pid();
    let servers = servers_under(owner);
    assert_eq!(servers.len(), 1, "{servers:?}");
    running.signal(Signal::KILL);
    assert_eq!(running.wait().code, None);
    until("the server is gone with its owner", || !alive(servers[0]));
    assert_eq!(
        left_in_run(home.path(), owner).len(),
        1,
        "its directory waits for the next command"
    );

    let next = run(&["-c", "2", "--warmup", "0", "--window", "1s"]);
    let summary = next.wait().exits(0).json();
    assert_eq!(text(&summary, "/status"), "done");
    assert_eq!(number(&summary, "/repeat_id"), 2);
    assert_eq!(left_in_run(home.path(), owner), Vec::<PathBuf>::new(), "the next command sweeps");
    let first = |column: &str| {
        result(&file(work.path()), &format!("SELECT {column} FROM repeat WHERE id = 1"))
    };
    assert_eq!(first("status"), "failed");
    assert_eq!(first("reason_code"), "interrupted_process");
    assert_eq!(result(&file(work.path()), "SELECT status FROM lab WHERE id = 1"), "interrupted");
    let kept = "SELECT COUNT(*) FROM interval WHERE repeat_id = 1 AND phase = 'window'";
    assert!(result(&file(work.path()), kept).parse::<u64>().unwrap() >= 10);
}

#[test]
fn ctrl_c_in_the_window_keeps_what_was_measured() {
    let work = directory();
    let mut running = run_private(work.path(), &["-c", "4", "--warmup", "0", "--window", AMPLE]);
    running.until_measuring(work.path());
    let owner = running.pid();
    running.signal(Signal::INT);
    let ran = running.wait().exits(130);
    let summary = ran.json();
    assert_eq!(text(&summary, "/status"), "done");
    assert_eq!(summary["interrupted"], true);
    let window_s = float(&summary, "/window_s");
    assert!((2.0..600.0).contains(&window_s), "{window_s}");
    let new_order = &summary["transactions"]["new_order"];
    let ended = number(new_order, "/committed") + number(new_order, "/rolled_back");
    let nopm = ended as f64 / window_s * 60.0;
    assert!((float(&summary, "/nopm") / nopm - 1.0).abs() < 1e-6, "{summary:#}");
    assert_eq!(
        number(&summary, "/new_orders_in_database"),
        number(&summary, "/new_orders_committed_by_driver")
    );
    assert_eq!(servers_under(owner), Vec::<u32>::new());
    assert_eq!(left_in_run(home(), owner), Vec::<PathBuf>::new());
    let status = "SELECT status || ' ' || (finished_utc_ns IS NOT NULL) FROM lab";
    assert_eq!(result(&file(work.path()), status), "interrupted 1");
}

#[test]
fn ctrl_c_before_the_window_leaves_no_number() {
    let work = directory();
    let server = lent();
    let mut running = run_against(&server.dsn, work.path(), &["-c", "2", "--warmup", AMPLE]);
    let some = "SELECT COUNT(*) > 0 FROM interval";
    running.until_stored(&file(work.path()), some);
    running.signal(Signal::INT);
    let ran = running.wait().exits(130);
    let summary = ran.json();
    assert_eq!(text(&summary, "/status"), "failed");
    assert_eq!(text(&summary, "/reason_code"), "interrupted");
    assert!(summary["nopm"].is_null());
    ran.says(&["before its window began"]);
}

/// A lock keeps the last transactions from ending, so the first Ctrl-C has to wait for them.
#[test]
fn a_second_ctrl_c_ends_at_once() {
    let work = directory();
    let server = lent();
    let mut other = Held::open(&server.dsn);
    let mut watcher = Held::open(&server.dsn);
    let mut running =
        run_against(&server.dsn, work.path(), &["-c", "4", "--warmup", "0", "--window", AMPLE]);
    running.until_measuring(work.path());
    other.query("START TRANSACTION");
    other.query("SELECT d_id FROM district WHERE d_w_id = 1 FOR UPDATE");
    let waiting = "SELECT COUNT(*) FROM information_schema.processlist WHERE db = 'tpcc' AND \
        command = 'Execute' AND time >= 2";
    until("all connections wait", || watcher.query(waiting)[0] == "4");
    running.signal(Signal::INT);
    running.until_says("press Ctrl-C again");
    assert!(!running.has_ended());
    running.signal(Signal::INT);
    running.wait().exits(130);
    other.query("ROLLBACK");
    until("the server has noticed", || {
        watcher.query("SELECT COUNT(*) FROM information_schema.processlist WHERE db = 'tpcc'")[0]
            == "2"
    });
    let arguments = ["-c", "2", "--warmup", "0", "--window", "1s", "--check"];
    run_against(&server.dsn, work.path(), &arguments).wait().exits(0);
    let first = "SELECT status || ' ' || reason_code FROM repeat WHERE id = 1";
    assert_eq!(result(&file(work.path()), first), "failed interrupted_process");
}
