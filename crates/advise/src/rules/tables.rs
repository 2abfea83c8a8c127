//! Tables, temporary tables and the binary log's cache.

use crate::finding::{Gain, Proposal, Risk};
use crate::rule::{Rule, bytes, dynamic};
use crate::snapshot::ServerSnapshot;

const ON_DISK_SHARE_MAX: f64 = 0.25;
const MIB: f64 = 1_048_576.0;
/// A load that inserts more than this part of the rows it changes fills pages.
const INSERTS_SHARE_MIN: f64 = 0.5;

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "fill-factor",
        title: "Leave room in the pages of an index that is built, where rows are inserted",
        reason: "A full page splits at the first insert into it.",
        source: "S1 tables 6 to 8 and S2, best known methods: 50 for loads that insert; 100 for \
                 Percona Server",
        releases: "since MySQL 5.7.5 and MariaDB 10.2.2; it holds for indexes built after it",
        variables: &[dynamic("innodb_fill_factor")],
        judge: fill_factor,
    },
    Rule {
        name: "temporary-tables",
        title: "Keep small temporary tables in memory",
        reason: "A temporary table beyond the limit goes to the device; one with BLOB or TEXT \
                 columns goes there in any case before MySQL 8.0.13.",
        source: "MySQL manual, tmp_table_size, Created_tmp_disk_tables",
        releases: "all; since MySQL 8.0 temptable_max_ram bounds all of them together",
        variables: &[bytes(dynamic("tmp_table_size")), bytes(dynamic("max_heap_table_size"))],
        judge: temporary_tables,
    },
    Rule {
        name: "binlog-cache",
        title: "Keep a transaction's events in memory until it commits",
        reason: "Events beyond the cache go through a temporary file.",
        source: "MySQL manual, binlog_cache_size, Binlog_cache_disk_use",
        releases: "all",
        variables: &[bytes(dynamic("binlog_cache_size"))],
        judge: binlog_cache,
    },
];

fn fill_factor(snapshot: &ServerSnapshot) -> Option<Proposal> {
    let factor = snapshot.number("innodb_fill_factor").filter(|factor| *factor >= 100.0)?;
    let rows = |name| snapshot.per_s(name).unwrap_or(0.0);
    let inserted = rows("Innodb_rows_inserted");
    let changed = inserted + rows("Innodb_rows_updated") + rows("Innodb_rows_deleted");
    let share = inserted * 100.0 / changed;
    Proposal::seen(format!("{share:.0} % of the rows changed are inserts, pages are {factor} full"))
        .set(snapshot, "innodb_fill_factor", 50)
        .at_risk(Risk::Other("indexes built after it need twice the room"))
        .unless(changed <= 0.0 || inserted < changed * INSERTS_SHARE_MIN)
        .expecting(Gain::Small)
}

fn temporary_tables(snapshot: &ServerSnapshot) -> Option<Proposal> {
    // MySQL 8.0 keeps them elsewhere, with a bound for all together.
    let elsewhere = snapshot.text("internal_tmp_mem_storage_engine") == Some("TempTable");
    snapshot.per_s("Created_tmp_tables").filter(|per_s| *per_s >= 1.0 && !elsewhere)?;
    let share = snapshot.share("Created_tmp_disk_tables", "Created_tmp_tables")?;
    let size = snapshot.number("tmp_table_size")?.min(snapshot.number("max_heap_table_size")?);
    let wanted = (size * 4.0).min(256.0 * MIB);
    Proposal::seen(format!("{:.0} % of temporary tables go to the device", share * 100.0))
        .set(snapshot, "tmp_table_size", wanted)
        .set(snapshot, "max_heap_table_size", wanted)
        .at_risk(Risk::Memory("each temporary table of each session may become so large"))
        .unless(share < ON_DISK_SHARE_MAX || wanted <= size)
        .expecting(Gain::Some)
}

fn binlog_cache(snapshot: &ServerSnapshot) -> Option<Proposal> {
    let on_disk = snapshot.per_s("Binlog_cache_disk_use").filter(|per_s| *per_s > 0.1)?;
    let size = snapshot.number("binlog_cache_size")?;
    let wanted = (size * 4.0).min(16.0 * MIB);
    Proposal::seen(format!("{on_disk:.1} transactions a second do not fit into the cache"))
        .set(snapshot, "binlog_cache_size", wanted)
        .at_risk(Risk::Memory("each session takes it"))
        .unless(wanted <= size)
        .expecting(Gain::Some)
}
