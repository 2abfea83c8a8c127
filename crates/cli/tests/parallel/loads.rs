//! Loads that are killed, repeated, contradicted, and loads that must not happen.

use crate::support::{
    Held, Mydyno, QUICK, Running, Server, directory, execute, home, install, mydyno, number, query,
    servers_under, signal, text, until, value,
};
use rustix::process::Signal;
use serde_json::Value;
use std::sync::LazyLock;
use tempfile::TempDir;

static SERVER: LazyLock<Server> = LazyLock::new(|| Server::quick("mysql-5.7", &[]));
/// Results of loads go here; nothing looks at them.
static WORK: LazyLock<TempDir> = LazyLock::new(directory);

fn load(dsn: &str, arguments: &[&str]) -> Mydyno {
    mydyno(["load", "--json", "--dsn", dsn]).and_args(arguments).in_directory(WORK.path())
}

fn run(dsn: &str) -> Mydyno {
    mydyno(["run", "--json", "--dsn", dsn, "-c", "2", "--warmup", "0", "--window", "1s"])
        .in_directory(WORK.path())
}

/// Waits until so many chunks are loaded.
fn until_chunks(running: &mut Running, schema: &str, chunks: u64) {
    let mut session = Held::open(&SERVER.schema("information_schema"));
    let sql = format!("SELECT COUNT(*) FROM {schema}.mydyno_load");
    until("chunks are loaded", || {
        assert!(!running.has_ended(), "it ended early: {}", running.stderr());
        // The table is not there at first.
        session.try_query(&sql).is_ok_and(|rows| rows[0].parse::<u64>().unwrap() >= chunks)
    });
}

fn checksums(load: &Value) -> Vec<String> {
    let tables = load["tables"].as_array().unwrap();
    assert_eq!(tables.len(), 9);
    let line = |table: &Value| format!("{} {} {}", table["name"], table["rows"], table["checksum"]);
    tables.iter().map(line).collect()
}

#[test]
fn a_killed_load_continues_and_nothing_else_does() {
    let dsn = SERVER.schema("killed");
    let mut running = load(&dsn, &["-w", "1", "--threads", "2"]).spawn();
    until_chunks(&mut running, "killed", 4);
    running.signal(Signal::KILL);
    assert_eq!(running.wait().code, None);

    run(&dsn).run().exits(4).says(&[
        "half loaded",
        "mydyno load",
        "1 warehouse, seed 1",
        "--force",
    ]);
    for other in
        [&["-w", "2"][..], &["-w", "1", "--seed", "2"], &["-w", "1", "--foreign-keys=false"]]
    {
        load(&dsn, other).run().exits(4).says(&[
            "part of another load",
            "1 warehouse, seed 1",
            "foreign keys on",
        ]);
    }
    let continued = load(&dsn, &["-w", "1"]).run().exits(0).json();
    // What was there was not sent again.
    let chunks: u64 = value(&dsn, "SELECT COUNT(*) FROM mydyno_load").parse().unwrap();
    assert_eq!(chunks, 9);
    let whole = load(&SERVER.schema("whole"), &["-w", "1"]).run().exits(0).json();
    assert!(number(&continued, "/row_bytes") < number(&whole, "/row_bytes"), "{continued:#}");
    assert_eq!(checksums(&continued), checksums(&whole));
    assert_eq!(number(&continued, "/rows"), number(&whole, "/rows"));
    let shape = |schema: &str| {
        let sql = format!(
            "SELECT table_name, index_name, seq_in_index, column_name FROM \
             information_schema.statistics WHERE table_schema = '{schema}' ORDER BY 1, 2, 3"
        );
        query(&SERVER.schema("information_schema"), &sql)
    };
    assert_eq!(shape("killed"), shape("whole"));
    mydyno(["check", "--dsn", &dsn]).run().exits(0);

    load(&dsn, &["-w", "1"]).run().exits(4).says(&["not empty", "1 warehouse", "--force"]);
    execute(&dsn, ["DROP DATABASE killed", "DROP DATABASE whole"]);
}

#[test]
fn two_loads_of_one_schema_exclude_each_other_and_ctrl_c_ends_one_in_good_order() {
    let dsn = SERVER.schema("locked");
    let mut first = load(&dsn, &["-w", "3", "--threads", "1"]).spawn();
    until_chunks(&mut first, "locked", 1);
    // Each waits for two seconds, should the first one be about to end.
    let others = [&["-w", "3"][..], &["-w", "3", "--force"]].map(|more| load(&dsn, more).spawn());
    for other in others {
        other.wait().exits(4).says(&["another load is at work", "\"locked\""]);
    }
    // The schema is another, so is the lock.
    let mut free = load(&SERVER.schema("free"), &["-w", "1", "--threads", "1"]).spawn();
    until_chunks(&mut free, "free", 1);
    free.signal(Signal::INT);
    let ended = free.wait();
    assert!([Some(130), Some(0)].contains(&ended.code), "{}", ended.stderr);
    if first.has_ended() {
        first.wait().exits(0);
    } else {
        first.signal(Signal::INT);
        let ended = first.wait();
        assert!([Some(130), Some(0)].contains(&ended.code), "{}", ended.stderr);
        if ended.code == Some(130) {
            ended.says(&["interrupted", "mydyno load", "continues"]);
        }
    }
    execute(&dsn, ["DROP DATABASE locked", "DROP DATABASE free"]);
}

