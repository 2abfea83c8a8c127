//! Dilated time: runs, labs, and every timer of a server, asked from SQL.

use crate::support::{
    Held, SMALL_REDO, Server, all_checks_hold, directory, execute, float, install, mydyno, result,
    results, shim, value,
};
use base::SessionError;
use std::ops::Range;
use std::path::Path;
use std::time::{Duration, Instant};

/// Of most servers of these tests, and of one that lives faster.
const K: f64 = 4.0;
const FASTER: f64 = 0.125;
/// What a wait may be longer than it is dilated: the machine is busy with other tests.
const SLACK: Duration = Duration::from_millis(1500);
/// What a statement may take, before [`wait_of`].
const LIMIT: Duration = Duration::from_millis(600);
/// How late InnoDB may be to see that a row lock was waited for too long: it looks once a second.
const LOCKS_LOOKED_AT: Duration = Duration::from_secs(2);

/// Work that really takes K times `dilated` at least.
#[track_caller]
fn takes<T>(k: f64, dilated: Duration, work: impl FnOnce() -> T) -> T {
    takes_between(k, dilated..dilated, work)
}

#[track_caller]
fn takes_between<T>(k: f64, dilated: Range<Duration>, work: impl FnOnce() -> T) -> T {
    let begun = Instant::now();
    let result = work();
    let (real, least) = (begun.elapsed(), dilated.start.mul_f64(k));
    let most = dilated.end.mul_f64(k * 1.02) + SLACK;
    // A clock that is read twice may have moved by its own steps.
    assert!(real + Duration::from_millis(10) >= least, "{real:?} is less than {least:?}");
    assert!(real < most, "{real:?} is more than {most:?}");
    result
}

fn dilated_server(engine: &str, k: f64, settings: &[&str]) -> Server {
    shim();
    let own = ["innodb_log_file_size=16M", "innodb_buffer_pool_size=64M"];
    let settings: Vec<&str> = own.iter().chain(settings).copied().collect();
    let options = ["--dilate", &k.to_string(), "--data", "nvme-pm1725", "--page-cache", "64M"];
    Server::start_with(engine, &settings, &options)
}

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// A wait of so long, and of more where time runs faster: it is then longer than `takes` allows
/// unless it is dilated.
fn wait_of(k: f64, time: Duration) -> Duration {
    if k < 1.0 { time * 4 } else { time }
}

fn number_of(session: &mut Held, sql: &str) -> f64 {
    let rows = session.query(sql);
    rows[0].parse().unwrap_or_else(|_| panic!("{sql}: {rows:?}"))
}

/// Sleeps and the server's own clocks.
fn clocks(session: &mut Held, k: f64) {
    takes(k, ms(500), || session.query("DO SLEEP(0.5)"));
    let seconds = "SELECT UNIX_TIMESTAMP(SYSDATE(6))";
    let before = number_of(session, seconds);
    let begun = Instant::now();
    std::thread::sleep(ms(2000));
    let passed = number_of(session, seconds) - before;
    let real = begun.elapsed().as_secs_f64();
    assert!((passed * k / real - 1.0).abs() < 0.02, "{passed} s of the server in {real} s");
}

fn error_of(result: Result<Vec<String>, SessionError>) -> String {
    result.expect_err("it should time out").to_string()
}

