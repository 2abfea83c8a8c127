//! Private servers that have one database: a Galera cluster, and a primary with replicas.

use crate::support::{
    AMPLE, Held, Running, SMALL_REDO, all_checks_hold, directory, install, list, mydyno, number,
    servers_under, signal, text, until,
};
use rustix::process::Signal;
use std::path::{Path, PathBuf};

const TABLES: [&str; 9] = [
    "warehouse",
    "district",
    "customer",
    "history",
    "new_orders",
    "orders",
    "order_line",
    "item",
    "stock",
];

/// Starts a run against a cluster of so many nodes, whose notes go to its standard error.
fn start(work: &Path, engine: &str, topology: &str, arguments: &[&str]) -> Running {
    install(engine);
    mydyno(["run", "--engine", engine, "-w", "1", "-c", "6", "--json"])
        .and_args(["--topology", topology, "--set", "innodb_buffer_pool_size=192M"])
        .and_args(SMALL_REDO)
        .and_args(arguments)
        .in_directory(work)
        .spawn()
}

/// The directory of a server, by its process; none of a script that it runs.
fn directory_of(pid: u32) -> Option<PathBuf> {
    let line = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).ok()?;
    let mut words = line.split('\0');
    let program = words.next()?;
    let is_server = program.ends_with("mysqld") || program.ends_with("mariadbd");
    let my_cnf = words.find_map(|word| word.strip_prefix("--defaults-file="))?;
    is_server.then(|| Path::new(my_cnf).parent().unwrap().to_owned())
}

/// The nodes of a run, in their order, each by its process and a DSN.
fn nodes(running: &Running) -> Vec<(u32, String)> {
    let mut found: Vec<(u32, u32, String)> = Vec::new();
    for pid in servers_under(running.pid()) {
        let Some(own) = directory_of(pid) else { continue };
        let text = std::fs::read_to_string(own.join("my.cnf")).unwrap();
        let value = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(&format!("{name} = ")));
            line.unwrap().trim_matches('"').to_owned()
        };
        let password = std::fs::read_to_string(own.join("password")).unwrap();
        let (port, password) = (value("port"), password.trim_end());
        let dsn = format!("mysql://mydyno:{password}@127.0.0.1:{port}/tpcc");
        found.push((value("server_id").parse().unwrap(), pid, dsn));
    }
    found.sort();
    found.into_iter().map(|(_, pid, dsn)| (pid, dsn)).collect()
}

/// Rows of each table, and what the counters add up to.
fn rows(dsn: &str) -> Vec<String> {
    let mut session = Held::open(dsn);
    let count = |table: &&str| format!("SELECT '{table}', COUNT(*) FROM {table}");
    let mut sql: Vec<String> = TABLES.iter().map(count).collect();
    sql.push("SELECT 'w_ytd', SUM(w_ytd) FROM warehouse".to_owned());
    sql.push("SELECT 's_ytd', SUM(s_ytd) FROM stock".to_owned());
    session.query(&sql.join(" UNION ALL "))
}

/// Holds the driver, so that nobody writes, and waits until all nodes have the same rows.
fn become_equal(running: &Running) {
    signal(running.pid(), Signal::STOP);
    let nodes = nodes(running);
    until("all nodes have the rows of the first", || {
        let first = rows(&nodes[0].1);
        nodes.iter().all(|(_, dsn)| rows(dsn) == first)
    });
    let orders = rows(&nodes[0].1).into_iter().find(|row| row.starts_with("orders")).unwrap();
    assert!(!orders.ends_with("30000"), "nothing was written: {orders}");
    signal(running.pid(), Signal::CONT);
}

/// A node that says that it is no longer in step is not driven.
fn one_that_is_not_synced_is_refused(nodes: &[(u32, String)]) {
    let mut session = Held::open(&nodes[1].1);
    session.query("SET GLOBAL wsrep_desync = 1");
    let work = directory();
    let both = ["--dsn", &nodes[0].1, "--dsn", &nodes[1].1, "--topology", "multi-primary"];
    let run = ["run", "-c", "2", "--warmup", "0", "--window", "2s"];
    let ran = mydyno(run).and_args(both).in_directory(work.path()).run();
    ran.exits(4).says(&["node 2 of 2", "Desynced", "wait until it is Synced"]);
    session.query("SET GLOBAL wsrep_desync = 0");
}