/// Nine tables that another tool made: they can be run on, but are never dropped.
#[test]
fn tables_of_others_are_never_dropped() {
    let dsn = SERVER.schema("theirs");
    execute(&SERVER.dsn, ["CREATE DATABASE theirs"]);
    let mut session = Held::open(&dsn);
    session.query(&tpcc::schema::create_sql(tpcc::Table::Warehouse, 0, false, ""));
    session.query("SET sql_mode = ''");
    session.query("INSERT INTO warehouse (w_id, w_name) VALUES (77, 'precious')");
    // One of the nine alone, then all of them.
    for round in 0..2 {
        for arguments in [&["-w", "1"][..], &["-w", "1", "--force"]] {
            load(&dsn, arguments).run().exits(4).says(&[
                "mydyno did not make",
                "drops only its own",
                "another schema",
            ]);
            assert_eq!(session.query("SELECT w_id, w_name FROM warehouse"), ["77|precious"]);
        }
        if round == 0 {
            for table in tpcc::Table::ALL {
                if table != tpcc::Table::Warehouse {
                    session.query(&tpcc::schema::create_sql(table, 0, false, ""));
                }
            }
        }
    }
    let tables = session.query("SHOW TABLES");
    assert_eq!(tables.len(), 9, "{tables:?}");
    execute(&SERVER.dsn, ["DROP DATABASE theirs"]);
}

#[test]
fn a_table_beside_ours_needs_force_and_stays() {
    let dsn = SERVER.schema("beside");
    execute(
        &SERVER.dsn,
        [
            "CREATE DATABASE beside",
            "CREATE TABLE beside.invoices (id INT PRIMARY KEY)",
            "INSERT INTO beside.invoices VALUES (7)",
        ],
    );
    load(&dsn, &["-w", "1"]).run().exits(4).says(&[
        "not empty",
        "other tables (invoices)",
        "--force",
    ]);
    assert_eq!(query(&dsn, "SHOW TABLES"), ["invoices"]);
    let loaded = load(&dsn, &["-w", "1", "--force"]).run().exits(0).json();
    assert_eq!(text(&loaded, "/method"), "local_infile");
    assert_eq!(value(&dsn, "SELECT id FROM invoices"), "7");
    a_changed_mydyno_meta_is_no_reason_to_drop_what_is_not_asked_for(&dsn);
    // Ours went and came, theirs stayed.
    assert_eq!(value(&dsn, "SELECT id FROM invoices"), "7");
    execute(&SERVER.dsn, ["DROP DATABASE beside"]);
}

fn a_changed_mydyno_meta_is_no_reason_to_drop_what_is_not_asked_for(dsn: &str) {
    query(dsn, "UPDATE mydyno_meta SET value = '999' WHERE name = 'schema_version'");
    for ran in [load(dsn, &["-w", "1"]).run(), run(dsn).run()] {
        ran.exits(4).says(&["mydyno_meta", "schema_version", "--force"]);
    }
    assert_eq!(value(dsn, "SELECT COUNT(*) FROM district"), "10");
    load(dsn, &["-w", "1", "--foreign-keys=false", "--force"]).run().exits(0);
    run(dsn).run().exits(0);
}

#[test]
fn a_server_that_dies_during_a_load_goes_on_with_it() {
    let server = Server::quick("mysql-5.7", &[]);
    let mut running = load(&server.dsn, &["-w", "1", "--threads", "1"]).spawn();
    let mut session = Held::open(&server.schema("information_schema"));
    until("chunks are loaded", || {
        assert!(!running.has_ended(), "it ended early: {}", running.stderr());
        session
            .try_query("SELECT COUNT(*) FROM tpcc.mydyno_load")
            .is_ok_and(|rows| rows[0].parse::<u64>().unwrap() >= 4)
    });
    signal(server.pid, Signal::KILL);
    running.wait().exits(5).says(&[
        "the server is gone",
        "the end of its log",
        "ready for connections",
    ]);
    let mut again = mydyno(["server", "start", "--engine", "mysql-5.7", "--json"])
        .and_args(["--name", &server.name]);
    for setting in QUICK {
        again = again.and_args(["--set", setting]);
    }
    let again = again.run().exits(0).json();
    let dsn = text(&again, "/dsn");
    load(dsn, &["-w", "1"]).run().exits(0);
    mydyno(["check", "--dsn", dsn]).run().exits(0);
}

#[test]
fn ctrl_c_while_an_image_is_made_leaves_nothing() {
    install("mysql-5.7");
    let arguments = ["run", "--engine", "mysql-5.7", "-w", "2", "--seed", "987654321"];
    let mut running = mydyno(arguments).in_directory(WORK.path()).spawn();
    let owner = running.pid();
    until("its server is there", || {
        assert!(!running.has_ended(), "it ended early: {}", running.stderr());
        !servers_under(owner).is_empty()
    });
    running.signal(Signal::INT);
    running.wait().exits(130).says(&["populating 2 warehouses", "interrupted"]);
    assert_eq!(servers_under(owner), Vec::<u32>::new());
    let mut left = Vec::new();
    for (place, mark) in [("run", format!("{owner}-")), ("images", "seed987654321".to_owned())] {
        for entry in std::fs::read_dir(home().join(place)).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() && name.contains(&mark) {
                left.push(path);
            }
        }
    }
    assert!(left.is_empty(), "{left:?}");
}

/// A server that has data is not loaded a second time, and goes on with what it has.
#[test]
fn a_named_server_begins_with_a_database_once() {
    let server = Server::loaded("mysql-5.7", &[]);
    mydyno(["server", "stop", &server.name]).run().exits(0);
    let start = ["server", "start", "--engine", "mysql-5.7", "--name", &server.name, "--json"];
    mydyno(start).and_args(["-w", "1"]).run().exits(4).says(&["has data already", "leave -w out"]);
    let again = mydyno(start).and_args(QUICK.iter().flat_map(|set| ["--set", set])).run();
    mydyno(["check", "--dsn", text(&again.exits(0).json(), "/dsn")]).run().exits(0);
}
