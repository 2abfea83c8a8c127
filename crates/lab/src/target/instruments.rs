//! The instruments of a server's performance_schema, of which an account can be.
//!
//! They are switched as the variables of a server are ([`crate::target::changed`]): what is on of
//! them is a list of names, which has a name like a variable's.

use crate::error::{LabError, LabResult, unfit};
use crate::target::sessions::{text, with_session};
use crate::target::subject::Subject;
use base::{Session, SessionError};
use itertools::Itertools;
use spec::AccountFrom;
use wire::Connection;

const OPTION: &str = "--account-from performance_schema";
/// Waits of threads, but not those of sockets: to send takes CPU time, which is no wait.
const WAITS: &str = "NAME LIKE 'wait/synch/%' OR NAME LIKE 'wait/lock/%' OR NAME LIKE \
                     'wait/io/file/%' OR NAME LIKE 'statement/%'";
const CONSUMERS: &str = "NAME IN ('global_instrumentation', 'thread_instrumentation')";

/// A column of a table that says what is on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct InstrumentColumn {
    table: &'static str,
    column: &'static str,
    which: &'static str,
}

const COLUMNS: [InstrumentColumn; 3] = [
    InstrumentColumn { table: "setup_consumers", column: "ENABLED", which: CONSUMERS },
    InstrumentColumn { table: "setup_instruments", column: "ENABLED", which: WAITS },
    InstrumentColumn { table: "setup_instruments", column: "TIMED", which: WAITS },
];

impl InstrumentColumn {
    /// The one of this name; `None` of a variable.
    pub(crate) fn named(name: &str) -> Option<InstrumentColumn> {
        COLUMNS.into_iter().find(|column| column.name() == name)
    }

    fn name(self) -> String {
        format!("performance_schema.{}.{}", self.table, self.column.to_lowercase())
    }

    /// Reads which are on; all that there are where `all` is asked for.
    pub(crate) async fn read(
        self,
        session: &mut Connection,
        all: bool,
    ) -> Result<String, SessionError> {
        let InstrumentColumn { table, column, which } = self;
        let on = if all { String::new() } else { format!(" AND {column} = 'YES'") };
        let sql = format!(
            "SELECT NAME FROM performance_schema.{table} WHERE ({which}){on} ORDER BY NAME"
        );
        Ok(session.query(&sql).await?.rows().map(|row| row.text(0)).join(","))
    }

    /// Has only these on.
    pub(crate) fn statement(self, names: &str) -> String {
        let InstrumentColumn { table, column, which } = self;
        format!(
            "UPDATE performance_schema.{table} SET {column} = IF(FIND_IN_SET(NAME, '{names}'), \
             'YES', 'NO') WHERE {which};"
        )
    }

    /// Why the server does not let them be switched, and who can do it.
    pub(crate) fn refusal(error: &SessionError) -> LabError {
        let on = |column: InstrumentColumn| {
            let InstrumentColumn { table, column, which } = column;
            format!("UPDATE performance_schema.{table} SET {column} = 'YES' WHERE {which};")
        };
        unfit(format!(
            "{OPTION}: the server does not let this user look at its instruments or switch them: \
             {error}; grant it that (GRANT SELECT, UPDATE ON performance_schema.* TO ...), or \
             grant it SELECT and have a DBA switch them on: {}",
            COLUMNS.map(on).join(" ")
        ))
    }
}

/// What has to be on for an account from there, as variables of the server.
///
/// # Errors
/// Where the server has none, or this user may not look.
pub(crate) fn wanted(
    subject: &Subject,
    from: Option<AccountFrom>,
) -> LabResult<Vec<(String, String)>> {
    if from != Some(AccountFrom::PerformanceSchema) {
        return Ok(Vec::new());
    }
    with_session(&subject.without_schema()?, async |session| {
        let is_on = text(session, "SELECT @@GLOBAL.performance_schema").await;
        if is_on.map_err(|error| InstrumentColumn::refusal(&error))? != "1" {
            return Err(unfit(format!(
                "{OPTION}: it is off on this server; start it with performance_schema=ON \
                 (`mydyno server start --set performance_schema=ON`), or leave the option out"
            )));
        }
        let mut wanted = Vec::new();
        for column in COLUMNS {
            let all = column.read(session, true).await;
            let all = all.map_err(|error| InstrumentColumn::refusal(&error))?;
            wanted.push((column.name(), all));
        }
        Ok(wanted)
    })
}

#[cfg(test)]
mod tests {
    use super::{COLUMNS, InstrumentColumn};

    #[test]
    fn columns_are_known_by_names_like_those_of_variables() {
        for column in COLUMNS {
            assert_eq!(InstrumentColumn::named(&column.name()), Some(column));
        }
        assert_eq!(InstrumentColumn::named("performance_schema"), None);
        let sql = COLUMNS[0].statement("a,b");
        assert!(sql.contains("SET ENABLED = IF(FIND_IN_SET(NAME, 'a,b'), 'YES', 'NO')"), "{sql}");
    }
}
