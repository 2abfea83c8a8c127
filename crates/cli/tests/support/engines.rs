//! The engines, and a macro that makes a test of a property for each of them.

/// What goes by the list of engines.
macro_rules! list {
    ($($engine:ident = $name:literal),+ $(,)?) => {
        pub const ENGINES: [&str; [$($name),+].len()] = [$($name),+];

        /// The name that an engine has in the catalogue, by the one that it has in Rust.
        macro_rules! engine {
            $(($engine) => { $name };)+
        }

        /// Hands each engine to a macro, with what stands behind that.
        macro_rules! each_engine {
            ($to:ident $of:tt) => { $($to!($engine $of);)+ };
        }
    };
}

// A new one is the last: some tests take the first ones.
list! {
    mysql_5_7 = "mysql-5.7",
    mysql_8_0 = "mysql-8.0",
    mariadb_10_11 = "mariadb-10.11",
    xtradb_5_6 = "xtradb-5.6",
    mysql_9_7 = "mysql-9.7",
    mariadb_11_8 = "mariadb-11.8",
    mariadb_11_4 = "mariadb-11.4",
}

/// One test for each engine, which calls a property with the engine's name: `make test` has those
/// of `test`, `make soak` those of `soak`. They are in a module with the property's name, such as
/// `starts::mysql_5_7`.
///
///     engines! {
///         starts;
///         test: mysql_5_7, mariadb_10_11;
///         soak: xtradb_5_6;
///     }
///
/// `others: soak;` is all engines that are not named before it, also those to come. A second
/// argument of the property stands behind either: `mysql_5_7(Style::Batched)`.
macro_rules! engines {
    (
        $property:ident;
        $(test: $($test:ident $(($test_with:expr))?),+;)?
        $(soak: $($soak:ident $(($soak_with:expr))?),+;)?
        $(others: $others:ident $(($with:expr))?;)?
    ) => {
        mod $property {
            use super::*;

            $($(
                #[test]
                fn $test() {
                    $property(engine!($test) $(, $test_with)?);
                }
            )+)?
            $($(
                #[test]
                #[ignore = "make soak"]
                fn $soak() {
                    $property(engine!($soak) $(, $soak_with)?);
                }
            )+)?
            macro_rules! other {
                $($(($test $of:tt) => {};)+)?
                $($(($soak $of:tt) => {};)+)?
                ($engine:ident ()) => {};
                ($engine:ident (soak)) => {
                    #[test]
                    #[ignore = "make soak"]
                    fn $engine() {
                        $property(engine!($engine) $($(, $with)?)?);
                    }
                };
            }
            each_engine!(other ($($others)?));
        }
    };
}
