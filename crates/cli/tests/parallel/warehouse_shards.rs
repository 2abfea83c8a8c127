//! One database whose warehouses are divided over several servers.

use crate::support::{
    AMPLE, Held, Mydyno, QUICK, Running, SMALL_REDO, Server, all_checks_hold, counts_agree,
    directory, float, install, list, mydyno, number, query, text, value,
};
use rustix::process::Signal;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

const SHARDS: [&str; 2] = ["--topology", "shards"];

/// Two servers, and the DSNs of a schema of this name in both.
struct Pair {
    servers: [Server; 2],
    dsns: [String; 2],
}

impl Pair {
    fn start(engine: &str) -> Pair {
        let servers = [Server::quick(engine, &[]), Server::quick(engine, &[])];
        let dsns = [&servers[0], &servers[1]].map(|server| server.schema("divided"));
        Pair { servers, dsns }
    }

    /// Two servers with so many warehouses between them.
    fn loaded(engine: &str, warehouses: &str, more: &[&str]) -> Pair {
        let pair = Pair::start(engine);
        let work = directory();
        pair.command("load", &["-w", warehouses])
            .and_args(more)
            .in_directory(work.path())
            .run()
            .exits(0);
        pair
    }

    fn command(&self, command: &str, more: &[&str]) -> Mydyno {
        let [first, second] = &self.dsns;
        mydyno([command, "--dsn", first, "--dsn", second]).and_args(SHARDS).and_args(more)
    }

    fn run(&self, work: &Path, more: &[&str]) -> Value {
        self.command("run", &["-c", "4", "--warmup", "0", "--window", "3s", "--check", "--json"])
            .and_args(more)
            .in_directory(work)
            .run()
            .exits(0)
            .json()
    }

    /// What each shard answers.
    fn ask(&self, sql: &str) -> [String; 2] {
        [&self.dsns[0], &self.dsns[1]].map(|dsn| value(dsn, sql))
    }

    fn stop(self) {
        for server in self.servers {
            server.stop();
        }
    }
}

fn notes(document: &Value) -> String {
    let notes = list(document, "/notes").iter().filter_map(Value::as_str);
    notes.collect::<Vec<_>>().join("\n")
}

/// Lines since the load that another warehouse supplied.
const REMOTE_LINES: &str =
    "SELECT COUNT(*) FROM order_line WHERE ol_supply_w_id <> ol_w_id AND ol_o_id > 3000";

/// What is prepared on a shard.
const PREPARED: &str = "XA RECOVER";

#[test]
fn two_shards_are_one_database() {
    let pair = Pair::loaded("mysql-5.7", "4", &[]);
    // Global numbers, and all items on each.
    let ranges = "SELECT CONCAT(MIN(w_id), ' ', MAX(w_id), ' ', COUNT(*)) FROM warehouse";
    assert_eq!(pair.ask(ranges), ["1 2 2", "3 4 2"]);
    assert_eq!(pair.ask("SELECT COUNT(*) FROM item"), ["100000", "100000"]);
    // The rows are those of the undivided database.
    let checksum = "SELECT CONCAT(row_count, ' ', checksum) FROM mydyno_load \
                    WHERE table_name = 'customer' AND w_id = 3";
    let whole = Server::start_with("mysql-5.7", &QUICK, &["-w", "3"]);
    assert_eq!(value(&pair.dsns[1], checksum), value(&whole.dsn, checksum));
    let work = directory();

    let document = pair.run(work.path(), &[]);
    all_checks_hold(&document);
    assert_eq!(list(&document, "/checks").len(), 18);
    counts_agree(&document);
    assert_eq!(number(&document, "/warehouses"), 4);
    assert!(notes(&document).contains("transactions stay within one"), "{document:#}");
    let each = list(&document, "/nopm_by_instance").iter().filter_map(Value::as_f64);
    assert!(each.clone().count() == 2 && each.clone().all(|nopm| nopm > 0.0), "{document:#}");
    assert!((each.sum::<f64>() - float(&document, "/nopm")).abs() < 0.01, "{document:#}");
    // Remote lines there are, and none leaves its shard.
    assert!(pair.ask(REMOTE_LINES).iter().all(|lines| lines != "0"));
    let left = [("3", 0), ("1", 1)].map(|(first, shard)| {
        let sql = format!(
            "SELECT COUNT(*) FROM order_line WHERE ol_supply_w_id BETWEEN {first} AND {first} + 1"
        );
        value(&pair.dsns[shard], &sql)
    });
    assert_eq!(left, ["0", "0"]);
    assert_eq!(
        pair.ask("SELECT COUNT(*) FROM history WHERE (h_c_w_id > 2) <> (h_w_id > 2)"),
        ["0", "0"]
    );

    let checked = pair.command("check", &[]).run().exits(0);
    assert!(checked.stdout.contains("18 of 18 checks passed on 4 warehouses in 2 shards"));
    what_offends_is_named(&pair);
    others_are_refused(&pair, &whole.dsn, work.path());
    pair.stop();
}

