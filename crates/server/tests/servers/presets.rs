//! Each engine with each preset: what SHOW GLOBAL VARIABLES says is what the translation set, and
//! the server's log has no complaint of a variable.

use crate::{SOME_ENGINES, STOP_TIMEOUT, build, own_home, query, start_named};
use base::{Warehouses, parse_size};
use server::preset::{Fate, Translated, find};
use server::{AfterStop, Home, Instance, InstanceOptions, stop_named};
use std::collections::BTreeMap;

/// Presets and warehouses: small pools, the smallest, those with all instances, and those that are
/// no multiple of their chunks, of one instance and of several.
const STARTS: [(&str, u32); 9] = [
    ("default", 10),
    ("config-1", 1),
    ("config-1", 10),
    ("config-1", 400),
    ("config-2", 10),
    ("config-3", 60),
    ("config-a", 1),
    ("config-a", 10),
    ("config-a", 100),
];

/// Of them, those that differ most.
const DIFFERENT: [(&str, u32); 3] = [STARTS[2], STARTS[5], STARTS[8]];

fn presets_that_differ_most(engine: &str) {
    every_preset(engine, &DIFFERENT);
}

engines! {
    presets_that_differ_most;
    test: mysql_5_7, mysql_8_0, mariadb_10_11, xtradb_5_6;
    others: soak;
}

#[test]
#[ignore = "make soak"]
fn every_preset_at_every_scale() {
    for engine in SOME_ENGINES {
        every_preset(engine, &STARTS);
    }
}

/// One data directory for all: to initialise one takes longer than to start on it.
fn every_preset(engine: &str, starts: &[(&str, u32)]) {
    let build = build(engine);
    let (_temp, home) = own_home();
    let _ended = Ended(&home);
    for &(preset, warehouses) in starts {
        let named = find(preset).unwrap();
        let scale = named.scale_to(Warehouses(warehouses));
        let translated = named.translate(&build, scale, &[], None);
        let options =
            InstanceOptions { preset: translated.set.clone(), ..InstanceOptions::default() };
        let started = start_named(&home, &build, "presets", options);
        let server = started.unwrap_or_else(|error| panic!("{engine} {preset}: {error}"));
        what_was_set_is_what_there_is(&server, &translated);
        nothing_is_complained_of(&server, preset);
        drop(server);
        let ended = stop_named(&home, "presets", STOP_TIMEOUT, AfterStop::KeepData, |_| {});
        assert_eq!(ended.unwrap(), server::Ending::Clean, "{engine} {preset}");
    }
}

/// Ends the server of a test that fails too.
struct Ended<'a>(&'a Home);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        let _ = stop_named(self.0, "presets", STOP_TIMEOUT, AfterStop::RemoveData, |_| {});
    }
}

/// A value in the one form that servers' and papers' ways to write it have in common.
fn plain(value: &str) -> String {
    let lower = value.trim().to_ascii_lowercase();
    match (lower.as_str(), parse_size(&lower), lower.parse::<f64>()) {
        ("on", ..) => "1".to_owned(),
        ("off", ..) => "0".to_owned(),
        (_, Some(bytes), _) => bytes.to_string(),
        (_, _, Ok(number)) => number.to_string(),
        _ => lower,
    }
}

fn what_was_set_is_what_there_is(server: &Instance, translated: &Translated) {
    let rows = query(&server.connect_options(), "SHOW GLOBAL VARIABLES");
    let there: BTreeMap<&str, &str> = rows.iter().filter_map(|row| row.split_once('|')).collect();
    let number = |name| there.get(name).and_then(|value| value.parse::<u64>().ok());
    // Where a process may open fewer files than connections and tables take, the server lowers what
    // it was told. MariaDB counts two for each table in each instance of the table cache.
    let needed_files = 4_000 + 2 * 8_000 * 16 + 100;
    let limited = number("open_files_limit").is_some_and(|files| files < needed_files);
    let preset = &translated.preset;
    for (name, value) in &translated.set {
        let is = there
            .get(name.as_str())
            .unwrap_or_else(|| panic!("{preset}: {name} is set and not there"));
        let of_files = [
            "table_open_cache",
            "table_open_cache_instances",
            "max_connections",
            "innodb_open_files",
        ];
        if limited && of_files.contains(&name.as_str()) {
            assert!(parse_size(is) <= parse_size(value), "{preset}: {name} is {is}");
        } else {
            assert_eq!(plain(is), plain(value), "{preset}: {name}");
        }
    }
    for one in &translated.fates {
        match one.fate {
            // A value that is not known does not make its variable unknown.
            Fate::Unknown if one.asked != "NONE" => {
                let name = one.variable.as_str();
                assert!(!there.contains_key(name), "{preset}: {name} is there");
            }
            Fate::Kept if one.became.is_none() => {
                assert_eq!(there.get(one.variable.as_str()), Some(&""), "{one:?}");
            }
            _ => {}
        }
    }
}

fn nothing_is_complained_of(server: &Instance, preset: &str) {
    // All of it: complaints of variables are among its first lines.
    let log = std::fs::read(server.directory().join("error.log")).unwrap();
    let log = String::from_utf8_lossy(&log);
    assert!(log.contains("ready for connections"), "{preset}: {log}");
    for complaint in [
        "unknown variable",
        "unknown option",
        "adjusted to",
        "adjusting innodb",
        "was removed",
        "does nothing",
    ] {
        let said = log.lines().find(|line| line.to_ascii_lowercase().contains(complaint));
        assert_eq!(said, None, "{preset}");
    }
}
