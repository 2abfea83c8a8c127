//! Caches of the server, and limits on its connections.

use crate::finding::{Gain, Proposal, Risk};
use crate::rule::{Rule, bytes, dynamic, fixed};
use crate::snapshot::ServerSnapshot;

const TABLES: f64 = 8000.0;
const TABLE_INSTANCES: u32 = 16;
/// Files beside those of tables.
const OTHER_FILES: f64 = 1000.0;
const CACHE_FULL_SHARE: f64 = 0.9;
const CONNECTIONS_USED_MAX_SHARE: f64 = 0.85;
/// What servers take at most.
const TABLES_MAX: f64 = 524_288.0;
const CONNECTIONS_MAX: f64 = 100_000.0;
const STATEMENTS_MAX: f64 = 1_048_576.0;
/// New connections a second, below which none has to wait in a queue.
const CONNECTS_PER_S: f64 = 50.0;
const KIB: u64 = 1024;
/// A buffer of a session above it costs more to get than it gives to short statements.
const SESSION_BUFFER_MAX: f64 = 2_097_152.0;

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "table-open-cache",
        title: "Keep the tables of all sessions open",
        reason: "Each session needs an open instance of each table that it uses.",
        source: "S1 tables 6 to 8: 8000",
        releases: "all",
        variables: &[dynamic("table_open_cache")],
        judge: table_open_cache,
    },
    Rule {
        name: "table-cache-instances",
        title: "Divide the cache of open tables",
        reason: "Sessions that open tables at the same time contend for one mutex.",
        source: "S1 tables 6 to 8: 16 (64 for Percona Server in one of them)",
        releases: "since MySQL 5.6; MariaDB 10.2 and later adds instances by itself",
        variables: &[fixed("table_open_cache_instances")],
        judge: table_cache_instances,
    },
    Rule {
        name: "query-cache",
        title: "Do without the query cache",
        reason: "Every change of a table drops its results, under one mutex for all sessions.",
        source: "S1 tables 6 to 8: query_cache_size=0",
        releases: "until MySQL 5.7; MariaDB has it, off by default",
        variables: &[dynamic("query_cache_type"), bytes(dynamic("query_cache_size"))],
        judge: query_cache,
    },
    Rule {
        name: "thread-cache",
        title: "Keep threads for the next connections",
        reason: "A new thread costs more than one that waits.",
        source: "MySQL manual, thread_cache_size",
        releases: "all; not with a thread pool",
        variables: &[dynamic("thread_cache_size")],
        judge: thread_cache,
    },
    Rule {
        name: "max-connections",
        title: "Have room for more connections than ever came",
        reason: "A client beyond the limit is turned away with error 1040.",
        source: "S1 tables 6 to 8: 4000",
        releases: "all",
        variables: &[dynamic("max_connections")],
        judge: max_connections,
    },
    Rule {
        name: "prepared-statements",
        title: "Have room for the prepared statements of all connections",
        reason: "A statement beyond the limit is refused with error 1461.",
        source: "S1 tables 6 to 8: max_prepared_stmt_count=64000",
        releases: "all",
        variables: &[dynamic("max_prepared_stmt_count")],
        judge: prepared_statements,
    },
    Rule {
        name: "back-log",
        title: "Let connections that come at once wait in a queue",
        reason: "The kernel turns away what is beyond the queue, which net.core.somaxconn bounds \
                 too.",
        source: "S1 tables 6 to 8: back_log=1500",
        releases: "all; by default 50 and a fifth of max_connections, since MySQL 8.0 \
                   max_connections",
        variables: &[fixed("back_log")],
        judge: back_log,
    },
    Rule {
        name: "session-buffers",
        title: "Keep the buffers of sessions small",
        reason: "Each session takes them for each sort or join; large ones are taken from the \
                 system and given back each time.",
        source: "S1 tables 6 to 8: join_buffer_size and sort_buffer_size 32K",
        releases: "all; the default is 256K, and 2M for sorts in MariaDB",
        variables: &[bytes(dynamic("sort_buffer_size")), bytes(dynamic("join_buffer_size"))],
        judge: session_buffers,
    },
    Rule {
        name: "performance-schema",
        title: "Switch performance_schema off where nobody reads it",
        reason: "What it counts costs some percent of CPU time.",
        source: "S1 tables 6 to 8: OFF",
        releases: "all; on by default in MySQL since 5.6.6",
        variables: &[fixed("performance_schema")],
        judge: performance_schema,
    },
    Rule {
        name: "innodb-monitors",
        title: "Leave InnoDB's counters off unless somebody reads them",
        reason: "Some of them are counted under a mutex or with a clock.",
        source: "S1 tables 6 to 8: '%' for MySQL, none for Percona Server",
        releases: "since MySQL 5.6 and MariaDB 10.0",
        variables: &[],
        judge: monitors,
    },
];

fn table_open_cache(snapshot: &ServerSnapshot) -> Option<Proposal> {
    let cache = snapshot.number("table_open_cache")?;
    let opened = snapshot.per_s("Opened_tables").filter(|per_s| *per_s >= 1.0)?;
    // Where the cache has room, tables are opened again for another reason: DDL, FLUSH.
    if snapshot.status("Open_tables")? < cache * CACHE_FULL_SHARE {
        return None;
    }
    let files = snapshot.number("open_files_limit").unwrap_or(f64::INFINITY);
    let most = ((files - OTHER_FILES) / 2.0).clamp(400.0, TABLES_MAX);
    let wanted = (cache * 2.0).max(TABLES).min(most).floor();
    Proposal::seen(format!("{opened:.0} tables a second are opened again"))
        .set(snapshot, "table_open_cache", wanted)
        .unless(wanted <= cache)
        .expecting(Gain::Some)
}

