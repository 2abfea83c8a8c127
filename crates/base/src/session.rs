//! What a transaction needs of a database connection, and nothing of how a driver does it.
//!
//! Answers are decoded into buffers that the session reuses, so a statement allocates nothing after
//! warm-up; the rows of an answer are read before the next statement is sent, which the borrow
//! checker enforces.

use crate::errors;
use crate::{Cents, DateTime, parse_decimal};
use std::fmt;
use std::future::Future;

/// A prepared statement of one session; valid for the session that prepared it only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatementId(pub u32);

/// A parameter of a prepared statement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Param<'a> {
    Null,
    Int(i64),
    /// Travels as an exact decimal: the server computes `column + ?` without floating point.
    Cents(Cents),
    /// A decimal as text.
    Decimal(&'a [u8]),
    Text(&'a [u8]),
    Time(DateTime),
}

impl From<u32> for Param<'_> {
    fn from(value: u32) -> Self {
        Param::Int(i64::from(value))
    }
}

impl From<Cents> for Param<'_> {
    fn from(value: Cents) -> Self {
        Param::Cents(value)
    }
}

/// One decoded value of an answer. Text, decimals and dates are ranges of the answer's bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SqlValue {
    Null,
    Int(i64),
    Bytes { start: u32, len: u32 },
}

/// A whole answer: a count of affected rows, or rows.
#[derive(Clone, Copy, Debug, Default)]
pub struct Answer<'a> {
    /// Rows that an INSERT, UPDATE or DELETE changed or found (sessions count found rows, so that
    /// an UPDATE which changes nothing still tells that its row exists; clause 2.3.6).
    pub affected_rows: u64,
    /// The last id that an INSERT made or LAST_INSERT_ID(value) was given.
    pub last_insert_id: u64,
    /// Columns of each row; 0 where the statement returns no rows.
    pub width: usize,
    /// `width` cells for each row, row after row.
    pub cells: &'a [SqlValue],
    /// What [`SqlValue::Bytes`] points into.
    pub bytes: &'a [u8],
    /// The command has another answer after this one (CALL).
    pub more: bool,
}

impl<'a> Answer<'a> {
    /// Number of rows.
    pub fn len(&self) -> usize {
        self.cells.len().checked_div(self.width).unwrap_or(0)
    }

    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// The row at `index`, where there are so many.
    pub fn row(&self, index: usize) -> Option<Row<'a>> {
        let start = index.checked_mul(self.width)?;
        let cells = self.cells.get(start..start + self.width)?;
        (self.width > 0).then_some(Row { cells, bytes: self.bytes })
    }

    /// The integer that the first row begins with; `None` where there is no row.
    pub fn int(&self) -> SessionResult<Option<i64>> {
        self.row(0).map(|row| row.int(0)).transpose()
    }

    /// All rows, first to last.
    pub fn rows(&self) -> impl Iterator<Item = Row<'a>> + use<'a> {
        let bytes = self.bytes;
        self.cells.chunks_exact(self.width.max(1)).map(move |cells| Row { cells, bytes })
    }
}

/// One row of an answer.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    cells: &'a [SqlValue],
    bytes: &'a [u8],
}

impl<'a> Row<'a> {
    fn unexpected(&self, column: usize, wanted: &str) -> SessionError {
        SessionError::Unexpected(format!(
            "column {} of the answer is {}, not {wanted}; the schema is not the one that this \
             program works on",
            column + 1,
            match self.cells.get(column) {
                None => "missing".to_owned(),
                Some(SqlValue::Null) => "NULL".to_owned(),
                Some(SqlValue::Int(value)) => format!("the integer {value}"),
                Some(SqlValue::Bytes { .. }) => "text".to_owned(),
            }
        ))
    }

    /// Is this column NULL?
    pub fn is_null(&self, column: usize) -> bool {
        matches!(self.cells.get(column), Some(SqlValue::Null))
    }

