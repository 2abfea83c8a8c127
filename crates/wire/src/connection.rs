//! A connection: commands out, answers in, through buffers that are reused.

mod receive;
mod send;

use crate::answer::ColumnDefinition;
use crate::login::Privacy;
use crate::open::OpenConnection;
use crate::packet::{self, PacketReader, malformed, param_type, put_param};
use crate::protocol::{Metadata, Protocol, Status, capability};
use crate::text;
use crate::transport::Transport;
use base::{
    Answer, Param, RowSource, ServerFamily, ServerRelease, Session, SessionError, SessionResult,
    Since, SqlValue, StatementId, errors, limits,
};
use openssl::ssl::Ssl;
use std::collections::VecDeque;
use std::io;
use std::ops::Range;

/// Payload of the largest packet; one of exactly this length would announce a continuation.
const PACKET_MAX: usize = (1 << 24) - 2;
/// An OK packet: header 4, packet type, affected rows, last inserted id, status 2, warnings 2.
const ANSWER_BYTES_MIN: usize = 11;
const COM_QUERY: u8 = 0x03;
const COM_STMT_EXECUTE: u8 = 0x17;
/// No answer has been seen.
const ANSWER_BYTES_UNKNOWN: usize = usize::MAX;
/// First size of the receive buffer, which grows to what answers need.
const INPUT_BYTES: usize = 16 << 10;

#[derive(Default)]
struct PreparedStatement {
    id: u32,
    params: usize,
    /// Where the server does not prepare it, the text between its parameters.
    text: Vec<String>,
    /// What it answers is known from here on: it returns the columns that were described, or
    /// changes rows. What a CALL returns is not.
    is_described: bool,
    /// Types that the server has bound, so that they are sent only when they change.
    bound: Vec<u8>,
    /// The columns that the server described last: it need not repeat them, see [`Metadata`].
    columns: Vec<ColumnDefinition>,
    /// What an answer will be at least, learnt from the smallest so far.
    answer_bytes_min: usize,
}

/// A command without a whole answer.
struct Pending {
    /// The prepared statement; none for text.
    statement: Option<StatementId>,
    /// Where it ends in `output`.
    end: usize,
}

/// Who answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerInfo {
    /// The version of the greeting, without MariaDB's replication prefix `5.5.5-`.
    pub version: String,
    /// The server's id of this connection, for `KILL`.
    pub connection_id: u32,
}

impl ServerInfo {
    /// Its family, which a greeting tells without a release, too.
    pub fn family(&self) -> ServerFamily {
        ServerFamily::of_words(&self.version)
    }

    /// Does its version name a release that has it?
    pub fn has(&self, since: Since) -> bool {
        self.version.parse().is_ok_and(|release: ServerRelease| release.has(since))
    }
}

/// A [`Session`] over the MySQL protocol.
pub struct Connection {
    transport: Transport,
    info: ServerInfo,
    protocol: Protocol,
    metadata: Metadata,
    pipelined: bool,
    keeps_rows: bool,
    in_transaction: bool,
    /// The server prepares statements; else they go as text, with their parameters as literals.
    prepares: bool,
    /// Commands queued, of which the first `sent` bytes have left.
    output: Vec<u8>,
    sent: usize,
    pending: VecDeque<Pending>,
    /// So many of `pending` have been sent.
    in_flight: usize,
    input: Vec<u8>,
    /// `input[parsed..filled]` is received and not yet looked at.
    parsed: usize,
    filled: usize,
    /// Where in `input` the answer under way begins.
    answer_start: usize,
    sequence: u8,
    statements_sent: u64,
    /// Bytes are on their way: true where a future was dropped meanwhile, after which the protocol
    /// is out of step.
    busy: bool,
    prepared: Vec<PreparedStatement>,
    cells: Vec<SqlValue>,
    open: Option<OpenConnection>,
}