/// Rows of which each shard has a part are compared over both.
fn what_offends_is_named(pair: &Pair) {
    let second = &pair.dsns[1];
    query(second, "UPDATE stock SET s_ytd = s_ytd + 1 WHERE s_w_id = 3 AND s_i_id = 77");
    query(
        second,
        "UPDATE customer SET c_balance = c_balance + 1, c_ytd_payment = c_ytd_payment - 1 \
         WHERE c_w_id = 4 AND c_d_id = 5 AND c_id = 6",
    );
    query(&pair.dsns[0], "UPDATE warehouse SET w_ytd = w_ytd + 1 WHERE w_id = 2");
    // In any order; a shard has the number of its DSN.
    let check = mydyno(["check", "--dsn", second, "--dsn", &pair.dsns[0], "--json"]);
    let document = check.and_args(SHARDS).run().exits(6).json();
    let failed = list(&document, "/checks").iter().filter(|check| check["passed"] == false);
    let failed: Vec<(&str, String)> =
        failed.map(|check| (text(check, "/name"), check["examples"].to_string())).collect();
    let names: Vec<&str> = failed.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, ["C1", "C8", "C10", "X1", "X4"], "{failed:#?}");
    for (name, words) in [
        ("C1", "shard 2, w_id 2"),
        ("C10", "shard 1, w_id 4, d_id 5, c_id 6, c_balance"),
        ("X1", "shard 1, w_id 3, i_id 77, s_ytd"),
        ("X4", "shard 1, w_id 4, d_id 5, c_id 6, c_payment_cnt"),
    ] {
        assert!(failed.iter().any(|(of, told)| *of == name && told.contains(words)), "{failed:#?}");
    }
}

