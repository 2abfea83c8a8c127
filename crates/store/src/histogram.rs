//! Latency histograms as the field exchanges them: HdrHistogram V2, deflated, values in
//! nanoseconds.

use crate::row::{ColumnName, Columns, StoredAs};
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};
use rusqlite::types::{Null, Type};
use rusqlite::{Error, Result, Row};
use std::cell::RefCell;

thread_local! {
    /// Their buffers are used again.
    static CODEC: RefCell<(V2DeflateSerializer, Deserializer)> = RefCell::default();
}

/// A histogram's bytes; NULL for an empty one, which most intervals of rare transactions have.
pub(crate) struct Encoded;

impl StoredAs<Histogram<u64>> for Encoded {
    fn put<'a>(
        column: ColumnName,
        value: &'a Histogram<u64>,
        into: &mut Columns<'a>,
    ) -> Result<()> {
        if value.is_empty() {
            into.add(column, Null.into());
            return Ok(());
        }
        let mut bytes = Vec::new();
        CODEC
            .with_borrow_mut(|(serializer, _)| serializer.serialize(value, &mut bytes))
            .map_err(|cause| Error::ToSqlConversionFailure(cause.to_string().into()))?;
        into.add(column, bytes.into());
        Ok(())
    }

    fn get(row: &Row<'_>, column: &str) -> Result<Histogram<u64>> {
        let Some(mut bytes) = row.get_ref(column)?.as_blob_or_null()? else {
            return Ok(empty_histogram());
        };
        let decoded =
            CODEC.with_borrow_mut(|(_, deserializer)| deserializer.deserialize(&mut bytes));
        decoded.map_err(|cause| {
            let index = row.as_ref().column_index(column).unwrap_or(0);
            Error::FromSqlConversionFailure(index, Type::Blob, cause.to_string().into())
        })
    }
}

/// A histogram that grows: for merging what was recorded with any bounds.
///
/// # Panics
/// Never: three digits are in the crate's range.
pub fn empty_histogram() -> Histogram<u64> {
    Histogram::new(3).expect("3 significant digits are within the crate's 0..=5")
}
