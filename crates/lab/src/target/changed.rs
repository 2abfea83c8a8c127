//! Variables of a server that is not mydyno's own, set for as long as it is measured.

use crate::error::LabError;
use crate::progress::{OnProgress, Progress};
use crate::target::sessions::with_session;
use crate::target::subject::Subject;
use advise::set_statement;
use base::Session;
use server::{ChangeJournal, Home, ValuesBefore};
use wire::{Connection, Connector};

/// What tells a server from all others, however it is reached.
const IDENTITY: &str = "SELECT CONCAT_WS('|', @@GLOBAL.hostname, @@GLOBAL.port, @@GLOBAL.datadir)";

/// A server whose variables were changed. It has to be set back by [`ChangedVariables::restore`]; a
/// process that dies before has left a journal, by which the next command does it.
pub(crate) struct ChangedVariables {
    connector: Connector,
    journal: ChangeJournal,
    before: ValuesBefore,
}

impl ChangedVariables {
    /// Sets the variables in their order. Nothing is changed where the server refuses one.
    ///
    /// # Errors
    /// What the server refused, or why nothing can be written down before.
    pub(crate) fn set(
        subject: &Subject,
        variables: &[(String, String)],
    ) -> Result<ChangedVariables, LabError> {
        let connector = subject.without_schema()?;
        let identity = with_session(&connector, async |session| text(session, IDENTITY).await)?;
        let Some(journal) = ChangeJournal::take(&Home::from_env()?, &identity)? else {
            return Err(LabError::Unfit(
                "another mydyno is changing this server's variables; wait for its end, or end it"
                    .to_owned(),
            ));
        };
        let before = with_session(&connector, async |session| values(session, variables).await)?;
        journal.write(&before)?;
        let changed = ChangedVariables { connector, journal, before };
        let set = with_session(&changed.connector, async |session| {
            for (name, value) in variables {
                execute(session, name, value).await?;
            }
            Ok(())
        });
        match set {
            Ok(()) => Ok(changed),
            Err(error) => {
                changed.restore()?;
                Err(error)
            }
        }
    }

    /// Sets all back, and sees that it is so.
    ///
    /// # Errors
    /// What could not be set back, with the statements that do it. The journal stays.
    pub(crate) fn restore(self) -> Result<(), LabError> {
        set_back(&self.connector, &self.before)?;
        Ok(self.journal.clear()?)
    }
}

/// Sets back what a command that was killed had changed on this server. Where it cannot be asked,
/// the command itself will say so.
///
/// # Errors
/// What could not be set back.
pub(crate) fn restore_what_is_left(
    subject: &Subject,
    on_progress: &mut OnProgress<'_>,
) -> Result<(), LabError> {
    let Some(home) = Home::existing().filter(ChangeJournal::is_any) else {
        return Ok(());
    };
    let connector = subject.without_schema()?;
    let Ok(identity) = with_session(&connector, async |session| text(session, IDENTITY).await)
    else {
        return Ok(());
    };
    // Who has it is alive, and sets back by himself.
    let Some(journal) = ChangeJournal::take(&home, &identity)? else {
        return Ok(());
    };
    let before = journal.left()?;
    if before.is_empty() {
        return Ok(());
    }
    set_back(&connector, &before)?;
    journal.clear()?;
    let names: Vec<&str> = before.keys().map(String::as_str).collect();
    on_progress(Progress::Note(&format!(
        "an earlier command was killed while it had changed this server: {} set back to what it was",
        names.join(", ")
    )));
    Ok(())
}

fn set_back(connector: &Connector, before: &ValuesBefore) -> Result<(), LabError> {
    let statements = || {
        let all = before.iter().map(|(name, value)| set_statement(name, value));
        all.collect::<Vec<_>>().join(" ")
    };
    let names: Vec<(String, String)> = before.clone().into_iter().collect();
    let left = with_session(connector, async |session| {
        // One may hold another within its bounds: then a second round sets what the first could
        // not. What a refused statement never changed is not set.
        for _ in 0..2 {
            for (name, value) in changed(before, values(session, &names).await?) {
                execute(session, &name, value).await?;
            }
        }
        let left = changed(before, values(session, &names).await?);
        Ok(left.into_iter().map(|(name, _)| name).collect::<Vec<_>>())
    });
    let why = match left {
        Ok(left) if left.is_empty() => return Ok(()),
        Ok(left) => format!("{} did not take its value", left.join(", ")),
        Err(error) => error.to_string(),
    };
    Err(LabError::Unfit(format!(
        "this server could not be set back to what it was ({why}); run: {}",
        statements()
    )))
}

/// Variables that do not have their values, with these.
fn changed(before: &ValuesBefore, now: ValuesBefore) -> Vec<(String, &str)> {
    let other = now.into_iter().filter_map(|(name, now)| {
        let value = before.get(&name).filter(|value| **value != now)?;
        Some((name, value.as_str()))
    });
    other.collect()
}

async fn execute(session: &mut Connection, name: &str, value: &str) -> Result<(), LabError> {
    let sql = set_statement(name, value);
    let set = session.query(sql.trim_end_matches(';')).await;
    set.map(|_| ()).map_err(|error| {
        LabError::Unfit(format!("the server does not take {name} = {value}: {error}"))
    })
}

async fn values(
    session: &mut Connection,
    variables: &[(String, String)],
) -> Result<ValuesBefore, LabError> {
    let mut values = ValuesBefore::new();
    for (name, _) in variables {
        let value = text(session, &format!("SELECT @@GLOBAL.{name}")).await?;
        values.insert(name.clone(), value);
    }
    Ok(values)
}

async fn text(session: &mut Connection, sql: &str) -> Result<String, LabError> {
    let failed = |error| LabError::Session { doing: "reading the server's variables", error };
    let answer = session.query(sql).await.map_err(failed)?;
    Ok(answer.rows().next().map_or_else(String::new, |row| row.text(0)))
}
