//! Text in an address.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};

/// What stands for itself in no part of an address (RFC 3986).
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// With `%20` and the like for all that stands for itself in no part of an address.
pub fn percent_encoded(text: impl AsRef<[u8]>) -> String {
    percent_encode(text.as_ref(), RESERVED).to_string()
}
