//! The names of the server's metrics, and where each is to be found. Pure.
//!
//! Engines do not say the same in the same place. What a server's status lacks may be a counter of
//! INNODB_METRICS, where that is switched on, or a line of the InnoDB monitor. Waits for files are
//! in performance_schema alone, where that is on. What a server has nowhere is left out.

use super::innodb_status::InnodbStatus;
use crate::readings::Readings;
use base::Since;
use std::collections::HashMap;
use std::sync::LazyLock;
use store::{MetricKind, MetricSource};
use wire::ServerInfo;

/// A metric and its places, the first of which counts that the server has.
pub(super) struct Name {
    pub(super) name: &'static str,
    pub(super) kind: MetricKind,
    /// In SHOW GLOBAL STATUS.
    pub(super) status: Option<&'static str>,
    /// In information_schema.INNODB_METRICS; with a column behind it, an event of
    /// performance_schema.
    pub(super) counter: Option<&'static str>,
    /// In SHOW ENGINE INNODB STATUS.
    pub(super) monitor: Option<fn(&InnodbStatus) -> Option<i64>>,
}

const fn counter(name: &'static str, status: &'static str) -> Name {
    Name { name, kind: MetricKind::Counter, status: Some(status), counter: None, monitor: None }
}

const fn gauge(name: &'static str, status: &'static str) -> Name {
    Name { kind: MetricKind::Gauge, ..counter(name, status) }
}

/// A counter that no server's status has.
const fn elsewhere(name: &'static str, place: &'static str) -> Name {
    Name { status: None, counter: Some(place), ..counter(name, "") }
}

impl Name {
    const fn or_counter(self, counter: &'static str) -> Name {
        Name { counter: Some(counter), ..self }
    }

    const fn or_monitor(self, monitor: fn(&InnodbStatus) -> Option<i64>) -> Name {
        Name { monitor: Some(monitor), ..self }
    }
}

pub(super) const NAMES: &[Name] = &[
    counter("questions", "Questions"),
    counter("com_commit", "Com_commit"),
    counter("com_rollback", "Com_rollback"),
    counter("com_select", "Com_select"),
    counter("com_insert", "Com_insert"),
    counter("com_update", "Com_update"),
    counter("com_delete", "Com_delete"),
    counter("com_stmt_execute", "Com_stmt_execute"),
    counter("bytes_received", "Bytes_received"),
    counter("bytes_sent", "Bytes_sent"),
    counter("opened_tables", "Opened_tables"),
    counter("tmp_disk_tables", "Created_tmp_disk_tables"),
    counter("binlog_cache_disk_use", "Binlog_cache_disk_use"),
    gauge("threads_running", "Threads_running"),
    gauge("threads_connected", "Threads_connected"),
    counter("buffer_pool_read_requests", "Innodb_buffer_pool_read_requests"),
    counter("buffer_pool_reads", "Innodb_buffer_pool_reads"),
    counter("buffer_pool_wait_free", "Innodb_buffer_pool_wait_free"),
    counter("buffer_pool_pages_flushed", "Innodb_buffer_pool_pages_flushed"),
    gauge("buffer_pool_pages_total", "Innodb_buffer_pool_pages_total"),
    gauge("buffer_pool_pages_data", "Innodb_buffer_pool_pages_data"),
    gauge("buffer_pool_pages_dirty", "Innodb_buffer_pool_pages_dirty"),
    gauge("buffer_pool_pages_free", "Innodb_buffer_pool_pages_free"),
    gauge("page_size_bytes", "Innodb_page_size"),
    counter("pages_read", "Innodb_pages_read"),
    counter("pages_written", "Innodb_pages_written"),
    counter("pages_created", "Innodb_pages_created"),
    counter("data_reads", "Innodb_data_reads"),
    counter("data_writes", "Innodb_data_writes"),
    counter("data_fsyncs", "Innodb_data_fsyncs"),
    counter("data_read_bytes", "Innodb_data_read"),
    counter("data_written_bytes", "Innodb_data_written"),
    gauge("data_pending_reads", "Innodb_data_pending_reads"),
    counter("log_writes", "Innodb_log_writes"),
    counter("log_write_requests", "Innodb_log_write_requests"),
    counter("log_waits", "Innodb_log_waits"),
    counter("log_fsyncs", "Innodb_os_log_fsyncs").or_counter("os_log_fsyncs"),
    counter("log_written_bytes", "Innodb_os_log_written"),
    gauge("log_pending_fsyncs", "Innodb_os_log_pending_fsyncs"),
    counter("log_lsn_bytes", "Innodb_lsn_current")
        .or_counter("log_lsn_current")
        .or_monitor(|status| status.lsn_bytes),
    gauge("checkpoint_age_bytes", "Innodb_checkpoint_age")
        .or_counter("log_lsn_checkpoint_age")
        .or_monitor(InnodbStatus::checkpoint_age_bytes),
    counter("doublewrite_pages", "Innodb_dblwr_pages_written"),
    counter("doublewrite_writes", "Innodb_dblwr_writes"),
    counter("row_lock_waits", "Innodb_row_lock_waits"),
    counter("row_lock_time_ms", "Innodb_row_lock_time"),
    gauge("row_lock_current_waits", "Innodb_row_lock_current_waits"),
    counter("deadlocks", "Innodb_deadlocks").or_counter("lock_deadlocks"),
    elsewhere("lock_wait_timeouts", "lock_timeouts"),
    counter("rows_read", "Innodb_rows_read"),
    counter("rows_inserted", "Innodb_rows_inserted"),
    counter("rows_updated", "Innodb_rows_updated"),
    counter("rows_deleted", "Innodb_rows_deleted"),
    gauge("history_list_entries", "Innodb_history_list_length")
        .or_counter("trx_rseg_history_len")
        .or_monitor(|status| status.history_list_entries),
    elsewhere("data_file_waits", "wait/io/file/innodb/innodb_data_file COUNT_STAR"),
    elsewhere("data_file_wait_ns", "wait/io/file/innodb/innodb_data_file SUM_TIMER_WAIT"),
    elsewhere("log_file_waits", "wait/io/file/innodb/innodb_log_file COUNT_STAR"),
    elsewhere("log_file_wait_ns", "wait/io/file/innodb/innodb_log_file SUM_TIMER_WAIT"),
];

