//! Which function of a server waits for what.
//!
//! Of MySQL, Percona Server and MariaDB, 5.6 to 12: the names are those of the sources, and a
//! server has those of its version. A wait that no row knows is told by its innermost function that
//! has a name.

use base::WaitCause::{self, *};

/// A part of a function's name without its arguments, and what waits in that function are for. Of a
/// stack the innermost function that has a row decides; of that function, the first row.
const CAUSES: &[(&str, WaitCause)] = &[
    ("lock_wait", RowLock),
    ("log_write_up_to", Commit),
    ("log_buffer_flush_to_disk", Commit),
    ("log_wait_for_flush", Commit),
    ("log_wait_for_write", Commit),
    ("trx_flush_log", Commit),
    ("flush_logs", Commit),
    ("log_free_check", RedoRoom),
    ("log_wait_for_space", RedoRoom),
    ("log_buffer_reserve", RedoRoom),
    ("log_buffer_extend", RedoRoom),
    ("log_reserve", RedoRoom),
    ("log_preflush_pool", RedoRoom),
    ("log_check_margins", RedoRoom),
    ("log_checkpoint", RedoRoom),
    ("buf_flush_wait_flushed", RedoRoom),
    ("buf_LRU_get_free_block", FreePage),
    ("buf_LRU_get_free_only", FreePage),
    ("buf_flush_single_page_from_LRU", FreePage),
    ("buf_dblwr", Doublewrite),
    ("dblwr::", Doublewrite),
    ("Double_write", Doublewrite),
    ("buf_page_get_gen", PageLatch),
    ("buf_page_get_known_nowait", PageLatch),
    ("buf_page_optimistic_get", PageLatch),
    ("buf_page_create", PageLatch),
    ("buf_page_init_for_read", PageLatch),
    ("buf_wait_for_read", PageLatch),
    ("Buf_fetch", PageLatch),
    ("btr_cur_", IndexLatch),
    ("btr_pcur_", IndexLatch),
    ("row_ins_", IndexLatch),
    ("row_mysql_delay_if_needed", Admission),
    ("srv_conc_enter", Admission),
    ("MDL_context::", Metadata),
    ("MDL_wait::", Metadata),
    ("Global_read_lock", Metadata),
    ("open_table", Metadata),
    ("tdc_", Metadata),
    ("dict_", Metadata),
    ("dd::", Metadata),
    ("ReplSemiSync", Replication),
    ("Repl_semi_sync", Replication),
    ("repl_semisync", Replication),
    ("galera", Replication),
    ("gcs_", Replication),
    ("wsrep", Replication),
    ("group_replication", Replication),
    ("Commit_stage_manager", Commit),
    ("Stage_manager", Commit),
    ("MYSQL_BIN_LOG::", Commit),
    // MariaDB from 10.6 on lets a session wait for its log before it answers.
    ("net_real_write", Commit),
    ("Item_func_sleep", Asked),
    ("ha_commit_trans", Commit),
    ("ha_commit_one_phase", Commit),
];

/// What a stack waits for, by the names of its functions, the innermost first.
pub(crate) fn cause_of<'a>(functions: impl IntoIterator<Item = &'a str>) -> Option<WaitCause> {
    let cause = |function: &str| {
        let name = function.split('(').next().unwrap_or(function);
        CAUSES.iter().find(|(part, _)| name.contains(part)).map(|(_, cause)| *cause)
    };
    functions.into_iter().find_map(cause)
}

#[cfg(test)]
mod tests {
    use super::cause_of;
    use base::WaitCause;

    #[test]
    fn the_innermost_function_with_a_row_decides() {
        let commit = [
            "os_event::wait_time_low(unsigned long, long)",
            "log_write_up_to(log_t&, unsigned long, bool)",
            "MYSQL_BIN_LOG::ordered_commit(THD*, bool, bool)",
        ];
        assert_eq!(cause_of(commit), Some(WaitCause::Commit));
        let page = ["rw_lock_s_lock_spin", "buf_page_get_gen", "btr_cur_search_to_nth_level"];
        assert_eq!(cause_of(page), Some(WaitCause::PageLatch));
        let index = ["rw_lock_sx_lock_low", "btr_cur_search_to_nth_level(dict_index_t*)"];
        assert_eq!(cause_of(index), Some(WaitCause::IndexLatch));
        // Arguments are no functions.
        assert_eq!(cause_of(["row_search_mvcc(dict_index_t*)"]), None);
        assert_eq!(cause_of([]), None);
    }
}
