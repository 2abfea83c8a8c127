//! Workloads beside TPC-C: sysbench's OLTP, and those of a file.

use crate::support::{
    Mydyno, Server, directory, execute, float, list, mydyno, number, query, results, text, value,
};
use std::path::Path;
use std::sync::LazyLock;
use tempfile::TempDir;

static SERVER: LazyLock<Server> = LazyLock::new(|| Server::quick("mysql-8.0", &[]));
static WORK: LazyLock<TempDir> = LazyLock::new(directory);

fn shop() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plans/shop.workload.toml");
    path.to_str().unwrap().to_owned()
}

fn command(name: &str, dsn: &str, workload: &str, more: &[&str]) -> Mydyno {
    mydyno([name, "--json", "--dsn", dsn, "--workload", workload])
        .and_args(more)
        .in_directory(WORK.path())
}

fn run(dsn: &str, workload: &str) -> Mydyno {
    let lengths = ["-c", "4", "--warmup", "0", "--window", "1", "--check"];
    command("run", dsn, workload, &lengths)
}

#[test]
fn sysbench_oltp_loads_runs_and_is_proven() {
    let dsn = SERVER.schema("sbtest");
    let tables = ["--tables", "2", "--table-size", "5000"];
    let load =
        |more: &[&str]| command("load", &dsn, "sysbench-oltp", &[&tables[..], more].concat());
    let loaded = load(&[]).run().exits(0).json();
    assert_eq!(number(&loaded, "/rows"), 10_000);
    assert_eq!(text(&loaded, "/tables/1/name"), "sbtest2");
    // As sysbench's: eleven digits a group, and an index that was made behind the rows.
    let shape = "SELECT COUNT(*) FROM sbtest1 WHERE c REGEXP '^([0-9]{11}-){9}[0-9]{11}$' \
                 AND pad REGEXP '^([0-9]{11}-){4}[0-9]{11}$' AND k BETWEEN 1 AND 5000";
    assert_eq!(value(&dsn, shape), "5000");
    load(&[]).run().exits(4).says(&["not empty", "--force"]);
    let again = load(&["--force"]).run().exits(0).json();
    assert_eq!(again["tables"], loaded["tables"]);
    for mix in ["", "-read-only", "-write-only", "-point-select", "-uniform"] {
        let workload = format!("sysbench-oltp{mix}");
        let summary = run(&dsn, &workload).run().exits(0).json();
        assert_eq!(text(&summary, "/workload"), workload);
        let checks = summary["checks"].as_array().unwrap();
        assert_eq!(checks.len(), 2);
        assert!(checks.iter().all(|check| check["passed"] == true));
        // Deadlocks are tried again; nothing else may fail.
        let mut errors = summary["errors"].as_array().unwrap().iter();
        assert!(errors.all(|error| error["code"] == "1213"), "{summary}");
    }
    // sysbench's own names are taken, too. Rates that change are followed.
    let all = ["oltp_update_index", "oltp_update_non_index", "select_random_points"];
    for script in all.into_iter().chain(["select_random_ranges"]) {
        run(&dsn, script).run().exits(0);
    }
    let zipfian = ["--warmup", "1", "--window", "2", "--rand-type", "zipfian:2"];
    let rate = ["--rate", "0s:100,1s:300", "--arrivals", "uniform"];
    let zipfian = command("run", &dsn, "oltp_point_select", &zipfian).and_args(rate);
    let summary = zipfian.run().exits(0).json();
    let setting = "SELECT value FROM cell_setting WHERE name = 'rand_type'";
    assert_eq!(results(&WORK.path().join("mydyno.db"), setting), [["zipfian:2"]]);
    assert_eq!(text(&summary, "/open_loop/rate_asked"), "0s:100,1s:300");
    assert_eq!(float(&summary, "/open_loop/rate_per_s"), 200.0);
    assert!(number(&summary, "/open_loop/offered").abs_diff(400) <= 1, "{summary}");
    execute(&dsn, ["DELETE FROM sbtest.sbtest2 WHERE id = 77"]);
    let checked = command("check", &dsn, "sysbench-oltp", &[]).run().exits(6);
    assert_eq!(checked.json()["checks"][1]["examples"][0], "4999, 1, 5000");
    run(&dsn, "tpcc").run().exits(4).says(&["mydyno load"]);
    // These two leave other rows, and say so by no check.
    for (script, grown) in [("oltp_insert", 1), ("oltp_delete", -1)] {
        let rows = || value(&dsn, "SELECT COUNT(*) FROM sbtest1").parse::<i64>().unwrap();
        let before = rows();
        let summary = run(&dsn, script).run().exits(0).json();
        assert!((rows() - before) * grown > 0 && list(&summary, "/checks").is_empty());
    }
    execute(&dsn, ["CREATE TABLE sbtest.sbtest9 (id INT PRIMARY KEY)"]);
    let drop = || command("drop", &dsn, "sysbench-oltp", &[]).run();
    drop().exits(4).says(&["sbtest9", "did not make"]);
    execute(&dsn, ["DROP TABLE sbtest.sbtest9", "CREATE TABLE sbtest.sbtest_kept (id INT)"]);
    let dropped = drop().exits(0).json();
    assert_eq!(dropped["schemas"][0]["dropped"], serde_json::json!(["sbtest1", "sbtest2"]));
    assert_eq!(value(&dsn, "SHOW TABLES"), "sbtest_kept");
    assert_eq!(drop().exits(0).json()["schemas"][0]["dropped"], serde_json::json!([]));
}

