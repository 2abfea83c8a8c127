//! Empty data directories, and the accounts of every server that mydyno starts.
//!
//! MySQL makes its system tables by itself; MariaDB is given the scripts that come with it, on the
//! standard input of its bootstrap mode, which is what its mysql_install_db does. Accounts come
//! from an init file that the server runs before it lets anybody in: no password is ever on a
//! command line, and there is no moment without one.

use crate::error::io_at;
use crate::home;
use crate::process;
use crate::settings::{Layout, Settings};
use crate::{ServerBuild, ServerError, ServerResult};
use base::ServerFamily;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;
use system::{ChildProcess, DiesWith};
use wire::Password;

/// The account of mydyno on its own servers.
pub(crate) const USER: &str = "mydyno";
const HOSTS: [&str; 2] = ["localhost", "127.0.0.1"];
/// What a fresh data directory needs beside its redo.
const FRESH_BYTES: u64 = 256 << 20;
/// Slowest seen is 10 s; a busy disk may take much longer.
const INITIALISE_TIMEOUT: Duration = Duration::from_secs(300);

/// A new password: 128 random bits as hexadecimal digits, which no quoting can hurt.
pub(crate) fn random_password() -> ServerResult<Password> {
    let mut bytes = [0u8; 16];
    openssl::rand::rand_bytes(&mut bytes).map_err(|_| ServerError::Io {
        doing: "draw a random password from",
        path: PathBuf::from("/dev/urandom"),
        cause: std::io::Error::other("the system gives no random bytes"),
    })?;
    let text: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
    Ok(Password::new(text))
}

/// The statements that give a server its accounts, one per line as init files want it. They may run
/// again on a data directory that has them, with another password.
pub(crate) fn accounts_sql(build: &ServerBuild, password: &Password) -> String {
    let secret = password.reveal();
    let mut sql = String::new();
    let mut say = |statement: String| {
        sql.push_str(&statement);
        sql.push_str(";\n");
    };
    for host in HOSTS {
        let account = format!("'{USER}'@'{host}'");
        match build.release.family {
            ServerFamily::Mysql | ServerFamily::Percona => {
                say(format!("CREATE USER IF NOT EXISTS {account} IDENTIFIED BY '{secret}'"));
                say(format!("ALTER USER {account} IDENTIFIED BY '{secret}'"));
            }
            // 10.1 has no ALTER USER.
            ServerFamily::MariaDb => {
                say(format!("CREATE OR REPLACE USER {account} IDENTIFIED BY '{secret}'"));
            }
        }
        say(format!("GRANT ALL PRIVILEGES ON *.* TO {account} WITH GRANT OPTION"));
    }
    match build.release.family {
        ServerFamily::Mysql | ServerFamily::Percona => {
            say(format!("ALTER USER 'root'@'localhost' IDENTIFIED BY '{secret}'"));
        }
        ServerFamily::MariaDb => {
            say(format!("SET PASSWORD FOR 'root'@'localhost' = PASSWORD('{secret}')"));
            for open in ["'root'@'127.0.0.1'", "'root'@'::1'", "''@'localhost'"] {
                say(format!("DROP USER IF EXISTS {open}"));
            }
        }
    }
    sql
}

/// Refuses a file system without room for a fresh data directory and the redo of these settings.
pub(crate) fn require_room(
    build: &ServerBuild,
    layout: &Layout,
    settings: &Settings,
) -> ServerResult<()> {
    let needed = settings.redo_bytes(build).saturating_add(FRESH_BYTES);
    home::require_free(&layout.data, needed, "a fresh data directory")
}

