//! Accounts that may not log in, and limits of accounts, of servers and of this process that are
//! too low: each ends the command by name, with what to do. What logins say is in `logins`, limits
//! of all connections of a server in `bad_input`.

use crate::connections;
use crate::support::{Server, directory, execute, mydyno, try_connect};

fn dsn(server: &Server, user: &str, options: &str) -> String {
    format!("mysql://{user}:s3cret@127.0.0.1:{}/tpcc{options}", server.port)
}

/// With what the engine says of an account that is locked, and of a password that has expired.
fn are_named(engine: &str, locked: &[&str], expired: &[&str]) {
    let server = Server::loaded(engine, &["log_bin=binlog", "server_id=1"]);
    let work = directory();
    let method = match engine.starts_with("mysql") {
        true => "WITH mysql_native_password BY 's3cret'",
        false => "BY 's3cret'",
    };
    for (user, options) in [
        ("clerk", ""),
        ("locked", "ACCOUNT LOCK"),
        ("expired", "PASSWORD EXPIRE"),
        ("few", "WITH MAX_USER_CONNECTIONS 4"),
    ] {
        let create = format!("CREATE USER {user} IDENTIFIED {method} {options}");
        execute(&server.dsn, [create, format!("GRANT ALL ON *.* TO {user}")]);
    }
    let run = |dsn: &str, arguments: &str| {
        let short = "run -c 8 --warmup 0 --window 1s".split(' ');
        let more = arguments.split(' ').filter(|word| !word.is_empty());
        mydyno(short.chain(more)).and_args(["--dsn", dsn, "--json"]).in_directory(work.path())
    };
    let refused = |user: &str, options: &str, arguments: &str, words: &[&str]| {
        let ran = run(&dsn(&server, user, options), arguments).run().exits(4);
        let ran = ran.says(words).finds_nothing();
        assert!(!ran.stderr.contains("s3cret"), "{}", ran.stderr);
    };
    refused("locked", "", "", &[locked, &["ACCOUNT UNLOCK"]].concat());
    refused("expired", "", "", expired);
    refused("few", "", "", &["max_user_connections", "raise that limit", "fewer connections"]);

    execute(&server.dsn, ["SET GLOBAL binlog_format = 'STATEMENT'"]);
    let words = ["binlog_format of the server is STATEMENT", "SET GLOBAL binlog_format = 'ROW'"];
    refused("clerk", "", "--isolation read-committed", &words);
    // Both ways out that it names.
    let clerk = dsn(&server, "clerk", "");
    run(&clerk, "--isolation repeatable-read").run().exits(0);
    execute(&server.dsn, ["SET GLOBAL binlog_format = 'ROW'"]);
    run(&clerk, "--isolation read-committed").run().exits(0);

    // The last, as plain logins of this test are refused from here on.
    execute(&server.dsn, ["SET GLOBAL require_secure_transport = ON"]);
    let words = ["insecure transport", "require_secure_transport", "use ssl-mode=REQUIRED"];
    refused("clerk", "?ssl-mode=DISABLED", "", &words);
    if engine.starts_with("mysql") {
        let encrypted = try_connect(&dsn(&server, "clerk", "?ssl-mode=REQUIRED")).unwrap();
        assert_eq!(encrypted.transport(), "tcp+tls");
    }
}

#[test]
fn accounts_and_settings_are_named_on_mysql_8_0() {
    are_named("mysql-8.0", &["3118", "locked"], &["password has expired", "must change it"]);
}

#[test]
#[ignore = "make soak"]
fn accounts_and_settings_are_named_on_mariadb_11_8() {
    are_named("mariadb-11.8", &["4151", "locked"], &["1820", "SET PASSWORD"]);
}

#[test]
fn too_few_open_files() {
    let (server, work) = (connections::server(), directory());
    let new = server.schema("crowded");
    for (arguments, dsn) in
        [("run -c 100 --window 1s", &server.dsn), ("load -w 1 --threads 64", &new)]
    {
        let command = mydyno(arguments.split(' ')).and_args(["--dsn", dsn]);
        let ran = command.in_directory(work.path()).with_open_files(80).run().exits(4);
        ran.says(&["open files, but this process may have 80", "raise `ulimit -n`"]);
    }
}

/// No home, one that is not there yet, and one that cannot be made. A read-only one would be none
/// for root.
#[test]
fn homes_that_are_none() {
    let (server, work) = (connections::server(), directory());
    let at = |home: &str, arguments: &[&str]| {
        let command = mydyno(arguments).in_directory(work.path()).env("HOME", home);
        command.env("MYDYNO_HOME", "").env("XDG_DATA_HOME", "").run()
    };
    let fresh = work.path().join("fresh").display().to_string();
    let list = ["server", "list"];
    at(&fresh, &list).exits(0);
    for (home, words) in [("", "none of MYDYNO_HOME"), ("/proc/none", "cannot make the directory")]
    {
        let words = ["no directory for mydyno's own data", words, "set MYDYNO_HOME"];
        at(home, &list).exits(4).says(&words);
        at(home, &["run", "--engine", "mysql-8.0"]).exits(4).says(&words);
        // It needs none.
        at(home, &["check", "--dsn", &server.dsn]).exits(0);
    }
}
