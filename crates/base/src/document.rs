//! JSON documents: each key is listed once, with its type and where its value comes from.

/// Defines a struct that is an object in JSON, and `of`, which makes it from the arguments after
/// `from`. Who uses it has serde.
#[macro_export]
macro_rules! document {
    (
        $(#[$meta:meta])*
        $vis:vis struct $name:ident $(<$life:lifetime>)? from ($($argument:ident: $given:ty),+);
        $(let $local:pat = $known:expr;)*
        { $($(#[$doc:meta])* $key_vis:vis $key:ident: $type:ty = $value:expr),+ $(,)? }
    ) => {
        $(#[$meta])*
        #[derive(serde::Serialize)]
        $vis struct $name $(<$life>)? {
            $($(#[$doc])* $key_vis $key: $type),+
        }

        impl $(<$life>)? $name $(<$life>)? {
            pub fn of($($argument: $given),+) -> Self {
                $(let $local = $known;)*
                $name { $($key: $value),+ }
            }
        }
    };
}
