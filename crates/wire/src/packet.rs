//! Reading and writing the values of the MySQL protocol. Pure: bytes in, values out.

use base::{Param, SessionError, SessionResult};
use std::ops::Range;

/// The answer broke the protocol, or this program does not know that part of it.
pub(crate) fn malformed(what: &str) -> SessionError {
    SessionError::Unexpected(format!(
        "the server's answer is malformed: {what}; is this a MySQL or MariaDB server?"
    ))
}

/// A cursor over one packet's payload.
pub(crate) struct PacketReader<'a> {
    bytes: &'a [u8],
    pub(crate) position: usize,
}

impl<'a> PacketReader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> PacketReader<'a> {
        PacketReader { bytes, position: 0 }
    }

    /// A cursor over the payload at `range` of what came, whose positions are of all that came.
    pub(crate) fn within(came: &'a [u8], range: Range<usize>) -> PacketReader<'a> {
        PacketReader { bytes: &came[..range.end], position: range.start }
    }

    #[inline]
    pub(crate) fn take(&mut self, len: usize) -> SessionResult<&'a [u8]> {
        let end = self.position.checked_add(len).ok_or_else(|| malformed("a length overflows"))?;
        let taken = self.bytes.get(self.position..end);
        let taken = taken.ok_or_else(|| malformed("a packet ends too early"))?;
        self.position = end;
        Ok(taken)
    }

    #[inline]
    fn array<const N: usize>(&mut self) -> SessionResult<[u8; N]> {
        let taken = self.take(N)?;
        taken.try_into().map_err(|_| malformed("a packet ends too early"))
    }

    #[inline]
    pub(crate) fn u8(&mut self) -> SessionResult<u8> {
        self.array().map(u8::from_le_bytes)
    }

    #[inline]
    pub(crate) fn u16(&mut self) -> SessionResult<u16> {
        self.array().map(u16::from_le_bytes)
    }

    #[inline]
    pub(crate) fn u32(&mut self) -> SessionResult<u32> {
        self.array().map(u32::from_le_bytes)
    }

    #[inline]
    pub(crate) fn u64(&mut self) -> SessionResult<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// A length-encoded integer.
    #[inline]
    pub(crate) fn lenenc(&mut self) -> SessionResult<u64> {
        match self.u8()? {
            small @ 0..=0xfa => Ok(u64::from(small)),
            0xfc => self.u16().map(u64::from),
            0xfd => {
                let [a, b, c] = self.array()?;
                Ok(u64::from(u32::from_le_bytes([a, b, c, 0])))
            }
            0xfe => self.u64(),
            _ => Err(malformed("a length has an unknown form")),
        }
    }

    /// A length-encoded string.
    #[inline]
    pub(crate) fn lenenc_bytes(&mut self) -> SessionResult<&'a [u8]> {
        let len = usize::try_from(self.lenenc()?).map_err(|_| malformed("a length overflows"))?;
        self.take(len)
    }

    /// A string that ends with a zero byte.
    pub(crate) fn zero_terminated(&mut self) -> SessionResult<&'a [u8]> {
        let rest = self.rest();
        let len =
            rest.iter().position(|&b| b == 0).ok_or_else(|| malformed("a text has no end"))?;
        self.position += len + 1;
        Ok(&rest[..len])
    }

    pub(crate) fn rest(&self) -> &'a [u8] {
        &self.bytes[self.position.min(self.bytes.len())..]
    }
}

/// Appends a length-encoded integer.
#[inline]
pub(crate) fn put_lenenc(out: &mut Vec<u8>, value: u64) {
    match value {
        0..=0xfa => out.push(value as u8),
        0xfb..=0xffff => {
            out.push(0xfc);
            out.extend_from_slice(&(value as u16).to_le_bytes());
        }
        0x1_0000..=0xff_ffff => {
            out.push(0xfd);
            out.extend_from_slice(&(value as u32).to_le_bytes()[..3]);
        }
        _ => {
            out.push(0xfe);
            out.extend_from_slice(&value.to_le_bytes());
        }
    }
}

