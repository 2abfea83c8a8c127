//! A session that asks one server: its status with each reading, and beside it only what this
//! server's status lacks.

use super::failed;
use super::innodb_status::InnodbStatus;
use super::names::{Name, StatusValues, withheld};
use crate::error::ObserveResult;
use crate::readings::Readings;
use base::{Connect, Session, SessionResult, errors};
use wire::{Connection, Connector};

const STATUS: &str = "SHOW GLOBAL STATUS";
const MONITOR: &str = "SHOW ENGINE INNODB STATUS";
/// Waits for files, by the places that metrics name. The server makes nanoseconds of its
/// picoseconds, which an i64 cannot hold after 106 days of waiting. Without a row where
/// performance_schema is off; a row of an instrument that is off stays as it was.
const FILE_WAITS: &str = "SELECT CONCAT(EVENT_NAME, ' COUNT_STAR'), COUNT_STAR, \
     CONCAT(EVENT_NAME, ' SUM_TIMER_WAIT'), SUM_TIMER_WAIT DIV 1000 \
     FROM performance_schema.events_waits_summary_global_by_event_name WHERE EVENT_NAME IN \
     ('wait/io/file/innodb/innodb_data_file', 'wait/io/file/innodb/innodb_log_file')";
/// How INNODB_METRICS says that a counter is switched on: MySQL and MariaDB up to 10.4, MariaDB
/// from 10.5 on.
const SWITCHED_ON: [&str; 2] = ["STATUS = 'enabled'", "ENABLED = 1"];
/// The server has no such table, column or engine, or this user may not look.
const REFUSALS: [u16; 10] = [
    errors::DBACCESS_DENIED_ERROR,
    errors::BAD_DB_ERROR,
    errors::BAD_FIELD_ERROR,
    errors::UNKNOWN_TABLE,
    errors::TABLEACCESS_DENIED_ERROR,
    errors::NO_SUCH_TABLE,
    errors::SPECIFIC_ACCESS_DENIED_ERROR,
    errors::NOT_SUPPORTED_YET,
    errors::UNKNOWN_STORAGE_ENGINE,
    errors::WRONG_NATIVE_TABLE_STRUCTURE,
];

/// The whole `SHOW GLOBAL STATUS`: names and values.
pub async fn global_status(session: &mut Connection) -> SessionResult<Vec<(String, String)>> {
    let answer = session.query(STATUS).await?;
    Ok(answer.rows().map(|row| (row.text(0), row.text(1))).collect())
}

/// A session with what is asked over it.
pub(super) struct ServerSession {
    connection: Connection,
    extras: Extras,
}

impl ServerSession {
    /// Connects, and finds out what this server has where.
    pub(super) async fn open(connector: &Connector) -> ObserveResult<ServerSession> {
        let mut connection = connector.connect().await.map_err(failed)?;
        let extras = find_out(&mut connection).await.map_err(failed)?;
        Ok(ServerSession { connection, extras })
    }

    /// Reads everything once. The time of the values is that of the status.
    pub(super) async fn read(&mut self, into: &mut Readings) -> ObserveResult<()> {
        let mut values = ask_status(&mut self.connection).await.map_err(failed)?;
        into.taken_now();
        ask_extras(&mut self.connection, &self.extras, &mut values).await.map_err(failed)?;
        values.withhold(withheld(self.connection.server()));
        values.give(into);
        Ok(())
    }

    pub(super) async fn close(self) {
        Connector::close(self.connection).await;
    }
}

/// What is asked beside the status.
#[derive(Debug, Default, PartialEq, Eq)]
struct Extras {
    /// For counters of INNODB_METRICS, where any are needed.
    counters_sql: Option<String>,
    /// The InnoDB monitor.
    monitor: bool,
    /// Waits for files, where performance_schema is on.
    file_waits: bool,
}

/// Counters of INNODB_METRICS that are switched on.
#[derive(Default)]
struct SwitchedOn {
    /// The condition for that, in the words of this server.
    condition: &'static str,
    counters: Vec<String>,
}

impl Extras {
    /// For metrics that the status lacks. A counter that somebody switches off later is then
    /// missing, not stale.
    fn for_missing(missing: impl Iterator<Item = &'static Name>, on: &SwitchedOn) -> Extras {
        let mut counters = Vec::new();
        let mut monitor = false;
        for name in missing {
            let is_on = |counter: &&str| on.counters.iter().any(|one| one == counter);
            match name.counter.filter(is_on) {
                Some(counter) => counters.push(format!("'{counter}'")),
                None => monitor |= name.monitor.is_some(),
            }
        }
        let counters_sql = (!counters.is_empty()).then(|| {
            format!(
                "SELECT NAME, `COUNT` FROM information_schema.INNODB_METRICS WHERE NAME IN ({}) \
                 AND {}",
                counters.join(", "),
                on.condition
            )
        });
        Extras { counters_sql, monitor, file_waits: false }
    }
}

