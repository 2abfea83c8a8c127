//! What ends a job ends all of its processes at once, servers too, and mydyno may hear of it last:
//! that is no server's death. Nothing is kept as failed, and what is missing is measured again.

use crate::support::{
    AMPLE, Mydyno, Running, SMALL_REDO, directory, home_of_its_own, install, list, mydyno, number,
    populate, result, results, servers_under, session, shim, text, until,
};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

const ENGINE: &str = "mysql-5.7";
const FILE: &str = "mydyno.db";

/// One that has ended meanwhile is stopped.
fn send(pid: u32, signal: Signal) {
    let _ = kill_process(Pid::from_raw(pid.cast_signed()).unwrap(), signal);
}

/// Signals the servers of a command, and so much later the command itself.
fn stop_all(running: &Running, signal: Signal, apart: Duration) {
    servers_under(running.pid()).into_iter().for_each(|pid| send(pid, signal));
    sleep(apart);
    send(running.pid(), signal);
}

fn a_server_runs(running: &Running) -> bool {
    !servers_under(running.pid()).is_empty()
}

/// The only server of a command.
fn the_server(running: &Running) -> u32 {
    let servers = servers_under(running.pid());
    assert_eq!(servers.len(), 1, "{servers:?}");
    servers[0]
}

/// Why repeats of the results file failed.
fn failures(work: &Path) -> Vec<Vec<String>> {
    results(&work.join(FILE), "SELECT reason_code FROM repeat WHERE status = 'failed'")
}

/// A run that measures until it is stopped.
fn measuring(work: &Path) -> Running {
    let mut running = mydyno(["run", "--engine", ENGINE, "-w", "1", "--json", "-c", "2"])
        .and_args(["--warmup", "0", "--window", AMPLE])
        .and_args(["--set", "innodb_buffer_pool_size=256M"])
        .and_args(SMALL_REDO)
        .in_directory(work)
        .spawn();
    running.until_measuring(work);
    running
}

#[test]
fn a_server_that_is_stopped_before_mydyno_is_no_dead_server() {
    populate(ENGINE);
    for signal in [Signal::TERM, Signal::KILL] {
        let work = directory();
        let running = measuring(work.path());
        crate::support::signal(the_server(&running), signal);
        sleep(Duration::from_millis(1_500));
        running.signal(Signal::TERM);
        let document = running.wait().exits(130).json();
        assert_eq!(text(&document, "/status"), "failed");
        assert_eq!(text(&document, "/reason_code"), "interrupted");
        let reason = text(&document, "/reason");
        assert!(reason.contains("interrupted by a stop"), "{reason}");
        let status = "SELECT status FROM lab ORDER BY id DESC LIMIT 1";
        assert_eq!(result(&work.path().join(FILE), status), "interrupted");
    }
}

/// Who ends a job waits for 10 to 30 s before he kills it. What is in flight at a server that
/// stands still was waited for a minute.
#[test]
fn a_server_that_stands_still_does_not_hold_up_a_stop() {
    populate(ENGINE);
    let work = directory();
    let running = measuring(work.path());
    crate::support::signal(the_server(&running), Signal::STOP);
    sleep(Duration::from_millis(500));
    let begun = Instant::now();
    running.signal(Signal::TERM);
    running.wait().exits(130).json();
    assert!(begun.elapsed() < Duration::from_secs(50), "{:?}", begun.elapsed());
}

fn lab(work: &Path) -> Mydyno {
    shim();
    install(ENGINE);
    mydyno(["lab", "run", "plan.toml", "--results", FILE, "--json"]).in_directory(work)
}

/// A lab of so many repeats of a second each, of a database with this seed.
fn plan(work: &Path, repeats: u32, more: &str) {
    let text = format!(
        "[lab]\nname = 'stops'\nrepeats = {repeats}\n[server]\nengine = '{ENGINE}'\nset = {{ \
         innodb_log_file_size = '16M' }}\n[load]\nwarehouses = 1\nwarmup = '0s'\nwindow = \
         '1s'\n{more}"
    );
    fs::write(work.join("plan.toml"), text).unwrap();
}

/// Stops a lab at such a moment after its first server has come, each time with another signal and
/// another lead of the servers, and returns what the last call, which nobody stops, has measured.
fn stopped(work: &Path, moments_ms: impl IntoIterator<Item = u64>) -> Value {
    let signals = [Signal::TERM, Signal::INT, Signal::HUP, Signal::KILL];
    for (moment_ms, number) in moments_ms.into_iter().zip(0..) {
        let mut running = lab(work).spawn();
        until("a server runs", || running.has_ended() || a_server_runs(&running));
        sleep(Duration::from_millis(moment_ms));
        let signal = signals[number % signals.len()];
        stop_all(&running, signal, Duration::from_millis(moment_ms % 5 * 100));
        let ran = running.wait();
        assert!(matches!(ran.code, Some(130 | 0) | None), "{:?}: {}", ran.code, ran.stderr);
    }
    let ended = lab(work).run().exits(0).json();
    for why in failures(work) {
        assert!(why[0].starts_with("interrupted"), "{why:?}");
    }
    ended
}

fn all_are_done(work: &Path, document: &Value, repeats: usize) {
    assert_eq!(number(document, "/left"), 0);
    let done = "SELECT DISTINCT c.ordinal, r.ordinal FROM repeat r JOIN cell c ON c.id = r.cell_id \
                WHERE r.status = 'done' AND NOT r.interrupted";
    assert_eq!(results(&work.join(FILE), done).len(), repeats);
    assert_eq!(result(&work.join(FILE), "SELECT status FROM lab"), "done");
}

