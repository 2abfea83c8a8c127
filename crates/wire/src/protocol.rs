//! What of the protocol depends on the server, and the packets that begin and end an answer. Pure.

use crate::packet::{PacketReader, malformed};
use base::{SessionResult, named};

named! {
    /// How often the server describes the columns of an answer's rows.
    #[derive(Default)]
    pub enum Metadata {
        /// With each answer: all that MySQL 5.7 can do.
        #[default]
        Always = "always",
        /// When it changes: MariaDB from 10.6 on.
        Cached = "cached",
        /// Never, once the statements are prepared: MySQL 8.0.
        Omitted = "omitted",
    }
}

/// What was agreed on at login.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Protocol {
    pub(crate) deprecate_eof: bool,
    /// MySQL 8.0: a result says whether columns are described, and a session variable switches it
    /// off.
    pub(crate) optional_metadata: bool,
    /// MariaDB: a result says whether columns are described.
    pub(crate) cached_metadata: bool,
}

/// What an answer's last packet says.
#[derive(Default)]
pub(crate) struct Status {
    pub(crate) affected_rows: u64,
    pub(crate) last_insert_id: u64,
    /// Columns of its rows.
    pub(crate) width: usize,
    /// Bytes of its rows.
    pub(crate) row_bytes: usize,
    /// Another answer follows.
    pub(crate) more: bool,
}

impl Status {
    /// Reads an OK packet behind its first byte.
    pub(crate) fn of_ok(payload: &[u8]) -> SessionResult<Status> {
        const MORE_RESULTS: u16 = 0x0008;
        let mut reader = PacketReader::new(payload);
        let affected_rows = reader.lenenc()?;
        let last_insert_id = reader.lenenc()?;
        let more = reader.u16()? & MORE_RESULTS != 0;
        Ok(Status { affected_rows, last_insert_id, more, ..Status::default() })
    }
}

impl Protocol {
    /// Reads the head of a result: the number of columns, and whether their description follows.
    pub(crate) fn result_head(self, payload: &[u8]) -> SessionResult<(usize, bool)> {
        let mut reader = PacketReader::new(payload);
        let width = reader.lenenc()? as usize;
        // MySQL's manual has these two in the other order; the server has not.
        let says_so = self.optional_metadata || self.cached_metadata;
        let described = !says_so || reader.u8()? != 0;
        Ok((width, described))
    }

    /// Reads the packet behind the last row, without its first byte: does another answer follow?
    pub(crate) fn more_after_rows(self, payload: &[u8]) -> SessionResult<bool> {
        if self.deprecate_eof {
            return Ok(Status::of_ok(payload)?.more);
        }
        // The old form: warnings 2, status 2.
        let status = payload.get(2).ok_or_else(|| malformed("rows without an end"))?;
        Ok(status & 0x08 != 0)
    }
}
