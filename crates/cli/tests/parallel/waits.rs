//! What the threads of a server wait for in other threads is found where it is made up.

use crate::support::{
    AMPLE, Held, SMALL_REDO, Server, directory, float, install, lent, mydyno, shim,
};
use rustix::process::Signal;
use serde_json::Value;

/// Of a transaction, what no part explains.
const REMAINDER_MAX: f64 = 0.05;
const PARTS: [&str; 14] = [
    "running_us",
    "core_wait_us",
    "reads_us",
    "row_locks_us",
    "latches_us",
    "log_us",
    "redo_room_us",
    "page_writes_us",
    "admission_us",
    "metadata_us",
    "replication_us",
    "other_waits_us",
    "unseen_us",
    "network_and_driver_us",
];

/// Transactions whose largest part is to be found.
struct MadeUp {
    statements: &'static [&'static str],
    /// Of thirty times as many transactions.
    beside: Option<&'static str>,
    set: &'static [&'static str],
    part: &'static str,
    verdict: &'static str,
}

const PLAIN: MadeUp = MadeUp { statements: &[], beside: None, set: &[], part: "", verdict: "" };
const ROW_LOCK: MadeUp = MadeUp {
    statements: &["UPDATE t SET n = n + 1 WHERE id = 1", "SELECT SLEEP(0.01)"],
    part: "row_locks_us",
    verdict: "lock",
    ..PLAIN
};
const METADATA_LOCK: MadeUp = MadeUp {
    statements: &["LOCK TABLES t WRITE", "SELECT SLEEP(0.01)", "UNLOCK TABLES"],
    part: "metadata_us",
    verdict: "metadata",
    ..PLAIN
};
/// MySQL takes it as a metadata lock.
const NAMED_LOCK: MadeUp = MadeUp {
    statements: &["SELECT GET_LOCK('a', 30)", "SELECT SLEEP(0.01)", "SELECT RELEASE_LOCK('a')"],
    part: "metadata_us",
    verdict: "metadata",
    ..PLAIN
};
/// Who has it lets others wait who write.
const READ_LOCK: MadeUp = MadeUp {
    statements: &["FLUSH TABLES WITH READ LOCK", "SELECT SLEEP(0.02)", "UNLOCK TABLES"],
    beside: Some("UPDATE t SET n = n + 1 WHERE id = 2"),
    part: "metadata_us",
    verdict: "metadata",
    ..PLAIN
};
const ADMISSION: MadeUp = MadeUp {
    statements: &["SELECT SUM(n) FROM t"],
    set: &["--set", "innodb_thread_concurrency=1"],
    part: "admission_us",
    verdict: "admission",
    ..PLAIN
};
const ASKED: MadeUp = MadeUp {
    statements: &["SELECT SLEEP(0.01)"],
    part: "other_waits_us",
    verdict: "mixed",
    ..PLAIN
};

impl MadeUp {
    fn workload(&self) -> String {
        let beside = self.beside.map_or_else(String::new, |statement| {
            format!(
                "[[transaction]]\nname = \"beside\"\nweight = 30\nstatements = [{statement:?}]\n"
            )
        });
        format!(
            "[[setup]]\nsql = \"CREATE TABLE t (id INT PRIMARY KEY, n INT NOT NULL)\"\n\
             [[setup]]\nsql = \"INSERT INTO t VALUES (:id, 1)\"\ntimes = 20000\n\
             parameters.id = {{ sequence = {{ from = 1 }} }}\n\
             [[transaction]]\nname = \"made_up\"\nweight = 1\nstatements = {:?}\n{beside}",
            self.statements
        )
    }

    /// Is it the largest part of a transaction, with the verdict that belongs to it?
    #[track_caller]
    fn is_found(&self, engine: &str) {
        shim();
        install(engine);
        let work = directory();
        std::fs::write(work.path().join("made-up.toml"), self.workload()).unwrap();
        let document = mydyno(["run", "--json", "--engine", engine, "--workload", "made-up.toml"])
            .and_args(["-c", "8", "--warmup", "1s", "--window", "3s", "--count-io"])
            .and_args(self.set)
            .in_directory(work.path())
            .run()
            .exits(0)
            .json();
        is_largest(&document, self.part, self.verdict);
    }
}

