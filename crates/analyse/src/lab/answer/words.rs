//! Lists in sentences.

use base::joined;

/// Things of a sentence that are named one by one.
pub const NAMED_MAX: usize = 4;

/// `a, b and c`; of very many the first, and how many others there are.
pub fn some_of(mut words: Vec<String>) -> String {
    let others = words.len().saturating_sub(NAMED_MAX);
    if others > 1 {
        words.truncate(NAMED_MAX);
        words.push(format!("{others} others"));
    }
    listed(&words)
}

/// `a, b and c`; `a, 1; b, 2` of things that have commas themselves.
pub fn listed(words: &[String]) -> String {
    if words.iter().any(|word| word.contains(", ")) { words.join("; ") } else { joined(words) }
}

/// With a capital letter.
pub fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|letter| letter.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}
