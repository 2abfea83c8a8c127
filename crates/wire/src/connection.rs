//! A connection: commands out, answers in, through buffers that are reused.

use crate::answer::{self, Column};
use crate::connector::capability;
use crate::packet::{self, Reader, malformed, param_type, put_param};
use crate::transport::Transport;
use base::{Answer, Cell, Param, RowSource, Session, SessionError, StatementId, limits};
use openssl::ssl::Ssl;
use std::io;
use std::ops::Range;

/// Payload of the largest packet; one of exactly this length would announce a continuation.
const PACKET_MAX: usize = (1 << 24) - 2;
/// First size of the receive buffer, which grows to what answers need.
const INPUT_BYTES: usize = 16 << 10;
/// Rows of LOAD DATA LOCAL leave in packets of about this size. Above some 100 KiB nothing gets faster.
const FILE_PACKET_BYTES: usize = 256 << 10;

struct Prepared {
    id: u32,
    params: usize,
    /// Types that the server has bound, so that they are sent only when they change.
    bound: Vec<u8>,
}

/// Who answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerInfo {
    /// As the greeting gives it, without MariaDB's replication prefix `5.5.5-`.
    pub version: String,
    pub is_mariadb: bool,
    /// The server's id of this connection, for `KILL`.
    pub connection_id: u32,
}

/// A [`Session`] over the MySQL protocol.
pub struct Connection {
    transport: Transport,
    info: ServerInfo,
    deprecate_eof: bool,
    output: Vec<u8>,
    input: Vec<u8>,
    /// `input[parsed..filled]` is received and not yet looked at.
    parsed: usize,
    filled: usize,
    sequence: u8,
    statements_sent: u64,
    /// A command is under way: true where its future was dropped, after which the protocol is out of step.
    busy: bool,
    prepared: Vec<Prepared>,
    columns: Vec<Column>,
    cells: Vec<Cell>,
}

/// How rows are encoded.
#[derive(Clone, Copy, PartialEq)]
enum Encoding {
    Text,
    Binary,
}

impl Connection {
    pub(crate) fn new(transport: Transport) -> Connection {
        Connection {
            transport,
            info: ServerInfo::default(),
            deprecate_eof: false,
            output: Vec::with_capacity(1 << 10),
            input: vec![0; INPUT_BYTES],
            parsed: 0,
            filled: 0,
            sequence: 0,
            statements_sent: 0,
            busy: false,
            prepared: Vec::new(),
            columns: Vec::new(),
            cells: Vec::new(),
        }
    }

    pub(crate) fn set_server(&mut self, version: &str, connection_id: u32) {
        let plain = version.strip_prefix("5.5.5-").unwrap_or(version);
        let is_mariadb = version.to_ascii_lowercase().contains("mariadb");
        self.info = ServerInfo {
            version: plain.to_owned(),
            is_mariadb,
            connection_id,
        };
    }

    pub(crate) fn set_capabilities(&mut self, capabilities: u32) {
        self.deprecate_eof = capabilities & capability::DEPRECATE_EOF != 0;
    }

    /// May a password travel as it is: encrypted, or inside this machine's kernel?
    pub(crate) fn is_private(&self) -> bool {
        self.transport.is_unix() || self.tls().is_some()
    }

    pub(crate) async fn start_tls(&mut self, session: Ssl) -> io::Result<()> {
        self.transport.start_tls(session).await
    }

    /// Who answered.
    #[must_use]
    pub fn server(&self) -> &ServerInfo {
        &self.info
    }

