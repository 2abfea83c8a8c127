//! Variables of a server that is not mydyno's own, and its instruments, set for as long as it is
//! measured.

use crate::error::{LabError, LabResult, WhileDoing, unfit};
use crate::progress::Job;
use crate::target::instruments::InstrumentColumn;
use crate::target::sessions::{IDENTITY, text, with_session};
use crate::target::subject::Subject;
use advise::set_statement;
use base::{Session, SessionError};
use itertools::Itertools;
use server::{ChangeJournal, Home, NamedVariables, ServerChange};
use std::time::{Duration, Instant};
use wire::{Connection, Connector};

const READING: &str = "reading the server's variables";
const ROUNDS: usize = 2;
/// A pool of hundreds of gigabytes is resized within minutes.
const RESIZE_PATIENCE: Duration = Duration::from_secs(600);
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// A server whose variables were changed. It has to be set back by [`ChangedVariables::restore`]; a
/// process that dies before has left a journal, by which the next command does it.
pub(crate) struct ChangedVariables {
    connector: Connector,
    journal: ChangeJournal,
    before: NamedVariables,
}

impl ChangedVariables {
    /// Sets the variables. Nothing is changed where the server refuses one.
    ///
    /// # Errors
    /// What the server refused, or why nothing can be written down before.
    pub(crate) fn set(
        subject: &Subject,
        variables: &[(String, String)],
    ) -> LabResult<ChangedVariables> {
        let connector = subject.without_schema()?;
        let identity = identity(&connector)?;
        let Some(journal) = ChangeJournal::take(&Home::from_env()?, &identity)? else {
            return Err(unfit(
                "another mydyno is changing this server's variables; wait for its end, or end it",
            ));
        };
        // Who died a moment ago is set back before its changes pass for the server's own.
        set_back(&connector, &still_changed(&connector, journal.left()?)?.0)?;
        let names = || variables.iter().map(|(name, _)| name);
        let read = || with_session(&connector, async |session| values(session, names()).await);
        let mut change = ServerChange { before: read()?, ..ServerChange::default() };
        journal.write(&change)?;
        let applied = apply(&connector, variables).and_then(|()| {
            change.taken = read()?;
            Ok(journal.write(&change)?)
        });
        let changed = ChangedVariables { connector, journal, before: change.before };
        if let Err(error) = applied {
            changed.restore()?;
            return Err(error);
        }
        Ok(changed)
    }

    /// Leaves all as it is, on a server that ends now.
    pub(crate) fn forget(self) -> LabResult<()> {
        Ok(self.journal.clear()?)
    }

    /// Sets all back, and sees that it is so.
    ///
    /// # Errors
    /// What could not be set back, with the statements that do it. The journal stays.
    pub(crate) fn restore(self) -> LabResult<()> {
        set_back(&self.connector, &self.before)?;
        Ok(self.journal.clear()?)
    }
}

/// Sets back what a command that was killed had changed on this server. Where it cannot be asked,
/// the command itself will say so.
///
/// # Errors
/// What could not be set back.
pub(crate) fn restore_what_is_left(subject: &Subject, job: &Job<'_>) -> LabResult<()> {
    let Some(home) = Home::existing().filter(ChangeJournal::is_any) else {
        return Ok(());
    };
    let connector = subject.without_schema()?;
    let Ok(identity) = identity(&connector) else {
        return Ok(());
    };
    // Who has it is alive, and sets back by himself.
    let Some(journal) = ChangeJournal::take(&home, &identity)? else {
        return Ok(());
    };
    let left = journal.left()?;
    if left.before.is_empty() {
        return Ok(());
    }
    let (by_mydyno, by_others) = still_changed(&connector, left)?;
    set_back(&connector, &by_mydyno)?;
    journal.clear()?;
    let names = by_mydyno.keys().join(", ");
    let what = if names.is_empty() { "nothing had to be" } else { &names };
    let mut note = format!(
        "an earlier command was killed while it had changed this server: {what} set back to what \
         it was"
    );
    if !by_others.is_empty() {
        note += &format!("; {} left alone, as changed since", by_others.join(", "));
    }
    job.note(&note);
    Ok(())
}

/// What a command that was killed left behind on a server: variables that have the value that
/// mydyno gave them, with their values before, and names of those that have a third value, their
/// user's or, after a restart, an option file's.
fn still_changed(
    connector: &Connector,
    left: ServerChange,
) -> LabResult<(NamedVariables, Vec<String>)> {
    let ServerChange { before, taken } = left;
    let now = with_session(connector, async |session| values(session, before.keys()).await)?;
    // Who was killed before the server had taken all does not know what it took.
    let is_ours = |name: &String| taken.get(name).is_none_or(|taken| is_equal(&now[name], taken));
    let (by_mydyno, others): (NamedVariables, NamedVariables) =
        before.into_iter().partition(|(name, _)| is_ours(name));
    let is_back = |(name, before): &(String, String)| is_equal(&now[name], before);
    let by_others = others.into_iter().filter(|other| !is_back(other)).map(|(name, _)| name);
    Ok((by_mydyno, by_others.collect()))
}