#[track_caller]
fn is_largest(document: &Value, part: &str, verdict: &str) {
    let account = &document["resources"]["account"];
    let whole = float(account, "/time_us");
    let time = |part: &str| account[part].as_f64().unwrap_or(0.0);
    let largest = PARTS.into_iter().max_by(|a, b| time(a).total_cmp(&time(b)));
    assert_eq!(largest, Some(part), "{account:#}");
    assert!(time("remainder_us") < REMAINDER_MAX * whole, "{account:#}");
    let bound = &document["resources"]["bound"];
    assert_eq!(bound["by"].as_str().unwrap_or("none"), verdict, "{bound:#}");
}

/// Of sysbench's transactions on such storage.
fn on_storage(engine: &str, mix: &str, storage: &[&str]) -> Value {
    shim();
    install(engine);
    let work = directory();
    mydyno(["run", "--json", "--engine", engine, "--workload", mix, "--table-size", "100000"])
        .and_args(["-c", "8", "--warmup", "1s", "--window", "3s"])
        .and_args(SMALL_REDO)
        .and_args(storage)
        .in_directory(work.path())
        .run()
        .exits(0)
        .json()
}

#[test]
fn a_slow_log_is_found() {
    let storage = ["--data", "nvme-pm1725", "--redo", "hdd-7k2"];
    let document = on_storage("mysql-8.0", "sysbench-oltp-write-only", &storage);
    is_largest(&document, "log_us", "log");
}

#[test]
fn a_pool_that_is_too_small_is_found() {
    let storage = ["--data", "hdd-15k", "--set", "innodb_buffer_pool_size=6M"];
    let document = on_storage("mariadb-11.8", "sysbench-oltp-read-only-uniform", &storage);
    is_largest(&document, "reads_us", "read_io");
}

#[test]
fn a_row_lock_that_is_held_is_found() {
    ROW_LOCK.is_found("mysql-8.0");
}

/// Whose names its build leaves out: by the server's status.
#[test]
fn a_row_lock_that_is_held_is_found_without_names() {
    ROW_LOCK.is_found("mariadb-11.8");
}

#[test]
fn a_named_lock_that_is_held_is_found() {
    NAMED_LOCK.is_found("mysql-8.0");
}

#[test]
fn a_metadata_lock_that_is_held_is_found() {
    METADATA_LOCK.is_found("mariadb-11.8");
}

#[test]
fn a_read_lock_of_all_tables_is_found() {
    READ_LOCK.is_found("mariadb-11.8");
}

#[test]
fn a_server_that_lets_one_in_is_found() {
    ADMISSION.is_found("mysql-5.7");
}

#[test]
fn a_statement_that_sleeps_is_found() {
    ASKED.is_found("mysql-8.0");
}

#[test]
fn performance_schema_finds_a_slow_log() {
    let storage = ["--data", "nvme-pm1725", "--redo", "hdd-7k2"];
    let from = ["--account-from", "performance_schema"];
    let document =
        on_storage("mysql-8.0", "sysbench-oltp-write-only", &[&storage[..], &from].concat());
    is_largest(&document, "log_us", "log");
    let account = &document["resources"]["account"];
    assert_eq!(account["known_by"], "performance_schema", "{account:#}");
    // Its process is known.
    assert!(account["running_us"].as_f64().unwrap() > 0.0, "{account:#}");
}

/// What of its instruments is on.
const SWITCHED_ON: &str = "SELECT CONCAT(NAME, ENABLED, TIMED) FROM \
     performance_schema.setup_instruments WHERE NAME LIKE 'wait/%' ORDER BY NAME";

