//! The presets are sound, and `docs/presets.md` is made from them and their translation. Where it
//! is not what they say, this test fails; `INSTA_UPDATE=always` writes it anew, as it does
//! snapshots.

use super::{DATA, Fate, PresetScale, find, names};
use crate::ServerBuild;
use base::{ServerFamily, ServerRelease, VersionNumbers};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

/// The servers of the second table. Those of `server install` are started with each preset in the
/// tests.
const SERVERS: [(&str, &str, ServerFamily, VersionNumbers); 10] = [
    ("MySQL 5.7", "mysql-5.7", ServerFamily::Mysql, (5, 7, 22)),
    ("MySQL 8.0.15", "mysql-8.0", ServerFamily::Mysql, (8, 0, 15)),
    ("MySQL 8.0.30", "mysql-8.0", ServerFamily::Mysql, (8, 0, 30)),
    ("MySQL 8.4", "mysql-8.4", ServerFamily::Mysql, (8, 4, 0)),
    ("MySQL 9.7", "mysql-9.7", ServerFamily::Mysql, (9, 7, 4)),
    ("Percona 5.7", "percona-5.7", ServerFamily::Percona, (5, 7, 44)),
    ("Percona 8.0", "percona-8.0", ServerFamily::Percona, (8, 0, 35)),
    ("XtraDB 5.6", "xtradb-5.6", ServerFamily::MariaDb, (10, 1, 13)),
    ("MariaDB 10.11", "mariadb-10.11", ServerFamily::MariaDb, (10, 11, 19)),
    ("MariaDB 11.8", "mariadb-11.8", ServerFamily::MariaDb, (11, 8, 6)),
];

/// A build as far as presets go.
pub(super) fn build(engine: &str, family: ServerFamily, version: VersionNumbers) -> ServerBuild {
    ServerBuild {
        engine: engine.to_owned(),
        release: ServerRelease { family, version },
        version: String::new(),
        binary: "/x/bin/mysqld".into(),
        basedir: "/x".into(),
        library_path: None,
        origin: String::new(),
    }
}

fn code(text: &str) -> String {
    format!("`{text}`")
}

/// The papers' values: a cell is empty where it has that of the column to its left.
fn values() -> String {
    let columns: Vec<&str> = names().into_iter().skip(1).collect();
    let mut out = format!("| variable | {} |\n", columns.join(" | "));
    let _ = writeln!(out, "|---|{}", "---|".repeat(columns.len()));
    for variable in &DATA.variable {
        let value = |column: &&str| match variable.values.get(*column).map(String::as_str) {
            Some("") => "(empty)".to_owned(),
            Some(value) => code(value),
            None => String::new(),
        };
        let cells: Vec<String> = columns.iter().map(value).collect();
        let _ = writeln!(out, "| `{}` | {} |", variable.name, cells.join(" | "));
    }
    out
}

/// What becomes of a variable on that server at the papers' sizes: once, or by value where presets
/// differ in it.
fn fate(variable: &str, server: &ServerBuild) -> String {
    let mut words: Vec<String> = Vec::new();
    for name in names() {
        let preset = find(name).unwrap_or_else(|error| panic!("{error}"));
        let translated = preset.translate(server, PresetScale::Papers, &[], None);
        let mut fates = translated.fates.iter();
        let Some(one) = fates.find(|one| one.variable == variable) else {
            continue;
        };
        let fate = one.fate.name();
        let text = match (&one.became, one.fate) {
            (Some((name, _)), Fate::Renamed | Fate::Folded) => format!("{fate} into `{name}`"),
            (Some((_, value)), Fate::Clamped) => format!("{} {fate} to {value}", one.asked),
            (None, Fate::Unknown) if one.asked == "NONE" => format!("{} {fate}", one.asked),
            _ => fate.to_owned(),
        };
        if !words.contains(&text) {
            words.push(text);
        }
    }
    words.join(", else ")
}

