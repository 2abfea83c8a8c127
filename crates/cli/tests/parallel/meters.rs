//! What only the user can name or switch on, through the binary: a power meter, an exporter on the
//! server's machine, performance_schema; and when samples are stored.

use crate::support::{
    AMPLE, Documented, Held, Mydyno, Server, directory, documented, float, holds, lent, mydyno,
    result, results, servers_under, text,
};
use rustix::process::Signal;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::time::Instant;

fn run(server: &Server, work: &Path, window: &str, arguments: &[&str]) -> Mydyno {
    mydyno(["run", "--dsn", &server.dsn, "-c", "2", "--warmup", "0"])
        .and_args(["--window", window, "--json"])
        .and_args(arguments)
        .in_directory(work)
}

#[test]
fn watts_of_a_meter() {
    let server = lent();
    let work = directory();
    let secret = "echo 200 # geheim";
    let summary =
        run(&server, work.path(), "3s", &["--power-command", secret]).run().exits(0).json();
    assert_eq!(float(&summary, "/resources/power/watts_mean"), 200.0);
    assert_eq!(text(&summary, "/resources/power/measured_by"), "meter");
    let nopm_per_watt = float(&summary, "/resources/power/nopm_per_watt");
    let expected = float(&summary, "/nopm") / 200.0;
    assert!(expected > 0.0 && (nopm_per_watt / expected - 1.0).abs() < 1e-9);
    // The command may hold a password: what is stored and reported has its program only.
    mydyno(["report"]).in_directory(work.path()).run().exits(0);
    let report = std::fs::read_to_string(work.path().join("report.html")).unwrap();
    assert!(report.contains("--power-command 'echo ***'"));
    for entry in std::fs::read_dir(work.path()).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        assert!(!bytes.windows(6).any(|bytes| bytes == b"geheim"));
    }
}

/// An exporter of a machine with three cores, of which each is busy a fifth of the time.
fn three_cores() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let begun = Instant::now();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut request = BufReader::new(stream.try_clone().unwrap());
            let mut line = String::new();
            // Up to the empty line that ends it.
            while request.read_line(&mut line).is_ok_and(|bytes| bytes > 2) {}
            let mut body = String::new();
            for core in 0..3 {
                for (mode, share) in [("idle", 0.8), ("user", 0.15), ("system", 0.05)] {
                    let seconds = begun.elapsed().as_secs_f64() * share;
                    body += &format!(
                        "node_cpu_seconds_total{{cpu=\"{core}\",mode=\"{mode}\"}} {seconds}\n"
                    );
                }
                for mode in ["iowait", "irq", "nice", "softirq", "steal"] {
                    body +=
                        &format!("node_cpu_seconds_total{{cpu=\"{core}\",mode=\"{mode}\"}} 0\n");
                }
            }
            let head =
                "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\nConnection: close";
            let length = body.len();
            let answer = format!("{head}\r\nContent-Length: {length}\r\n\r\n{body}");
            // A client that goes away has had enough.
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    address
}

#[test]
fn another_machine_through_its_exporter() {
    let server = lent();
    let work = directory();
    let url = format!("http://{}/metrics", three_cores());
    let summary = run(&server, work.path(), "4s", &["--host-metrics", &url]).run().exits(0).json();
    assert_eq!(float(&summary, "/resources/host/cpu_cores"), 3.0);
    let busy = float(&summary, "/resources/host/cpu_busy_share");
    assert!((busy - 0.2).abs() < 0.01, "{busy}");
}

#[test]
fn a_meter_that_says_nothing_is_told_before_anything_is_started() {
    for (arguments, words) in [
        (["--power-command", "exit 3"], ["no watts", "3"]),
        (["--power-command", "echo off"], ["no watts", "off"]),
        (["--host-metrics", "http://127.0.0.1:1/metrics"], ["no metrics", "refused"]),
    ] {
        let work = directory();
        let running = mydyno(["run", "--engine", "mysql-5.7"])
            .and_args(arguments)
            .in_directory(work.path())
            .spawn();
        let owner = running.pid();
        let ran = running.wait().exits(4).says(&words);
        assert_eq!(ran.stdout, "");
        assert!(!ran.stderr.contains("starting"), "{}", ran.stderr);
        assert_eq!(servers_under(owner), Vec::<u32>::new());
        assert_eq!(std::fs::read_dir(work.path()).unwrap().count(), 0);
    }
}