impl Connection {
    pub(crate) fn new(transport: Transport, prepares: bool) -> Connection {
        Connection {
            transport,
            info: ServerInfo::default(),
            protocol: Protocol::default(),
            metadata: Metadata::Always,
            pipelined: false,
            keeps_rows: true,
            in_transaction: false,
            prepares,
            output: Vec::with_capacity(1 << 10),
            sent: 0,
            pending: VecDeque::new(),
            in_flight: 0,
            input: vec![0; INPUT_BYTES],
            parsed: 0,
            filled: 0,
            answer_start: 0,
            sequence: 0,
            statements_sent: 0,
            busy: false,
            prepared: Vec::new(),
            cells: Vec::new(),
            open: None,
        }
    }

    /// It is open for as long as it is there.
    pub(crate) fn listed(&mut self, open: OpenConnection) {
        self.open = Some(open);
    }

    pub(crate) fn set_server(&mut self, version: &str, connection_id: u32) {
        let plain = version.strip_prefix("5.5.5-").unwrap_or(version);
        self.info = ServerInfo { version: plain.to_owned(), connection_id };
    }

    pub(crate) fn set_protocol(&mut self, protocol: Protocol) {
        self.protocol = protocol;
        if protocol.has_cached_metadata() {
            self.metadata = Metadata::Cached;
        }
    }

    /// How often the server describes the columns of an answer, for the record.
    pub fn metadata(&self) -> Metadata {
        self.metadata
    }

    /// Who can read what is sent?
    pub(crate) fn privacy(&self) -> Privacy {
        match (self.tls().is_some(), self.transport.is_unix()) {
            (true, _) => Privacy::Encrypted,
            (false, true) => Privacy::Socket,
            (false, false) => Privacy::Open,
        }
    }

    /// Begins TLS. What has come before and was not read would be taken for what the server says
    /// inside.
    pub(crate) async fn start_tls(&mut self, session: Ssl) -> io::Result<()> {
        if self.parsed != self.filled {
            return Err(io::Error::other(format!(
                "{} bytes follow the server's greeting in plain text; somebody may be in between",
                self.filled - self.parsed
            )));
        }
        self.transport.start_tls(session).await
    }

    /// Bytes of its buffer and cells of its last answer.
    #[cfg(test)]
    pub(crate) fn memory(&self) -> (usize, usize) {
        (self.input.len(), self.cells.capacity())
    }

    /// Who answered.
    pub fn server(&self) -> &ServerInfo {
        &self.info
    }

