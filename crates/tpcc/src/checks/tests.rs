use super::*;
use crate::tests::scripted::{Reply, ScriptedServer, ScriptedSession, now};

#[test]
fn names_are_those_of_the_reports() {
    let names: Vec<_> = CHECKS.iter().map(|check| check.name).collect();
    let wanted = (1..=12).map(|n| format!("C{n}")).chain((1..=6).map(|n| format!("X{n}")));
    assert!(wanted.eq(names));
    let names = LASTING.iter().chain(&INITIAL).map(|check| check.name);
    assert!((1..=19).map(|n| format!("P{n}")).eq(names));
}

#[test]
fn each_statement_names_its_columns() {
    for check in CheckSet::Population.checks(true) {
        assert!((1..=3).contains(&check.statements.len()));
        for statement in check.statements {
            let sql = statement.sql(7);
            assert!(!sql.contains("{w") && !sql.contains("  "), "{sql}");
            let select = sql.trim_start_matches("SELECT ").trim_start_matches("STRAIGHT_JOIN ");
            let list = select.split(" FROM ").next().unwrap();
            let mut depth = 0;
            let commas = list.chars().filter(|c| {
                depth += i32::from(*c == '(') - i32::from(*c == ')');
                *c == ',' && depth == 0
            });
            assert_eq!(commas.count() + 1, statement.columns.len(), "{}: {list}", check.name);
        }
    }
}

#[test]
fn history_is_read_once_by_the_checks_of_payments_entered() {
    let whole: Vec<_> = CheckSet::Consistency
        .checks(true)
        .into_iter()
        .filter(|check| check.statements.iter().any(|s| !s.is_per_warehouse()))
        .map(|check| check.name)
        .collect();
    assert_eq!(whole, ["C8", "C9"]);
}

/// A consistent database with these indexes, but for what `offends` says of a statement.
fn server_with(
    indexes: u32,
    offends: impl Fn(&str) -> Option<Reply> + Send + Sync + 'static,
) -> ScriptedServer {
    ScriptedServer::new(move |sql| match sql.contains("information_schema.statistics") {
        true => Reply::row(indexes),
        false => offends(sql).unwrap_or(Reply::no_rows()),
    })
}

const INDEXED: u32 = 2;

/// What a set of checks finds on so many warehouses, by two sessions, and all steps that were told.
fn checked(
    server: &ScriptedServer,
    set: CheckSet,
    warehouses: u32,
) -> (SessionResult<Vec<StoredCheck>>, Vec<(u64, u64)>) {
    let mut steps = Vec::new();
    let (mut one, mut two) = (server.session(), [server.session()]);
    let progress = &mut |done, all| steps.push((done, all));
    let found = now(run_checks((&mut one, &mut two), set, Warehouses(warehouses), progress));
    (found, steps)
}

fn check(name: &str) -> &'static Check {
    CHECKS.iter().find(|check| check.name == name).unwrap()
}

fn failed(found: &[StoredCheck]) -> Vec<&str> {
    found.iter().filter(|check| !check.passed).map(|check| check.name.as_str()).collect()
}

/// The text with which a statement is sent.
fn limited(statement: &Statement, warehouse: u32) -> String {
    format!("{} LIMIT 11", statement.sql(warehouse))
}

#[test]
fn a_consistent_database_passes_and_a_scan_spares_its_statements() {
    let server = server_with(INDEXED, |_| None);
    let (found, steps) = checked(&server, CheckSet::Consistency, 3);
    let found = found.unwrap();
    assert_eq!((found.len(), failed(&found)), (18, Vec::new()));
    assert_eq!(steps, [(0, 4), (1, 4), (2, 4), (3, 4), (4, 4)]);
    let sent = server.sent();
    for statement in CHECKS.iter().flat_map(|check| check.statements) {
        let times = |warehouse| {
            let sql = limited(statement, warehouse);
            sent.iter().filter(|sent| **sent == sql).count()
        };
        let wanted = match (statement.is_per_warehouse(), statement.scan) {
            (true, Some(_)) => [0; 3],
            (true, None) => [1; 3],
            (false, _) => {
                assert_eq!(times(0), 1, "once for all warehouses");
                continue;
            }
        };
        assert_eq!([1, 2, 3].map(times), wanted, "{}", statement.sql(1));
    }
    // Each session has a snapshot, and leaves no transaction.
    let begins = sent.iter().filter(|sql| sql.starts_with("START TRANSACTION")).count();
    assert_eq!((begins, &sent[sent.len() - 2..]), (2, &["COMMIT", "COMMIT"].map(String::from)[..]));
}