fn fates() -> String {
    let titles: Vec<&str> = SERVERS.iter().map(|(title, ..)| *title).collect();
    let mut out = format!("| variable | {} |\n", titles.join(" | "));
    let _ = writeln!(out, "|---|{}", "---|".repeat(titles.len()));
    for variable in &DATA.variable {
        let cells: Vec<String> = SERVERS
            .iter()
            .map(|(_, engine, family, numbers)| {
                fate(&variable.name, &build(engine, *family, *numbers))
            })
            .collect();
        let _ = writeln!(out, "| `{}` | {} |", variable.name, cells.join(" | "));
    }
    out
}

fn without() -> String {
    let mut out = String::from("| variable | without it |\n|---|---|\n");
    for variable in &DATA.variable {
        if let Some(without) = &variable.without {
            let _ = writeln!(out, "| `{}` | {without} |", variable.name);
        }
    }
    out
}

fn page() -> String {
    let mut presets = String::new();
    for preset in &DATA.preset {
        let _ = writeln!(presets, "- `{}`: {}.", preset.name, preset.about);
    }
    let text = format!(
        "# Presets\n\n\
        <!-- Made by `INSTA_UPDATE=always cargo test -p server --lib preset::tests` from \
        crates/server/src/preset. -->\n\n\
        The server configurations of the white papers, by name:\n\n\
        \x20   mydyno run --engine mysql-8.0 -w 10 -c 32 --preset config-3\n\
        \x20   mydyno server start --engine mysql-8.0 --preset config-3 --scale 10\n\n\
        {presets}\n\
        They are written once, in the papers' names, and translated for the server that is \
        started. A variable of `--set` wins. What became of each variable is told in one note, and \
        stored: `preset` of `mydyno run --json`, the tables `cell_preset` and `preset_variable` of \
        the [results file](results-file.md), and the report. Where the machine cannot do what a \
        preset asks for, and that shows at the start only (no `O_DIRECT` on the file system, no \
        asynchronous I/O left, or too few open files where the server's log tells), a note of its \
        own says so.\n\n\
        ## Sizes\n\n\
        The papers' buffer pool and redo belong to databases of 500 and 1,000 warehouses (50 and \
        100 GB): `config-1` and `config-2` were measured with 1,000 in figures 1 and 2, `config-3` \
        and `config-a` with 500. `--scale auto` keeps their proportion to the warehouses of the \
        run, in whole MiB. `innodb_io_capacity` is a rate and no size, and stays: pages that are \
        flushed for an order are its share of a throughput that no scale makes less. With 12,000 \
        for 20 warehouses in place of 300,000, the emulated SAS drive wrote 8 pages for an order \
        and did 169,000 NOPM at K = 12; with 300,000 it wrote 20 and did 70,000, where the papers \
        have 18.5 and 73,000. Figure 3 compares `config-1` and `config-3` with 500 \
        warehouses both: `--scale \"of 500\"`. A pool is never smaller than \
        6M and a redo file never smaller than 4M, which are the least that servers take: below \
        some 80 warehouses the redo of `config-1` is more than its share. A pool below 1G is one \
        instance, so page cleaners are one too. `--scale papers` takes the sizes as they are, \
        `--scale 500` makes them for so many warehouses.\n\n\
        `--used auto` has each emulated device hold as much as the papers' database took of it \
        (50 GB of a PM1725 are 3 %): a database in proportion stands for that one, on a device in \
        the same proportion.\n\n\
        Nothing is adapted to the number of cores. `innodb_spin_wait_delay` of `config-1`, `-2` \
        and `-3` is for the papers' 112 hardware threads: with 2 cores and 32 connections, MySQL \
        5.7 spent 69 % of its CPU time spinning in `ut_delay`, and config-1 on an emulated PM1725 \
        gave half of what it gave with the servers' own default. Add `--set \
        innodb_spin_wait_delay=6` on such a machine; the plans for a laptop have it.\n\n\
        ## Places\n\n\
        The papers had data on one device (`DATA`) and redo, undo and temporary tables on a second \
        (`LOG`), `config-a` also temporary files and the doublewrite buffer. No preset sets a \
        path: `--data PLACE --redo PLACE --undo PLACE --temp PLACE --doublewrite PLACE` do.\n\n\
        ## The papers' values\n\n\
        As in the papers, a value stands where it differs from the column to its left. \
        `innodb_flush_method` is the papers' \"default\", which was `fsync` on their servers and \
        is another one on others. `config-a` is #A of the papers; #6 differs in \
        `table_open_cache_instances` (64), `innodb_log_file_size` (10G) and \
        `innodb_use_native_aio` (OFF).\n\n\
        {values}\n\
        ## What becomes of them\n\n\
        Fates: kept; renamed; folded into another variable; clamped to what the server takes; \
        placed (`--data`, `--redo`, ...); unknown to this server, and left out. At other sizes \
        than the papers' also: scaled; added (`innodb_buffer_pool_chunk_size`, where servers would \
        round the pool up); and overridden (by `--set`, a plan's `set`, or for the number of \
        connections). MySQL 5.7, 8.0.15 and 9.7, XtraDB and MariaDB are servers that tests start \
        with each preset, comparing SHOW GLOBAL VARIABLES with what was set; the others follow the \
        servers' documentation.\n\n\
        {fates}\n\
        What holds on servers that do not have a variable, where that is not plain:\n\n\
        {without}",
        values = values(),
        fates = fates(),
        without = without(),
    );
    text.lines().map(wrapped).collect()
}