#[test]
fn a_lab_whose_processes_are_all_stopped_goes_on() {
    populate(ENGINE);
    let work = directory();
    plan(work.path(), 3, "connections = 2\n");
    let document = stopped(work.path(), [0, 1_203, 2_604]);
    all_are_done(work.path(), &document, 3);
}

/// A repeat whose checks were cut short is measured again, so that it is none that is whole.
#[test]
fn a_stop_in_the_checks_leaves_no_whole_repeat() {
    populate(ENGINE);
    let work = directory();
    plan(work.path(), 1, "connections = 2\n");
    let mut running = lab(work.path()).spawn();
    running.until_stored(&work.path().join(FILE), "SELECT status = 'done' FROM repeat");
    running.signal(Signal::INT);
    let ran = running.wait();
    assert!(matches!(ran.code, Some(130 | 0)), "{:?}: {}", ran.code, ran.stderr);
    let unchecked = "SELECT COUNT(*) FROM repeat WHERE status = 'done' AND NOT interrupted AND id \
                     NOT IN (SELECT repeat_id FROM check_result WHERE repeat_id IS NOT NULL)";
    assert_eq!(result(&work.path().join(FILE), unchecked), "0");
    all_are_done(work.path(), &lab(work.path()).run().exits(0).json(), 1);
}

/// Also while its image is made.
#[test]
#[ignore = "make soak"]
fn a_lab_is_stopped_at_many_moments() {
    let work = directory();
    let seed = std::process::id();
    plan(work.path(), 8, &format!("connections = [2, 4]\npopulation_seed = {seed}\n"));
    let begun = Instant::now();
    let moments = (1..25_u64).map(|number| number * number * 37 % 6_000);
    let document = stopped(work.path(), moments);
    all_are_done(work.path(), &document, 16);
    assert!(begun.elapsed() < Duration::from_secs(1_800), "{:?}", begun.elapsed());
}

/// As `systemctl stop` and `docker stop` do: SIGTERM to all that there is.
#[test]
#[ignore = "make soak"]
fn a_lab_whose_session_is_signalled_goes_on() {
    populate(ENGINE);
    let work = directory();
    plan(work.path(), 8, "connections = [1, 2]\n");
    let mut most = 0;
    for moment_ms in [400, 3_300, 1_250, 5_100, 2_700] {
        let mut running = lab(work.path()).in_its_own_session().spawn();
        until("a server runs", || running.has_ended() || a_server_runs(&running));
        sleep(Duration::from_millis(moment_ms));
        let all = session(running.pid());
        most = most.max(all.len());
        all.into_iter().for_each(|pid| send(pid, Signal::TERM));
        let ran = running.wait();
        assert!(matches!(ran.code, Some(130 | 0)), "{:?}: {}", ran.code, ran.stderr);
    }
    assert!(most > 1, "the servers were not of the session");
    let ended = lab(work.path()).run().exits(0).json();
    for why in failures(work.path()) {
        assert_eq!(why, ["interrupted"]);
    }
    all_are_done(work.path(), &ended, 16);
}

#[test]
#[ignore = "make soak"]
fn stopped_ramps_and_drills_go_on() {
    populate(ENGINE);
    let ramp = "[ramp]\nstart = 1\nstep = 1\nconnections_max = 4\nstop_cpu = false\n";
    let drill = "connections = 2\n[crash]\nfault = 'kill'\n";
    for (more, counted) in [(ramp, "ramp"), (drill, "drill")] {
        let work = directory();
        plan(work.path(), 2, more);
        stopped(work.path(), [300, 1_402, 2_203, 3_304, 4_101]);
        let rows = format!("SELECT COUNT(*) >= 2 FROM {counted}");
        assert_eq!(result(&work.path().join(FILE), &rows), "1");
        assert_eq!(result(&work.path().join(FILE), "SELECT status FROM lab"), "done");
    }
}

/// Whoever gives up a start has no server; one that is killed leaves it where it is seen and ended.
#[test]
fn a_start_that_ends_early_hides_no_server() {
    install("mysql-8.0");
    let home = home_of_its_own();
    let server = |arguments: &[&str]| {
        mydyno(["server"].iter().chain(arguments)).env("MYDYNO_HOME", home.path().to_str().unwrap())
    };
    let listed = || {
        let found = server(&["list", "--json"]).run().exits(0).json();
        list(&found, "/servers").iter().map(|of| of["running"].clone()).collect::<Vec<_>>()
    };
    let record = home.path().join("instances/early/instance.json");
    for (signal, left) in [(Signal::INT, None), (Signal::KILL, Some(true))] {
        let start = ["start", "--engine", "mysql-8.0", "--name", "early", "--json"];
        let mut running = server(&start).spawn();
        running.until("its server is there", || record.exists());
        running.signal(signal);
        let ended = running.wait();
        if signal == Signal::INT {
            ended.exits(130);
            assert!(!record.exists());
        }
        assert_eq!(listed(), left.map(Value::from).into_iter().collect::<Vec<_>>());
    }
    server(&["stop", "early", "--remove"]).run().exits(0);
    assert_eq!(listed(), Vec::<Value>::new());
}
