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

/// Bits of the capability flags, both sides.
pub(crate) mod capability {
    pub(crate) const CONNECT_WITH_DB: u32 = 1 << 3;
    pub(crate) const SSL: u32 = 1 << 11;
    pub(crate) const CONNECT_ATTRIBUTES: u32 = 1 << 20;
    pub(crate) const LENENC_AUTH: u32 = 1 << 21;
    pub(crate) const DEPRECATE_EOF: u32 = 1 << 24;
    /// MySQL 8.0: a result says whether columns are described, and a session variable switches it
    /// off.
    pub(crate) const OPTIONAL_METADATA: u32 = 1 << 25;
    /// Not set by MariaDB, which then has capabilities of its own.
    pub(crate) const MYSQL: u32 = 1;
    /// An extension of MariaDB: columns are described again only when they change.
    pub(crate) const MARIADB_CACHE_METADATA: u32 = 1 << 4;
    /// MySQL, found rows, long flag, local files, protocol 4.1, transactions, secure connection,
    /// several results of text and of prepared statements, login plugins.
    pub(crate) const BASE: u32 = MYSQL
        | 1 << 1
        | 1 << 2
        | 1 << 7
        | 1 << 9
        | 1 << 13
        | 1 << 15
        | 1 << 17
        | 1 << 18
        | 1 << 19
        | CONNECT_ATTRIBUTES
        | LENENC_AUTH
        | DEPRECATE_EOF
        | OPTIONAL_METADATA;
}

/// utf8mb4_general_ci, which servers have from 5.5 on: names of users and schemas may be in any
/// script.
const CHARSET_UTF8MB4: u8 = 45;

/// What was agreed on at login: capabilities that both sides have.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Protocol {
    pub(crate) capabilities: u32,
    /// MariaDB's own.
    pub(crate) mariadb: u32,
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
    pub(crate) after: After,
}

/// What holds behind an answer.
#[derive(Clone, Copy, Default)]
pub(crate) struct After {
    /// Another answer follows.
    pub(crate) more: bool,
    /// A transaction is open.
    pub(crate) in_transaction: bool,
}

impl After {
    /// By the low byte of the status flags.
    fn of_flags(flags: u8) -> After {
        const IN_TRANSACTION: u8 = 0x01;
        const MORE_RESULTS: u8 = 0x08;
        After { more: flags & MORE_RESULTS != 0, in_transaction: flags & IN_TRANSACTION != 0 }
    }
}

impl Status {
    /// Reads an OK packet behind its first byte.
    pub(crate) fn of_ok(payload: &[u8]) -> SessionResult<Status> {
        let mut reader = PacketReader::new(payload);
        let affected_rows = reader.lenenc()?;
        let last_insert_id = reader.lenenc()?;
        let after = After::of_flags(reader.u16()? as u8);
        Ok(Status { affected_rows, last_insert_id, after, ..Status::default() })
    }
}

impl Protocol {
    pub(crate) fn has(self, capability: u32) -> bool {
        self.capabilities & capability != 0
    }

    /// MariaDB: a result says whether columns are described.
    pub(crate) fn has_cached_metadata(self) -> bool {
        self.mariadb & capability::MARIADB_CACHE_METADATA != 0
    }

    /// The part that a login has in common with a request for TLS.
    pub(crate) fn fixed_part(self) -> Vec<u8> {
        let mut out = Vec::with_capacity(256);
        out.extend_from_slice(&self.capabilities.to_le_bytes());
        out.extend_from_slice(&(1u32 << 30).to_le_bytes());
        out.push(CHARSET_UTF8MB4);
        out.extend_from_slice(&[0; 19]);
        out.extend_from_slice(&self.mariadb.to_le_bytes());
        out
    }

    /// Reads the head of a result: the number of columns, and whether their description follows.
    pub(crate) fn result_head(self, payload: &[u8]) -> SessionResult<(usize, bool)> {
        let mut reader = PacketReader::new(payload);
        let width = reader.lenenc()? as usize;
        // MySQL's manual has these two in the other order; the server has not.
        let says_so = self.has(capability::OPTIONAL_METADATA) || self.has_cached_metadata();
        let described = !says_so || reader.u8()? != 0;
        Ok((width, described))
    }

    /// Reads the packet behind the last row, without its first byte.
    pub(crate) fn after_rows(self, payload: &[u8]) -> SessionResult<After> {
        if self.has(capability::DEPRECATE_EOF) {
            return Ok(Status::of_ok(payload)?.after);
        }
        // The old form: warnings 2, status 2.
        let flags = payload.get(2).ok_or_else(|| malformed("rows without an end"))?;
        Ok(After::of_flags(*flags))
    }
}
