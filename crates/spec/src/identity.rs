//! What tells one measurement from another, as text: JSON without what is off or not asked for, or
//! only what is not by default.

use humantime::format_duration;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;
use std::fmt::Display;
use std::time::Duration;

/// The same text for the same values.
pub(crate) fn canonical_text(of: &impl Serialize) -> String {
    without_what_is_off(json(of)).to_string()
}

fn json(of: &impl Serialize) -> Value {
    serde_json::to_value(of)
        .expect("cells are made of texts, numbers, lists and tables with text keys")
}

/// The fields, with those of fields that are tables, that another value does not have so.
pub(crate) fn differing<T: Serialize>(
    of: &T,
    other: &T,
    is_told: &dyn Fn(&str) -> bool,
) -> Vec<(String, String)> {
    let (of, other) = (json(of), json(other));
    let fields = of.as_object().into_iter().flatten();
    let differ = fields.filter(|(name, value)| other[*name] != **value && !is_told(name));
    let told = differ.flat_map(|(name, value)| match (value, Duration::deserialize(value)) {
        (Value::Object(_), Ok(time)) => vec![(name.clone(), format_duration(time).to_string())],
        (Value::Object(_), Err(_)) => differing(value, &other[name], is_told),
        (Value::String(text), _) => vec![(name.clone(), text.clone())],
        _ => vec![(name.clone(), value.to_string())],
    });
    told.collect()
}

fn without_what_is_off(value: Value) -> Value {
    let is_on = |value: &Value| match value {
        Value::Null | Value::Bool(false) => false,
        Value::Array(list) => !list.is_empty(),
        Value::Object(entries) => !entries.is_empty(),
        _ => true,
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
