//! What an error means for the transaction that met it: a new try, a new connection, or an error of
//! the run.

use crate::client::{Failed, FailureKind};
use base::{SessionError, errors};
use std::borrow::Cow;

/// What the failure of a statement before COMMIT means, or of COMMIT where nothing of it stays.
pub fn failed_by(error: &SessionError) -> Failed {
    let lost = FailureKind::Lost { in_doubt: false };
    let (kind, code) = match error {
        SessionError::Server { code, .. } => (kind_of(*code, error), code.to_string().into()),
        SessionError::Lost(_) => (lost, Cow::Borrowed("lost")),
        // The protocol is out of step, so the connection is of no more use.
        SessionError::Unexpected(_) => (lost, Cow::Borrowed("unexpected_answer")),
    };
    Failed { kind, code, message: error.to_string() }
}

/// May the transaction be there although its COMMIT failed? So it is where a kill or shutdown may
/// have hit between the commit and its answer.
pub fn leaves_in_doubt(error: &SessionError) -> bool {
    use errors::{CONNECTION_KILLED, QUERY_INTERRUPTED, SERVER_LOST, SERVER_SHUTDOWN};
    matches!(
        error.code(),
        None | Some(SERVER_SHUTDOWN | QUERY_INTERRUPTED | CONNECTION_KILLED | SERVER_LOST)
    )
}

/// What the failure of COMMIT means, or of a statement that commits itself.
pub fn failed_in_commit(error: &SessionError) -> Failed {
    if !leaves_in_doubt(error) {
        return failed_by(error);
    }
    Failed {
        kind: FailureKind::Lost { in_doubt: true },
        code: "lost_in_commit".into(),
        message: format!("COMMIT without an answer: {error}"),
    }
}

/// Did the server give up making a statement anew, so that the client has to prepare it again?
pub fn needs_prepare(error: &SessionError) -> bool {
    error.code() == Some(errors::NEED_REPREPARE)
}

fn kind_of(code: u16, error: &SessionError) -> FailureKind {
    let lost = FailureKind::Lost { in_doubt: false };
    match code {
        errors::LOCK_DEADLOCK => FailureKind::Deadlock,
        errors::LOCK_WAIT_TIMEOUT => FailureKind::LockWaitTimeout,
        errors::CHECKREAD
        | errors::ERROR_DURING_COMMIT
        | errors::QUERY_INTERRUPTED
        | errors::NEED_REPREPARE
        | errors::TABLE_DEF_CHANGED
        | errors::TRANSACTION_ROLLBACK_DURING_COMMIT => FailureKind::Conflict,
        errors::UNKNOWN_COM_ERROR
        | errors::SERVER_SHUTDOWN
        | errors::CONNECTION_KILLED
        | errors::SERVER_OFFLINE_MODE => lost,
        _ if errors::OF_PROXIES.contains(&code) => lost,
        errors::RUN_HOOK_ERROR => FailureKind::NoWrites,
        _ if error.is_read_only() => FailureKind::NoWrites,
        _ => FailureKind::Fatal,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(code: u16, message: &str) -> SessionError {
        SessionError::Server { code, sqlstate: "HY000".to_owned(), message: message.to_owned() }
    }

    /// After a failover the old primary refuses writes, each kind of server by its own number.
    #[test]
    fn a_server_that_takes_no_more_writes_ends_the_connection() {
        for option in ["--read-only", "--super-read-only", "--innodb_read_only"] {
            // In the language of lc_messages.
            for message in [
                format!("The MySQL server is running with the {option} option so it cannot"),
                format!("Der MySQL-Server läuft mit der Option {option} und kann diese"),
            ] {
                assert_eq!(failed_by(&answered(1290, &message)).kind, FailureKind::NoWrites);
            }
        }
        for code in [1792, 1836, 3100] {
            assert_eq!(failed_by(&answered(code, "")).kind, FailureKind::NoWrites, "{code}");
        }
        for option in ["--skip-grant-tables", "--secure-file-priv", "LOCK_WRITE_GROWTH"] {
            let message = format!("The MySQL server is running with the {option} option so");
            assert_eq!(failed_by(&answered(1290, &message)).kind, FailureKind::Fatal, "{option}");
        }
        // What a proxy says of its server: a COMMIT may have come through.
        let in_commit = |code| failed_in_commit(&answered(code, "")).kind;
        assert_eq!(in_commit(2013), FailureKind::Lost { in_doubt: true });
        assert_eq!(in_commit(9001), FailureKind::Lost { in_doubt: false });
        assert_eq!(in_commit(3100), FailureKind::NoWrites);
    }

    #[test]
    fn what_clusters_answer_is_tried_again() {
        let kind = |code| {
            let failed = failed_by(&answered(code, ""));
            assert_eq!(failed.code, code.to_string());
            failed.kind
        };
        assert_eq!(kind(1213), FailureKind::Deadlock);
        assert_eq!(kind(1205), FailureKind::LockWaitTimeout);
        for code in [1020, 1180, 1317, 1412, 1615, 3101] {
            assert_eq!(kind(code), FailureKind::Conflict, "{code}");
        }
        for code in [1047, 1053, 1927, 2003, 2006, 2013, 3032, 9001, 9002, 9004] {
            let lost = FailureKind::Lost { in_doubt: false };
            assert_eq!(kind(code), lost, "{code}");
        }
        let prepared_anew = [1213, 1615].map(|code| needs_prepare(&answered(code, "")));
        assert_eq!(prepared_anew, [false, true]);
        // Missing table, denied, duplicate key, another option, no primary key in a group.
        for code in [1146, 1142, 1062, 1290, 3098] {
            assert_eq!(kind(code), FailureKind::Fatal, "{code}");
        }
    }
}
