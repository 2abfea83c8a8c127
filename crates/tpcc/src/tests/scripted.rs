//! A server for tests: a script says what it answers to each statement, and a log has what it was
//! sent. A prepared statement is `kind(parameter, ...)` in both, and `kind#n(...)` where there are
//! several of its kind, any other its SQL.

use crate::database::Database;
use base::{
    Answer, Connect, DateTime, Param, RowSource, Session, SessionError, SessionResult, SqlValue,
    StatementId, WarehouseRange, Warehouses,
};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

/// What a server answers to a statement.
#[derive(Clone, Debug)]
pub(crate) enum Reply {
    /// It changed so many rows; LOAD DATA at most as many as were sent.
    Changed(u64),
    /// It changed a row, of which this is LAST_INSERT_ID().
    Inserted(u64),
    /// Rows, their columns divided by `|`.
    Rows(Vec<String>),
    /// The rows of each SELECT of a CALL.
    Call(Vec<Vec<String>>),
    /// An error with this number.
    Refused(u16),
    Lost,
    /// Nothing, ever.
    Silence,
}

impl Reply {
    pub(crate) fn rows<T: ToString>(rows: impl IntoIterator<Item = T>) -> Reply {
        Reply::Rows(rows.into_iter().map(|row| row.to_string()).collect())
    }

    pub(crate) fn row(row: impl ToString) -> Reply {
        Reply::rows([row])
    }

    pub(crate) fn no_rows() -> Reply {
        Reply::Rows(Vec::new())
    }
}

type ReplyScript = dyn Fn(&str) -> Reply + Send + Sync;

/// Its sessions share a script and a log.
#[derive(Clone)]
pub(crate) struct ScriptedServer {
    name: &'static str,
    script: Arc<ReplyScript>,
    log: Arc<Mutex<Vec<String>>>,
}

impl ScriptedServer {
    pub(crate) fn new(script: impl Fn(&str) -> Reply + Send + Sync + 'static) -> ScriptedServer {
        ScriptedServer { name: "", script: Arc::new(script), log: Arc::default() }
    }

    /// One that answers a statement by the first of these whose text is in it; where there is none,
    /// it has changed a row.
    pub(crate) fn of_replies(replies: Vec<(&'static str, Reply)>) -> ScriptedServer {
        ScriptedServer::new(move |statement| {
            let known = replies.iter().find(|(text, _)| statement.contains(text));
            known.map_or(Reply::Changed(1), |(_, reply)| reply.clone())
        })
    }

    /// Another one that writes to the same log, what is sent to it behind its name.
    pub(crate) fn beside(&self, name: &'static str, other: ScriptedServer) -> ScriptedServer {
        ScriptedServer { name, log: Arc::clone(&self.log), ..other }
    }

    pub(crate) fn session(&self) -> ScriptedSession {
        ScriptedSession {
            server: self.clone(),
            prepared: Vec::new(),
            queued: VecDeque::new(),
            results: VecDeque::new(),
            statements: 0,
            is_pipelined: false,
            cells: Vec::new(),
            text: Vec::new(),
        }
    }

    /// What was sent since the last call.
    pub(crate) fn sent(&self) -> Vec<String> {
        std::mem::take(&mut *base::lock(&self.log))
    }

    fn answer(&self, statement: String) -> Reply {
        let reply = (self.script)(&statement);
        self.log(&statement);
        reply
    }

    fn log(&self, statement: &str) {
        base::lock(&self.log).push(format!("{}{statement}", self.name));
    }
}

impl Connect for ScriptedServer {
    type Session = ScriptedSession;
    type Error = Infallible;

    async fn connect(&self) -> Result<ScriptedSession, Infallible> {
        Ok(self.session())
    }

    fn may_pass(_: &Infallible) -> bool {
        false
    }

