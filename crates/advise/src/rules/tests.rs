//! What each rule says of a server that one thing is wrong with, and that it says nothing of one
//! with which nothing is.

use super::all;
use crate::snapshot::{
    AdvisedDevice, MountedFileSystem, NamedValues, ServerMachine, ServerSnapshot, StatusWatch,
};
use crate::{Finding, Gain, Risk, advise};
use analyse::{Account, KnownBy, OfParts, Part};
use base::{ServerFamily, ServerRelease};

const GIB: u64 = 1 << 30;

/// Of a transaction with such a share in a part, and no other.
fn account(part: Part, share: f64) -> Account {
    let mut parts = OfParts::default();
    parts[part] = Some(share);
    Account { time_us: 1.0, known_by: KnownBy::Server, parts, excess_share: 0.0, queued_us: None }
}

/// Of a server that is as the rules want it.
const VARIABLES: &[(&str, &str)] = &[
    ("back_log", "1500"),
    ("binlog_cache_size", "32768"),
    ("innodb_adaptive_flushing", "ON"),
    ("innodb_adaptive_hash_index", "OFF"),
    ("innodb_buffer_pool_instances", "8"),
    ("innodb_buffer_pool_size", "12884901888"),
    ("innodb_change_buffering", "none"),
    ("innodb_checksum_algorithm", "crc32"),
    ("innodb_cleaner_lsn_age_factor", "high_checkpoint"),
    ("innodb_doublewrite", "ON"),
    ("innodb_doublewrite_pages", "128"),
    ("innodb_empty_free_list_algorithm", "backoff"),
    ("innodb_fill_factor", "50"),
    ("innodb_flush_log_at_trx_commit", "1"),
    ("innodb_flush_method", "O_DIRECT"),
    ("innodb_flush_neighbors", "0"),
    ("innodb_io_capacity", "15000"),
    ("innodb_io_capacity_max", "30000"),
    ("innodb_log_block_size", "4096"),
    ("innodb_log_buffer_size", "16777216"),
    ("innodb_log_file_size", "10737418240"),
    ("innodb_log_files_in_group", "3"),
    ("innodb_lru_scan_depth", "4000"),
    ("innodb_max_dirty_pages_pct", "90"),
    ("innodb_max_dirty_pages_pct_lwm", "10"),
    ("innodb_max_purge_lag", "0"),
    ("innodb_monitor_enable", ""),
    ("innodb_numa_interleave", "ON"),
    ("innodb_page_cleaners", "8"),
    ("innodb_page_size", "16384"),
    ("innodb_random_read_ahead", "OFF"),
    ("innodb_read_ahead_threshold", "56"),
    ("innodb_read_io_threads", "16"),
    ("innodb_spin_wait_delay", "6"),
    ("innodb_thread_concurrency", "0"),
    ("innodb_track_changed_pages", "OFF"),
    ("innodb_use_native_aio", "ON"),
    ("innodb_write_io_threads", "16"),
    ("join_buffer_size", "32768"),
    ("log_bin", "ON"),
    ("max_connections", "4000"),
    ("max_heap_table_size", "16777216"),
    ("max_prepared_stmt_count", "64000"),
    ("performance_schema", "OFF"),
    ("query_cache_size", "0"),
    ("query_cache_type", "OFF"),
    ("sort_buffer_size", "32768"),
    ("sync_binlog", "1"),
    ("table_open_cache", "8000"),
    ("table_open_cache_instances", "16"),
    ("thread_cache_size", "100"),
    ("tmp_table_size", "16777216"),
];

