//! Named locks of the server, which keep other programs of ours out of a schema while one is at
//! work on it.

use base::{Session, SessionResult, errors};
use std::time::Duration;
use xxhash_rust::xxh3::xxh3_64;

/// What became of a named lock that was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lock {
    /// The session holds it until it releases it, or ends.
    Held,
    /// Another session has it, or the server could not tell.
    Busy,
    /// The server has no such locks, in its own words: Galera nodes may forbid them.
    Forbidden(String),
}

/// The name of the lock of a schema's loads. It is hashed here: a lock's name has 64 characters at
/// most, as many as a schema's, and MySQL 9.6 moved MD5 and SHA1 to a component that servers need
/// not have.
pub fn lock_name(schema: &str) -> String {
    format!("mydyno:{:016x}", xxh3_64(schema.as_bytes()))
}

/// Asks for a named lock, and waits for it at most so long.
///
/// # Errors
/// Where the connection is lost, or the server refuses for another reason than that it has no
/// locks.
pub async fn take_lock<S: Session>(
    session: &mut S,
    name: &str,
    wait: Duration,
) -> SessionResult<Lock> {
    let sql = format!("SELECT GET_LOCK('{name}', {})", wait.as_secs());
    let answered = session.query(&sql).await;
    lock_of(answered.map(|answer| answer.int().ok().flatten()))
}

/// GET_LOCK says 1 for a lock, 0 where another has it, and NULL where it failed.
fn lock_of(answered: SessionResult<Option<i64>>) -> SessionResult<Lock> {
    /// Of Percona XtraDB Cluster with pxc_strict_mode, as an unknown error, which GET_LOCK has no
    /// other.
    const ER_UNKNOWN_ERROR: u16 = 1105;
    match answered {
        Ok(Some(1)) => Ok(Lock::Held),
        Ok(_) => Ok(Lock::Busy),
        // The second is MariaDB's with wsrep_on.
        Err(error)
            if matches!(error.code(), Some(ER_UNKNOWN_ERROR | errors::NOT_SUPPORTED_YET)) =>
        {
            Ok(Lock::Forbidden(error.to_string()))
        }
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::{Lock, lock_name, lock_of};
    use base::SessionError;
    use std::collections::BTreeSet;

    #[test]
    fn every_schema_has_a_lock_whose_name_servers_take_as_it_is() {
        let longest = "\u{1F600}".repeat(64);
        let schemas = ["tpcc", "tpcc2", "TPCC", "it's", &longest, &longest[4..], ""];
        let names: BTreeSet<String> = schemas.into_iter().map(lock_name).collect();
        assert_eq!(names.len(), schemas.len());
        for name in names {
            // Names are compared without regard to case, and stand between quotes.
            let is_plain = |c: char| c.is_ascii_digit() || c.is_ascii_lowercase() || c == ':';
            assert!(name.len() <= 64 && name.chars().all(is_plain), "{name}");
        }
        // Programs of other versions that load the same schema wait for each other.
        assert_eq!(lock_name("tpcc"), "mydyno:1215c5ea14bb881f");
    }

    #[test]
    fn the_answer_of_get_lock_is_looked_at() {
        let refused = |code| {
            Err(SessionError::Server {
                code,
                sqlstate: "HY000".to_owned(),
                message: "prohibits use of GET_LOCK".to_owned(),
            })
        };
        assert_eq!(lock_of(Ok(Some(1))), Ok(Lock::Held));
        assert_eq!(lock_of(Ok(Some(0))), Ok(Lock::Busy));
        assert_eq!(lock_of(Ok(None)), Ok(Lock::Busy));
        for code in [1105, 1235] {
            let lock = lock_of(refused(code));
            assert!(
                matches!(&lock, Ok(Lock::Forbidden(why)) if why.contains("GET_LOCK")),
                "{lock:?}"
            );
        }
        assert_eq!(lock_of(refused(1053)).unwrap_err().code(), Some(1053));
    }
}