    async fn close(session: ScriptedSession) {
        session.server.log("close");
    }
}

pub(crate) struct ScriptedSession {
    server: ScriptedServer,
    /// Kind and SQL of each.
    pub(crate) prepared: Vec<(&'static str, String)>,
    queued: VecDeque<String>,
    /// Those of a CALL that have not been read.
    results: VecDeque<Vec<String>>,
    statements: u64,
    pub(crate) is_pipelined: bool,
    cells: Vec<SqlValue>,
    text: Vec<u8>,
}

impl ScriptedSession {
    fn set_rows(&mut self, rows: &[String]) -> usize {
        for field in rows.iter().flat_map(|row| row.split('|')) {
            let (start, len) = (self.text.len() as u32, field.len() as u32);
            self.text.extend_from_slice(field.as_bytes());
            self.cells.push(match field {
                "NULL" => SqlValue::Null,
                _ => SqlValue::Bytes { start, len },
            });
        }
        rows.first().map_or(0, |row| row.split('|').count())
    }
}

fn refused(code: u16) -> SessionError {
    let (sqlstate, message) = ("HY000".to_owned(), "refused".to_owned());
    SessionError::Server { code, sqlstate, message }
}

fn shown(param: &Param<'_>) -> String {
    match param {
        Param::Null => "NULL".to_owned(),
        Param::Int(value) => value.to_string(),
        Param::Cents(amount) => amount.to_string(),
        Param::Decimal(text) | Param::Text(text) => format!("'{}'", String::from_utf8_lossy(text)),
        Param::Time(DateTime { year, month, day, hour, minute, second }) => {
            format!("{year}-{month}-{day} {hour}:{minute}:{second}")
        }
    }
}

impl Session for ScriptedSession {
    fn queue(&mut self, statement: StatementId, params: &[Param<'_>]) -> SessionResult<()> {
        let place = statement.0 as usize;
        let (kind, sql) = &self.prepared[place];
        assert_eq!(sql.matches('?').count(), params.len(), "{sql}");
        let alike = |known: &[(&str, String)]| known.iter().filter(|of| of.0 == *kind).count();
        let number = match alike(&self.prepared) {
            1 => String::new(),
            _ => format!("#{}", alike(&self.prepared[..=place])),
        };
        let params: Vec<String> = params.iter().map(shown).collect();
        self.queued.push_back(format!("{kind}{number}({})", params.join(", ")));
        Ok(())
    }

    fn queue_query(&mut self, sql: &str) -> SessionResult<()> {
        self.queued.push_back(sql.to_owned());
        Ok(())
    }

    async fn answer(&mut self) -> SessionResult<Answer<'_>> {
        self.cells.clear();
        self.text.clear();
        let reply = match self.results.pop_front() {
            Some(rows) => Reply::Rows(rows),
            None => {
                self.statements += 1;
                let statement = self.queued.pop_front().expect("an answer to nothing");
                self.server.answer(statement)
            }
        };
        let (mut affected_rows, mut last_insert_id, mut width) = (0, 0, 0);
        match reply {
            Reply::Changed(rows) => affected_rows = rows,
            Reply::Inserted(id) => (affected_rows, last_insert_id) = (1, id),
            Reply::Rows(rows) => width = self.set_rows(&rows),
            Reply::Call(results) => {
                self.results.extend(results);
                self.results.push_back(Vec::new());
                let first = self.results.pop_front().unwrap_or_default();
                width = self.set_rows(&first);
            }
            Reply::Refused(code) => return Err(refused(code)),
            Reply::Lost => return Err(SessionError::Lost("reset".to_owned())),
            Reply::Silence => std::future::pending::<()>().await,
        }
        let more = !self.results.is_empty();
        let (cells, bytes) = (&self.cells, &self.text);
        Ok(Answer { affected_rows, last_insert_id, width, cells, bytes, more })
    }

    async fn discard(&mut self) -> SessionResult<()> {
        self.queued.clear();
        self.results.clear();
        Ok(())
    }

    fn unanswered(&self) -> usize {
        self.queued.len() + usize::from(!self.results.is_empty())
    }

    fn set_pipelined(&mut self, pipelined: bool) {
        self.is_pipelined = pipelined;
    }

    async fn forget_prepared(&mut self) -> SessionResult<()> {
        self.prepared.clear();
        Ok(())
    }

    async fn prepare_kind(&mut self, kind: &'static str, sql: &str) -> SessionResult<StatementId> {
        self.prepared.push((kind, sql.to_owned()));
        Ok(StatementId(self.prepared.len() as u32 - 1))
    }

    async fn all_prepared(&mut self) -> SessionResult<()> {
        Ok(())
    }

    fn statements(&self) -> u64 {
        self.statements
    }

    async fn load_local(&mut self, sql: &str, rows: &mut dyn RowSource) -> SessionResult<u64> {
        let mut lines = Vec::new();
        while rows.fill(&mut lines) {}
        let sent = lines.iter().filter(|byte| **byte == b'\n').count() as u64;
        self.statements += 1;
        match self.server.answer(sql.to_owned()) {
            Reply::Changed(stored) => Ok(stored.min(sent)),
            Reply::Refused(code) => Err(refused(code)),
            other => panic!("{other:?} is no answer to LOAD DATA"),
        }
    }
}

/// What a session that answers at once never waits for.
pub(crate) fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("it waits"),
    }
}

/// A shard of a database of so many warehouses.
pub(crate) fn shard_of(warehouses: Warehouses, range: WarehouseRange) -> Database {
    Database {
        warehouses,
        range,
        seed: Some(1),
        c_load: Some(7),
        foreign_keys: false,
        partitions: 0,
        table_options: None,
        history_key: false,
        driven_by_tpcc_mysql: false,
    }
}
