//! Databases that mydyno did not load, as those of tpcc-mysql: they can be driven and checked, and
//! it is said what they are.

use crate::support::{Server, directory, mydyno, number, query, text, value};

#[test]
fn a_database_without_the_marks_of_mydyno() {
    let work = directory();
    let server = Server::loaded("mysql-5.7", &[]);
    query(&server.dsn, "DROP TABLE mydyno_meta, mydyno_load");
    let run = mydyno(["run", "--dsn", &server.dsn, "-c", "2", "--warmup", "0"])
        .and_args(["--window", "2s", "--check", "--json"])
        .in_directory(work.path())
        .run()
        .exits(0)
        .says(&["note: ", "not loaded by mydyno"]);
    let summary = run.json();
    assert_eq!(number(&summary, "/warehouses"), 1);
    assert_eq!(summary["foreign_keys"], true);
    assert_eq!(
        number(&summary, "/new_orders_in_database"),
        number(&summary, "/new_orders_committed_by_driver")
    );
    assert_eq!(summary["checks"].as_array().unwrap().len(), 18);
    assert!(summary["notes"].to_string().contains("not loaded by mydyno"), "{summary:#}");
    assert_eq!(text(&summary, "/status"), "done");
    mydyno(["check", "--dsn", &server.dsn]).run().exits(0);
    // It is another's, so it stays.
    for force in [&[][..], &["--force"]] {
        mydyno(["load", "--dsn", &server.dsn, "-w", "1"])
            .and_args(force)
            .in_directory(work.path())
            .run()
            .exits(4)
            .says(&["mydyno did not make"]);
    }
    assert_eq!(value(&server.dsn, "SELECT COUNT(*) FROM warehouse"), "1");
    mydyno(["run", "--dsn", &server.dsn, "-w", "2"])
        .in_directory(work.path())
        .run()
        .exits(4)
        .says(&["holds 1 warehouse, but 2 were asked for"]);
}
