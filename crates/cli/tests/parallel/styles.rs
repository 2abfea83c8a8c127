//! Every style and every workload on every engine: what the driver committed is in the database,
//! and the checks pass. Some of it is done on the servers of `engines.rs` too.

use crate::support::{
    ENGINES, Server, all_checks_hold, directory, float, list, mydyno, number, result, text,
};
use base::Since;
use serde_json::Value;
use spec::Style;
use std::path::Path;

/// How results say that columns are described, once statements are prepared.
fn result_metadata(engine: &str) -> &'static str {
    match server::engine(engine).unwrap().release() {
        release if release.has(Since::mysql((8, 0, 0))) => "omitted",
        release if release.has(Since::mariadb((10, 6, 0))) => "cached",
        _ => "always",
    }
}

/// How long, and with enough terminals to send every type of transaction within seconds.
fn arguments(workload: &str) -> &'static str {
    match workload {
        "tpcc-spec" => "-w 2 --terminals 3000 --warmup 1s --window 3s",
        _ => "--warmup 0 --window 3s",
    }
}

fn run(server: &Server, work: &Path, workload: &str, style: &str) -> Value {
    let summary = mydyno(["run", "--dsn", &server.dsn, "--json", "--check"])
        .and_args(["--workload", workload, "--style", style, "-c", "8"])
        .and_args(arguments(workload).split(' '))
        .in_directory(work)
        .run()
        .exits(0)
        .json();
    let what = format!("{workload} {style}: {summary:#}");
    assert_eq!(text(&summary, "/status"), "done", "{what}");
    assert_eq!(text(&summary, "/style"), style, "{what}");
    assert_eq!(number(&summary, "/new_orders_in_doubt"), 0, "{what}");
    let driver = number(&summary, "/new_orders_committed_by_driver");
    assert_eq!(number(&summary, "/new_orders_in_database"), driver, "{what}");
    assert!(number(&summary, "/transactions/new_order/committed") > 0, "{what}");
    assert_eq!(summary["checks"].as_array().unwrap().len(), 18, "{what}");
    time_adds_up(&summary, &work.join("mydyno.db"));
    for (name, transaction) in summary["transactions"].as_object().unwrap() {
        assert_eq!(number(transaction, "/errors"), 0, "{what}");
        // Those of terminals wait until nothing else does: on a busy machine for longer than the
        // window.
        let ended = format!(
            "SELECT sum(committed) FROM interval WHERE transaction_type = '{name}' AND repeat_id = \
             {}",
            number(&summary, "/repeat_id")
        );
        let ended: u64 = result(&work.join("mydyno.db"), &ended).parse().unwrap();
        assert!(ended > 0, "{name}, {what}");
    }
    summary
}

/// Statements, waits and the driver's own time are all of the response time, and no statement is
/// missing.
pub fn time_adds_up(summary: &Value, file: &Path) {
    let what = format!("{}: {summary:#}", text(summary, "/style"));
    let (mut response_us, mut driver_us) = (0.0, 0.0);
    for (name, transaction) in summary["transactions"].as_object().unwrap() {
        let rows = list(transaction, "/time_spent");
        if rows.is_empty() {
            continue;
        }
        let share: f64 = rows.iter().map(|row| float(row, "/share")).sum();
        assert!((share - 1.0).abs() < 1e-6, "{name} {share}, {what}");
        let completed = number(transaction, "/committed") + number(transaction, "/rolled_back");
        let of = |wanted: &str| rows.iter().find(|row| text(row, "/what") == wanted);
        // Statements outside of a procedure end with COMMIT or ROLLBACK, those in one with neither.
        match text(summary, "/style") {
            "procedures" => assert!(of(&format!("call_{name}")).is_some(), "{what}"),
            _ => assert!(of("commit").is_some() || of("rollback").is_some(), "{what}"),
        }
        let sum_us = float(transaction, "/mean_us") * completed as f64;
        response_us += sum_us;
        driver_us += of("driver").map_or(0.0, |row| float(row, "/share")) * sum_us;
        assert!(of("other").is_none(), "a statement without a name, {what}");
    }
    let driver_share = driver_us / response_us;
    // Some percent on a quiet machine; on a busy one the driver waits for a core too.
    assert!(driver_share < 0.5, "{driver_share}, {what}");
    let executions = format!(
        "SELECT sum(executions) FROM statement_time WHERE repeat_id = {}",
        number(summary, "/repeat_id")
    );
    let executions: u64 = result(file, &executions).parse().unwrap();
    assert_eq!(executions, number(summary, "/statements"), "{what}");
}

/// A closed loop on a loaded server.
fn drive_style(server: &Server, work: &Path, style: Style) {
    let summary = run(server, work, "tpcc", style.name());
    is_described(&summary, text(&server.started, "/engine"), style);
    all_checks_hold(&summary);
}

/// Columns are described as seldom as the engine allows.
pub fn is_described(summary: &Value, engine: &str, style: Style) {
    let described = match style {
        // What a CALL will return is not known when it is prepared.
        Style::Procedures if result_metadata(engine) == "omitted" => "always",
        _ => result_metadata(engine),
    };
    assert_eq!(text(summary, "/result_metadata"), described, "{style:?}");
}

/// All styles in a closed loop, one with terminals, with each engine another, and tpcc-mysql.
fn all_on(engine: &str) {
    let number = ENGINES.iter().position(|known| *known == engine).unwrap();
    let of_terminals = Style::ALL.into_iter().rev().cycle().nth(number).unwrap();
    let work = directory();
    let settings = [
        "innodb_buffer_pool_size=256M",
        "innodb_log_file_size=16M",
        "innodb_flush_log_at_trx_commit=0",
    ];
    let server = Server::start(engine, &settings);
    mydyno(["load", "--dsn", &server.dsn, "-w", "2"]).in_directory(work.path()).run().exits(0);
    for style in Style::ALL {
        drive_style(&server, work.path(), style);
    }
    let terminals = run(&server, work.path(), "tpcc-spec", of_terminals.name());
    all_checks_hold(&terminals);
    let summary = run(&server, work.path(), "tpcc-mysql", "statements");
    let failed: Vec<&str> = summary["checks"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|check| check["passed"] == false)
        .map(|check| text(check, "/name"))
        .collect();
    let known = tpcc::tpcc_mysql::FAILING_CHECKS;
    assert!(failed.iter().all(|name| known.contains(name)), "{failed:?}");
}

engines! {
    all_on;
    others: soak;
}
