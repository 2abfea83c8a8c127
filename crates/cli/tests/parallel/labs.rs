//! `mydyno lab run`: a plan executed, watched, taken up again, and its failures.

use crate::support::{
    ENTER, LEAVE, Mydyno, OnTerminal, Ran, directory, install, list, mydyno, number, populate,
    results, screen, servers_under, shim, text, until,
};
use rustix::process::Signal;
use std::fs;
use std::path::Path;
use std::process::Command;

const DATABASE: &str = "tiny.db";

/// A plan of one warehouse in a directory of its own.
fn plan(directory: &Path, tables: &str) {
    let text = format!("[lab]\nname = \"tiny\"\n{tables}");
    fs::write(directory.join("plan.toml"), text).unwrap();
}

fn lab_run(directory: &Path, more: &[&str]) -> Mydyno {
    shim();
    install("mysql-5.7");
    let all = ["lab", "run", "plan.toml", "--results", DATABASE, "--json"];
    mydyno(all.iter().chain(more)).in_directory(directory)
}

/// A lab's end, for which an image may have to be made.
fn ended(directory: &Path, more: &[&str]) -> Ran {
    lab_run(directory, more).run()
}

/// Repeats that are done and whole, by cell and repeat.
fn done(directory: &Path) -> Vec<Vec<String>> {
    results(
        &directory.join(DATABASE),
        "SELECT c.ordinal, r.ordinal, r.id FROM repeat r JOIN cell c ON c.id = r.cell_id WHERE \
         r.status = 'done' AND NOT r.interrupted ORDER BY c.ordinal, r.ordinal",
    )
}

/// Changes the results file as no mydyno would.
fn tamper(directory: &Path, sql: &str) {
    let file = rusqlite::Connection::open(directory.join(DATABASE)).unwrap();
    assert_eq!(file.execute(sql, []).unwrap(), 1, "{sql}");
}

/// Two cells that differ in their connections, measured one after the other.
const TWO_CELLS: &str = "repeats = 1\norder = \"listed\"\n[server]\nengine = [\"mysql-5.7\"]\nset \
    = { innodb_log_file_size = \"16M\" }\n[load]\n\
                         warehouses = [1]\nconnections = [1, 2]\nwarmup = \"0s\"\n";

#[test]
fn a_lab_goes_on_where_it_was_killed() {
    let temp = directory();
    let here = temp.path();
    plan(
        here,
        "repeats = 2\n[server]\nengine = [\"mysql-5.7\"]\npreset = [\"config-3\"]\ndilate = 2\n\
         [storage]\ndata = [\"nvme-pm1725\", \"sata-850pro\"]\n\
         [load]\nwarehouses = [1]\nconnections = [2]\nwarmup = \"0s\"\nwindow = \"1s\"\n",
    );
    let mut first = lab_run(here, &[]).spawn();
    // What it tells is stored at once.
    let noted = "SELECT 1 FROM note n JOIN repeat r ON r.id = n.repeat_id WHERE r.id = 2";
    first.until_stored(&here.join(DATABASE), noted);
    first.signal(Signal::KILL);
    drop(first);
    let before = done(here);
    assert_eq!(before.len(), 1, "{before:?}");

    let second = ended(here, &[]).exits(0).says(&["goes on"]);
    let document = second.json();
    let cells = list(&document, "/cells");
    assert_eq!(cells.len(), 2);
    assert_eq!(number(&document, "/left"), 0);
    let after = done(here);
    let turns: Vec<[&str; 2]> =
        after.iter().map(|row| [row[0].as_str(), row[1].as_str()]).collect();
    assert_eq!(turns, [["1", "1"], ["1", "2"], ["2", "1"], ["2", "2"]]);
    // What the second call measured of repeat 1 came later, and is in a block of its own.
    let blocks = "SELECT DISTINCT ordinal, block FROM repeat WHERE status = 'done' ORDER BY block";
    let blocks = results(&here.join(DATABASE), blocks);
    assert_eq!(blocks, [["1", "1"], ["1", "2"], ["2", "3"]]);
    assert_eq!(list(&document, "/blocks").len(), 3);
    // What was there was not measured again.
    assert!(before.iter().all(|row| after.contains(row)), "{before:?} {after:?}");
    // Each repeat has inputs of its own, in the part that went on too, and all cells have the same.
    let seeds = results(
        &here.join(DATABASE),
        "SELECT DISTINCT ordinal, seed FROM repeat WHERE status = 'done' ORDER BY ordinal",
    );
    assert_eq!(seeds.len(), 2, "{seeds:?}");
    assert_ne!(seeds[0][1], seeds[1][1], "{seeds:?}");
    for cell in cells {
        assert_eq!(text(cell, "/preset"), "config-3");
        assert!(cell["nopm"]["mean"].as_f64().unwrap() > 0.0, "{cell}");
        assert!(cell["nopm"]["high"].is_number(), "{cell}");
    }

    ended(here, &[]).exits(0).says(&["nothing is left to do"]);
    assert_eq!(done(here), after);
    let status = mydyno(["lab", "status", "--results", DATABASE]).in_directory(here);
    let words = status.run().exits(0).stdout;
    assert!(words.contains("nvme-pm1725") && words.contains("2 connections"), "{words}");
}

