//! JSON documents: each key is listed once, with its type and where its value comes from.

/// Defines a struct that is an object in JSON, and `of`, which makes it from the arguments after
/// `from`; with a `?` after those, `of` may fail.
macro_rules! document {
    (
        $(#[$meta:meta])*
        pub struct $name:ident from ($($argument:ident: $given:ty),+);
        $(let $local:ident = $known:expr;)*
        { $($(#[$key_meta:meta])* pub $key:ident: $type:ty = $value:expr),+ $(,)? }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize)]
        pub struct $name { $($(#[$key_meta])* pub $key: $type),+ }

        impl $name {
            pub(crate) fn of($($argument: $given),+) -> $name {
                $(let $local = $known;)*
                $name { $($key: $value),+ }
            }
        }
    };
    (
        $(#[$meta:meta])*
        pub struct $name:ident from ($($argument:ident: $given:ty),+)?;
        $(let $local:ident = $known:expr;)*
        { $($(#[$key_meta:meta])* pub $key:ident: $type:ty = $value:expr),+ $(,)? }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize)]
        pub struct $name { $($(#[$key_meta])* pub $key: $type),+ }

        impl $name {
            pub(crate) fn of($($argument: $given),+) -> Result<$name, $crate::StoreError> {
                $(let $local = $known;)*
                Ok($name { $($key: $value),+ })
            }
        }
    };
}

pub(crate) use document;
