//! The buffer pool, and the page cache that stands in for it.

use crate::finding::{Gain, Proposal, Risk};
use crate::rule::{Rule, Settable, bytes, dynamic, dynamic_since, fixed};
use crate::snapshot::ServerSnapshot;
use analyse::Part;
use base::{Since, size_text};

/// Of the machine's memory, the part that a buffer pool may have: the rest is for connections,
/// temporary tables and the system.
const MEMORY_PART: f64 = 0.7;
/// What a pool wants beside the data: undo, change buffer, adaptive hash index.
const BESIDE_DATA: f64 = 1.1;
/// A pool that would grow by less is left.
const GROWTH_MIN: f64 = 1.25;
/// Below this share of reads that miss the pool it is large enough.
const MISS_SHARE_MIN: f64 = 0.001;
/// A chunk of the pool where the server does not tell.
const CHUNK_BYTES: f64 = 134_217_728.0;
const GIB: f64 = 1_073_741_824.0;
/// Above this share of a transaction's time, reads of pages are what it is bound by.
const READS_SHARE_LARGE: f64 = 0.25;
/// More instances gain nothing, as the default of MySQL says.
const INSTANCES_MAX: f64 = 8.0;

const POOL_SIZE: Settable =
    bytes(dynamic_since(Since::mysql((5, 7, 5)).or_mariadb((10, 2, 2)), "innodb_buffer_pool_size"));
const POOL_SIZE_MAX: Settable = bytes(fixed("innodb_buffer_pool_size_max"));

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "pool-size",
        title: "Give the buffer pool the data, or what memory there is",
        reason: "A page in the pool needs no read. With O_DIRECT nothing else caches pages; with \
                 buffered I/O the page cache does, and a page is then in memory twice.",
        source: "S2, best known methods (a larger pool once O_DIRECT is on); S1 table 5: 1G to \
                 40G",
        releases: "all; a running server takes it since MySQL 5.7.5 and MariaDB 10.2.2, newer \
                   MariaDB up to innodb_buffer_pool_size_max",
        variables: &[POOL_SIZE, POOL_SIZE_MAX],
        judge: size,
    },
    Rule {
        name: "flush-method",
        title: "Bypass the page cache for data files",
        reason: "Buffered pages are in memory twice, and the kernel writes them when it likes, \
                 which stalls the flush of the log. A small pool can still win with the page \
                 cache behind it, so raise the pool first.",
        source: "S1 experiment 1 and S2, best known methods: O_DIRECT",
        releases: "all; it is the default since MySQL 8.4 and MariaDB 10.6. MariaDB 11.0 \
                   deprecates it: there it is innodb_data_file_buffering",
        variables: &[
            fixed("innodb_flush_method"),
            dynamic("innodb_data_file_buffering"),
            POOL_SIZE,
            POOL_SIZE_MAX,
        ],
        judge: flush_method,
    },
    Rule {
        name: "pool-instances",
        title: "Have one pool instance for each GiB, eight at most",
        reason: "Instances share no mutex. More of them than GiB or cores only divide the memory.",
        source: "S1 tables 6 and 8: 32 for MySQL, 8 for Percona Server; MySQL manual",
        releases: "until MySQL 8.3; 8.4 counts chunks and cores by itself; MariaDB 10.5 has one \
                   instance, and 10.6 no such variable",
        variables: &[fixed("innodb_buffer_pool_instances")],
        judge: instances,
    },
];

/// The size that a pool should have; `None` where its machine is not known, or it has that size.
fn wanted_bytes(snapshot: &ServerSnapshot) -> Option<u64> {
    let pool = snapshot.pool_bytes()?;
    let memory = snapshot.machine.as_ref()?.memory_bytes as f64 * MEMORY_PART;
    let data = snapshot.data_bytes? as f64 * BESIDE_DATA;
    // The server rounds up to a chunk in each instance.
    let chunk = snapshot.number("innodb_buffer_pool_chunk_size").filter(|bytes| *bytes > 0.0);
    let instances = snapshot.number("innodb_buffer_pool_instances").unwrap_or(1.0).max(1.0);
    let step = chunk.unwrap_or(CHUNK_BYTES) * instances;
    let wanted = (data / step).ceil().min((memory / step).floor()) * step;
    (wanted >= pool * GROWTH_MIN).then_some(wanted as u64)
}

/// The size that the pool has once the findings are done.
pub(super) fn planned_bytes(snapshot: &ServerSnapshot) -> Option<f64> {
    let is_raised = size(snapshot).is_some() || flush_method(snapshot).is_some();
    let wanted = wanted_bytes(snapshot).filter(|_| is_raised).map(|bytes| bytes as f64);
    wanted.or_else(|| snapshot.pool_bytes())
}