#[test]
fn cells_that_fail_are_results() {
    let temp = directory();
    let here = temp.path();
    // The second server refuses to start.
    plan(
        here,
        "repeats = 1\norder = \"listed\"\n[server]\nengine = [\"mysql-5.7\"]\nset = { sql_mode = \
         [\"ANSI\", \"NO_SUCH_MODE\"], innodb_log_file_size = \"16M\" }\n\
         [load]\nwarehouses = [1]\nconnections = [2]\nwarmup = \"0s\"\nwindow = \"2s\"\n",
    );
    let document = ended(here, &[]).exits(0).json();
    let cells = list(&document, "/cells");
    assert_eq!(text(&cells[0], "/repeats/0/status"), "done");
    assert_eq!(text(&cells[1], "/repeats/0/status"), "failed");
    assert_eq!(text(&cells[1], "/repeats/0/reason_code"), "server_failed");
    assert!(cells[1]["nopm"]["mean"].is_null());
    let status = mydyno(["lab", "status", "--results", DATABASE]).in_directory(here);
    let words = status.run().exits(0).stdout;
    let line = |name: &str| words.lines().find(|line| line.starts_with(name));
    let (good, bad) = (line("sql_mode=ANSI").unwrap(), line("sql_mode=NO_SUCH_MODE").unwrap());
    assert!(bad.ends_with("NA") && !good.contains("NA"), "{words}");
    let attempts = "SELECT count(*) FROM repeat";
    let count = |expected: &str| {
        let found = results(&here.join(DATABASE), attempts);
        assert_eq!(found, [[expected.to_owned()]]);
    };
    count("2");
    // A failure is a result: nothing is left, unless it is asked for again.
    ended(here, &[]).exits(0).says(&["nothing is left"]);
    count("2");
    ended(here, &["--redo"]).exits(0);
    count("3");
    ended(here, &["--only", "7"]).exits(2).says(&["no cell 7"]);
    // A lab of nothing else has none.
    fs::remove_file(here.join(DATABASE)).unwrap();
    ended(here, &["--only", "2"]).exits(1).says(&["no repeat has a result", "--redo"]);
}

#[test]
#[ignore = "make soak"]
fn lock_waits_and_time_end_a_cell() {
    let temp = directory();
    let here = temp.path();
    // Many connections on one warehouse, on a device that takes 5 ms: locks are held for long.
    plan(
        here,
        "repeats = 1\norder = \"listed\"\n[server]\nengine = [\"mysql-5.7\"]\nset = { \
         innodb_lock_wait_timeout = [1], innodb_buffer_pool_size = [\"8M\"], innodb_log_file_size \
         = \"64M\" }\n\
         [storage]\ndata = [\"hdd-15k\"]\n[load]\nwarehouses = [1]\nconnections = [64]\nwarmup \
         = \"0s\"\nwindow = \"10s\"\n",
    );
    let document = ended(here, &[]).exits(0).json();
    let repeat = &list(&document, "/cells")[0]["repeats"][0];
    assert_eq!(text(repeat, "/reason_code"), "lock_wait_timeout", "{repeat}");

    plan(
        here,
        "repeats = 1\nrepeat_time_limit = \"3100ms\"\n[server]\nengine = [\"mysql-5.7\"]\nset = { \
         innodb_log_file_size = \"16M\" }\n[load]\nwarehouses = [1]\nconnections = [2]\nwarmup \
         = \"0s\"\nwindow = \"3s\"\n",
    );
    let document = ended(here, &[]).exits(0).json();
    let repeat = &list(&document, "/cells")[0]["repeats"][0];
    assert_eq!(text(repeat, "/reason_code"), "timed_out", "{repeat}");
    ended(here, &[]).exits(0).says(&["nothing is left"]);
}

