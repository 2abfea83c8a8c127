//! What `SHOW ENGINE INNODB STATUS` says. Pure.
//!
//! The text is for people: sections, each with its heading between two lines of dashes. It quotes
//! statements of users, so a line counts in its own section only.

/// What is read of the text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct InnodbStatus {
    /// The log sequence number: bytes of redo since the server was initialised.
    pub(super) lsn_bytes: Option<i64>,
    checkpoint_lsn_bytes: Option<i64>,
    /// Undo logs that wait for the purge.
    pub(super) history_list_entries: Option<i64>,
}

impl InnodbStatus {
    pub(super) fn parse(text: &str) -> InnodbStatus {
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
                    first(&mut status.history_list_entries, line, "History list length");
                }
                _ => {}
            }
        }
        status
    }

    /// Redo that the last checkpoint does not cover.
    pub(super) fn checkpoint_age_bytes(&self) -> Option<i64> {
        Some(self.lsn_bytes? - self.checkpoint_lsn_bytes?)
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The sections TRANSACTIONS and LOG, shortened, of MySQL 5.7.22.
    const MYSQL_5_7: &str = "\
*** WE ROLL BACK TRANSACTION (1)
------------
TRANSACTIONS
------------
Trx id counter 1300
Purge done for trx's n:o < 1300 undo n:o < 0 state: running but idle
History list length 6
LIST OF TRANSACTIONS FOR EACH SESSION:
---TRANSACTION 421584534046544, not started
0 lock struct(s), heap size 1136, 0 row lock(s)
---
LOG
---
Log sequence number 2601464
Log flushed up to   2601464
Pages flushed up to 2598100
Last checkpoint at  2598100
0 pending log flushes, 0 pending chkp writes
27 log i/o's done, 0.69 log i/o's/second
----------------------
BUFFER POOL AND MEMORY
----------------------
";

    /// The same of MySQL 8.0.15.
    const MYSQL_8_0: &str = "\
------------
TRANSACTIONS
------------
Trx id counter 1578
Purge done for trx's n:o < 1578 undo n:o < 0 state: running but idle
History list length 14
LIST OF TRANSACTIONS FOR EACH SESSION:
---
LOG
---
Log sequence number          19073686
Log buffer assigned up to    19073686
Log buffer completed up to   19073686
Log written up to            19073686
Log flushed up to            19073686
Added dirty pages up to      19073686
Pages flushed up to          19072874
Last checkpoint at           19072874
220 log i/o's done, 6.61 log i/o's/second
----------------------
BUFFER POOL AND MEMORY
----------------------
";

    /// The same of XtraDB 5.6 in MariaDB 10.1.13.
    const XTRADB_5_6: &str = "\
------------
TRANSACTIONS
------------
Trx id counter 1301
Purge done for trx's n:o < 1301 undo n:o < 0 state: running but idle
History list length 6
LIST OF TRANSACTIONS FOR EACH SESSION:
---TRANSACTION 0, not started
MySQL thread id 12, OS thread handle 0x7f6aaef52ac0, query id 49 localhost mydyno init
show engine innodb status
---
LOG
---
Log sequence number 1629955
Log flushed up to   1629955
Pages flushed up to 1629269
Last checkpoint at  1626092
Max checkpoint age    108005254
Checkpoint age target 104630090
Modified age          686
Checkpoint age        3863
0 pending log writes, 0 pending chkp writes
21 log i/o's done, 0.56 log i/o's/second
----------------------
BUFFER POOL AND MEMORY
----------------------
";

    /// The same of MariaDB 10.11.19.
    const MARIADB_10_11: &str = "\
------------
TRANSACTIONS
------------
Trx id counter 31
Purge done for trx's n:o < 23 undo n:o < 0 state: running but idle
History list length 0
LIST OF TRANSACTIONS FOR EACH SESSION:
---
LOG
---
Log sequence number 50147
Log flushed up to   49763
Pages flushed up to 44894
Last checkpoint at  44878
----------------------
BUFFER POOL AND MEMORY
----------------------
";

    #[test]
    fn texts_of_servers() {
        let read = |text| {
            let status = InnodbStatus::parse(text);
            (status.lsn_bytes, status.checkpoint_age_bytes(), status.history_list_entries)
        };
        assert_eq!(read(MYSQL_5_7), (Some(2_601_464), Some(3_364), Some(6)));
        assert_eq!(read(MYSQL_8_0), (Some(19_073_686), Some(812), Some(14)));
        // XtraDB tells the age itself.
        assert_eq!(read(XTRADB_5_6), (Some(1_629_955), Some(3_863), Some(6)));
        assert_eq!(read(MARIADB_10_11), (Some(50_147), Some(5_269), Some(0)));
    }

    #[test]
    fn a_statement_that_looks_like_a_line_of_another_section_is_none() {
        let quoted = "History list length 6\nLog sequence number 1\nLast checkpoint at 2\n";
        let text = MYSQL_5_7.replace("History list length 6\n", quoted);
        assert_eq!(InnodbStatus::parse(&text), InnodbStatus::parse(MYSQL_5_7));
        // The first line of a section counts: the server writes it before the statements.
        let text = MYSQL_5_7.replace("0 lock struct(s)", "History list length 7\n0 lock struct(s)");
        assert_eq!(InnodbStatus::parse(&text), InnodbStatus::parse(MYSQL_5_7));
    }

    #[test]
    fn what_is_cut_off_or_no_number_is_missing() {
        let log = MYSQL_5_7.split_once("Last checkpoint").unwrap().0;
        let status = InnodbStatus::parse(log);
        assert_eq!(status.lsn_bytes, Some(2_601_464));
        assert_eq!(status.checkpoint_age_bytes(), None);
        let text = MYSQL_5_7.replace("2601464", "2 601464");
        assert_eq!(InnodbStatus::parse(&text).lsn_bytes, None);
        assert_eq!(InnodbStatus::parse(""), InnodbStatus::default());
    }
}
