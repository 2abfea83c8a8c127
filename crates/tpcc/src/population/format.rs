//! How a generated row becomes bytes: as a line of LOAD DATA or as a tuple of a multi-row INSERT.
//!
//! Generators are generic over [`RowFormat`], so each table has two machine-code loops and no call
//! per field.

/// Digits of a number, left-aligned, made without a branch or a division by a variable.
#[derive(Clone, Copy)]
pub(super) struct Digits {
    bytes: [u8; 8],
    len: usize,
}

/// Eight decimal digits of `value` (< 10^8), one per byte, the first in the lowest byte: halves of
/// four digits, then pairs, then digits, all lanes of a word at once.
#[inline]
fn eight_digits(value: u32) -> u64 {
    debug_assert!(value < 100_000_000);
    let (high, low) = (u64::from(value / 10_000), u64::from(value % 10_000));
    let fours = high | (low << 32);
    // 10486 / 2^20 and 103 / 2^10 are 1/100 and 1/10 to more digits than four and two need.
    let hundreds = ((fours * 10_486) >> 20) & 0x0000_007F_0000_007F;
    let twos = hundreds | ((fours - 100 * hundreds) << 16);
    let tens = ((twos * 103) >> 10) & 0x000F_000F_000F_000F;
    tens | ((twos - 10 * tens) << 8)
}

const ZEROS: u64 = 0x3030_3030_3030_3030;

impl Digits {
    /// The digits of `value`, which is below 10^8: no number of the population is longer.
    #[inline]
    pub(super) fn of(value: u32) -> Digits {
        let digits = eight_digits(value);
        // The bit keeps the last digit of 0.
        let leading = (digits | (1 << 63)).trailing_zeros() / 8;
        Digits {
            bytes: ((digits | ZEROS) >> (8 * leading)).to_le_bytes(),
            len: 8 - leading as usize,
        }
    }

    #[inline]
    pub(super) fn write(self, out: &mut Vec<u8>) {
        let end = out.len() + self.len;
        out.extend_from_slice(&self.bytes);
        out.truncate(end);
    }
}

/// Appends a number below 10^8.
#[inline]
pub(super) fn write_number(out: &mut Vec<u8>, value: u32) {
    Digits::of(value).write(out);
}

/// Appends the last four digits of `value`, leading zeros kept.
#[inline]
pub(super) fn write_four_digits(out: &mut Vec<u8>, value: u32) {
    let bytes = (eight_digits(value) | ZEROS).to_le_bytes();
    out.extend_from_slice(&[bytes[4], bytes[5], bytes[6], bytes[7]]);
}

/// Appends an amount of hundredths below 10^8 with its two decimals.
#[inline]
pub(super) fn write_hundredths(out: &mut Vec<u8>, value: u32) {
    write_number(out, value / 100);
    let bytes = (eight_digits(value % 100) | ZEROS).to_le_bytes();
    out.extend_from_slice(&[b'.', bytes[6], bytes[7]]);
}

/// Appends a fraction below 1, given in ten-thousandths, with its four decimals: taxes and
/// discounts.
#[inline]
pub(super) fn write_fraction(out: &mut Vec<u8>, value: u32) {
    debug_assert!(value < 10_000);
    let bytes = (eight_digits(value) | ZEROS).to_le_bytes();
    out.extend_from_slice(&[b'0', b'.', bytes[4], bytes[5], bytes[6], bytes[7]]);
}

/// Where a generator writes its fields, in the order of the columns. No value of the population
/// needs escaping: all are letters, digits, points, dashes, colons and spaces.
pub(super) trait RowFormat {
    /// A field of a numeric column.
    fn number(&mut self, write: impl FnOnce(&mut Vec<u8>));
    /// A field of a character or date column.
    fn text(&mut self, write: impl FnOnce(&mut Vec<u8>));
    /// NULL.
    fn null(&mut self);
    /// The row is complete.
    fn end_row(&mut self);
}

/// Lines of LOAD DATA: a tab between fields, `\N` for NULL, a newline after each row.
pub(super) struct Tsv<'a> {
    pub(super) out: &'a mut Vec<u8>,
}

impl RowFormat for Tsv<'_> {
    #[inline]
    fn number(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        write(self.out);
        self.out.push(b'\t');
    }

    #[inline]
    fn text(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        self.number(write);
    }

    #[inline]
    fn null(&mut self) {
        self.out.extend_from_slice(b"\\N\t");
    }

    #[inline]
    fn end_row(&mut self) {
        if let Some(last) = self.out.last_mut() {
            *last = b'\n';
        }
    }
}

/// Tuples of an INSERT, from after the first `(` to the `),(` behind the last one. Writes the line
/// of [`Tsv`] too, because the checksum of a chunk is that of its lines whatever way it travels.
pub(super) struct Tuples<'a> {
    pub(super) lines: &'a mut Vec<u8>,
    pub(super) out: &'a mut Vec<u8>,
}

/// What stands behind each tuple; the last one of a statement keeps the first byte of it only.
pub(super) const BETWEEN_TUPLES: &[u8] = b"),(";

impl RowFormat for Tuples<'_> {
    #[inline]
    fn number(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let start = self.lines.len();
        write(self.lines);
        self.out.extend_from_slice(&self.lines[start..]);
        self.out.push(b',');
        self.lines.push(b'\t');
    }

    #[inline]
    fn text(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let start = self.lines.len();
        write(self.lines);
        self.out.push(b'\'');
        self.out.extend_from_slice(&self.lines[start..]);
        self.out.extend_from_slice(b"',");
        self.lines.push(b'\t');
    }

    #[inline]
    fn null(&mut self) {
        self.out.extend_from_slice(b"NULL,");
        self.lines.extend_from_slice(b"\\N\t");
    }

    #[inline]
    fn end_row(&mut self) {
        self.out.pop();
        self.out.extend_from_slice(BETWEEN_TUPLES);
        if let Some(last) = self.lines.last_mut() {
            *last = b'\n';
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn numbers_are_written_as_display_does() {
        let mut random = base::Random::new(1, &[]);
        let edges = [0, 1, 9, 10, 99, 100, 999, 1_000, 9_999, 10_000, 99_999, 100_000];
        let edges = edges.into_iter().chain([999_999, 1_000_000, 9_999_999, 99_999_999]);
        let drawn = (0..20_000).map(|i| random.below(10u32.pow(1 + i % 8)));
        for value in edges.chain(0..10_000).chain(drawn) {
            assert_eq!(written(|out| write_number(out, value)), value.to_string());
            assert_eq!(
                written(|out| write_hundredths(out, value)),
                format!("{}.{:02}", value / 100, value % 100)
            );
        }
        for value in 0..10_000 {
            assert_eq!(written(|out| write_four_digits(out, value)), format!("{value:04}"));
            assert_eq!(written(|out| write_fraction(out, value)), format!("0.{value:04}"));
        }
    }

    #[test]
    fn a_row_in_both_formats() {
        fn row(mut format: impl RowFormat) {
            format.number(|out| write_number(out, 7));
            format.text(|out| out.extend_from_slice(b"ab"));
            format.null();
            format.end_row();
        }
        let (mut tsv, mut lines, mut tuples) = (Vec::new(), Vec::new(), Vec::new());
        row(Tsv { out: &mut tsv });
        row(Tuples { lines: &mut lines, out: &mut tuples });
        assert_eq!(tsv, b"7\tab\t\\N\n");
        assert_eq!(lines, tsv);
        assert_eq!(tuples, b"7,'ab',NULL),(");
    }
}
