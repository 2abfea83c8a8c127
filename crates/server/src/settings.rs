//! The my.cnf of a server that mydyno starts: the lines that keep it ours, the base lines that
//! every measurement shares, a preset's lines, which replace base lines, and the variables that the
//! user sets, which replace both.
//!
//! Nothing that matters for a measurement is left to a default of the server where versions differ
//! in it.

use crate::builds::PLUGINS;
use crate::option_text;
use crate::release_facts as since;
use crate::{ServerBuild, ServerError, ServerResult};
use base::{parse_size, value_of, variable_name};
use rustix::fs::{Mode, OFlags, open};
use std::fs;
use std::path::{Path, PathBuf};

/// Variables of the management of a server: setting one would take the server out of mydyno's
/// hands.
const RESERVED: [&str; 13] = [
    "basedir",
    "bind_address",
    "datadir",
    "init_file",
    "initialize",
    "initialize_insecure",
    "log_error",
    "pid_file",
    "port",
    "skip_grant_tables",
    "skip_networking",
    "socket",
    "user",
];
/// What a server that mydyno starts takes where neither a preset nor the user says otherwise.
pub const CONNECTIONS_BASE: u32 = 1000;
pub const PREPARED_STATEMENTS_BASE: u32 = 200_000;
/// Redo in all files together, equal on every engine whether it has two files or one: half of the
/// pool. MySQL 5.7 writes all of it before its first start is over.
pub const REDO_BYTES_BASE: u64 = 512 << 20;
const REDO_CAPACITY: &str = "innodb_redo_log_capacity";
const REDO_FILE_SIZE: &str = "innodb_log_file_size";
const REDO_FILES: &str = "innodb_log_files_in_group";
/// The default of `innodb_log_file_size` where servers have one size for all redo.
const REDO_FILE_BYTES_OLD: u64 = 48 << 20;
/// InnoDB's page size where nothing else is set.
pub(crate) const DEFAULT_PAGE_SIZE_BYTES: u32 = 16 << 10;
/// Kernel AIO events that InnoDB asks for per I/O thread.
const AIO_EVENTS_PER_THREAD: u64 = 256;

/// Where the files of one server are.
#[derive(Clone, Debug, Default)]
pub(crate) struct Layout {
    /// The instance's own directory.
    pub(crate) directory: PathBuf,
    pub(crate) data: PathBuf,
    pub(crate) socket: PathBuf,
}

impl Layout {
    pub(crate) fn my_cnf(&self) -> PathBuf {
        self.directory.join("my.cnf")
    }
    pub(crate) fn log(&self) -> PathBuf {
        self.directory.join("error.log")
    }
    pub(crate) fn temporary(&self) -> PathBuf {
        self.directory.join("tmp")
    }

    pub(crate) fn init_file(&self) -> PathBuf {
        self.directory.join("init.sql")
    }
    pub(crate) fn password(&self) -> PathBuf {
        self.directory.join("password")
    }
}

/// Names and values of one server, in the order of its my.cnf.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Settings(Vec<(String, String)>);

/// Checks names and values that the user sets; the server judges the rest.
///
/// # Errors
/// [`ServerError::Setting`] for a name that cannot be one, or that is mydyno's to set.
pub fn validate(set: &[(String, String)]) -> ServerResult<()> {
    for (name, value) in set {
        let refuse = |why: &str| ServerError::Setting { name: name.clone(), why: why.to_owned() };
        let plain = variable_name(name);
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
        if plain.is_empty() || !plain.chars().all(is_plain) {
            return Err(refuse(
                "a name has letters, digits, underscores and dots only; write --set NAME=VALUE",
            ));
        }
        if RESERVED.contains(&plain.trim_start_matches("loose_")) {
            return Err(refuse("mydyno sets it for the servers that it starts; leave it out"));
        }
        if value.chars().any(char::is_control) {
            return Err(refuse("its value holds a control character"));
        }
    }
    Ok(())
}

impl Settings {
    /// The lines for a server of this build: management, base, then `set`, where a later line
    /// replaces an earlier one.
    pub(crate) fn new(
        build: &ServerBuild,
        layout: &Layout,
        port: u16,
        set: &[(String, String)],
    ) -> Settings {
        let mut settings = Settings::default();
        settings.manage(build, layout, port);
        settings.base(build);
        let sets = |name: &str| set.iter().any(|(set, _)| variable_name(set) == name);
        if sets("log_bin") {
            settings.remove("disable_log_bin");
        }
        if sets("ssl_cert") || sets("ssl_key") {
            settings.remove("ssl");
        }
        for (name, value) in set {
            settings.put(&variable_name(name), value);
        }
        if build.release.has(since::REDO_CAPACITY) && (sets(REDO_FILE_SIZE) || sets(REDO_FILES)) {
            settings.fold_redo(sets(REDO_CAPACITY));
        }
        settings
    }

