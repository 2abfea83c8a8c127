//! A workload file from the digests of a server, and what comes of it on another schema.

use crate::support::{Server, directory, execute, list, mydyno, query, value};
use std::collections::BTreeMap;
use std::path::Path;

/// An application as one may be: keys of numbers and of texts, a key of several columns that refers
/// to another table, lists, ranges, rows that are added.
const APPLICATION: &str = r#"
[[setup]]
sql = """CREATE TABLE account (id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY,
  email VARCHAR(60) NOT NULL, state ENUM('new', 'it''s paid') NOT NULL, born DATE,
  balance DECIMAL(10, 2) NOT NULL, UNIQUE KEY (email), KEY (state)) COMMENT 'people''s'"""
[[setup]]
sql = """INSERT INTO account (id, email, state, balance)
  VALUES (:id, CONCAT('user', :id, '@example.com'), 1 + :id % 2, 10)"""
times = 900
parameters.id = { sequence = { from = 1 } }
[[setup]]
sql = """CREATE TABLE item (account BIGINT UNSIGNED NOT NULL, number SMALLINT NOT NULL,
  name VARCHAR(30), at DATETIME NOT NULL, PRIMARY KEY (account, number),
  CONSTRAINT of_account FOREIGN KEY (account) REFERENCES account (id))"""
[[setup]]
sql = """INSERT INTO item SELECT id, number, 'thing', NOW() FROM account
  JOIN (SELECT 1 AS number UNION ALL SELECT 2 UNION ALL SELECT 3) AS numbers"""
[[setup]]
sql = "CREATE TABLE log (id INT AUTO_INCREMENT PRIMARY KEY, account BIGINT, what VARCHAR(200))"

[[transaction]]
name = "by_id"
weight = 10
statements = ["SELECT * FROM account WHERE id = :id"]
parameters.id = { uniform = { from = 1, to = 900 } }
[[transaction]]
name = "by_email"
weight = 6
statements = ["SELECT id, balance FROM account WHERE email = :email"]
parameters.email = { one_of = ["user7@example.com", "user8@example.com"] }
[[transaction]]
name = "in_range"
weight = 5
statements = ["SELECT SUM(balance), COUNT(*) FROM account WHERE id BETWEEN :first AND :last"]
parameters.first = { uniform = { from = 1, to = 800 } }
parameters.last = { offset = { of = "first", plus = 49 } }
[[transaction]]
name = "several"
weight = 3
statements = ["SELECT id FROM account WHERE id IN (:a, :b, :c, 5)"]
parameters.a = { uniform = { from = 100, to = 200 } }
parameters.b = { uniform = { from = 300, to = 400 } }
parameters.c = { uniform = { from = 500, to = 600 } }
[[transaction]]
name = "items"
weight = 5
statements = ["SELECT name FROM item WHERE account = :id ORDER BY number DESC LIMIT 2"]
parameters.id = { uniform = { from = 1, to = 900 } }
[[transaction]]
name = "join"
weight = 3
statements = ["""SELECT a.email, IFNULL(i.name, 'none') FROM account AS a
  LEFT JOIN item i ON i.account = a.id AND i.at >= '2020-01-01' WHERE a.id = :id"""]
parameters.id = { uniform = { from = 1, to = 900 } }
[[transaction]]
name = "pay"
weight = 4
statements = [
  "UPDATE account SET balance = balance + 5, state = 'new' WHERE id = :id",
  "INSERT INTO log (account, what) VALUES (:id, 'secret'), (:id, 'secret'), (:id, 'b')",
]
parameters.id = { uniform = { from = 1, to = 900 } }
[[transaction]]
name = "register"
weight = 2
statements = ["INSERT INTO account (email, state, born, balance) VALUES (:email, 'new', NOW(), 0)"]
parameters.email = { string = { length = 20 } }
"#;

const FORGET: &str = "TRUNCATE TABLE performance_schema.events_statements_summary_by_digest";

/// Runs a workload of a file, with its statements as text: what a server prepares has no digests.
fn drive(dsn: &str, file: &str, work: &Path) {
    let load = ["load", "--dsn", dsn, "--workload", file];
    mydyno(load).in_directory(work).run().exits(0);
    query(dsn, "ANALYZE TABLE account, item");
    execute(dsn, [FORGET]);
    let lengths = ["-c", "2", "--warmup", "0", "--window", "3", "--no-prepare", "--json"];
    let run = mydyno(["run", "--dsn", dsn, "--workload", file]).and_args(lengths);
    let summary = run.in_directory(work).run().exits(0).json();
    let mut errors = list(&summary, "/errors").iter();
    let is_conflict = |code: &str| ["1213", "1020"].contains(&code);
    assert!(errors.all(|error| is_conflict(error["code"].as_str().unwrap())), "{summary:#}");
}

