//! Stored procedures come and go with the program's version: their comment says which.

use super::text::{self, PREFIX, VERSION};
use base::{Session, SessionError};
use std::fmt;

/// Why the procedures are not there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InstallError {
    /// A procedure of this name exists that is not mydyno's.
    Foreign(String),
    /// The server refused a statement.
    Session(SessionError),
}

impl fmt::Display for InstallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            InstallError::Foreign(name) => write!(
                f,
                "the schema has a procedure {name} that is not mydyno's; rename it, or use another --style"
            ),
            InstallError::Session(error) => write!(
                f,
                "the stored procedures of style procedures cannot be installed: {error}; the user needs CREATE ROUTINE, \
                 ALTER ROUTINE and EXECUTE on the schema"
            ),
        }
    }
}

impl std::error::Error for InstallError {}

impl From<SessionError> for InstallError {
    fn from(error: SessionError) -> InstallError {
        InstallError::Session(error)
    }
}

/// Makes the procedures of this program's version, where they are not there. True where it made some.
///
/// # Errors
/// [`InstallError`]; nothing is dropped that mydyno did not make.
pub async fn install<S: Session>(session: &mut S) -> Result<bool, InstallError> {
    // Two runs that begin together would make the same ones.
    session
        .query("SELECT GET_LOCK('mydyno_procedures', 60)")
        .await?;
    let made = install_missing(session).await;
    session
        .query("SELECT RELEASE_LOCK('mydyno_procedures')")
        .await?;
    made
}

async fn install_missing<S: Session>(session: &mut S) -> Result<bool, InstallError> {
    let comment = format!("mydyno {VERSION}");
    let sql = "SELECT routine_name, routine_comment FROM information_schema.routines \
        WHERE routine_schema = DATABASE() AND routine_type = 'PROCEDURE'";
    let answer = session.query(sql).await?;
    let present: Vec<_> = answer
        .rows()
        .map(|row| (row.text(0), row.text(1)))
        .collect();
    let mut made = false;
    for (name, text) in text::all() {
        let name = format!("{PREFIX}{name}");
        match present.iter().find(|(present, _)| *present == name) {
            Some((_, found)) if *found == comment => continue,
            Some((_, found)) if !found.starts_with("mydyno ") => {
                return Err(InstallError::Foreign(name));
            }
            _ => {}
        }
        if !made {
            // A procedure keeps the mode of the session that made it.
            session
                .query("SET SESSION sql_mode = 'STRICT_TRANS_TABLES'")
                .await?;
        }
        made = true;
        session
            .query(&format!("DROP PROCEDURE IF EXISTS {name}"))
            .await?;
        session.query(&with_head(&name, &comment, &text)).await?;
    }
    Ok(made)
}

/// The whole statement: characteristics stand between parameters and body.
fn with_head(name: &str, comment: &str, text: &str) -> String {
    let (params, body) = text.split_once("BEGIN").unwrap_or((text, ""));
    format!(
        "CREATE PROCEDURE {name}{params} MODIFIES SQL DATA SQL SECURITY INVOKER COMMENT '{comment}' BEGIN{body}"
    )
}
