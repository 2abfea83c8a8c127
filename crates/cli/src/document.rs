//! JSON documents of commands: each key is listed once, with its type and where its value comes
//! from.

/// Defines a struct that is an object in JSON, and `of`, which makes it from the arguments after
/// `from`.
macro_rules! document {
    (
        $(#[$meta:meta])*
        struct $name:ident $(<$life:lifetime>)? from ($($argument:ident: $given:ty),+);
        $(let $local:pat = $known:expr;)*
        { $($(#[$doc:meta])* $key:ident: $type:ty = $value:expr),+ $(,)? }
    ) => {
        $(#[$meta])*
        #[derive(serde::Serialize)]
        struct $name $(<$life>)? {
            $($(#[$doc])* $key: $type),+
        }

        impl $(<$life>)? $name $(<$life>)? {
            fn of($($argument: $given),+) -> Self {
                $(let $local = $known;)*
                $name { $($key: $value),+ }
            }
        }
    };
}

pub(crate) use document;
