//! Files of several machines become one: everything is carried over, once, whatever the order, and
//! what does not belong together is refused.

use crate::common::{self, cell};
use rusqlite::Connection;
use rusqlite::types::Value;
use spec::RampLimits;
use std::fs;
use std::path::{Path, PathBuf};
use store::{
    LabId, LabStatus, MergeError, MergeSummary, NewCell, NewLab, NewRamp, RampId, Results,
    StoredCheck, merge,
};
use tempfile::TempDir;

/// Files in a directory of their own.
struct Files(TempDir);

impl Files {
    fn new() -> Files {
        Files(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Adds these files to `all.db`.
    fn merge(&self, names: &[&str]) -> Result<MergeSummary, MergeError> {
        let inputs: Vec<PathBuf> = names.iter().map(|name| self.path(name)).collect();
        merge(&inputs, &self.path("all.db"))
    }

    /// The file's lab of a plan of two cells and four repeats, measured on a machine of this name.
    fn lab(&self, file: &str, host: &str) -> Shard {
        self.lab_of(file, host, "plan")
    }

    fn lab_of(&self, file: &str, host: &str, plan: &str) -> Shard {
        let results = Results::create_or_open(&self.path(file)).unwrap();
        let lab = NewLab {
            name: "test".to_owned(),
            plan: Some(plan.to_owned()),
            command_line: format!("mydyno lab run --results {file}"),
            mydyno_version: "0.1.0".to_owned(),
            turns: Some(8),
            host_facts: facts(host),
        };
        let lab = results.begin_lab(&lab).unwrap();
        Shard { results, lab, host: host.to_owned() }
    }

    fn all(&self) -> Results {
        Results::open(&self.path("all.db")).unwrap()
    }
}

fn facts(host: &str) -> Vec<(String, String)> {
    vec![("host_name".to_owned(), host.to_owned())]
}

/// A lab that is measured.
struct Shard {
    results: Results,
    lab: LabId,
    host: String,
}

impl Shard {
    /// Measures a repeat of both cells.
    fn block(&self, repeat: u32) -> &Shard {
        self.results.begin_block(self.lab, &facts(&self.host), None).unwrap();
        for ordinal in [1, 2] {
            let cell = NewCell { ordinal, connections: 4 * ordinal, ..cell() };
            let cell = self.results.begin_cell(self.lab, &cell).unwrap();
            let id = testkit::begin(&self.results, cell, repeat);
            testkit::measure(&self.results, id, u64::from(100 * ordinal + repeat));
            let check = StoredCheck { name: "c".to_owned(), ..StoredCheck::default() };
            self.results.record_checks(id, &[check]).unwrap();
        }
        self
    }

    /// Measures a ramp with points of these connections.
    fn ramp(&self, repeat: u32, connections: &[u32]) -> &Shard {
        self.results.begin_block(self.lab, &facts(&self.host), None).unwrap();
        let new = NewRamp { ordinal: 1, repeat, limits: RampLimits::default() };
        let ramp: RampId = self.results.begin_ramp(self.lab, &new).unwrap();
        for connections in connections {
            let known = self.results.ramp_cells(self.lab, 1).unwrap();
            let same = known.iter().find(|cell| cell.what.connections == *connections);
            let ordinal = same.map_or(2 + known.len() as u32, |cell| cell.what.ordinal);
            let what = NewCell { ordinal, connections: *connections, ..cell() };
            let cell = self.results.begin_cell(self.lab, &what).unwrap();
            let ordinal = self.results.repeats(cell).unwrap().len() as u32 + 1;
            let new = testkit::repeat(cell, ordinal);
            let point = self.results.begin_ramp_point(ramp, &new).unwrap();
            testkit::measure(&self.results, point, u64::from(*connections * 10 + repeat));
        }
        self.results.finish_ramp(ramp).unwrap();
        self
    }

    fn end(&self) {
        let reason = Some("a shard");
        self.results.finish_lab(self.lab, LabStatus::Interrupted, reason).unwrap();
    }
}

/// What was measured, without the keys of one file.
fn measured(results: &Results) -> Vec<String> {
    let mut all = Vec::new();
    for lab in results.labs().unwrap() {
        for cell in results.cells(lab.id).unwrap() {
            for repeat in results.repeats(cell.id).unwrap() {
                let host = results.host_facts(&repeat).unwrap();
                let nopm = results.summary(repeat.id).unwrap().rates.nopm;
                let checks = results.get::<store::StoredCheck>(repeat.id).unwrap().len();
                all.push(format!(
                    "{} {} {} {} {nopm:?} {checks} {host:?}",
                    cell.what.ordinal, cell.what.connections, repeat.ordinal, repeat.block
                ));
            }
        }
    }
    all
}

fn rows(path: &Path, table: &str) -> Vec<Vec<Value>> {
    let connection = Connection::open(path).unwrap();
    let mut statement = connection.prepare(&format!("SELECT * FROM {table}")).unwrap();
    let columns = statement.column_count();
    let rows = statement.query_map([], |row| (0..columns).map(|place| row.get(place)).collect());
    rows.unwrap().collect::<Result<_, _>>().unwrap()
}

#[test]
fn shards_become_the_lab() {
    let files = Files::new();
    // Their blocks were measured in turns: 1 and 3 are the first machine's.
    let (one, two) = (files.lab("one.db", "node-1"), files.lab("two.db", "node-2"));
    one.block(1);
    two.block(2);
    one.block(3).end();
    two.end();
    let summary = files.merge(&["one.db", "two.db"]).unwrap();
    let added: Vec<usize> = summary.files.iter().map(|file| file.repeats.added).collect();
    assert_eq!(added, [4, 2]);
    let lab = &summary.labs[0];
    assert_eq!(
        (lab.status, lab.reason.as_deref()),
        (LabStatus::Interrupted, Some("2 repeats are missing"))
    );
    assert_eq!(lab.machines, ["node-1", "node-2"]);
    let all = measured(&files.all());
    let blocks: Vec<&str> = all.iter().map(|row| &row[..7]).collect();
    assert_eq!(blocks, ["1 4 1 1", "1 4 2 2", "1 4 3 3", "2 8 1 1", "2 8 2 2", "2 8 3 3"]);
    assert!(all[0].contains("node-1") && all[1].contains("node-2"), "{all:#?}");
    assert!(files.all().lab(lab.lab).unwrap().command_line.contains("one.db\nmydyno"));

    // Again it is the same file.
    let bytes = fs::read(files.path("all.db")).unwrap();
    let again = files.merge(&["two.db", "one.db"]).unwrap();
    assert!(!again.is_changed && again.files[0].repeats.there == 2, "{again:?}");
    assert_eq!(fs::read(files.path("all.db")).unwrap(), bytes);
    // What a shard measured since then is added, and the lab is whole.
    Shard { results: Results::open(&files.path("two.db")).unwrap(), ..two }.block(4).end();
    let summary = files.merge(&["two.db"]).unwrap();
    assert_eq!((summary.files[0].repeats.added, summary.files[0].repeats.there), (2, 2));
    assert_eq!((summary.labs[0].status, &summary.labs[0].reason), (LabStatus::Done, &None));
    // Another order makes the same lab.
    let other = files.path("other.db");
    merge(&["two.db", "one.db"].map(|name| files.path(name)), &other).unwrap();
    assert_eq!(measured(&Results::open(&other).unwrap()), measured(&files.all()));
    let left: Vec<String> = fs::read_dir(files.0.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.contains("merging"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn every_table_is_carried_over() {
    let files = Files::new();
    let shard = files.lab("all.db", "node-1");
    shard.block(1).end();
    drop(shard);
    drop(Results::create_or_open(&files.path("full.db")).unwrap());
    let full = Connection::open(files.path("full.db")).unwrap();
    full.execute_batch(include_str!("merge_tables.sql")).unwrap();
    let names: Vec<String> = rows(&files.path("full.db"), "sqlite_schema WHERE type = 'table'")
        .into_iter()
        .map(|row| match &row[1] {
            Value::Text(name) => name.clone(),
            other => panic!("{other:?}"),
        })
        .collect();
    let count = |file: &str, table: &str| rows(&files.path(file), table).len();
    let before: Vec<usize> = names.iter().map(|name| count("all.db", name)).collect();
    files.merge(&["full.db"]).unwrap();
    for (name, before) in names.iter().zip(before) {
        assert_eq!(count("full.db", name), 1, "merge_tables.sql has no row of {name}");
        // The lab is the one of the same plan.
        let added = usize::from(name != "lab");
        assert_eq!(count("all.db", name), before + added, "{name}");
    }
    // What refers to what still does, by other keys.
    let joined = "sample AS s JOIN metric AS m ON m.id = s.metric_id \
                  JOIN repeat AS r ON r.id = m.repeat_id JOIN cell AS c ON c.id = r.cell_id \
                  JOIN ramp_point AS p ON p.repeat_id = r.id JOIN ramp AS a ON a.id = p.ramp_id \
                  JOIN preset_variable AS v ON v.cell_id = c.id WHERE c.ordinal = 9 \
                  AND r.reason_code = 'server_died' AND a.lab_id = c.lab_id AND c.lab_id = 1";
    assert_eq!(count("all.db", joined), 1);
    assert!(!files.merge(&["full.db"]).unwrap().is_changed);
}

#[test]
fn ramps_of_shards_share_their_points() {
    let files = Files::new();
    let (one, two) = (files.lab("one.db", "node-1"), files.lab("two.db", "node-2"));
    one.ramp(1, &[1, 2, 4]).end();
    // It turns earlier, and has other numbers for its points.
    two.ramp(2, &[1, 3, 2]).end();
    files.merge(&["one.db", "two.db"]).unwrap();
    let all = files.all();
    let lab = all.labs().unwrap()[0].id;
    let points = |ramp: RampId| -> Vec<u32> {
        let points = all.ramp_points(ramp).unwrap();
        points.iter().map(|of| all.cell(of.cell).unwrap().what.connections).collect()
    };
    let ramps = all.ramps(lab).unwrap();
    assert_eq!(
        ramps.iter().map(|ramp| points(ramp.id)).collect::<Vec<_>>(),
        [[1, 2, 4], [1, 3, 2]]
    );
    let cells = all.cells(lab).unwrap();
    let connections: Vec<u32> = cells.iter().map(|cell| cell.what.connections).collect();
    assert_eq!(connections, [1, 2, 4, 3]);
    assert_eq!(all.repeats(cells[0].id).unwrap().len(), 2);
    assert!(!files.merge(&["two.db", "one.db"]).unwrap().is_changed);
    // The same ramp, measured once more elsewhere.
    files.lab("three.db", "node-3").ramp(2, &[1]).end();
    let refused = files.merge(&["three.db"]).unwrap_err().to_string();
    assert!(refused.contains("cell 1, repeat 2 was measured twice"), "{refused}");
}

#[test]
fn what_does_not_belong_together_is_refused() {
    let files = Files::new();
    files.lab("one.db", "node-1").block(1).end();
    files.lab("two.db", "node-2").block(2).end();
    files.merge(&["one.db"]).unwrap();
    let before = fs::read(files.path("all.db")).unwrap();
    let refused = |names: &[&str], words: &[&str]| {
        let said = files.merge(names).unwrap_err().to_string();
        assert!(words.iter().all(|word| said.contains(word)), "{said}");
        assert_eq!(fs::read(files.path("all.db")).unwrap(), before, "{names:?}");
    };
    let changed = |name: &str, sql: &str| {
        fs::copy(files.path("two.db"), files.path(name)).unwrap();
        Connection::open(files.path(name)).unwrap().execute_batch(sql).unwrap();
    };
    refused(&["none.db"], &["no results file", "none.db"]);
    refused(&["one.db", "two.db", "two.db"], &["two.db are one file"]);
    std::os::unix::fs::symlink(files.path("all.db"), files.path("link.db")).unwrap();
    refused(&["two.db", "link.db"], &["link.db is the output"]);
    fs::write(files.path("text.db"), "no database, but long enough to be read as one").unwrap();
    refused(&["text.db"], &["text.db is not a results file"]);
    changed("newer.db", "PRAGMA user_version = 1000");
    refused(&["newer.db"], &["newer.db has format 1000"]);
    files.lab_of("plan.db", "node-2", "another").block(2).end();
    refused(&["two.db", "plan.db"], &["all.db", "plan.db", "another plan with the name test"]);
    changed("version.db", "UPDATE lab SET mydyno_version = '0.0.9'");
    refused(&["version.db"], &["version.db by 0.0.9"]);
    changed("server.db", "UPDATE cell SET server_version = '5.7.44' WHERE ordinal = 2");
    refused(&["server.db"], &["cell 2 has server_version 5.7.44 in", "server.db and 5.7."]);
    // The same repeat by another machine.
    files.lab("again.db", "node-3").block(2).end();
    refused(
        &["two.db", "again.db"],
        &["cell 1, repeat 2 was measured twice", "two.db", "again.db"],
    );
    // One that is under way, here, elsewhere, or was killed here.
    let running = files.lab("running.db", "node-2");
    running.block(2);
    refused(&["running.db"], &["lab 1 (test) of", "running.db is being executed"]);
    changed("elsewhere.db", "UPDATE lab SET status = 'running', process = 'boot:1:2'");
    refused(&["elsewhere.db"], &["elsewhere.db is being executed on another machine"]);
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let dead = format!("UPDATE lab SET status = 'running', process = '{}:4194999:1'", boot.trim());
    changed("dead.db", &dead);
    files.merge(&["dead.db"]).unwrap();
    assert_eq!(files.all().labs().unwrap()[0].status, LabStatus::Interrupted);
}

#[test]
fn what_a_killed_process_left_goes_away() {
    let files = Files::new();
    files.lab("one.db", "node-1").block(1).end();
    for left in ["all.db.merging", "all.db.merging-wal", "all.db.merging-lock"] {
        fs::write(files.path(left), "half a file").unwrap();
    }
    files.merge(&["one.db"]).unwrap();
    assert_eq!(measured(&files.all()).len(), 2);
    assert!(!files.path("all.db.merging").exists());
    // Somebody merges at this moment.
    let lock = fs::File::create(files.path("all.db.merging-lock")).unwrap();
    lock.lock().unwrap();
    let said = files.merge(&["one.db"]).unwrap_err().to_string();
    assert!(said.contains("another `mydyno merge`"), "{said}");
}

#[test]
fn cells_that_met_no_server_and_labs_without_a_plan_come_along() {
    let files = Files::new();
    // Its second cell never had a server.
    let one = files.lab("one.db", "node-1");
    let planned = NewCell { ordinal: 2, connections: 8, ..cell() };
    one.results.begin_block(one.lab, &facts("node-1"), None).unwrap();
    let id = one.results.begin_planned_cell(one.lab, &planned).unwrap();
    let repeat = testkit::begin(&one.results, id, 1);
    testkit::fail(&one.results, repeat, "server_failed");
    one.end();
    files.lab("two.db", "node-2").block(2).end();
    let run = Results::create_or_open(&files.path("run.db")).unwrap();
    let lab = common::lab(&run);
    let of_run = run.begin_cell(lab, &cell()).unwrap();
    let repeat = testkit::begin(&run, of_run, 1);
    testkit::measure(&run, repeat, 100);
    run.finish_lab(lab, LabStatus::Done, None).unwrap();
    files.merge(&["one.db", "run.db", "two.db"]).unwrap();
    let all = files.all();
    let labs = all.labs().unwrap();
    assert_eq!(labs.len(), 2);
    let cells = all.cells(labs[0].id).unwrap();
    assert!(cells.iter().all(|cell| cell.what.server_version == "5.7.22"), "{cells:?}");
    assert!(cells.iter().all(|cell| !cell.what.settings.is_empty()), "{cells:?}");
    assert_eq!(all.repeats(cells[1].id).unwrap().len(), 2);
    assert!(!files.merge(&["run.db", "one.db", "two.db"]).unwrap().is_changed);
}