/// What a session waits for: row locks, its client, and the end of its statement.
fn time_outs(dsn: &str, k: f64, statement_limit: (&str, &str)) {
    execute(
        dsn,
        [
            "CREATE DATABASE timers",
            "CREATE TABLE timers.t (id INT PRIMARY KEY, v INT) ENGINE=InnoDB",
            "INSERT INTO timers.t VALUES (1, 1)",
        ],
    );
    let open = || {
        let options = wire::ConnectOptions { schema: None, ..crate::support::connect_options(dsn) };
        Held::open_as(options)
    };
    let mut holder = open();
    holder.query("BEGIN");
    holder.query("UPDATE timers.t SET v = 2");
    let mut waiter = open();
    let second = wait_of(k, ms(1000));
    waiter.query(&format!("SET innodb_lock_wait_timeout = {}", second.as_secs()));
    let update = || error_of(waiter.try_query("UPDATE timers.t SET v = 3"));
    let error = takes_between(k, second..second + LOCKS_LOOKED_AT, update);
    assert!(error.contains("1205"), "{error}");
    holder.query("ROLLBACK");

    let (set, say) = statement_limit;
    let mut limited = open();
    limited.query(set);
    let select = "SELECT COUNT(*) FROM information_schema.COLLATIONS a, \
                  information_schema.COLLATIONS b, information_schema.COLLATIONS c, \
                  information_schema.COLLATIONS d";
    let error = takes(k, wait_of(k, LIMIT), || error_of(limited.try_query(select)));
    assert!(error.contains(say), "{error}");

    let mut idle = open();
    let id = idle.query("SELECT CONNECTION_ID()").remove(0);
    let mut other = open();
    let listed = format!("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID = {id}");
    idle.query(&format!("SET SESSION wait_timeout = {}", second.as_secs()));
    takes(k, second, || {
        while number_of(&mut other, &listed) > 0.0 {
            std::thread::sleep(ms(10));
        }
    });
}

/// What the server measures, and what its background threads do once a second.
fn measures(session: &mut Held, k: f64) {
    session.query("SET GLOBAL long_query_time = 0.5");
    session.query("SET SESSION long_query_time = 0.5");
    session.query("SET GLOBAL slow_query_log = ON");
    // Of MariaDB each session has its own; of MySQL none has.
    let _ = session.try_query("SET SESSION slow_query_log = ON");
    let slow = |session: &mut Held| {
        let row = session.query("SHOW SESSION STATUS LIKE 'Slow_queries'").remove(0);
        row.split_once('|').unwrap().1.parse::<u32>().unwrap()
    };
    let before = slow(session);
    session.query("SELECT SLEEP(0.4)");
    assert_eq!(slow(session), before);
    session.query("SELECT SLEEP(0.6)");
    assert_eq!(slow(session), before + 1);

    let timed = "SELECT MAX(TIMER_WAIT) / 1e12 FROM performance_schema.events_statements_history \
                 WHERE SQL_TEXT LIKE 'SELECT SLEEP(0.6)%'";
    let seconds = number_of(session, timed);
    // How late a thread wakes is the machine's.
    let most = 0.6 + 0.012 / k.min(1.0);
    assert!((0.6..most).contains(&seconds), "a statement of 0.6 s took {seconds} s");
}

/// How often the master thread works, which once a second flushes the log and looks for what is to
/// be purged, in a dilated second.
fn background(session: &mut Held, k: f64) {
    // Newer MariaDB does not count those of the log apart.
    let flushes = |session: &mut Held| {
        let names = ["Innodb_os_log_fsyncs", "Innodb_data_fsyncs"];
        let rows = names
            .iter()
            .flat_map(|name| session.query(&format!("SHOW GLOBAL STATUS LIKE '{name}'")));
        let row = rows.take(1).next().unwrap();
        row.split_once('|').unwrap().1.parse::<f64>().unwrap()
    };
    session.query("SET GLOBAL innodb_flush_log_at_trx_commit = 0");
    let before = flushes(session);
    let begun = Instant::now();
    while begun.elapsed() < ms(3_000).mul_f64(k.max(1.0)) {
        session.query("UPDATE timers.t SET v = v + 1");
        std::thread::sleep(ms(20));
    }
    let dilated_s = begun.elapsed().as_secs_f64() / k;
    let per_s = (flushes(session) - before) / dilated_s;
    assert!((0.7..6.0).contains(&per_s), "{per_s} flushes in a second");
}

fn every_timer_is_dilated(engine: &str) {
    every_timer_is_dilated_by(engine, K);
}

#[test]
fn every_timer_runs_faster() {
    every_timer_is_dilated_by("mysql-5.7", FASTER);
}

