//! Who outlives whom. The parents of these tests are this test binary run again, with one test and
//! an order in its environment.

use crate::{
    FAMILIES, STOP_TIMEOUT, alive, build, by_socket, left_in_run, own_home, query, small, start,
    start_named, until,
};
use server::{
    AfterStop, Ending, Home, ImageKey, Instance, ServerBuild, ServerError, install, named,
    stop_named,
};
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

pub const ORDER: &str = "MYDYNO_TEST_ORDER";
const BINARY: &str = "MYDYNO_TEST_BINARY";
pub const REPORT: &str = "MYDYNO_TEST_REPORT";

/// Not a test by itself: what a child process of the tests below does.
#[test]
fn as_a_child() {
    let Ok(order) = std::env::var(ORDER) else {
        return;
    };
    let home = Home::from_env().unwrap();
    let report = std::env::var(REPORT).unwrap();
    let tell = |text: String| {
        let new = format!("{report}.new");
        fs::write(&new, text).unwrap();
        fs::rename(&new, &report).unwrap();
    };
    if let Some(engine) = order.strip_prefix("install ") {
        let result = install(&home, engine, None, &mut |_| {});
        return tell(match result {
            Ok(build) => format!("installed {}", build.version),
            Err(error) => error.to_string(),
        });
    }
    let build = ServerBuild::from_binary(Path::new(&std::env::var(BINARY).unwrap())).unwrap();
    match order.as_str() {
        "start and wait" => {
            let server = start(&home, &build, small());
            tell(server.pid().to_string());
            std::thread::sleep(std::time::Duration::from_secs(120));
        }
        "start named and leave" => {
            let server = start_named(&home, &build, "lab", small()).unwrap();
            tell(server.pid().to_string());
        }
        "be an ordinary user" => {
            let server = start(&home, &build, small());
            let login = server.connect_options();
            tell(query(&login, "SELECT VERSION()").concat());
            assert_eq!(server.stop(STOP_TIMEOUT).unwrap(), Ending::Clean);
        }
        other => panic!("unknown order {other}"),
    }
}

fn child(
    program: &str,
    arguments: &[&str],
    home: &Home,
    build: &ServerBuild,
    order: &str,
) -> Child {
    let mut command = Command::new(program);
    command
        .args(arguments)
        .args(["--exact", "lifetimes::as_a_child", "--nocapture"])
        .env("MYDYNO_HOME", home.root())
        .env(BINARY, &build.binary)
        .env(ORDER, order)
        .env(REPORT, home.root().join("report"))
        .stdin(Stdio::null());
    command.spawn().unwrap()
}

fn this_binary() -> String {
    std::env::current_exe().unwrap().to_str().unwrap().to_owned()
}

fn reported(home: &Home) -> String {
    let path = home.root().join("report");
    until("the child reports", || path.exists());
    fs::read_to_string(&path).unwrap()
}

#[test]
fn a_killed_parent_leaves_no_server_and_the_next_start_sweeps() {
    for engine in FAMILIES {
        let build = build(engine);
        let (_temp, home) = own_home();
        let mut parent = child(&this_binary(), &[], &home, &build, "start and wait");
        let pid: u32 = reported(&home).parse().unwrap();
        assert!(alive(pid));
        assert_eq!(left_in_run(&home).len(), 1);
        parent.kill().unwrap();
        parent.wait().unwrap();
        until("the server dies", || !alive(pid));
        // Its files are still there, until somebody starts again.
        let stale = left_in_run(&home);
        assert_eq!(stale.len(), 1);
        let server = start(&home, &build, small());
        assert!(!stale[0].exists(), "{engine}");
        assert_eq!(query(&server.connect_options(), "SELECT 1"), ["1"]);
    }
}

#[test]
fn a_named_server_lives_until_it_is_stopped() {
    for engine in FAMILIES {
        let build = build(engine);
        let (_temp, home) = own_home();
        let mut parent = child(&this_binary(), &[], &home, &build, "start named and leave");
        assert!(parent.wait().unwrap().success());
        let pid: u32 = reported(&home).parse().unwrap();
        assert!(alive(pid));

        let listed = named(&home).unwrap();
        assert_eq!(listed.len(), 1);
        let lab = &listed[0];
        assert_eq!((lab.name.as_str(), lab.pid, lab.running), ("lab", pid, true));
        assert_eq!(lab.engine, engine);
        let login = lab.connect_options().unwrap();
        query(&login, "CREATE DATABASE kept");
        assert_eq!(query(&by_socket(&lab.socket, login.clone()), "SELECT 1"), ["1"]);
        assert!(lab.log_tail().contains("ready for connections"));

        // A private start beside it sweeps nothing of it.
        drop(start(&home, &build, small()));
        let error = start_named(&home, &build, "lab", small()).unwrap_err();
        assert!(matches!(error, ServerError::AlreadyRunning { .. }), "{error}");
        assert!(alive(pid));

        assert_eq!(
            stop_named(&home, "lab", STOP_TIMEOUT, AfterStop::KeepData, |_| ()).unwrap(),
            Ending::Clean
        );
        assert!(!alive(pid));
        assert!(!named(&home).unwrap()[0].running);
        goes_on(&home, &build);
    }
}

