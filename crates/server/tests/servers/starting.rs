//! What a started server is, and what is said where it does not start.

use crate::{
    ENGINES, FAMILIES, SOME_ENGINES, STOP_TIMEOUT, alive, build, by_socket, exists, exit_of,
    has_redo, left_in_run, own_home, query, redo_bytes, refused, set, small, start, variable,
};
use server::{
    Availability, Ending, Home, ImageContents, Instance, InstanceOptions, Secret, ServerBuild,
    ServerError, Target, TargetRequest, find, kept_images, list, render_dsn,
};
use std::collections::BTreeSet;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;
use wire::{ConnectOptions, Password};

#[test]
fn all_engines_that_can_be_fetched_are_tested() {
    let fetched = server::engines().iter().filter(|engine| engine.can_be_fetched());
    let fetched: BTreeSet<&str> = fetched.map(|engine| engine.name.as_str()).collect();
    assert_eq!(fetched, BTreeSet::from(ENGINES));
}

#[test]
fn every_engine_installs_starts_and_stops() {
    for engine in ENGINES {
        let build = build(engine);
        assert_eq!(build.engine, engine);
        let (_temp, home) = own_home();
        let server = start(&home, &build, InstanceOptions::default());
        let tcp = server.connect_options();
        let version = query(&tcp, "SELECT VERSION()").concat();
        assert!(version.starts_with(&build.version), "{version} of {}", build.version);
        assert_eq!(query(&by_socket(server.socket(), tcp.clone()), "SELECT 1"), ["1"]);
        effective_settings(&server);
        let grants = query(&tcp, "SHOW GRANTS").concat();
        assert!(grants.contains("WITH GRANT OPTION"), "{grants}");
        nobody_else_gets_in(&server);
        secrets_are_kept(&server);

        let directory = server.data_directory().parent().unwrap().to_owned();
        assert_eq!(server.exited(), None);
        assert!(server.log_tail().contains("ready for connections"), "{}", server.log_tail());
        assert_eq!(server.stop(STOP_TIMEOUT).unwrap(), Ending::Clean, "{engine}");
        assert!(server.exited().is_some() && !alive(server.pid()));
        assert!(server.data_directory().join("ibdata1").is_file());
        drop(server);
        assert!(!exists(&directory));
        assert!(left_in_run(&home).is_empty());
    }
}

/// Data directories are initialised once; those that keep their settings are by themselves.
#[test]
fn fresh_data_is_a_clone_where_it_can_be() {
    let build = build("mysql-5.7");
    let (_temp, home) = own_home();
    let images = || -> Vec<ImageContents> {
        let kept = kept_images(&home).unwrap();
        kept.iter().map(|image| image.key().contents.clone()).collect()
    };
    let with = |name: &str, value: &str| {
        let mut options = small();
        options.set.push((name.to_owned(), value.to_owned()));
        variable(&start(&home, &build, options).connect_options(), name)
    };
    assert_eq!(with("lower_case_table_names", "1"), "1");
    assert_eq!(images(), []);
    assert_eq!(with("innodb_io_capacity", "300"), "300");
    assert_eq!(with("innodb_io_capacity", "400"), "400");
    assert_eq!(images(), [ImageContents::Initialised { initialised: 1 }]);
    assert_eq!(with("innodb_page_size", "4096"), "4096");
    assert_eq!(images().len(), 2);
}

/// What the settings say is what the server has.
fn effective_settings(server: &Instance) {
    let tcp = server.connect_options();
    for (name, value) in [
        ("innodb_flush_method", "O_DIRECT"),
        ("innodb_flush_log_at_trx_commit", "1"),
        ("innodb_buffer_pool_size", "1073741824"),
        ("max_connections", "1000"),
        ("max_prepared_stmt_count", "200000"),
        ("performance_schema", "0"),
        ("log_bin", "0"),
        ("skip_name_resolve", "1"),
        ("local_infile", "1"),
    ] {
        assert_eq!(variable(&tcp, name), value, "{name} of {}", server.build().engine);
    }
    listens_on_loopback_only(server);
    let doublewrite = variable(&tcp, "innodb_doublewrite");
    assert!(doublewrite == "1" || doublewrite == "ON", "{doublewrite}");
    assert_eq!(redo_bytes(server), 512 << 20);
    assert!(server.notes.is_empty(), "{:?}", server.notes);
}

