//! A secret that stands where secrets can stand is in no file, report or process list of mydyno's.

use crate::support::{SMALL_REDO, directory, mydyno, populate, shim, until};
use std::fs;
use std::path::{Path, PathBuf};

/// In options and comments.
const SECRET: &str = "geheim-0815";
/// Of commands of the user's, which the process list shows while they run.
const OF_METER: &str = "geheim-4711";
/// Files of the results, while they are written.
const FILES: [&str; 2] = ["all.db", "all.db-wal"];

/// Files below a directory.
fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

#[track_caller]
fn is_without_secrets(what: &str, bytes: &[u8]) {
    for secret in [SECRET, OF_METER] {
        let found = bytes.windows(secret.len()).position(|of| of == secret.as_bytes());
        let near = found.map(|at| String::from_utf8_lossy(&bytes[at.saturating_sub(99)..at + 20]));
        assert!(near.is_none(), "{what}: {near:?}");
    }
}

#[track_caller]
fn are_without_secrets(paths: impl IntoIterator<Item = PathBuf>) {
    for path in paths {
        // SQLite may have taken its log away.
        let bytes = fs::read(&path).unwrap_or_default();
        is_without_secrets(&path.display().to_string(), &bytes);
    }
}

#[track_caller]
fn process_list_is_without_the_secret() {
    for process in fs::read_dir("/proc").unwrap().flatten() {
        let line = fs::read(process.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line);
        let is_ours = line.contains("mydyno") || line.contains("mysqld");
        assert!(!is_ours || !line.contains(SECRET), "{line}");
    }
}

#[test]
fn secrets_stay_where_they_were_given() {
    shim();
    populate("mysql-5.7");
    let work = directory();
    let inputs = directory();
    let plan = inputs.path().join("plan.toml");
    let text = format!(
        "[lab]\nname = 'secrets'\nrepeats = 1\n# The meter before had the password {SECRET}.\n\
         [server]\nengine = 'mysql-5.7'\nset.innodb_log_file_size = '16M'\n\
         set.\"report_password\" = '{SECRET}'\n[load]\nwarehouses = 1\nconnections = 2\n\
         warmup = '0s'\nwindow = '3s'\n# power_command = '''\n#   watts {SECRET}\n# '''\n\
         [meters]\n\"power_command\" = \"\"\"\\\n  P={OF_METER}; echo 200 {OF_METER} | \\\n  \
         cut -c1-3\"\"\"\n"
    );
    fs::write(&plan, text).unwrap();
    let mut lab = mydyno(["lab", "run"])
        .and_args([&plan])
        .and_args(["--results", "all.db"])
        .in_directory(work.path())
        .spawn();
    let some = "SELECT COUNT(*) > 3 FROM interval";
    lab.until_stored(&work.path().join("all.db"), some);
    process_list_is_without_the_secret();
    are_without_secrets(FILES.map(|name| work.path().join(name)));
    let ran = lab.wait().exits(0);
    is_without_secrets("lab run", (ran.stdout + &ran.stderr).as_bytes());
    let of_meter = format!("--power-command=P={OF_METER} && echo 200 {OF_METER} | cut -c1-3");
    let set = format!("report_password={SECRET}");
    let ran = mydyno(["run", "--engine", "mysql-5.7", "-w", "1", "-c", "2", "--warmup", "0"])
        .and_args(["--window", "1s", "--results", "all.db", "--json", &of_meter, "--set", &set])
        .and_args(SMALL_REDO)
        .in_directory(work.path())
        .run()
        .exits(0);
    is_without_secrets("run", (ran.stdout + &ran.stderr).as_bytes());
    for command in [["report", "--results", "all.db"], ["export", "--results", "all.db"]] {
        let ran = mydyno(command).in_directory(work.path()).run().exits(0);
        is_without_secrets(command[0], (ran.stdout + &ran.stderr).as_bytes());
    }
    let mut written = Vec::new();
    until("there are files", || {
        written = files(work.path());
        written.len() > 3
    });
    are_without_secrets(written);
}
