//! Plans that somebody else has written, such as those that come by HTTP: they may name nothing of
//! this machine but what they are told of.

use crate::dimension::Setting;
use crate::error::{PlanError, PlanProblem, Span};
use crate::plan::Plan;
use crate::to_cell::is_binary;
use spec::{ScriptKind, WorkloadKind};

/// Keys whose values are programs or files.
const OUTSIDE: [&str; 3] = ["server_binary", "defaults_file", "power_command"];
/// Parameters of a `dsn` that name no file.
const DSN_PARAMETERS: [&str; 2] = ["ssl-mode", "get-server-public-key"];

/// How the names of server variables begin that name no program, file, address or SQL: those of
/// storage engines, caches, limits and replication's threads.
const VARIABLES: [&str; 41] = [
    "aria_",
    "autocommit",
    "back_log",
    "binlog_",
    "bulk_insert_buffer_size",
    "character_set_",
    "collation_",
    "completion_type",
    "default_storage_engine",
    "eq_range_index_dive_limit",
    "expire_logs_days",
    "flush",
    "foreign_key_checks",
    "gtid_",
    "host_cache_size",
    "innodb_",
    "interactive_timeout",
    "join_",
    "key_",
    "large_pages",
    "lock_wait_timeout",
    "log_bin",
    "log_slave_updates",
    "max_",
    "metadata_locks_",
    "min_",
    "net_",
    "open_files_limit",
    "optimizer_",
    "performance_schema",
    "query_",
    "read_",
    "replica_p",
    "slave_p",
    "sort_",
    "sql_mode",
    "sync_",
    "table_",
    "thread_",
    "tmp_table_size",
    "transaction_",
];
/// How those among them end that are places.
const PLACES: [&str; 5] = ["_dir", "tmpdir", "_directory", "_directories", "_file"];

impl Plan {
    /// Refuses a plan that names a program, a file other than those that `is_listed` knows by
    /// their plain names, or a server variable that may be a path, a program or SQL. Places are not
    /// looked at: [`crate::KnownNames::place`] decides on them.
    ///
    /// # Errors
    /// The first key that does, with line and column.
    pub fn confine(&self, is_listed: &dyn Fn(&str) -> bool) -> Result<(), PlanError> {
        let keys = OUTSIDE.iter().filter(|key| self.keys.has(key));
        let of_keys = keys.map(|key| (*key, self.keys.value_or_table(key)));
        let values = self.dimensions.iter().flatten();
        let of_values = values.filter(|value| names_outside(value.get_ref(), is_listed));
        let all = of_keys.chain(of_values.map(|value| (value.get_ref().name(), value.span())));
        let first = all.min_by_key(|(_, span)| span.start);
        first.map_or(Ok(()), |(key, span)| Err(self.source.error(refused(key, span))))
    }
}

fn refused(key: &str, span: Span) -> PlanProblem {
    let what = match key.starts_with("set.") {
        true => {
            "names more than a number, a size or a choice of a storage engine, a cache or a limit"
        }
        false => "names a program or a file of this machine",
    };
    let why = format!(
        "`{key}` {what}, which a plan of a browser may not; leave it out, or start this plan on a \
         terminal: mydyno lab run"
    );
    PlanProblem::new(span, why)
}

fn is_harmless(variable: &str) -> bool {
    let name = variable.strip_prefix("loose_").unwrap_or(variable);
    VARIABLES.iter().any(|begin| name.starts_with(begin))
        && !PLACES.iter().any(|end| name.ends_with(end))
}

fn names_outside(setting: &Setting, is_listed: &dyn Fn(&str) -> bool) -> bool {
    let value = setting.value();
    if let Some(variable) = setting.variable() {
        return !is_harmless(variable) || !is_word(value);
    }
    match setting.name() {
        "engine" => is_binary(value),
        "table_options" => !is_option_of_tables(value),
        "dsn" => value.split_once('?').is_some_and(|(_, query)| !query.split('&').all(is_plain)),
        "workload" => match value.parse::<WorkloadKind>() {
            Ok(WorkloadKind::Script(ScriptKind::File(path))) => !is_listed(&path),
            _ => false,
        },
        _ => false,
    }
}

fn is_plain(parameter: &str) -> bool {
    let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
    DSN_PARAMETERS.contains(&name) && is_word(value)
}