/// Comments, quotes and values of all kinds; a table that another one refers to.
const AS_PEOPLE_WRITE: &str = r#"
[[setup]]
sql = '''
-- it's the customers' table
CREATE TABLE IF NOT EXISTS `people` (
  id INT PRIMARY KEY,  # the person's id
  name VARCHAR(40) NULL, /* who's there? :nobody */
  born DATE NULL, seen DATETIME NULL, paid DECIMAL(10,2) NULL, score DOUBLE, flag BIT(1), t TIME
) ENGINE=InnoDB COMMENT 'the shop''s \\ people';
'''

[[setup]]
sql = """create table pays (id INT AUTO_INCREMENT PRIMARY KEY, person INT,
  FOREIGN KEY (person) REFERENCES people (id))"""

[[setup]]
sql = "DROP PROCEDURE IF EXISTS pay;"

[[setup]]
sql = """CREATE PROCEDURE pay(p INT)
BEGIN INSERT INTO pays (person) VALUES (p); SELECT * FROM people WHERE id = p; END;"""

[[setup]]
sql = """INSERT INTO people
  VALUES (:id, :name, :born, :seen, :paid, 1.5, b'1', '10:20:30'); -- that's one"""
times = 300
parameters.id = { sequence = { from = 1 } }
parameters.name = { one_of = ["it's", "O\\Hara", "-- no :comment", { null = true }] }
parameters.born = { one_of = [1999-12-31, { null = true }] }
parameters.seen = { one_of = [2024-02-29T23:59:58] }
parameters.paid = { one_of = [0.10, -12.75, 3] }

[[transaction]]
name = "look"
statements = ["SELECT *  -- what's there\nFROM people /* the table */ WHERE id = :id; # done"]
parameters.id = { pareto = { from = 1, to = 300 } }

[[transaction]]
name = "change"
statements = [
  "-- it's first\nSELECT paid FROM people WHERE id = :id FOR UPDATE;",
  "UPDATE people SET seen = NOW(), name = :name WHERE id = :id",
]
parameters.id = { gaussian = { from = 1, to = 300 } }
parameters.name = { one_of = ["x", { null = true }] }

[[transaction]]
name = "call"
statements = ["CALL pay(:id)"]
parameters.id = { zipfian = { from = 1, to = 300 } }

[[check]]
name = "paid"
sql = "SELECT id FROM people WHERE paid NOT IN (0.1, -12.75, 3) -- nobody's\n;"
"#;

