//! Decoding rows of the binary and the text protocol into cells.

use crate::packet::{PacketReader, column_type as t, malformed};
use base::{SessionError, SessionResult, SqlValue};

/// What decoding needs to know of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ColumnDefinition {
    pub(crate) type_code: u8,
    pub(crate) unsigned: bool,
}

/// The last fixed part of a column definition: filler, charset 2, length 4, type 1, flags 2,
/// decimals 1, filler 2.
const FIXED_PART: usize = 12;

/// Reads a column definition packet; only type and sign matter here.
pub(crate) fn column(payload: &[u8]) -> SessionResult<ColumnDefinition> {
    let fixed = payload.last_chunk::<FIXED_PART>();
    let fixed = fixed.ok_or_else(|| malformed("a column definition is too short"))?;
    Ok(ColumnDefinition { type_code: fixed[6], unsigned: fixed[7] & 0x20 != 0 })
}

fn bytes_cell(reader: &mut PacketReader<'_>) -> SessionResult<SqlValue> {
    let taken = reader.lenenc_bytes()?;
    let start = reader.position - taken.len();
    // Answers are limited to `ANSWER_BYTES_MAX`, far below 4 GiB.
    Ok(SqlValue::Bytes { start: start as u32, len: taken.len() as u32 })
}

/// Appends the cells of a row of the text protocol.
pub(crate) fn text_row(
    mut reader: PacketReader<'_>,
    width: usize,
    cells: &mut Vec<SqlValue>,
) -> SessionResult<()> {
    for _ in 0..width {
        if reader.rest().first() == Some(&0xfb) {
            reader.position += 1;
            cells.push(SqlValue::Null);
        } else {
            cells.push(bytes_cell(&mut reader)?);
        }
    }
    whole(&reader)
}

/// Appends the cells of a row of the binary protocol.
pub(crate) fn binary_row(
    mut reader: PacketReader<'_>,
    columns: &[ColumnDefinition],
    cells: &mut Vec<SqlValue>,
) -> SessionResult<()> {
    binary_cells(&mut reader, columns, cells).map_err(|_| altered("fewer bytes than"))?;
    whole(&reader)
}

fn binary_cells(
    reader: &mut PacketReader<'_>,
    columns: &[ColumnDefinition],
    cells: &mut Vec<SqlValue>,
) -> SessionResult<()> {
    reader.take(1)?;
    // The first two bits of a row's NULL map are reserved.
    let nulls = reader.take((columns.len() + 9) / 8)?;
    for (index, column) in columns.iter().enumerate() {
        let bit = index + 2;
        if nulls[bit / 8] & (1 << (bit % 8)) != 0 {
            cells.push(SqlValue::Null);
        } else {
            cells.push(binary_cell(reader, *column)?);
        }
    }
    Ok(())
}

/// A row ends where its columns do. Else its table was changed since the columns were described,
/// and each value would be taken for another one.
fn whole(reader: &PacketReader<'_>) -> SessionResult<()> {
    match reader.rest().len() {
        0 => Ok(()),
        more => Err(altered(&format!("{more} bytes more than"))),
    }
}

fn altered(has: &str) -> SessionError {
    SessionError::Unexpected(format!(
        "a row has {has} its columns; a table was altered since the statement was prepared"
    ))
}

#[inline]
fn binary_cell(reader: &mut PacketReader<'_>, column: ColumnDefinition) -> SessionResult<SqlValue> {
    let signed = !column.unsigned;
    let value = match column.type_code {
        t::TINY if signed => i64::from(reader.u8()? as i8),
        t::TINY => i64::from(reader.u8()?),
        t::SHORT if signed => i64::from(reader.u16()? as i16),
        t::SHORT | t::YEAR => i64::from(reader.u16()?),
        t::LONG | t::INT24 if signed => i64::from(reader.u32()? as i32),
        t::LONG | t::INT24 => i64::from(reader.u32()?),
        t::LONGLONG if signed => reader.u64()? as i64,
        // Floating point, and integers that are too large, appear in no statement of ours; their
        // bits pass as bytes would, so that the row stays readable. Dates are a length and that
        // many bytes; nobody here looks inside.
        t::LONGLONG if reader.rest().get(7).is_some_and(|high| *high > 0x7f) => {
            return fixed_cell(reader, 8);
        }
        t::LONGLONG => reader.u64()? as i64,
        t::FLOAT => return fixed_cell(reader, 4),
        t::DOUBLE => return fixed_cell(reader, 8),
        _ => return bytes_cell(reader),
    };
    Ok(SqlValue::Int(value))
}

fn fixed_cell(reader: &mut PacketReader<'_>, len: usize) -> SessionResult<SqlValue> {
    let start = reader.position;
    reader.take(len)?;
    Ok(SqlValue::Bytes { start: start as u32, len: len as u32 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_keep_their_sign() {
        let signed = ColumnDefinition { type_code: t::SHORT, unsigned: false };
        let unsigned = ColumnDefinition { type_code: t::SHORT, unsigned: true };
        let text = ColumnDefinition { type_code: t::VAR_STRING, unsigned: false };
        let columns = [signed, unsigned, text, signed];
        // NULL map: bit 5 = fourth column.
        let payload = [0, 0b10_0000, 0xff, 0xff, 0xff, 0xff, 2, b'a', b'b'];
        let came = [&[0u8; 100][..], &payload[..]].concat();
        let mut cells = Vec::new();
        binary_row(PacketReader::within(&came, 100..109), &columns, &mut cells).unwrap();
        let text = SqlValue::Bytes { start: 107, len: 2 };
        assert_eq!(cells, [SqlValue::Int(-1), SqlValue::Int(65_535), text, SqlValue::Null]);
    }

    /// As after ALTER TABLE ... MODIFY of a column from SMALLINT to INT.
    #[test]
    fn a_row_of_wider_columns_is_no_row() {
        let short = ColumnDefinition { type_code: t::SHORT, unsigned: false };
        let row = |payload: &[u8]| binary_row(PacketReader::new(payload), &[short], &mut vec![]);
        assert_eq!(row(&[0, 0, 7, 0]), Ok(()));
        let error = row(&[0, 0, 7, 0, 0, 0]).unwrap_err();
        assert!(error.to_string().contains("2 bytes more than its columns"), "{error}");
        let error = row(&[0, 0, 7]).unwrap_err();
        assert!(error.to_string().contains("fewer bytes than its columns"), "{error}");
        assert!(text_row(PacketReader::new(&[1, b'7', 0xfb]), 1, &mut vec![]).is_err());
    }

    #[test]
    fn text_rows_hold_nulls() {
        let mut cells = Vec::new();
        text_row(PacketReader::new(&[1, b'7', 0xfb, 0]), 3, &mut cells).unwrap();
        let (seven, empty) =
            (SqlValue::Bytes { start: 1, len: 1 }, SqlValue::Bytes { start: 4, len: 0 });
        assert_eq!(cells, [seven, SqlValue::Null, empty]);
        assert!(text_row(PacketReader::new(&[1]), 1, &mut cells).is_err());
    }
}
