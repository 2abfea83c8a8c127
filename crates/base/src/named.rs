//! Enums whose variants have names: on the command line, in plans and in results.

/// Defines an enum whose variants have a name each, by which they are written and read; and a
/// title, where people call them otherwise: `Cpu = "cpu" => "CPU bound"`.
#[macro_export]
macro_rules! named {
    (
        $(#[$meta:meta])*
        $vis:vis enum $type:ident {
            $($(#[$doc:meta])* $variant:ident = $name:literal $(=> $title:literal)?,)+
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $vis enum $type { $($(#[$doc])* $variant,)+ }

        impl $type {
            /// All of them, in the order in which they are told.
            pub const ALL: [$type; [$($name),+].len()] = [$($type::$variant),+];

            /// The name on the command line, in plans and in results.
            pub const fn name(self) -> &'static str {
                match self {
                    $($type::$variant => $name,)+
                }
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }

        $crate::named!(@titles $type $($variant $(=> $title)?),+);
    };
    (@titles $type:ident $($variant:ident),+) => {};
    (@titles $type:ident $($variant:ident => $title:literal),+) => {
        impl $type {
            /// The name for people.
            pub const fn title(self) -> &'static str {
                match self {
                    $($type::$variant => $title,)+
                }
            }
        }
    };
}
