//! What has to be known of a variable to write it: its unit, and since which releases a running
//! server takes it. Whether a server has it at all, its own list tells.

use server::preset::Family;

type Release = (u16, u16, u16);

/// A variable that rules set.
struct Settable {
    name: &'static str,
    is_in_bytes: bool,
    /// Since when `SET GLOBAL` takes it; `None`: it never does.
    mysql: Option<Release>,
    mariadb: Option<Release>,
}

const ALWAYS: Option<Release> = Some((0, 0, 0));

const fn dynamic(name: &'static str) -> Settable {
    Settable { name, is_in_bytes: false, mysql: ALWAYS, mariadb: ALWAYS }
}

const fn fixed(name: &'static str) -> Settable {
    Settable { name, is_in_bytes: false, mysql: None, mariadb: None }
}

const fn bytes(of: Settable) -> Settable {
    Settable { is_in_bytes: true, ..of }
}

/// After the manuals of MySQL 5.7 to 9.x, Percona Server 5.6 to 8.0 and MariaDB 10.1 to 11.8.
const SETTABLE: &[Settable] = &[
    bytes(Settable {
        mysql: Some((5, 7, 5)),
        mariadb: Some((10, 2, 2)),
        ..fixed("innodb_buffer_pool_size")
    }),
    bytes(fixed("innodb_buffer_pool_size_max")),
    fixed("innodb_buffer_pool_instances"),
    fixed("innodb_flush_method"),
    dynamic("innodb_data_file_buffering"),
    bytes(Settable { mariadb: Some((10, 9, 0)), ..fixed("innodb_log_file_size") }),
    bytes(dynamic("innodb_redo_log_capacity")),
    bytes(Settable { mysql: Some((8, 0, 11)), ..fixed("innodb_log_buffer_size") }),
    dynamic("innodb_io_capacity"),
    dynamic("innodb_io_capacity_max"),
    dynamic("innodb_flush_neighbors"),
    dynamic("innodb_max_dirty_pages_pct"),
    dynamic("innodb_max_dirty_pages_pct_lwm"),
    dynamic("innodb_adaptive_flushing"),
    Settable { mariadb: Some((10, 3, 3)), ..fixed("innodb_page_cleaners") },
    dynamic("innodb_lru_scan_depth"),
    dynamic("innodb_empty_free_list_algorithm"),
    dynamic("innodb_cleaner_lsn_age_factor"),
    Settable { mariadb: Some((11, 4, 2)), ..fixed("innodb_doublewrite") },
    fixed("innodb_doublewrite_pages"),
    dynamic("innodb_checksum_algorithm"),
    dynamic("innodb_random_read_ahead"),
    dynamic("innodb_read_ahead_threshold"),
    dynamic("innodb_adaptive_hash_index"),
    dynamic("innodb_thread_concurrency"),
    dynamic("innodb_spin_wait_delay"),
    Settable { mariadb: Some((10, 11, 0)), ..fixed("innodb_read_io_threads") },
    Settable { mariadb: Some((10, 11, 0)), ..fixed("innodb_write_io_threads") },
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
pub(crate) fn is_dynamic(name: &str, family: Family, release: Release) -> bool {
    let since = find(name).and_then(|settable| match family {
        Family::Mysql | Family::Percona => settable.mysql,
        Family::MariaDb => settable.mariadb,
    });
    since.is_some_and(|since| release >= since)
}

/// Is its number one of bytes, which option files write as `12G`?
pub(crate) fn is_in_bytes(name: &str) -> bool {
    find(name).is_some_and(|settable| settable.is_in_bytes)
}

#[cfg(test)]
mod tests {
    use super::{SETTABLE, find, is_dynamic};
    use crate::rules::RULES;
    use server::preset::Family;

    #[test]
    fn what_rules_set_is_known() {
        for rule in RULES.iter().copied().flatten() {
            for variable in rule.variables {
                assert!(find(variable).is_some(), "{}: {variable}", rule.name);
            }
        }
        for settable in SETTABLE {
            let mut all = RULES.iter().copied().flatten();
            let is_used = all.any(|rule| rule.variables.contains(&settable.name));
            assert!(is_used, "{} is set by no rule", settable.name);
        }
    }

    #[test]
    fn a_release_takes_what_the_manual_says() {
        let pool = |family, release| is_dynamic("innodb_buffer_pool_size", family, release);
        assert!(!pool(Family::Mysql, (5, 6, 40)));
        assert!(pool(Family::Mysql, (5, 7, 22)));
        assert!(!pool(Family::MariaDb, (10, 1, 13)));
        assert!(!is_dynamic("innodb_flush_method", Family::Mysql, (9, 7, 0)));
        assert!(!is_dynamic("innodb_log_file_size", Family::Mysql, (8, 0, 15)));
        assert!(is_dynamic("innodb_log_file_size", Family::MariaDb, (10, 11, 0)));
    }
}