    /// An integer, from an integer column or from integer text.
    #[inline]
    pub fn int(&self, column: usize) -> Result<i64, SessionError> {
        match self.cells.get(column) {
            Some(SqlValue::Int(value)) => Ok(*value),
            Some(SqlValue::Bytes { .. }) => self.decimal(column, 0),
            _ => Err(self.unexpected(column, "an integer")),
        }
    }

    /// A decimal as an integer of `scale` decimals.
    ///
    /// # Errors
    /// [`SessionError::Unexpected`] where the column is NULL, missing or no decimal of that scale.
    #[inline]
    pub fn decimal(&self, column: usize, scale: u32) -> Result<i64, SessionError> {
        let parsed = match self.cells.get(column) {
            Some(SqlValue::Int(value)) => value.checked_mul(10_i64.pow(scale)),
            Some(SqlValue::Bytes { .. }) => parse_decimal(self.bytes(column)?, scale),
            _ => None,
        };
        parsed.ok_or_else(|| self.unexpected(column, "a decimal"))
    }

    /// An amount of money.
    #[inline]
    pub fn cents(&self, column: usize) -> Result<Cents, SessionError> {
        self.decimal(column, 2).map(Cents)
    }

    /// The bytes of a text, decimal or date column.
    ///
    /// # Errors
    /// [`SessionError::Unexpected`] where the column is NULL, missing or an integer of the binary
    /// protocol.
    #[inline]
    pub fn bytes(&self, column: usize) -> Result<&'a [u8], SessionError> {
        match self.cells.get(column) {
            Some(SqlValue::Bytes { start, len }) => {
                let start = *start as usize;
                Ok(&self.bytes[start..start + *len as usize])
            }
            _ => Err(self.unexpected(column, "text")),
        }
    }

    /// Any column as text for people; NULL is `NULL`.
    pub fn text(&self, column: usize) -> String {
        match self.cells.get(column) {
            Some(SqlValue::Int(value)) => value.to_string(),
            Some(SqlValue::Bytes { .. }) => {
                String::from_utf8_lossy(self.bytes(column).unwrap_or_default()).into_owned()
            }
            _ => "NULL".to_owned(),
        }
    }

    /// All columns as text for people.
    pub fn texts(&self) -> Vec<String> {
        (0..self.cells.len()).map(|column| self.text(column)).collect()
    }
}

/// Rows on their way into a table, as the text that LOAD DATA reads: tab between fields, newline
/// after each row.
pub trait RowSource {
    /// Appends the next rows to `buffer` (some hundred KiB at most) and returns true; false where
    /// there are no more.
    fn fill(&mut self, buffer: &mut Vec<u8>) -> bool;
}

pub type SessionResult<T> = Result<T, SessionError>;

/// Why a statement has no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionError {
    /// The server refused or failed it. The session is usable.
    Server { code: u16, sqlstate: String, message: String },
    /// The connection is gone; whether the statement took effect is unknown. The session is
    /// useless.
    Lost(String),
    /// The answer is not of the form that was asked for. The session's state is unknown.
    Unexpected(String),
}

impl SessionError {
    /// The server has rolled the transaction back.
    pub fn is_deadlock(&self) -> bool {
        self.code() == Some(errors::LOCK_DEADLOCK)
    }

    /// The server has rolled back the statement only, unless innodb_rollback_on_timeout is on.
    pub fn is_lock_wait_timeout(&self) -> bool {
        self.code() == Some(errors::LOCK_WAIT_TIMEOUT)
    }

    /// The server lets nobody write.
    pub fn is_read_only(&self) -> bool {
        use errors::{CANT_EXECUTE_IN_READ_ONLY_TRANSACTION, READ_ONLY_MODE};
        match self {
            // In every language of messages the option has its name.
            SessionError::Server { code: errors::OPTION_PREVENTS_STATEMENT, message, .. } => {
                ["read-only", "read_only"].iter().any(|option| message.contains(option))
            }
            _ => {
                matches!(self.code(), Some(CANT_EXECUTE_IN_READ_ONLY_TRANSACTION | READ_ONLY_MODE))
            }
        }
    }