#[test]
fn a_file_as_people_write_it_is_loaded_and_dropped_again() {
    let dsn = SERVER.schema("people");
    let path = WORK.path().join("people.toml");
    std::fs::write(&path, AS_PEOPLE_WRITE).unwrap();
    let file = path.to_str().unwrap();
    let load = |more: &[&str]| command("load", &dsn, file, more).run();
    load(&[]).exits(0);
    let kinds = "SELECT COUNT(*), SUM(born IS NULL) BETWEEN 100 AND 200, COUNT(DISTINCT name), \
                 COUNT(DISTINCT paid), MAX(seen) FROM people";
    let loaded = query(&dsn, kinds);
    assert_eq!(loaded, ["300|1|3|3|2024-02-29 23:59:58"]);
    let names = "SELECT DISTINCT name FROM people ORDER BY name";
    assert_eq!(query(&dsn, names), ["NULL", "-- no :comment", "it's", "O\\Hara"]);
    let summary = run(&dsn, file).run().exits(0).json();
    assert_eq!(list(&summary, "/errors").len(), 0, "{summary}");
    let done = |name: &str| {
        let pointer = format!("/transactions/{name}/committed");
        number(&summary, &pointer)
    };
    assert!(["look", "change", "call"].iter().all(|name| done(name) > 10), "{summary}");

    // Once more, also where a row refers to another one; the comment of a table stays.
    load(&[]).exits(4).says(&["not empty", "--force"]);
    load(&["--force"]).exits(0);
    assert_eq!(query(&dsn, kinds), loaded);
    let comment = "SELECT table_comment FROM information_schema.tables WHERE table_schema = \
                   DATABASE() AND table_name = 'people'";
    assert_eq!(value(&dsn, comment), "the shop's \\ people (mydyno)");
    // A table of that name that somebody else made stays, and so does all else.
    execute(&dsn, ["DROP TABLE people.pays", "CREATE TABLE people.pays (id INT PRIMARY KEY)"]);
    let drop = || command("drop", &dsn, file, &[]).run();
    let told = ["pays", "did not make"];
    load(&["--force"]).exits(4).says(&told);
    drop().exits(4).says(&told);
    assert_eq!(query(&dsn, "SHOW TABLES"), ["pays", "people"]);
    execute(&dsn, ["RENAME TABLE people.pays TO people.theirs"]);
    assert_eq!(drop().exits(0).json()["schemas"][0]["dropped"], serde_json::json!(["people"]));
    assert_eq!(query(&dsn, "SHOW TABLES"), ["theirs"]);
}

#[test]
fn what_a_load_of_tpcc_made_is_dropped() {
    let dsn = SERVER.schema("dropped");
    let command = |name: &str, more: &[&str]| {
        mydyno([name, "--json", "--dsn", &dsn]).and_args(more).in_directory(WORK.path()).run()
    };
    command("load", &["-w", "1"]).exits(0);
    let lengths = ["--style", "procedures", "--warmup", "0", "--window", "1"];
    command("run", &lengths).exits(0);
    execute(&dsn, ["CREATE TABLE dropped.mine (id INT)"]);
    let dropped = command("drop", &[]).exits(0).json();
    // Nine tables, two that say what they are, and five procedures.
    assert_eq!(list(&dropped, "/schemas/0/dropped").len(), 16, "{dropped}");
    assert_eq!(query(&dsn, "SHOW TABLES"), ["mine"]);
    execute(&dsn, ["CREATE TABLE dropped.stock (id INT)"]);
    command("drop", &[]).exits(4).says(&["did not make (stock)"]);
    let private = mydyno(["drop", "--engine", "mysql-8.0"]).in_directory(WORK.path()).run();
    private.exits(2).says(&["mydyno server images --remove"]);
}

#[test]
fn tables_have_the_options_that_are_asked_for_and_transactions() {
    let dsn = SERVER.schema("options");
    let options = "ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=8";
    let tables = ["--table-size", "100", "--table-options", options];
    command("load", &dsn, "sysbench-oltp", &tables).run().exits(0);
    let made = "SELECT create_options FROM information_schema.tables WHERE table_name = 'sbtest1' \
                AND table_schema = 'options'";
    assert_eq!(value(&dsn, made), "row_format=COMPRESSED KEY_BLOCK_SIZE=8");
    run(&dsn, "sysbench-oltp").run().exits(0);

    execute(&dsn, ["ALTER TABLE options.sbtest1 ENGINE=MyISAM ROW_FORMAT=DEFAULT"]);
    let refused = ["sbtest1 (MyISAM)", "ALTER TABLE sbtest1 ENGINE=InnoDB", "only reads"];
    run(&dsn, "sysbench-oltp").run().exits(4).says(&refused);
    let notes = |document: serde_json::Value| document["notes"].to_string();
    let read = run(&dsn, "sysbench-oltp-point-select").run().exits(0).json();
    let checked = command("check", &dsn, "sysbench-oltp", &[]).run().exits(0).json();
    for told in [notes(read), notes(checked)] {
        assert!(told.contains("tables without transactions: sbtest1 (MyISAM)"), "{told}");
    }
}

