//! Requests that cannot be met: each is refused before anything is started, with what to do, and
//! nothing is lost.

use crate::support::{
    Held, Mydyno, Ran, directory, execute, home, lent, mydyno, number, result, results,
    servers_under, until, value,
};
use std::path::Path;

fn run(dsn: &str, work: &Path, arguments: &[&str]) -> Mydyno {
    run_for("1s", dsn, work, arguments)
}

fn run_for(window: &str, dsn: &str, work: &Path, arguments: &[&str]) -> Mydyno {
    mydyno(["run", "--dsn", dsn, "--warmup", "0", "--window", window, "--json"])
        .and_args(arguments)
        .in_directory(work)
}

fn refused(ran: Ran, words: &[&str]) {
    ran.exits(4).says(words).finds_nothing();
}

#[test]
fn numbers_that_make_no_sense_are_usage_errors() {
    let work = directory();
    let dsn = "mysql://nobody@127.0.0.1:1/tpcc";
    for arguments in [
        &["load", "--warehouses", "0"][..],
        &["load", "--warehouses", "-1"],
        &["load", "-w", "1000001"],
        &["load", "-w", "99999999999999999999"],
        &["load", "-w", "1.5"],
        &["load", "--threads", "0"],
        &["load", "--seed", "-1"],
        &["run", "-w", "0"],
        &["run", "-c", "0"],
        &["run", "-c", "-5"],
        &["run", "-c", "100001"],
        &["run", "--window", "0"],
        &["run", "--window", "-3s"],
        &["run", "--window", "soon"],
        &["run", "--interval", "0s"],
        &["run", "--interval", "20ms"],
        &["run", "--warmup", "1000d"],
        &["check", "-w", "2"],
        &["run", "--power-command", ""],
        &["run", "--power-command", "  "],
        &["run", "--host-metrics", ""],
        &["run", "--host-metrics", "db:9100"],
        &["run", "--host-metrics", "http://"],
        &["run", "--host-metrics", "http://:9100/metrics"],
        &["run", "--host-metrics", "http://db:x/metrics"],
        &["run", "--no-such-flag"],
    ] {
        let ran =
            mydyno(arguments).and_args(["--dsn", dsn]).in_directory(work.path()).run().exits(2);
        assert!(ran.stderr.starts_with("error: "), "{arguments:?}: {}", ran.stderr);
        assert_eq!(ran.stdout, "");
    }
    mydyno(["load", "-w", "0", "--dsn", dsn]).run().exits(2).says(&["from 1 to 1000000"]);
    for of_private in [["--engine", "mysql-5.7"], ["--set", "a=b"]] {
        let ran =
            mydyno(["run", "--dsn", dsn]).and_args(of_private).in_directory(work.path()).run();
        ran.exits(2).says(&[of_private[0], "leave one of them out"]);
    }
    let encrypted = ["run", "--host-metrics", "https://db:9100/metrics", "--dsn", dsn];
    mydyno(encrypted).run().exits(2).says(&["--host-metrics", "plain HTTP only"]);
    assert_eq!(std::fs::read_dir(work.path()).unwrap().count(), 0, "no file was made");
}

#[test]
fn unknown_engines_are_told_with_the_nearest_one() {
    let work = directory();
    for arguments in [
        &["run", "--engine", "mysql-5.8"][..],
        &["load", "--engine", "mysql-5.8"],
        &["check", "--engine", "mysql-5.8"],
        &["demo", "--engine", "mysql-5.8"],
        &["server", "install", "mysql-5.8"],
        &["server", "start", "--engine", "mysql-5.8", "--name", "never-started"],
    ] {
        mydyno(arguments).in_directory(work.path()).run().exits(2).says(&[
            "`mysql-5.8` is unknown",
            "did you mean `mysql-5.7`?",
            "mysql-8.0",
            "mariadb-10.11",
            "xtradb-5.6",
        ]);
    }
    assert!(!home().join("instances/never-started").exists());
}

