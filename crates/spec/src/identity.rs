//! What tells one measurement from another, as text: JSON without what is off or not asked for.

use serde::{Serialize, Serializer};
use serde_json::Value;
use std::fmt::Display;

/// The same text for the same values.
pub(crate) fn canonical_text(of: &impl Serialize) -> String {
    let value = serde_json::to_value(of)
        .expect("cells are made of texts, numbers, lists and tables with text keys");
    without_what_is_off(value).to_string()
}

fn without_what_is_off(value: Value) -> Value {
    let is_on = |value: &Value| {
        let is_empty = |length: usize| length == 0;
        !(value.is_null()
            || value == &Value::Bool(false)
            || value.as_array().map(Vec::len).is_some_and(is_empty)
            || value.as_object().map(serde_json::Map::len).is_some_and(is_empty))
    };
    match value {
        Value::Object(entries) => {
            let kept = entries.into_iter().map(|(name, value)| (name, without_what_is_off(value)));
            Value::Object(kept.filter(|(_, value)| is_on(value)).collect())
        }
        other => other,
    }
}

/// Serialises what it is called.
pub(crate) fn as_text<S: Serializer>(value: &impl Display, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(value)
}

/// The same of what may be absent.
pub(crate) fn as_text_or_none<S: Serializer>(
    value: &Option<impl Display>,
    to: S,
) -> Result<S::Ok, S::Error> {
    value.as_ref().map(ToString::to_string).serialize(to)
}
