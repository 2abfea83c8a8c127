//! JSON documents: each key is listed once, with its type, what it means and where its value comes
//! from.

/// Defines a struct that is an object in JSON. The tables of `docs/json.md` are made from the doc
/// comments of its keys; a key without one belongs to the line of the key before it.
macro_rules! object {
    ($(#[$meta:meta])* pub struct $name:ident { $(
        $(#[doc = $doc:literal])* $(#[serde($serde:ident)])? pub $key:ident: $type:ty
    ),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize)]
        pub struct $name {
            $($(#[doc = $doc])* $(#[serde($serde)])? pub $key: $type),+
        }

        #[cfg(test)]
        impl $name {
            pub(crate) const KEYS: &'static [$crate::document::tests::Key] =
                &[$($crate::document::tests::Key {
                    key: stringify!($key),
                    meaning: concat!($($doc, "\n"),*),
                    is_skipped: !concat!("" $(, stringify!($serde))?).is_empty(),
                }),+];
        }
    };
}

/// Defines an object with `of`, which makes it from the arguments after `from`. Where that may
/// fail, `-> Result<..> as Ok` follows those.
macro_rules! document {
    (
        $(#[$meta:meta])*
        pub struct $name:ident from ($($argument:ident: $given:ty),+) -> $result:ty as $made:path;
        $(let $local:ident = $known:expr;)*
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
            pub(crate) fn of($($argument: $given),+) -> $result {
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
pub(crate) mod tests;