    /// How the bytes travel, for the record: `tcp`, `tcp+tls`, `unix` or `unix+tls`.
    #[must_use]
    pub fn transport(&self) -> &'static str {
        match (self.transport.is_unix(), self.tls().is_some()) {
            (false, false) => "tcp",
            (false, true) => "tcp+tls",
            (true, false) => "unix",
            (true, true) => "unix+tls",
        }
    }

    /// TLS version and cipher, where the line is encrypted.
    #[must_use]
    pub fn tls(&self) -> Option<String> {
        self.transport.tls_description()
    }

    /// Says good-bye, so that the server does not count an aborted client.
    pub async fn close(mut self) {
        const COM_QUIT: u8 = 0x01;
        self.begin(COM_QUIT);
        // The server answers by closing; if it is gone already, nobody misses the word.
        let _ = self.send_command().await;
    }

    /// Sends a packet of the login.
    pub(crate) async fn send_packet(&mut self, payload: &[u8]) -> Result<(), SessionError> {
        self.output.clear();
        self.output
            .extend_from_slice(&(payload.len() as u32).to_le_bytes()[..3]);
        self.output.push(self.sequence);
        self.output.extend_from_slice(payload);
        self.sequence = self.sequence.wrapping_add(1);
        self.transport.send(&self.output).await.map_err(lost)
    }

    /// Reads a packet of the login; the server's refusal is an error.
    pub(crate) async fn read_packet(&mut self) -> Result<Vec<u8>, SessionError> {
        let range = self.packet().await?;
        let payload = &self.input[range];
        match payload.first() {
            Some(0xff) => Err(packet::server_error(&payload[1..])),
            _ => Ok(payload.to_vec()),
        }
    }

    /// Starts a command packet in `output`.
    fn begin(&mut self, command: u8) {
        self.output.clear();
        self.output.extend_from_slice(&[0, 0, 0, 0, command]);
    }

    /// Sends the command in `output`; every answer of the command before has been read.
    async fn send_command(&mut self) -> Result<(), SessionError> {
        let len = self.output.len() - 4;
        if len > PACKET_MAX {
            return Err(SessionError::Unexpected(format!(
                "a statement of {len} bytes is above the protocol's {PACKET_MAX}"
            )));
        }
        if self.busy {
            return Err(SessionError::Lost(
                "an earlier statement was given up".to_owned(),
            ));
        }
        self.output[..3].copy_from_slice(&(len as u32).to_le_bytes()[..3]);
        self.busy = true;
        self.parsed = 0;
        self.filled = 0;
        self.statements_sent += 1;
        self.transport.send(&self.output).await.map_err(lost)
    }

    /// The next packet's payload as a range of `input`.
    #[inline]
    async fn packet(&mut self) -> Result<Range<usize>, SessionError> {
        loop {
            if let Some(range) = self.buffered_packet()? {
                return Ok(range);
            }
            self.receive().await?;
        }
    }

    #[inline]
    fn buffered_packet(&mut self) -> Result<Option<Range<usize>>, SessionError> {
        let Some(&[a, b, c, sequence]) = self.input[self.parsed..self.filled].first_chunk() else {
            return Ok(None);
        };
        let len = u32::from_le_bytes([a, b, c, 0]) as usize;
        if len > PACKET_MAX {
            return Err(malformed("a packet of 16 MiB or more"));
        }
        let start = self.parsed + 4;
        if self.filled < start + len {
            return Ok(None);
        }
        self.sequence = sequence.wrapping_add(1);
        self.parsed = start + len;
        Ok(Some(start..start + len))
    }

    async fn receive(&mut self) -> Result<(), SessionError> {
        if self.filled == self.input.len() {
            if self.input.len() >= limits::ANSWER_BYTES_MAX {
                return Err(SessionError::Unexpected(format!(
                    "an answer is larger than {} MiB",
                    limits::ANSWER_BYTES_MAX >> 20
                )));
            }
            self.input.resize(self.input.len() * 2, 0);
        }
        match self.transport.receive(&mut self.input[self.filled..]).await {
            Ok(0) => Err(SessionError::Lost(
                "the server closed the connection".to_owned(),
            )),
            Ok(n) => {
                self.filled += n;
                Ok(())
            }
            Err(error) => Err(lost(error)),
        }
    }

    /// Reads the whole answer of the command just sent.
    async fn answer(&mut self, encoding: Encoding) -> Result<Answer<'_>, SessionError> {
        self.cells.clear();
        let range = self.packet().await?;
        let payload = &self.input[range];
        match payload.first() {
            Some(0x00) => {
                let affected_rows = Reader::new(&payload[1..]).lenenc()?;
                self.busy = false;
                Ok(Answer {
                    affected_rows,
                    width: 0,
                    cells: &[],
                    bytes: &[],
                })
            }
            Some(0xff) => {
                self.busy = false;
                Err(packet::server_error(&payload[1..]))
            }
            Some(0xfb) => Err(malformed("the server asks for a file")),
            _ => {
                let width = Reader::new(payload).lenenc()? as usize;
                self.rows(width, encoding).await?;
                self.busy = false;
                Ok(Answer {
                    affected_rows: 0,
                    width,
                    cells: &self.cells,
                    bytes: &self.input,
                })
            }
        }
    }

    /// Reads column definitions and rows.
    async fn rows(&mut self, width: usize, encoding: Encoding) -> Result<(), SessionError> {
        self.columns.clear();
        for _ in 0..width {
            let range = self.packet().await?;
            let column = answer::column(&self.input[range])?;
            self.columns.push(column);
        }
        if !self.deprecate_eof {
            self.packet().await?;
        }
        loop {
            let range = self.packet().await?;
            let start = range.start;
            let payload = &self.input[range];
            match payload.first() {
                Some(0xfe) if payload.len() < PACKET_MAX => return Ok(()),
                Some(0xff) => {
                    self.busy = false;
                    return Err(packet::server_error(&payload[1..]));
                }
                _ if encoding == Encoding::Text => {
                    answer::text_row(payload, start, width, &mut self.cells)?;
                }
                _ => answer::binary_row(payload, start, &self.columns, &mut self.cells)?,
            }
        }
    }

    fn put_execute(
        &mut self,
        statement: StatementId,
        params: &[Param<'_>],
    ) -> Result<(), SessionError> {
        const COM_STMT_EXECUTE: u8 = 0x17;
        self.begin(COM_STMT_EXECUTE);
        let prepared = self
            .prepared
            .get_mut(statement.0 as usize)
            .filter(|prepared| prepared.params == params.len())
            .ok_or_else(|| {
                SessionError::Unexpected(format!(
                    "statement {} was not prepared with {} parameters here",
                    statement.0,
                    params.len()
                ))
            })?;
        let out = &mut self.output;
        out.extend_from_slice(&prepared.id.to_le_bytes());
        // No cursor, one iteration.
        out.extend_from_slice(&[0, 1, 0, 0, 0]);
        if params.is_empty() {
            return Ok(());
        }
        let nulls_at = out.len();
        out.resize(nulls_at + params.len().div_ceil(8), 0);
        let same = params
            .iter()
            .map(param_type)
            .eq(prepared.bound.iter().copied());
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
        Ok(())
    }

    fn put_query(&mut self, sql: &str) {
        const COM_QUERY: u8 = 0x03;
        self.begin(COM_QUERY);
        self.output.extend_from_slice(sql.as_bytes());
    }

    /// Streams a file that the server asked for. The server reads to the end even after an error of its own.
    async fn send_file(&mut self, rows: &mut dyn RowSource) -> Result<(), SessionError> {
        loop {
            self.output.clear();
            self.output.extend_from_slice(&[0; 4]);
            let mut more = true;
            while more && self.output.len() < FILE_PACKET_BYTES {
                more = rows.fill(&mut self.output);
            }
            let len = self.output.len() - 4;
            if len > PACKET_MAX {
                return Err(SessionError::Unexpected(format!(
                    "a packet of {len} bytes of rows"
                )));
            }
            if len > 0 {
                self.send_file_packet(len).await?;
            }
            if !more {
                self.output.truncate(4);
                return self.send_file_packet(0).await;
            }
        }
    }

    async fn send_file_packet(&mut self, len: usize) -> Result<(), SessionError> {
        self.output[..3].copy_from_slice(&(len as u32).to_le_bytes()[..3]);
        self.output[3] = self.sequence;
        self.sequence = self.sequence.wrapping_add(1);
        self.transport.send(&self.output).await.map_err(lost)
    }
}

