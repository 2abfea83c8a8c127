//! Which function of a server waits for what.
//!
//! Of MySQL, Percona Server and MariaDB, 5.6 to 12: the names are those of the sources, and a
//! server has those of its version. A wait that no row knows is told by its innermost function that
//! has a name.

use base::WaitCause::{self, *};

/// What waits in functions are for, by parts of their names without arguments. Of a stack the
/// innermost function that has a row decides; of that function, the first row.
const CAUSES: &[(WaitCause, &[&str])] = &[
    (RowLock, &["lock_wait"]),
    (Commit, &["log_write_up_to", "log_buffer_flush_to_disk", "log_wait_for_flush"]),
    (Commit, &["log_wait_for_write", "trx_flush_log", "flush_logs"]),
    (RedoRoom, &["log_free_check", "log_wait_for_space", "log_buffer_reserve"]),
    (RedoRoom, &["log_buffer_extend", "log_reserve", "log_preflush_pool", "log_check_margins"]),
    (RedoRoom, &["log_checkpoint", "buf_flush_wait_flushed"]),
    (FreePage, &["buf_LRU_get_free_block", "buf_LRU_get_free_only"]),
    (FreePage, &["buf_flush_single_page_from_LRU"]),
    (Doublewrite, &["buf_dblwr", "dblwr::", "Double_write"]),
    (PageLatch, &["buf_page_get_gen", "buf_page_get_known_nowait", "buf_page_optimistic_get"]),
    (PageLatch, &["buf_page_create", "buf_page_init_for_read", "buf_wait_for_read", "Buf_fetch"]),
    (IndexLatch, &["btr_cur_", "btr_pcur_", "row_ins_"]),
    (Admission, &["row_mysql_delay_if_needed", "srv_conc_enter"]),
    (Metadata, &["MDL_context::", "MDL_wait::", "Global_read_lock"]),
    (Metadata, &["open_table", "tdc_", "dict_", "dd::"]),
    (Replication, &["ReplSemiSync", "Repl_semi_sync", "repl_semisync"]),
    (Replication, &["galera", "gcs_", "wsrep", "group_replication"]),
    (Commit, &["Commit_stage_manager", "Stage_manager", "MYSQL_BIN_LOG::"]),
    // MariaDB from 10.6 on lets a session wait for its log before it answers.
    (Commit, &["net_real_write"]),
    (Asked, &["Item_func_sleep"]),
    (Commit, &["ha_commit_trans", "ha_commit_one_phase"]),
];

/// What a stack waits for, by the names of its functions, the innermost first.
pub(crate) fn cause_of<'a>(functions: impl IntoIterator<Item = &'a str>) -> Option<WaitCause> {
    let cause = |function: &str| {
        let name = function.split('(').next().unwrap_or(function);
        let found = CAUSES.iter().find(|(_, parts)| parts.iter().any(|part| name.contains(part)));
        found.map(|(cause, _)| *cause)
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