    /// How the bytes travel, for the record: `tcp`, `tcp+tls`, `unix` or `unix+tls`.
    pub fn transport(&self) -> &'static str {
        match (self.transport.is_unix(), self.tls().is_some()) {
            (false, false) => "tcp",
            (false, true) => "tcp+tls",
            (true, false) => "unix",
            (true, true) => "unix+tls",
        }
    }

    /// TLS version and cipher, where the line is encrypted.
    pub fn tls(&self) -> Option<String> {
        self.transport.tls_description()
    }

    /// Says good-bye, so that the server does not count an aborted client.
    pub async fn close(mut self) {
        const COM_QUIT: u8 = 0x01;
        self.forget_unsent();
        let start = self.begin(COM_QUIT);
        // The server answers by closing; if it is gone already, ignore the error.
        if self.enqueue(start, None).is_ok() {
            let _ = self.send().await;
        }
    }

    /// Sends a packet of the login.
    pub(crate) async fn send_packet(&mut self, payload: &[u8]) -> SessionResult<()> {
        self.output.clear();
        self.output.extend_from_slice(&[0; 4]);
        self.output.extend_from_slice(payload);
        self.send_output().await
    }

    /// Reads a packet of the login; the server's refusal is an error.
    pub(crate) async fn read_packet(&mut self) -> SessionResult<Vec<u8>> {
        let range = self.packet().await?;
        let payload = &self.input[range];
        match payload.first() {
            Some(0xff) => Err(packet::server_error(&payload[1..])),
            _ => Ok(payload.to_vec()),
        }
    }

    /// Starts a command packet at the end of `output`; returns where.
    fn begin(&mut self, command: u8) -> usize {
        if self.sent == self.output.len() {
            self.output.clear();
            self.sent = 0;
        }
        let start = self.output.len();
        self.output.extend_from_slice(&[0, 0, 0, 0, command]);
        start
    }

    /// Ends the command packet that begins at `start`.
    fn enqueue(&mut self, start: usize, statement: Option<StatementId>) -> SessionResult<()> {
        let end = self.output.len();
        let len = end - start - 4;
        let why = if len > PACKET_MAX {
            format!("a statement of {len} bytes is above the protocol's {PACKET_MAX}")
        } else if start - self.sent > limits::PIPELINE_BYTES_MAX {
            format!("{} bytes of statements wait to be sent", start - self.sent)
        } else {
            self.output[start..start + 3].copy_from_slice(&(len as u32).to_le_bytes()[..3]);
            self.pending.push_back(Pending { statement, end });
            return Ok(());
        };
        self.output.truncate(start);
        Err(SessionError::Unexpected(why))
    }

    /// Sends what has to be sent before the next answer can come.
    #[inline]
    async fn send(&mut self) -> SessionResult<()> {
        if self.in_flight > 0 {
            return Ok(());
        }
        let count = if self.pipelined { self.pending.len() } else { 1 };
        let last = count.checked_sub(1).and_then(|last| self.pending.get(last));
        let Some(last) = last else {
            return Err(SessionError::Unexpected(
                "an answer was asked for, and no command queued".to_owned(),
            ));
        };
        let range = self.sent..last.end;
        self.sent = last.end;
        self.statements_sent += count as u64;
        self.in_flight = count;
        if self.pipelined {
            self.transport.wait_for_bytes(self.answer_bytes_expected(0));
        }
        self.transport.send(&self.output[range]).await.map_err(lost)
    }

    /// What the answers in flight, without the first few, will be at least.
    fn answer_bytes_expected(&self, skipped: usize) -> usize {
        let in_flight = self.pending.range(skipped.min(self.in_flight)..self.in_flight);
        if in_flight.len() < 2 {
            // One answer is one wake-up anyway.
            return 1;
        }
        let bytes = in_flight.map(|pending| match pending.statement {
            Some(statement) => match self.prepared[statement.0 as usize].answer_bytes_min {
                ANSWER_BYTES_UNKNOWN => ANSWER_BYTES_MIN,
                known => known,
            },
            None => ANSWER_BYTES_MIN,
        });
        bytes.sum()
    }

    /// From here on a dropped future leaves the connection useless; and `busy`.
    fn enter(&mut self) -> SessionResult<()> {
        if self.busy {
            return Err(SessionError::Lost("an earlier statement was given up".to_owned()));
        }
        self.busy = true;
        // Cells point into `input`, which may move only between two answers.
        if self.parsed == self.filled {
            self.parsed = 0;
            self.filled = 0;
        } else if self.parsed > self.input.len() / 2 {
            self.input.copy_within(self.parsed..self.filled, 0);
            self.filled -= self.parsed;
            self.parsed = 0;
        }
        Ok(())
    }

    /// Drops the commands that were not sent.
    fn forget_unsent(&mut self) {
        for unsent in self.pending.drain(self.in_flight..) {
            if let Some(statement) = unsent.statement {
                // The types that it would have brought never reach the server.
                self.prepared[statement.0 as usize].bound.clear();
            }
        }
        self.output.truncate(self.sent);
    }

    /// The oldest command has its last answer.
    fn answered(&mut self) {
        self.pending.pop_front();
        self.in_flight -= 1;
    }

    fn put_execute(&mut self, statement: StatementId, params: &[Param<'_>]) -> SessionResult<()> {
        let start = self.begin(COM_STMT_EXECUTE);
        let prepared = self
            .prepared
            .get_mut(statement.0 as usize)
            .filter(|prepared| prepared.params == params.len());
        let Some(prepared) = prepared else {
            self.output.truncate(start);
            return Err(SessionError::Unexpected(format!(
                "statement {} was not prepared with {} parameters here",
                statement.0,
                params.len()
            )));
        };
        let out = &mut self.output;
        if !prepared.text.is_empty() {
            out[start + 4] = COM_QUERY;
            text::put_statement(out, &prepared.text, params);
            return self.enqueue(start, None);
        }
        out.extend_from_slice(&prepared.id.to_le_bytes());
        // No cursor, one iteration.
        out.extend_from_slice(&[0, 1, 0, 0, 0]);
        if params.is_empty() {
            return self.enqueue(start, Some(statement));
        }
        let nulls_at = out.len();
        out.resize(nulls_at + params.len().div_ceil(8), 0);
        let same = params.iter().map(param_type).eq(prepared.bound.iter().copied());
        out.push(u8::from(!same));
        if !same {
            prepared.bound.clear();
            prepared.bound.extend(params.iter().map(param_type));
            for &type_code in &prepared.bound {
                out.extend_from_slice(&[type_code, 0]);
            }
        }
        for (index, param) in params.iter().enumerate() {
            if *param == Param::Null {
                out[nulls_at + index / 8] |= 1 << (index % 8);
            }
            put_param(out, param);
        }
        self.enqueue(start, Some(statement))
    }

    fn put_text(&mut self, command: u8, sql: &str) -> SessionResult<()> {
        let start = self.begin(command);
        self.output.extend_from_slice(sql.as_bytes());
        self.enqueue(start, None)
    }

    /// Sends what is queued and reads the first packet of the oldest answer; a refusal is an error.
    async fn first_packet(&mut self) -> SessionResult<Range<usize>> {
        self.enter()?;
        self.send().await?;
        let range = self.packet().await?;
        match self.input[range.clone()].first() {
            Some(0xff) => {
                self.answered();
                self.busy = false;
                Err(packet::server_error(&self.input[range.start + 1..range.end]))
            }
            _ => Ok(range),
        }
    }
}