fn every_timer_is_dilated_by(engine: &str, k: f64) {
    let limit = wait_of(k, LIMIT);
    let (set, say) = match server::engine(engine).unwrap().family.is_mariadb() {
        true => (format!("SET SESSION max_statement_time = {}", limit.as_secs_f64()), "1969"),
        false => (format!("SET SESSION max_execution_time = {}", limit.as_millis()), "3024"),
    };
    let server = dilated_server(engine, k, &["performance_schema=ON"]);
    let options =
        wire::ConnectOptions { schema: None, ..crate::support::connect_options(&server.dsn) };
    let mut session = Held::open_as(options);
    clocks(&mut session, k);
    time_outs(&server.dsn, k, (&set, say));
    session.query(
        "UPDATE performance_schema.setup_consumers SET ENABLED = 'YES' \
         WHERE NAME LIKE 'events_statements%'",
    );
    measures(&mut session, k);
    background(&mut session, k);
    server.stop();
}

engines! {
    every_timer_is_dilated;
    others: soak;
}

fn run(work: &Path, device: &str, arguments: &[&str]) -> crate::support::Ran {
    shim();
    install("mysql-5.7");
    mydyno(["run", "--engine", "mysql-5.7", "-w", "1", "--data", device, "-c", "4"])
        .and_args(SMALL_REDO)
        .and_args(arguments)
        .in_directory(work)
        .run()
}

/// A run tells its times in dilated seconds, and takes as many times as long.
#[test]
fn a_run_is_told_in_dilated_seconds() {
    let work = directory();
    let begun = Instant::now();
    let lengths = ["--dilate", "3", "--warmup", "1s", "--window", "4s", "--check", "--json"];
    let document = run(work.path(), "sata-850pro", &lengths).exits(0).json();
    assert!(begun.elapsed() >= Duration::from_secs(15), "{:?}", begun.elapsed());
    assert!((float(&document, "/dilation") - 3.0).abs() < f64::EPSILON);
    assert!((float(&document, "/window_s") - 4.0).abs() < 0.1);
    all_checks_hold(&document);
    let file = work.path().join("mydyno.db");
    assert_eq!(result(&file, "SELECT dilation FROM repeat"), "3");
    let notes = results(&file, "SELECT note FROM note");
    assert!(notes.iter().any(|note| note[0].contains("in dilated time, K = 3")), "{notes:?}");
    // One sample a dilated second; a core has as many CPU seconds in it as it has seconds.
    let sampled = "SELECT COUNT(DISTINCT at_offset_ns / 1000000000) FROM sample";
    let sampled: u32 = result(&file, sampled).parse().unwrap();
    assert!((4..=8).contains(&sampled), "{sampled}");
    late_by_a_share(&document, &file);
    let busy = float(&document, "/resources/host/cpu_busy_share");
    let idle = float(&document, "/resources/host/cpu_idle_share");
    // Clocks and counters are not read at one instant.
    assert!((0.0..=1.01).contains(&busy) && busy + idle > 0.7, "{busy} {idle}");
}

/// Requests are late by some share of what the devices take, which is that of the stored sums; how
/// large it is depends on what else the machine does.
fn late_by_a_share(document: &serde_json::Value, file: &Path) {
    let told = float(document, "/lateness_share");
    let sums = "SELECT SUM(late_ns), SUM(judged), SUM(requests), SUM(response_ns) FROM role_io \
                JOIN (SELECT repeat_id, role, SUM(requests) AS requests, \
                             SUM(response_sum_ns) AS response_ns \
                      FROM role_request GROUP BY 1, 2) USING (repeat_id, role) WHERE judged > 0";
    let sums: Vec<f64> = results(file, sums)[0].iter().map(|sum| sum.parse().unwrap()).collect();
    let [late_ns, judged, requests, response_ns] = *sums else { panic!("{sums:?}") };
    let expected = (late_ns / judged) / ((response_ns - late_ns) / requests);
    assert!(told > 0.0 && (told / expected - 1.0).abs() < 1e-9, "{told} is not {expected}");
    // The writes of its pages take a millisecond and more of its own clock.
    assert!(told < 10.0, "{told}");
    let roles = document["devices"].as_array().unwrap();
    let data = roles.iter().find(|device| device["role"] == "data").unwrap();
    assert!(float(data, "/lateness_share") > 0.0, "{data:#}");
}

