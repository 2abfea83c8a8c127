//! How pages are read, and what is kept to find rows faster.

use crate::finding::{Gain, Proposal, Risk};
use crate::rule::{Rule, dynamic, dynamic_since, fixed};
use crate::snapshot::ServerSnapshot;
use analyse::Part;
use base::Since;

/// Above this share of pages that were read ahead and dropped unused, reading ahead harms.
const EVICTED_SHARE_MAX: f64 = 0.1;
/// Devices below it have no use for more threads that wait for them.
const FAST_READS_IOPS: f64 = 50_000.0;
const IO_THREADS: u32 = 16;

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "random-read-ahead",
        title: "Do not read the rest of an extent because some of it was read",
        reason: "OLTP reads rows all over a table: the other pages of the extent are read for \
                 nothing.",
        source: "S1 table 5: read-ahead disabled",
        releases: "all; it is off by default since MySQL 5.5",
        variables: &[dynamic("innodb_random_read_ahead")],
        judge: random_read_ahead,
    },
    Rule {
        name: "linear-read-ahead",
        title: "Read ahead only where what was read ahead is used",
        reason: "Pages that are read ahead and dropped unused have taken the place of others.",
        source: "S1 table 5: read-ahead disabled; MySQL manual, innodb_read_ahead_threshold",
        releases: "all",
        variables: &[dynamic("innodb_read_ahead_threshold")],
        judge: linear_read_ahead,
    },
    Rule {
        name: "adaptive-hash-index",
        title: "Switch the adaptive hash index off for OLTP that writes",
        reason: "Every page that is read or changed has its entries removed and built again, \
                 under a latch.",
        source: "S1 tables 6 to 8: innodb_adaptive_hash_index=OFF",
        releases: "all; it is off by default since MySQL 8.4 and MariaDB 10.5",
        variables: &[dynamic("innodb_adaptive_hash_index")],
        judge: adaptive_hash_index,
    },
    Rule {
        name: "change-buffering",
        title: "Change secondary indexes at once where reads are cheap",
        reason: "The change buffer saves random reads of a disk; on an SSD its merges cost more \
                 than what they save.",
        source: "MariaDB knowledge base, MDEV-27734; MySQL manual, innodb_change_buffering",
        releases: "the default is none since MySQL 8.4 and MariaDB 10.5.15; MariaDB 11.0 has no \
                   change buffer",
        variables: &[dynamic("innodb_change_buffering")],
        judge: change_buffering,
    },
    Rule {
        name: "io-threads",
        title: "Have as many I/O threads as keep a fast device busy",
        reason: "Each thread completes the requests of its own queue of 256; four fall behind a \
                 device that completes 50,000 a second.",
        source: "S1 tables 6 to 8: 16 and 16",
        releases: "all; a running MariaDB takes it since 10.11",
        variables: &[
            dynamic_since(Since::mariadb((10, 11, 0)), "innodb_read_io_threads"),
            dynamic_since(Since::mariadb((10, 11, 0)), "innodb_write_io_threads"),
        ],
        judge: io_threads,
    },
    Rule {
        name: "native-aio",
        title: "Use the kernel's asynchronous I/O",
        reason: "Without it each I/O thread has one request under way.",
        source: "S1 tables 6 to 8: ON (OFF in #6 for Percona Server); MySQL manual, \
                 innodb_use_native_aio",
        releases: "all; MariaDB 10.6 and later has io_uring where it was built with it",
        variables: &[fixed("innodb_use_native_aio")],
        judge: native_aio,
    },
    Rule {
        name: "page-size",
        title: "Try smaller pages on a device without an arm",
        reason: "A row of 300 bytes needs a page of 16 KiB to be read and, twice, written. \
                 Smaller pages take less of the device, and more of them fit into the pool.",
        source: "S1 table 5: 4K, 8K and 16K",
        releases: "since MySQL 5.6 and MariaDB 10.0; 32K and 64K since MySQL 5.7.6",
        variables: &[],
        judge: page_size,
    },
];

