//! The tables of a results file and what refers to what, read from the file itself: a table that is
//! added to the format is merged without a word here.

use rusqlite::types::Value;
use rusqlite::{Connection, Result, params_from_iter};

/// A table.
pub(super) struct SchemaTable {
    pub(super) name: String,
    pub(super) columns: Vec<String>,
    /// The column that is its key by itself, where there is one.
    key: Option<usize>,
    pub(super) parents: Vec<Parent>,
    /// Does a row of another table refer to its key?
    pub(super) is_parent: bool,
}

/// A column that names a row of another table by its key.
pub(super) struct Parent {
    pub(super) column: usize,
    pub(super) table: String,
}

/// A row of a table, on its way from one file to another.
pub(super) struct TableRow<'a> {
    pub(super) table: &'a SchemaTable,
    pub(super) values: Vec<Value>,
}

/// All tables, those that others refer to first.
pub(super) fn tables(connection: &Connection) -> Result<Vec<SchemaTable>> {
    let sql = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' \
               ORDER BY name";
    let names: Vec<String> =
        connection.prepare(sql)?.query_map([], |row| row.get(0))?.collect::<Result<_>>()?;
    let mut left: Vec<SchemaTable> =
        names.into_iter().map(|name| SchemaTable::read(connection, name)).collect::<Result<_>>()?;
    let parents: Vec<String> =
        left.iter().flat_map(|table| &table.parents).map(|parent| parent.table.clone()).collect();
    let mut ordered: Vec<SchemaTable> = Vec::new();
    while !left.is_empty() {
        let is_there = |parent: &Parent| ordered.iter().any(|table| table.name == parent.table);
        let next = left.iter().position(|table| table.parents.iter().all(is_there));
        // The format has no circles; in one, any order is as good as another.
        let mut table = left.remove(next.unwrap_or(0));
        table.is_parent = parents.contains(&table.name);
        ordered.push(table);
    }
    Ok(ordered)
}

impl SchemaTable {
    fn read(connection: &Connection, name: String) -> Result<SchemaTable> {
        let sql = "SELECT name, pk FROM pragma_table_info(?1) ORDER BY cid";
        let columns: Vec<(String, u32)> = connection
            .prepare_cached(sql)?
            .query_map([&name], |row| Ok((row.get(0)?, row.get(1)?)))?
            .collect::<Result<_>>()?;
        let is_key = |(_, place): &&(String, u32)| *place > 0;
        let is_alone = columns.iter().filter(is_key).count() == 1;
        let key = columns.iter().position(|column| is_alone && is_key(&column));
        let columns: Vec<String> = columns.into_iter().map(|(column, _)| column).collect();
        let sql = "SELECT \"from\", \"table\" FROM pragma_foreign_key_list(?1) ORDER BY id";
        let references: Vec<(String, String)> = connection
            .prepare_cached(sql)?
            .query_map([&name], |row| Ok((row.get(0)?, row.get(1)?)))?
            .collect::<Result<_>>()?;
        let parent = |(from, table): (String, String)| {
            let column = columns.iter().position(|column| *column == from)?;
            Some(Parent { column, table })
        };
        let parents = references.into_iter().filter_map(parent).collect();
        Ok(SchemaTable { name, columns, key, parents, is_parent: false })
    }

    fn place_of(&self, column: &str) -> Option<usize> {
        self.columns.iter().position(|name| name == column)
    }

    /// The key that SQLite gives to a new row: a column that names no row of another table.
    fn own_key(&self) -> Option<usize> {
        self.key.filter(|key| self.parents.iter().all(|parent| parent.column != *key))
    }

    /// Hands on its rows in the order of their keys: those where `column` is this, or all.
    pub(super) fn each_row(
        &self,
        connection: &Connection,
        of: Option<(&str, i64)>,
        mut visit: impl FnMut(TableRow<'_>) -> Result<()>,
    ) -> Result<()> {
        let wanted = of.map_or_else(String::new, |(column, id)| format!(" WHERE {column} = {id}"));
        let order = self.key.map_or_else(String::new, |key| {
            let column = &self.columns[key];
            format!(" ORDER BY {column}")
        });
        let sql = format!("SELECT {} FROM {}{wanted}{order}", self.columns.join(", "), self.name);
        let mut statement = connection.prepare_cached(&sql)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let values = (0..self.columns.len()).map(|column| row.get(column));
            visit(TableRow { table: self, values: values.collect::<Result<_>>()? })?;
        }
        Ok(())
    }
}

impl TableRow<'_> {
    /// Its key in the file that it is from.
    pub(super) fn key(&self) -> Option<i64> {
        self.table.key.and_then(|column| self.integer(column))
    }

    pub(super) fn integer(&self, column: usize) -> Option<i64> {
        match self.values[column] {
            Value::Integer(value) => Some(value),
            _ => None,
        }
    }

    pub(super) fn set(&mut self, column: &str, value: i64) {
        if let Some(place) = self.table.place_of(column) {
            self.values[place] = Value::Integer(value);
        }
    }

    /// Its columns without a key that SQLite gives it.
    fn own(&self) -> (Vec<&str>, Vec<&Value>) {
        let key = self.table.own_key();
        let columns = self.table.columns.iter().map(String::as_str).zip(&self.values).enumerate();
        columns.filter(|(place, _)| Some(*place) != key).map(|(_, column)| column).unzip()
    }

    /// Adds it, and returns its key there.
    pub(super) fn insert(&self, into: &Connection) -> Result<i64> {
        let (columns, values) = self.own();
        let sql = format!(
            "INSERT INTO {} ({}) VALUES ({})",
            self.table.name,
            columns.join(", "),
            vec!["?"; columns.len()].join(", ")
        );
        into.prepare_cached(&sql)?.execute(params_from_iter(values))?;
        Ok(match self.table.own_key() {
            Some(_) => into.last_insert_rowid(),
            None => self.key().unwrap_or(0),
        })
    }

    /// Writes its columns over those of the row with this key.
    pub(super) fn overwrite(&self, into: &Connection, key: i64) -> Result<()> {
        let (columns, values) = self.own();
        let set: Vec<String> = columns.iter().map(|column| format!("{column} = ?")).collect();
        let sql = format!("UPDATE {} SET {} WHERE id = {key}", self.table.name, set.join(", "));
        into.execute(&sql, params_from_iter(values)).map(drop)
    }

    /// Is there a row that differs in its key at most?
    pub(super) fn is_in(&self, connection: &Connection) -> Result<bool> {
        let (columns, values) = self.own();
        let same: Vec<String> = columns.iter().map(|column| format!("{column} IS ?")).collect();
        let sql = format!("SELECT 1 FROM {} WHERE {}", self.table.name, same.join(" AND "));
        connection.prepare_cached(&sql)?.exists(params_from_iter(values))
    }
}