    /// Makes one size of the two older variables, as these servers did while they had them: MySQL
    /// 9.7 does not know them any more. Where the size is given too, they are ignored.
    fn fold_redo(&mut self, capacity_is_given: bool) {
        let file_bytes = self.number(REDO_FILE_SIZE).unwrap_or(REDO_FILE_BYTES_OLD);
        let files = self.number(REDO_FILES).unwrap_or(2);
        if !capacity_is_given {
            self.put(REDO_CAPACITY, &file_bytes.saturating_mul(files).to_string());
        }
        self.remove(REDO_FILE_SIZE);
        self.remove(REDO_FILES);
    }

    fn manage(&mut self, build: &ServerBuild, layout: &Layout, port: u16) {
        // The server refuses to run as root unless it is told to.
        if rustix::process::geteuid().is_root() {
            self.put("user", "root");
        }
        self.put_path("basedir", &build.basedir);
        if let Some(share) = build.share() {
            self.put_path("lc_messages_dir", &share);
            let charsets = share.join("charsets");
            if charsets.is_dir() {
                self.put_path("character_sets_dir", &charsets);
            }
        }
        // The default of a distribution's build is a directory of the machine, which may be another
        // server's.
        let plugins = build.basedir.join(PLUGINS);
        if plugins.is_dir() {
            self.put_path("plugin_dir", &plugins);
        }
        self.put_path("datadir", &layout.data);
        self.put_path("tmpdir", &layout.temporary());
        // The default directory of a distribution's build may be out of reach for an ordinary user.
        self.put_path("secure_file_priv", &layout.temporary());
        self.put_path("socket", &layout.socket);
        self.put("bind_address", "127.0.0.1");
        self.put("port", &port.to_string());
        self.put_path("pid_file", &layout.directory.join("mysqld.pid"));
        self.put_path("log_error", &layout.log());
        self.put("server_id", "1");
        self.put("skip_name_resolve", "ON");
        self.put("local_infile", "ON");
        if build.release.has(since::X_PROTOCOL) {
            // It would listen on a port of its own.
            self.put("loose_mysqlx", "OFF");
        }
    }

    fn base(&mut self, build: &ServerBuild) {
        // Off by default in the others.
        if build.release.has(since::BINLOG_BY_DEFAULT) {
            self.put("disable_log_bin", "");
        }
        // The vendor's builds compute for 5 seconds on the key, and a recovery would seem to last
        // that much longer.
        if build.release.has(since::CERTIFICATE_AT_START) {
            self.put("ssl", "OFF");
        }
        self.put("performance_schema", "OFF");
        self.put("max_connections", &CONNECTIONS_BASE.to_string());
        self.put("max_prepared_stmt_count", &PREPARED_STATEMENTS_BASE.to_string());
        self.put("innodb_buffer_pool_size", "1G");
        if build.release.has(since::REDO_CAPACITY) {
            self.put(REDO_CAPACITY, &REDO_BYTES_BASE.to_string());
        } else {
            let files = if build.release.has(since::SINGLE_REDO_FILE) { 1 } else { 2 };
            self.put(REDO_FILE_SIZE, &(REDO_BYTES_BASE / files).to_string());
        }
        self.put("innodb_flush_log_at_trx_commit", "1");
        self.put("innodb_doublewrite", "ON");
        self.put("innodb_flush_method", "O_DIRECT");
        self.put("innodb_use_native_aio", "ON");
    }

    /// Falls back where the machine cannot do what base or preset lines ask for, and says so. What
    /// the user set stays. `direct_io_on`: a directory whose file system has to have O_DIRECT.
    pub(crate) fn fit_to_machine(
        &mut self,
        set: &[(String, String)],
        direct_io_on: Option<&Path>,
    ) -> Vec<String> {
        let mut notes = Vec::new();
        let given = |name: &str| set.iter().any(|(n, _)| variable_name(n) == name);
        if !given("innodb_flush_method")
            && let Some(data) = direct_io_on
            && !direct_io_works(data)
        {
            self.put("innodb_flush_method", "fsync");
            // Each server has a directory of its own, and all the same note.
            notes.push(
                "the data's file system has no O_DIRECT; innodb_flush_method is fsync, and reads \
                 may come from the page cache"
                    .to_owned(),
            );
        }
        let older = [REDO_FILE_SIZE, REDO_FILES].into_iter().find(|name| given(name));
        if let (Some(older), Some(capacity)) = (older, self.get(REDO_CAPACITY)) {
            notes.push(format!(
                "redo is one size on this server: {older} became {REDO_CAPACITY} = {capacity}"
            ));
        }
        let threads = |name| self.number(name).unwrap_or(4);
        let needed = (threads("innodb_read_io_threads") + threads("innodb_write_io_threads") + 2)
            * AIO_EVENTS_PER_THREAD;
        if let Some(free) = free_aio_events()
            && free < needed
            && !given("innodb_use_native_aio")
        {
            self.put("innodb_use_native_aio", "OFF");
            notes.push(format!(
                "the kernel has too few asynchronous I/O requests left, and InnoDB needs {needed}; \
                 innodb_use_native_aio is OFF (raise fs.aio-max-nr)"
            ));
        }
        notes
    }

