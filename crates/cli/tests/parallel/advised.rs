//! `mydyno advise`: what it proposes is accepted by the server that it is proposed for.

use crate::support::{Held, Server, directory, execute, float, mydyno, number, text, value};
use advise::{
    AdvisedDevice, Finding, NamedValues, Risk, ServerMachine, ServerSnapshot, StatusWatch, advise,
};
use base::Since;
use serde_json::Value;

/// Values that rules find fault with.
const BAD: &[(&str, &str)] = &[
    ("back_log", "50"),
    ("innodb_adaptive_flushing", "OFF"),
    ("innodb_adaptive_hash_index", "ON"),
    ("innodb_buffer_pool_instances", "8"),
    ("innodb_buffer_pool_size", "268435456"),
    ("innodb_change_buffering", "all"),
    ("innodb_checksum_algorithm", "none"),
    ("innodb_cleaner_lsn_age_factor", "legacy"),
    ("innodb_data_file_buffering", "ON"),
    ("innodb_doublewrite", "OFF"),
    ("innodb_doublewrite_pages", "4"),
    ("innodb_empty_free_list_algorithm", "legacy"),
    ("innodb_fill_factor", "100"),
    ("innodb_flush_log_at_trx_commit", "2"),
    ("innodb_flush_method", "fsync"),
    ("innodb_flush_neighbors", "1"),
    ("innodb_io_capacity", "200"),
    ("innodb_io_capacity_max", "400"),
    ("innodb_log_buffer_size", "8388608"),
    ("innodb_log_file_size", "50331648"),
    ("innodb_lru_scan_depth", "100"),
    ("innodb_max_dirty_pages_pct", "50"),
    ("innodb_max_dirty_pages_pct_lwm", "0"),
    ("innodb_max_purge_lag", "1000"),
    ("innodb_numa_interleave", "OFF"),
    ("innodb_random_read_ahead", "ON"),
    ("innodb_read_io_threads", "4"),
    ("innodb_redo_log_capacity", "50331648"),
    ("innodb_spin_wait_delay", "96"),
    ("innodb_thread_concurrency", "8"),
    ("innodb_track_changed_pages", "ON"),
    ("innodb_use_native_aio", "OFF"),
    ("innodb_write_io_threads", "4"),
    ("join_buffer_size", "16777216"),
    ("performance_schema", "ON"),
    ("query_cache_size", "1048576"),
    ("query_cache_type", "ON"),
    ("sort_buffer_size", "16777216"),
    ("sync_binlog", "0"),
    ("table_open_cache_instances", "1"),
];

/// Rises in a second that rules find fault with.
const RISES: &[(&str, u64)] = &[
    ("Binlog_cache_disk_use", 5),
    ("Connections", 100),
    ("Created_tmp_disk_tables", 5),
    ("Created_tmp_tables", 6),
    ("Innodb_buffer_pool_read_ahead", 100),
    ("Innodb_buffer_pool_read_ahead_evicted", 50),
    ("Innodb_buffer_pool_read_requests", 1000),
    ("Innodb_buffer_pool_reads", 500),
    ("Innodb_buffer_pool_wait_free", 5),
    ("Innodb_log_waits", 5),
    ("Innodb_os_log_written", 100_000),
    ("Innodb_rows_inserted", 1000),
    ("Opened_tables", 50),
    ("Threads_created", 100_000),
];

/// A server of this kind with which everything is wrong that it has a variable for.
fn wrong(dsn: &str) -> ServerSnapshot {
    let mut session = Held::open(dsn);
    let rows = session.query("SHOW GLOBAL VARIABLES");
    let pair = |row: &String| row.split_once('|').map(|(n, v)| (n.to_owned(), v.to_owned()));
    let mut variables: NamedValues = rows.iter().filter_map(pair).collect();
    for (name, bad) in BAD {
        if let Some(value) = variables.get_mut(*name) {
            *value = (*bad).to_owned();
        }
    }
    let release = variables["version"].parse().unwrap();
    let mut watch = StatusWatch { seconds: 1.0, ..StatusWatch::default() };
    for (name, rise) in RISES {
        watch.first.insert((*name).to_owned(), "0".to_owned());
        watch.last.insert((*name).to_owned(), rise.to_string());
    }
    for (name, most) in [
        ("Max_used_connections", "max_connections"),
        ("Prepared_stmt_count", "max_prepared_stmt_count"),
    ] {
        watch.last.insert(name.to_owned(), variables[most].clone());
    }
    for (name, value) in [("Threads_running", "64"), ("Open_tables", "1000000")] {
        watch.last.insert(name.to_owned(), value.to_owned());
    }
    ServerSnapshot {
        server: release,
        variables,
        watch,
        data_bytes: Some(4 << 30),
        machine: Some(ServerMachine {
            memory_bytes: 2 << 30,
            cores: 2,
            numa_nodes: 2,
            ..ServerMachine::default()
        }),
        device: Some(AdvisedDevice {
            name: "nvme-pm1725".to_owned(),
            is_disk: false,
            random_read_iops: Some(1e6),
            random_write_iops: Some(120_000.0),
        }),
        redo_is_apart: Some(true),
        account: None,
    }
}

fn gives_up_durability(finding: &Finding) -> bool {
    finding.risks.iter().any(|risk| matches!(risk, Risk::Durability(_)))
}

/// What servers lower by themselves: open tables where they may not open as many files, and with
/// them MariaDB's instances of the cache; asynchronous I/O where the kernel has none; page cleaners
/// of a pool below 1 GB, which is one instance. MariaDB maps a redo log that lies in memory, and
/// tells its size as that of the buffer.
const BOUNDED: [&str; 5] = [
    "innodb_page_cleaners",
    "innodb_use_native_aio",
    "table_open_cache",
    "table_open_cache_instances",
    "innodb_log_buffer_size",
];