/// Sets the pool's size, and what bounds it where it is bound.
fn sized(proposal: Proposal, snapshot: &ServerSnapshot, wanted: u64) -> Proposal {
    let bound = snapshot.number("innodb_buffer_pool_size_max").filter(|most| *most > 0.0);
    let is_bound = bound.is_some_and(|most| (wanted as f64) > most);
    proposal
        .set_if(is_bound, snapshot, "innodb_buffer_pool_size_max", wanted)
        .set(snapshot, "innodb_buffer_pool_size", wanted)
        .at_risk(MEMORY)
}

/// The share of page requests that the pool could not serve, while it was watched or ever since the
/// server began.
fn miss_share(snapshot: &ServerSnapshot) -> Option<f64> {
    let watched = snapshot.share("Innodb_buffer_pool_reads", "Innodb_buffer_pool_read_requests");
    watched.or_else(|| {
        let requests = snapshot.status("Innodb_buffer_pool_read_requests")?;
        let reads = snapshot.status("Innodb_buffer_pool_reads")?;
        (requests > 0.0).then(|| reads / requests)
    })
}

const MEMORY: Risk = Risk::Memory("the pool takes this memory from everything else on the machine");

fn size(snapshot: &ServerSnapshot) -> Option<Proposal> {
    let wanted = wanted_bytes(snapshot)?;
    let missed = miss_share(snapshot).filter(|share| *share >= MISS_SHARE_MIN)?;
    let is_buffered = snapshot.data_is_buffered() == Some(true);
    let reads = snapshot.share_of(Part::Reads).unwrap_or(0.0);
    let is_large = !is_buffered && (reads >= READS_SHARE_LARGE || missed >= 0.01);
    let gain = if is_large { Gain::Large } else { Gain::Some };
    let data = size_text_of(snapshot.data_bytes?);
    let mut seen = format!(
        "{:.2} % of page requests miss a pool of {} over {data} of data",
        missed * 100.0,
        size_text_of(snapshot.pool_bytes()? as u64),
    );
    if is_buffered {
        seen.push_str("; what the page cache serves of them is not seen");
    }
    sized(Proposal::seen(seen), snapshot, wanted).expecting(gain)
}

fn size_text_of(bytes: u64) -> String {
    size_text(bytes >> 20 << 20)
}

fn flush_method(snapshot: &ServerSnapshot) -> Option<Proposal> {
    if !snapshot.data_is_buffered()? {
        return None;
    }
    let method = snapshot.text("innodb_flush_method").unwrap_or_default();
    let seen = match method {
        "" => "data files are buffered, as is the default here".to_owned(),
        method => format!("innodb_flush_method is {method}: data files are buffered"),
    };
    let (variable, unbuffered) = match snapshot.text("innodb_data_file_buffering") {
        Some(_) => ("innodb_data_file_buffering", "OFF"),
        None => ("innodb_flush_method", "O_DIRECT"),
    };
    let proposal = Proposal::seen(seen).set(snapshot, variable, unbuffered);
    let proposal = match wanted_bytes(snapshot) {
        Some(wanted) => sized(proposal, snapshot, wanted),
        None => proposal.at_risk(Risk::Memory(
            "what the page cache has held is read from the device again: see whether the pool can \
             grow by it",
        )),
    };
    proposal.expecting(Gain::Large)
}

/// The number of instances that the pool should have; `None` where it has it, or chooses it.
pub(super) fn wanted_instances(snapshot: &ServerSnapshot) -> Option<f64> {
    let instances = snapshot.number("innodb_buffer_pool_instances")?;
    // Those have one, or choose it.
    if snapshot.server.has(Since::mysql((8, 4, 0)).or_mariadb((10, 5, 0))) {
        return None;
    }
    let pool = planned_bytes(snapshot)?;
    let cores = snapshot.machine.as_ref().map_or(INSTANCES_MAX, |m| f64::from(m.cores));
    let most = (pool / GIB).floor().clamp(1.0, INSTANCES_MAX);
    match () {
        () if instances > most => Some(most),
        () if instances < most.min(cores) && pool >= 4.0 * GIB => Some(most.min(cores)),
        () => None,
    }
}

fn instances(snapshot: &ServerSnapshot) -> Option<Proposal> {
    let instances = snapshot.number("innodb_buffer_pool_instances")?;
    let wanted = wanted_instances(snapshot)?;
    let pool = planned_bytes(snapshot)?;
    Proposal::seen(format!("{instances} instances share a pool of {}", size_text_of(pool as u64)))
        .set(snapshot, "innodb_buffer_pool_instances", wanted as u64)
        .expecting(Gain::Small)
}