    /// Replaces the line of that name, or appends it.
    pub(crate) fn put(&mut self, name: &str, value: &str) {
        let plain = name.trim_start_matches("loose_");
        let same = |n: &String| n.trim_start_matches("loose_") == plain;
        match self.0.iter_mut().find(|(n, _)| same(n)) {
            Some(line) => *line = (name.to_owned(), value.to_owned()),
            None => self.0.push((name.to_owned(), value.to_owned())),
        }
    }

    fn put_path(&mut self, name: &str, path: &Path) {
        self.put(name, &path.display().to_string());
    }

    fn remove(&mut self, name: &str) {
        self.0.retain(|(n, _)| n != name);
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        value_of(&self.0, name)
    }

    /// A number, with the server's suffixes K, M, G, T.
    pub(crate) fn number(&self, name: &str) -> Option<u64> {
        parse_size(self.get(name)?)
    }

    pub(crate) fn lines(&self) -> &[(String, String)] {
        &self.0
    }

    /// Bytes of all redo files together.
    pub(crate) fn redo_bytes(&self, build: &ServerBuild) -> u64 {
        if let Some(capacity) = self.number(REDO_CAPACITY) {
            return capacity;
        }
        let is_single = build.release.has(since::SINGLE_REDO_FILE);
        let files = if is_single { 1 } else { self.number(REDO_FILES).unwrap_or(2) };
        self.number(REDO_FILE_SIZE).unwrap_or(0).saturating_mul(files)
    }

    /// Does the server make its redo files anew where there are those of a clean shutdown,
    /// `file_bytes` each? Without them it makes them too, which spares the copy. One that keeps its
    /// log in one file, or in a directory, wants to find it.
    pub(crate) fn remakes_redo(&self, build: &ServerBuild, file_bytes: Option<u64>) -> bool {
        let by_size =
            !build.release.has(since::SINGLE_REDO_FILE) && self.get(REDO_CAPACITY).is_none();
        let wanted = self.number(REDO_FILE_SIZE);
        by_size && file_bytes.is_some() && wanted.is_some() && wanted != file_bytes
    }

    /// The text of the my.cnf.
    pub(crate) fn my_cnf(&self) -> String {
        let line = |(name, value): &(String, String)| match value.as_str() {
            "" => format!("{name}\n"),
            value => format!("{name} = {}\n", option_text::quoted(value)),
        };
        let lines: String = self.0.iter().map(line).collect();
        format!("[mysqld]\n{lines}")
    }
}

/// Bytes of redo that a server of this build has with these variables.
pub fn redo_bytes(build: &ServerBuild, set: &[(String, String)]) -> u64 {
    Settings::new(build, &Layout::default(), 0, set).redo_bytes(build)
}

fn direct_io_works(directory: &Path) -> bool {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::CLOEXEC | OFlags::DIRECT;
    let probe = directory.join(format!(".mydyno-probe-{}", std::process::id()));
    let opened = open(&probe, flags, Mode::RUSR | Mode::WUSR);
    // The file may have been made before the flag was refused.
    let _ = fs::remove_file(&probe);
    opened.is_ok()
}

fn free_aio_events() -> Option<u64> {
    let read = |name: &str| -> Option<u64> {
        fs::read_to_string(format!("/proc/sys/fs/{name}")).ok()?.trim().parse().ok()
    };
    Some(read("aio-max-nr")?.saturating_sub(read("aio-nr")?))
}

#[cfg(test)]
mod tests {
    use super::{Layout, Settings, validate};
    use crate::{ServerBuild, ServerError};
    use base::{ServerFamily, ServerRelease};
    use std::path::PathBuf;

    fn build(family: ServerFamily, version: (u16, u16, u16)) -> ServerBuild {
        ServerBuild {
            engine: "x".into(),
            release: ServerRelease { family, version },
            version: "x".into(),
            binary: "/x/bin/mysqld".into(),
            basedir: "/x".into(),
            library_path: None,
            origin: "x".into(),
        }
    }

    fn settings(build: &ServerBuild, set: &[(&str, &str)]) -> Settings {
        Settings::new(build, &layout(), 4242, &owned(set))
    }

    fn layout() -> Layout {
        Layout {
            directory: PathBuf::from("/home/a b/x"),
            data: PathBuf::from("/home/a b/x/data"),
            socket: PathBuf::from("/home/a b/x/s"),
        }
    }