/// A meter that answers when it is asked first, before the run, and then does this; a file tells
/// that it was asked again.
fn answers_once(then: &str) -> String {
    format!("if [ -e asked ]; then touch again; {then}; else touch asked; echo 200; fi")
}

/// Runs with such a meter, which leaves a `sleep` of so many seconds; that has to end with the run.
fn run_beside(seconds: u32, then: &str) {
    let server = lent();
    let work = directory();
    let command = answers_once(then);
    run(&server, work.path(), "2s", &["--power-command", &command]).run().exits(0);
    assert!(work.path().join("again").exists(), "the meter was not asked in the run");
    let sleeps = || {
        let processes = std::fs::read_dir("/proc").unwrap().flatten();
        let lines = processes.filter_map(|of| std::fs::read(of.path().join("cmdline")).ok());
        let line = format!("sleep\0{seconds}\0");
        lines.filter(|found| *found == line.as_bytes()).count()
    };
    assert_eq!(sleeps(), 0, "it outlives the run");
    let file = work.path().join("mydyno.db");
    assert_eq!(result(&file, "SELECT status FROM repeat"), "done");
}

#[test]
fn a_meter_that_hangs_does_not_hold_up_the_run() {
    run_beside(47_110, "exec sleep 47110");
}

#[test]
fn what_a_meter_leaves_behind_does_not_hold_up_the_run() {
    run_beside(47_120, "sleep 47120 & echo 200");
}

/// A run that is killed keeps what was sampled, however long its intervals are.
#[test]
fn samples_are_stored_each_second() {
    let server = lent();
    let work = directory();
    let file = work.path().join("mydyno.db");
    let mut running = run(&server, work.path(), AMPLE, &["--interval", "50s"]).spawn();
    let sampled = "SELECT COUNT(DISTINCT at_offset_ns / 1000000000) >= 3 FROM sample";
    running.until_stored(&file, sampled);
    running.signal(Signal::KILL);
    assert_eq!(running.wait().code, None);
    assert!(holds(&file, sampled));
    assert_eq!(result(&file, "SELECT COUNT(*) FROM interval"), "0");
}

/// The number, first and last of the samples of a metric of the server.
fn samples_of(file: &Path, name: &str) -> [i64; 3] {
    let sql = format!(
        "SELECT COUNT(*), MIN(value), MAX(value) FROM sample JOIN metric ON metric_id = id \
         WHERE source = 'server' AND label = '' AND kind = 'counter' AND name = '{name}'"
    );
    let row = results(file, &sql).remove(0);
    [0, 1, 2].map(|column| row[column].parse().unwrap_or_default())
}

#[test]
fn waits_for_files_come_where_performance_schema_is_on() {
    let of_schema = |one: &Documented| one.needs_performance_schema;
    let waits: Vec<Documented> = documented().into_iter().filter(of_schema).collect();
    assert_eq!(waits.len(), 4);
    let (off, work) = (lent(), directory());
    run(&off, work.path(), "2s", &[]).run().exits(0);
    let file = work.path().join("mydyno.db");
    for one in &waits {
        assert_eq!(samples_of(&file, &one.name), [0; 3], "{}", one.name);
    }
    assert_eq!(result(&file, "SELECT COUNT(*) FROM note WHERE note LIKE '%status%'"), "0");

    let work = directory();
    let on = Server::loaded("mysql-5.7", &["performance_schema=ON"]);
    run(&on, work.path(), "3s", &[]).run().exits(0);
    let mut session = Held::open(&on.dsn);
    for one in &waits {
        let name = &one.name;
        let [samples, first, last] = samples_of(&work.path().join("mydyno.db"), name);
        assert!(samples >= 2 && first < last, "{name}: {samples}, {first} to {last}");
        let [event, column] = &one.places[..] else { panic!("{name} is in {:?}", one.places) };
        let per = if name.ends_with("_ns") { 1_000 } else { 1 };
        let later = session.query(&format!(
            "SELECT {column} DIV {per} FROM \
             performance_schema.events_waits_summary_global_by_event_name \
             WHERE EVENT_NAME = '{event}'"
        ));
        assert!(last <= later[0].parse().unwrap(), "{name}: {last}, then {later:?}");
    }
}