/// On a server that somebody else started, without the shim.
fn performance_schema_finds(made_up: &MadeUp, engine: &str) {
    install(engine);
    let server = Server::start(engine, &["performance_schema=ON"]);
    let work = directory();
    std::fs::write(work.path().join("made-up.toml"), made_up.workload()).unwrap();
    let mut session = Held::open(&server.schema("mysql"));
    session.query("CREATE DATABASE made_up");
    session.query(
        "UPDATE performance_schema.setup_instruments SET TIMED = 'NO' WHERE NAME = \
                   'wait/io/file/innodb/innodb_data_file'",
    );
    let before = session.query(SWITCHED_ON);
    let of_schema = |dsn: &str, verb: &str| {
        mydyno([verb, "--json", "--dsn", dsn, "--workload", "made-up.toml"])
            .in_directory(work.path())
    };
    let dsn = server.schema("made_up");
    let from = ["--account-from", "performance_schema", "-c", "8", "--warmup", "1s"];
    of_schema(&dsn, "load").run().exits(0);
    let run = of_schema(&dsn, "run").and_args(from).and_args(["--window", "3s"]);
    let document = run.run().exits(0).json();
    is_largest(&document, made_up.part, made_up.verdict);
    let account = &document["resources"]["account"];
    assert_eq!(account["known_by"], "performance_schema", "{account:#}");
    assert_eq!(session.query(SWITCHED_ON), before);
    // Also after Ctrl-C.
    let mut run = of_schema(&dsn, "run").and_args(from).and_args(["--window", AMPLE]).spawn();
    run.until("instruments are on", || Held::open(&dsn).query(SWITCHED_ON) != before);
    run.signal(Signal::INT);
    run.wait().exits(130);
    assert_eq!(session.query(SWITCHED_ON), before);
    // Who may not switch them is told who may, and how.
    session.query("CREATE USER guest IDENTIFIED BY 'guest'");
    session.query("GRANT ALL ON made_up.* TO guest");
    let guest = dsn.replace(&format!("mydyno:{}", server.password()), "guest:guest");
    let refused = of_schema(&guest, "run").and_args(from).run().exits(4);
    refused
        .says(&["UPDATE performance_schema.setup_instruments SET TIMED = 'YES'", "GRANT SELECT"]);
}

#[test]
fn performance_schema_finds_a_metadata_lock() {
    performance_schema_finds(&NAMED_LOCK, "mysql-8.0");
}

#[test]
#[ignore = "make soak"]
fn performance_schema_of_mariadb_finds_a_metadata_lock() {
    performance_schema_finds(&METADATA_LOCK, "mariadb-11.8");
}

#[test]
#[ignore = "make soak"]
fn performance_schema_of_a_newer_mysql_finds_a_row_lock() {
    performance_schema_finds(&ROW_LOCK, "mysql-9.7");
}

#[test]
fn a_server_without_performance_schema_is_refused() {
    let server = lent();
    let work = directory();
    mydyno(["run", "--dsn", &server.dsn, "--account-from", "performance_schema"])
        .in_directory(work.path())
        .run()
        .exits(4)
        .says(&["performance_schema=ON"]);
}

/// Both tell the same of the same load, one after the other.
#[test]
fn performance_schema_and_the_shim_have_one_account() {
    shim();
    let set = ["performance_schema=ON", "innodb_buffer_pool_size=16M"];
    let on_a_device = ["--data", "hdd-15k", "--redo", "nvme-pm1725"];
    let server = Server::start_with("mysql-8.0", &set, &on_a_device);
    let work = directory();
    std::fs::write(work.path().join("made-up.toml"), NAMED_LOCK.workload()).unwrap();
    let mut session = Held::open(&server.schema("mysql"));
    let rows = ["--table-size", "100000"];
    let loads: [(&str, &str, &[&str], &[&str]); 2] = [
        ("sbtest", "sysbench-oltp-point-select-uniform", &rows, &["reads_us"]),
        ("made_up", "made-up.toml", &[], &["metadata_us", "other_waits_us"]),
    ];
    for (schema, workload, rows, parts) in loads {
        session.query(&format!("CREATE DATABASE {schema}"));
        let of_schema = |verb: &str| {
            mydyno([verb, "--json", "--dsn", &server.schema(schema), "--workload", workload])
                .in_directory(work.path())
        };
        of_schema("load").and_args(rows).run().exits(0);
        let account_from = |source: &str| {
            let load = ["-c", "8", "--warmup", "1s", "--window", "4s", "--account-from", source];
            let document = of_schema("run").and_args(load).run().exits(0).json();
            document["resources"]["account"].clone()
        };
        let (of_shim, of_schema) = (account_from("shim"), account_from("performance_schema"));
        assert_eq!(of_shim["known_by"], "sessions");
        assert_eq!(of_schema["known_by"], "performance_schema");
        let share =
            |of: &Value, part: &str| of[part].as_f64().unwrap_or(0.0) / float(of, "/time_us");
        for part in parts {
            let (one, other) = (share(&of_shim, part), share(&of_schema, part));
            // What a thread waits for a core behind a wait is in that wait or apart.
            let for_a_core = share(&of_shim, "core_wait_us").max(share(&of_schema, "core_wait_us"));
            let bound = (0.1 * one).max(0.03) + for_a_core;
            let is_near = (one - other).abs() <= bound && one > 0.05;
            assert!(is_near, "{part}: {one:.3}, {other:.3} of {of_shim:#} {of_schema:#}");
        }
    }
}

