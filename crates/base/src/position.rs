//! Where something stands in a text, for messages.

/// Line and column of the byte at `at`, or of the end where the text is shorter: both from 1, the
/// column in characters.
pub fn line_and_column(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let line_begins = before.rfind('\n').map_or(0, |newline| newline + 1);
    (before.matches('\n').count() + 1, before[line_begins..].chars().count() + 1)
}
