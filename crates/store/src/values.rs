//! Values of columns that have a type of their own: keys of tables, and words.

use crate::row::Owner;

/// Values by name, as text.
pub type NamedTexts = Vec<(String, String)>;

macro_rules! id {
    ($($(#[$doc:meta])* $name:ident in $column:literal;)+) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[derive(serde::Serialize)]
        pub struct $name(pub i64);

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(f)
            }
        }

        impl rusqlite::ToSql for $name {
            fn to_sql(&self) -> rusqlite::Result<rusqlite::types::ToSqlOutput<'_>> {
                self.0.to_sql()
            }
        }

        impl rusqlite::types::FromSql for $name {
            fn column_result(
                value: rusqlite::types::ValueRef<'_>,
            ) -> rusqlite::types::FromSqlResult<$name> {
                i64::column_result(value).map($name)
            }
        }

        impl Owner for $name {
            fn key(&self) -> (&'static str, i64) {
                ($column, self.0)
            }
        }
    )+ };
}

macro_rules! word {
    ($(#[$doc:meta])* $name:ident {
        $($(#[$variant_doc:meta])* $variant:ident = $text:literal),+ $(,)?
    }) => {
        base::named! {
            $(#[$doc])*
            #[derive(PartialOrd, Ord, Hash)]
            pub enum $name { $($(#[$variant_doc])* $variant = $text,)+ }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.name())
            }
        }

        impl rusqlite::ToSql for $name {
            fn to_sql(&self) -> rusqlite::Result<rusqlite::types::ToSqlOutput<'_>> {
                Ok(self.name().into())
            }
        }

        impl rusqlite::types::FromSql for $name {
            /// A word that this program does not know is only possible where somebody wrote to the
            /// file by hand.
            fn column_result(
                value: rusqlite::types::ValueRef<'_>,
            ) -> rusqlite::types::FromSqlResult<$name> {
                let text = value.as_str()?;
                let found = $name::ALL.into_iter().find(|of| of.name() == text);
                found.ok_or_else(|| {
                    let known = $name::ALL.map($name::name).join(", ");
                    let cause = format!("`{text}` is none of {known}");
                    rusqlite::types::FromSqlError::Other(cause.into())
                })
            }
        }
    };
}

pub(crate) use word;

id! {
    /// One execution of a plan, or of one command that measures.
    LabId in "lab_id";
    /// One combination of the matrix.
    CellId in "cell_id";
    /// One measurement of a cell.
    RepeatId in "repeat_id";
    /// One population of a database.
    LoadId in "load_id";
    /// One rise of connections.
    RampId in "ramp_id";
}
