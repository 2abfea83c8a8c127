//! Latency histograms as the field exchanges them: HdrHistogram V2, deflated, values in nanoseconds.

use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};
use rusqlite::Row;

/// Encodes and decodes with buffers that are used again.
pub(crate) struct Codec {
    serializer: V2DeflateSerializer,
    deserializer: Deserializer,
    buffer: Vec<u8>,
}

impl Codec {
    pub(crate) fn new() -> Codec {
        Codec {
            serializer: V2DeflateSerializer::new(),
            deserializer: Deserializer::new(),
            buffer: Vec::new(),
        }
    }

    /// The bytes of `histogram`; `None` for an empty one, which most intervals of rare transactions have.
    pub(crate) fn encode(&mut self, histogram: &Histogram<u64>) -> Result<Option<&[u8]>, String> {
        if histogram.is_empty() {
            return Ok(None);
        }
        self.buffer.clear();
        self.serializer
            .serialize(histogram, &mut self.buffer)
            .map_err(|cause| cause.to_string())?;
        Ok(Some(&self.buffer))
    }

    pub(crate) fn decode(&mut self, bytes: &[u8]) -> Result<Histogram<u64>, String> {
        self.deserializer
            .deserialize(&mut &bytes[..])
            .map_err(|cause| cause.to_string())
    }
}

/// The histogram in a column; an empty one where it is NULL.
pub(crate) fn histogram_at(
    row: &Row<'_>,
    column: &str,
    codec: &mut Codec,
) -> rusqlite::Result<Histogram<u64>> {
    match row.get_ref(column)?.as_blob_or_null()? {
        None => Ok(empty_histogram()),
        Some(bytes) => codec.decode(bytes).map_err(|cause| {
            rusqlite::Error::FromSqlConversionFailure(
                row.as_ref().column_index(column).unwrap_or(0),
                rusqlite::types::Type::Blob,
                cause.into(),
            )
        }),
    }
}

/// A histogram that grows: for merging what was recorded with any bounds.
///
/// # Panics
/// Never: three digits are in the crate's range.
#[must_use]
pub fn empty_histogram() -> Histogram<u64> {
    Histogram::new(3).expect("3 significant digits are within the crate's 0..=5")
}
