use super::*;
use crate::database::SCHEMA_VERSION;
use crate::tests::scripted::{Reply, ScriptedServer, now};
use base::{Warehouses, errors};
use spec::DatabaseKind;

fn options() -> LoadOptions {
    let population = PopulationSpec {
        database: DatabaseKind::Tpcc,
        warehouses: Warehouses(1),
        shard: None,
        foreign_keys: false,
        partitions: 0,
        table_options: None,
        seed: 7,
    };
    LoadOptions { population, threads: 2, history_key: false, force: false }
}

/// Facts of a load with these options that is so far, as `mydyno_meta` has them.
fn facts(options: &LoadOptions, state: LoadState) -> Vec<String> {
    let of = options.population();
    vec![
        format!("schema_version|{SCHEMA_VERSION}"),
        format!("warehouses|{}", of.warehouses),
        format!("seed|{}", of.seed),
        format!("c_load|{}", of.c_load),
        "foreign_keys|0".to_owned(),
        "partitions|0".to_owned(),
        "history_key|0".to_owned(),
        format!("state|{}", state as u8),
    ]
}

/// So many tuples has an INSERT, and LOAD DATA stores what it is sent.
fn stores_all(sql: &str) -> Option<Reply> {
    let is_insert = sql.starts_with("INSERT INTO") && !sql.contains("mydyno");
    let tuples = is_insert.then(|| sql.matches("),(").count() as u64 + 1);
    let all = sql.starts_with("LOAD DATA").then_some(u64::MAX);
    tuples.or(all).map(Reply::Changed)
}

/// The chunks that are small.
const SMALL: [Table; 3] = [Table::Warehouse, Table::District, Table::NewOrders];

/// A schema in which a load of one warehouse has left all chunks but the small ones; `first`
/// answers before all else.
fn half_loaded(
    is_local_infile: u32,
    first: impl Fn(&str) -> Option<Reply> + Send + Sync + 'static,
) -> ScriptedServer {
    let facts = facts(&options(), LoadState::Loading);
    ScriptedServer::new(move |sql| {
        let of = |text: &str| sql.contains(text);
        let marks = |table: &Table| of(&format!("table_name = '{table}'"));
        match first(sql).or_else(|| stores_all(sql)) {
            Some(reply) => reply,
            None if of("SELECT DATABASE()") => Reply::row("tpcc"),
            None if of("information_schema.tables") => {
                Reply::rows(Table::ALL.map(Table::name).into_iter().chain(["mydyno_meta"]))
            }
            None if of("SELECT name, value") => Reply::rows(&facts),
            None if of("_LOCK(") => Reply::row(1),
            None if of("@@global.local_infile") => Reply::row(is_local_infile),
            None if SMALL.iter().any(marks) => Reply::no_rows(),
            None if of("table_name = 'item'") => Reply::row("0|100000|5"),
            None if of("FROM mydyno_load") => Reply::row("1|30000|6"),
            None => Reply::Changed(0),
        }
    })
}

fn loaded(
    server: &ScriptedServer,
    options: &LoadOptions,
) -> (Result<PopulateReport, LoadError>, Vec<LoadProgress>) {
    let mut progress = Vec::new();
    let report =
        load(server, options, None, &AtomicBool::new(false), &mut |now| progress.push(now));
    (report, progress)
}

/// The rows and checksum of a chunk.
fn summary(table: Table) -> ChunkSummary {
    let mut rows = options().population().rows(Chunk { table, warehouse: 1 });
    let mut lines = Vec::new();
    while rows.fill(&mut lines) {}
    rows.finished().unwrap()
}