#[test]
fn transactions_of_a_file_have_rows_of_their_own() {
    let dsn = SERVER.schema("shop");
    let shop = shop();
    command("load", &dsn, &shop, &[]).run().exits(0);
    assert_eq!(value(&dsn, "SELECT COUNT(*) FROM product"), "10000");
    let summary = run(&dsn, &shop).run().exits(0).json();
    assert_eq!(text(&summary, "/checks/0/name"), "stock");
    assert_eq!(summary["checks"][0]["passed"], true, "{summary}");
    execute(&dsn, ["UPDATE shop.product SET stock = stock - 1"]);
    run(&dsn, &shop).run().exits(6);
    let wrong = WORK.path().join("wrong.toml");
    std::fs::write(&wrong, "[[transaction]]\nname = \"a\"\nstatments = []\n").unwrap();
    let wrong = wrong.to_str().unwrap();
    let told = ["wrong.toml: line 3", "statments"];
    run(&dsn, wrong).run().exits(3).says(&told);
}

#[test]
#[ignore = "make soak"]
fn private_servers_have_the_database_of_the_workload() {
    let work = directory();
    let plan = "[lab]\nname = 'oltp'\nrepeats = 2\n[server]\nengine = 'mysql-5.7'\n\
                preset = 'config-3'\n[storage]\ndata = 'nvme-pm1725'\n[load]\n\
                workload = 'sysbench-oltp'\ntables = 2\ntable_size = 500\nconnections = 2\n\
                warmup = 0\nwindow = 1\n";
    std::fs::write(work.path().join("oltp.toml"), plan).unwrap();
    let run = |arguments: &[&str]| mydyno(arguments).in_directory(work.path()).run();
    let lab = run(&["lab", "run", "oltp.toml", "--json"]).exits(0).json();
    assert_eq!(lab["status"], "done", "{lab}");
    let file = work.path().join("mydyno.db");
    let settings = "SELECT name || '=' || value FROM cell_setting ORDER BY name";
    let settings: Vec<String> = results(&file, settings).into_iter().flatten().collect();
    assert_eq!(settings, ["data=nvme-pm1725", "preset=config-3", "table_size=500", "tables=2"]);
    // An image stays, and the same flags find it. That of the preset is another one.
    let load = ["load", "--engine", "mysql-5.7", "--workload", "sysbench-oltp", "--json"];
    let load = || run(&[&load[..], &["--tables", "2", "--table-size", "500"]].concat());
    load().exits(0);
    assert_eq!(load().exits(0).json()["already_there"], true);

    let mut text = std::fs::read_to_string(shop()).unwrap();
    for comment in ["", "# Another one.\n"] {
        text.push_str(comment);
        std::fs::write(work.path().join("shop.toml"), &text).unwrap();
        let load = || run(&["load", "--engine", "mysql-5.7", "--workload", "shop.toml", "--json"]);
        assert_eq!(number(&load().exits(0).json(), "/schema_version"), 1);
        assert_eq!(load().exits(0).json()["already_there"], true);
    }
}