/// Statements are executed, and a server starts with all lines.
fn lines_are_accepted(engine: &str) {
    // A query cache that was off at the start can never be set.
    let query_cache = ["query_cache_type=1", "query_cache_size=1M"];
    let has_query_cache = !server::engine(engine).unwrap().release().has(Since::mysql((8, 0, 0)));
    let server = Server::quick(engine, if has_query_cache { &query_cache } else { &[] });
    let dsn = server.schema("mysql");
    let findings = advise(&wrong(&dsn));
    assert!(findings.len() > 15, "{engine}: {}", findings.len());
    for statement in findings.iter().flat_map(|finding| &finding.statements) {
        execute(&dsn, [statement.trim_end_matches(';')]);
    }
    let mut settings: Vec<String> = Vec::new();
    for line in findings.iter().filter(|f| !gives_up_durability(f)).flat_map(|f| &f.option_lines) {
        let setting = line.replacen(" = ", "=", 1);
        if !settings.contains(&setting) {
            settings.push(setting);
        }
    }
    let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
    let started = Server::quick(engine, &settings);
    for change in findings.iter().flat_map(|finding| &finding.changes) {
        let now = format!("SELECT @@GLOBAL.{}", change.variable);
        let now = value(&started.schema("mysql"), &now);
        let wanted = &change.proposed;
        let number = |text: &str| text.parse::<f64>().ok();
        let is_equal = |(now, wanted): (f64, f64)| (now - wanted).abs() < 0.5;
        // A switch is 0 or 1.
        let switch = if wanted == "ON" { "1" } else { "0" };
        let is_switched = ["ON", "OFF"].contains(&wanted.as_str()) && now == switch;
        let is_number = number(&now).zip(number(wanted)).is_some_and(is_equal);
        let is_bounded = BOUNDED.contains(&change.variable);
        let holds = now.eq_ignore_ascii_case(wanted) || is_switched || is_number || is_bounded;
        assert!(holds, "{engine}: {change:?}, but it is {now}");
    }
}

engines! {
    lines_are_accepted;
    test: mysql_5_7;
    others: soak;
}

fn finding<'a>(advice: &'a Value, rule: &str) -> &'a Value {
    let mut findings = advice["findings"].as_array().unwrap().iter();
    findings.find(|finding| finding["rule"] == rule).unwrap_or_else(|| panic!("{rule}: {advice:#}"))
}

#[test]
fn a_server_is_watched_and_left_as_it_is() {
    let settings = ["innodb_flush_neighbors=1", "innodb_spin_wait_delay=96"];
    let server = Server::loaded("mysql-5.7", &settings);
    let work = directory();
    let variables = |dsn: &str| Held::open(dsn).query("SHOW GLOBAL VARIABLES");
    let unchanging = |row: &String| !row.starts_with("timestamp") && !row.starts_with("gtid_");
    let before: Vec<String> = variables(&server.dsn).into_iter().filter(unchanging).collect();
    let advised = mydyno(["advise", "--dsn", &server.dsn, "--observe", "2s", "--json"])
        .and_args(["--device", "sata-850pro"])
        .in_directory(work.path())
        .run()
        .exits(0)
        .json();
    assert!(text(&advised, "/server_version").starts_with("5.7"));
    assert!((2.0..20.0).contains(&float(&advised, "/watched_s")));
    assert!(advised["notes"][0].as_str().unwrap().contains("no load"), "{advised:#}");
    let neighbors = finding(&advised, "flush-neighbors");
    assert_eq!(text(neighbors, "/statements/0"), "SET GLOBAL innodb_flush_neighbors = 0;");
    assert_eq!(neighbors["restart_needed"], false);
    // Half of 9,000 writes of 4 KiB are 1,125 pages.
    let capacity = finding(&advised, "io-capacity");
    assert_eq!(text(capacity, "/changes/1/proposed"), "1100");
    let after: Vec<String> = variables(&server.dsn).into_iter().filter(unchanging).collect();
    assert_eq!(before, after);
    // No results file is made to look into.
    assert!(!work.path().join("mydyno.db").exists());
}

#[test]
fn a_load_and_a_stored_run_are_looked_at() {
    let server = Server::loaded("mysql-5.7", &["innodb_buffer_pool_size=8M"]);
    let work = directory();
    let run = |window: &str| {
        mydyno(["run", "--dsn", &server.dsn, "-c", "2", "--warmup", "0", "--window", window])
            .in_directory(work.path())
    };
    run("3s").run().exits(0);
    let running = run("30s").spawn();
    let advised = mydyno(["advise", "--dsn", &server.dsn, "--observe", "4s", "--json"])
        .in_directory(work.path())
        .run()
        .exits(0)
        .json();
    let size = finding(&advised, "pool-size");
    assert!(text(size, "/seen").contains("of page requests miss a pool of 8M"), "{size:#}");
    assert_eq!(number(&advised, "/schema_version"), 1);
    drop(running);
}

#[test]
fn what_cannot_be_advised_is_named() {
    let work = directory();
    let advise =
        |arguments: &[&str]| mydyno(["advise"]).and_args(arguments).in_directory(work.path()).run();
    advise(&["--dsn", "mysql://nobody@127.0.0.1:1/x", "--observe", "1s"])
        .exits(4)
        .says(&["127.0.0.1:1"]);
    advise(&["--dsn", "mysql://h/s", "--preset", "config-1"]).exits(2).says(&["--preset"]);
    advise(&["--dsn", "mysql://h/s", "--device", "floppy"]).exits(2).says(&["floppy"]);
}
