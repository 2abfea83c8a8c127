use super::*;
use crate::tests::scripted::{Reply, ScriptedServer, now};

fn database() -> Database {
    Database {
        warehouses: Warehouses(5),
        range: WarehouseRange::all(Warehouses(5)),
        seed: Some(7),
        c_load: Some(9),
        foreign_keys: true,
        partitions: 3,
        table_options: None,
        history_key: true,
        driven_by_tpcc_mysql: false,
    }
}

const FACTS: [(&str, &str); 8] = [
    ("schema_version", "2"),
    ("warehouses", "5"),
    ("seed", "7"),
    ("c_load", "9"),
    ("foreign_keys", "1"),
    ("partitions", "3"),
    ("history_key", "1"),
    ("state", "1"),
];

/// The facts of `mydyno_meta`, some of them others than [`FACTS`]; an empty one is none.
fn facts_with(others: &[(&'static str, &'static str)]) -> Reply {
    let mut facts = BTreeMap::from(FACTS);
    facts.extend(others.iter().copied());
    let known = facts.into_iter().filter(|(_, value)| !value.is_empty());
    Reply::rows(known.map(|(name, value)| format!("{name}|{value}")))
}

/// A schema with these tables; `others` answer the other questions.
fn schema(
    tables: impl IntoIterator<Item = &'static str>,
    others: Vec<(&'static str, Reply)>,
) -> ScriptedServer {
    let mut replies = vec![
        ("SELECT DATABASE()", Reply::row("tpcc")),
        ("information_schema.tables", Reply::rows(tables)),
    ];
    replies.extend(others);
    ScriptedServer::of_replies(replies)
}

/// A schema of ours with these facts.
fn ours(others: &[(&'static str, &'static str)]) -> ScriptedServer {
    let tables = Table::ALL.map(Table::name).into_iter().chain([META, LOAD]);
    schema(tables, vec![("SELECT name, value", facts_with(others))])
}

fn contents_of(server: &ScriptedServer) -> Result<Contents, InspectError> {
    now(contents(&mut server.session()))
}

fn inspected(
    server: &ScriptedServer,
    wanted: Option<Warehouses>,
) -> Result<Database, InspectError> {
    now(inspect(&mut server.session(), wanted))
}

#[test]
fn a_load_has_a_chunk_of_items_and_eight_for_a_warehouse() {
    assert_eq!(database().chunks(), 41);
    let range = WarehouseRange::between((2, 3)).unwrap();
    let shard = Database { range, ..database() };
    assert_eq!((shard.chunks(), shard.is_shard(), database().is_shard()), (17, true, false));
}

#[test]
fn a_schema_is_known_by_its_tables() {
    assert_eq!(contents_of(&schema([], Vec::new())), Ok(Contents::Empty));
    let other = contents_of(&schema(["Customer", "mine"], Vec::new()));
    let Ok(Contents::Other { tables, missing }) = other else { panic!("{other:?}") };
    assert_eq!((tables.len(), missing.len()), (2, 8));
    assert!(!missing.contains(&"customer") && missing.contains(&"stock"));
    let counted = vec![("SELECT COUNT(*) FROM warehouse", Reply::row(3))];
    let foreign = schema(Table::ALL.map(Table::name), counted);
    assert_eq!(contents_of(&foreign), Ok(Contents::Foreign { warehouses: Warehouses(3) }));
    let none = ScriptedServer::of_replies(vec![("SELECT DATABASE()", Reply::row("NULL"))]);
    assert_eq!(contents_of(&none), Err(InspectError::NoSchema));
}

/// A load that was killed right at its start.
#[test]
fn our_own_tables_without_a_fact_are_an_empty_schema() {
    for tables in [vec![META], vec![META, LOAD]] {
        let empty = vec![("SELECT 1 FROM mydyno_meta", Reply::no_rows())];
        assert_eq!(contents_of(&schema(tables.clone(), empty)), Ok(Contents::Empty));
        let begun = vec![
            ("SELECT 1 FROM mydyno_meta", Reply::row(1)),
            ("SELECT name, value", facts_with(&[("state", "0")])),
        ];
        let begun = contents_of(&schema(tables, begun));
        assert_eq!(begun, Ok(Contents::Ours(database(), LoadState::Loading)));
    }
    // Beside other tables an empty one was changed by hand.
    let emptied = vec![
        ("SELECT 1 FROM mydyno_meta", Reply::no_rows()),
        ("SELECT name, value", Reply::no_rows()),
    ];
    let emptied = contents_of(&schema([META, "stock"], emptied));
    assert!(matches!(emptied, Err(InspectError::BadMeta { name: "schema_version", .. })));
}

#[test]
fn facts_say_what_was_loaded() {
    assert_eq!(contents_of(&ours(&[])), Ok(Contents::Ours(database(), LoadState::Complete)));
    let of = |others: &[(&'static str, &'static str)]| match contents_of(&ours(others)) {
        Ok(Contents::Ours(database, state)) => (database, state),
        other => panic!("{other:?}"),
    };
    assert_eq!(of(&[("state", "0")]).1, LoadState::Loading);
    assert_eq!(of(&[("state", "2")]).1, LoadState::Dropping);
    let (plain, _) = of(&[("foreign_keys", "0"), ("partitions", ""), ("history_key", "")]);
    let wanted = Database { foreign_keys: false, partitions: 0, history_key: false, ..database() };
    assert_eq!(plain, wanted);
    assert!(!of(&[("history_key", "0")]).0.history_key);
    assert!(of(&[(DRIVEN_BY_TPCC_MYSQL, "1")]).0.driven_by_tpcc_mysql);
    let (shard, _) = of(&[(FIRST_WAREHOUSE, "4"), (LAST_WAREHOUSE, "5")]);
    assert_eq!(Some(shard.range), WarehouseRange::between((4, 5)));
}

#[test]
fn facts_that_cannot_be_are_named() {
    let shard = |last| vec![(FIRST_WAREHOUSE, "4"), (LAST_WAREHOUSE, last)];
    for (others, wanted) in [
        (vec![("schema_version", "1")], "schema_version"),
        (vec![("schema_version", "3")], "schema_version"),
        (vec![("warehouses", "many")], "warehouses"),
        (vec![("c_load", "4294967296")], "c_load"),
        (vec![("seed", "")], "seed"),
        (shard("6"), LAST_WAREHOUSE),
        (shard("3"), LAST_WAREHOUSE),
        (shard(""), LAST_WAREHOUSE),
    ] {
        let bad = contents_of(&ours(&others));
        let Err(InspectError::BadMeta { name, .. }) = bad else { panic!("{others:?}: {bad:?}") };
        assert_eq!(name, wanted);
    }
}

#[test]
fn what_is_written_of_a_load_is_read_again() {
    let server = ScriptedServer::of_replies(Vec::new());
    let range = WarehouseRange::between((2, 3)).unwrap();
    let shard = Database { range, foreign_keys: false, ..database() };
    let session = &mut server.session();
    now(write_meta(session, &shard)).unwrap();
    now(set_state(session, LoadState::Dropping)).unwrap();
    now(mark_driven_by_tpcc_mysql(session)).unwrap();
    let chunk = Chunk { table: Table::Stock, warehouse: 3 };
    let summary = ChunkSummary { rows: 10, bytes: 20, checksum: 30 };
    now(mark_chunk(session, chunk, summary)).unwrap();
    let sent = server.sent();
    for fact in [
        "('warehouses', '5')",
        "('seed', '7')",
        "('c_load', '9')",
        "('foreign_keys', '0')",
        "('partitions', '3')",
        "('history_key', '1')",
        "('state', '0')",
        "('first_warehouse', '2')",
        "('last_warehouse', '3')",
    ] {
        assert!(sent[0].contains(fact), "{fact}: {}", sent[0]);
    }
    let others = [
        "UPDATE mydyno_meta SET value = '2' WHERE name = 'state'",
        "INSERT IGNORE INTO mydyno_meta VALUES ('driven_by_tpcc_mysql', '1')",
        "INSERT INTO mydyno_load VALUES ('stock', 3, 10, 30)",
    ];
    assert_eq!(sent[1..], others);
    now(write_meta(session, &database())).unwrap();
    assert!(!server.sent()[0].contains("first_warehouse"), "of a shard only");
}

#[test]
fn marks_of_chunks_add_up_by_table() {
    let server = ScriptedServer::of_replies(vec![
        ("'stock'", Reply::rows(["1|10|5", "2|20|6"])),
        ("'item'", Reply::row("0|7|18446744073709551615")),
        ("FROM mydyno_load", Reply::no_rows()),
    ]);
    let loaded = now(loaded_chunks(&mut server.session())).unwrap();
    let chunk = |table, warehouse| Chunk { table, warehouse };
    let chunks = [chunk(Table::Item, 0), chunk(Table::Stock, 1), chunk(Table::Stock, 2)];
    assert_eq!(loaded.chunks, BTreeSet::from(chunks));
    let sum = |rows, checksum| ChunkSummary { rows, bytes: 0, checksum };
    let sums = [(Table::Item, sum(7, u64::MAX)), (Table::Stock, sum(30, 11))];
    assert_eq!(loaded.sums, TableSums::from(sums));
}

#[test]
fn a_database_to_run_on_is_complete_and_large_enough() {
    assert_eq!(inspected(&ours(&[]), Some(Warehouses(5))), Ok(database()));
    let few = inspected(&ours(&[]), Some(Warehouses(6)));
    assert!(matches!(few, Err(InspectError::TooFewWarehouses { have: Warehouses(5), .. })));
    let empty = inspected(&schema([], Vec::new()), None);
    assert!(matches!(empty, Err(InspectError::Empty { .. })));
    let other = inspected(&schema(["mine"], Vec::new()), None);
    assert!(matches!(other, Err(InspectError::NotTpcc { missing, .. }) if missing.len() == 9));
}

#[test]
fn a_load_that_was_killed_is_told_with_how_far_it_came() {
    let half = |marks: Reply| {
        let tables = Table::ALL.map(Table::name).into_iter().chain([META, LOAD]);
        let facts = facts_with(&[("state", "0")]);
        let others = vec![
            ("SELECT name, value", facts),
            ("table_name = 'stock'", marks),
            ("FROM mydyno_load", Reply::no_rows()),
        ];
        inspected(&schema(tables, others), None)
    };
    let told = |half| match half {
        Err(InspectError::HalfLoaded { chunks, wanted, seed, .. }) => (chunks, wanted, seed),
        other => panic!("{other:?}"),
    };
    assert_eq!(told(half(Reply::rows(["1|10|5", "2|20|6"]))), (2, 41, 7));
    // Killed before it made the table of the marks.
    assert_eq!(told(half(Reply::Refused(errors::NO_SUCH_TABLE))), (0, 41, 7));
    assert!(matches!(half(Reply::Refused(1142)), Err(InspectError::Session(_))));
}

/// What tpcc-mysql has loaded: two warehouses, all columns and rows.
fn foreign_replies() -> Vec<(&'static str, Reply)> {
    let columns = |table: Table| {
        let name = |column: &crate::schema::Column| format!("{table}|{}", column.name);
        table.columns().iter().map(name).collect::<Vec<_>>()
    };
    vec![
        ("SELECT COUNT(*) FROM warehouse", Reply::row(2)),
        ("information_schema.columns", Reply::rows(Table::ALL.into_iter().flat_map(columns))),
        ("MAX(w_id)", Reply::row(2)),
        ("FROM item", Reply::row(100_000)),
        ("FROM history", Reply::row(1)),
        ("information_schema.referential_constraints", Reply::row(1)),
        ("information_schema.partitions", Reply::row(8)),
        ("information_schema.table_constraints", Reply::row(1)),
    ]
}

fn foreign_with(first: Vec<(&'static str, Reply)>) -> Result<Database, InspectError> {
    let replies = first.into_iter().chain(foreign_replies()).collect();
    inspected(&schema(Table::ALL.map(Table::name), replies), None)
}

#[test]
fn a_database_of_another_tool_is_taken_where_it_is_whole() {
    let last_rows = || ("FROM warehouse JOIN", Reply::row(2));
    let warehouses = Warehouses(2);
    let whole = Database {
        warehouses,
        range: WarehouseRange::all(warehouses),
        seed: None,
        c_load: None,
        foreign_keys: true,
        partitions: 8,
        table_options: None,
        history_key: true,
        driven_by_tpcc_mysql: false,
    };
    assert_eq!(foreign_with(vec![last_rows()]), Ok(whole.clone()));
    let plain = ["referential_constraints", "information_schema.partitions", "table_constraints"];
    let plain = plain.map(|of| (of, Reply::row(0))).into_iter().chain([last_rows()]).collect();
    let wanted = Database { foreign_keys: false, partitions: 0, history_key: false, ..whole };
    assert_eq!(foreign_with(plain), Ok(wanted));
    let columns = vec![("information_schema.columns", Reply::row("stock|s_i_id"))];
    let other = foreign_with(columns);
    assert!(matches!(other, Err(InspectError::OtherColumns { missing, .. }) if missing.len() > 90));
    let none = foreign_with(vec![("SELECT COUNT(*) FROM warehouse", Reply::row(0))]);
    assert!(matches!(none, Err(InspectError::Empty { .. })));
}

#[test]
fn each_gap_of_a_database_of_another_tool_is_named() {
    for (of, count, words) in [
        ("JOIN district", 1, "district is whole in 1 of 2 warehouses"),
        ("JOIN order_line", 0, "order_line is whole in 0 of 2 warehouses"),
        ("MAX(w_id)", 3, "its warehouses are not numbered 1 to 2"),
        ("FROM item", 99_999, "item has 99999 of 100000 rows"),
        ("FROM history", 0, "history is empty"),
    ] {
        let replies = vec![(of, Reply::row(count)), ("FROM warehouse JOIN", Reply::row(2))];
        let found = foreign_with(replies);
        let Err(InspectError::NotWhole { gaps, .. }) = found else { panic!("{of}: {found:?}") };
        assert_eq!(gaps, [words]);
    }
}

#[test]
fn the_last_row_of_a_warehouse_is_found_by_its_whole_key() {
    let last_rows = vec![("FROM warehouse JOIN", Reply::row(2))];
    let replies = last_rows.into_iter().chain(foreign_replies()).collect();
    let server = schema(Table::ALL.map(Table::name), replies);
    inspected(&server, None).unwrap();
    let sent = server.sent();
    let joined: Vec<&str> =
        sent.iter().filter_map(|sql| Some(sql.split_once("FROM warehouse ")?.1)).collect();
    let wanted = [
        "JOIN district ON d_w_id = w_id AND d_id = 10",
        "JOIN stock ON s_w_id = w_id AND s_i_id = 100000",
        "JOIN customer ON c_w_id = w_id AND c_d_id = 10 AND c_id = 3000",
        "JOIN orders ON o_w_id = w_id AND o_d_id = 10 AND o_id = 3000",
        "JOIN order_line ON ol_w_id = w_id AND ol_d_id = 10 AND ol_o_id = 3000 AND ol_number = 1",
    ];
    assert_eq!(joined, wanted);
}

#[test]
fn missing_indexes_are_named_with_their_columns() {
    let missing = |columns: &'static [&'static str]| {
        let server = ScriptedServer::new(move |_| Reply::rows(columns));
        now(probe::missing_indexes(&mut server.session())).unwrap()
    };
    let (customer, orders) =
        ("customer (c_w_id, c_d_id, c_last, c_first)", "orders (o_w_id, o_d_id, o_c_id, o_id)");
    assert_eq!(missing(&[]), [customer, orders]);
    assert_eq!(missing(&["c_last"]), [orders]);
    assert!(missing(&["c_last", "o_c_id"]).is_empty());
}

#[test]
fn servers_that_demand_primary_keys_say_so_in_some_variable() {
    let demands = |variables: &'static [&'static str]| {
        let server = ScriptedServer::new(move |_| Reply::rows(variables));
        now(demands_primary_keys(&mut server.session())).unwrap()
    };
    assert!(!demands(&[]));
    assert!(!demands(&["sql_require_primary_key|OFF", "group_replication_group_name|"]));
    assert!(demands(&["sql_require_primary_key|ON"]));
    assert!(demands(&["innodb_force_primary_key|1"]));
    assert!(demands(&["wsrep_on|OFF", "group_replication_group_name|8a94f357"]));
}

#[test]
fn sums_are_read_in_one_order() {
    let server = ScriptedServer::of_replies(vec![
        ("SUM(d_next_o_id)", Reply::row(30_010)),
        ("new_orders", Reply::row(21_010)),
        ("SUM(w_ytd)", Reply::row(30_000_000)),
    ]);
    let facts = now(facts(&mut server.session())).unwrap();
    let wanted =
        Sums { next_orders: 30_010, oldest_open_orders: 21_010, payment_cents: 30_000_000 };
    assert_eq!(Sums::from(&facts), wanted);
}