/// Shares of the digests of a schema that read or change rows, in percent.
fn mix(dsn: &str) -> BTreeMap<String, f64> {
    let digests = "SELECT COUNT_STAR, TRIM(DIGEST_TEXT) FROM \
                   performance_schema.events_statements_summary_by_digest WHERE SCHEMA_NAME = \
                   DATABASE() AND DIGEST_TEXT REGEXP '^(SELECT|INSERT|UPDATE) ' AND COUNT_STAR > \
                   20 AND DIGEST_TEXT NOT REGEXP '@@|information_schema'";
    let rows = query(dsn, digests).into_iter();
    let counts: Vec<(String, f64)> = rows
        .map(|row| {
            let (count, text) = row.split_once('|').unwrap();
            (text.to_owned(), count.parse().unwrap())
        })
        .collect();
    let all: f64 = counts.iter().map(|(_, count)| count).sum();
    counts.into_iter().map(|(text, count)| (text, count * 100.0 / all)).collect()
}

fn a_workload_has_the_mix_of_the_digests(engine: &str) {
    let work = directory();
    let server = Server::quick(engine, &["performance_schema=ON"]);
    let dsn = server.schema("shop");
    let application = work.path().join("application.toml");
    std::fs::write(&application, APPLICATION).unwrap();
    drive(&dsn, application.to_str().unwrap(), work.path());
    let expected = mix(&dsn);
    assert_eq!(expected.len(), 9, "{expected:#?}");

    let made = work.path().join("made.toml");
    let made = made.to_str().unwrap();
    let from = ["workload", "from-digests", "--dsn", &dsn, "--output", made];
    let told = mydyno(from).in_directory(work.path()).run().exits(0);
    told.says(&["9 of ", "Left out", "COMMIT: begins or ends a transaction", "prepared"]);
    let text = std::fs::read_to_string(made).unwrap();
    // Values of rows and statements are not in it, but for the ends of keys of numbers.
    assert!(!text.contains("example.com") && !text.contains("secret"), "{text}");
    // 50 rows of a range, three rows of an insert, two of a limit.
    for part in
        ["plus = 4", "(:account, :what), (:account_2, :what_2), (:account_3", "from = 2, to = 2"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    let other = server.schema("other");
    drive(&other, made, work.path());
    let rows = "SELECT COUNT(*), COUNT(DISTINCT account), MAX(number) FROM item";
    assert_eq!(value(&other, "SELECT MAX(id) >= 900 FROM account"), "1");
    assert!(query(&other, rows)[0].ends_with("|3"), "{:?}", query(&other, rows));
    let found = mix(&other);
    assert_eq!(found.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>());
    for (digest, share) in &expected {
        let off = (found[digest] - share).abs();
        assert!(off < 3.0, "{digest}: {share:.1} % became {:.1} %", found[digest]);
    }
}

engines! {
    a_workload_has_the_mix_of_the_digests;
    test: mysql_8_0;
    soak: mysql_5_7, mysql_9_7, mariadb_11_8;
}

#[test]
fn what_digests_need_is_named() {
    let work = directory();
    let of = |dsn: &str| {
        let from = ["workload", "from-digests", "--dsn", dsn];
        mydyno(from).in_directory(work.path()).run()
    };
    let off = Server::quick("mysql-8.0", &[]);
    of(&off.schema("mysql")).exits(4).says(&["performance_schema is off"]);
    let server = Server::quick("mysql-8.0", &["performance_schema=ON"]);
    of(&server.schema("")).exits(4).says(&["names no schema"]);
    execute(
        &server.dsn,
        [
            "CREATE DATABASE idle",
            "CREATE USER nobody IDENTIFIED WITH mysql_native_password BY 'x'",
            "GRANT ALL ON idle.* TO nobody",
            FORGET,
        ],
    );
    let idle = server.schema("idle");
    let nobody = idle.replace("//mydyno:", "//nobody:").replace(server.password(), "x");
    of(&nobody).exits(4).says(&["setup_consumers", "GRANT SELECT ON performance_schema.*"]);
    execute(
        &server.dsn,
        [
            "UPDATE performance_schema.setup_consumers SET ENABLED = 'NO' WHERE NAME = \
             'statements_digest'",
            FORGET,
        ],
    );
    of(&idle).exits(4).says(&["consumer statements_digest is off"]);
    execute(
        &server.dsn,
        ["UPDATE performance_schema.setup_consumers SET ENABLED = 'YES' WHERE NAME = \
          'statements_digest'"],
    );
    // The program itself has asked something meanwhile.
    of(&idle).exits(4).says(&["no digest of schema idle", "let the application run"]);
}