#[test]
fn a_scan_that_finds_something_lets_its_statements_run() {
    let wide = Scan::Customers.sql(2);
    let server = server_with(INDEXED, move |sql| (sql == wide).then(|| Reply::row(1)));
    let (found, _) = checked(&server, CheckSet::Consistency, 3);
    assert_eq!(failed(&found.unwrap()), Vec::<&str>::new());
    let sent = server.sent();
    for statement in CHECKS.iter().flat_map(|check| check.statements) {
        // The narrower scan, which found nothing, spares its own.
        let runs = statement.scan == Some(Scan::Customers);
        if statement.scan.is_some() {
            assert_eq!(sent.contains(&limited(statement, 2)), runs, "{}", statement.sql(2));
            assert!(!sent.contains(&limited(statement, 1)));
        }
    }
    let narrow = |warehouse| sent.contains(&Scan::Orders.sql(warehouse));
    assert_eq!([1, 2, 3].map(narrow), [false, true, false]);
}

#[test]
fn offending_rows_are_named_by_their_columns() {
    let sql = limited(&check("C1").statements[0], 2);
    let offends =
        move |sent: &str| (sent == sql).then(|| Reply::rows(["2|5.00|4.00", "2|6.00|NULL"]));
    let found = checked(&server_with(INDEXED, offends), CheckSet::Consistency, 3).0.unwrap();
    assert_eq!(failed(&found), ["C1"]);
    let examples = ["w_id 2, w_ytd 5.00, sum(d_ytd) 4.00", "w_id 2, w_ytd 6.00, sum(d_ytd) NULL"];
    assert_eq!(
        (found[0].offending_rows, &found[0].examples[..]),
        (2, &examples.map(String::from)[..])
    );
}

#[test]
fn more_rows_than_examples_are_counted() {
    let sql = check("C1").statements[0].sql(2);
    let found_with = |count: u64| {
        let sql = sql.clone();
        let offends = move |sent: &str| match sent {
            _ if sent == format!("{sql} LIMIT 11") => Some(Reply::rows(["2|5.00|4.00"; 11])),
            _ if sent == format!("SELECT COUNT(*) FROM ({sql}) AS offending") => {
                Some(Reply::row(count))
            }
            _ => None,
        };
        let found = checked(&server_with(INDEXED, offends), CheckSet::Consistency, 2).0.unwrap();
        (found[0].offending_rows, found[0].examples.len())
    };
    assert_eq!(found_with(40), (40, 10));
    assert_eq!(found_with(0), (11, 10), "those that were seen");
}

/// Without indexes, sums of a warehouse tell where rows have to be looked at.
#[test]
fn only_suspects_of_a_screen_are_looked_at() {
    let stock_of =
        |warehouse: &str| format!("SELECT {warehouse}, COALESCE(SUM(CRC32(s_i_id)*s_ytd)");
    let suspect = stock_of("2");
    let offends = move |sql: &str| sql.starts_with(&suspect).then(|| Reply::row("2|5|0|0"));
    let server = server_with(0, offends);
    let (found, steps) = checked(&server, CheckSet::Consistency, 3);
    assert_eq!(failed(&found.unwrap()), Vec::<&str>::new(), "a suspicion is no offence");
    assert_eq!((steps.len(), steps.last()), (8, Some(&(7, 7))));
    let sent = server.sent();
    let looked = |name| {
        let statement = &check(name).statements[0];
        [1, 2, 3].map(|warehouse| sent.contains(&limited(statement, warehouse)))
    };
    assert_eq!(looked("X1"), [false, true, false]);
    assert_eq!((looked("X4"), looked("C10")), ([false; 3], [false; 3]));
    assert!(!sent.contains(&Scan::Customers.sql(1)), "others have looked at all customers");
    // Of more suspects than are looked at, each of the others is one row.
    let all = server_with(0, |sql| {
        let warehouse = sql.strip_prefix("SELECT ")?.split(',').next()?;
        let is_stock = sql.contains("COALESCE(SUM(CRC32(s_i_id)*s_ytd)");
        is_stock.then(|| Reply::row(format!("{warehouse}|5|0|0")))
    });
    let found = checked(&all, CheckSet::Consistency, 13).0.unwrap();
    let stock = found.iter().find(|check| check.name == "X1").unwrap();
    assert_eq!((failed(&found), stock.offending_rows), (vec!["X1"], 3));
}

/// What the customers of a warehouse owe is what they bought less what all history says they paid.
#[test]
fn payments_and_balances_have_suspects_of_their_own() {
    let server = server_with(0, |sql| {
        let of = |text: &str| sql.contains(text);
        let row = match sql {
            _ if of("FROM history GROUP BY") => return Some(Reply::rows(["1|100|2", "2|100|2"])),
            _ if of("c_ytd_payment),0)") && of("w_id=1") => "1|100|2",
            _ if of("c_ytd_payment),0)") && of("w_id=2") => "2|100|3",
            _ if of("SUM(CRC32(o.o_c_id*32+o.o_d_id)") && of("w_id=1") => "1|150",
            _ if of("*c_balance),0)") && of("w_id=1") => "1|50",
            _ if of("*c_balance),0)") && of("w_id=2") => "2|-99",
            _ => return None,
        };
        Some(Reply::row(row))
    });
    checked(&server, CheckSet::Consistency, 2).0.unwrap();
    let sent = server.sent();
    for name in ["X4", "C10"] {
        let statement = &check(name).statements[0];
        let looked = [1, 2].map(|warehouse| sent.contains(&limited(statement, warehouse)));
        assert_eq!(looked, [false, true], "{name}");
    }
}