/// Appends a length-encoded string.
#[inline]
pub(crate) fn put_lenenc_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_lenenc(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// The protocol's type code of a parameter.
#[inline]
pub(crate) fn param_type(param: &Param<'_>) -> u8 {
    match param {
        Param::Null => column_type::NULL,
        Param::Int(_) => column_type::LONGLONG,
        Param::Cents(_) | Param::Decimal(_) => column_type::NEWDECIMAL,
        Param::Text(_) => column_type::VAR_STRING,
        Param::Time(_) => column_type::DATETIME,
    }
}

/// Appends a parameter's value in the binary protocol.
#[inline]
pub(crate) fn put_param(out: &mut Vec<u8>, param: &Param<'_>) {
    match param {
        Param::Null => {}
        Param::Int(value) => out.extend_from_slice(&value.to_le_bytes()),
        Param::Text(text) | Param::Decimal(text) => put_lenenc_bytes(out, text),
        Param::Cents(cents) => {
            let mut digits = [0u8; 24];
            let start = write_cents(&mut digits, cents.0);
            put_lenenc_bytes(out, &digits[start..]);
        }
        Param::Time(t) => {
            out.push(7);
            out.extend_from_slice(&t.year.to_le_bytes());
            out.extend_from_slice(&[t.month, t.day, t.hour, t.minute, t.second]);
        }
    }
}

/// Writes hundredths as decimal text to the end of `digits`; returns where it starts.
fn write_cents(digits: &mut [u8; 24], cents: i64) -> usize {
    let mut rest = cents.unsigned_abs();
    let mut at = digits.len();
    for place in 0.. {
        if place == 2 {
            at -= 1;
            digits[at] = b'.';
        }
        if place > 2 && rest == 0 {
            break;
        }
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    if cents < 0 {
        at -= 1;
        digits[at] = b'-';
    }
    at
}

/// Type codes of columns and parameters that this program meets.
pub(crate) mod column_type {
    pub(crate) const TINY: u8 = 0x01;
    pub(crate) const SHORT: u8 = 0x02;
    pub(crate) const LONG: u8 = 0x03;
    pub(crate) const FLOAT: u8 = 0x04;
    pub(crate) const DOUBLE: u8 = 0x05;
    pub(crate) const NULL: u8 = 0x06;
    pub(crate) const LONGLONG: u8 = 0x08;
    pub(crate) const INT24: u8 = 0x09;
    pub(crate) const DATETIME: u8 = 0x0c;
    pub(crate) const YEAR: u8 = 0x0d;
    pub(crate) const NEWDECIMAL: u8 = 0xf6;
    pub(crate) const VAR_STRING: u8 = 0xfd;
}

/// The server's error packet, without its header byte.
pub(crate) fn server_error(payload: &[u8]) -> SessionError {
    let mut reader = PacketReader::new(payload);
    let Ok(code) = reader.u16() else {
        return malformed("an error packet has no code");
    };
    let mut sqlstate = "HY000".to_owned();
    if reader.rest().first() == Some(&b'#') && reader.rest().len() >= 6 {
        sqlstate = String::from_utf8_lossy(&reader.rest()[1..6]).into_owned();
        reader.position += 6;
    }
    let message = String::from_utf8_lossy(reader.rest()).into_owned();
    SessionError::Server { code, sqlstate, message }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::{Cents, DateTime};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn lengths_round_trip(value in any::<u64>()) {
            let mut out = Vec::new();
            put_lenenc(&mut out, value);
            prop_assert_eq!(PacketReader::new(&out).lenenc().unwrap(), value);
        }

        #[test]
        fn cents_are_written_as_they_are_displayed(cents in any::<i64>()) {
            let mut out = Vec::new();
            put_param(&mut out, &Param::Cents(Cents(cents)));
            let shown = Cents(cents).to_string();
            prop_assert_eq!(&out[1..], shown.as_bytes());
        }

        #[test]
        fn nothing_read_panics(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            let mut reader = PacketReader::new(&bytes);
            while reader.lenenc_bytes().is_ok() {}
            let _ = PacketReader::new(&bytes).zero_terminated();
            let _ = server_error(&bytes);
        }
    }

    #[test]
    fn dates_take_seven_bytes() {
        let mut out = Vec::new();
        put_param(&mut out, &Param::Time(DateTime::from_unix_s(1_767_225_600)));
        assert_eq!(out, [7, 0xea, 0x07, 1, 1, 0, 0, 0]);
    }

    #[test]
    fn errors_with_and_without_a_state() {
        let with = server_error(b"\xbd\x04#40001Deadlock found");
        assert!(with.is_deadlock());
        assert_eq!(with.to_string(), "server error 1213 (40001): Deadlock found");
        assert_eq!(server_error(b"\x15\x04denied").code(), Some(1045));
    }
}
