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
use std::path::Path;
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
    openssl::rand::rand_bytes(&mut bytes).map_err(|_| {
        let cause = std::io::Error::other("the system gives no random bytes");
        io_at("draw a random password from", Path::new("/dev/urandom"))(cause)
    })?;
    let text: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
    Ok(Password::new(text))
}

/// The statements that give a server its accounts, one per line as init files want it. They may run
/// again on a data directory that has them, with another password.
pub(crate) fn accounts_sql(build: &ServerBuild, password: &Password) -> String {
    let secret = password.reveal();
    let is_mariadb = match build.release.family {
        ServerFamily::MariaDb => true,
        ServerFamily::Mysql | ServerFamily::Percona => false,
    };
    let mut sql = String::new();
    for host in HOSTS {
        let account = format!("'{USER}'@'{host}'");
        // MariaDB 10.1 has no ALTER USER.
        sql += &if is_mariadb {
            format!("CREATE OR REPLACE USER {account} IDENTIFIED BY '{secret}';\n")
        } else {
            format!(
                "CREATE USER IF NOT EXISTS {account} IDENTIFIED BY '{secret}';\n\
                 ALTER USER {account} IDENTIFIED BY '{secret}';\n"
            )
        };
        sql += &format!("GRANT ALL PRIVILEGES ON *.* TO {account} WITH GRANT OPTION;\n");
    }
    sql += &if is_mariadb {
        format!(
            "SET PASSWORD FOR 'root'@'localhost' = PASSWORD('{secret}');\n\
             DROP USER IF EXISTS 'root'@'127.0.0.1';\n\
             DROP USER IF EXISTS 'root'@'::1';\n\
             DROP USER IF EXISTS ''@'localhost';\n"
        )
    } else {
        format!("ALTER USER 'root'@'localhost' IDENTIFIED BY '{secret}';\n")
    };
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
    if build.release.family.is_mariadb() {
        let script = layout.directory.join("bootstrap.sql");
        fs::write(&script, bootstrap_sql(build)?).map_err(io_at("write", &script))?;
        command.arg("--bootstrap").stdin(File::open(&script).map_err(io_at("open", &script))?);
    } else {
        command.arg("--initialize-insecure").stdin(Stdio::null());
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
    let share = build.share().ok_or_else(|| {
        let why = "no share directory with error messages and system tables is beside this server; \
                   install its whole package";
        ServerError::data(&build.basedir, why)
    })?;
    let read = |name: &str| -> ServerResult<String> {
        let [mysql, mariadb] =
            ["mysql", "mariadb"].map(|prefix| share.join(format!("{prefix}_{name}.sql")));
        let path = if mariadb.is_file() && !mysql.is_file() { mariadb } else { mysql };
        fs::read_to_string(&path).map_err(io_at("read", &path))
    };
    let scripts =
        [read("system_tables")?, read("performance_tables")?, read("system_tables_data")?];
    // A statement that is followed by another on its line is an error in bootstrap mode.
    let mut sql = String::from(
        "CREATE DATABASE IF NOT EXISTS mysql;\nUSE mysql;\nSET @auth_root_socket = NULL;\nSET \
         @skip_auth_anonymous_user = 1;\n",
    );
    // As mysql_install_db does: no accounts for this machine's name.
    let lines = scripts.iter().flat_map(|script| script.lines());
    let kept = lines.filter(|line| !line.contains("@current_hostname"));
    sql.extend(kept.flat_map(|line| [line, "\n"]));
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