/// Names and values in any script, and what a statement may answer: several results, values of all
/// types, rows without a limit, a request for a file.
#[test]
fn statements_of_any_kind_in_any_script() {
    let work = directory();
    let file = work.path().join("größe.toml");
    std::fs::write(
        &file,
        r#"
        [[setup]]
        sql = """CREATE TABLE städte (id INT PRIMARY KEY, name VARCHAR(40), j JSON, f DOUBLE,
          d DATE, big BIGINT UNSIGNED, t LONGTEXT) CHARACTER SET utf8mb4"""
        [[setup]]
        sql = """INSERT INTO städte VALUES (1, 'Zürich', '{"a": 1}', 1.5, '2020-01-01',
          18446744073709551615, REPEAT('x', 1000))"""
        [[setup]]
        sql = """CREATE PROCEDURE zwei(IN a INT) BEGIN SELECT * FROM städte; SELECT a, 1, 2;
          UPDATE städte SET f = f + 1; SELECT NULL; END"""
        [[transaction]]
        name = "ruf"
        statements = ["CALL zwei(:a)"]
        parameters.a = { uniform = { from = 1, to = 10 } }
        [[transaction]]
        name = "größe"
        statements = ["SELECT s.*, REPEAT(t, 20000) FROM städte AS s WHERE name = :n"]
        parameters.n = { one_of = ["Zürich"] }
        "#,
    )
    .unwrap();
    let file = file.to_str().unwrap();
    let dsn = SERVER.schema("t%C3%A4st-1");
    let ascii = SERVER.schema("tpcc");
    execute(&ascii, ["SET GLOBAL max_allowed_packet = 1073741824"]);
    command("load", &dsn, file, &[]).run().exits(0);
    assert_eq!(value(&dsn, "SELECT HEX(name) FROM `städte`"), "5AC3BC72696368");
    execute(
        &ascii,
        [
            "CREATE USER 'jürgen' IDENTIFIED WITH mysql_native_password BY 'paß'",
            "GRANT ALL ON *.* TO 'jürgen'",
        ],
    );
    let jürgen = dsn.replace("//mydyno:", "//j%C3%BCrgen:").replace(SERVER.password(), "pa%C3%9F");
    for more in [&[][..], &["--no-prepare"]] {
        let summary = run(&jürgen, file).and_args(more).run().exits(0).json();
        assert!(summary["errors"].as_array().unwrap().is_empty(), "{summary:#}");
        for name in ["ruf", "größe"] {
            let committed = number(&summary, &format!("/transactions/{name}/committed"));
            assert!(committed > 0, "{name}: {summary:#}");
        }
        let length = "SELECT LENGTH(name) FROM `städte` WHERE f > 1.5";
        assert_eq!(value(&dsn, length), "7");
    }
    let asks = work.path().join("asks.toml");
    let sql = "LOAD DATA LOCAL INFILE '/etc/hostname' INTO TABLE städte (name)";
    let table = format!("[[transaction]]\nname = \"a\"\nstatements = [\"{sql}\"]\n");
    std::fs::write(&asks, table).unwrap();
    let asks = asks.to_str().unwrap();
    run(&dsn, asks).and_args(["--no-prepare"]).run().exits(1).says(&["2068", "no files"]);
}

/// As many tables as others measure with: more prepared statements than servers allow by default,
/// which is told, with two ways out.
#[test]
#[ignore = "make soak"]
fn tables_in_hundreds() {
    let dsn = SERVER.schema("hundreds");
    let tables = ["--tables", "250", "--table-size", "100"];
    let loaded = command("load", &dsn, "sysbench-oltp", &tables).run().exits(0).json();
    assert_eq!(number(&loaded, "/rows"), 25_000);
    assert_eq!(list(&loaded, "/tables").len(), 250);
    let begun = "SHOW GLOBAL VARIABLES LIKE 'max_prepared_stmt_count'";
    let usual = value(&dsn, begun).split_once('|').unwrap().1.to_owned();
    execute(&dsn, ["SET GLOBAL max_prepared_stmt_count = 4000"]);
    let refused = run(&dsn, "sysbench-oltp").run().exits(4);
    refused.says(&["max_prepared_stmt_count of the server is 4000", "--no-prepare"]);
    let well = |ran: Mydyno| {
        let summary = ran.run().exits(0).json();
        assert!(number(&summary, "/transactions/read_write/committed") > 0, "{summary:#}");
        assert!(list(&summary, "/checks").iter().all(|check| check["passed"] == true));
        assert_eq!(number(&summary, "/transactions/read_write/errors"), 0, "{summary:#}");
    };
    well(run(&dsn, "sysbench-oltp").and_args(["--no-prepare"]));
    execute(&dsn, [format!("SET GLOBAL max_prepared_stmt_count = {usual}")]);
    well(run(&dsn, "sysbench-oltp"));
}