/// What rose in a second.
const RISES: &[(&str, u64)] = &[
    ("Binlog_cache_disk_use", 0),
    ("Created_tmp_disk_tables", 1),
    ("Created_tmp_tables", 100),
    ("Innodb_buffer_pool_read_ahead", 100),
    ("Innodb_buffer_pool_read_ahead_evicted", 1),
    ("Innodb_buffer_pool_read_ahead_rnd", 0),
    ("Innodb_buffer_pool_read_requests", 100_000),
    ("Innodb_buffer_pool_reads", 5_000),
    ("Innodb_buffer_pool_wait_free", 0),
    ("Innodb_log_waits", 0),
    ("Innodb_os_log_written", 10 << 20),
    ("Innodb_rows_deleted", 100),
    ("Innodb_rows_inserted", 500),
    ("Innodb_rows_updated", 1_000),
    ("Opened_tables", 0),
    ("Qcache_hits", 0),
    ("Questions", 10_000),
    ("Connections", 1),
    ("Threads_created", 0),
];

const STATES: &[(&str, u64)] = &[
    ("Max_used_connections", 100),
    ("Open_tables", 400),
    ("Prepared_stmt_count", 100),
    ("Threads_running", 20),
];

const SECONDS: u64 = 10;

fn sound() -> ServerSnapshot {
    let variables = VARIABLES.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let mut watch = StatusWatch { seconds: SECONDS as f64, ..StatusWatch::default() };
    for (name, per_s) in RISES {
        rise(&mut watch, name, *per_s);
    }
    for (name, value) in STATES {
        watch.last.insert((*name).to_owned(), value.to_string());
    }
    ServerSnapshot {
        server: ServerRelease { family: ServerFamily::Percona, version: (5, 7, 22) },
        variables: variables.collect(),
        watch,
        data_bytes: Some(50 * GIB),
        machine: Some(ServerMachine {
            memory_bytes: 18 * GIB,
            cores: 16,
            numa_nodes: 2,
            transparent_huge_pages: Some("madvise".to_owned()),
            swappiness: Some(1),
            file_system: Some(MountedFileSystem {
                kind: "ext4".to_owned(),
                mount_point: "/srv".to_owned(),
                options: vec!["rw".to_owned(), "noatime".to_owned()],
                scheduler: Some("none".to_owned()),
            }),
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

fn rise(watch: &mut StatusWatch, name: &str, per_s: u64) {
    watch.first.insert(name.to_owned(), "1000".to_owned());
    watch.last.insert(name.to_owned(), (1000 + per_s * SECONDS).to_string());
}

/// A name in lower case is a variable, any other one a counter and its rise in a second.
fn with(changes: &[(&str, &str)]) -> ServerSnapshot {
    let mut snapshot = sound();
    for (name, value) in changes {
        if name.starts_with(char::is_lowercase) {
            snapshot.variables.insert((*name).to_owned(), (*value).to_owned());
        } else if STATES.iter().any(|(state, _)| state == name) {
            snapshot.watch.last.insert((*name).to_owned(), (*value).to_owned());
        } else {
            rise(&mut snapshot.watch, name, value.parse().unwrap());
        }
    }
    snapshot
}

fn set(finding: &Finding) -> Vec<String> {
    let words = |c: &crate::VariableChange| format!("{}={}", c.variable, c.proposed);
    finding.changes.iter().map(words).collect()
}

/// The only finding.
#[track_caller]
fn one(snapshot: &ServerSnapshot, rule: &str) -> Finding {
    let mut findings = advise(snapshot);
    let names: Vec<&str> = findings.iter().map(|finding| finding.rule).collect();
    assert_eq!(names, [rule]);
    findings.remove(0)
}

type Case = (&'static str, &'static [(&'static str, &'static str)], &'static [&'static str]);

/// The rule, what is wrong, and what it sets.
const CASES: &[Case] = &[
    (
        "flush-at-commit",
        &[("innodb_flush_log_at_trx_commit", "2")],
        &["innodb_flush_log_at_trx_commit=1"],
    ),
    ("sync-binlog", &[("sync_binlog", "0")], &["sync_binlog=1"]),
    ("doublewrite", &[("innodb_doublewrite", "OFF")], &["innodb_doublewrite=ON"]),
    ("checksums", &[("innodb_checksum_algorithm", "none")], &["innodb_checksum_algorithm=crc32"]),
    (
        "pool-size",
        &[("innodb_buffer_pool_size", "8589934592")],
        &["innodb_buffer_pool_size=12884901888"],
    ),
    ("flush-method", &[("innodb_flush_method", "")], &["innodb_flush_method=O_DIRECT"]),
    (
        "pool-instances",
        &[("innodb_buffer_pool_instances", "32"), ("innodb_page_cleaners", "32")],
        &["innodb_buffer_pool_instances=8"],
    ),
    ("redo-size", &[("innodb_log_file_size", "50331648")], &["innodb_log_file_size=4294967296"]),
    ("log-buffer", &[("Innodb_log_waits", "3")], &["innodb_log_buffer_size=67108864"]),
    ("log-block-size", &[("innodb_log_block_size", "512")], &[]),
    (
        "io-capacity",
        &[("innodb_io_capacity", "200"), ("innodb_io_capacity_max", "2000")],
        &["innodb_io_capacity_max=30000", "innodb_io_capacity=15000"],
    ),
    (
        "io-capacity",
        &[("innodb_io_capacity", "300000"), ("innodb_io_capacity_max", "600000")],
        &["innodb_io_capacity=15000", "innodb_io_capacity_max=30000"],
    ),
    ("flush-neighbors", &[("innodb_flush_neighbors", "1")], &["innodb_flush_neighbors=0"]),
    (
        "dirty-pages",
        &[("innodb_max_dirty_pages_pct_lwm", "0")],
        &["innodb_max_dirty_pages_pct_lwm=10"],
    ),
    ("adaptive-flushing", &[("innodb_adaptive_flushing", "OFF")], &["innodb_adaptive_flushing=ON"]),
    ("page-cleaners", &[("innodb_page_cleaners", "4")], &["innodb_page_cleaners=8"]),
    (
        "lru-scan-depth",
        &[("innodb_lru_scan_depth", "1024"), ("Innodb_buffer_pool_wait_free", "5")],
        &["innodb_lru_scan_depth=4000"],
    ),
    ("lru-scan-depth", &[("innodb_lru_scan_depth", "200000")], &["innodb_lru_scan_depth=24576"]),
    (
        "free-list",
        &[("innodb_empty_free_list_algorithm", "legacy")],
        &["innodb_empty_free_list_algorithm=backoff"],
    ),
    (
        "cleaner-age-factor",
        &[("innodb_cleaner_lsn_age_factor", "legacy")],
        &["innodb_cleaner_lsn_age_factor=high_checkpoint"],
    ),
    ("doublewrite-pages", &[("innodb_doublewrite_pages", "4")], &["innodb_doublewrite_pages=128"]),
    (
        "track-changed-pages",
        &[("innodb_track_changed_pages", "ON")],
        &["innodb_track_changed_pages=OFF"],
    ),
    ("random-read-ahead", &[("innodb_random_read_ahead", "ON")], &["innodb_random_read_ahead=OFF"]),
    (
        "linear-read-ahead",
        &[("Innodb_buffer_pool_read_ahead_evicted", "40")],
        &["innodb_read_ahead_threshold=0"],
    ),
    (
        "adaptive-hash-index",
        &[("innodb_adaptive_hash_index", "ON")],
        &["innodb_adaptive_hash_index=OFF"],
    ),
    ("change-buffering", &[("innodb_change_buffering", "all")], &["innodb_change_buffering=none"]),
    ("io-threads", &[("innodb_read_io_threads", "4")], &["innodb_read_io_threads=16"]),
    ("native-aio", &[("innodb_use_native_aio", "OFF")], &["innodb_use_native_aio=ON"]),
    ("thread-concurrency", &[("innodb_thread_concurrency", "8")], &["innodb_thread_concurrency=0"]),
    ("spin-wait-delay", &[("innodb_spin_wait_delay", "96")], &["innodb_spin_wait_delay=6"]),
    ("purge-lag", &[("innodb_max_purge_lag", "1000000")], &["innodb_max_purge_lag=0"]),
    (
        "table-open-cache",
        &[("table_open_cache", "400"), ("Opened_tables", "20")],
        &["table_open_cache=8000"],
    ),
    (
        "table-cache-instances",
        &[("table_open_cache_instances", "1")],
        &["table_open_cache_instances=16"],
    ),
    (
        "query-cache",
        &[("query_cache_type", "ON"), ("query_cache_size", "1048576")],
        &["query_cache_size=0", "query_cache_type=OFF"],
    ),
    ("thread-cache", &[("Threads_created", "9")], &["thread_cache_size=200"]),
    ("max-connections", &[("Max_used_connections", "3999")], &["max_connections=8000"]),
    (
        "prepared-statements",
        &[("Prepared_stmt_count", "63000")],
        &["max_prepared_stmt_count=256000"],
    ),
    ("back-log", &[("back_log", "50"), ("Connections", "200")], &["back_log=1500"]),
    ("session-buffers", &[("sort_buffer_size", "16777216")], &["sort_buffer_size=262144"]),
    ("performance-schema", &[("performance_schema", "ON")], &["performance_schema=OFF"]),
    ("innodb-monitors", &[("innodb_monitor_enable", "all")], &[]),
    (
        "fill-factor",
        &[("innodb_fill_factor", "100"), ("Innodb_rows_inserted", "5000")],
        &["innodb_fill_factor=50"],
    ),
    (
        "temporary-tables",
        &[("Created_tmp_disk_tables", "50")],
        &["tmp_table_size=67108864", "max_heap_table_size=67108864"],
    ),
    ("binlog-cache", &[("Binlog_cache_disk_use", "4")], &["binlog_cache_size=131072"]),
    ("numa", &[("innodb_numa_interleave", "OFF")], &["innodb_numa_interleave=ON"]),
];

/// Rules whose cases change something other than variables and counters.
const CASES_BELOW: &[&str] = &[
    "flush-every-second",
    "page-size",
    "log-apart",
    "transparent-huge-pages",
    "swappiness",
    "io-scheduler",
    "mount-options",
];

#[test]
fn a_sound_server_is_left_alone() {
    let findings = advise(&sound());
    assert!(findings.is_empty(), "{findings:#?}");
}

#[test]
fn each_rule_says_what_to_set() {
    let mut seen = Vec::new();
    for (rule, wrong, wanted) in CASES {
        let finding = one(&with(wrong), rule);
        seen.push(format!("{rule}: {}", finding.seen));
        assert_eq!(set(&finding), *wanted, "{rule}");
        assert_eq!(finding.changes.is_empty(), finding.action.is_some(), "{rule}");
        assert_eq!(finding.option_lines.len(), finding.changes.len(), "{rule}");
        let says = all().find(|(_, known)| known.name == *rule).unwrap().1.variables;
        for change in &finding.changes {
            let is_said = says.iter().any(|variable| variable.name == change.variable);
            assert!(is_said, "{rule} does not say {}", change.variable);
            // What the server has not, nobody proposes.
            let mut without = with(wrong);
            without.variables.remove(change.variable);
            let again = advise(&without);
            let mut changes = again.iter().flat_map(|finding| &finding.changes);
            assert!(changes.all(|c| c.variable != change.variable), "{rule}");
        }
    }
    insta::assert_snapshot!(seen.join("\n"));
}

/// Where a value is as large as a rule makes it, the rule has nothing to say.
#[test]
fn no_rule_proposes_what_is() {
    for already in [
        [("innodb_log_buffer_size", "268435456"), ("Innodb_log_waits", "3")],
        [("table_open_cache", "400"), ("Opened_tables", "20")],
    ] {
        let mut snapshot = with(&already);
        // Room for files of 400 tables.
        snapshot.variables.insert("open_files_limit".to_owned(), "500".to_owned());
        let findings = advise(&snapshot);
        assert!(findings.is_empty(), "{findings:#?}");
    }
}

#[test]
fn a_hash_index_is_told_with_changes_only_where_there_are_any() {
    let seen = |inserted: &str| {
        let none = [("Innodb_rows_updated", "0"), ("Innodb_rows_deleted", "0")];
        let on = [("innodb_adaptive_hash_index", "ON"), ("Innodb_rows_inserted", inserted)];
        one(&with(&[&none[..], &on].concat()), "adaptive-hash-index").seen
    };
    assert_eq!(seen("0"), "innodb_adaptive_hash_index is on");
    assert!(seen("7").ends_with("and 7 rows change a second"), "{}", seen("7"));
}

#[test]
fn each_rule_has_a_case() {
    for (_, rule) in all() {
        let has = CASES.iter().any(|(name, ..)| *name == rule.name);
        assert!(has != CASES_BELOW.contains(&rule.name), "{}", rule.name);
    }
}

#[test]
fn lines_and_statements_are_those_of_the_server() {
    let finding = one(&with(&[("innodb_log_file_size", "50331648")]), "redo-size");
    assert_eq!(finding.option_lines, ["innodb_log_file_size = 4G"]);
    assert!(finding.restart_needed && finding.statements.is_empty());
    let finding = one(&with(&[("innodb_flush_neighbors", "1")]), "flush-neighbors");
    assert_eq!(finding.statements, ["SET GLOBAL innodb_flush_neighbors = 0;"]);
    assert!(!finding.restart_needed);
    let finding = one(&with(&[("innodb_change_buffering", "all")]), "change-buffering");
    assert_eq!(finding.statements, ["SET GLOBAL innodb_change_buffering = 'none';"]);

    let mut newer = with(&[]);
    newer.server.family = ServerFamily::Mysql;
    newer.server.version = (9, 7, 4);
    for gone in ["innodb_log_file_size", "innodb_log_files_in_group"] {
        newer.variables.remove(gone);
    }
    newer.variables.insert("innodb_redo_log_capacity".to_owned(), "104857600".to_owned());
    let finding = one(&newer, "redo-size");
    assert_eq!(finding.statements, ["SET GLOBAL innodb_redo_log_capacity = 12884901888;"]);
    assert_eq!(finding.option_lines, ["innodb_redo_log_capacity = 12G"]);
    assert_eq!(finding.gain, Gain::Large);
}

#[test]
fn durability_is_given_up_only_with_what_is_lost() {
    let mut waits = sound();
    waits.account = Some(account(Part::Log, 0.5));
    let finding = one(&waits, "flush-every-second");
    assert_eq!(set(&finding), ["innodb_flush_log_at_trx_commit=2"]);
    let [Risk::Durability(lost)] = finding.risks.as_slice() else { panic!("{finding:#?}") };
    assert!(lost.contains("last second"), "{lost}");
}

#[test]
fn buffered_data_is_moved_into_the_pool() {
    let small = [("innodb_flush_method", "fsync"), ("innodb_buffer_pool_size", "3221225472")];
    let snapshot = with(&small);
    let findings = advise(&snapshot);
    let by = |rule: &str| findings.iter().find(|finding| finding.rule == rule).unwrap();
    assert_eq!(
        set(by("flush-method")),
        ["innodb_flush_method=O_DIRECT", "innodb_buffer_pool_size=12884901888"]
    );
    let size = by("pool-size");
    assert!(size.seen.contains("page cache"), "{}", size.seen);
    assert_eq!(size.gain, Gain::Some);

    let mut newer = sound();
    newer.server.family = ServerFamily::MariaDb;
    newer.server.version = (11, 8, 9);
    newer.variables.insert("innodb_data_file_buffering".to_owned(), "ON".to_owned());
    let finding = one(&newer, "flush-method");
    assert_eq!(finding.statements, ["SET GLOBAL innodb_data_file_buffering = 'OFF';"]);
}

#[test]
fn a_disk_is_advised_otherwise() {
    let mut disk = with(&[("innodb_flush_neighbors", "0"), ("innodb_change_buffering", "all")]);
    disk.device = Some(AdvisedDevice {
        name: "hdd-15k".to_owned(),
        is_disk: true,
        random_read_iops: Some(200.0),
        random_write_iops: Some(200.0),
    });
    disk.redo_is_apart = Some(false);
    let findings = advise(&disk);
    let found: Vec<(&str, Vec<String>)> = findings.iter().map(|f| (f.rule, set(f))).collect();
    let to = |changes: &[&str]| changes.iter().map(|c| (*c).to_owned()).collect::<Vec<_>>();
    assert_eq!(
        found,
        [
            ("log-apart", to(&[])),
            ("io-capacity", to(&["innodb_io_capacity=100", "innodb_io_capacity_max=200"])),
            ("flush-neighbors", to(&["innodb_flush_neighbors=1"])),
        ]
    );
}

#[test]
fn the_system_is_looked_at() {
    let machine = |change: &dyn Fn(&mut ServerMachine)| {
        let mut snapshot = sound();
        change(snapshot.machine.as_mut().unwrap());
        snapshot
    };
    let huge = machine(&|m| m.transparent_huge_pages = Some("always".to_owned()));
    one(&huge, "transparent-huge-pages");
    let swappiness = one(&machine(&|m| m.swappiness = Some(60)), "swappiness");
    assert_eq!(swappiness.seen, "vm.swappiness is 60, the pool has 67 % of memory");
    let files = |change: &dyn Fn(&mut MountedFileSystem)| {
        machine(&|m| change(m.file_system.as_mut().unwrap()))
    };
    one(&files(&|f| f.scheduler = Some("bfq".to_owned())), "io-scheduler");
    let without = one(&files(&|f| f.options.push("nobarrier".to_owned())), "mount-options");
    assert_eq!(without.gain, Gain::Safety);
    one(&files(&|f| f.options = vec!["rw".to_owned()]), "mount-options");
    let mut waits = sound();
    waits.account = Some(account(Part::Reads, 0.6));
    one(&waits, "page-size");
}

/// A server of another machine, of which only its own words are known.
#[test]
fn threads_of_sessions_that_all_come_at_once_need_no_cache() {
    let first_ones = [("Threads_created", "9"), ("Max_used_connections", "1090")];
    assert!(advise(&with(&first_ones)).iter().all(|finding| finding.rule != "thread-cache"));
}

#[test]
fn what_is_not_known_is_not_judged() {
    let far = ServerSnapshot {
        machine: None,
        device: None,
        redo_is_apart: None,
        data_bytes: None,
        watch: StatusWatch::default(),
        variables: NamedValues::new(),
        ..sound()
    };
    assert!(advise(&far).is_empty());
}

#[test]
fn a_release_takes_what_the_manual_says() {
    let is_dynamic = |name, family, version| {
        let mut variables = all().flat_map(|(_, rule)| rule.variables);
        let found = variables.find(|variable| variable.name == name).unwrap();
        ServerRelease { family, version }.has(found.dynamic)
    };
    let pool = |family, version| is_dynamic("innodb_buffer_pool_size", family, version);
    assert!(!pool(ServerFamily::Mysql, (5, 6, 40)));
    assert!(pool(ServerFamily::Mysql, (5, 7, 22)));
    assert!(!pool(ServerFamily::MariaDb, (10, 1, 13)));
    assert!(!is_dynamic("innodb_flush_method", ServerFamily::Mysql, (9, 7, 0)));
    assert!(!is_dynamic("innodb_log_file_size", ServerFamily::Mysql, (8, 0, 15)));
    assert!(is_dynamic("innodb_log_file_size", ServerFamily::MariaDb, (10, 11, 0)));
}
