//! Presets on the command line: translated for the server, told, stored, shown, and refused where
//! they cannot be.

use crate::support::{
    ENGINES, assert_described, directory, install, list, mydyno, number, result, results, text,
};
use serde_json::Value;

/// One variable of the document's preset.
fn variable<'a>(summary: &'a Value, name: &str) -> &'a Value {
    let mut all = list(summary, "/preset/variables").iter();
    all.find(|one| one["variable"] == name)
        .unwrap_or_else(|| panic!("no {name} in {:#}", summary["preset"]))
}

fn has_note(summary: &Value, words: &[&str]) -> bool {
    let mut notes = list(summary, "/notes").iter().filter_map(Value::as_str);
    notes.any(|note| words.iter().all(|word| note.contains(word)))
}

#[test]
fn a_preset_is_translated_told_and_stored() {
    let work = directory();
    install(ENGINES[0]);
    let ran = mydyno(["run", "--engine", ENGINES[0], "-w", "1", "-c", "2"])
        .and_args(["--preset", "config-2", "--set", "innodb_io_capacity=2000"])
        .and_args(["--warmup", "0", "--window", "1s", "--json"])
        .in_directory(work.path())
        .run()
        .exits(0);
    let summary = ran.json();
    assert_described(&summary);
    assert_eq!(text(&summary, "/preset/name"), "config-2");
    assert_eq!(number(&summary, "/preset/scaled_to_warehouses"), 1);
    for (name, fate, became) in [
        ("innodb_buffer_pool_size", "clamped", "6M"),
        ("innodb_buffer_pool_instances", "clamped", "1"),
        ("innodb_log_file_size", "clamped", "4M"),
        ("innodb_flush_method", "kept", "O_DIRECT"),
        ("innodb_io_capacity", "overridden", "2000"),
    ] {
        let one = variable(&summary, name);
        assert_eq!((text(one, "/fate"), text(one, "/became_value")), (fate, became), "{name}");
    }
    assert_eq!(text(variable(&summary, "datadir"), "/fate"), "placed");
    let words = ["preset config-2", "innodb_io_capacity 300000 to 2000"];
    assert!(has_note(&summary, &words), "{:#}", summary["notes"]);

    let file = work.path().join("mydyno.db");
    assert_eq!(result(&file, "SELECT name FROM cell_preset"), "config-2");
    let setting = "SELECT value FROM cell_setting WHERE name = 'preset'";
    assert_eq!(result(&file, setting), "config-2");
    // What the translation set is what the server said at the start of the run.
    let kept = results(
        &file,
        "SELECT became_variable, became_value, value FROM preset_variable JOIN server_variable ON \
         name = became_variable AND phase = 'start' WHERE became_variable IN \
         ('innodb_io_capacity', 'innodb_log_files_in_group', 'innodb_flush_method', 'back_log')",
    );
    assert_eq!(kept.len(), 4);
    for row in &kept {
        assert_eq!(row[1], row[2], "{row:?}");
    }
    mydyno(["report", "-o", "r.html"]).in_directory(work.path()).run().exits(0);
    let page = std::fs::read_to_string(work.path().join("r.html")).unwrap();
    assert!(page.contains("Preset config-2"), "the report tells the preset");
}

#[test]
fn a_named_server_keeps_its_preset_for_results() {
    let work = directory();
    let engine = ENGINES[2];
    install(engine);
    let name = format!("preset-{}", std::process::id());
    let started = mydyno(["server", "start", "--engine", engine, "--name", &name, "--json"])
        .and_args(["--preset", "config-1", "--scale", "1", "-w", "1"])
        .run()
        .exits(0)
        .json();
    assert!(has_note(&started, &["preset config-1", "unknown here"]), "{started:#}");
    let dsn = text(&started, "/dsn");
    let summary = mydyno(["run", "--dsn", dsn, "-c", "2", "--warmup", "0", "--window", "1s"])
        .and_args(["--json"])
        .in_directory(work.path())
        .run()
        .exits(0)
        .json();
    assert_eq!(text(&summary, "/preset/name"), "config-1");
    let redo = variable(&summary, "innodb_log_files_in_group");
    assert_eq!(text(redo, "/became_variable"), "innodb_log_file_size");
    assert_eq!(text(redo, "/became_value"), "12M");
    assert!(has_note(&summary, &["preset config-1"]));
    mydyno(["server", "stop", &name, "--remove"]).run().exits(0);
}

#[test]
fn presets_that_cannot_be_are_refused() {
    let engine = ["--engine", ENGINES[0]];
    mydyno(["run"])
        .and_args(engine)
        .and_args(["--preset", "config3"])
        .run()
        .exits(2)
        .says(&["did you mean `config-3`"]);
    mydyno(["run", "--dsn", "mysql://me@h/s", "--preset", "config-3"])
        .run()
        .exits(2)
        .says(&["--preset: it is for servers that mydyno starts"]);
    mydyno(["run", "--scale", "papers"]).and_args(engine).run().exits(2).says(&["--preset"]);
    mydyno(["server", "start", "--preset", "config-3"])
        .and_args(engine)
        .run()
        .exits(2)
        .says(&["--scale"]);
}
