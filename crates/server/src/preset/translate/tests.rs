use super::{Fate, Translated, VariableFate};
use crate::ServerBuild;
use crate::preset::tests::build;
use crate::preset::{PresetScale, find, names};
use base::{ServerFamily, VersionNumbers, Warehouses, parse_size};
use std::collections::BTreeSet;

const ALL: [(&str, ServerFamily, VersionNumbers); 14] = [
    ("mysql-5.7", ServerFamily::Mysql, (5, 7, 22)),
    ("mysql-8.0", ServerFamily::Mysql, (8, 0, 15)),
    ("mysql-8.0", ServerFamily::Mysql, (8, 0, 30)),
    ("mysql-8.4", ServerFamily::Mysql, (8, 4, 0)),
    ("mysql-9.7", ServerFamily::Mysql, (9, 7, 4)),
    ("percona-5.7", ServerFamily::Percona, (5, 7, 44)),
    ("percona-8.0", ServerFamily::Percona, (8, 0, 35)),
    ("percona-8.4", ServerFamily::Percona, (8, 4, 0)),
    ("xtradb-5.6", ServerFamily::MariaDb, (10, 1, 13)),
    ("mariadb-10.5", ServerFamily::MariaDb, (10, 5, 0)),
    ("mariadb-10.11", ServerFamily::MariaDb, (10, 11, 19)),
    ("mariadb-11.4", ServerFamily::MariaDb, (11, 4, 5)),
    ("mariadb-11.8", ServerFamily::MariaDb, (11, 8, 6)),
    ("mariadb-12.3", ServerFamily::MariaDb, (12, 3, 1)),
];

fn server(engine: &str) -> ServerBuild {
    let known = ALL.iter().rev().find(|(name, ..)| *name == engine);
    let (name, family, version) = known.unwrap();
    build(name, *family, *version)
}

fn to(warehouses: u32) -> PresetScale {
    PresetScale::To { warehouses: Warehouses(warehouses), of: Warehouses(1_000) }
}

fn translate(
    preset: &str,
    server: &ServerBuild,
    scale: PresetScale,
    set: &[(&str, &str)],
) -> Translated {
    let set: Vec<(String, String)> =
        set.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    find(preset).unwrap().translate(server, scale, &set, None)
}

fn fate<'a>(translated: &'a Translated, variable: &str) -> &'a VariableFate {
    let mut fates = translated.fates.iter();
    fates.find(|one| one.variable == variable).unwrap()
}

/// The value of a line that is set.
fn line<'a>(translated: &'a Translated, name: &str) -> Option<&'a str> {
    let mut lines = translated.set.iter();
    lines.find(|(n, _)| n == name).map(|(_, value)| value.as_str())
}

#[test]
fn every_variable_has_a_fate_and_every_line_a_variable() {
    for (engine, family, version) in ALL {
        let server = build(engine, family, version);
        for preset in names() {
            for scale in [PresetScale::Papers, to(1), to(10), to(60), to(500), to(2_000)] {
                let translated = translate(preset, &server, scale, &[]);
                let asked = find(preset).unwrap().variables().count();
                let added = |one: &&VariableFate| one.fate != Fate::Added;
                assert_eq!(translated.fates.iter().filter(added).count(), asked);
                let names: BTreeSet<&String> = translated.set.iter().map(|(n, _)| n).collect();
                assert_eq!(names.len(), translated.set.len(), "{engine} {preset}");
                for one in &translated.fates {
                    let is_set = one.became.as_ref().is_some_and(|l| translated.set.contains(l));
                    let is_none = matches!(one.fate, Fate::Unknown | Fate::Placed)
                        || (one.fate == Fate::Kept && one.asked.is_empty());
                    assert_eq!(is_set, !is_none, "{engine} {preset} {one:?}");
                    let is_plain = matches!(one.fate, Fate::Kept | Fate::Renamed);
                    assert!(is_plain || one.reason.is_some(), "{engine} {preset} {one:?}");
                }
            }
        }
    }
}