fn lost(error: io::Error) -> SessionError {
    SessionError::Lost(error.to_string())
}

impl Session for Connection {
    async fn execute(
        &mut self,
        statement: StatementId,
        params: &[Param<'_>],
    ) -> Result<Answer<'_>, SessionError> {
        self.put_execute(statement, params)?;
        self.send_command().await?;
        self.answer(Encoding::Binary).await
    }

    async fn prepare(&mut self, sql: &str) -> Result<StatementId, SessionError> {
        const COM_STMT_PREPARE: u8 = 0x16;
        self.begin(COM_STMT_PREPARE);
        self.output.extend_from_slice(sql.as_bytes());
        self.send_command().await?;
        let range = self.packet().await?;
        let payload = &self.input[range];
        if payload.first() == Some(&0xff) {
            self.busy = false;
            return Err(packet::server_error(&payload[1..]));
        }
        let mut reader = Reader::new(payload);
        reader.take(1)?;
        let id = reader.u32()?;
        let columns = reader.u16()?;
        let params = reader.u16()?;
        for count in [params, columns] {
            let end = u16::from(count > 0 && !self.deprecate_eof);
            for _ in 0..count + end {
                self.packet().await?;
            }
        }
        self.busy = false;
        self.prepared.push(Prepared {
            id,
            params: usize::from(params),
            bound: Vec::new(),
        });
        Ok(StatementId(self.prepared.len() as u32 - 1))
    }

    fn statements(&self) -> u64 {
        self.statements_sent
    }

    async fn query(&mut self, sql: &str) -> Result<Answer<'_>, SessionError> {
        self.put_query(sql);
        self.send_command().await?;
        self.answer(Encoding::Text).await
    }

    async fn load_local(
        &mut self,
        sql: &str,
        rows: &mut dyn RowSource,
    ) -> Result<u64, SessionError> {
        self.put_query(sql);
        self.send_command().await?;
        let range = self.packet().await?;
        match self.input[range.clone()].first() {
            Some(0xfb) => {}
            Some(0xff) => {
                self.busy = false;
                return Err(packet::server_error(
                    &self.input[range.start + 1..range.end],
                ));
            }
            _ => return Err(malformed("LOAD DATA LOCAL without a request for the file")),
        }
        self.send_file(rows).await?;
        self.answer(Encoding::Text)
            .await
            .map(|answer| answer.affected_rows)
    }
}