fn lost(error: io::Error) -> SessionError {
    SessionError::Lost(error.to_string())
}

impl Session for Connection {
    fn queue(&mut self, statement: StatementId, params: &[Param<'_>]) -> SessionResult<()> {
        self.put_execute(statement, params)
    }

    fn queue_query(&mut self, sql: &str) -> SessionResult<()> {
        self.put_text(COM_QUERY, sql)
    }

    async fn answer(&mut self) -> SessionResult<Answer<'_>> {
        self.enter()?;
        self.send().await?;
        self.answer_start = self.parsed;
        let status = self.read_answer().await;
        // Rows count half: a shorter one than any so far must not be waited for.
        let row_bytes = status.as_ref().map_or(0, |status| status.row_bytes);
        let bytes = self.parsed - self.answer_start - row_bytes / 2;
        if let (Ok(_), Some(statement)) = (&status, self.pending[0].statement) {
            let known = &mut self.prepared[statement.0 as usize].answer_bytes_min;
            *known = bytes.min(*known);
        }
        // After any error that is no answer the protocol is out of step, and the connection stays
        // busy for ever.
        self.busy = matches!(&status, Err(error) if error.code().is_none());
        let has_more = status.as_ref().is_ok_and(|status| status.after.more);
        if !self.busy && !has_more {
            self.answered();
        }
        let Status { affected_rows, last_insert_id, width, after, .. } = status?;
        self.in_transaction = after.in_transaction;
        let more = after.more;
        let (cells, bytes) = (&self.cells[..], &self.input[..]);
        Ok(Answer { affected_rows, last_insert_id, width, cells, bytes, more })
    }

