//! Which process writes a repeat, so that a later one can tell a dead writer from a living one.
//!
//! A process id alone is used again after some time; with the start time and the id of the
//! machine's boot it is not.

use std::fs;
use system::ProcessStat;

/// `boot id:pid:start time in clock ticks`; parts that this system does not tell are empty.
pub(crate) fn identity() -> String {
    identity_of(std::process::id())
}

fn identity_of(pid: u32) -> String {
    format!("{}:{pid}:{}", boot_id(), start_ticks(pid))
}

/// Does the process that `identity` names still run?
pub(crate) fn is_alive(identity: &str) -> bool {
    // Without a time of its start it is of no process that runs.
    let pid = identity.split(':').nth(1).and_then(|pid| pid.parse().ok());
    pid.is_some_and(|pid| !identity.ends_with(':') && identity == identity_of(pid))
}

/// Has this machine not been started anew since then? Of processes before that, or of other
/// machines, nothing can be told.
pub(crate) fn is_of_this_boot(identity: &str) -> bool {
    identity.split(':').next() == Some(boot_id().as_str())
}

fn boot_id() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id")
        .map(|text| text.trim().to_owned())
        .unwrap_or_default()
}

/// Empty where there is no such process or it is a zombie.
fn start_ticks(pid: u32) -> String {
    let stat = fs::read(format!("/proc/{pid}/stat")).unwrap_or_default();
    let stat = ProcessStat::parse(&String::from_utf8_lossy(&stat)).ok();
    let running = stat.filter(|stat| !stat.has_ended);
    running.map(|stat| stat.start_ticks.to_string()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{identity, is_alive, is_of_this_boot};

    #[test]
    fn this_process_lives_and_others_do_not() {
        let mine = identity();
        assert!(is_alive(&mine), "{mine}");
        assert!(is_of_this_boot(&mine) && !is_of_this_boot("another-boot:1:2"));
        let parts: Vec<&str> = mine.split(':').collect();
        assert_eq!(parts.len(), 3);
        for gone in [
            format!("{}:{}:{}", parts[0], parts[1], "1"),
            format!("another-boot:{}:{}", parts[1], parts[2]),
            format!("{}:4194999:{}", parts[0], parts[2]),
            format!("{}:{}:", parts[0], "4194999"),
            String::new(),
        ] {
            assert!(!is_alive(&gone), "{gone}");
        }
    }
}