#[test]
#[ignore = "make soak"]
fn a_node_of_galera_that_is_killed_comes_back_and_has_all_rows() {
    let work = directory();
    let file = work.path().join("mydyno.db");
    let arguments = ["--nodes", "3", "--warmup", "1s", "--window", "25s", "--check"];
    let mut running = start(work.path(), "mariadb-10.11", "multi-primary", &arguments);
    running.until_stored(&file, "SELECT COUNT(*) > 1 FROM interval");
    let all = nodes(&running);
    one_that_is_not_synced_is_refused(&all);
    signal(all[1].0, Signal::KILL);
    until("the node is back", || {
        let servers = nodes(&running);
        servers.len() == 3 && {
            let state = "SHOW STATUS WHERE Variable_name = 'wsrep_cluster_size' OR \
                         Variable_name = 'wsrep_local_state_comment'";
            let session = std::panic::catch_unwind(|| Held::open(&servers[1].1));
            session.is_ok_and(|mut session| {
                let said = session.query(state).join(" ");
                said.contains('3') && said.contains("Synced")
            })
        }
    });
    become_equal(&running);
    let document = running.wait().exits(0).json();
    all_checks_hold(&document);
    assert_eq!(number(&document, "/instances"), 3);
    let notes: Vec<&str> = list(&document, "/notes").iter().filter_map(|n| n.as_str()).collect();
    let of_node = |note: &&&str| {
        note.starts_with("node 2 of 3 ended (signal: 9")
            && note.contains("it was started again and is back (IST, ")
    };
    assert_eq!(notes.iter().filter(of_node).count(), 1, "{notes:#?}");
}

/// All rows of the primary come to its replicas, and one that is killed goes on.
fn replicas_follow(engine: &str) {
    let work = directory();
    let file = work.path().join("mydyno.db");
    let arguments = ["--nodes", "3", "--warmup", "1s", "--window", AMPLE];
    let mut running = start(work.path(), engine, "primary-replicas", &arguments);
    running.until_stored(&file, "SELECT COUNT(*) > 1 FROM interval");
    become_equal(&running);
    let (last, dsn) = nodes(&running)[2].clone();
    let read_only = Held::open(&dsn).query("SELECT @@global.read_only");
    assert_eq!(read_only, ["1"]);
    signal(last, Signal::KILL);
    until("the replica is back", || {
        let servers = nodes(&running);
        servers.len() == 3 && servers[2].0 != last
    });
    until("it takes connections", || std::panic::catch_unwind(|| drop(Held::open(&dsn))).is_ok());
    become_equal(&running);
    signal(running.pid(), Signal::INT);
    let document = running.wait().exits(130).json();
    let notes = list(&document, "/notes");
    let is_back = |note: &&str| note.contains("is back and replicates");
    let mut notes = notes.iter().filter_map(|note| note.as_str());
    assert!(notes.any(|note| is_back(&note)), "{document:#}");
}

engines! {
    replicas_follow;
    others: soak;
}

#[test]
#[ignore = "make soak"]
fn galera_runs_under_the_shim_and_on_a_server_with_a_c_library_of_its_own() {
    crate::support::shim();
    for (engine, more) in [
        ("mariadb-11.8", &["--dilate", "1"][..]),
        ("mariadb-10.11", &["--data", "nvme-pm1725"]),
        ("mariadb-10.11", &["--data", "nvme-pm1725", "--dilate", "3"]),
    ] {
        let work = directory();
        let arguments = [&["--nodes", "3", "--warmup", "1s", "--window", "4s", "--check"], more];
        let running = start(work.path(), engine, "multi-primary", &arguments.concat());
        let document = running.wait().exits(0).json();
        all_checks_hold(&document);
    }
}

#[test]
fn the_end_of_the_primary_ends_the_run() {
    let work = directory();
    let file = work.path().join("mydyno.db");
    let arguments = ["--nodes", "2", "--warmup", "0", "--window", AMPLE];
    let mut running = start(work.path(), "mysql-5.7", "primary-replicas", &arguments);
    running.until_stored(&file, "SELECT COUNT(*) > 0 FROM interval");
    signal(nodes(&running)[0].0, Signal::KILL);
    let document = running.wait().exits(5).json();
    assert_eq!(text(&document, "/reason_code"), "server_died");
}

#[test]
fn what_cannot_be_a_cluster_is_refused_before_anything_starts() {
    for (engine, topology, set, says) in [
        ("mysql-5.7", "multi-primary", "sync_binlog=1", "Galera is part of MariaDB; take mariadb"),
        ("xtradb-5.6", "multi-primary", "sync_binlog=1", "Galera 4 came with MariaDB 10.4"),
        ("mariadb-11.4", "multi-primary", "sync_binlog=1", "take mariadb-10.11, or install"),
        ("mariadb-10.11", "multi-primary", "wsrep_on=OFF", "mydyno sets it for the nodes"),
        ("mysql-5.7", "primary-replicas", "gtid-mode=OFF", "mydyno sets it for a primary"),
    ] {
        let work = directory();
        let running = start(work.path(), engine, topology, &["--nodes", "2", "--set", set]);
        let ran = running.wait();
        assert!(ran.code.is_some_and(|code| code != 0));
        assert!(ran.stderr.contains(says), "{engine}: {}", ran.stderr);
        assert!(!ran.stderr.contains("populating"), "{engine}: {}", ran.stderr);
    }
}