#[test]
fn the_first_ctrl_c_keeps_what_is_measured() {
    let temp = directory();
    let here = temp.path();
    plan(here, &format!("{TWO_CELLS}window = \"4s\"\n"));
    let mut first = lab_run(here, &[]).spawn();
    let in_window = "SELECT 1 FROM interval WHERE repeat_id = 2 AND phase = 'window'";
    first.until_stored(&here.join(DATABASE), in_window);
    // One process at a time executes a lab.
    lab_run(here, &[]).run().exits(4).says(&["executed by another process", "--results"]);
    let pid = first.pid();
    first.signal(Signal::INT);
    let first = first.wait().exits(130).says(&["1 repeat is missing"]);
    let document = first.json();
    assert_eq!(text(&document, "/status"), "interrupted");
    assert_eq!(number(&document, "/left"), 1);
    assert_eq!(servers_under(pid), Vec::<u32>::new());
    assert_eq!(done(here), [["1", "1", "1"]]);
    ended(here, &[]).exits(0).says(&["1 of 2 repeats are there"]);
    let after = done(here);
    assert_eq!(after.len(), 2, "{after:?}");
    assert_eq!(after[0], ["1", "1", "1"], "it was not measured again");
}

#[test]
fn servers_and_devices_are_not_mixed() {
    let temp = directory();
    let here = temp.path();
    let shown = mydyno(["device", "show", "nvme-pm1725"]).run().exits(0);
    let profile = here.join("my-disk.toml");
    fs::write(&profile, &shown.stdout).unwrap();
    // This server cannot place undo, which is where data is.
    let storage = "[storage]\ndata = \"./my-disk.toml\"\nundo = \"hdd-15k\"\n[load]";
    let tables = TWO_CELLS.replace("[load]", storage);
    plan(here, &format!("{tables}window = \"2s\"\n"));
    ended(here, &["--only", "1"]).exits(0);
    assert_eq!(done(here).len(), 1);

    let larger = shown.stdout.replacen("capacity_bytes = ", "capacity_bytes = 1", 1);
    assert_ne!(larger, shown.stdout);
    fs::write(&profile, larger).unwrap();
    ended(here, &[]).exits(3).says(&[
        "plan.toml:9:8: ",
        "my-disk.toml",
        "other figures",
        "--results",
    ]);
    // Other words are no other device.
    let renamed = shown.stdout.replace("title = \"", "title = \"My ");
    assert_ne!(renamed, shown.stdout);
    fs::write(&profile, renamed).unwrap();
    tamper(here, "UPDATE cell SET server_version = '5.7.10-log'");
    ended(here, &[]).exits(3).says(&["plan.toml:6:11: ", "5.7.10-log", "--results"]);
    tamper(here, "UPDATE cell SET server_version = '5.7.22-log'");
    let doubled = |by: &str| {
        format!("UPDATE host_fact SET value = CAST(value AS INTEGER) {by} WHERE key = 'cpu_cores'")
    };
    tamper(here, &doubled("* 2"));
    ended(here, &[]).exits(3).says(&["plan.toml:1:1: ", "cpu_cores", "--results"]);
    tamper(here, &doubled("/ 2"));
    // What an earlier call has found out stays so.
    tamper(here, "UPDATE repeat SET status = 'failed', reason_code = 'check_failed' WHERE id = 1");
    let document = ended(here, &[]).exits(6).json();
    assert_eq!(number(&document, "/left"), 0);
    ended(here, &[]).exits(6).says(&["nothing is left"]);
}

#[test]
fn a_servers_binary_is_an_engine() {
    install("mysql-5.7");
    let temp = directory();
    let here = temp.path();
    let servers = mydyno(["server", "list", "--json"]).run().exits(0).json();
    let mut engines = list(&servers, "/engines").iter();
    let installed = engines.find(|one| text(one, "/name") == "mysql-5.7");
    let binary = text(installed.unwrap(), "/binary");
    let with = |engines: &str| {
        format!(
            "repeats = 1\n[server]\nengine = {engines}\nset = {{ innodb_buffer_pool_size \
             = \"150M\", innodb_log_file_size = \"16M\" }}\n[load]\nwarehouses = 1\nconnections = \
             2\nwarmup = \"0s\"\nwindow = \"1s\"\n"
        )
    };
    plan(here, &with(&format!("[\"mysql-5.7\", \"{binary}\"]")));
    let document = ended(here, &[]).exits(0).json();
    let engines: Vec<&str> =
        list(&document, "/cells").iter().map(|cell| text(cell, "/engine")).collect();
    assert_eq!(engines, ["mysql-5.7", binary]);
    // As named, where the server alone would have rounded it up to 256M.
    let pools = "SELECT DISTINCT value FROM server_variable WHERE name = 'innodb_buffer_pool_size'";
    assert_eq!(results(&here.join(DATABASE), pools), [["157286400"]]);
    let compared = &document["comparisons"][0];
    assert_eq!(text(compared, "/dimension"), "engine", "{document:#}");
    // One that is none is told where the plan names it.
    plan(here, &with("\"/bin/true\""));
    lab_run(here, &[]).run().exits(3).says(&["plan.toml:5:10: ", "/bin/true"]);
}