#[test]
fn redo_is_the_same_on_every_engine() {
    for (engine, family, version) in ALL {
        let server = build(engine, family, version);
        for (preset, scale, bytes) in [
            ("config-1", PresetScale::Papers, 144 << 20),
            ("config-2", PresetScale::Papers, 3 << 30),
            ("config-1", to(10), 12 << 20),
            ("config-3", to(10), 30 << 20),
            ("config-a", to(100), 306 << 20),
        ] {
            let translated = translate(preset, &server, scale, &[]);
            let redo = crate::redo_bytes(&server, &translated.set);
            assert_eq!(redo, bytes, "{engine} {version:?} {preset} {scale:?}");
        }
    }
    let folded = translate("config-2", &server("mysql-8.4"), PresetScale::Papers, &[]);
    assert_eq!(line(&folded, "innodb_redo_log_capacity"), Some("3G"));
    assert_eq!(line(&folded, "innodb_log_file_size"), None);
    for variable in ["innodb_log_file_size", "innodb_log_files_in_group"] {
        assert_eq!(fate(&folded, variable).fate, Fate::Folded);
    }
    let one_file = translate("config-1", &server("mariadb-10.11"), PresetScale::Papers, &[]);
    assert_eq!(line(&one_file, "innodb_log_file_size"), Some("144M"));
    assert_eq!(line(&one_file, "innodb_log_files_in_group"), None);
}

#[test]
fn pools_keep_their_proportion_and_are_not_rounded_by_servers() {
    for (warehouses, size, instances) in [
        (1, "12M", Some("1")),
        (10, "123M", Some("1")),
        (60, "737M", Some("1")),
        (200, "2464M", Some("32")),
        (1_000, "12G", Some("32")),
    ] {
        let server = server("mysql-5.7");
        let translated = translate("config-3", &server, to(warehouses), &[]);
        assert_eq!(line(&translated, "innodb_buffer_pool_size"), Some(size));
        assert_eq!(line(&translated, "innodb_buffer_pool_instances"), instances);
        assert_eq!(line(&translated, "innodb_page_cleaners"), instances);
        let bytes = |name| line(&translated, name).and_then(parse_size);
        let pool = bytes("innodb_buffer_pool_size").unwrap();
        let instances: u64 = instances.unwrap().parse().unwrap();
        let default = (128 << 20).min(pool / instances);
        let chunk = bytes("innodb_buffer_pool_chunk_size").unwrap_or(default);
        assert_eq!(pool % (chunk * instances), 0, "{warehouses}");
    }
    let tiny = translate("config-1", &server("mysql-5.7"), to(1), &[]);
    assert_eq!(line(&tiny, "innodb_buffer_pool_size"), Some("6M"));
    assert_eq!(fate(&tiny, "innodb_buffer_pool_size").fate, Fate::Clamped);
    let as_they_are = translate("config-1", &server("mysql-8.0"), PresetScale::Papers, &[]);
    assert_eq!(fate(&as_they_are, "innodb_buffer_pool_size").fate, Fate::Kept);
    assert!(as_they_are.fates.iter().all(|one| one.fate != Fate::Added));
}

#[test]
fn sizes_are_those_of_the_database_that_a_preset_was_measured_with() {
    let server = server("mysql-5.7");
    let pool = |preset| {
        let scale = find(preset).unwrap().scale_to(Warehouses(20));
        let translated = translate(preset, &server, scale, &[]);
        line(&translated, "innodb_buffer_pool_size").unwrap_or_default().to_owned()
    };
    let presets = ["config-1", "config-2", "config-3", "config-a"];
    assert_eq!(presets.map(pool), ["61M", "61M", "492M", "492M"]);
    assert_eq!(find("config-3").unwrap().database_bytes(), Some(50_000_000_000));
    assert_eq!(find("default").unwrap().database_bytes(), None);
}

#[test]
fn what_a_server_does_not_have_is_left_out_and_said() {
    for (engine, variable, fate_there) in [
        ("mysql-5.7", "query_cache_size", Fate::Kept),
        ("mysql-8.4", "query_cache_size", Fate::Unknown),
        ("mariadb-10.11", "query_cache_size", Fate::Kept),
        ("mariadb-10.11", "log_timestamps", Fate::Unknown),
        ("mariadb-10.11", "innodb_thread_concurrency", Fate::Unknown),
        ("mariadb-10.5", "innodb_thread_concurrency", Fate::Kept),
        ("mariadb-10.11", "innodb_page_cleaners", Fate::Unknown),
        ("xtradb-5.6", "innodb_page_cleaners", Fate::Unknown),
        ("xtradb-5.6", "innodb_fill_factor", Fate::Unknown),
        ("xtradb-5.6", "table_open_cache_instances", Fate::Unknown),
        ("xtradb-5.6", "innodb_corrupt_table_action", Fate::Kept),
        ("percona-8.0", "innodb_corrupt_table_action", Fate::Kept),
        ("percona-8.0", "innodb_show_verbose_locks", Fate::Unknown),
        ("percona-5.7", "innodb_show_verbose_locks", Fate::Kept),
        ("percona-5.7", "innodb_kill_idle_transaction", Fate::Kept),
        ("percona-8.0", "innodb_kill_idle_transaction", Fate::Renamed),
        ("mysql-9.7", "innodb_corrupt_table_action", Fate::Unknown),
        ("mariadb-11.8", "query_cache_strip_comments", Fate::Kept),
        ("percona-5.7", "innodb_parallel_doublewrite_path", Fate::Placed),
        ("mysql-9.7", "innodb_monitor_enable", Fate::Kept),
    ] {
        let translated = translate("config-a", &server(engine), PresetScale::Papers, &[]);
        assert_eq!(fate(&translated, variable).fate, fate_there, "{engine} {variable}");
    }
    let renamed = translate("config-a", &server("percona-8.0"), PresetScale::Papers, &[]);
    assert_eq!(line(&renamed, "kill_idle_transaction"), Some("0"));
    let mysql = translate("config-a", &server("mysql-8.4"), PresetScale::Papers, &[]);
    let reason = fate(&mysql, "max_slowlog_size").reason.as_deref();
    assert_eq!(reason, Some("Percona Server's own: its size is not limited, as 0 asks"));
}