    fn owned(set: &[(&str, &str)]) -> Vec<(String, String)> {
        set.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect()
    }

    #[test]
    fn redo_is_equal_on_every_engine() {
        for (family, numbers) in [
            (ServerFamily::Mysql, (5, 7, 22)),
            (ServerFamily::Mysql, (8, 0, 15)),
            (ServerFamily::Mysql, (8, 0, 30)),
            (ServerFamily::Mysql, (8, 4, 0)),
            (ServerFamily::Mysql, (9, 7, 4)),
            (ServerFamily::MariaDb, (10, 1, 13)),
            (ServerFamily::MariaDb, (10, 11, 19)),
            (ServerFamily::MariaDb, (11, 8, 6)),
            (ServerFamily::MariaDb, (12, 3, 1)),
        ] {
            let build = build(family, numbers);
            assert_eq!(settings(&build, &[]).redo_bytes(&build), 512 << 20);
        }
        let build = build(ServerFamily::Mysql, (8, 0, 30));
        let small = settings(&build, &[("innodb-log-file-size", "48M")]);
        assert_eq!(small.redo_bytes(&build), 96 << 20);
        assert_eq!(small.get("innodb_log_file_size"), None);
        let newest = self::build(ServerFamily::Mysql, (9, 7, 4));
        let one = settings(&newest, &[("innodb_log_files_in_group", "3")]);
        assert_eq!(one.get("innodb_redo_log_capacity"), Some("150994944"));
        let both = [("innodb_redo_log_capacity", "1G"), ("innodb_log_file_size", "64M")];
        let both = settings(&newest, &both);
        assert_eq!(both.get("innodb_redo_log_capacity"), Some("1G"));
        assert!(!both.my_cnf().contains("innodb_log_file"));
        let older = self::build(ServerFamily::Mysql, (5, 7, 22));
        let small = [("innodb_log_file_size".to_owned(), "64M".to_owned())];
        assert_eq!(super::redo_bytes(&older, &small), 128 << 20);
        let settings = Settings::new(&older, &layout(), 1, &small);
        assert!(settings.remakes_redo(&older, Some(1 << 30)));
        assert!(!settings.remakes_redo(&older, Some(64 << 20)));
        assert!(
            !settings.remakes_redo(&self::build(ServerFamily::MariaDb, (10, 11, 0)), Some(1 << 30))
        );
    }

    #[test]
    fn what_is_set_replaces_base_lines_however_it_is_spelled() {
        let build = build(ServerFamily::Mysql, (8, 0, 15));
        let s = settings(
            &build,
            &[
                ("innodb-buffer-pool-size", "4G"),
                ("Performance_Schema", "ON"),
                ("innodb_io_capacity", "2000"),
                ("log_bin", "binlog"),
                ("sql_mode", ""),
                ("init_connect", "SET @a='#1'"),
            ],
        );
        let text = s.my_cnf();
        for line in [
            "innodb_buffer_pool_size = 4G\n",
            "performance_schema = ON\n",
            "innodb_io_capacity = 2000\n",
            "log_bin = binlog\n",
            "datadir = \"/home/a b/x/data\"\n",
            "init_connect = \"SET @a='#1'\"\n",
            "port = 4242\n",
        ] {
            assert!(text.contains(line), "{line:?} in\n{text}");
        }
        assert_eq!(text.matches("innodb_buffer_pool_size").count(), 1);
        assert!(!text.contains("disable_log_bin"));
        assert!(settings(&build, &[]).my_cnf().contains("disable_log_bin\n"));
    }

    #[test]
    fn servers_make_no_certificate_at_each_start_unless_they_are_told_to() {
        let ssl = |version, set: &[(&str, &str)]| {
            let settings = settings(&build(ServerFamily::MariaDb, version), set);
            settings.get("ssl").map(str::to_owned)
        };
        assert_eq!(ssl((10, 11, 19), &[]), None);
        assert_eq!(ssl((11, 4, 5), &[]).as_deref(), Some("OFF"));
        assert_eq!(ssl((11, 4, 5), &[("ssl", "ON")]).as_deref(), Some("ON"));
        assert_eq!(ssl((11, 4, 5), &[("ssl-cert", "/x/cert"), ("ssl-key", "/x/key")]), None);
    }

    #[test]
    fn names_that_take_the_server_away_are_refused() {
        for name in ["port", "Bind-Address", "loose_socket", "", "a b", "x\ny", "[mysqld]"] {
            let error = validate(&owned(&[(name, "1")])).unwrap_err();
            assert!(matches!(error, ServerError::Setting { .. }), "{error}");
        }
        assert!(validate(&owned(&[("a", "b\nskip-grant-tables")])).is_err());
        assert!(validate(&owned(&[("validate_password.policy", "LOW")])).is_ok());
    }
}
