//! What people read: the help of every command, and the messages of the errors that they meet
//! first.

use crate::support::{directory, mydyno};

/// Help and messages as they are on a terminal of 100 columns.
macro_rules! help_is_as_agreed {
    ($($name:ident: $arguments:expr;)+) => {
        $(#[test]
        fn $name() {
            let arguments: &[&str] = &$arguments;
            let ran = mydyno(arguments).and_args(["--help"]).run().exits(0);
            assert_eq!(ran.stderr, "");
            insta::assert_snapshot!(ran.stdout);
        })+
    };
}

help_is_as_agreed! {
    mydyno_itself: [];
    demo: ["demo"];
    load: ["load"];
    drop: ["drop"];
    run: ["run"];
    ramp: ["ramp"];
    check: ["check"];
    advise: ["advise"];
    tune: ["tune"];
    workload: ["workload"];
    workload_from_digests: ["workload", "from-digests"];
    server: ["server"];
    server_list: ["server", "list"];
    server_install: ["server", "install"];
    server_start: ["server", "start"];
    server_stop: ["server", "stop"];
    server_images: ["server", "images"];
    device: ["device"];
    device_list: ["device", "list"];
    device_show: ["device", "show"];
    device_verify: ["device", "verify"];
    device_probe: ["device", "probe"];
    device_fit: ["device", "fit"];
    lab: ["lab"];
    lab_plan: ["lab", "plan"];
    lab_check: ["lab", "check"];
    lab_run: ["lab", "run"];
    lab_status: ["lab", "status"];
    merge: ["merge"];
    report: ["report"];
    compare: ["compare"];
    export: ["export"];
    serve: ["serve"];
    completions: ["completions"];
    man: ["man"];
}

#[test]
fn the_version() {
    let ran = mydyno(["--version"]).run().exits(0);
    assert_eq!(ran.stdout, format!("mydyno {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn messages() {
    let work = directory();
    let unreachable = "mysql://me:geheim@127.0.0.1:1/tpcc";
    let mut said = String::new();
    for arguments in [
        &[][..],
        &["rnu"],
        &["run"],
        &["run", "--dsn", unreachable],
        &["run", "--dsn", "postgres://me@db/tpcc"],
        &["run", "--dsn", "mysql://me:geheim@db:99999/tpcc"],
        &["run", "--dsn", "mysql://me@db/tpcc?ssl-mode=MAYBE"],
        &["run", "--dsn", unreachable, "--engine", "mysql-5.7"],
        &["run", "--dsn", unreachable, "--window", "soon"],
        &["run", "--dsn", unreachable, "-w", "0"],
        &["run", "--dsn", unreachable, "--metrics-listen", "9187"],
        &["run", "--dsn", unreachable, "--watch", "--json"],
        &["run", "--engine", "mysql-5.9"],
        &["run", "--engine", "mysql-5.7", "--set", "innodb_io_capacity"],
        &["run", "--server-binary", "/nonexistent/mysqld"],
        &["run", "--defaults-file", "/nonexistent/my.cnf"],
        &["run", "--dsn", unreachable, "--results", "/nonexistent/mydyno.db"],
        &["check", "--dsn", unreachable],
        &["check", "--dsn", unreachable, "-w", "3"],
        &["load", "--dsn", unreachable],
        &["server", "stop", "nobody"],
        &["server", "start"],
        &["device", "show", "hdd-51k"],
        &["device", "show", "/nonexistent/mine.toml"],
        &["device", "verify"],
        &["device", "verify", "hdd-15k", "--seconds", "0"],
        &["device", "verify", "--all", "hdd-15k"],
        &["device", "probe", "/tmp", "--profile", "profile"],
        &["device", "fit", "/nonexistent/iostat.log"],
        &["lab", "plan", "/nonexistent/plan.toml"],
        &["merge", "/nonexistent/a.db", "--into", "all.db"],
        &["report", "--results", "/nonexistent/mydyno.db"],
        &["report", "7"],
        &["compare", "1", "2"],
        &["compare", "1"],
        &["compare", "1", "2.x"],
        &["export", "--results", "/nonexistent/mydyno.db"],
    ] {
        // A home without servers, whose names would be told.
        let ran = mydyno(arguments)
            .env("MYDYNO_HOME", work.path().join("home"))
            .in_directory(work.path())
            .run();
        let code = ran.code.unwrap();
        assert_ne!(code, 0, "{arguments:?}");
        // With --json stdout has why, once more.
        assert_eq!(ran.stdout.is_empty(), !arguments.contains(&"--json"), "{arguments:?}");
        let line = arguments.join(" ");
        said.push_str(&format!("$ mydyno {line}\n{}=> {code}\n\n", ran.stderr));
    }
    let told: Vec<&str> = said.lines().filter(|line| !line.starts_with('$')).collect();
    assert!(!told.concat().contains("geheim"), "{said}");
    insta::assert_snapshot!(said);
}