/// A second start of the name has the data of the first.
fn goes_on(home: &Home, build: &ServerBuild) {
    let server = start_named(home, build, "lab", small()).unwrap();
    let schemas = query(&server.connect_options(), "SHOW DATABASES");
    assert!(schemas.contains(&"kept".to_owned()), "{schemas:?}");
    assert_eq!(server.notes.len(), 1, "{:?}", server.notes);
    let pid = server.pid();
    drop(server);
    assert!(alive(pid), "dropping the handle of a named server stops nothing");
    let ended = stop_named(home, "lab", STOP_TIMEOUT, AfterStop::RemoveData, |_| ()).unwrap();
    assert_eq!(ended, Ending::Killed);
    assert!(named(home).unwrap().is_empty());
    assert!(!home.instances().join("lab").exists());
}

#[test]
fn a_named_start_that_fails_leaves_nothing() {
    let build = build("mysql-5.7");
    let (_temp, home) = own_home();
    let mut options = small();
    options.set.push(("no_such_thing".to_owned(), "1".to_owned()));
    assert!(start_named(&home, &build, "lab", options).is_err());
    assert!(!home.instances().join("lab").exists());
    assert!(named(&home).unwrap().is_empty());
    let image_key = ImageKey {
        engine: String::new(),
        version: String::new(),
        contents: server::ImageContents::Tpcc {
            schema_version: 1,
            warehouses: 1,
            foreign_keys: true,
            partitions: 0,
            history_key: false,
            shard: None,
        },
        page_size_bytes: 16384,
        seed: 1,
        settings: Vec::new(),
        table_options: None,
    };
    assert!(server::Image::find(&home, &image_key).is_none());
}

#[test]
fn no_variable_puts_files_into_another_server() {
    let build = build("mysql-5.7");
    let (_temp, home) = own_home();
    let set = |value: &str| {
        let mut options = small();
        options.set.push(("innodb_log_group_home_dir".to_owned(), value.to_owned()));
        options
    };
    let first = start_named(&home, &build, "a", small()).unwrap();
    let its = first.data_directory().to_str().unwrap();
    for value in [its, "../../a/data", "../../a/data/new", home.images().to_str().unwrap()] {
        let error = start_named(&home, &build, "b", set(value)).unwrap_err().to_string();
        assert!(error.contains("another server"), "{value}: {error}");
        assert!(!home.instances().join("b").exists());
    }
    drop(first);
    stop_named(&home, "a", STOP_TIMEOUT, AfterStop::KeepData, |_| ()).unwrap();
    // Its own is no other's, before and after it has files there.
    let again = start_named(&home, &build, "a", set("./")).unwrap();
    drop(again);
    stop_named(&home, "a", STOP_TIMEOUT, AfterStop::RemoveData, |_| ()).unwrap();
}

#[test]
fn a_killed_named_server_goes_on_after_recovery() {
    let build = build("xtradb-5.6");
    let (_temp, home) = own_home();
    let server = start_named(&home, &build, "lab", small()).unwrap();
    let login = server.connect_options();
    query(&login, "CREATE TABLE mysql.t1 (a INT PRIMARY KEY) ENGINE=InnoDB");
    query(&login, "INSERT INTO mysql.t1 VALUES (1)");
    server.kill().unwrap();
    drop(server);
    assert!(!named(&home).unwrap()[0].running);
    let server = start_named(&home, &build, "lab", small()).unwrap();
    assert_eq!(query(&server.connect_options(), "SELECT a FROM mysql.t1"), ["1"]);
    drop(server);
    stop_named(&home, "lab", STOP_TIMEOUT, AfterStop::RemoveData, |_| ()).unwrap();
}

/// Copies what the child needs to where `nobody` may read it, and runs the child as `nobody`.
#[test]
fn an_ordinary_user_can_do_it_too() {
    let user = Command::new("id").arg("-u").output().unwrap();
    if user.stdout != b"0\n" {
        return; // then every other test ran as an ordinary user
    }
    // A server that came with a C library of its own asks for its loader where it was installed,
    // and cannot be copied.
    for engine in FAMILIES {
        let installed = build(engine);
        let temp = tempfile::tempdir().unwrap();
        let engine_root = Home::from_env().unwrap().engines().join(engine);
        let copy = temp.path().join("engine");
        let run = |program: &str, arguments: &[&str]| {
            let status = Command::new(program).args(arguments).status().unwrap();
            assert!(status.success(), "{program} {arguments:?}");
        };
        let text = |path: &Path| path.to_str().unwrap().to_owned();
        run("cp", &["-r", &text(&engine_root), &text(&copy)]);
        let binary = temp.path().join("test");
        fs::copy(this_binary(), &binary).unwrap();
        let moved = |path: &Path| copy.join(path.strip_prefix(&engine_root).unwrap());
        let build = ServerBuild { binary: moved(&installed.binary), ..installed };
        let home = Home::at(temp.path().join("home")).unwrap();
        run("chmod", &["-R", "a+rX", &text(temp.path())]);
        run("chmod", &["-R", "700", &text(home.root())]);
        run("chown", &["-R", "65534:65534", &text(home.root())]);
        let arguments = ["--reuid=65534", "--regid=65534", "--clear-groups", &text(&binary)];
        let mut user = child("setpriv", &arguments, &home, &build, "be an ordinary user");
        assert!(user.wait().unwrap().success(), "{engine}");
        assert!(reported(&home).starts_with(&build.version));
        assert!(left_in_run(&home).is_empty());
    }
}

#[test]
fn dropping_a_private_server_ends_it() {
    let build = build("mysql-8.0");
    let (_temp, home) = own_home();
    let server: Instance = start(&home, &build, small());
    let pid = server.pid();
    drop(server);
    assert!(!alive(pid));
    assert!(left_in_run(&home).is_empty());
}