/// Metrics that this server counts wrongly, so that it must not have them.
///
/// Servers whose deadlocks were looked for when a wait began counted only some: `lock_deadlocks`
/// those whose victim waited already, `Innodb_deadlocks` of XtraDB those whose victim was about to.
/// A greeting without a version is that of such a server.
pub(super) fn withheld(server: &ServerInfo) -> &'static [&'static str] {
    if server.has(Since::mysql((8, 0, 18)).or_mariadb((10, 6, 0))) { &[] } else { &["deadlocks"] }
}

/// Indices in [`NAMES`] by what `place` names.
fn indices(place: impl Fn(&Name) -> Option<&'static str>) -> HashMap<&'static [u8], usize> {
    let all = NAMES.iter().enumerate();
    all.filter_map(|(index, name)| Some((place(name)?.as_bytes(), index))).collect()
}

static BY_STATUS: LazyLock<HashMap<&[u8], usize>> = LazyLock::new(|| indices(|name| name.status));
static BY_COUNTER: LazyLock<HashMap<&[u8], usize>> = LazyLock::new(|| indices(|name| name.counter));

/// What is known of each of [`NAMES`].
pub(super) struct StatusValues(Vec<Option<i64>>);

impl StatusValues {
    pub(super) fn new() -> StatusValues {
        StatusValues(vec![None; NAMES.len()])
    }

    /// A row of SHOW GLOBAL STATUS. What is no number, or too large for one, is as if it were not
    /// there.
    pub(super) fn take_status(&mut self, variable: &[u8], value: Option<i64>) {
        if let Some(index) = BY_STATUS.get(variable) {
            self.0[*index] = value;
        }
    }

    /// A row of INNODB_METRICS, or a column of a row of performance_schema.
    pub(super) fn take_counter(&mut self, counter: &[u8], value: Option<i64>) {
        if let Some(index) = BY_COUNTER.get(counter) {
            self.0[*index] = self.0[*index].or(value);
        }
    }

    pub(super) fn take_monitor(&mut self, status: &InnodbStatus) {
        for (value, name) in self.0.iter_mut().zip(NAMES) {
            *value = value.or_else(|| name.monitor.and_then(|of| of(status)));
        }
    }

    /// Forgets metrics that the server must not have.
    pub(super) fn withhold(&mut self, withheld: &[&str]) {
        for (value, name) in self.0.iter_mut().zip(NAMES) {
            if withheld.contains(&name.name) {
                *value = None;
            }
        }
    }

    /// The metrics that have no value yet.
    pub(super) fn missing(&self) -> impl Iterator<Item = &'static Name> {
        let all = NAMES.iter().zip(&self.0);
        all.filter(|(_, value)| value.is_none()).map(|(name, _)| name)
    }

    /// Hands on what has a value.
    pub(super) fn give(&self, into: &mut Readings) {
        for (name, value) in NAMES.iter().zip(&self.0) {
            let Some(value) = *value else { continue };
            into.give(name.kind, MetricSource::Server, name.name, "", value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn a_name_has_one_place_of_each_kind_and_a_place_one_name() {
        let names: HashSet<&str> = NAMES.iter().map(|name| name.name).collect();
        assert_eq!(names.len(), NAMES.len());
        let with_status = NAMES.iter().filter(|name| name.status.is_some()).count();
        assert_eq!(BY_STATUS.len(), with_status);
        let with_counter = NAMES.iter().filter(|name| name.counter.is_some()).count();
        assert_eq!(BY_COUNTER.len(), with_counter);
        let nowhere = |name: &&Name| {
            let is_told = name.status.is_some() || name.counter.is_some();
            !is_told && name.monitor.is_none()
        };
        assert_eq!(NAMES.iter().filter(nowhere).count(), 0);
    }

    fn given(values: &StatusValues) -> Vec<(String, MetricKind, i64)> {
        let mut into = Readings::default();
        values.give(&mut into);
        let all = into.values().iter();
        all.map(|(metric, value)| {
            assert_eq!(metric.source, MetricSource::Server);
            assert_eq!(metric.label, "");
            (metric.name.clone(), metric.kind, *value)
        })
        .collect()
    }

    #[test]
    fn deadlocks_only_from_servers_that_count_all() {
        let withholds = |version: &str, is_mariadb| {
            let server = ServerInfo { version: version.to_owned(), connection_id: 1 };
            assert_eq!(server.family().is_mariadb(), is_mariadb, "{version}");
            withheld(&server) == ["deadlocks"]
        };
        assert!(withholds("5.7.22-log", false));
        assert!(withholds("8.0.15", false));
        assert!(!withholds("8.0.18", false));
        assert!(!withholds("8.0.36-28", false));
        assert!(!withholds("9.1.0", false));
        assert!(withholds("10.1.13-MariaDB", true));
        assert!(!withholds("10.11.19-MariaDB-0+deb12u1", true));
        for unknown in ["", "8", "8.0-proxy", "8.0.", "proxy"] {
            assert!(withholds(unknown, false), "{unknown}");
        }
    }

    #[test]
    fn what_is_withheld_is_not_given() {
        let mut values = StatusValues::new();
        values.take_status(b"Innodb_deadlocks", Some(3));
        values.take_status(b"Threads_running", Some(2));
        values.withhold(&["deadlocks"]);
        let expected = [("threads_running".to_owned(), MetricKind::Gauge, 2)];
        assert_eq!(given(&values), expected);
    }

    #[test]
    fn the_first_place_counts_and_nothing_is_made_up() {
        let mut values = StatusValues::new();
        assert!(given(&values).is_empty());
        assert_eq!(values.missing().count(), NAMES.len());
        values.take_status(b"Innodb_deadlocks", Some(3));
        values.take_status(b"Threads_running", Some(2));
        values.take_status(b"Innodb_page_size", None);
        values.take_status(b"Uptime", Some(9));
        values.take_counter(b"lock_deadlocks", Some(4));
        values.take_counter(b"trx_rseg_history_len", Some(5));
        values.take_counter(b"dml_reads", Some(6));
        let status = InnodbStatus::parse("---\nTRANSACTIONS\n---\nHistory list length 7\n");
        values.take_monitor(&status);
        values.take_counter(b"wait/io/file/innodb/innodb_log_file COUNT_STAR", Some(8));
        values.take_counter(b"wait/io/file/innodb/innodb_log_file SUM_TIMER_WAIT", Some(9));
        let expected = [
            ("threads_running".to_owned(), MetricKind::Gauge, 2),
            ("deadlocks".to_owned(), MetricKind::Counter, 3),
            ("history_list_entries".to_owned(), MetricKind::Gauge, 5),
            ("log_file_waits".to_owned(), MetricKind::Counter, 8),
            ("log_file_wait_ns".to_owned(), MetricKind::Counter, 9),
        ];
        assert_eq!(given(&values), expected);
        assert_eq!(values.missing().count(), NAMES.len() - 5);
    }
}