/// Options of a table without a path, a statement or an engine that reads other files.
fn is_option_of_tables(value: &str) -> bool {
    let names =
        ["engine", "row_format", "key_block_size", "compression", "encryption", "encrypted"];
    let lower = value.to_ascii_lowercase();
    lower.split([' ', ',']).filter(|word| !word.is_empty()).all(|word| {
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        let engine = ["innodb", "rocksdb", "myisam", "aria", "memory"].contains(&value);
        names.contains(&name) && (name != "engine" || engine) && is_word(value.trim_matches('\''))
    })
}

/// Numbers, sizes, names and lists of them: a server can take it for nothing but a name in its own
/// directory.
fn is_word(value: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"_.,:;=+-".contains(&byte);
    value.bytes().all(is_part) && !value.contains("..")
}

#[cfg(test)]
mod tests {
    use crate::{Plan, PlanError};

    fn confined(server: &str, more: &str) -> Result<(), PlanError> {
        let text =
            format!("[lab]\nname = \"x\"\n[server]\n{server}\n[load]\nconnections = 1\n{more}\n");
        let plan = Plan::parse(&text, "p.toml").unwrap_or_else(|error| panic!("{error}"));
        plan.confine(&|name| name == "listed.toml")
    }

    #[test]
    fn what_names_programs_and_files_is_refused_by_its_key() {
        let private = "engine = \"mysql-5.7\"";
        for (key, server, more) in [
            ("server_binary", "server_binary = \"/tmp/x\"", ""),
            ("server_binary", "engine = \"mysql-5.7\"\n\"server_binary\" = \"x\"", ""),
            ("engine", "engine = [\"mysql-5.7\", \"./mysqld\"]", ""),
            ("defaults_file", "defaults_file = \"my.cnf\"", ""),
            ("power_command", private, "[meters]\npower_command = \"touch /tmp/x\""),
            ("workload", private, "workload = [\"tpcc\", \"/etc/x.toml\"]"),
            ("workload", private, "workload = \"../x.toml\""),
            ("workload", private, "workload = \"unlisted.toml\""),
            ("table_options", private, "table_options = \"DATA DIRECTORY='x'\""),
            ("table_options", private, "table_options = \"ENGINE=CONNECT FILE_NAME='x'\""),
            ("dsn", "dsn = \"mysql://u@h/s?socket=/run/x\"", ""),
            ("dsn", "dsn = \"mysql://u@h/s?ssl-mode=REQUIRED&%73ocket=x\"", ""),
            ("set.plugin_dir", "engine = \"mysql-5.7\"\nset = { plugin-dir = \"/tmp\" }", ""),
            ("set.tmpdir", "engine = \"mysql-5.7\"\nset = { tmpdir = \"x\" }", ""),
            ("set.innodb_tmpdir", "engine = \"mysql-5.7\"\nset = { innodb_tmpdir = \"x\" }", ""),
            ("set.plugin_load", "engine = \"mysql-5.7\"\nset = { plugin_load = \"x.so\" }", ""),
            ("set.wsrep_provider", "engine = \"mysql-5.7\"\nset = { wsrep_provider = \"x\" }", ""),
            ("set.general_log", "engine = \"mysql-5.7\"\nset = { general_log = true }", ""),
            ("set.chroot", "engine = \"mysql-5.7\"\nset = { chroot = \"x\" }", ""),
            (
                "set.init_connect",
                "engine = \"mysql-5.7\"\nset = { init_connect = \"SELECT LOAD_FILE(0x2f)\" }",
                "",
            ),
        ] {
            let error = confined(server, more).expect_err(server);
            assert!(error.why.starts_with(&format!("`{key}` names")), "{server} {more}: {error}");
            assert!(error.line > 3, "{error}");
        }
    }

    #[test]
    fn everything_else_is_left_alone() {
        let private = "engine = 'mysql-5.7'\nset = { innodb_buffer_pool_size = '512M', \
                       sql_mode = 'STRICT_TRANS_TABLES,NO_ZERO_DATE', \
                       innodb_data_file_path = 'ibdata1:12M:autoextend', \
                       innodb_doublewrite = [true, false] }";
        confined(private, "workload = [\"tpcc\", \"listed.toml\"]").unwrap();
        let options = "ENGINE=InnoDB ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=8 ENCRYPTION='Y'";
        confined(private, &format!("table_options = \"{options}\"")).unwrap();
        confined("dsn = \"mysql://u@h:3306/s?ssl-mode=REQUIRED\"", "").unwrap();
    }
}