    /// LOAD DATA LOCAL is not allowed, by the server or by a proxy before it.
    pub fn is_file_refused(&self) -> bool {
        const CODES: [u16; 3] = [
            errors::UNKNOWN_COM_ERROR,
            errors::NOT_ALLOWED_COMMAND,
            errors::CLIENT_LOCAL_FILES_DISABLED,
        ];
        self.code().is_some_and(|code| CODES.contains(&code))
    }

    /// The server's error number, where the server spoke.
    pub fn code(&self) -> Option<u16> {
        match self {
            SessionError::Server { code, .. } => Some(*code),
            _ => None,
        }
    }
}

impl fmt::Display for SessionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SessionError::Server { code, sqlstate, message } => {
                write!(f, "server error {code} ({sqlstate}): {message}")
            }
            SessionError::Lost(what) => write!(f, "connection lost: {what}"),
            SessionError::Unexpected(what) => f.write_str(what),
        }
    }
}

impl std::error::Error for SessionError {}

/// What a session is given behind its login: what this program's own statements rest on, whatever
/// the server gives to others. What a server does not know is in a comment that it does not read.
/// `group_concat_max_len` has room for the numbers of all customers of a last name (procedures).
/// What needs a privilege (`sql_log_bin`, `sql_generate_invisible_primary_key`) is left as it is,
/// and so is what a run measures (lock wait timeouts, the optimizer's switches).
pub const OWN_SETTINGS: [&str; 2] = [
    "SET NAMES utf8mb4, autocommit = 1, completion_type = 0, \
     sql_mode = 'STRICT_TRANS_TABLES', time_zone = '+00:00', sql_auto_is_null = 0, \
     sql_safe_updates = 0, sql_big_selects = 1, sql_select_limit = 18446744073709551615, \
     foreign_key_checks = 1, unique_checks = 1, group_concat_max_len = 65536, \
     default_storage_engine = InnoDB, wait_timeout = 2147483 \
     /*!50708 , max_execution_time = 0 */ /*M!100101 , max_statement_time = 0 */ \
     /*M!100300 , idle_transaction_timeout = 0, idle_readonly_transaction_timeout = 0, \
     idle_write_transaction_timeout = 0 */",
    "SET SESSION TRANSACTION READ WRITE",
];

/// What gives a session back to the statements of a user: they run as those of his application do,
/// but commit themselves, and have no time-out. A COMMIT of ours ends a transaction, no more.
pub const USERS_SETTINGS: &str = "SET sql_mode = DEFAULT, \
     time_zone = DEFAULT, sql_auto_is_null = DEFAULT, sql_safe_updates = DEFAULT, \
     sql_big_selects = DEFAULT, sql_select_limit = DEFAULT, foreign_key_checks = DEFAULT, \
     unique_checks = DEFAULT, group_concat_max_len = DEFAULT, default_storage_engine = DEFAULT \
     /*!50708 , max_execution_time = DEFAULT */ /*M!100101 , max_statement_time = DEFAULT */";

/// Opens sessions to one database.
pub trait Connect {
    type Session: Session;
    /// Why there is no session; a phrase for people.
    type Error: fmt::Display;

    /// Connects and logs in.
    fn connect(&self) -> impl Future<Output = Result<Self::Session, Self::Error>>;

    /// The same, with an error that `failed` makes of the words.
    fn connect_or<E>(
        &self,
        failed: impl FnOnce(String) -> E,
    ) -> impl Future<Output = Result<Self::Session, E>> {
        async move { self.connect().await.map_err(|error| failed(error.to_string())) }
    }

    /// May the same call succeed later, as while a server restarts?
    fn may_pass(error: &Self::Error) -> bool;

    /// Ends a session in good order.
    fn close(session: Self::Session) -> impl Future<Output = ()>;
}