/// The server's own instruments time the same threads in the same run.
#[test]
fn performance_schema_times_the_same_waits() {
    const SECONDS: f64 = 4.0;
    shim();
    let set = ["performance_schema=ON", "performance_schema_instrument=wait/%=ON"];
    let small = ["innodb_buffer_pool_size=16M", "innodb_log_file_size=16M"];
    // What a read takes is then a disk's time, and hardly a wait for a core.
    let on_a_device = ["--data", "hdd-15k", "--redo", "nvme-pm1725"];
    let server = Server::start_with("mysql-8.0", &[set, small].concat(), &on_a_device);
    let work = directory();
    std::fs::write(work.path().join("made-up.toml"), NAMED_LOCK.workload()).unwrap();
    let mut session = Held::open(&server.schema("mysql"));
    session.query("CREATE DATABASE made_up");
    let of_schema = |schema: &str, verb: &str, workload: &str| {
        mydyno([verb, "--json", "--dsn", &server.schema(schema), "--workload", workload])
            .in_directory(work.path())
    };
    of_schema("made_up", "load", "made-up.toml").run().exits(0);
    let files: &[&str] = &["reads_us", "page_writes_us"];
    session.query("CREATE DATABASE sbtest");
    let rows = ["--table-size", "100000"];
    of_schema("sbtest", "load", "sysbench-oltp").and_args(rows).run().exits(0);
    // Each is short, so that hardly anything is under way when the window ends.
    let point_select = "sysbench-oltp-point-select-uniform";
    for (schema, workload, all) in [
        ("sbtest", point_select, &[(files, "wait/io/file/innodb/innodb_data_file")][..]),
        (
            "made_up",
            "made-up.toml",
            &[
                (&["metadata_us"], "wait/lock/metadata/sql/mdl"),
                (&["other_waits_us"], "wait/synch/cond/sql/Item_func_sleep::cond"),
            ],
        ),
    ] {
        session.query("TRUNCATE performance_schema.events_waits_summary_by_user_by_event_name");
        let load = ["-c", "8", "--warmup", "0", "--window", &format!("{SECONDS}s")];
        let document = of_schema(schema, "run", workload).and_args(load).run().exits(0).json();
        let account = &document["resources"]["account"];
        for (parts, event) in all {
            let told: f64 = parts.iter().map(|part| account[*part].as_f64().unwrap_or(0.0)).sum();
            let told = told / float(account, "/time_us");
            let for_a_core = float(account, "/core_wait_us") / float(account, "/time_us");
            let timed = session.query(&format!(
                "SELECT sum_timer_wait / 1e12 FROM \
                 performance_schema.events_waits_summary_by_user_by_event_name WHERE user = \
                 'mydyno' AND event_name = '{event}'"
            ));
            let timed = timed[0].parse::<f64>().unwrap() / (8.0 * SECONDS);
            // It has in it what the thread then waits for a core, which the account has apart.
            let bound = (0.1 * timed).max(0.03);
            let near = told - bound..=told + for_a_core + bound;
            let found = near.contains(&timed) && told > 0.05;
            assert!(found, "{event}: {timed:.3}, not {told:.3} of {account:#}");
        }
    }
}