#[test]
fn logins_that_fail() {
    let work = directory();
    let server = lent();
    let wrong = server.dsn.replace(server.password(), "s3cretly-wrong");
    for command in ["load", "run", "check"] {
        let dsn = wrong.as_str();
        let ran = mydyno([command, "--dsn", dsn]).in_directory(work.path()).run();
        assert!(!ran.stderr.contains("s3cretly"), "{}", ran.stderr);
        refused(ran, &["login of user \"mydyno\"", "was denied", "check user and password"]);
        let dsn = "mysql://u:s3cretly@127.0.0.1:1/tpcc";
        let ran = mydyno([command, "--dsn", dsn]).in_directory(work.path()).run();
        assert!(!ran.stderr.contains("s3cretly"), "{}", ran.stderr);
        refused(ran, &["cannot reach the server at 127.0.0.1:1", "refused", "check host, port"]);
        let dsn = "mysql://u@no-such-host.invalid/tpcc";
        let ran = mydyno([command, "--dsn", dsn]).in_directory(work.path()).run();
        refused(ran, &["cannot reach the server at no-such-host.invalid:3306"]);
    }
    let bytes = std::fs::read(work.path().join("mydyno.db")).unwrap();
    assert!(!contains(&bytes, "s3cretly"));
}

fn contains(bytes: &[u8], needle: &str) -> bool {
    bytes.windows(needle.len()).any(|window| window == needle.as_bytes())
}

#[test]
fn schemas_that_are_no_database_to_run_on() {
    let work = directory();
    let server = lent();
    execute(
        &server.dsn,
        [
            "CREATE DATABASE nothing",
            "CREATE DATABASE shop",
            "CREATE TABLE shop.orders (id INT PRIMARY KEY)",
        ],
    );
    let commands = |dsn: &str, words: &[&str]| {
        refused(run(dsn, work.path(), &[]).run(), words);
        refused(mydyno(["check", "--dsn", dsn]).run(), words);
    };
    let load = "mydyno load";
    commands(&server.schema("absent"), &["no schema \"absent\"", load]);
    commands(&server.schema("nothing"), &["schema \"nothing\" is empty", load]);
    commands(
        &server.schema("shop"),
        &["not a TPC-C database", "lacks item, warehouse, district", load],
    );
    let no_schema = server.dsn.strip_suffix("/tpcc").unwrap();
    commands(no_schema, &["no schema is selected", "mysql://user@host/tpcc"]);
    refused(
        mydyno(["load", "-w", "1", "--dsn", no_schema]).in_directory(work.path()).run(),
        &["names no schema"],
    );
    refused(
        run(&server.dsn, work.path(), &["-w", "2"]).run(),
        &["holds 1 warehouse, but 2 were asked for", "ask for at most 1, or load 2"],
    );
    execute(&server.dsn, ["DROP DATABASE nothing", "DROP DATABASE shop"]);
}

#[test]
fn limits_of_the_server_that_are_too_small() {
    let work = directory();
    let server = lent();
    let prepares = || value(&server.dsn, "SHOW GLOBAL STATUS LIKE 'Com_stmt_prepare'");
    let mut before = prepares();
    for (name, connections) in [("max_connections", "20"), ("max_prepared_stmt_count", "8")] {
        let usual = value(&server.dsn, &format!("SELECT @@global.{name}"));
        // What is open besides counts too: this one session, and none that is on its way out.
        let mut watcher = Held::open(&server.dsn);
        let mut asked = |connections: &str| {
            let open = "SHOW GLOBAL STATUS LIKE 'Threads_connected'";
            until("earlier sessions have ended", || watcher.query(open)[0].ends_with("|1"));
            run(&server.dsn, work.path(), &["-c", connections]).run()
        };
        execute(&server.dsn, [format!("SET GLOBAL {name} = 15")]);
        let ran = asked(connections);
        assert_eq!(prepares(), before, "nothing was started");
        let number_after = |words: &str| -> u64 {
            let (_, rest) =
                ran.stderr.split_once(words).unwrap_or_else(|| panic!("{}", ran.stderr));
            let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
            digits.parse().unwrap()
        };
        let needed = number_after(&format!("SET GLOBAL {name} = "));
        if name == "max_connections" {
            // As many as it says are possible are, and one more is not.
            let most = number_after("use at most ");
            asked(&most.to_string()).exits(0);
            refused(asked(&(most + 1).to_string()), &[&format!("use at most {most} ")]);
        }
        refused(ran, &[&format!("{name} of the server is 15"), &format!("need {needed}")]);
        // One less is too small, and what it says is enough.
        execute(&server.dsn, [format!("SET GLOBAL {name} = {}", needed - 1)]);
        let ran = asked(connections);
        refused(ran, &[&format!("need {needed}")]);
        execute(&server.dsn, [format!("SET GLOBAL {name} = {needed}")]);
        asked(connections).exits(0);
        execute(&server.dsn, [format!("SET GLOBAL {name} = {usual}")]);
        assert_ne!(prepares(), before);
        before = prepares();
    }
}

