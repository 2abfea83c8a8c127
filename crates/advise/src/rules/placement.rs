//! Which files share a device.

use crate::finding::{Gain, Proposal, Risk};
use crate::rule::Rule;
use crate::snapshot::ServerSnapshot;
use analyse::Part;

const LOG_SHARE_LARGE: f64 = 0.25;

pub(super) const RULES: &[Rule] = &[Rule {
    name: "log-apart",
    title: "Put the redo log, undo and temporary files on a device of their own",
    reason: "A flush of the log waits for what else the device has to do; a disk's arm leaves the \
             end of the log for each page.",
    source: "S1 and S2, best known methods: log and data directories apart; S1 table 7: \
             innodb_parallel_doublewrite_path too",
    releases: "all; undo can be apart since MySQL 5.6 and MariaDB 10.0",
    variables: &[],
    judge: log_apart,
}];

fn log_apart(snapshot: &ServerSnapshot) -> Option<Proposal> {
    let log = snapshot.share_of(Part::Log).unwrap_or(0.0);
    let seen = match log > 0.0 {
        true => format!(
            "redo log and data share a device, and a transaction waits for the log for {:.0} % of \
             its time",
            log * 100.0
        ),
        false => "redo log and data share a device".to_owned(),
    };
    let is_disk = snapshot.is_solid_state() == Some(false);
    Proposal::seen(seen)
        .act(
            "shut the server down cleanly, move ib_logfile* (since MySQL 8.0.30 #innodb_redo) to \
             the other device, write innodb_log_group_home_dir into the option file, start",
        )
        .at_risk(Risk::Durability(
            "a log that is left behind or moved after a crash loses what was not in the data files",
        ))
        .unless(snapshot.redo_is_apart?)
        .expecting(if is_disk || log > LOG_SHARE_LARGE { Gain::Large } else { Gain::Some })
}
