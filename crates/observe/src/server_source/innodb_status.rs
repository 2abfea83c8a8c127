//! What `SHOW ENGINE INNODB STATUS` says. Pure.
//!
//! The text is for people: sections, each with its heading between two lines of dashes. It quotes statements of users, so a line counts
//! in its own section only.

/// What is read of the text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct InnodbStatus {
    lsn_bytes: Option<i64>,
    checkpoint_lsn_bytes: Option<i64>,
    history_list_entries: Option<i64>,
}

impl InnodbStatus {
    pub(super) fn of(text: &str) -> InnodbStatus {
        let mut status = InnodbStatus::default();
        let mut section = "";
        // A line before and one behind each, so that the first and the last are looked at too.
        let lines: Vec<&str> = [""].into_iter().chain(text.lines()).chain([""]).collect();
        for around in lines.windows(3) {
            let line = around[1].trim();
            if is_rule(around[0]) && is_rule(around[2]) {
                section = line;
                continue;
            }
            match section {
                "LOG" => {
                    first(&mut status.lsn_bytes, line, "Log sequence number");
                    first(&mut status.checkpoint_lsn_bytes, line, "Last checkpoint at");
                }
                "TRANSACTIONS" => {
                    first(
                        &mut status.history_list_entries,
                        line,
                        "History list length",
                    );
                }
                _ => {}
            }
        }
        status
    }

    /// The log sequence number: bytes of redo since the server was initialised.
    pub(super) fn lsn_bytes(&self) -> Option<i64> {
        self.lsn_bytes
    }

    /// Redo that the last checkpoint does not cover.
    pub(super) fn checkpoint_age_bytes(&self) -> Option<i64> {
        Some(self.lsn_bytes? - self.checkpoint_lsn_bytes?)
    }

    /// Undo logs that wait for the purge.
    pub(super) fn history_list_entries(&self) -> Option<i64> {
        self.history_list_entries
    }
}

fn is_rule(line: &str) -> bool {
    !line.is_empty() && line.bytes().all(|c| c == b'-')
}

/// Takes the number behind `words`, where `line` begins so and none was taken before.
fn first(value: &mut Option<i64>, line: &str, words: &str) {
    if value.is_none()
        && let Some(rest) = line.strip_prefix(words)
    {
        *value = rest.trim().parse().ok();
    }
}
