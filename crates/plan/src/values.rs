//! The value of an option, which a plan and a command line write in the same words.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Error};
use serde::{Serialize, Serializer};
use serde_json::Value;
use std::borrow::Cow;
use std::str::FromStr;

/// Holds the schema of a value in that of its option.
pub(crate) const VALUE_SCHEMA: &str = "x-value";

/// What an option takes. It stands for a type only and has no values itself.
pub trait Kind {
    /// What is made of it.
    type Value: Clone + Send + Sync;

    /// What it takes, for people.
    fn takes() -> String;

    /// The JSON schema of what a plan may write.
    fn schema() -> Value;

    /// Reads a value.
    ///
    /// # Errors
    /// What is wrong with it; none where it is simply nothing that the option takes.
    fn read(text: &str) -> Result<Self::Value, Option<String>>;
}

/// A value of this kind.
pub struct Given<K: Kind>(pub K::Value);

impl<K: Kind> Clone for Given<K> {
    fn clone(&self) -> Given<K> {
        Given(self.0.clone())
    }
}

/// The value of an option that was given.
pub(crate) fn given<K: Kind>(option: &Option<Given<K>>) -> Option<K::Value> {
    option.as_ref().map(|of| of.0.clone())
}

impl<K: Kind> FromStr for Given<K> {
    type Err = String;

    fn from_str(text: &str) -> Result<Given<K>, String> {
        let takes = || format!("it takes {}", K::takes());
        K::read(text).map(Given).map_err(|why| why.unwrap_or_else(takes))
    }
}

impl<'de, K: Kind> Deserialize<'de> for Given<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Given<K>, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

/// That it was given.
impl<K: Kind> Serialize for Given<K> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_bool(true)
    }
}

impl<K: Kind> JsonSchema for Given<K> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        Cow::Borrowed("value")
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let mut schema = K::schema();
        schema["title"] = Value::from(K::takes());
        // What is optional gets no `null` where it is no schema yet.
        json_schema!({ VALUE_SCHEMA: schema })
    }
}
