//! The one JSON document of a command with `--json`: what it has found, and why it failed. It is
//! held until the command is over, since only then is it known how that ended.

use crate::console::print;
use crate::failure::{Failure, Outcome};
use base::{Exit, lock};
use serde::Serialize;
use std::sync::Mutex;

/// What is known of the document.
enum HeldDocument {
    /// Nothing; a failure has a document of its own.
    Nothing,
    /// An object, as it is printed.
    Text(String),
    /// Another process prints it.
    OfRankZero,
}

static HELD: Mutex<HeldDocument> = Mutex::new(HeldDocument::Nothing);

/// Why the command ended with another code than 0. `docs/json.md` describes its keys.
#[derive(Serialize)]
struct EndDocument<'a> {
    exit_code: u8,
    reason: &'a str,
    message: String,
}

/// Is a document asked for? Known before the command line is, which may be wrong.
pub fn is_asked_for() -> bool {
    let mut arguments = std::env::args_os().take_while(|argument| argument != "--");
    arguments.any(|argument| argument == "--json")
}

/// Keeps what a command has found until it is over.
pub fn hold(object: String) {
    *lock(&HELD) = HeldDocument::Text(object);
}

/// Of the ranks of a fleet, rank 0 alone has a document.
pub fn leave_to_rank_zero() {
    *lock(&HELD) = HeldDocument::OfRankZero;
}

/// Prints the document: what was found, and how the command ended, where that was not well.
///
/// # Errors
/// Where stdout takes nothing.
pub fn finish(exit: Exit, failure: Option<&Failure>) -> Outcome {
    let mut held = lock(&HELD);
    let found = match std::mem::replace(&mut *held, HeldDocument::OfRankZero) {
        HeldDocument::Text(object) if exit == Exit::Ok => return print(object),
        HeldDocument::Text(object) => object,
        HeldDocument::Nothing if exit != Exit::Ok => "{}".to_owned(),
        HeldDocument::Nothing | HeldDocument::OfRankZero => return Ok(Exit::Ok),
    };
    let error = EndDocument {
        exit_code: exit.code(),
        reason: failure.and_then(|of| of.reason.as_deref()).unwrap_or(exit.word()),
        message: failure.map_or_else(|| exit.meaning().to_owned(), Failure::message),
    };
    let error = serde_json::to_string_pretty(&error)?.replace('\n', "\n  ");
    print(with_key(&found, "error", &error))
}

/// An object, as it is printed for people, with one key more at its end.
fn with_key(object: &str, key: &str, value: &str) -> String {
    let rest = object.trim_end().strip_suffix('}').unwrap_or(object).trim_end();
    let comma = if rest == "{" { "" } else { "," };
    format!("{rest}{comma}\n  \"{key}\": {value}\n}}\n")
}

#[cfg(test)]
mod tests {
    use super::with_key;
    use serde_json::Value;

    #[test]
    fn an_object_gets_a_key() {
        assert_eq!(with_key("{}", "error", "1"), "{\n  \"error\": 1\n}\n");
        let object = "{\n  \"list\": [\n    {}\n  ]\n}\n";
        let with: Value = serde_json::from_str(&with_key(object, "error", "{}")).unwrap();
        assert_eq!(with, serde_json::json!({"list": [{}], "error": {}}));
    }
}