    async fn discard(&mut self) -> SessionResult<()> {
        self.forget_unsent();
        while !self.pending.is_empty() {
            match self.answer().await {
                Ok(_) | Err(SessionError::Server { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn unanswered(&self) -> usize {
        self.pending.len()
    }

    fn set_pipelined(&mut self, pipelined: bool) {
        self.pipelined = pipelined;
    }

    fn set_keeps_rows(&mut self, keeps_rows: bool) {
        self.keeps_rows = keeps_rows;
    }

    async fn forget_prepared(&mut self) -> SessionResult<()> {
        const COM_STMT_CLOSE: u8 = 0x19;
        self.nothing_unanswered()?;
        let prepared = std::mem::take(&mut self.prepared);
        for prepared in prepared.iter().filter(|prepared| prepared.text.is_empty()) {
            let start = self.begin(COM_STMT_CLOSE);
            self.output.extend_from_slice(&prepared.id.to_le_bytes());
            let len = (self.output.len() - start - 4) as u32;
            self.output[start..start + 3].copy_from_slice(&len.to_le_bytes()[..3]);
        }
        // It has no answer, and leaves with the next command that has one.
        if self.metadata == Metadata::Omitted {
            self.query("SET SESSION resultset_metadata = FULL").await?;
            self.metadata = Metadata::Always;
        }
        Ok(())
    }

    async fn prepare_kind(&mut self, _: &'static str, sql: &str) -> SessionResult<StatementId> {
        const COM_STMT_PREPARE: u8 = 0x16;
        self.nothing_unanswered()?;
        let statement = StatementId(self.prepared.len() as u32);
        let mut first = None;
        if self.prepares {
            self.put_text(COM_STMT_PREPARE, sql)?;
            first = match self.first_packet().await {
                // Such as SAVEPOINT and LOCK TABLES.
                Err(error) if error.code() == Some(errors::UNSUPPORTED_PS) => None,
                first => Some(first?),
            };
        }
        let Some(range) = first else {
            let text = text::parts(sql);
            let params = text.len() - 1;
            self.prepared.push(PreparedStatement { params, text, ..PreparedStatement::default() });
            return Ok(statement);
        };
        let mut reader = PacketReader::new(&self.input[range]);
        reader.take(1)?;
        let id = reader.u32()?;
        let width = usize::from(reader.u16()?);
        let params = usize::from(reader.u16()?);
        let changes_rows = ["insert", "update", "delete", "replace"]
            .iter()
            .any(|verb| sql.get(..verb.len()).is_some_and(|word| word.eq_ignore_ascii_case(verb)));
        self.prepared.push(PreparedStatement {
            id,
            params,
            is_described: width > 0 || changes_rows,
            answer_bytes_min: ANSWER_BYTES_UNKNOWN,
            ..PreparedStatement::default()
        });
        if params > 0 {
            self.read_columns(params).await?;
        }
        if let Some(pending) = self.pending.front_mut() {
            pending.statement = Some(statement);
        }
        if width > 0 {
            self.read_columns(width).await?;
        }
        self.answered();
        self.busy = false;
        Ok(statement)
    }

    async fn all_prepared(&mut self) -> SessionResult<()> {
        let is_described = self.prepared.iter().all(|prepared| prepared.is_described);
        if is_described && self.protocol.has(capability::OPTIONAL_METADATA) {
            self.query("SET SESSION resultset_metadata = NONE").await?;
            self.metadata = Metadata::Omitted;
        }
        Ok(())
    }

    fn statements(&self) -> u64 {
        self.statements_sent
    }

    fn in_transaction(&self) -> bool {
        self.in_transaction
    }

    fn is_closed(&self) -> bool {
        self.transport.is_closed()
    }

    async fn load_local(&mut self, sql: &str, rows: &mut dyn RowSource) -> SessionResult<u64> {
        self.nothing_unanswered()?;
        self.queue_query(sql)?;
        let range = self.first_packet().await?;
        if self.input[range].first() != Some(&0xfb) {
            return Err(malformed("LOAD DATA LOCAL without a request for the file"));
        }
        self.send_file(rows).await?;
        self.busy = false;
        self.answer().await.map(|answer| answer.affected_rows)
    }
}