#[test]
fn rules_of_the_population_are_asked_as_long_as_nothing_has_run() {
    for (as_loaded, wanted) in [(0, 18 + 13 + 6), (1, 18 + 13)] {
        let server = server_with(INDEXED, move |sql| {
            sql.starts_with("SELECT EXISTS").then(|| Reply::row(as_loaded))
        });
        let found = checked(&server, CheckSet::Population, 1).0.unwrap();
        assert_eq!((found.len(), failed(&found)), (wanted, Vec::new()));
    }
}

#[test]
fn one_warehouse_needs_no_screen() {
    let server = server_with(0, |_| None);
    let (_, steps) = checked(&server, CheckSet::Consistency, 1);
    assert_eq!(steps.last(), Some(&(2, 2)));
    assert!(!server.sent().iter().any(|sql| sql.contains("information_schema")));
}

#[test]
fn a_snapshot_ends_unless_the_connection_is_lost() {
    for (reply, is_ended) in [(Reply::Refused(1146), true), (Reply::Lost, false)] {
        let sql = limited(&check("C1").statements[0], 1);
        let offends = move |sent: &str| (sent == sql).then(|| reply.clone());
        let server = server_with(INDEXED, offends);
        checked(&server, CheckSet::Consistency, 2).0.unwrap_err();
        assert_eq!(server.sent().last().unwrap() == "COMMIT", is_ended);
    }
}

/// Two shards of two warehouses each, and what both were sent.
fn checked_shards(
    first: ScriptedServer,
    second: ScriptedServer,
) -> (Vec<StoredCheck>, Vec<(u64, u64)>) {
    let mut sessions: [ScriptedSession; 2] = [first.session(), second.session()];
    let ranges = WarehouseRange::all(Warehouses(4)).divided(2);
    let parts = sessions.iter_mut().zip(ranges);
    let mut parts: Vec<_> = parts.map(|(session, range)| ShardSession { session, range }).collect();
    let mut steps = Vec::new();
    let progress = &mut |done, all| steps.push((done, all));
    let found = now(run_checks_of_shards(&mut parts, CheckSet::Consistency, progress)).unwrap();
    (found, steps)
}

/// Lines of item 9 of warehouse 3 that both shards have ordered: 2 + 3 pieces, of which the stock
/// row knows 4.
#[test]
fn rows_of_suspects_are_compared_over_all_shards() {
    let lines = |sql: &str, row: &str| {
        let of_item = sql.starts_with("SELECT ol_i_id") && sql.contains("ol_supply_w_id=3");
        of_item.then(|| Reply::row(row))
    };
    let first = server_with(INDEXED, move |sql| lines(sql, "9|2|1|1"));
    let second = server_with(INDEXED, move |sql| match sql {
        _ if sql.starts_with("SELECT 3, COALESCE(SUM(CRC32(s_i_id)") => Some(Reply::row("3|5|0|0")),
        _ if sql.starts_with("SELECT s_i_id") => Some(Reply::rows(["8|0|0|0", "9|4|2|1"])),
        _ => lines(sql, "9|3|1|0"),
    });
    let (found, steps) = checked_shards(first.clone(), first.beside("2: ", second));
    assert_eq!(failed(&found), ["X1"]);
    let stock = found.iter().find(|check| check.name == "X1").unwrap();
    let example = "shard 2, w_id 3, i_id 9, s_ytd 4, sum(ol_quantity) 5, s_order_cnt 2, lines 2, \
                   s_remote_cnt 1, remote lines 1";
    assert_eq!((stock.offending_rows, &stock.examples[..]), (1, &[example.to_owned()][..]));
    assert_eq!((steps.len(), steps.last()), (11, Some(&(10, 11))));
    // What compares rows of several shards is not asked of one.
    let sent = first.sent();
    assert!(!sent.contains(&limited(&check("X4").statements[0], 1)));
    assert!(!sent.contains(&Scan::Customers.sql(1)) && sent.contains(&Scan::Orders.sql(1)));
}

#[test]
fn what_offends_on_a_shard_is_told_with_its_number() {
    let sql = limited(&check("C1").statements[0], 4);
    let offends = move |sent: &str| (sent == sql).then(|| Reply::row("4|5.00|4.00"));
    let (first, second) = (server_with(INDEXED, |_| None), server_with(INDEXED, offends));
    let (found, _) = checked_shards(first, second);
    assert_eq!(failed(&found), ["C1"]);
    assert_eq!(found[0].examples, ["shard 2, w_id 4, w_ytd 5.00, sum(d_ytd) 4.00"]);
}