/// One client connection to a database. Futures of a session stay on the thread that made them.
///
/// Commands are queued and then answered in order. How many of them travel together is the
/// session's mode, see [`Session::set_pipelined`]; what a transaction does is the same in both.
pub trait Session {
    /// Queues a prepared statement. Nothing leaves before an answer is asked for.
    ///
    /// # Errors
    /// [`SessionError::Unexpected`] where the statement has other parameters or too much is queued.
    fn queue(&mut self, statement: StatementId, params: &[Param<'_>]) -> Result<(), SessionError>;

    /// Queues SQL text as it stands: COMMIT, set-up, checks, and what cannot be prepared.
    fn queue_query(&mut self, sql: &str) -> Result<(), SessionError>;

    /// The whole answer to the oldest command that has none yet; sends first what has to be sent
    /// for it. A command with several result sets (CALL) has an answer for each, see
    /// [`Answer::more`].
    ///
    /// # Errors
    /// Any [`SessionError`]; only after [`SessionError::Server`] may the session be used again. The
    /// commands after a refused one are still to be answered or discarded.
    fn answer(&mut self) -> impl Future<Output = Result<Answer<'_>, SessionError>>;

    /// Forgets the commands that were not sent, and reads and forgets the answers of those that
    /// were.
    ///
    /// # Errors
    /// Where the connection is lost; refusals by the server are forgotten too.
    fn discard(&mut self) -> impl Future<Output = Result<(), SessionError>>;

    /// Commands queued whose answers were not read yet.
    fn unanswered(&self) -> usize;

    /// Pipelined: all that is queued is sent together when an answer is asked for and none is under
    /// way. Else, as from the beginning: a command is sent when the answer to the one before it has
    /// been read.
    fn set_pipelined(&mut self, pipelined: bool);

    /// Does an answer hold its rows, as from the beginning? Else they are read, whatever their
    /// number, size and types, and forgotten. A session may keep them nevertheless.
    fn set_keeps_rows(&mut self, _keeps_rows: bool) {}

    /// Runs a prepared statement and reads its whole answer.
    ///
    /// # Errors
    /// As [`Session::answer`]; [`SessionError::Unexpected`] where earlier commands have no answer
    /// yet.
    fn execute(
        &mut self,
        statement: StatementId,
        params: &[Param<'_>],
    ) -> impl Future<Output = Result<Answer<'_>, SessionError>> {
        let queued = self.nothing_unanswered().and_then(|()| self.queue(statement, params));
        async move {
            queued?;
            self.answer().await
        }
    }

    /// Runs SQL text as it stands.
    fn query(&mut self, sql: &str) -> impl Future<Output = Result<Answer<'_>, SessionError>> {
        let queued = self.nothing_unanswered().and_then(|()| self.queue_query(sql));
        async move {
            queued?;
            self.answer().await
        }
    }

    /// Is the next answer that of the next command?
    fn nothing_unanswered(&self) -> Result<(), SessionError> {
        match self.unanswered() {
            0 => Ok(()),
            n => Err(SessionError::Unexpected(format!(
                "{n} commands before this one have no answer yet"
            ))),
        }
    }

    /// Closes all prepared statements, of which each may be prepared anew.
    fn forget_prepared(&mut self) -> impl Future<Output = Result<(), SessionError>>;

    /// Prepares a statement and says in a word what it does. Only a session that times statements
    /// remembers the word.
    fn prepare_kind(
        &mut self,
        kind: &'static str,
        sql: &str,
    ) -> impl Future<Output = Result<StatementId, SessionError>>;

    /// All statements are prepared: where the protocol allows it, the server need not describe
    /// columns any more.
    fn all_prepared(&mut self) -> impl Future<Output = Result<(), SessionError>>;

    /// Commands sent over this session so far: each is one round trip where the session is not
    /// pipelined.
    fn statements(&self) -> u64;

    /// Is a transaction open, as the last answer said?
    fn in_transaction(&self) -> bool {
        false
    }

    /// Has the other end closed the connection while nothing was asked of it, as a proxy does with
    /// those that are idle?
    fn is_closed(&self) -> bool {
        false
    }

    /// Runs a LOAD DATA LOCAL INFILE statement and answers the server's request for the file with
    /// `rows`. Returns the rows stored.
    fn load_local(
        &mut self,
        sql: &str,
        rows: &mut dyn RowSource,
    ) -> impl Future<Output = Result<u64, SessionError>>;
}