fn table_cache_instances(snapshot: &ServerSnapshot) -> Option<Proposal> {
    let instances = snapshot.number("table_open_cache_instances")?;
    let running = snapshot.status("Threads_running").unwrap_or(0.0);
    Proposal::seen(format!("{running} sessions run and share one cache of open tables"))
        .set(snapshot, "table_open_cache_instances", TABLE_INSTANCES)
        .unless(instances > 1.0 || running < 16.0)
        .expecting(Gain::Small)
}

fn query_cache(snapshot: &ServerSnapshot) -> Option<Proposal> {
    let size = snapshot.number("query_cache_size")?;
    let kind = snapshot.text("query_cache_type")?;
    let hits = snapshot.share("Qcache_hits", "Questions").unwrap_or(0.0) * 100.0;
    Proposal::seen(format!("the query cache is on and answers {hits:.0} % of the statements"))
        .set(snapshot, "query_cache_size", 0)
        .set(snapshot, "query_cache_type", "OFF")
        .unless(kind == "OFF" || kind == "0" || size == 0.0)
        .expecting(Gain::Large)
}

fn thread_cache(snapshot: &ServerSnapshot) -> Option<Proposal> {
    let cache = snapshot.number("thread_cache_size")?;
    let created = snapshot.per_s("Threads_created").filter(|per_s| *per_s >= 1.0)?;
    let wanted = (cache * 2.0).clamp(100.0, 1000.0);
    // Sessions that are there at once need a thread each: no cache saves the first one of them.
    let saves_none =
        snapshot.status("Threads_created")? <= snapshot.status("Max_used_connections")?;
    let has_pool = snapshot.text("thread_handling") == Some("pool-of-threads");
    Proposal::seen(format!("{created:.0} threads a second are created"))
        .set(snapshot, "thread_cache_size", wanted)
        .unless(wanted <= cache || has_pool || saves_none)
        .expecting(Gain::Some)
}

fn max_connections(snapshot: &ServerSnapshot) -> Option<Proposal> {
    let most = snapshot.number("max_connections")?;
    let used = snapshot.status("Max_used_connections")?;
    let wanted = (most * 2.0).min(CONNECTIONS_MAX);
    Proposal::seen(format!("{used} of {most} connections were in use at once"))
        .set(snapshot, "max_connections", wanted)
        .at_risk(Risk::Memory("each connection has a thread and buffers of its own"))
        .unless(used < most * CONNECTIONS_USED_MAX_SHARE || wanted <= most)
        .expecting(Gain::Some)
}

fn prepared_statements(snapshot: &ServerSnapshot) -> Option<Proposal> {
    let most = snapshot.number("max_prepared_stmt_count")?;
    let now = snapshot.status("Prepared_stmt_count")?;
    let wanted = (most * 4.0).clamp(64000.0, STATEMENTS_MAX);
    Proposal::seen(format!("{now} of {most} statements are prepared"))
        .set(snapshot, "max_prepared_stmt_count", wanted)
        .unless(now < most * CONNECTIONS_USED_MAX_SHARE || wanted <= most)
        .expecting(Gain::Some)
}

fn back_log(snapshot: &ServerSnapshot) -> Option<Proposal> {
    let queue = snapshot.number("back_log")?;
    let connects = snapshot.per_s("Connections").filter(|per_s| *per_s > CONNECTS_PER_S)?;
    let wanted = snapshot.number("max_connections")?.min(1500.0);
    Proposal::seen(format!("{connects:.0} connections a second come, and {queue} may wait"))
        .set(snapshot, "back_log", wanted)
        .unless(queue >= wanted)
        .expecting(Gain::Small)
}

fn session_buffers(snapshot: &ServerSnapshot) -> Option<Proposal> {
    let names = ["sort_buffer_size", "join_buffer_size"];
    let large: Vec<&'static str> = names
        .into_iter()
        .filter(|name| snapshot.number(name).is_some_and(|bytes| bytes > SESSION_BUFFER_MAX))
        .collect();
    let set = |proposal: Proposal, name: &&'static str| proposal.set(snapshot, name, 256 * KIB);
    let seen = Proposal::seen(format!("more than 2M for each session: {}", large.join(", ")));
    large.iter().fold(seen, set).expecting(Gain::Small)
}

fn performance_schema(snapshot: &ServerSnapshot) -> Option<Proposal> {
    Proposal::switch(snapshot, "performance_schema", false)?
        .at_risk(Risk::Other("what reads it (sys, monitoring) then finds nothing"))
        .expecting(Gain::Small)
}

fn monitors(snapshot: &ServerSnapshot) -> Option<Proposal> {
    let on = snapshot.text("innodb_monitor_enable").filter(|on| *on == "all" || *on == "%")?;
    Proposal::seen(format!("innodb_monitor_enable is {on}"))
        .act("SET GLOBAL innodb_monitor_disable = 'all'; and the option file without the line")
        .expecting(Gain::Small)
}
