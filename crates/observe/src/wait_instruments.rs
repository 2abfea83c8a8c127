//! What the waits are for that performance_schema times.
//!
//! Of MySQL, Percona Server and MariaDB, 5.7 to 12: the names are those of their instruments, and a
//! server has those of its version. A wait that no row knows is told by its instrument.

use base::WaitCause::{self, *};

/// What an instrument's time is for, by parts of its name; the first row that has one decides.
const CAUSES: &[(WaitCause, &[&str])] = &[
    (Read, &["io/file/innodb/innodb_data_file", "io/file/innodb/innodb_parallel_dblwr"]),
    (Doublewrite, &["io/file/innodb/innodb_dblwr", "dblwr"]),
    (Commit, &["io/file/innodb/innodb_log", "io/file/sql/binlog", "MYSQL_BIN_LOG", "BINLOG_"]),
    (Commit, &["wait_for_commit", "LOCK_commit_ordered", "_ordered_commit", "log_flush_order"]),
    (Commit, &["LOCK_binlog", "log_flusher", "log_writer", "log_write"]),
    (Replication, &["semisync", "semi_sync", "Ack_receiver", "wsrep", "galera", "group_rpl"]),
    (RowLock, &["lock_wait"]),
    (Metadata, &["wait/lock/", "MDL_", "LOCK_table_", "TABLE_SHARE", "LOCK_open", "COND_open"]),
    (
        Metadata,
        &["Global_read_lock", "LOCK_global_read", "dict_", "Query_cache", "User_level_lock"],
    ),
    (Asked, &["Item_func_sleep"]),
    (Admission, &["srv_conc"]),
    (FreePage, &["LRU_list", "free_list", "buf_pool_flush"]),
    (IndexLatch, &["index_tree", "btr_search", "index_online_log"]),
    (PageLatch, &["buf_block", "buf_page", "block_lock"]),
    (Latch, &["synch/mutex/innodb/", "synch/rwlock/innodb/", "synch/sxlock/innodb/"]),
];

/// Their waits have instruments of their own: calls of a storage engine, and what waits for
/// metadata and table locks is done with. To send to a client is work, as far as it does not wait.
const INSIDE: [&str; 5] =
    ["wait/io/table/", "wait/io/socket/", "idle", "COND_wait_status", "my_thread_var::suspend"];

/// What is waited for, or the instrument where no row knows it; `None` where others tell of it.
pub(crate) fn label_of(instrument: &str) -> Option<&str> {
    let has = |part: &&str| instrument.contains(*part);
    if INSIDE.iter().any(&has) {
        return None;
    }
    let found = CAUSES.iter().find(|(_, parts)| parts.iter().any(&has));
    Some(found.map_or(instrument, |(cause, _)| cause.name()))
}

#[cfg(test)]
mod tests {
    use super::label_of;

    #[test]
    fn instruments_are_for_what_waits_in_them() {
        for (instrument, label) in [
            ("wait/io/file/innodb/innodb_data_file", Some("read")),
            ("wait/io/file/innodb/innodb_log_file", Some("commit")),
            ("wait/io/file/sql/binlog", Some("commit")),
            ("wait/synch/cond/sql/MYSQL_BIN_LOG::COND_done", Some("commit")),
            ("wait/synch/cond/sql/BINLOG_COND_queue_busy", Some("commit")),
            ("wait/lock/metadata/sql/mdl", Some("metadata")),
            ("wait/lock/table/sql/handler", Some("metadata")),
            ("wait/synch/mutex/innodb/lock_wait_mutex", Some("row_lock")),
            ("wait/synch/sxlock/innodb/index_tree_rw_lock", Some("index_latch")),
            ("wait/synch/sxlock/innodb/hash_table_locks", Some("latch")),
            ("wait/synch/mutex/innodb/trx_mutex", Some("latch")),
            ("wait/synch/cond/sql/Item_func_sleep::cond", Some("asked")),
            // The server's own words where no row knows it.
            ("wait/synch/mutex/sql/LOCK_plugin", Some("wait/synch/mutex/sql/LOCK_plugin")),
            ("wait/io/file/sql/io_cache", Some("wait/io/file/sql/io_cache")),
            // They have others in them.
            ("wait/io/table/sql/handler", None),
            ("wait/synch/cond/sql/MDL_context::COND_wait_status", None),
        ] {
            assert_eq!(label_of(instrument), label, "{instrument}");
        }
    }
}