fn random_read_ahead(snapshot: &ServerSnapshot) -> Option<Proposal> {
    let per_s = snapshot.per_s("Innodb_buffer_pool_read_ahead_rnd").unwrap_or(0.0);
    Proposal::seen(format!("innodb_random_read_ahead is on: {per_s:.0} pages a second"))
        .set(snapshot, "innodb_random_read_ahead", "OFF")
        .unless(!snapshot.is_on("innodb_random_read_ahead")?)
        .expecting(Gain::Some)
}

fn linear_read_ahead(snapshot: &ServerSnapshot) -> Option<Proposal> {
    // Evicted pages are counted together with those that random read-ahead has read.
    if snapshot.is_on("innodb_random_read_ahead") == Some(true) {
        return None;
    }
    snapshot.per_s("Innodb_buffer_pool_read_ahead").filter(|per_s| *per_s >= 1.0)?;
    let evicted = "Innodb_buffer_pool_read_ahead_evicted";
    let share = snapshot.share(evicted, "Innodb_buffer_pool_read_ahead")?;
    let seen = format!("{:.0} % of the pages read ahead were dropped unused", share * 100.0);
    Proposal::seen(seen)
        .set(snapshot, "innodb_read_ahead_threshold", 0)
        .unless(share < EVICTED_SHARE_MAX || snapshot.number("innodb_read_ahead_threshold")? == 0.0)
        .expecting(Gain::Some)
}

fn adaptive_hash_index(snapshot: &ServerSnapshot) -> Option<Proposal> {
    let changed = ["Innodb_rows_inserted", "Innodb_rows_updated", "Innodb_rows_deleted"];
    let changed: f64 = changed.iter().filter_map(|name| snapshot.per_s(name)).sum();
    let seen = match changed > 0.0 {
        true => format!("innodb_adaptive_hash_index is on, and {changed:.0} rows change a second"),
        false => "innodb_adaptive_hash_index is on".to_owned(),
    };
    Proposal::seen(seen)
        .set(snapshot, "innodb_adaptive_hash_index", "OFF")
        .unless(!snapshot.is_on("innodb_adaptive_hash_index")?)
        .expecting(if changed > 0.0 { Gain::Some } else { Gain::Small })
}

fn change_buffering(snapshot: &ServerSnapshot) -> Option<Proposal> {
    let value = snapshot.text("innodb_change_buffering")?;
    Proposal::seen(format!("innodb_change_buffering is {value} on a device without an arm"))
        .set(snapshot, "innodb_change_buffering", "none")
        .unless(value == "none" || snapshot.is_solid_state() != Some(true))
        .expecting(Gain::Small)
}

fn io_threads(snapshot: &ServerSnapshot) -> Option<Proposal> {
    let iops = snapshot.device.as_ref()?.random_read_iops?;
    let [for_reads, for_writes] = ["innodb_read_io_threads", "innodb_write_io_threads"];
    let (reads, writes) = (snapshot.number(for_reads)?, snapshot.number(for_writes)?);
    Proposal::seen(format!("{reads} and {writes} I/O threads for {iops:.0} reads a second"))
        .set_if(reads < 8.0, snapshot, for_reads, IO_THREADS)
        .set_if(writes < 8.0, snapshot, for_writes, IO_THREADS)
        .unless(iops < FAST_READS_IOPS)
        .expecting(Gain::Small)
}

fn native_aio(snapshot: &ServerSnapshot) -> Option<Proposal> {
    Proposal::switch(snapshot, "innodb_use_native_aio", true)?
        .at_risk(Risk::Other("a server that may not ask the kernel for it falls back by itself"))
        .expecting(Gain::Some)
}

fn page_size(snapshot: &ServerSnapshot) -> Option<Proposal> {
    let reads = snapshot.share_of(Part::Reads)?;
    let is_small = snapshot.page_bytes() < 16384.0;
    Proposal::seen(format!("a transaction waits for reads for {:.0} % of its time", reads * 100.0))
        .act("dump the data, initialise a server with innodb_page_size=4K or 8K, load it there")
        .at_risk(Risk::Other("rows longer than half a page do not fit, nor do long index keys"))
        .unless(is_small || snapshot.is_solid_state() != Some(true) || reads < 0.25)
        .expecting(Gain::Some)
}
