//! Rows of tables. A row type lists its columns once, as the fields of [`row!`]; what an INSERT
//! names and binds, and how a row of a SELECT is read, follow from that list.

use crate::redact::hidden_where_secret;
use crate::{redact, redact_plan};
use rusqlite::types::{FromSql, ToSqlOutput, Type, Value};
use rusqlite::{Connection, Error, Result, Row, ToSql, params_from_iter};
use std::borrow::Cow;

/// Defines structs whose fields are columns; or, after `impl`, lists those of a struct from
/// elsewhere.
///
/// A field is the column of its name, or of the name after `=`. It is stored as its type is, or as
/// the [`StoredAs`] after `as` says. Rows that belong to another row say `in` which table they are
/// and `by` what they are ordered.
macro_rules! row {
    (@kind) => { $crate::row::Plain };
    (@kind $kind:ident) => { $kind };
    (@column $prefix:ident $field:ident) => { $crate::row::prefixed($prefix, stringify!($field)) };
    (@column $prefix:ident $field:ident $column:literal) => {
        $crate::row::prefixed($prefix, $column)
    };
    ($($(#[$meta:meta])* pub struct $row:ident $(in $table:literal by $order:literal)? { $(
        $(#[doc = $doc:literal])*
        $(#[serde($($serde:tt)*)])?
        pub $field:ident: $type:ty $(as $kind:ident)? $(= $column:literal)?
    ),+ $(,)? })+) => { $(
        $(#[$meta])*
        pub struct $row {
            $($(#[doc = $doc])* $(#[serde($($serde)*)])? pub $field: $type),+
        }

        #[cfg(test)]
        impl $crate::document::tests::Keys for $row {
            fn keys(into: &mut Vec<$crate::document::tests::Key>) {
                $($crate::document::key!(
                    into, $field, $type, concat!($($doc, "\n"),*) $(, $($serde)*)?
                );)+
            }
        }

        $crate::row::row!(impl $row {
            $($(#[doc = $doc])* $field: $type $(as $kind)? $(= $column)?),+
        });

        $(impl $crate::row::TableRow for $row {
            const TABLE: &'static str = $table;
            const ORDER: &'static str = $order;
        })?
    )+ };
    (impl $row:ident { $(
        $(#[doc = $doc:literal])*
        $field:ident: $type:ty $(as $kind:ident)? $(= $column:literal)?
    ),+ $(,)? }) => {
        impl $crate::row::Stored for $row {
            fn put<'a>(
                &'a self,
                prefix: &str,
                into: &mut $crate::row::Columns<'a>,
            ) -> rusqlite::Result<()> {
                $(<$crate::row::row!(@kind $($kind)?) as $crate::row::StoredAs<$type>>::put(
                    $crate::row::row!(@column prefix $field $($column)?), &self.$field, into,
                )?;)+
                Ok(())
            }

            fn get(row: &rusqlite::Row<'_>, prefix: &str) -> rusqlite::Result<$row> {
                Ok($row { $(
                    $field: {
                        let column = $crate::row::row!(@column prefix $field $($column)?);
                        <$crate::row::row!(@kind $($kind)?) as $crate::row::StoredAs<$type>>::get(
                            row, &column,
                        )?
                    }
                ),+ })
            }

            #[cfg(test)]
            fn describe(prefix: &str, into: &mut Vec<(String, String)>) {
                $(
                    let column = $crate::row::row!(@column prefix $field $($column)?);
                    let meaning = concat!($($doc, "\n"),*);
                    <$crate::row::row!(@kind $($kind)?) as $crate::row::StoredAs<$type>>::describe(
                        &column, meaning, into,
                    );
                )+
            }
        }
    };
}

pub(crate) use row;

/// What is stored in columns of a table; `prefix` begins the name of each.
pub trait Stored: Sized {
    fn put<'a>(&'a self, prefix: &str, into: &mut Columns<'a>) -> Result<()>;
    fn get(row: &Row<'_>, prefix: &str) -> Result<Self>;

    /// Adds each column with its doc comment.
    #[cfg(test)]
    fn describe(prefix: &str, into: &mut Vec<(String, String)>);
}

/// Rows of a table that belong to a row of another: to a repeat, a cell, a lab or a load.
pub trait TableRow: Stored {
    const TABLE: &'static str;
    /// What they are read by; where that is `ordinal`, they are numbered as they are stored.
    const ORDER: &'static str;
}

/// A row that others belong to.
pub trait Owner {
    /// The column that names it, and its key.
    fn key(&self) -> (&'static str, i64);
}

/// The name of a column.
pub(crate) type ColumnName = Cow<'static, str>;

/// How a field of type `T` is stored.
pub(crate) trait StoredAs<T> {
    fn put<'a>(column: ColumnName, value: &'a T, into: &mut Columns<'a>) -> Result<()>;
    fn get(row: &Row<'_>, column: &str) -> Result<T>;

    /// Adds the columns with the field's doc comment, of which the first paragraph is for readers
    /// of the file.
    #[cfg(test)]
    fn describe(column: &str, meaning: &str, into: &mut Vec<(String, String)>) {
        let paragraph = meaning.lines().map(str::trim).take_while(|line| !line.is_empty());
        let paragraph = paragraph.collect::<Vec<_>>().join(" ");
        into.push((column.to_owned(), paragraph.replace("`None`", "NULL")));
    }
}

/// Columns, each with its value.
#[derive(Default)]
pub struct Columns<'a>(Vec<(ColumnName, ToSqlOutput<'a>)>);

/// Key columns that come from the owner of a row, not from the row.
pub(crate) type Keys<'a> = &'a [(&'static str, &'a dyn ToSql)];

impl<'a> Columns<'a> {
    fn of(keys: Keys<'a>, row: &'a impl Stored) -> Result<Columns<'a>> {
        let mut columns = Columns::default();
        for (column, value) in keys {
            columns.add(Cow::Borrowed(*column), value.to_sql()?);
        }
        row.put("", &mut columns)?;
        Ok(columns)
    }

    pub(crate) fn add(&mut self, column: ColumnName, value: ToSqlOutput<'a>) {
        self.0.push((column, value));
    }

    pub(crate) fn own(&mut self, column: ColumnName, value: impl Into<Value>) {
        self.add(column, ToSqlOutput::Owned(value.into()));
    }

    /// Their names, each made into text, with commas between.
    pub(crate) fn names(&self, text: impl Fn(&str) -> String) -> String {
        let names: Vec<String> = self.0.iter().map(|(column, _)| text(column)).collect();
        names.join(", ")
    }

    fn values(&self) -> impl Iterator<Item = &ToSqlOutput<'a>> {
        self.0.iter().map(|(_, value)| value)
    }
}

/// Inserts a row; `into` begins the statement: `INSERT INTO failure`. Returns the row's number.
pub(crate) fn insert(
    connection: &Connection,
    into: &str,
    keys: Keys<'_>,
    row: &impl Stored,
) -> Result<i64> {
    let columns = Columns::of(keys, row)?;
    let names = columns.names(str::to_owned);
    let values = columns.names(|_| "?".to_owned());
    connection
        .prepare_cached(&format!("{into} ({names}) VALUES ({values})"))?
        .execute(params_from_iter(columns.values()))?;
    Ok(connection.last_insert_rowid())
}

/// Stores rows that belong to what `keys` name; rows of the same keys are replaced.
pub(crate) fn put<T: TableRow>(connection: &Connection, keys: Keys<'_>, rows: &[T]) -> Result<()> {
    let into = format!("INSERT OR REPLACE INTO {}", T::TABLE);
    for (ordinal, row) in (1_u32..).zip(rows) {
        let mut keys = keys.to_vec();
        if T::ORDER == "ordinal" {
            keys.push(("ordinal", &ordinal));
        }
        insert(connection, &into, &keys, row)?;
    }
    Ok(())
}

/// Stores values by name, without passwords; values of the same keys and names are replaced.
pub(crate) fn put_named(
    connection: &Connection,
    table: &str,
    keys: Keys<'_>,
    values: &[(String, String)],
) -> Result<()> {
    let into = format!("INSERT OR REPLACE INTO {table}");
    for (name, value) in values {
        // Such as what a replica tells its source, in plain text.
        let value = redact(hidden_where_secret(name, value));
        let mut keys = keys.to_vec();
        keys.extend([("name", name as &dyn ToSql), ("value", &value)]);
        insert(connection, &into, &keys, &())?;
    }
    Ok(())
}

/// The rows that belong to what `keys` name, in their order.
pub(crate) fn get<T: TableRow>(connection: &Connection, keys: Keys<'_>) -> Result<Vec<T>> {
    let wanted: Vec<String> = keys.iter().map(|(column, _)| format!("{column} = ?")).collect();
    let (table, wanted, order) = (T::TABLE, wanted.join(" AND "), T::ORDER);
    let sql = format!("SELECT * FROM {table} WHERE {wanted} ORDER BY {order}");
    let mut statement = connection.prepare_cached(&sql)?;
    let values = params_from_iter(keys.iter().map(|(_, value)| value));
    statement.query_map(values, |row| T::get(row, ""))?.collect()
}

/// Writes columns of the rows for which `condition` holds; returns how many those are.
pub(crate) fn update(
    connection: &Connection,
    table: &str,
    condition: &str,
    keys: Keys<'_>,
    row: &impl Stored,
) -> Result<usize> {
    let columns = Columns::of(keys, row)?;
    let set = columns.names(|column| format!("{column} = ?"));
    connection.execute(
        &format!("UPDATE {table} SET {set} WHERE {condition}"),
        params_from_iter(columns.values()),
    )
}

/// The name of a column, which begins with `prefix`.
pub(crate) fn prefixed(prefix: &str, column: &'static str) -> ColumnName {
    if prefix.is_empty() { Cow::Borrowed(column) } else { Cow::Owned(format!("{prefix}{column}")) }
}

/// No column: all of them are keys.
impl Stored for () {
    fn put<'a>(&'a self, _: &str, _: &mut Columns<'a>) -> Result<()> {
        Ok(())
    }

    fn get(_: &Row<'_>, _: &str) -> Result<()> {
        Ok(())
    }

    #[cfg(test)]
    fn describe(_: &str, _: &mut Vec<(String, String)>) {}
}

/// As SQLite has it.
pub(crate) struct Plain;

impl<T: ToSql + FromSql> StoredAs<T> for Plain {
    fn put<'a>(column: ColumnName, value: &'a T, into: &mut Columns<'a>) -> Result<()> {
        into.add(column, value.to_sql()?);
        Ok(())
    }

    fn get(row: &Row<'_>, column: &str) -> Result<T> {
        row.get(column)
    }
}

/// Text, where there is any.
pub(crate) trait MaybeText: FromSql {
    fn text(&self) -> Option<&str>;
}

impl MaybeText for String {
    fn text(&self) -> Option<&str> {
        Some(self)
    }
}

impl MaybeText for Option<String> {
    fn text(&self) -> Option<&str> {
        self.as_deref()
    }
}

/// Text whose passwords are taken out.
pub(crate) type Redacted = WithoutSecrets<false>;
/// A plan whose passwords are taken out.
pub(crate) type RedactedPlan = WithoutSecrets<true>;

/// Text without secrets, which may be a plan.
pub(crate) struct WithoutSecrets<const IS_PLAN: bool>;

impl<T: MaybeText, const IS_PLAN: bool> StoredAs<T> for WithoutSecrets<IS_PLAN> {
    fn put<'a>(column: ColumnName, value: &'a T, into: &mut Columns<'a>) -> Result<()> {
        into.own(column, value.text().map(if IS_PLAN { redact_plan } else { redact }));
        Ok(())
    }

    fn get(row: &Row<'_>, column: &str) -> Result<T> {
        row.get(column)
    }
}

/// All 64 bits of a number: negative in the file from 2^63.
pub(crate) struct Bits;

impl StoredAs<u64> for Bits {
    fn put<'a>(column: ColumnName, value: &'a u64, into: &mut Columns<'a>) -> Result<()> {
        into.own(column, value.cast_signed());
        Ok(())
    }

    fn get(row: &Row<'_>, column: &str) -> Result<u64> {
        row.get(column).map(i64::cast_unsigned)
    }
}

impl StoredAs<Option<u64>> for Bits {
    fn put<'a>(column: ColumnName, value: &'a Option<u64>, into: &mut Columns<'a>) -> Result<()> {
        into.own(column, value.map(u64::cast_signed));
        Ok(())
    }

    fn get(row: &Row<'_>, column: &str) -> Result<Option<u64>> {
        let bits: Option<i64> = row.get(column)?;
        Ok(bits.map(i64::cast_unsigned))
    }
}

