//! What survives a power cut.

use crate::finding::{Gain, Proposal, Risk};
use crate::rule::{Rule, Settable, dynamic, dynamic_since};
use crate::snapshot::ServerSnapshot;
use analyse::Part;
use base::Since;

const FLUSH_AT_COMMIT: Settable = dynamic("innodb_flush_log_at_trx_commit");
const TORN_PAGES: &str = "without it, a page that was half written when power failed cannot be \
                          repaired from the redo log: the table is lost";

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "flush-at-commit",
        title: "Write and flush the redo log at each commit",
        reason: "A transaction is durable where its redo log was flushed before COMMIT returned.",
        source: "MySQL manual, innodb_flush_log_at_trx_commit; S1 table 5 collects 1 and 2",
        releases: "all",
        variables: &[FLUSH_AT_COMMIT],
        judge: flush_at_commit,
    },
    Rule {
        name: "sync-binlog",
        title: "Flush the binary log with each group of commits",
        reason: "A commit that is not in the binary log after a power cut is missing on replicas \
                 and from point-in-time recovery.",
        source: "MySQL manual, sync_binlog",
        releases: "all; the default is 1 since MySQL 5.7.7, and 0 in MariaDB",
        variables: &[dynamic("sync_binlog")],
        judge: sync_binlog,
    },
    Rule {
        name: "doublewrite",
        title: "Keep the doublewrite buffer",
        reason: "A page of 16 KiB is several sectors to most devices: a power cut may leave half \
                 of it written. MySQL 8.0.20 and newer do not flush their doublewrite files with \
                 O_DIRECT: on a drive whose cache is volatile a page and its copy can both be \
                 torn, and innodb_flush_method = fsync flushes them.",
        source: "MySQL manual, innodb_doublewrite; S1 table 5 has ON",
        releases: "all; devices with atomic writes of a page do without, and MariaDB 10.2 and \
                   later knows some of them. Newer MariaDB also has fast, which leaves out \
                   flushes",
        variables: &[dynamic_since(Since::mariadb((11, 4, 2)), "innodb_doublewrite")],
        judge: doublewrite,
    },
    Rule {
        name: "checksums",
        title: "Have pages checked by CRC-32C",
        reason: "Processors compute it in hardware, so that it costs next to nothing; without \
                 checksums a damaged page is found when it is too late.",
        source: "MySQL manual, innodb_checksum_algorithm; S1 tables 6 and 8 have NONE for MySQL \
                 and crc32 for Percona Server",
        releases: "all; the default is crc32 since MySQL 5.7.7, and full_crc32 since MariaDB 10.5, \
                   which from 10.6 on has no other algorithms than these two",
        variables: &[dynamic("innodb_checksum_algorithm")],
        judge: checksums,
    },
    Rule {
        name: "flush-every-second",
        title: "Flush the redo log once a second where the last second may be lost",
        reason: "Commits no longer wait for the device.",
        source: "S1 table 5 collects 1 and 2; MySQL manual, innodb_flush_log_at_trx_commit",
        releases: "all",
        variables: &[FLUSH_AT_COMMIT],
        judge: flush_every_second,
    },
];

fn flush_at_commit(snapshot: &ServerSnapshot) -> Option<Proposal> {
    let value = snapshot.text("innodb_flush_log_at_trx_commit")?;
    let lost = match value {
        "0" => "a crash of the server or the machine loses the commits of the last second",
        _ => "a power cut or a crash of the kernel loses the commits of the last second",
    };
    Proposal::seen(format!("innodb_flush_log_at_trx_commit is {value}: {lost}"))
        .set(snapshot, "innodb_flush_log_at_trx_commit", 1)
        .at_risk(Risk::Other("each commit waits for a flush of the log's device"))
        // MariaDB's 3 flushes twice.
        .unless(value == "1" || value == "3")
        .expecting(Gain::Safety)
}

fn sync_binlog(snapshot: &ServerSnapshot) -> Option<Proposal> {
    let is_written = snapshot.is_on("log_bin")?;
    let every = snapshot.number("sync_binlog")?;
    Proposal::seen(format!("sync_binlog is {every}, and the binary log is on"))
        .set(snapshot, "sync_binlog", 1)
        .at_risk(Risk::Other("each group of commits waits for one more flush"))
        .unless(!is_written || every == 1.0)
        .expecting(Gain::Safety)
}

/// Are pages written once only?
pub(super) fn doublewrite_is_off(snapshot: &ServerSnapshot) -> bool {
    let value = snapshot.text("innodb_doublewrite").unwrap_or("ON");
    ["OFF", "0", "FALSE", "DETECT_ONLY"].iter().any(|off| value.eq_ignore_ascii_case(off))
}

fn doublewrite(snapshot: &ServerSnapshot) -> Option<Proposal> {
    let value = snapshot.text("innodb_doublewrite")?;
    Proposal::seen(format!("innodb_doublewrite is {value}: {TORN_PAGES}"))
        .set(snapshot, "innodb_doublewrite", "ON")
        .at_risk(Risk::Other("pages are written twice, the first time one after another"))
        .unless(!doublewrite_is_off(snapshot))
        .expecting(Gain::Safety)
}

fn checksums(snapshot: &ServerSnapshot) -> Option<Proposal> {
    let value = snapshot.text("innodb_checksum_algorithm")?.to_ascii_lowercase();
    let (gain, seen) = match value.trim_start_matches("strict_") {
        "none" => (Gain::Safety, "pages have no checksums: damage is not found"),
        "innodb" => (Gain::Some, "pages are checked by an algorithm without help of the processor"),
        _ => return None,
    };
    Proposal::seen(seen).set(snapshot, "innodb_checksum_algorithm", "crc32").expecting(gain)
}

/// Below this share of a transaction's time, waiting for the log is no reason to give up anything.
const LOG_SHARE_MIN: f64 = 0.25;

fn flush_every_second(snapshot: &ServerSnapshot) -> Option<Proposal> {
    let log = snapshot.share_of(Part::Log)?;
    Proposal::seen(format!("a transaction waits for the log for {:.0} % of its time", log * 100.0))
        .set(snapshot, "innodb_flush_log_at_trx_commit", 2)
        .at_risk(Risk::Durability(
            "a power cut or a crash of the kernel loses the commits of the last second, which \
             clients were told are safe; replicas may have them and then differ",
        ))
        .unless(snapshot.text("innodb_flush_log_at_trx_commit")? != "1" || log < LOG_SHARE_MIN)
        .expecting(Gain::Large)
}
