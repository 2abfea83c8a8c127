//! A connection between two ranks.

use crate::frame::{FRAME_BYTES_MAX, FRAME_BYTES_MAX_UNPROVEN, Inbox, send};
use rustix::net::sockopt;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt;
use std::io::{self, ErrorKind};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// A side that takes nothing for so long is gone.
const SEND_TIMEOUT: Duration = Duration::from_secs(10);
/// A side that is silent is asked after so long, so often and so many times whether it is there: a
/// machine that lost its power says nothing.
const KEEPALIVE_IDLE: Duration = Duration::from_secs(5);
const KEEPALIVE_EVERY: Duration = Duration::from_secs(1);
const KEEPALIVE_TRIES: u32 = 10;

pub(crate) struct Link {
    stream: TcpStream,
    inbox: Inbox,
    /// When something went either way.
    last: Instant,
    /// Largest frame that is taken.
    bytes_max: usize,
}

impl Link {
    /// To a side that has not proven itself.
    pub(crate) fn unproven(stream: TcpStream) -> io::Result<Link> {
        // What a listener that does not block has accepted may not block either.
        stream.set_nonblocking(false)?;
        stream.set_nodelay(true)?;
        stream.set_write_timeout(Some(SEND_TIMEOUT))?;
        sockopt::set_socket_keepalive(&stream, true)?;
        sockopt::set_tcp_keepidle(&stream, KEEPALIVE_IDLE)?;
        sockopt::set_tcp_keepintvl(&stream, KEEPALIVE_EVERY)?;
        sockopt::set_tcp_keepcnt(&stream, KEEPALIVE_TRIES)?;
        let (inbox, last) = (Inbox::default(), Instant::now());
        Ok(Link { stream, inbox, last, bytes_max: FRAME_BYTES_MAX_UNPROVEN })
    }

    pub(crate) fn proven(self) -> Link {
        Link { bytes_max: FRAME_BYTES_MAX, ..self }
    }

    pub(crate) fn send<T: Serialize>(&mut self, message: &T) -> io::Result<()> {
        self.last = Instant::now();
        send(&mut self.stream, message)
    }

    /// What comes within this time, which is above 0.
    pub(crate) fn poll<T: DeserializeOwned>(&mut self, wait: Duration) -> io::Result<Option<T>> {
        self.stream.set_read_timeout(Some(wait))?;
        let message = self.inbox.receive(&mut self.stream, self.bytes_max)?;
        if message.is_some() {
            self.last = Instant::now();
        }
        Ok(message)
    }

    /// How long nothing has been said or heard.
    pub(crate) fn silence(&self) -> Duration {
        self.last.elapsed()
    }

    /// What has to come within this time.
    pub(crate) fn receive<T: DeserializeOwned>(&mut self, within: Duration) -> io::Result<T> {
        let deadline = Instant::now() + within;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(ErrorKind::TimedOut.into());
            }
            if let Some(message) = self.poll(left)? {
                return Ok(message);
            }
        }
    }
}

/// What happened to a link, for people.
pub(crate) fn in_words(error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => {
            "its process has ended, or the network between".to_owned()
        }
        ErrorKind::TimedOut | ErrorKind::WouldBlock => "it does not answer".to_owned(),
        _ => error.to_string(),
    }
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Link")
    }
}

#[cfg(test)]
mod tests {
    use super::in_words;
    use std::io::{Error, ErrorKind};

    #[test]
    fn a_link_that_broke_has_words() {
        for kind in [ErrorKind::UnexpectedEof, ErrorKind::ConnectionReset, ErrorKind::BrokenPipe] {
            let words = in_words(&Error::from(kind));
            assert_eq!(words, "its process has ended, or the network between");
        }
        for kind in [ErrorKind::TimedOut, ErrorKind::WouldBlock] {
            assert_eq!(in_words(&Error::from(kind)), "it does not answer");
        }
        assert_eq!(in_words(&Error::other("the cable is out")), "the cable is out");
    }
}
