//! Frames: how messages travel. Each has a mark, so that a stranger is known by its first bytes, a
//! length with a limit, and a message in postcard's format.

use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{self, ErrorKind, Read, Write};

/// Before each frame; the last byte is the version of the messages.
const MARK: [u8; 4] = [b'm', b'd', b'f', 4];
const HEAD_BYTES: usize = MARK.len() + 4;
/// Before a side has proven itself.
pub(crate) const FRAME_BYTES_MAX_UNPROVEN: usize = 4 << 10;
/// An interval with all its histograms has some 10 KB.
pub(crate) const FRAME_BYTES_MAX: usize = 16 << 20;
/// What is read at a time.
const READ_BYTES: usize = 16 << 10;

/// Sends one message as a frame.
pub(crate) fn send<T: Serialize>(to: &mut impl Write, message: &T) -> io::Result<()> {
    let body = postcard::to_stdvec(message).map_err(io::Error::other)?;
    let length = u32::try_from(body.len()).ok().filter(|_| body.len() <= FRAME_BYTES_MAX);
    let length =
        length.ok_or_else(|| io::Error::other("a message is larger than a frame may be"))?;
    to.write_all(&[&MARK[..], &length.to_le_bytes(), &body].concat())
}

/// What has come of frames so far: a read that times out loses nothing.
#[derive(Default)]
pub(crate) struct Inbox {
    bytes: Vec<u8>,
}

impl Inbox {
    /// The next message; `None` where it has not come whole with the next bytes, or before `from`
    /// times out. So who sends byte by byte holds up nobody who has a deadline.
    ///
    /// # Errors
    /// The other side is gone, or sends what is no message of ours.
    pub(crate) fn receive<T: DeserializeOwned>(
        &mut self,
        from: &mut impl Read,
        bytes_max: usize,
    ) -> io::Result<Option<T>> {
        if let Some(message) = self.take(bytes_max)? {
            return Ok(Some(message));
        }
        let mut buffer = [0; READ_BYTES];
        match from.read(&mut buffer) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(count) => self.bytes.extend_from_slice(&buffer[..count]),
            Err(error) => {
                let is_nothing = matches!(
                    error.kind(),
                    ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
                );
                return if is_nothing { Ok(None) } else { Err(error) };
            }
        }
        self.take(bytes_max)
    }

    fn take<T: DeserializeOwned>(&mut self, bytes_max: usize) -> io::Result<Option<T>> {
        let wrong = |words: &str| io::Error::new(ErrorKind::InvalidData, words);
        let known = self.bytes.len().min(MARK.len());
        if self.bytes[..known] != MARK[..known] {
            return Err(wrong("it does not speak as a fleet of this version does"));
        }
        let Some(head) = self.bytes.get(MARK.len()..HEAD_BYTES) else {
            return Ok(None);
        };
        let head: [u8; 4] = head.try_into().map_err(|_| wrong("its frame has no length"))?;
        let length = u32::from_le_bytes(head) as usize;
        if length > bytes_max {
            return Err(wrong("its frame is longer than frames may be"));
        }
        let end = HEAD_BYTES + length;
        let Some(body) = self.bytes.get(HEAD_BYTES..end) else {
            return Ok(None);
        };
        let message =
            postcard::from_bytes(body).map_err(|_| wrong("its message has no meaning"))?;
        self.bytes.drain(..end);
        Ok(Some(message))
    }
}

#[cfg(test)]
mod tests {
    mod fuzz;

    use super::{FRAME_BYTES_MAX, Inbox, send};
    use proptest::prelude::*;
    use std::io::{self, ErrorKind, Read};

    /// Gives its bytes in pieces, and times out between them.
    struct Pieces {
        all: Vec<u8>,
        piece: usize,
        pause: bool,
    }

    impl Read for Pieces {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            self.pause = !self.pause;
            if self.pause && !self.all.is_empty() {
                return Err(ErrorKind::WouldBlock.into());
            }
            let count = self.piece.min(into.len()).min(self.all.len());
            into[..count].copy_from_slice(&self.all[..count]);
            self.all.drain(..count);
            Ok(count)
        }
    }

    #[test]
    fn a_frame_may_be_as_long_as_frames_may_be() {
        let mut all = Vec::new();
        send(&mut all, &vec![7_u8; 100]).unwrap();
        // One byte tells how many follow.
        for (bytes_max, is_taken) in [(101, true), (100, false)] {
            let mut from = Pieces { all: all.clone(), piece: 200, pause: true };
            let taken = Inbox::default().receive::<Vec<u8>>(&mut from, bytes_max);
            assert_eq!(taken.is_ok(), is_taken, "{bytes_max}: {taken:?}");
        }
    }

    proptest! {
        #[test]
        fn messages_come_whole_in_whatever_pieces(
            messages in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 1..8),
            piece in 1usize..40,
        ) {
            let mut all = Vec::new();
            for message in &messages {
                send(&mut all, message).unwrap();
            }
            let (mut from, mut inbox) = (Pieces { all, piece, pause: false }, Inbox::default());
            let mut received: Vec<Vec<u8>> = Vec::new();
            let ended = loop {
                match inbox.receive(&mut from, FRAME_BYTES_MAX) {
                    Ok(Some(message)) => received.push(message),
                    Ok(None) => {}
                    Err(error) => break error.kind(),
                }
            };
            prop_assert_eq!(ended, ErrorKind::UnexpectedEof);
            prop_assert_eq!(received, messages);
        }

        #[test]
        fn a_stranger_is_an_error(bytes in prop::collection::vec(any::<u8>(), 1..200)) {
            prop_assume!(!bytes.starts_with(b"m"));
            let mut inbox = Inbox::default();
            let received = inbox.receive::<Vec<u8>>(&mut bytes.as_slice(), FRAME_BYTES_MAX);
            prop_assert!(received.is_err_and(|error| error.kind() == ErrorKind::InvalidData));
        }
    }

    #[test]
    fn a_length_beyond_the_limit_is_refused_before_it_comes() {
        let mut frame = Vec::new();
        send(&mut frame, &vec![0u8; 5000]).unwrap();
        let received = Inbox::default().receive::<Vec<u8>>(&mut &frame[..8], 4096);
        assert!(received.is_err_and(|error| error.to_string().contains("longer")));
    }
}
