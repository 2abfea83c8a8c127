//! Every check fails when it should: faults planted one by one into a consistent database are
//! found, named and counted.

mod planted;
mod unpopulated;

use crate::support::{Held, Server, directory, mydyno, number, result, text, until};
use planted::{FAULTS, Fault};
use serde_json::Value;

/// A database of the test's own, with one warehouse.
fn loaded() -> Server {
    Server::loaded("mysql-5.7", &[])
}

fn change(session: &mut Held, statements: &[&str]) {
    for sql in statements {
        session.query(sql);
    }
}

fn failed(checks: &Value) -> Vec<&str> {
    let checks = checks.as_array().unwrap();
    assert_eq!(checks.len(), 18);
    let failed = checks.iter().filter(|check| check["passed"] == false);
    failed.map(|check| text(check, "/name")).collect()
}

/// Faults that are there at the same time: no check fails by two of them.
fn groups() -> Vec<Vec<&'static Fault>> {
    let mut groups: Vec<Vec<&Fault>> = Vec::new();
    for fault in FAULTS {
        let is_apart =
            |other: &&Fault| other.fails.iter().all(|check| !fault.fails.contains(check));
        match groups.iter_mut().find(|group| group.iter().all(is_apart)) {
            Some(group) => group.push(fault),
            None => groups.push(vec![fault]),
        }
    }
    groups
}

#[test]
fn planted_faults_fail_their_checks_and_no_others() {
    each_is_found(&groups());
}

#[test]
#[ignore = "make soak"]
fn each_planted_fault_alone_fails_its_checks_and_no_others() {
    each_is_found(&FAULTS.iter().map(|fault| vec![fault]).collect::<Vec<_>>());
}

fn each_is_found(groups: &[Vec<&Fault>]) {
    let server = loaded();
    let dsn = &server.dsn;
    let mut session = Held::open(dsn);
    session.query("SET SESSION foreign_key_checks = 0");
    for group in groups {
        group.iter().for_each(|fault| change(&mut session, fault.plant));
        are_found(dsn, group);
        group.iter().rev().for_each(|fault| change(&mut session, fault.repair));
    }
    let repaired = mydyno(["check", "--dsn", dsn, "--json"]).run().exits(0).json();
    assert_eq!(failed(&repaired["checks"]), Vec::<&str>::new());
    assert_eq!(repaired["passed"], true);
}

fn are_found(dsn: &str, faults: &[&Fault]) {
    let document = mydyno(["check", "--dsn", dsn, "--json"]).run().exits(6).json();
    assert_eq!(document["passed"], false, "{faults:?}");
    let mut found = failed(&document["checks"]);
    found.sort_unstable();
    let mut expected: Vec<&str> = faults.iter().flat_map(|fault| fault.fails).copied().collect();
    expected.sort_unstable();
    assert_eq!(found, expected, "{:?}", faults.iter().map(|of| of.title).collect::<Vec<_>>());
    for check in document["checks"].as_array().unwrap() {
        let rows = number(check, "/offending_rows");
        let examples = check["examples"].as_array().unwrap();
        if check["passed"] == false {
            assert!(rows >= 1, "{faults:?}: {check:#}");
            assert!(!examples.is_empty() && examples.len() as u64 <= rows.min(10), "{check:#}");
        } else {
            assert_eq!(rows, 0, "{check:#}");
        }
    }
}

#[test]
fn a_fault_makes_a_run_with_checks_fail() {
    let (server, work) = (loaded(), directory());
    let dsn = &server.dsn;
    let fault = &FAULTS[0];
    assert_eq!(fault.check, "C1");
    change(&mut Held::open(dsn), fault.plant);
    // People are told which rows are wrong.
    let words = mydyno(["check", "--dsn", dsn]).run().exits(6);
    for word in ["C1  FAILED", "offending rows, such as", "16 of 18 checks passed"] {
        assert!(words.stdout.contains(word), "{word}: {}", words.stdout);
    }
    let run = |check: &[&str]| {
        mydyno(["run", "--dsn", dsn, "-c", "2", "--warmup", "0", "--window", "2s", "--json"])
            .and_args(check)
            .in_directory(work.path())
            .run()
    };
    let ran = run(&["--check"]).exits(6);
    let summary = ran.json();
    assert_eq!(text(&summary, "/status"), "failed");
    assert_eq!(text(&summary, "/reason_code"), "check_failed");
    assert!(summary["nopm"].is_null() && summary["tpm_total"].is_null());
    assert_eq!(failed(&summary["checks"]), ["C1", "C9"]);
    ran.says(&["checks failed: C1, C9"]);
    let file = work.path().join("mydyno.db");
    let stored = "SELECT status || ' ' || reason_code FROM repeat";
    assert_eq!(result(&file, stored), "failed check_failed");
    let stored = "SELECT COUNT(*) FROM check_result WHERE passed = 0 AND offending_rows >= 1";
    assert_eq!(result(&file, stored), "2");
    assert_eq!(result(&file, "SELECT status FROM lab"), "failed");
    // Without the checks nobody asks.
    assert_eq!(text(&run(&[]).exits(0).json(), "/status"), "done");
}

/// Somebody else gives out an order number during the run: the database's count is no longer the
/// driver's.
#[test]
fn a_second_writer_makes_a_run_fail() {
    let (server, work) = (loaded(), directory());
    let dsn = &server.dsn;
    let file = work.path().join("mydyno.db");
    let mut running = mydyno(["run", "--dsn", dsn, "-c", "2", "--warmup", "0", "--window", "3s"])
        .and_args(["--json"])
        .in_directory(work.path())
        .spawn();
    let mut other = Held::open(dsn);
    let executed = "SELECT COUNT(*) FROM history WHERE h_date > '2000-01-01'";
    let before: u64 = other.query(executed)[0].parse().unwrap();
    until("transactions run", || {
        assert!(!running.has_ended(), "{}", running.stderr());
        other.query(executed)[0].parse::<u64>().unwrap() > before
    });
    other.query("UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = 1 AND d_id = 1");
    let ran = running.wait().exits(6).says(&["does somebody else use it?"]);
    assert_eq!(text(&ran.json(), "/reason_code"), "check_failed");
    assert_eq!(result(&file, "SELECT status FROM repeat"), "failed");
    let sums = "SELECT district_next_o_id_sum_after - district_next_o_id_sum_before - \
        committed_new_orders FROM repeat";
    assert_eq!(result(&file, sums), "1");
}