#[test]
fn a_load_goes_on_with_the_chunks_that_are_missing() {
    let bytes: u64 = SMALL.map(|table| summary(table).bytes).iter().sum();
    for is_local_infile in [1, 0] {
        let server = half_loaded(is_local_infile, |_| None);
        let (report, _) = loaded(&server, &options());
        let PopulateReport { load, history_key, unlocked, chunks_found } = report.unwrap();
        assert_eq!((load.bytes, chunks_found, history_key, unlocked), (bytes, 6, false, None));
        assert_eq!(load.is_local_infile, is_local_infile == 1);
        let tables: Vec<(&str, u64, u64)> =
            load.tables.iter().map(|of| (of.name.as_str(), of.rows, of.checksum)).collect();
        let wanted = Table::ALL.map(|table| match (table, SMALL.contains(&table)) {
            (Table::Item, _) => ("item", 100_000, 5),
            (_, false) => (table.name(), 30_000, 6),
            (_, true) => (table.name(), summary(table).rows, summary(table).checksum),
        });
        assert_eq!(tables, wanted);
        let sent = server.sent();
        for table in SMALL {
            let ChunkSummary { rows, checksum, .. } = summary(table);
            let mark = format!("INSERT INTO mydyno_load VALUES ('{table}', 1, {rows}, {checksum})");
            let place = sent.iter().position(|sql| *sql == mark).unwrap();
            assert!(sent[place..].contains(&"COMMIT".to_owned()), "{table}");
        }
        // Indexes of the tables that are there, then the mark that all is.
        let indexes = sent.iter().filter(|sql| sql.contains(" ADD INDEX ")).count();
        let complete = sent.iter().position(|sql| sql.contains("SET value = '1'")).unwrap();
        assert_eq!(indexes, 2);
        assert!(sent[..complete].iter().any(|sql| sql.starts_with("ANALYZE TABLE item")));
    }
}

#[test]
fn progress_counts_what_was_there() {
    let (tables, steps) = (LoadPlan::new(&options().population(), false, &BTreeSet::new()), 2);
    assert_eq!((tables.found_bytes, tables.steps_total), (0, steps));
    let (report, progress) = loaded(&half_loaded(1, |_| None), &options());
    report.unwrap();
    let total = options().population().bytes_estimate();
    let small: u64 = SMALL.map(Table::bytes_estimate).iter().sum();
    for now in progress {
        // What is estimated is near what is sent.
        assert!((total - small..total + small).contains(&now.bytes), "{now:?}");
        assert_eq!((now.bytes_total, now.steps_total), (total, steps));
    }
}

#[test]
fn a_chunk_that_meets_locks_is_tried_three_times() {
    for (refusals, code, is_loaded) in
        [(2, 1205, true), (2, 1213, true), (3, 1213, false), (1, 1146, false)]
    {
        let left = AtomicU64::new(refusals);
        let server = half_loaded(1, move |sql| {
            let is_it = sql.starts_with("LOAD DATA") && sql.contains("INTO TABLE district");
            let is_left = is_it
                && left
                    .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1))
                    .is_ok();
            is_left.then_some(Reply::Refused(code))
        });
        let (report, _) = loaded(&server, &options());
        assert_eq!(report.is_ok(), is_loaded, "{refusals} times {code}");
        if let Err(error) = report {
            assert!(error.to_string().contains("loading district of warehouse 1"), "{error}");
        }
    }
}

#[test]
fn rows_that_the_server_does_not_store_fail_the_load() {
    let server = half_loaded(1, |sql| match sql {
        _ if sql.starts_with("LOAD DATA") && sql.contains("district") => Some(Reply::Changed(9)),
        "SHOW WARNINGS LIMIT 1" => Some(Reply::row("Warning|1265|Data truncated")),
        _ => None,
    });
    let error = loaded(&server, &options()).0.unwrap_err();
    let LoadError::RowsMissing { warning, chunk_table, sent, stored, .. } = error else {
        panic!("{error}")
    };
    assert_eq!(
        (warning.as_str(), chunk_table, sent, stored),
        ("Data truncated", Table::District, 10, 9)
    );
    assert!(!server.sent().iter().any(|sql| sql.contains("VALUES ('district'")));
}

