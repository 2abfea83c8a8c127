//! Faults of tools that load, one for each rule of the population.

use super::{change, loaded};
use crate::support::{Held, directory, lent, list, mydyno, text};
use serde_json::Value;

/// Each breaks the rule that it is listed with, and leaves no trace of a transaction.
const FAULTS: [(&str, &str); 19] = [
    (
        "P1",
        "INSERT INTO item SELECT 100001, i_im_id, i_name, i_price, i_data FROM item WHERE i_id=1",
    ),
    ("P2", "UPDATE item SET i_name='short' WHERE i_id=7"),
    ("P3", "UPDATE item SET i_data=REPLACE(i_data,'ORIGINAL','original') WHERE i_id<=20000"),
    ("P4", "UPDATE district SET d_zip='123456789' WHERE d_w_id=1 AND d_id=3"),
    ("P5", "DELETE FROM stock WHERE s_w_id=1 AND s_i_id=9"),
    ("P6", "UPDATE stock SET s_dist_07='seven' WHERE s_w_id=1 AND s_i_id=10"),
    ("P7", "UPDATE stock SET s_data=REPLACE(s_data,'ORIGINAL','original') WHERE s_i_id<=20000"),
    ("P8", "DELETE FROM customer WHERE c_w_id=1 AND c_d_id=1 AND c_id=3000"),
    ("P9", "UPDATE customer SET c_discount=0.51 WHERE c_w_id=1 AND c_d_id=2 AND c_id=5"),
    ("P10", "UPDATE customer SET c_last='BARBARBAR' WHERE c_w_id=1 AND c_d_id=3 AND c_id=1000"),
    ("P11", "UPDATE customer SET c_credit='BC' WHERE c_w_id=1 AND c_d_id=4"),
    ("P12", "UPDATE orders SET o_c_id=o_id WHERE o_w_id=1 AND o_d_id=5"),
    (
        "P13",
        "UPDATE order_line SET ol_amount=1 WHERE ol_w_id=1 AND ol_d_id=6 AND ol_o_id=2100 AND \
         ol_number=1",
    ),
    ("P14", "UPDATE warehouse SET w_ytd=3000000 WHERE w_id=1"),
    ("P15", "UPDATE stock SET s_order_cnt=1 WHERE s_w_id=1 AND s_i_id=11"),
    ("P16", "UPDATE customer SET c_balance=10 WHERE c_w_id=1 AND c_d_id=7 AND c_id=1"),
    ("P17", "UPDATE history SET h_amount=11 WHERE h_c_w_id=1 AND h_c_d_id=8 AND h_c_id=1"),
    ("P18", "UPDATE orders SET o_carrier_id=1 WHERE o_w_id=1 AND o_d_id=9 AND o_id=2101"),
    ("P19", "DELETE FROM new_orders WHERE no_w_id=1 AND no_d_id=10 AND no_o_id=3000"),
];

fn failed_rules(checks: &[Value]) -> Vec<&str> {
    let failed = checks.iter().filter(|check| check["passed"] == false);
    failed.map(|check| text(check, "/name")).filter(|name| name.starts_with('P')).collect()
}

#[test]
fn each_broken_rule_of_the_population_is_found() {
    let server = loaded();
    let audit = || mydyno(["check", "--dsn", &server.dsn, "--population", "--json"]).run();
    let document = audit().exits(0).json();
    assert_eq!(list(&document, "/checks").len(), 18 + FAULTS.len());
    assert_eq!(document["notes"].as_array().unwrap().len(), 0);
    let mut session = Held::open(&server.dsn);
    session.query("SET SESSION foreign_key_checks = 0");
    change(&mut session, &FAULTS.map(|(_, plant)| plant));
    let document = audit().exits(6).json();
    assert_eq!(failed_rules(list(&document, "/checks")), FAULTS.map(|(rule, _)| rule));
}

/// One that mydyno did not load has to be told from one that a run has changed.
#[test]
fn after_a_run_only_what_it_leaves_alone_is_asked() {
    let (server, work) = (lent(), directory());
    mydyno(["run", "--dsn", &server.dsn, "-c", "2", "--warmup", "0", "--window", "2s"])
        .in_directory(work.path())
        .run()
        .exits(0);
    let audited = mydyno(["check", "--dsn", &server.dsn, "--population"]).run().exits(0);
    assert!(audited.stdout.contains("31 of 31 checks passed"), "{}", audited.stdout);
    audited.says(&["P14 to P19 are not asked"]);
    mydyno(["check", "--dsn", &server.dsn, "--population", "--workload", "sysbench-oltp"])
        .run()
        .exits(2)
        .says(&["--population"]);
}
