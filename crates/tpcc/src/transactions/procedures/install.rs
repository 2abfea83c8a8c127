//! Stored procedures come and go with the program's version: their comment says which.

use super::text::{self, PREFIX, VERSION};
use crate::lock::{Lock, lock_name, take_lock};
use base::{Session, SessionError, SessionResult};
use std::time::Duration;

/// Longest wait for another session that installs procedures in the same schema.
const LOCK_WAIT: Duration = Duration::from_secs(60);

const ER_SP_ALREADY_EXISTS: u16 = 1304;

/// Why the procedures are not there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InstallError {
    /// A procedure of this name exists that is not mydyno's.
    #[error(
        "the schema has a procedure {0} that is not mydyno's; rename it, or use another --style"
    )]
    Foreign(String),
    /// Another session has been at it for long.
    #[error(
        "another mydyno has been installing stored procedures in this schema for {} s; wait for \
         it, or end its connection",
        LOCK_WAIT.as_secs()
    )]
    Locked,
    /// The server refused a statement.
    #[error(
        "the stored procedures of style procedures cannot be installed: {0}; the user needs CREATE \
         ROUTINE, ALTER ROUTINE and EXECUTE on the schema"
    )]
    Session(#[from] SessionError),
}

/// Makes the procedures of this program's version, where they are not there. True where it made
/// some.
///
/// # Errors
/// [`InstallError`]; nothing is dropped that mydyno did not make.
pub async fn install<S: Session>(session: &mut S) -> Result<bool, InstallError> {
    // Two runs that begin together would make the same ones.
    let answer = session.query("SELECT DATABASE()").await?;
    let schema = answer.row(0).map(|row| row.text(0)).unwrap_or_default();
    let lock = format!("{}:procedures", lock_name(&schema));
    match take_lock(session, &lock, LOCK_WAIT).await? {
        Lock::Busy => return Err(InstallError::Locked),
        // Without locks it is the second one's CREATE PROCEDURE that fails, and what it then finds
        // is what it wants.
        Lock::Forbidden(_) => match install_missing(session).await {
            Err(InstallError::Session(error)) if error.code() == Some(ER_SP_ALREADY_EXISTS) => {
                return install_missing(session).await;
            }
            other => return other,
        },
        Lock::Held => {}
    }
    let made = install_missing(session).await;
    session.query(&format!("SELECT RELEASE_LOCK('{lock}')")).await?;
    made
}

async fn install_missing<S: Session>(session: &mut S) -> Result<bool, InstallError> {
    let texts = type_of_names(session).await?;
    let comment = format!("mydyno {VERSION} {texts}");
    let sql = "SELECT routine_name, routine_comment FROM information_schema.routines \
        WHERE routine_schema = DATABASE() AND routine_type = 'PROCEDURE'";
    let answer = session.query(sql).await?;
    let present: Vec<_> = answer.rows().map(|row| (row.text(0), row.text(1))).collect();
    let mut made = false;
    for (name, text) in text::all(&texts) {
        let name = format!("{PREFIX}{name}");
        match present.iter().find(|(present, _)| *present == name) {
            Some((_, found)) if *found == comment => continue,
            Some((_, found)) if !found.starts_with("mydyno ") => {
                return Err(InstallError::Foreign(name));
            }
            _ => {}
        }
        made = true;
        session.query(&format!("DROP PROCEDURE IF EXISTS {name}")).await?;
        // Characteristics stand between parameters and body.
        let (params, body) = text.split_once("BEGIN").unwrap_or((text.as_str(), ""));
        let create = format!(
            "CREATE PROCEDURE {name}{params} MODIFIES SQL DATA SQL SECURITY INVOKER COMMENT \
             '{comment}' BEGIN{body}"
        );
        session.query(&create).await?;
    }
    Ok(made)
}

/// Drops the procedures that mydyno made, and says which there were.
///
/// # Errors
/// Where the server refuses.
pub(crate) async fn uninstall<S: Session>(session: &mut S) -> SessionResult<Vec<String>> {
    let sql = format!(
        "SELECT routine_name FROM information_schema.routines WHERE routine_schema = DATABASE() \
         AND routine_type = 'PROCEDURE' AND routine_name LIKE '{PREFIX}%' AND routine_comment LIKE \
         'mydyno %'"
    );
    let made: Vec<String> = session.query(&sql).await?.rows().map(|row| row.text(0)).collect();
    for name in &made {
        session.query(&format!("DROP PROCEDURE `{name}`")).await?;
    }
    Ok(made)
}

/// What follows the type of a text, so that it is compared with `c_last` as it is: another tool may
/// have chosen another character set or collation than mydyno does.
async fn type_of_names<S: Session>(session: &mut S) -> SessionResult<String> {
    let sql = "SELECT character_set_name, collation_name FROM information_schema.columns \
        WHERE table_schema = DATABASE() AND table_name = 'customer' AND column_name = 'c_last'";
    let answer = session.query(sql).await?;
    Ok(match answer.row(0) {
        Some(row) if !row.is_null(0) => {
            format!("CHARACTER SET {} COLLATE {}", row.text(0), row.text(1))
        }
        // Bytes without a character set (VARBINARY).
        _ => "CHARACTER SET binary".to_owned(),
    })
}
