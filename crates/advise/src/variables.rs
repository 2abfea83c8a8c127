//! What has to be known of a variable to write it: its unit, and since which releases a running
//! server takes it. Whether a server has it at all, its own list tells.

use base::{ServerRelease, Since};

/// A variable that rules set.
struct Settable {
    name: &'static str,
    is_in_bytes: bool,
    /// Since when `SET GLOBAL` takes it.
    dynamic: Since,
}

const fn dynamic(name: &'static str) -> Settable {
    Settable { name, is_in_bytes: false, dynamic: Since::ALWAYS }
}

const fn fixed(name: &'static str) -> Settable {
    Settable { name, is_in_bytes: false, dynamic: Since::NEVER }
}

const fn dynamic_since(since: Since, name: &'static str) -> Settable {
    Settable { dynamic: since, ..fixed(name) }
}

const fn bytes(of: Settable) -> Settable {
    Settable { is_in_bytes: true, ..of }
}

/// After the manuals of MySQL 5.7 to 9.x, Percona Server 5.6 to 8.0 and MariaDB 10.1 to 11.8.
const SETTABLE: &[Settable] = &[
    bytes(dynamic_since(Since::mysql((5, 7, 5)).or_mariadb((10, 2, 2)), "innodb_buffer_pool_size")),
    bytes(fixed("innodb_buffer_pool_size_max")),
    fixed("innodb_buffer_pool_instances"),
    fixed("innodb_flush_method"),
    dynamic("innodb_data_file_buffering"),
    bytes(dynamic_since(Since::mariadb((10, 9, 0)), "innodb_log_file_size")),
    bytes(dynamic("innodb_redo_log_capacity")),
    bytes(dynamic_since(Since::mysql((8, 0, 11)), "innodb_log_buffer_size")),
    dynamic("innodb_io_capacity"),
    dynamic("innodb_io_capacity_max"),
    dynamic("innodb_flush_neighbors"),
    dynamic("innodb_max_dirty_pages_pct"),
    dynamic("innodb_max_dirty_pages_pct_lwm"),
    dynamic("innodb_adaptive_flushing"),
    dynamic_since(Since::mariadb((10, 3, 3)), "innodb_page_cleaners"),
    dynamic("innodb_lru_scan_depth"),
    dynamic("innodb_empty_free_list_algorithm"),
    dynamic("innodb_cleaner_lsn_age_factor"),
    dynamic_since(Since::mariadb((11, 4, 2)), "innodb_doublewrite"),
    fixed("innodb_doublewrite_pages"),
    dynamic("innodb_checksum_algorithm"),
    dynamic("innodb_random_read_ahead"),
    dynamic("innodb_read_ahead_threshold"),
    dynamic("innodb_adaptive_hash_index"),
    dynamic("innodb_thread_concurrency"),
    dynamic("innodb_spin_wait_delay"),
    dynamic_since(Since::mariadb((10, 11, 0)), "innodb_read_io_threads"),
    dynamic_since(Since::mariadb((10, 11, 0)), "innodb_write_io_threads"),
    fixed("innodb_use_native_aio"),
    dynamic("innodb_max_purge_lag"),
    dynamic("table_open_cache"),
    fixed("table_open_cache_instances"),
    dynamic("query_cache_type"),
    bytes(dynamic("query_cache_size")),
    dynamic("thread_cache_size"),
    dynamic("max_connections"),
    dynamic("max_prepared_stmt_count"),
    fixed("back_log"),
    bytes(dynamic("sort_buffer_size")),
    bytes(dynamic("join_buffer_size")),
    fixed("performance_schema"),
    bytes(dynamic("tmp_table_size")),
    bytes(dynamic("max_heap_table_size")),
    bytes(dynamic("binlog_cache_size")),
    dynamic("innodb_flush_log_at_trx_commit"),
    dynamic("sync_binlog"),
    fixed("innodb_numa_interleave"),
    dynamic("innodb_change_buffering"),
    dynamic("innodb_fill_factor"),
    fixed("innodb_track_changed_pages"),
];

fn find(name: &str) -> Option<&'static Settable> {
    SETTABLE.iter().find(|settable| settable.name == name)
}

/// Does `SET GLOBAL` take it on that release?
pub(crate) fn is_dynamic(name: &str, release: ServerRelease) -> bool {
    find(name).is_some_and(|settable| release.has(settable.dynamic))
}

/// Is its number one of bytes, which option files write as `12G`?
pub(crate) fn is_in_bytes(name: &str) -> bool {
    find(name).is_some_and(|settable| settable.is_in_bytes)
}

#[cfg(test)]
mod tests {
    use super::{SETTABLE, find, is_dynamic};
    use crate::rules;
    use base::{ServerFamily, ServerRelease};

    #[test]
    fn what_rules_set_is_known() {
        for (_, rule) in rules::all() {
            for variable in rule.variables {
                assert!(find(variable).is_some(), "{}: {variable}", rule.name);
            }
        }
        for settable in SETTABLE {
            let is_used = rules::all().any(|(_, rule)| rule.variables.contains(&settable.name));
            assert!(is_used, "{} is set by no rule", settable.name);
        }
    }

    #[test]
    fn a_release_takes_what_the_manual_says() {
        let is_dynamic =
            |name, family, version| is_dynamic(name, ServerRelease { family, version });
        let pool = |family, version| is_dynamic("innodb_buffer_pool_size", family, version);
        assert!(!pool(ServerFamily::Mysql, (5, 6, 40)));
        assert!(pool(ServerFamily::Mysql, (5, 7, 22)));
        assert!(!pool(ServerFamily::MariaDb, (10, 1, 13)));
        assert!(!is_dynamic("innodb_flush_method", ServerFamily::Mysql, (9, 7, 0)));
        assert!(!is_dynamic("innodb_log_file_size", ServerFamily::Mysql, (8, 0, 15)));
        assert!(is_dynamic("innodb_log_file_size", ServerFamily::MariaDb, (10, 11, 0)));
    }
}
