//! Reading answers: bytes into `input`, packets out of it, rows into cells.

use super::{Connection, PACKET_MAX, lost};
use crate::answer;
use crate::packet::{self, PacketReader, malformed};
use crate::protocol::{After, Status, capability};
use base::{SessionError, SessionResult, limits};
use std::ops::Range;

impl Connection {
    /// The next packet's payload as a range of `input`.
    #[inline]
    pub(super) async fn packet(&mut self) -> SessionResult<Range<usize>> {
        loop {
            if let Some(range) = self.buffered_packet()? {
                return Ok(range);
            }
            self.receive().await?;
        }
    }

    #[inline]
    fn buffered_packet(&mut self) -> SessionResult<Option<Range<usize>>> {
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

    async fn receive(&mut self) -> SessionResult<()> {
        if self.pipelined {
            // Where some of the answer under way has come, any byte more of it counts.
            let begun = self.filled > self.answer_start;
            let expected = self.answer_bytes_expected(usize::from(begun)) + usize::from(begun);
            self.transport.wait_for_bytes(expected);
        }
        if self.filled == self.input.len() {
            if self.input.len() >= limits::ANSWER_BYTES_MAX {
                return Err(SessionError::Unexpected(format!(
                    "an answer is larger than {} MiB",
                    limits::ANSWER_BYTES_MAX >> 20
                )));
            }
            self.input.resize(self.input.len() * 2, 0);
        }
        let received = self.transport.receive(&mut self.input[self.filled..]).await;
        match received.map_err(lost)? {
            0 => return Err(SessionError::Lost("the server closed the connection".to_owned())),
            bytes => self.filled += bytes,
        }
        Ok(())
    }

    /// Reads an answer of the oldest command in flight: the rows' width, what it changed, and what
    /// holds behind it.
    pub(super) async fn read_answer(&mut self) -> SessionResult<Status> {
        self.cells.clear();
        let range = self.packet().await?;
        let payload = &self.input[range];
        let width = match payload.first() {
            Some(0x00) => return Status::of_ok(&payload[1..]),
            Some(0xff) => return Err(packet::server_error(&payload[1..])),
            Some(0xfb) => return self.refuse_file().await,
            _ => {
                let (width, described) = self.protocol.result_head(payload)?;
                if described {
                    self.read_columns(width).await?;
                }
                width
            }
        };
        if !self.keeps_rows {
            let after = self.skip_rows().await?;
            return Ok(Status { width, after, ..Status::default() });
        }
        let rows_start = self.parsed;
        let after = self.read_rows(width).await?;
        let row_bytes = self.parsed - rows_start;
        Ok(Status { width, row_bytes, after, ..Status::default() })
    }

    /// Reads column definitions and keeps them with the statement.
    pub(super) async fn read_columns(&mut self, width: usize) -> SessionResult<()> {
        let statement = self.pending.front().and_then(|pending| pending.statement);
        for index in 0..width {
            let range = self.packet().await?;
            let Some(statement) = statement else { continue };
            let column = answer::column(&self.input[range])?;
            let columns = &mut self.prepared[statement.0 as usize].columns;
            match columns.get_mut(index) {
                Some(known) => *known = column,
                None => columns.push(column),
            }
        }
        if !self.protocol.has(capability::DEPRECATE_EOF) {
            self.packet().await?;
        }
        Ok(())
    }

    /// The server asks for a file of this machine (LOAD DATA LOCAL in a workload's SQL): it gets an
    /// empty one, and the statement an error, as those of other clients that send no files.
    async fn refuse_file(&mut self) -> SessionResult<Status> {
        const LOCAL_INFILE_REJECTED: u16 = 2068;
        let empty = [0, 0, 0, self.sequence];
        self.transport.send(&empty).await.map_err(lost)?;
        let range = self.packet().await?;
        if self.input[range.clone()].first() == Some(&0xff) {
            return Err(packet::server_error(&self.input[range.start + 1..range.end]));
        }
        Err(SessionError::Server {
            code: LOCAL_INFILE_REJECTED,
            sqlstate: "HY000".to_owned(),
            message: "LOAD DATA LOCAL INFILE: a workload's statements are sent no files".to_owned(),
        })
    }

    /// Reads rows of any size to their end and keeps none.
    async fn skip_rows(&mut self) -> SessionResult<After> {
        loop {
            if self.head_of_packet(0).await? == 0 {
                return Err(malformed("a row without bytes"));
            }
            let len = self.head_of_packet(1).await?;
            if len < PACKET_MAX && matches!(self.input[self.parsed + 4], 0xfe | 0xff) {
                let range = self.packet().await?;
                return self.after_rows(range);
            }
            let mut len = self.skip_packet(len).await?;
            // The next packet goes on where one is as large as can be.
            while len > PACKET_MAX {
                len = self.head_of_packet(0).await?;
                self.skip_packet(len).await?;
            }
        }
    }

    /// The length of the next packet, of which the head and so many bytes have come.
    async fn head_of_packet(&mut self, bytes: usize) -> SessionResult<usize> {
        while self.filled - self.parsed < 4 + bytes {
            self.forget_parsed();
            self.receive().await?;
        }
        let [a, b, c] = [0, 1, 2].map(|byte| self.input[self.parsed + byte]);
        Ok(u32::from_le_bytes([a, b, c, 0]) as usize)
    }

    /// Lets a packet of this length pass, and returns its length.
    async fn skip_packet(&mut self, len: usize) -> SessionResult<usize> {
        let mut rest = 4 + len;
        loop {
            let there = rest.min(self.filled - self.parsed);
            self.parsed += there;
            rest -= there;
            if rest == 0 {
                return Ok(len);
            }
            self.forget_parsed();
            self.receive().await?;
        }
    }

    /// Makes room: of an answer that is not kept, nobody points to what was read.
    fn forget_parsed(&mut self) {
        self.input.copy_within(self.parsed..self.filled, 0);
        self.filled -= self.parsed;
        self.parsed = 0;
        self.answer_start = 0;
    }

    /// The packet after the last row.
    fn after_rows(&self, range: Range<usize>) -> SessionResult<After> {
        let payload = &self.input[range];
        match payload.first() {
            Some(0xff) => Err(packet::server_error(&payload[1..])),
            _ => self.protocol.after_rows(&payload[1..]),
        }
    }

    /// Reads rows to their end.
    async fn read_rows(&mut self, width: usize) -> SessionResult<After> {
        let statement = self.pending.front().and_then(|pending| pending.statement);
        loop {
            let range = self.packet().await?;
            let payload = &self.input[range.clone()];
            match payload.first() {
                Some(0xfe | 0xff) if payload.len() < PACKET_MAX => return self.after_rows(range),
                _ => {}
            }
            let reader = PacketReader::within(&self.input, range);
            match statement {
                None => answer::text_row(reader, width, &mut self.cells)?,
                Some(statement) => {
                    // A CALL describes each of its results anew, and an earlier one may have been
                    // wider.
                    let columns = self.prepared[statement.0 as usize].columns.get(..width);
                    let columns =
                        columns.ok_or_else(|| malformed("columns without description"))?;
                    answer::binary_row(reader, columns, &mut self.cells)?;
                }
            }
            if self.cells.len() > limits::ANSWER_CELLS_MAX {
                return Err(SessionError::Unexpected(format!(
                    "an answer has more than {} values",
                    limits::ANSWER_CELLS_MAX
                )));
            }
        }
    }
}
