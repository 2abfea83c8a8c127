//! The redo log: its size, its buffer, its blocks.

use super::pool;
use crate::finding::{Gain, Proposal, Risk};
use crate::rule::{Rule, bytes, dynamic, dynamic_since};
use crate::snapshot::ServerSnapshot;
use base::{Since, size_text};

/// A log that is full in less time makes page writes hurry.
const FULL_AFTER_MIN_S: f64 = 900.0;
/// What a log should hold.
const WANTED_S: f64 = 1800.0;
const GAIN_LARGE_BELOW_S: f64 = 120.0;
const MIB: f64 = 1_048_576.0;
/// Steps of a proposed size, and its bounds.
const STEP_BYTES: f64 = 256.0 * MIB;
const SIZE_MAX_BYTES: f64 = 32.0 * 1024.0 * MIB;
/// Of the log that checkpoints may use, the share that makes page writes hurry.
const AGE_SHARE_MAX: f64 = 0.75;

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "redo-size",
        title: "Let the redo log hold half an hour of changes",
        reason: "A page that changes often is written once for all its changes while the log has \
                 room. A log that fills up has pages written in a hurry, and then stops commits.",
        source: "S1 tables 6 to 8: three files of 48M to 1G (and of 10G for Percona Server); S1 \
            table 5: 5M to above 4G",
        releases: "all; innodb_redo_log_capacity since MySQL 8.0.30, one file since MariaDB 10.5",
        variables: &[
            bytes(dynamic("innodb_redo_log_capacity")),
            bytes(dynamic_since(Since::mariadb((10, 9, 0)), "innodb_log_file_size")),
        ],
        judge: size,
    },
    Rule {
        name: "log-buffer",
        title: "Let the log buffer hold what is written between two flushes",
        reason: "A thread that finds the log buffer full waits until it has been written.",
        source: "MySQL manual, innodb_log_buffer_size, Innodb_log_waits",
        releases: "all; a running server takes it since MySQL 8.0.11",
        variables: &[bytes(dynamic_since(Since::mysql((8, 0, 11)), "innodb_log_buffer_size"))],
        judge: buffer,
    },
    Rule {
        name: "log-block-size",
        title: "Write the redo log in blocks of the device",
        reason: "A device with blocks of 4 KiB reads before it writes less than one.",
        source: "S1 table 5: 512 and 4096 (XtraDB's innodb_log_block_size)",
        releases: "XtraDB 5.5 and 5.6. Since MySQL 5.7 innodb_log_write_ahead_size, 8192, does it; \
                   MariaDB 10.8 and later asks the device",
        variables: &[],
        judge: block_size,
    },
];

fn size(snapshot: &ServerSnapshot) -> Option<Proposal> {
    let bytes = snapshot.redo_bytes()?;
    let per_s = snapshot.per_s("Innodb_os_log_written").filter(|per_s| *per_s > 0.0)?;
    let full_after_s = bytes / per_s;
    let age_share = age_share(snapshot);
    let hurries = age_share.is_some_and(|share| share > AGE_SHARE_MAX);
    // More than the pool, and recovery reads pages again and again.
    let most = pool::planned_bytes(snapshot)?.clamp(4.0 * STEP_BYTES, SIZE_MAX_BYTES);
    let wanted = ((per_s * WANTED_S / STEP_BYTES).ceil() * STEP_BYTES).min(most);
    let wanted = (wanted / STEP_BYTES).floor().max(1.0) * STEP_BYTES;
    let mut seen = format!(
        "{} of redo log are full after {full_after_s:.0} s of the load that was watched",
        size_text(bytes as u64)
    );
    if let Some(share) = age_share.filter(|_| hurries) {
        seen.push_str(&format!("; the checkpoint is {:.0} % of it behind", share * 100.0));
    }
    let gain = if full_after_s < GAIN_LARGE_BELOW_S { Gain::Large } else { Gain::Some };
    let (variable, size) = match snapshot.text("innodb_redo_log_capacity") {
        Some(_) => ("innodb_redo_log_capacity", wanted),
        None => {
            let files = snapshot.number("innodb_log_files_in_group").unwrap_or(1.0).max(1.0);
            ("innodb_log_file_size", (wanted / files / MIB).floor() * MIB)
        }
    };
    Proposal::seen(seen)
        .set(snapshot, variable, size as u64)
        .at_risk(Risk::Other("recovery after a crash takes longer, and the log needs the room"))
        .unless(wanted <= bytes || full_after_s >= FULL_AFTER_MIN_S && !hurries)
        .expecting(gain)
}

/// MariaDB and Percona Server tell.
fn age_share(snapshot: &ServerSnapshot) -> Option<f64> {
    let most = snapshot.status("Innodb_checkpoint_max_age").filter(|most| *most > 0.0)?;
    Some(snapshot.status("Innodb_checkpoint_age")? / most)
}

fn buffer(snapshot: &ServerSnapshot) -> Option<Proposal> {
    let waits = snapshot.per_s("Innodb_log_waits").filter(|waits| *waits > 0.0)?;
    let bytes = snapshot.number("innodb_log_buffer_size")?;
    let wanted = (bytes * 4.0).clamp(64.0 * MIB, 256.0 * MIB);
    Proposal::seen(format!("{waits:.1} waits a second for a full log buffer"))
        .set(snapshot, "innodb_log_buffer_size", wanted as u64)
        .unless(wanted <= bytes)
        .expecting(Gain::Some)
}

fn block_size(snapshot: &ServerSnapshot) -> Option<Proposal> {
    let size = snapshot.number("innodb_log_block_size")?;
    Proposal::seen("the redo log is written in blocks of 512 bytes to a device without sectors")
        .act(
            "shut the server down cleanly, move ib_logfile* away, write innodb_log_block_size = \
             4096 into the option file, start",
        )
        .at_risk(Risk::Durability(
            "redo logs that are moved away after a crash instead of a clean shutdown lose what was \
             not in the data files",
        ))
        .unless(size != 512.0 || snapshot.is_solid_state() != Some(true))
        .expecting(Gain::Small)
}
