//! Sending packets that are no statements: those of a login, and of a file.

use super::{Connection, lost};
use base::{RowSource, SessionResult};
use std::ops::Range;

/// Rows of LOAD DATA LOCAL are made in portions of about this size. Above some 100 KiB nothing gets
/// faster.
const FILE_PORTION_BYTES: usize = 256 << 10;
/// The packets in which they leave: below any max_allowed_packet that a server runs with.
const FILE_PACKET_BYTES: usize = 48 << 10;

impl Connection {
    /// Streams a file that the server asked for. The server reads to the end even after an error of
    /// its own.
    pub(super) async fn send_file(&mut self, rows: &mut dyn RowSource) -> SessionResult<()> {
        loop {
            self.output.clear();
            self.sent = 0;
            self.output.extend_from_slice(&[0; 4]);
            let mut more = true;
            while more && self.output.len() < FILE_PORTION_BYTES {
                more = rows.fill(&mut self.output);
            }
            let end = self.output.len();
            // The head of a packet takes the place of bytes that the packet before has sent.
            for head in (0..end - 4).step_by(FILE_PACKET_BYTES) {
                self.send_packet_at(head..end.min(head + 4 + FILE_PACKET_BYTES)).await?;
            }
            if !more {
                self.output.truncate(4);
                return self.send_output().await;
            }
        }
    }

    /// Sends the output as one packet: its first four bytes are for the head.
    pub(super) async fn send_output(&mut self) -> SessionResult<()> {
        self.send_packet_at(0..self.output.len()).await
    }

    /// Sends a part of the output as a packet: its first four bytes are for the head.
    async fn send_packet_at(&mut self, packet: Range<usize>) -> SessionResult<()> {
        let (head, len) = (packet.start, packet.len() - 4);
        self.output[head..head + 3].copy_from_slice(&(len as u32).to_le_bytes()[..3]);
        self.output[head + 3] = self.sequence;
        self.sequence = self.sequence.wrapping_add(1);
        self.sent = packet.end;
        self.transport.send(&self.output[packet]).await.map_err(lost)
    }
}