/// The kernel's own list: this port is open on 127.0.0.1 and nowhere else.
fn listens_on_loopback_only(server: &Instance) {
    let sockets = std::fs::read_to_string(format!("/proc/{}/net/tcp", server.pid())).unwrap();
    let port = format!(":{:04X}", server.port);
    let listening = |line: &&str| {
        let mut words = line.split_whitespace().skip(1);
        let local = words.next().unwrap_or("");
        words.nth(1) == Some("0A") && local.ends_with(&port)
    };
    let locals: Vec<&str> = sockets.lines().filter(listening).collect();
    assert_eq!(locals.len(), 1);
    assert!(locals[0].contains("0100007F:"), "{locals:?}");
}

fn nobody_else_gets_in(server: &Instance) {
    let tcp = server.connect_options();
    for (user, password) in [("root", ""), ("", ""), ("mydyno", "wrong"), ("nobody", "")] {
        let options = ConnectOptions {
            user: user.to_owned(),
            password: Password::new(password),
            ..tcp.clone()
        };
        let text = refused(&options).to_string();
        assert!(!text.contains("wrong"), "{text}");
    }
    let accounts = query(&tcp, "SELECT user, host FROM mysql.user");
    assert!(accounts.iter().all(|a| !a.starts_with('|')), "{accounts:?}");
}

fn secrets_are_kept(server: &Instance) {
    let options = server.connect_options();
    let secret = options.password.reveal();
    assert!(!render_dsn(&options, Secret::Hidden).contains(secret));
    assert!(!server.my_cnf().contains(secret));
    assert!(!server.log_tail().contains(secret));
    let line = std::fs::read(format!("/proc/{}/cmdline", server.pid())).unwrap();
    assert!(!String::from_utf8_lossy(&line).contains(secret));
    let directory = server.data_directory().parent().unwrap();
    assert!(!exists(&directory.join("init.sql")));
    let password = directory.join("password").metadata().unwrap();
    assert_eq!(password.permissions().mode() & 0o777, 0o600);
    let dsn = Some(render_dsn(&options, Secret::Shown));
    let shown = Target::resolve(&TargetRequest { dsn, ..TargetRequest::default() }).unwrap();
    assert_eq!(shown.connect, options);
}

#[test]
fn a_variable_that_is_none_stops_the_start_with_its_log() {
    for engine in SOME_ENGINES {
        let build = build(engine);
        let (_temp, home) = own_home();
        let mut options = small();
        options.set.push(("innodb-speed".to_owned(), "11".to_owned()));
        let error = Instance::start(&home, &build, options).unwrap_err();
        assert_eq!(exit_of(&error), 5);
        let text = error.to_string();
        assert!(text.contains("unknown variable 'innodb_speed=11'"), "{engine}: {text}");
        assert!(error.log_tail().unwrap().contains("innodb_speed"));
        assert!(left_in_run(&home).is_empty());
    }
}

#[test]
fn a_taken_port_costs_a_note_and_nothing_else() {
    let holder = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let taken = holder.local_addr().unwrap().port();
    for engine in SOME_ENGINES {
        let build = build(engine);
        let (_temp, home) = own_home();
        let options = InstanceOptions { port: Some(taken), ..small() };
        let server = start(&home, &build, options);
        assert_ne!(server.port, taken);
        assert!(server.notes.iter().any(|n| n.contains(&taken.to_string())), "{:?}", server.notes);
        assert_eq!(query(&server.connect_options(), "SELECT 1"), ["1"]);
    }
}