/// A row of its own, whose columns begin with the field's name unless that is empty. An `Option` is
/// `None` where a column is NULL that never is.
pub(crate) struct Nested;

impl<T: Stored> StoredAs<T> for Nested {
    fn put<'a>(column: ColumnName, value: &'a T, into: &mut Columns<'a>) -> Result<()> {
        value.put(&beginning(&column), into)
    }

    fn get(row: &Row<'_>, column: &str) -> Result<T> {
        T::get(row, &beginning(column))
    }

    /// The columns have doc comments of their own; that of the field is the first one's where it
    /// has none.
    #[cfg(test)]
    fn describe(column: &str, meaning: &str, into: &mut Vec<(String, String)>) {
        let first = into.len();
        T::describe(&beginning(column), into);
        if into[first].1.is_empty() {
            let (column, _) = into.remove(first);
            let last = into.split_off(first);
            <Plain as StoredAs<String>>::describe(&column, meaning, into);
            into.extend(last);
        }
    }
}

impl<T: Stored> StoredAs<Option<T>> for Nested {
    fn put<'a>(column: ColumnName, value: &'a Option<T>, into: &mut Columns<'a>) -> Result<()> {
        value.as_ref().map_or(Ok(()), |value| Nested::put(column, value, into))
    }

    fn get(row: &Row<'_>, column: &str) -> Result<Option<T>> {
        match Nested::get(row, column) {
            Ok(value) => Ok(Some(value)),
            Err(Error::InvalidColumnType(_, _, Type::Null)) => Ok(None),
            Err(cause) => Err(cause),
        }
    }

    #[cfg(test)]
    fn describe(column: &str, meaning: &str, into: &mut Vec<(String, String)>) {
        <Nested as StoredAs<T>>::describe(column, meaning, into);
    }
}

