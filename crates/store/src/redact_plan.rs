//! A plan without its secrets, wherever TOML lets them stand: in texts of several lines, inline
//! tables, lists, behind quoted or dotted keys. Nothing else of it changes.

use crate::redact::{HIDDEN, program_of, redact, redact_url};
use base::is_secret;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The key whose value is a command of the user's, which may hold a password in any form.
const POWER_COMMAND: &str = "power_command";

/// A comment with one of these words may hold a secret in any form.
const WORDS_OF_SECRETS: [&str; 8] =
    ["passw", "pwd", "secret", "token", "credential", "private_key", "sst_auth", POWER_COMMAND];

/// `text` without the passwords of URLs, the values of passwords, the arguments of power commands,
/// and comments that speak of secrets.
pub fn redact_plan(text: &str) -> String {
    let Ok(document) = DeTable::parse(text) else {
        // No plan, of which nobody knows where a secret ends.
        let is_harmless = !speaks_of_secrets(text) && redact(text) == text;
        return if is_harmless { text.to_owned() } else { HIDDEN.to_owned() };
    };
    let mut found = FoundSecrets::default();
    found.look_at_table(document.get_ref(), false);
    let comments = comments_of(text, &mut found.quoted);
    for block in blocks_of(text, &comments) {
        let words: Vec<&str> = block.iter().map(|comment| &text[comment.clone()]).collect();
        let words = words.join(" ");
        if speaks_of_secrets(&words) || redact(&redact_url(&words)) != words {
            let hidden = || format!("# {HIDDEN}");
            found.replaced.extend(block.iter().map(|comment| (comment.clone(), hidden())));
        }
    }
    replace(text, found.replaced)
}

fn replace(text: &str, mut replaced: Vec<(Range<usize>, String)>) -> String {
    replaced.sort_by_key(|(place, _)| place.start);
    let (mut result, mut end) = (String::with_capacity(text.len()), 0);
    for (place, by) in replaced.into_iter().filter(|(place, _)| !place.is_empty()) {
        result.push_str(&text[end..place.start]);
        result.push_str(&by);
        end = place.end;
    }
    result.push_str(&text[end..]);
    result
}

/// What a document has of interest here, by its places in the text.
#[derive(Default)]
struct FoundSecrets {
    /// Texts and keys, in which a # begins no comment.
    quoted: Vec<Range<usize>>,
    /// Secrets, with what stands for them.
    replaced: Vec<(Range<usize>, String)>,
}

impl FoundSecrets {
    fn look_at_table(&mut self, table: &DeTable<'_>, are_secret: bool) {
        for (key, value) in table {
            self.quoted.push(key.span());
            self.look_at(key.get_ref(), value, are_secret || is_secret(key.get_ref()));
        }
    }

    fn look_at(&mut self, key: &str, value: &Spanned<DeValue<'_>>, is_secret: bool) {
        let place = value.span();
        let kept = match value.get_ref() {
            DeValue::Table(table) => {
                return self.look_at_table(table, is_secret || key == POWER_COMMAND);
            }
            DeValue::Array(list) => {
                return list.iter().for_each(|item| self.look_at(key, item, is_secret));
            }
            DeValue::String(given) => {
                self.quoted.push(place.clone());
                let kept = match key {
                    _ if is_secret => HIDDEN.to_owned(),
                    POWER_COMMAND => program_of(given),
                    // All of it is one word, whose password may have spaces.
                    _ => redact(&redact_url(given)),
                };
                if kept == *given {
                    return;
                }
                kept
            }
            _ if is_secret || key == POWER_COMMAND => HIDDEN.to_owned(),
            _ => return,
        };
        self.replaced.push((place, toml::Value::String(kept).to_string()));
    }
}

/// Comments, each to the end of its line; what is `quoted` has none.
fn comments_of(text: &str, quoted: &mut [Range<usize>]) -> Vec<Range<usize>> {
    quoted.sort_by_key(|place| place.start);
    let (mut comments, mut at) = (Vec::new(), 0);
    let mut quoted = quoted.iter().peekable();
    while let Some(found) = text[at..].find('#') {
        let start = at + found;
        // The text that the # is in, if it is in one.
        while quoted.peek().is_some_and(|place| place.end <= start) {
            quoted.next();
        }
        if let Some(place) = quoted.peek().filter(|place| place.start <= start) {
            at = place.end;
            continue;
        }
        let end = text[start..].find(['\r', '\n']).map_or(text.len(), |length| start + length);
        comments.push(start..end);
        at = end;
    }
    comments
}

/// Comments that nothing stands between: what is left out of a plan may take several lines.
fn blocks_of<'a>(text: &str, comments: &'a [Range<usize>]) -> Vec<&'a [Range<usize>]> {
    let together = |one: &Range<usize>, next: &Range<usize>| {
        text[one.end..next.start].chars().all(char::is_whitespace)
    };
    comments.chunk_by(together).collect()
}

fn speaks_of_secrets(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    WORDS_OF_SECRETS.iter().any(|word| text.contains(word))
}

#[cfg(test)]
mod tests;
