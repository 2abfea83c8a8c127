//! Threads that serve clients, and what they contend for.

use crate::finding::{Gain, Proposal, Risk};
use crate::rule::{Rule, dynamic};
use crate::snapshot::ServerSnapshot;
use base::Since;

/// The pause that the papers had on 112 hardware threads is for so many at least.
const LONG_PAUSE_CORES: u32 = 32;
const PAUSE: u32 = 6;
/// MariaDB since 10.3.5.
const PAUSE_MARIADB: u32 = 4;

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "thread-concurrency",
        title: "Let all threads into InnoDB",
        reason: "Threads that wait at the door do not keep a fast device busy.",
        source: "S1 tables 6 to 8 and S2, best known methods: 0; S1 table 5: 8 to 50",
        releases: "all; MariaDB 10.6 has no such variable",
        variables: &[dynamic("innodb_thread_concurrency")],
        judge: concurrency,
    },
    Rule {
        name: "spin-wait-delay",
        title: "Spin for longer only where there are many cores",
        reason: "The holder of a latch runs on another core where there are many; with few, who \
                 spins takes the core that the holder needs.",
        source: "S1 tables 6 to 8: 96 for MySQL and 6 for Percona Server, on 112 hardware threads",
        releases: "all; the default is 6, and 4 since MariaDB 10.3.5",
        variables: &[dynamic("innodb_spin_wait_delay")],
        judge: spin_wait_delay,
    },
    Rule {
        name: "purge-lag",
        title: "Do not hold up changes for the purge",
        reason: "Statements are delayed while the history of old row versions is long.",
        source: "MySQL manual, innodb_max_purge_lag; S1 tables 6 to 8 have \
                 innodb_max_purge_lag_delay, its longest delay",
        releases: "all; 0, the default, is no limit",
        variables: &[dynamic("innodb_max_purge_lag")],
        judge: purge_lag,
    },
];

fn concurrency(snapshot: &ServerSnapshot) -> Option<Proposal> {
    let threads = snapshot.number("innodb_thread_concurrency").filter(|threads| *threads > 0.0)?;
    let running = snapshot.status("Threads_running").unwrap_or(0.0);
    Proposal::seen(format!("{threads} threads may be in InnoDB, {running} sessions run"))
        .set(snapshot, "innodb_thread_concurrency", 0)
        .expecting(if running > threads { Gain::Large } else { Gain::Some })
}

fn spin_wait_delay(snapshot: &ServerSnapshot) -> Option<Proposal> {
    let delay = snapshot.number("innodb_spin_wait_delay")?;
    let cores = snapshot.machine.as_ref()?.cores;
    let is_mariadb = snapshot.server.has(Since::mariadb((10, 3, 5)));
    let wanted = if is_mariadb { PAUSE_MARIADB } else { PAUSE };
    let core_words = base::counted(cores as usize, "core", "cores");
    Proposal::seen(format!("innodb_spin_wait_delay is {delay} on {core_words}"))
        .set(snapshot, "innodb_spin_wait_delay", wanted)
        .unless(delay <= f64::from(PAUSE) || cores >= LONG_PAUSE_CORES)
        .expecting(Gain::Large)
}

fn purge_lag(snapshot: &ServerSnapshot) -> Option<Proposal> {
    let lag = snapshot.number("innodb_max_purge_lag").filter(|lag| *lag > 0.0)?;
    Proposal::seen(format!("changes are delayed above a history of {lag} transactions"))
        .set(snapshot, "innodb_max_purge_lag", 0)
        .at_risk(Risk::Other("undo grows for as long as changes outrun the purge"))
        .expecting(Gain::Some)
}