#[test]
fn where_there_is_no_room_a_lab_ends_and_goes_on_later() {
    let temp = directory();
    let here = temp.path();
    let tables = TWO_CELLS.replace("[1, 2]", "1");
    let tables = tables.replace("[load]", "[storage]\ndata = \"nvme-pm1725\"\n[load]");
    let tables = format!("{tables}window = \"2s\"\n");
    plan(here, &tables);
    populate("mysql-5.7");
    lab_run(here, &[]).files_of_at_most_kib(20_000).run().exits(4).says(&["cannot"]);
    assert_eq!(done(here).len(), 0);
    ended(here, &[]).exits(0).says(&["goes on"]);
    assert_eq!(done(here).len(), 1);

    // A file system of the results alone, where this user may mount one.
    let small = here.join("small");
    fs::create_dir(&small).unwrap();
    if !mount(&["-t", "tmpfs", "-o", "size=300k", "tmpfs"], &small) {
        println!("not tried: this user may mount no file system");
        return;
    }
    let _mounted = Mounted(&small);
    plan(&small, &tables);
    ended(&small, &[]).exits(4).says(&["no room to store results"]);
    assert!(mount(&["-o", "remount,size=64m"], &small));
    ended(&small, &[]).exits(0);
    assert_eq!(done(&small).len(), 1);
}

fn mount(arguments: &[&str], place: &Path) -> bool {
    let status = Command::new("mount").args(arguments).arg(place).status();
    status.is_ok_and(|status| status.success())
}

/// A mounted file system that goes away with its value.
struct Mounted<'a>(&'a Path);

impl Drop for Mounted<'_> {
    fn drop(&mut self) {
        // What is still mounted fails the removal of the directory.
        let _ = Command::new("umount").arg("-l").arg(self.0).status();
    }
}

#[test]
fn a_lab_can_be_watched() {
    shim();
    let temp = directory();
    let here = temp.path();
    plan(here, &format!("{TWO_CELLS}window = \"3s\"\n"));
    // What is waited for below is one repeat after the other.
    populate("mysql-5.7");
    let database = here.join(DATABASE);
    let arguments = format!(
        "lab run '{}' --results '{}' --watch",
        here.join("plan.toml").display(),
        database.display()
    );
    let mut terminal = OnTerminal::start(&arguments);
    let shows = |terminal: &OnTerminal, start: &str| {
        let rows = screen(&terminal.seen());
        rows.iter().any(|row| row.starts_with(start))
    };
    until("the first repeat is watched", || shows(&terminal, "1 of 2: cell 1 "));
    terminal.until_numbers(&[(" NOPM ", 1), ("new_order ", 2)]);
    until("the second one is, with the result of the first", || {
        shows(&terminal, "2 of 2: cell 2 ") && shows(&terminal, "cell 1, repeat 1: ")
    });
    assert!(shows(&terminal, "Ctrl-C stops the lab"));
    terminal.until_numbers(&[(" NOPM ", 1), ("cell 1, repeat 1: ", 1)]);
    terminal.signal(Signal::INT);
    assert_eq!(terminal.wait(), Some(130), "{}", terminal.seen());
    let seen = terminal.seen();
    // One screen for all repeats; the results are on the terminal as it was before.
    assert_eq!(seen.matches(ENTER).count(), 1, "{seen}");
    let (_, after) = seen.rsplit_once(LEAVE).unwrap();
    assert!(after.contains("NOPM") && after.contains("report:"), "{after}");

    let words = mydyno(["lab", "run", "plan.toml", "--results", DATABASE, "--watch"])
        .in_directory(here)
        .run()
        .exits(0)
        .stdout;
    for expected in ["# 1 of 1: cell 2 ", " window ", "# cell 2, repeat 1: ", "report:"] {
        assert!(words.contains(expected), "no {expected:?} in {words}");
    }
}
