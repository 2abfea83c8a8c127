//! Threads that write pages and keep free ones, and how they write.

use super::{durability, pool};
use crate::finding::{Gain, Proposal};
use crate::rule::{Rule, dynamic, dynamic_since, fixed};
use crate::snapshot::ServerSnapshot;
use base::Since;

/// Of each instance's pages, the part that the search for free ones may look at.
const DEPTH_PART: f64 = 0.25;
const DEPTH_MIN: f64 = 256.0;
/// What the papers had.
const DEPTH_WANTED: f64 = 4000.0;
const DOUBLEWRITE_PAGES: u32 = 128;
/// Of each instance: with less, servers refuse to back off.
const BACKOFF_BYTES_MIN: f64 = 20.0 * 1_048_576.0;

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "page-cleaners",
        title: "Have a page cleaner for each pool instance",
        reason: "A cleaner writes the pages of one instance at a time.",
        source: "S1 tables 6 to 8: as many as instances",
        releases: "since MySQL 5.7.4; MariaDB 10.2 to 10.5",
        variables: &[dynamic_since(Since::mariadb((10, 3, 3)), "innodb_page_cleaners")],
        judge: cleaners,
    },
    Rule {
        name: "lru-scan-depth",
        title: "Keep as many free pages as sessions need, and no more than the pool has",
        reason: "A session that finds no free page writes one itself. Searching more pages than \
                 an instance has costs CPU each second.",
        source: "S1 tables 6 to 8: 4000 for MySQL, 8192 for Percona Server",
        releases: "all",
        variables: &[dynamic("innodb_lru_scan_depth")],
        judge: lru_scan_depth,
    },
    Rule {
        name: "free-list",
        title: "Have sessions wait for free pages instead of writing them",
        reason: "Sessions that all search for a free page contend for the pool's mutex.",
        source: "S1 table 7: innodb_empty_free_list_algorithm=backoff",
        releases: "Percona Server since 5.6, XtraDB 5.6",
        variables: &[dynamic("innodb_empty_free_list_algorithm")],
        judge: free_list,
    },
    Rule {
        name: "cleaner-age-factor",
        title: "Write more pages the older the checkpoint is",
        reason: "Writing that grows with the checkpoint's age leaves room in the log.",
        source: "S1 table 7: innodb_cleaner_lsn_age_factor=high_checkpoint",
        releases: "Percona Server since 5.6, XtraDB 5.6, where it is the default",
        variables: &[dynamic("innodb_cleaner_lsn_age_factor")],
        judge: age_factor,
    },
    Rule {
        name: "doublewrite-pages",
        title: "Write pages to the doublewrite files in larger batches",
        reason: "A batch has one flush; four pages, the number of write threads, are few.",
        source: "MySQL manual, innodb_doublewrite_pages: 128 since MySQL 8.4",
        releases: "MySQL 8.0.20 to 8.3; before that the doublewrite buffer had 128 anyway",
        variables: &[fixed("innodb_doublewrite_pages")],
        judge: doublewrite_pages,
    },
    Rule {
        name: "track-changed-pages",
        title: "Track changed pages only where a backup tool asks for them",
        reason: "A thread reads the whole redo log to note which pages changed.",
        source: "S1 table 7: innodb_track_changed_pages=OFF",
        releases: "Percona Server since 5.5, XtraDB 5.5 and 5.6",
        variables: &[fixed("innodb_track_changed_pages")],
        judge: tracking,
    },
];

fn cleaners(snapshot: &ServerSnapshot) -> Option<Proposal> {
    let cleaners = snapshot.number("innodb_page_cleaners")?;
    let instances = snapshot.number("innodb_buffer_pool_instances")?;
    let instances = pool::wanted_instances(snapshot).unwrap_or(instances);
    Proposal::seen(format!("{cleaners} page cleaners for {instances} pool instances"))
        .set(snapshot, "innodb_page_cleaners", instances)
        .unless(cleaners >= instances)
        .expecting(Gain::Some)
}

fn lru_scan_depth(snapshot: &ServerSnapshot) -> Option<Proposal> {
    let depth = snapshot.number("innodb_lru_scan_depth")?;
    let instances = snapshot.number("innodb_buffer_pool_instances").unwrap_or(1.0).max(1.0);
    let instances = pool::wanted_instances(snapshot).unwrap_or(instances);
    let pages = pool::planned_bytes(snapshot)? / snapshot.page_bytes() / instances;
    let most = (pages * DEPTH_PART).floor().max(DEPTH_MIN);
    let waits = snapshot.per_s("Innodb_buffer_pool_wait_free").unwrap_or(0.0);
    let (wanted, seen, gain) = if depth > pages && depth > most {
        let seen = format!("innodb_lru_scan_depth is {depth}, an instance has {pages:.0} pages");
        (most, seen, Gain::Small)
    } else if waits > 0.0 && depth < DEPTH_WANTED.min(most) {
        let seen = format!("{waits:.1} waits a second for a free page");
        (DEPTH_WANTED.min(most), seen, Gain::Large)
    } else {
        return None;
    };
    Proposal::seen(seen).set(snapshot, "innodb_lru_scan_depth", wanted).expecting(gain)
}

fn free_list(snapshot: &ServerSnapshot) -> Option<Proposal> {
    let instances = snapshot.number("innodb_buffer_pool_instances").unwrap_or(1.0).max(1.0);
    let has_room = snapshot.pool_bytes()? / instances >= BACKOFF_BYTES_MIN;
    Proposal::seen("innodb_empty_free_list_algorithm is legacy")
        .set(snapshot, "innodb_empty_free_list_algorithm", "backoff")
        .unless(snapshot.text("innodb_empty_free_list_algorithm")? != "legacy" || !has_room)
        .expecting(Gain::Some)
}

fn age_factor(snapshot: &ServerSnapshot) -> Option<Proposal> {
    Proposal::seen("innodb_cleaner_lsn_age_factor is legacy")
        .set(snapshot, "innodb_cleaner_lsn_age_factor", "high_checkpoint")
        .unless(snapshot.text("innodb_cleaner_lsn_age_factor")? != "legacy")
        .expecting(Gain::Small)
}

fn doublewrite_pages(snapshot: &ServerSnapshot) -> Option<Proposal> {
    let pages = snapshot.number("innodb_doublewrite_pages")?;
    Proposal::seen(format!("a batch of the doublewrite files has {pages} pages"))
        .set(snapshot, "innodb_doublewrite_pages", DOUBLEWRITE_PAGES)
        .unless(pages >= 32.0 || durability::doublewrite_is_off(snapshot))
        .expecting(Gain::Some)
}

fn tracking(snapshot: &ServerSnapshot) -> Option<Proposal> {
    Proposal::switch(snapshot, "innodb_track_changed_pages", false)?.expecting(Gain::Small)
}