fn set_back(connector: &Connector, before: &NamedVariables) -> LabResult<()> {
    let all: Vec<(String, String)> = before.clone().into_iter().collect();
    apply(connector, &all).map_err(|error| {
        let statements = all.iter().map(|(name, value)| statement(name, value)).join(" ");
        LabError::NotSetBack { why: error.to_string(), statements }
    })
}

/// Sets what has another value, and waits until the server has taken it. One variable may hold
/// another within its bounds, so that the order matters: a second round sets what the first could
/// not.
fn apply(connector: &Connector, wanted: &[(String, String)]) -> LabResult<()> {
    let names = || wanted.iter().map(|(name, _)| name);
    with_session(connector, async |session| {
        let (mut refused, mut round) = (None, 0);
        loop {
            settle(session).await?;
            let now = values(session, names()).await?;
            let is_left = |(name, value): &&(String, String)| !is_equal(&now[name], value);
            let mut left = wanted.iter().filter(is_left).peekable();
            let Some((name, value)) = left.peek() else { return Ok(()) };
            if round == ROUNDS {
                let taken = format!("the server took {} for {name}, and not {value}", now[name]);
                return Err(refused.unwrap_or_else(|| unfit(taken)));
            }
            for (name, value) in left {
                refused = refused.or(execute(session, name, value).await.err());
            }
            round += 1;
        }
    })
}

/// Waits for a buffer pool that is being resized, which servers do behind one's back.
async fn settle(session: &mut Connection) -> LabResult<()> {
    let status = "SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_resize_status'";
    let begun = Instant::now();
    loop {
        let answer = session.query(status).await.doing("reading the server's status")?;
        let said = answer.rows().next().map_or_else(String::new, |row| row.text(1));
        let lower = said.to_ascii_lowercase();
        if ["", "not started"].contains(&&*lower)
            || lower.starts_with("completed")
            || ["did not change", "failed"].iter().any(|over| lower.contains(over))
        {
            return Ok(());
        }
        if begun.elapsed() > RESIZE_PATIENCE {
            return Err(unfit(format!("the buffer pool is still being resized: {said}")));
        }
        reactor::sleep_until(Instant::now() + LOOK_EVERY).await;
    }
}

/// Words as servers compare them, and switches and numbers by what they mean.
fn is_equal(now: &str, wanted: &str) -> bool {
    let switch = |text: &str| match text.to_ascii_uppercase().as_str() {
        "ON" => "1".to_owned(),
        "OFF" => "0".to_owned(),
        other => other.to_owned(),
    };
    match (now.parse::<f64>(), wanted.parse::<f64>()) {
        (Ok(now), Ok(wanted)) => (now - wanted).abs() < 1e-6 * wanted.abs().max(1.0),
        _ => switch(now) == switch(wanted),
    }
}

/// What sets a variable, or switches instruments.
fn statement(name: &str, value: &str) -> String {
    let of_column = |column: InstrumentColumn| column.statement(value);
    InstrumentColumn::named(name).map_or_else(|| set_statement(name, value), of_column)
}

async fn execute(session: &mut Connection, name: &str, value: &str) -> LabResult<()> {
    let sql = statement(name, value);
    session.query(sql.trim_end_matches(';')).await.map(|_| ()).map_err(|error| match error {
        SessionError::Server { .. } if InstrumentColumn::named(name).is_some() => {
            InstrumentColumn::refusal(&error)
        }
        SessionError::Server { .. } => {
            unfit(format!("the server does not take {name} = {value}: {error}"))
        }
        error => LabError::Session { doing: "setting a variable", error },
    })
}

fn identity(connector: &Connector) -> LabResult<String> {
    with_session(connector, async |session| text(session, IDENTITY).await.doing(READING))
}

async fn values<'a>(
    session: &mut Connection,
    names: impl Iterator<Item = &'a String>,
) -> LabResult<NamedVariables> {
    let mut values = NamedVariables::new();
    for name in names {
        let value = match InstrumentColumn::named(name) {
            Some(column) => column.read(session, false).await,
            None => text(session, &format!("SELECT @@GLOBAL.{name}")).await,
        };
        values.insert(name.clone(), value.doing(READING)?);
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::is_equal;

    #[test]
    fn values_are_equal_by_what_they_mean() {
        for (now, wanted) in [("75.000000", "75"), ("1", "ON"), ("OFF", "0"), ("CRC32", "crc32")] {
            assert!(is_equal(now, wanted), "{now} {wanted}");
        }
        for (now, wanted) in [("2000", "15000"), ("ON", "OFF"), ("legacy", "backoff")] {
            assert!(!is_equal(now, wanted), "{now} {wanted}");
        }
    }
}