async fn find_out(connection: &mut Connection) -> SessionResult<Extras> {
    let values = ask_status(connection).await?;
    let on = switched_on(connection).await?;
    let withheld = withheld(connection.server());
    let missing = values.missing();
    let wanted = missing.filter(|name| !withheld.contains(&name.name));
    let mut extras = Extras::for_missing(wanted, &on);
    if extras.monitor {
        extras.monitor = unless_refused(connection.query(MONITOR).await)?.is_some();
    }
    // Is performance_schema on, and may this user read it? It is switched on as the server starts
    // and then stays as it is.
    let waits = unless_refused(connection.query(FILE_WAITS).await)?;
    extras.file_waits = waits.is_some_and(|answer| !answer.is_empty());
    Ok(extras)
}

async fn switched_on(connection: &mut Connection) -> SessionResult<SwitchedOn> {
    for condition in SWITCHED_ON {
        let sql = format!("SELECT NAME FROM information_schema.INNODB_METRICS WHERE {condition}");
        if let Some(answer) = unless_refused(connection.query(&sql).await)? {
            let counters = answer.rows().map(|row| row.text(0)).collect();
            return Ok(SwitchedOn { condition, counters });
        }
    }
    Ok(SwitchedOn::default())
}

/// What the server answers; `None` where it refuses.
fn unless_refused<T>(asked: SessionResult<T>) -> SessionResult<Option<T>> {
    match asked {
        Err(error) if error.code().is_some_and(|code| REFUSALS.contains(&code)) => Ok(None),
        asked => asked.map(Some),
    }
}

async fn ask_status(connection: &mut Connection) -> SessionResult<StatusValues> {
    let mut values = StatusValues::new();
    let answer = connection.query(STATUS).await?;
    for row in answer.rows() {
        values.take_status(row.bytes(0)?, row.int(1).ok());
    }
    Ok(values)
}

async fn ask_extras(
    connection: &mut Connection,
    extras: &Extras,
    values: &mut StatusValues,
) -> SessionResult<()> {
    if let Some(sql) = &extras.counters_sql {
        let answer = connection.query(sql).await?;
        for row in answer.rows() {
            values.take_counter(row.bytes(0)?, row.int(1).ok());
        }
    }
    if extras.monitor {
        let answer = connection.query(MONITOR).await?;
        // Type, name, text.
        if let Some(row) = answer.row(0) {
            values.take_monitor(&InnodbStatus::parse(&row.text(2)));
        }
    }
    if extras.file_waits {
        let answer = connection.query(FILE_WAITS).await?;
        for row in answer.rows() {
            values.take_counter(row.bytes(0)?, row.int(1).ok());
            values.take_counter(row.bytes(2)?, row.int(3).ok());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::SessionError;

    fn values_without(lacking: &[&str]) -> StatusValues {
        let mut values = StatusValues::new();
        for name in super::super::names::NAMES {
            let Some(status) = name.status else { continue };
            if !lacking.contains(&name.name) {
                values.take_status(status.as_bytes(), Some(1));
            }
        }
        values
    }

    const ELSEWHERE: [&str; 4] =
        ["log_lsn_bytes", "checkpoint_age_bytes", "deadlocks", "history_list_entries"];

    #[test]
    fn only_what_is_missing_is_asked_for() {
        let mysql = SwitchedOn {
            condition: "STATUS = 'enabled'",
            counters: ["lock_deadlocks", "lock_timeouts", "trx_rseg_history_len", "dml_reads"]
                .map(str::to_owned)
                .to_vec(),
        };
        let extras = Extras::for_missing(values_without(&ELSEWHERE).missing(), &mysql);
        let sql = "SELECT NAME, `COUNT` FROM information_schema.INNODB_METRICS WHERE NAME IN \
            ('lock_deadlocks', 'lock_timeouts', 'trx_rseg_history_len') AND STATUS = 'enabled'";
        assert_eq!(extras.counters_sql.as_deref(), Some(sql));
        assert!(extras.monitor, "the LSN is nowhere else");

        let mariadb =
            SwitchedOn { condition: "ENABLED = 1", counters: vec!["lock_timeouts".to_owned()] };
        let extras = Extras::for_missing(values_without(&[]).missing(), &mariadb);
        let sql = "SELECT NAME, `COUNT` FROM information_schema.INNODB_METRICS WHERE NAME IN \
            ('lock_timeouts') AND ENABLED = 1";
        assert_eq!(extras.counters_sql.as_deref(), Some(sql));
        assert!(!extras.monitor);
    }

    #[test]
    fn without_counters_the_monitor_is_asked_for_what_it_has() {
        let nothing = SwitchedOn::default();
        let extras = Extras::for_missing(values_without(&[]).missing(), &nothing);
        assert_eq!(extras, Extras::default(), "timeouts are in no monitor");
        let extras = Extras::for_missing(values_without(&["deadlocks"]).missing(), &nothing);
        assert_eq!(extras, Extras::default(), "nor are deadlocks");
        let lacking = values_without(&["history_list_entries"]);
        let extras = Extras::for_missing(lacking.missing(), &nothing);
        assert_eq!((extras.counters_sql, extras.monitor), (None, true));
    }

    #[test]
    fn what_may_pass_is_no_refusal() {
        let server = |code| SessionError::Server {
            code,
            sqlstate: "HY000".to_owned(),
            message: String::new(),
        };
        assert_eq!(unless_refused::<()>(Err(server(1227))), Ok(None));
        for error in [server(1317), SessionError::Lost(String::new())] {
            assert_eq!(unless_refused::<()>(Err(error.clone())), Err(error), "interrupted");
        }
    }
}
