//! JSON documents: each key is listed once, with its type, what it means and where its value comes
//! from.

use serde::{Serialize, Serializer};

/// Defines a struct that is an object in JSON. The tables of `docs/json.md` are made from the doc
/// comments of its keys; a key without one belongs to the line of the key before it.
macro_rules! object {
    ($(#[$meta:meta])* pub struct $name:ident { $(
        $(#[doc = $doc:literal])* $(#[serde($($serde:tt)*)])? pub $key:ident: $type:ty
    ),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize)]
        pub struct $name {
            $($(#[doc = $doc])* $(#[serde($($serde)*)])? pub $key: $type),+
        }

        #[cfg(test)]
        impl $crate::document::tests::Keys for $name {
            fn keys(into: &mut Vec<$crate::document::tests::Key>) {
                $($crate::document::key!(
                    into, $key, $type, concat!($($doc, "\n"),*) $(, $($serde)*)?
                );)+
            }
        }
    };
}

/// Adds what a field is in JSON.
#[cfg(test)]
macro_rules! key {
    ($into:ident, $key:ident, $type:ty, $meaning:expr) => {
        $into.push($crate::document::tests::Key { key: stringify!($key), meaning: $meaning })
    };
    ($into:ident, $key:ident, $type:ty, $meaning:expr, skip) => {};
    ($into:ident, $key:ident, $type:ty, $meaning:expr, flatten) => {
        <$type as $crate::document::tests::Keys>::keys($into)
    };
    ($into:ident, $key:ident, $type:ty, $meaning:expr, rename = $name:literal $($rest:tt)*) => {
        $into.push($crate::document::tests::Key { key: $name, meaning: $meaning })
    };
}

/// Defines an object with `of`, which makes it from the arguments after `from`. Where that may
/// fail, `-> Result<..> as Ok` follows those.
macro_rules! document {
    (
        $(#[$meta:meta])*
        pub struct $name:ident from ($($argument:ident: $given:ty),+) -> $result:ty as $made:path;
        $(let $local:pat = $known:expr;)*
        { $(
            $(#[doc = $doc:literal])* $(#[serde($serde:ident)])?
            pub $key:ident: $type:ty = $value:expr
        ),+ $(,)? }
    ) => {
        $crate::document::object! {
            $(#[$meta])*
            pub struct $name {
                $($(#[doc = $doc])* $(#[serde($serde)])? pub $key: $type),+
            }
        }

        impl $name {
            pub fn of($($argument: $given),+) -> $result {
                $(let $local = $known;)*
                $made($name { $($key: $value),+ })
            }
        }
    };
    ($(#[$meta:meta])* pub struct $name:ident from ($($arguments:tt)+); $($keys:tt)+) => {
        $crate::document::document! {
            $(#[$meta])*
            pub struct $name from ($($arguments)+) -> $name as std::convert::identity;
            $($keys)+
        }
    };
}

pub(crate) use {document, object};

#[cfg(test)]
pub(crate) use key;

/// Writes nanoseconds as seconds.
pub(crate) fn seconds<S: Serializer>(ns: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    (*ns as f64 / 1e9).serialize(serializer)
}

/// Writes nanoseconds as microseconds.
pub(crate) fn microseconds<S: Serializer>(ns: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    (*ns as f64 / 1e3).serialize(serializer)
}

/// Something for each type of transactions, in the workload's order: an object in JSON.
#[derive(Clone, Debug, PartialEq)]
pub struct ByTransaction<T>(pub Vec<(String, T)>);

impl<T> ByTransaction<T> {
    /// Each type's name with what there is for it.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &T)> {
        self.0.iter().map(|(name, of)| (name.as_str(), of))
    }

    /// What there is for the type of this name.
    pub fn get(&self, name: &str) -> Option<&T> {
        self.iter().find(|(of, _)| *of == name).map(|(_, of)| of)
    }
}

impl<T: Serialize> Serialize for ByTransaction<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

#[cfg(test)]
pub(crate) mod tests;
