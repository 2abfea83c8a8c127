//! What the threads of a server wait for in other threads is found where it is made up.

use crate::support::{directory, float, install, mydyno, shim};
use serde_json::Value;

/// Of a transaction, what no part explains.
const REMAINDER_MAX: f64 = 0.05;
const PARTS: [&str; 13] = [
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
        let account = &document["resources"]["account"];
        let whole = float(account, "/time_us");
        let time = |part: &str| account[part].as_f64().unwrap_or(0.0);
        let largest = PARTS.into_iter().max_by(|a, b| time(a).total_cmp(&time(b)));
        assert_eq!(largest, Some(self.part), "{account:#}");
        assert!(time("remainder_us") < REMAINDER_MAX * whole, "{account:#}");
        assert_eq!(verdict(&document), self.verdict, "{:#}", document["resources"]["bound"]);
    }
}

fn verdict(document: &Value) -> &str {
    document["resources"]["bound"]["by"].as_str().unwrap_or("none")
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