#[test]
fn two_starts_at_once_do_not_collide() {
    let build = build("mysql-5.7");
    let (_temp, home) = own_home();
    let servers: Vec<Instance> = std::thread::scope(|scope| {
        let threads: Vec<_> =
            (0..2).map(|_| scope.spawn(|| start(&home, &build, small()))).collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    });
    // The threads that started them are gone; the servers are not.
    std::thread::sleep(Duration::from_millis(200));
    for server in &servers {
        assert_eq!(server.exited(), None);
        assert_eq!(query(&server.connect_options(), "SELECT 1"), ["1"]);
    }
    assert_ne!(servers[0].port, servers[1].port);
    assert_ne!(servers[0].socket(), servers[1].socket());
    assert_eq!(left_in_run(&home).len(), 2);
}

#[test]
fn a_server_that_dies_says_how() {
    let build = build("mariadb-10.11");
    let (_temp, home) = own_home();
    let server = start(&home, &build, small());
    server.kill().unwrap();
    let how = server.exited().unwrap();
    assert!(how.contains("SIGKILL"), "{how}");
    assert!(matches!(server.stop(STOP_TIMEOUT).unwrap(), Ending::Died(_)));
    assert!(server.log_tail().contains("ready for connections"));
}

#[test]
fn data_and_redo_can_lie_elsewhere() {
    for engine in FAMILIES {
        let build = build(engine);
        let (temp, home) = own_home();
        let data = temp.path().join("device one/data");
        let redo = temp.path().join("device two/redo");
        let mut options = small();
        options.data_directory = Some(data.clone());
        options.scratch = vec![redo.clone()];
        let redo_text = redo.to_str().unwrap();
        options.set.extend(set(&[("innodb_log_group_home_dir", redo_text)]));
        let server = start(&home, &build, options.clone());
        assert!(has_redo(&redo), "{engine}");
        assert_eq!(server.data_directory(), data);
        // It is in use, and never taken twice.
        let error = Instance::start(&home, &build, options).unwrap_err();
        assert!(matches!(error, ServerError::Data { .. }), "{error}");
        assert!(data.is_dir());
        drop(server);
        assert!(!exists(&data) && !exists(&redo));
        assert!(temp.path().join("device one").is_dir());
    }
}

#[test]
fn a_long_home_works() {
    let build = build("mysql-8.0");
    let temp = tempfile::tempdir().unwrap();
    let home = Home::at(temp.path().join("a long name ".repeat(8))).unwrap();
    let server = start(&home, &build, small());
    let socket = server.socket().to_owned();
    assert_eq!(query(&by_socket(&socket, server.connect_options()), "SELECT 1"), ["1"]);
    drop(server);
    assert!(!exists(socket.parent().unwrap()));
}

#[test]
fn a_tmpfs_without_direct_io_is_noted_or_works() {
    let shm = std::path::Path::new("/dev/shm");
    if !shm.is_dir() {
        println!("not tried: there is no /dev/shm");
        return;
    }
    let build = build("mysql-5.7");
    let temp = tempfile::tempdir_in(shm).unwrap();
    let home = Home::at(temp.path()).unwrap();
    let server = start(&home, &build, small());
    let method = variable(&server.connect_options(), "innodb_flush_method");
    assert_eq!(method == "O_DIRECT", server.notes.is_empty(), "{:?}", server.notes);
}

#[test]
fn engines_are_listed_found_and_known_by_binary() {
    let build = build("mysql-5.7");
    let home = Home::from_env().unwrap();
    let listed = list(&home).unwrap();
    let entry = listed.iter().find(|e| e.engine.name == "mysql-5.7").unwrap();
    assert_eq!(entry.availability, Availability::Installed);
    assert_eq!(entry.build.as_ref().unwrap().version, "5.7.22");
    assert_eq!(find(&home, "mysql-5.7").unwrap(), build);

    let by_path = ServerBuild::from_binary(&build.binary).unwrap();
    assert_eq!((by_path.engine.as_str(), by_path.version.as_str()), ("mysql-5.7", "5.7.22"));
    let (_temp, own) = own_home();
    let server = start(&own, &by_path, small());
    assert_eq!(query(&server.connect_options(), "SELECT 1"), ["1"]);
}