#[test]
fn a_stop_interrupts_the_load() {
    for is_local_infile in [0, 1] {
        let server = half_loaded(is_local_infile, |_| None);
        let stop = AtomicBool::new(true);
        let error = load(&server, &options(), None, &stop, &mut |_| {}).unwrap_err();
        assert!(matches!(error, LoadError::Interrupted), "{error}");
        assert!(!server.sent().iter().any(|sql| sql.contains("INSERT INTO mydyno_load")));
    }
}

#[test]
fn indexes_that_a_killed_load_has_built_are_no_error() {
    let with = |code| {
        let server =
            half_loaded(1, move |sql| sql.contains(" ADD INDEX ").then_some(Reply::Refused(code)));
        loaded(&server, &options()).0
    };
    assert!(with(DUPLICATE_KEY_NAME).is_ok());
    assert!(with(1114).unwrap_err().to_string().contains("building the indexes of"));
}

#[test]
fn helpers_load_their_parts_before_the_rest_is_finished() {
    let server = half_loaded(1, |_| None);
    let (mut begun, mut finished) = (0, 0);
    let helpers = LoadHelpers {
        own: LoadPart { first: 0, last: 1 },
        begin: &mut || {
            begun += 1;
            Ok(())
        },
        finish: &mut || {
            finished += 1;
            Ok(())
        },
    };
    let stop = AtomicBool::new(false);
    let report = load(&server, &options(), Some(helpers), &stop, &mut |_| {}).unwrap();
    assert_eq!((begun, finished), (1, 1));
    // The script never marks anything, so what the part loaded is loaded again.
    let bytes: u64 = SMALL.map(|table| summary(table).bytes).iter().sum();
    assert_eq!(report.load.bytes, 2 * bytes);
    let part = LoadPart { first: 1, last: 1 };
    server.sent();
    load_part(&server, &options(), part, &stop, &mut |_| {}).unwrap();
    let sent = server.sent();
    assert_eq!(sent.iter().filter(|sql| sql.starts_with("LOAD DATA")).count(), 3);
    assert!(!sent.iter().any(|sql| sql.contains(" ADD INDEX ")));
}

#[test]
fn foreign_keys_that_are_missing_are_added_last() {
    let server = ScriptedServer::of_replies(vec![
        ("referential_constraints", Reply::rows(["orders", "stock", "stock"])),
        ("DATABASE()", Reply::row("tpcc")),
        ("IS_USED_LOCK", Reply::row(1)),
    ]);
    let mut of_keys = options();
    of_keys.population.foreign_keys = true;
    now(finish(&mut server.session(), &of_keys, false)).unwrap();
    let altered = |sent: &[String]| -> Vec<String> {
        let tables = sent.iter().filter_map(|sql| sql.strip_prefix("ALTER TABLE "));
        tables.map(|of| of.split(' ').next().unwrap().to_owned()).collect()
    };
    assert_eq!(
        altered(&server.sent()),
        ["district", "customer", "history", "new_orders", "order_line"]
    );
    now(finish(&mut server.session(), &options(), false)).unwrap();
    assert!(altered(&server.sent()).is_empty(), "nobody asked for them");
}