/// What a dilated clock cannot be had for is refused before anything starts.
#[test]
fn real_time_is_refused_where_it_cannot_be_dilated() {
    let work = directory();
    let refused = |arguments: &[&str], words: &[&str]| {
        let all = ["run"].iter().chain(arguments);
        mydyno(all.copied()).in_directory(work.path()).run().exits(2).says(words);
    };
    refused(&["--dsn", "mysql://h/s", "--dilate", "2"], &["--dilate", "server start"]);
    for dilate in ["2", "1/8"] {
        let real = ["--engine", "mysql-5.7", "--dilate", dilate];
        refused(&real, &["real devices", "nvme-pm1725"]);
    }
    let placed = ["--engine", "mysql-5.7", "--data", "hdd-15k"];
    let with = |more: &[&'static str]| [&placed[..], more].concat();
    refused(&with(&["--dilate", "0.03"]), &["from 1/32 to 100"]);
    refused(&with(&["--dilate", "101"]), &["from 1/32 to 100"]);
    refused(&with(&["--dilate", "2", "--dilate-max", "4"]), &["--dilate-max: it bounds"]);
    refused(&with(&["--redo", "/tmp", "--dilate", "2"]), &["real devices"]);
    assert!(!work.path().join("mydyno.db").exists());
}

/// A named server that is dilated is measured in its seconds.
#[test]
#[ignore = "make soak"]
fn a_named_server_keeps_its_clock() {
    let server = dilated_server("mysql-5.7", K, &[]);
    mydyno(["load", "--dsn", &server.dsn, "-w", "1"]).run().exits(0);
    let work = directory();
    let arguments = ["--warmup", "1s", "--window", "2s", "-c", "2", "--json"];
    let ran = mydyno(["run", "--dsn", &server.dsn]).and_args(arguments).in_directory(work.path());
    let document = ran.run().exits(0).json();
    assert!((float(&document, "/dilation") - K).abs() < f64::EPSILON);
    assert_eq!(value(&server.dsn, "SELECT 1"), "1");
    server.stop();
}

/// Where the host is the limit, the least dilation is looked for, and every repeat has it.
#[test]
#[ignore = "make soak"]
fn the_least_dilation_is_found_once_for_a_cell() {
    shim();
    install("mysql-5.7");
    let work = directory();
    let plan = "[lab]\nname = 'auto'\nrepeats = 2\n\
                [server]\nengine = 'mysql-5.7'\ndilate = 'auto'\ndilate_max = 4\n\
                set = { innodb_log_file_size = '16M', innodb_buffer_pool_size = '24M' }\n\
                [storage]\ndata = 'nvme-pm1725'\n\
                [load]\nwarehouses = 1\nconnections = 16\nwarmup = '1s'\nwindow = '2s'\n";
    std::fs::write(work.path().join("auto.toml"), plan).unwrap();
    mydyno(["lab", "run", "auto.toml"]).in_directory(work.path()).run().exits(0);
    let file = work.path().join("mydyno.db");
    let found = results(&file, "SELECT DISTINCT dilation FROM repeat");
    assert_eq!(found.len(), 1, "{found:?}");
    let factor: f64 = found[0][0].parse().unwrap();
    assert!(factor > 1.0 && factor <= 4.0, "{factor}");
    assert_eq!(result(&file, "SELECT COUNT(*) FROM repeat WHERE status = 'done'"), "2");
    let notes = results(&file, "SELECT note FROM note WHERE note LIKE 'dilate auto%'");
    assert_eq!(notes.len(), 1, "{notes:?}");
}
