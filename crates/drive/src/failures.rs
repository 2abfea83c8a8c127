//! What an error means for the transaction that met it: a new try, a new connection, or an error of
//! the run.

use crate::client::{Failed, FailureKind};
use base::{SessionError, errors};
use std::borrow::Cow;

/// What the failure of a statement before COMMIT means, or of COMMIT where nothing of it stays.
pub fn failed_by(error: &SessionError) -> Failed {
    let lost = FailureKind::Lost { in_doubt: false };
    let (kind, code) = match error {
        SessionError::Server { code, .. } => (kind_of(*code), Cow::Owned(code.to_string())),
        SessionError::Lost(_) => (lost, Cow::Borrowed("lost")),
        // The protocol is out of step, so the connection is of no more use.
        SessionError::Unexpected(_) => (lost, Cow::Borrowed("unexpected_answer")),
    };
    Failed { kind, code, message: error.to_string() }
}

/// May the transaction be there although its COMMIT failed? So it is where a kill or shutdown may
/// have hit between the commit and its answer.
pub fn leaves_in_doubt(error: &SessionError) -> bool {
    use errors::{CONNECTION_KILLED, QUERY_INTERRUPTED, SERVER_SHUTDOWN};
    matches!(error.code(), None | Some(SERVER_SHUTDOWN | QUERY_INTERRUPTED | CONNECTION_KILLED))
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

fn kind_of(code: u16) -> FailureKind {
    match code {
        errors::LOCK_DEADLOCK => FailureKind::Deadlock,
        errors::LOCK_WAIT_TIMEOUT => FailureKind::LockWaitTimeout,
        errors::CHECKREAD
        | errors::ERROR_DURING_COMMIT
        | errors::QUERY_INTERRUPTED
        | errors::NEED_REPREPARE
        | errors::TRANSACTION_ROLLBACK_DURING_COMMIT => FailureKind::Conflict,
        errors::UNKNOWN_COM_ERROR | errors::SERVER_SHUTDOWN | errors::CONNECTION_KILLED => {
            FailureKind::Lost { in_doubt: false }
        }
        _ => FailureKind::Fatal,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_clusters_answer_is_tried_again() {
        let kind = |code| {
            let error =
                SessionError::Server { code, sqlstate: "HY000".to_owned(), message: String::new() };
            let failed = failed_by(&error);
            assert_eq!(failed.code, code.to_string());
            failed.kind
        };
        assert_eq!(kind(1213), FailureKind::Deadlock);
        assert_eq!(kind(1205), FailureKind::LockWaitTimeout);
        for code in [1020, 1180, 1317, 1615, 3101] {
            assert_eq!(kind(code), FailureKind::Conflict, "{code}");
        }
        for code in [1047, 1053, 1927] {
            let lost = FailureKind::Lost { in_doubt: false };
            assert_eq!(kind(code), lost, "{code}");
        }
        let prepared_anew = [1213, 1615].map(|code| {
            let message = String::new();
            needs_prepare(&SessionError::Server { code, sqlstate: "HY000".to_owned(), message })
        });
        assert_eq!(prepared_anew, [false, true]);
        // Missing table, denied, duplicate key, read-only, no primary key in a group.
        for code in [1146, 1142, 1062, 1290, 3098] {
            assert_eq!(kind(code), FailureKind::Fatal, "{code}");
        }
    }
}