fn beginning(column: &str) -> String {
    if column.is_empty() { String::new() } else { format!("{column}_") }
}

/// Texts, as a JSON array.
pub(crate) struct Json;

impl StoredAs<Vec<String>> for Json {
    fn put<'a>(column: ColumnName, value: &'a Vec<String>, into: &mut Columns<'a>) -> Result<()> {
        into.own(column, serde_json::Value::from(value.as_slice()).to_string());
        Ok(())
    }

    fn get(row: &Row<'_>, column: &str) -> Result<Vec<String>> {
        let text: String = row.get(column)?;
        serde_json::from_str(&text).map_err(|cause| {
            let index = row.as_ref().column_index(column).unwrap_or(0);
            Error::FromSqlConversionFailure(index, Type::Text, cause.into())
        })
    }
}

/// What is stored in other tables.
pub(crate) struct Skipped;

impl<T: Default> StoredAs<T> for Skipped {
    fn put<'a>(_: ColumnName, _: &'a T, _: &mut Columns<'a>) -> Result<()> {
        Ok(())
    }

    fn get(_: &Row<'_>, _: &str) -> Result<T> {
        Ok(T::default())
    }

    #[cfg(test)]
    fn describe(_: &str, _: &str, _: &mut Vec<(String, String)>) {}
}

#[cfg(test)]
mod tests;