#[test]
fn read_only_servers() {
    let work = directory();
    let server = lent();
    execute(&server.dsn, ["SET GLOBAL super_read_only = ON"]);
    refused(run(&server.dsn, work.path(), &[]).run(), &["read-only", "read_only"]);
    for schema in ["tpcc", "fresh"] {
        let dsn = server.schema(schema);
        let ran =
            mydyno(["load", "--dsn", &dsn, "-w", "1", "--force"]).in_directory(work.path()).run();
        refused(ran, &["the server is read-only", "switch read_only off"]);
    }
    // Checking changes nothing.
    mydyno(["check", "--dsn", &server.dsn]).run().exits(0);
    execute(&server.dsn, ["SET GLOBAL super_read_only = OFF", "SET GLOBAL read_only = OFF"]);
    assert_eq!(value(&server.dsn, "SELECT COUNT(*) FROM warehouse"), "1");
}

#[test]
fn no_room_for_the_load() {
    let work = directory();
    let server = lent();
    let dsn = server.schema("huge");
    for socket in [false, true] {
        let dsn = match socket {
            true => format!("{dsn}?socket={}", server.socket.display()),
            false => dsn.clone(),
        };
        let ran = mydyno(["load", "--dsn", &dsn, "-w", "900000"]).in_directory(work.path()).run();
        refused(ran, &["900000 warehouses take about", "has room for", "load fewer warehouses"]);
    }
    let schemas = value(
        &server.schema("information_schema"),
        "SELECT COUNT(*) FROM schemata WHERE schema_name = 'huge'",
    );
    assert_eq!(schemas, "0", "nothing was created");
    let running =
        mydyno(["run", "--engine", "mysql-5.7", "-w", "900000"]).in_directory(work.path()).spawn();
    let owner = running.pid();
    refused(running.wait(), &["900000 warehouses take about", "has room for"]);
    assert_eq!(servers_under(owner), Vec::<u32>::new());
}

#[test]
fn results_files_that_are_not_to_be_written() {
    let work = directory();
    let server = lent();
    let file = work.path().join("mydyno.db");
    run(&server.dsn, work.path(), &["-c", "1"]).run().exits(0);
    let newer = rusqlite::Connection::open(&file).unwrap();
    newer.pragma_update(None, "user_version", 99).unwrap();
    drop(newer);
    std::fs::write(work.path().join("text"), "shopping list: milk, bread and butter\n").unwrap();
    let other = rusqlite::Connection::open(work.path().join("other.db")).unwrap();
    other.execute_batch("CREATE TABLE milk (litres INT)").unwrap();
    drop(other);
    for (name, words) in [
        ("mydyno.db", &["has format 99", "this mydyno reads format 1"][..]),
        ("text", &["is not a results file of mydyno", "--results"]),
        ("other.db", &["is not a results file of mydyno", "--results"]),
        (".", &["is not a results file of mydyno", "--results"]),
        ("absent/mydyno.db", &["its directory must exist"]),
    ] {
        let path = work.path().join(name);
        let before = std::fs::read(&path).ok();
        for command in ["run", "load", "report", "export"] {
            let target: &[&str] = match command {
                "run" | "load" => &["--dsn", &server.dsn],
                _ if name.starts_with("absent") => continue,
                _ => &[],
            };
            let ran = mydyno([command, "--results", name])
                .and_args(target)
                .in_directory(work.path())
                .run();
            refused(ran, words);
        }
        assert_eq!(before, std::fs::read(&path).ok(), "{name} was changed");
    }
}