/// Fills the empty data directory of `layout`, whose my.cnf is written.
pub(crate) fn initialise(build: &ServerBuild, layout: &Layout) -> ServerResult<()> {
    let mut command = build.command();
    command.arg(format!("--defaults-file={}", layout.my_cnf().display()));
    // Its own settings may say 2, after which MariaDB does not find the first page of ibdata1.
    command.arg("--innodb-fast-shutdown=1");
    let script = layout.directory.join("bootstrap.sql");
    match build.release.family {
        ServerFamily::Mysql | ServerFamily::Percona => {
            command.arg("--initialize-insecure").stdin(Stdio::null());
        }
        ServerFamily::MariaDb => {
            fs::write(&script, bootstrap_sql(build)?).map_err(io_at("write", &script))?;
            command.arg("--bootstrap").stdin(File::open(&script).map_err(io_at("open", &script))?);
        }
    }
    attach_log(&mut command, &layout.log())?;
    let failed = |why: String| ServerError::Failed {
        engine: build.engine.clone(),
        stage: "could not initialise its data directory",
        why,
        log: process::log_since(&layout.log(), 0),
    };
    let options = process::server_options(DiesWith::Program);
    let mut process =
        ChildProcess::start(command, &options).map_err(|error| failed(error.to_string()))?;
    let Some(status) = process.wait(INITIALISE_TIMEOUT) else {
        process.kill(process::KILL_TIMEOUT);
        return Err(failed(format!("it was not done after {} s", INITIALISE_TIMEOUT.as_secs())));
    };
    if !status.success() {
        let said = process::errors_in(&process::log_since(&layout.log(), 0));
        return Err(failed(said.unwrap_or_else(|| process::describe(status))));
    }
    Ok(())
}

/// What the server says before it has opened its log goes to the same file.
pub(crate) fn attach_log(command: &mut std::process::Command, log: &Path) -> ServerResult<()> {
    let open =
        || fs::OpenOptions::new().create(true).append(true).open(log).map_err(io_at("open", log));
    command.stdout(open()?).stderr(open()?);
    // Set by systemd for a service around us, not for this server.
    command.env_remove("NOTIFY_SOCKET");
    Ok(())
}

fn bootstrap_sql(build: &ServerBuild) -> ServerResult<String> {
    let share = build.share().ok_or_else(|| ServerError::Data {
        what: "no share directory with error messages and system tables is beside this server; \
            install its whole package"
            .to_owned(),
        path: build.basedir.clone(),
    })?;
    let read = |names: [&str; 2]| -> ServerResult<String> {
        let path = names
            .iter()
            .map(|name| share.join(name))
            .find(|path| path.is_file())
            .unwrap_or_else(|| share.join(names[0]));
        fs::read_to_string(&path).map_err(io_at("read", &path))
    };
    let scripts = [
        read(["mysql_system_tables.sql", "mariadb_system_tables.sql"])?,
        read(["mysql_performance_tables.sql", "mariadb_performance_tables.sql"])?,
        read(["mysql_system_tables_data.sql", "mariadb_system_tables_data.sql"])?,
    ];
    // A statement that is followed by another on its line is an error in bootstrap mode.
    let mut sql = String::from(
        "CREATE DATABASE IF NOT EXISTS mysql;\nUSE mysql;\nSET @auth_root_socket = NULL;\nSET \
         @skip_auth_anonymous_user = 1;\n",
    );
    // As mysql_install_db does: no accounts for this machine's name.
    for line in scripts.iter().flat_map(|script| script.lines()) {
        if !line.contains("@current_hostname") {
            sql.push_str(line);
            sql.push('\n');
        }
    }
    Ok(sql)
}

#[cfg(test)]
mod tests {
    use super::{accounts_sql, random_password};
    use crate::ServerBuild;
    use base::{ServerFamily, ServerRelease};

    #[test]
    fn every_password_is_new() {
        let (a, b) = (random_password().unwrap(), random_password().unwrap());
        assert_ne!(a, b);
        assert_eq!(a.reveal().len(), 32);
    }

    #[test]
    fn accounts_are_one_statement_per_line() {
        for family in [ServerFamily::Mysql, ServerFamily::MariaDb] {
            let build = ServerBuild {
                engine: "x".into(),
                release: ServerRelease { family, version: (5, 7, 0) },
                version: "x".into(),
                binary: "/x".into(),
                basedir: "/".into(),
                library_path: None,
                origin: "x".into(),
            };
            let sql = accounts_sql(&build, &wire::Password::new("s3cret"));
            assert!(sql.lines().all(|line| line.ends_with(';')), "{sql}");
            assert!(sql.contains("'mydyno'@'127.0.0.1'"));
            assert!(sql.contains("'root'@'localhost'"));
        }
    }
}