/// A line of Markdown in lines of at most 100 columns, where it is one of a paragraph.
fn wrapped(line: &str) -> String {
    if !line.starts_with(|first: char| first.is_alphanumeric() || first == '`') {
        return format!("{line}\n");
    }
    let mut out = String::new();
    let mut length = 0;
    for word in line.split(' ') {
        let is_full = length + 1 + word.len() > 100;
        if !out.is_empty() {
            out.push(if is_full { '\n' } else { ' ' });
        }
        length = if is_full { word.len() } else { length + 1 + word.len() };
        out.push_str(word);
    }
    out + "\n"
}

#[test]
fn the_page_says_what_the_presets_say() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/presets.md");
    let page = page();
    if std::env::var("INSTA_UPDATE").is_ok_and(|mode| mode == "always") {
        std::fs::write(&path, &page).expect("docs are in the same checkout");
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == page,
        "docs/presets.md is not what the presets say: run this test with INSTA_UPDATE=always"
    );
}

#[test]
fn the_presets_are_sound() {
    assert_eq!(names(), ["default", "config-1", "config-2", "config-3", "config-a"]);
    let mut seen = BTreeSet::new();
    for variable in &DATA.variable {
        let name = &variable.name;
        assert!(seen.insert(name), "{name} stands twice");
        assert!(!variable.values.is_empty(), "{name}");
        for preset in variable.values.keys() {
            assert!(find(preset).is_ok(), "{name}: {preset}");
        }
        if let Some(role) = &variable.role {
            let roles = ["data", "redo", "undo", "temp", "doublewrite"];
            assert!(roles.contains(&role.as_str()), "{name}: {role}");
        }
    }
}

#[test]
fn a_value_stands_until_the_next_column() {
    let of = |preset: &str, variable: &str| {
        let mut variables = find(preset).unwrap().variables();
        let found = variables.find(|(known, _)| known.name == variable);
        found.map(|(_, value)| value)
    };
    for (variable, values) in [
        ("innodb_buffer_pool_size", ["3G", "3G", "12G", "12G"]),
        ("innodb_flush_method", ["fsync", "O_DIRECT", "O_DIRECT", "O_DIRECT"]),
        ("innodb_log_file_size", ["48M", "1G", "1G", "1G"]),
        ("innodb_io_capacity", ["300000", "300000", "300000", "15000"]),
    ] {
        let presets = ["config-1", "config-2", "config-3", "config-a"];
        assert_eq!(presets.map(|preset| of(preset, variable)), values.map(Some));
    }
    assert_eq!(of("config-3", "innodb_corrupt_table_action"), None);
    assert!(find("default").unwrap().is_empty());
    assert_eq!(find("config-1").unwrap().variables().count(), 39);
    assert_eq!(find("config-a").unwrap().variables().count(), 54);
}

#[test]
fn a_wrong_name_suggests_the_right_one() {
    let text = find("config3").unwrap_err().to_string();
    assert!(text.contains("did you mean `config-3`"), "{text}");
    assert!(text.contains("default, config-1"), "{text}");
    let text = find("best-practices").unwrap_err().to_string();
    assert!(!text.contains("did you mean"), "{text}");
}