/// What is no whole database is not driven.
fn others_are_refused(pair: &Pair, whole: &str, work: &Path) {
    let [first, second] = &pair.dsns;
    let refused = |arguments: &[&str], code: i32, words: &[&str]| {
        let short = ["--warmup", "0", "--window", "1s"];
        mydyno(["run"])
            .and_args(arguments)
            .and_args(short)
            .in_directory(work)
            .run()
            .exits(code)
            .says(words);
    };
    refused(
        &["--dsn", first],
        4,
        &["warehouses 1 to 2 of 4 only, as a shard", "--topology shards"],
    );
    refused(
        &["--dsn", whole, "--dsn", second, "--topology", "shards"],
        4,
        &["shard 1 was not loaded by mydyno as a shard"],
    );
    refused(
        &["--dsn", first, "--dsn", second, "--topology", "shards", "-w", "3"],
        4,
        &["the shards have 4 warehouses together", "leave the number of warehouses out"],
    );
    refused(
        &["--dsn", first, "--dsn", second, "--topology", "shards", "--workload", "tpcc-mysql"],
        2,
        &["--topology", "workload tpcc"],
    );
    let both = ["--dsn", first, "--dsn", second, "--topology", "shards"];
    let xa = |more: &[&'static str]| [&both[..], &["--xa"], more].concat();
    refused(&xa(&[]), 4, &["--xa: the shards have foreign keys", "--foreign-keys=false"]);
    refused(&xa(&["--style", "batched"]), 2, &["--xa: ", "style batched", "pipelined"]);
    refused(&["--dsn", whole, "--xa"], 2, &["--xa: ", "add topology shards"]);
    mydyno(["load", "--dsn", first, "--dsn", second, "--topology", "shards", "-w", "1"])
        .in_directory(work)
        .run()
        .exits(4)
        .says(&["1 warehouse cannot be divided over 2 shards"]);
    // A range twice, and another seed.
    query(second, "UPDATE mydyno_meta SET value = '2' WHERE name = 'first_warehouse'");
    refused(&both, 4, &["warehouses 1 to 2", "warehouses 2 to 4", "overlap"]);
    query(second, "UPDATE mydyno_meta SET value = '4' WHERE name = 'first_warehouse'");
    refused(&both, 4, &["no shard has warehouse 3 of 4"]);
    query(second, "UPDATE mydyno_meta SET value = '3' WHERE name = 'first_warehouse'");
    query(second, "UPDATE mydyno_meta SET value = '99' WHERE name = 'seed'");
    refused(&both, 4, &["different seeds"]);
}

#[test]
#[ignore = "make soak"]
fn private_shards_start_on_an_image_each() {
    install("mysql-5.7");
    let work = directory();
    let document = mydyno(["run", "--engine", "mysql-5.7", "-w", "3", "--nodes", "2", "-c", "4"])
        .and_args(SHARDS)
        .and_args(SMALL_REDO)
        .and_args(["--warmup", "0", "--window", "2s", "--check", "--json"])
        .in_directory(work.path())
        .run()
        .exits(0)
        .json();
    all_checks_hold(&document);
    counts_agree(&document);
    assert_eq!(number(&document, "/warehouses"), 3);
    let told = notes(&document);
    assert!(told.contains("the shards have warehouses 1 to 2, warehouse 3;"), "{told}");
    mydyno(["run", "--engine", "mysql-5.7", "-w", "1", "--nodes", "2"])
        .and_args(SHARDS)
        .run()
        .exits(2)
        .says(&["--warehouses", "2 shards cannot divide 1 warehouses"]);
}

/// Transactions cross two shards, and what is proven of one database holds over both.
fn transactions_cross_shards_of(engine: &str) {
    let pair = Pair::loaded(engine, "2", &["--foreign-keys=false"]);
    let work = directory();
    for style in ["statements", "pipelined"] {
        let document = pair.run(work.path(), &["--xa", "--style", style]);
        all_checks_hold(&document);
        assert_eq!(list(&document, "/checks").len(), 18);
        counts_agree(&document);
        assert!(notes(&document).contains("by XA transactions"), "{document:#}");
        // As many are remote as clauses 2.4.1.5 and 2.5.1.2 say, and all of them cross.
        for name in ["remote_line_share", "remote_payment_share"] {
            let inputs = list(&document, "/inputs");
            let input = inputs.iter().find(|input| input["name"] == name).unwrap();
            assert_ne!(text(input, "/verdict"), "outside", "{input:#}");
            assert!(number(input, "/hits") > 0, "{input:#}");
        }
        assert!(pair.ask(REMOTE_LINES).iter().all(|lines| lines != "0"));
        let paid = pair.ask("SELECT COUNT(*) FROM history WHERE h_c_w_id <> h_w_id");
        assert!(paid.iter().all(|payments| payments != "0"), "{paid:?}");
        assert!(pair.prepared().is_empty());
    }
    pair.stop();
}

engines! {
    transactions_cross_shards_of;
    soak: mysql_5_7, mysql_8_0, mariadb_10_11;
}

/// A branch that is prepared, and whether it is the one that decides.
type Branch = (String, bool);

impl Pair {
    /// The transactions that are prepared on any shard, each branch with whether it decides.
    fn prepared(&self) -> Vec<Branch> {
        let rows = self.dsns.iter().flat_map(|dsn| query(dsn, PREPARED));
        let branch = |row: String| {
            let columns: Vec<&str> = row.split('|').collect();
            let (global, of) = columns[3].split_at(columns[1].parse().unwrap());
            let shards: Vec<&str> = of.split('-').collect();
            (global.to_owned(), shards[1] == shards[2])
        };
        rows.map(branch).collect()
    }

    /// How many transactions that are prepared were committed by the branch that decides, and how
    /// many were not.
    fn decided(&self) -> (usize, usize) {
        let prepared = self.prepared();
        let decides = |global: &String| prepared.iter().any(|of| of.0 == *global && of.1);
        let all: BTreeSet<&String> = prepared.iter().map(|(global, _)| global).collect();
        let open = all.iter().filter(|global| decides(global)).count();
        (all.len() - open, open)
    }

    /// Kills a run between the commits of a transaction's branches. Returns how many transactions
    /// have to be committed, and how many rolled back.
    fn kill_in_the_middle(&self, running: Running) -> (usize, usize) {
        // What a server had been asked for ends within this time, or waits for what is prepared.
        let settle = || std::thread::sleep(Duration::from_millis(300));
        for _ in 0..5_000 {
            running.signal(Signal::STOP);
            if self.decided().0 > 0 {
                settle();
                if self.decided().0 > 0 {
                    running.signal(Signal::KILL);
                    let ran = running.wait();
                    assert_eq!(ran.code, None, "{}", ran.stderr);
                    settle();
                    return self.decided();
                }
            }
            running.signal(Signal::CONT);
            std::thread::sleep(Duration::from_millis(3));
        }
        panic!("no transaction was caught between the commits of its branches");
    }

    fn start_crossing(&self, work: &Path, style: &str) -> Running {
        let mut running = self
            .command("run", &["-c", "16", "--warmup", "0", "--window", AMPLE, "--xa"])
            .and_args(["--style", style, "--interval", "100ms"])
            .in_directory(work)
            .spawn();
        running.until_measuring(work);
        running
    }
}

/// What a killed run has left is resolved, by the next check and by the next run.
fn a_killed_coordinator_is_recovered_on(engine: &str) {
    let pair = Pair::loaded(engine, "2", &["--foreign-keys=false"]);
    let work = directory();
    let told = |(committed, rolled_back): (usize, usize)| {
        format!("resolved: {committed} committed, {rolled_back} rolled back")
    };
    let left = pair.kill_in_the_middle(pair.start_crossing(work.path(), "statements"));
    let checked = pair.command("check", &[]).run().exits(0).says(&[&told(left)]);
    assert!(checked.stdout.contains("18 of 18 checks passed"), "{}", checked.stdout);
    assert_eq!(pair.prepared(), []);
    let left = pair.kill_in_the_middle(pair.start_crossing(work.path(), "pipelined"));
    let document = pair.run(work.path(), &["--xa"]);
    assert!(notes(&document).contains(&told(left)), "{document:#}");
    all_checks_hold(&document);
    counts_agree(&document);
    assert_eq!(pair.prepared(), []);
    what_is_not_ours_is_left_alone(&pair);
    pair.stop();
}

engines! {
    a_killed_coordinator_is_recovered_on;
    soak: mysql_5_7, mariadb_10_11;
}

/// Transactions of others, and of a connection that lives.
fn what_is_not_ours_is_left_alone(pair: &Pair) {
    let lock = tpcc::lock::lock_name("divided");
    let schema = lock.strip_prefix("mydyno:").unwrap();
    let branches = [
        ("'another'".to_owned(), true),
        (format!("'mydyno-00000000000000aa-3-1','{schema}-1-1'"), true),
        // Of a database with this schema's name whose first shard is another one.
        (format!("'mydyno-00000000000000ab-3-1','{schema}-2-2'"), true),
        (format!("'mydyno-00000000000000ac-3-1','{schema}-1-1'"), false),
    ];
    for (number, (branch, _)) in branches.iter().enumerate() {
        let mut session = Held::open(&pair.dsns[0]);
        session.query(&format!("XA START {branch}"));
        let district = format!("d_w_id = 1 AND d_id = {}", number + 1);
        session.query(&format!("UPDATE district SET d_ytd = d_ytd + 1 WHERE {district}"));
        session.query(&format!("XA END {branch}"));
        session.query(&format!("XA PREPARE {branch}"));
    }
    let mut lives = Held::open(&pair.dsns[1]);
    lives.query("SELECT GET_LOCK('mydyno-00000000000000aa-3', 0)");
    let checked = pair.command("check", &[]).run().exits(0);
    let told =
        checked.says(&["1 prepared transaction of an ended run was resolved: 0 committed, 1"]);
    told.says(&["1 prepared transaction of a run that goes on was left to it"]);
    let mut session = Held::open(&pair.dsns[0]);
    for (branch, is_left) in branches {
        let ended = session.try_query(&format!("XA ROLLBACK {branch}"));
        assert_eq!(ended.is_ok(), is_left, "{branch}: {ended:?}");
    }
}

#[test]
#[ignore = "make soak"]
fn servers_that_lose_what_is_prepared_are_refused() {
    let pair = Pair::loaded("xtradb-5.6", "2", &["--foreign-keys=false"]);
    let work = directory();
    pair.command("run", &["--xa", "--warmup", "0", "--window", "1s"])
        .in_directory(work.path())
        .run()
        .exits(4)
        .says(&["--xa: shard 1 is on MariaDB 10.1", "MariaDB 10.5"]);
    pair.run(work.path(), &[]);
    pair.stop();
}
