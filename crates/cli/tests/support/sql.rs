//! SQL over the protocol crate.

use ::server::{Target, TargetRequest};
use base::{Connect, Session, SessionError};
use wire::{ConnectError, ConnectOptions, Connection, Connector};

/// The login of a DSN.
pub fn connect_options(dsn: &str) -> ConnectOptions {
    let request = TargetRequest { dsn: Some(dsn.to_owned()), ..TargetRequest::default() };
    Target::resolve(&request).unwrap().connect
}

/// A session with the login of a DSN, or why there is none.
pub fn try_connect(dsn: &str) -> Result<Held, ConnectError> {
    Held::try_open(connect_options(dsn))
}

/// A session that stays open.
pub struct Held {
    connection: Connection,
}

impl Held {
    pub fn open(dsn: &str) -> Held {
        Held::open_as(connect_options(dsn))
    }

    pub fn open_as(options: ConnectOptions) -> Held {
        Held::try_open(options).unwrap_or_else(|error| panic!("{error}"))
    }

    fn try_open(options: ConnectOptions) -> Result<Held, ConnectError> {
        let connector = Connector::new(options)?;
        let connection = reactor::block_on(connector.connect()).unwrap()?;
        Ok(Held { connection })
    }

    /// How its bytes travel.
    pub fn transport(&self) -> &'static str {
        self.connection.transport()
    }

    /// Rows as text, columns of a row joined by `|`.
    pub fn try_query(&mut self, sql: &str) -> Result<Vec<String>, SessionError> {
        reactor::block_on(async {
            let answer = self.connection.query(sql).await?;
            let width = answer.width;
            let line = |row: base::Row<'_>| {
                let columns: Vec<String> = (0..width).map(|column| row.text(column)).collect();
                columns.join("|")
            };
            Ok(answer.rows().map(line).collect())
        })
        .unwrap()
    }

    #[track_caller]
    pub fn query(&mut self, sql: &str) -> Vec<String> {
        self.try_query(sql).unwrap_or_else(|error| panic!("{sql}: {error}"))
    }
}

/// Runs statements on one connection without a schema.
#[track_caller]
pub fn execute<S: AsRef<str>>(dsn: &str, statements: impl IntoIterator<Item = S>) {
    let mut session = Held::open_as(ConnectOptions { schema: None, ..connect_options(dsn) });
    for sql in statements {
        session.query(sql.as_ref());
    }
}

/// Runs one statement in the schema of the DSN.
#[track_caller]
pub fn query(dsn: &str, sql: &str) -> Vec<String> {
    Held::open(dsn).query(sql)
}

/// The single value that a statement gives.
#[track_caller]
pub fn value(dsn: &str, sql: &str) -> String {
    let rows = query(dsn, sql);
    assert_eq!(rows.len(), 1, "{sql}: {rows:?}");
    rows[0].clone()
}