/// A file that may not grow stands for a full disk: the same error of the file system, without a
/// file system of its own.
#[test]
fn a_full_disk_while_storing() {
    let work = directory();
    let server = lent();
    let file = work.path().join("mydyno.db");
    run(&server.dsn, work.path(), &["-c", "1"]).run().exits(0);
    let summary = |lab: &str| {
        let columns =
            "id, status, reason_code, measured_window_ns, statements, committed_new_orders";
        let sql = format!(
            "SELECT {columns} FROM repeat WHERE cell_id IN (SELECT id FROM cell WHERE lab_id = \
             {lab})"
        );
        results(&file, &sql)
    };
    let intervals = "SELECT COUNT(*) FROM interval WHERE repeat_id = 1";
    let (first, first_intervals) = (summary("1"), result(&file, intervals));
    assert_eq!(first[0][1], "done");
    let kib = file.metadata().unwrap().len() / 1024;
    for more in [8, 64, 200] {
        let ran = run_for("5s", &server.dsn, work.path(), &["-c", "4", "--interval", "100ms"])
            .files_of_at_most_kib(kib + more)
            .run();
        let words = ["no room to store results", "free space", "everything stored before is kept"];
        refused(ran, &words);
        assert_eq!(summary("1"), first);
        assert_eq!(result(&file, intervals), first_intervals);
        assert_eq!(result(&file, "PRAGMA integrity_check"), "ok");
    }
    // With room again, all is well.
    run(&server.dsn, work.path(), &["-c", "1"]).run().exits(0);
    let running = "SELECT COUNT(*) FROM repeat WHERE status = 'running'";
    assert_eq!(result(&file, running), "0");
    let last = "SELECT status FROM repeat ORDER BY id DESC LIMIT 1";
    assert_eq!(result(&file, last), "done");
}

#[test]
fn passwords_are_nowhere() {
    let work = directory();
    let server = lent();
    let secret = server.password().to_owned();
    let mut said = String::new();
    let run = ["run", "-c", "2", "--warmup", "0", "--window", "1s", "--dsn", &server.dsn];
    for (arguments, code) in [
        (&run[..], 0),
        (&[&run[..], &["--json"]].concat(), 0),
        (&["run", "-c", "9999", "--dsn", &server.dsn], 4),
        (&["load", "-w", "1", "--dsn", &server.dsn], 4),
        (&["load", "-w", "1", "--json", "--dsn", &server.schema("another")], 0),
        (&["check", "--json", "--dsn", &server.dsn], 0),
        (&["server", "list", "--json"], 0),
        (&["server", "list"], 0),
        (&["report"], 0),
        (&["export"], 0),
    ] {
        let ran = mydyno(arguments).in_directory(work.path()).run().exits(code);
        said.push_str(&ran.stdout);
        said.push_str(&ran.stderr);
    }
    execute(&server.dsn, ["DROP DATABASE another"]);
    assert!(!said.contains(&secret), "{said}");
    files_are_without(&secret, work.path());
    for entry in ["cmdline", "environ"] {
        let bytes = std::fs::read(format!("/proc/{}/{entry}", server.pid)).unwrap();
        assert!(!contains(&bytes, &secret), "{entry} of the server");
    }
    let mut session = Held::open(&server.dsn);
    let listed = session.query("SELECT info FROM information_schema.processlist");
    assert!(!listed.concat().contains(&secret));
    let log = std::fs::read(home().join("instances").join(&server.name).join("error.log")).unwrap();
    assert!(!contains(&log, &secret));
}

/// Results file, report and CSV files.
fn files_are_without(secret: &str, work: &Path) {
    let mut files = 0;
    for directory in [work.to_owned(), work.join("mydyno-csv")] {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() {
                files += 1;
                let bytes = std::fs::read(&path).unwrap();
                assert!(!contains(&bytes, secret), "{}", path.display());
            }
        }
    }
    assert!(files >= 8, "results, report and CSV files");
}

#[test]
fn names_of_servers_that_are_no_names_or_not_there() {
    mydyno(["server", "stop", "no-such-server"]).run().exits(2).says(&["no-such-server"]);
    mydyno(["server", "start", "--engine", "mysql-5.7", "--name", "../x"]).run().exits(2);
    let server = lent();
    let again = ["server", "start", "--engine", "mysql-5.7", "--name", &server.name];
    mydyno(again).run().exits(4).says(&[&server.name, &server.pid.to_string()]);
    let listed = mydyno(["server", "list", "--json"]).run().exits(0).json();
    assert_eq!(number(&listed, "/schema_version"), 1);
}