#[test]
fn values_that_a_server_does_not_take() {
    let of = |preset, engine, variable: &str| {
        let translated = translate(preset, &server(engine), to(10), &[]);
        let one = fate(&translated, variable);
        (one.fate, one.became.as_ref().map(|(_, value)| value.clone()))
    };
    let checksum = "innodb_checksum_algorithm";
    assert_eq!(of("config-1", "mariadb-10.11", checksum), (Fate::Unknown, None));
    let kept = |value: &str| (Fate::Kept, Some(value.to_owned()));
    assert_eq!(of("config-1", "mysql-8.4", checksum), kept("NONE"));
    assert_eq!(of("config-a", "mariadb-10.11", checksum), kept("crc32"));
    let clamped = |value: &str| (Fate::Clamped, Some(value.to_owned()));
    let delay = "innodb_max_purge_lag_delay";
    assert_eq!(of("config-1", "mysql-5.7", delay), clamped("10000000"));
    assert_eq!(of("config-a", "mysql-5.7", delay), kept("0"));
    let free_list = "innodb_empty_free_list_algorithm";
    assert_eq!(of("config-a", "percona-8.0", free_list), kept("backoff"));
    let one = translate("config-a", &server("percona-8.0"), to(1), &[]);
    assert_eq!(line(&one, free_list), Some("legacy"));
}

#[test]
fn the_user_wins() {
    let server = server("mysql-8.4");
    let set = [
        ("innodb-io-capacity", "2000"),
        ("innodb_log_file_size", "64M"),
        ("innodb_buffer_pool_size", "2G"),
        ("innodb_monitor_enable", "all"),
        ("loose_back_log", "70"),
    ];
    let translated = translate("config-1", &server, to(10), &set);
    for variable in [
        "innodb_io_capacity",
        "innodb_log_file_size",
        "innodb_log_files_in_group",
        "innodb_buffer_pool_size",
        "innodb_monitor_enable",
        "back_log",
    ] {
        let one = fate(&translated, variable);
        assert_eq!(one.fate, Fate::Overridden, "{variable}");
        assert!(one.became.is_some(), "{variable}");
    }
    for name in ["innodb_io_capacity", "innodb_redo_log_capacity", "back_log"] {
        assert_eq!(line(&translated, name), None, "{name}");
    }
    // They follow the pool that there will be.
    assert_eq!(line(&translated, "innodb_buffer_pool_instances"), Some("32"));
    assert_eq!(line(&translated, "innodb_page_cleaners"), Some("32"));
    let note = translated.note().unwrap();
    assert!(note.contains("set otherwise"), "{note}");
    assert!(note.contains("innodb_io_capacity 300000 to 2000"), "{note}");
}

#[test]
fn one_note_tells_what_is_not_as_asked() {
    let server = server("mariadb-10.11");
    let note = translate("config-1", &server, to(10), &[]).note().unwrap();
    for words in [
        "preset config-1, sizes for 10 of 1,000 warehouses: ",
        "scaled innodb_buffer_pool_size 3G to 31M",
        "folded innodb_log_files_in_group 3 into innodb_log_file_size=12M",
        "clamped innodb_max_purge_lag_delay 30000000 to 10000000",
        "unknown here innodb_buffer_pool_instances, ",
        "left to places (--redo, --undo, --temp, ...) 5 paths",
    ] {
        assert!(note.contains(words), "{words:?} in {note}");
    }
    assert!(!note.contains("innodb_io_capacity"), "{note}");
    let own = translate("config-a", &server, to(10), &[]).note().unwrap();
    assert!(own.contains(", 13 of Percona Server's own"), "{own}");
    let nothing = translate("default", &server, to(10), &[]);
    assert_eq!((nothing.note(), nothing.set.len()), (None, 0));
}