/// What becomes of a load of [`options`] in a schema with these tables and facts.
fn prepared(
    options: &LoadOptions,
    tables: &[&str],
    facts: Vec<String>,
    others: Vec<(&'static str, Reply)>,
) -> (Result<PreparedSchema, LoadError>, Vec<String>) {
    let mut replies = others;
    replies.extend([
        ("SELECT DATABASE()", Reply::row("tpcc")),
        ("information_schema.tables", Reply::rows(tables)),
        ("SELECT 1 FROM mydyno_meta", Reply::row(1)),
        ("SELECT name, value", Reply::rows(facts)),
        ("GET_LOCK", Reply::row(1)),
        ("SELECT COUNT(*) FROM warehouse", Reply::row(2)),
        ("@@global.local_infile", Reply::row(1)),
    ]);
    let server = ScriptedServer::of_replies(replies);
    let prepared = now(prepare(&mut server.session(), options));
    (prepared, server.sent())
}

fn is_dropped(sent: &[String]) -> bool {
    sent.contains(&"DROP TABLE IF EXISTS stock".to_owned())
}

const ALL: [&str; 10] = [
    "item",
    "warehouse",
    "district",
    "stock",
    "customer",
    "history",
    "orders",
    "new_orders",
    "order_line",
    "mydyno_meta",
];

#[test]
fn an_empty_schema_gets_all_tables() {
    let (prepared, sent) = prepared(&options(), &[], Vec::new(), Vec::new());
    let prepared = prepared.unwrap();
    assert!(prepared.existing.is_none() && prepared.unlocked.is_none());
    assert!(prepared.is_local_infile && !prepared.history_key);
    let created = sent.iter().filter(|sql| sql.starts_with("CREATE TABLE IF NOT EXISTS")).count();
    assert_eq!(created, 9 + 2);
    // The word that they are being dropped comes first, and goes last.
    let drops: Vec<_> = sent.iter().filter(|sql| sql.starts_with("DROP")).collect();
    assert_eq!(drops[0], "DROP TABLE IF EXISTS order_line");
    assert_eq!(
        drops[drops.len() - 2..],
        ["mydyno_load", "mydyno_meta"]
            .map(|of| { format!("DROP TABLE IF EXISTS {of}") })
            .iter()
            .collect::<Vec<_>>()[..]
    );
    let state = sent.iter().position(|sql| sql.contains("SET value = '2'")).unwrap();
    assert!(sent[..state].iter().all(|sql| !sql.starts_with("DROP")));
}

#[test]
fn what_a_schema_holds_decides_whether_it_may_be_loaded() {
    let of = |tables: &[&str], state, force| {
        let options = LoadOptions { force, ..options() };
        let (prepared, sent) = prepared(&options, tables, facts(&options, state), Vec::new());
        (prepared, is_dropped(&sent))
    };
    let error = |tables: &[&str], state, force| of(tables, state, force).0.unwrap_err();
    use LoadState::{Complete, Dropping, Loading};
    let full = error(&ALL, Complete, false);
    assert!(matches!(full, LoadError::NotEmpty { what, .. } if what == "1 warehouse"));
    assert!(matches!(error(&ALL, Dropping, false), LoadError::HalfDropped { .. }));
    for state in [Loading, Complete, Dropping] {
        let (forced, is_dropped) = of(&ALL, state, true);
        assert!(forced.unwrap().existing.is_none() && is_dropped);
    }
    let (existing, is_dropped) = of(&ALL, Loading, false);
    assert!(existing.unwrap().existing.is_some() && !is_dropped);
    for force in [false, true] {
        assert!(matches!(error(&ALL[..9], Loading, force), LoadError::NotOurs { .. }));
        assert!(matches!(error(&ALL[..3], Loading, force), LoadError::NotOurs { .. }));
    }
    let other = error(&["mine", "yours"], Loading, false);
    assert!(matches!(other, LoadError::NotEmpty { what, .. } if what.contains("mine")));
    assert!(of(&["mine", "yours"], Loading, true).0.is_ok());
}

#[test]
fn a_load_continues_only_its_own() {
    let with = |key: bool, fact: &str, others| {
        let mut facts = facts(&options(), LoadState::Loading);
        facts.retain(|known| known.split('|').next() != fact.split('|').next());
        facts.push(fact.to_owned());
        prepared(&LoadOptions { history_key: key, ..options() }, &ALL, facts, others).0
    };
    for fact in ["seed|8", "warehouses|2", "foreign_keys|1", "partitions|4"] {
        assert!(
            matches!(with(false, fact, Vec::new()), Err(LoadError::OtherLoad { .. })),
            "{fact}"
        );
    }
    // A key that it began with stays; one that it began without is not given.
    assert!(with(false, "history_key|1", Vec::new()).unwrap().history_key);
    let demanded = || vec![("SHOW VARIABLES", Reply::row("sql_require_primary_key|ON"))];
    assert!(!with(false, "history_key|0", demanded()).unwrap().history_key);
    let asked = with(true, "history_key|0", Vec::new());
    assert!(matches!(asked, Err(LoadError::OtherLoad { .. })));
    // A changed `mydyno_meta` is ours all the same.
    assert!(with(false, "seed|none", Vec::new()).is_err());
}

#[test]
fn facts_that_were_changed_by_hand_are_dropped_by_force() {
    let forced = LoadOptions { force: true, ..options() };
    let (prepared, sent) = prepared(&forced, &ALL, Vec::new(), Vec::new());
    assert!(prepared.is_ok() && is_dropped(&sent));
}

#[test]
fn what_the_server_demands_or_refuses_is_told() {
    let with = |others| prepared(&options(), &[], Vec::new(), others).0;
    let demands = with(vec![("SHOW VARIABLES", Reply::row("wsrep_on|ON"))]).unwrap();
    assert!(demands.history_key);
    let busy = with(vec![("GET_LOCK", Reply::row(0))]);
    assert!(matches!(busy, Err(LoadError::Locked { .. })));
    let none = with(vec![("GET_LOCK", Reply::Refused(errors::NOT_SUPPORTED_YET))]).unwrap();
    assert!(none.unlocked.is_some());
    let refused = |code| with(vec![("CREATE TABLE IF NOT EXISTS item", Reply::Refused(code))]);
    assert!(matches!(refused(3750), Err(LoadError::PrimaryKeyRequired)));
    assert!(matches!(refused(errors::READ_ONLY_MODE), Err(LoadError::ReadOnly { .. })));
    assert!(matches!(refused(1142), Err(LoadError::Server { .. })));
    let state = |code| with(vec![("UPDATE mydyno_meta", Reply::Refused(code))]);
    assert!(state(errors::NO_SUCH_TABLE).is_ok(), "there is none yet");
    assert!(state(1142).is_err());
    assert!(!with(vec![("local_infile", Reply::row(0))]).unwrap().is_local_infile);
}

#[test]
fn a_load_ends_only_where_it_was_alone() {
    let alone = |is_unlocked, lock: Reply, marks: u32| {
        let chunks: Vec<String> = (1..=marks).map(|warehouse| format!("{warehouse}|1|1")).collect();
        let server = ScriptedServer::of_replies(vec![
            ("SELECT DATABASE()", Reply::row("tpcc")),
            ("IS_USED_LOCK", lock),
            ("table_name = 'stock'", Reply::rows(chunks)),
            ("FROM mydyno_load", Reply::no_rows()),
        ]);
        now(require_alone(&mut server.session(), &options(), is_unlocked))
    };
    assert!(alone(false, Reply::row(1), 0).is_ok());
    for gone in [Reply::row(0), Reply::row("NULL")] {
        assert!(matches!(alone(false, gone, 0), Err(LoadError::Locked { .. })));
    }
    // Without locks, all chunks of one warehouse have to be there.
    assert!(alone(true, Reply::Lost, 9).is_ok());
    for marks in [8, 10] {
        let missing = alone(true, Reply::Lost, marks);
        assert!(matches!(missing, Err(LoadError::ChunksMissing { wanted: 9, .. })));
    }
}

#[test]
fn a_failed_load_tells_the_shell_why() {
    let session = |error| LoadError::Server { what: "it".to_owned(), error };
    let lost = || SessionError::Lost("reset".to_owned());
    let refused = SessionError::Unexpected("answer".to_owned());
    let of_inspection = LoadError::from(lost());
    for (error, exit) in [
        (LoadError::Interrupted, base::Exit::Interrupted),
        (session(lost()), base::Exit::ServerFailed),
        (of_inspection, base::Exit::ServerFailed),
        (session(refused), base::Exit::Failed),
        (LoadError::ChunksMissing { marked: 1, wanted: 2 }, base::Exit::Failed),
        (LoadError::PrimaryKeyRequired, base::Exit::Environment),
    ] {
        assert_eq!(error.exit(), exit, "{error}");
    }
}
