//! Text in an address.

/// With `%20` and the like for all that stands for itself in no part of an address (RFC 3986).
pub fn percent_encoded(text: impl AsRef<[u8]>) -> String {
    let bytes = text.as_ref();
    let mut encoded = String::with_capacity(bytes.len());
    for &byte in bytes {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}
