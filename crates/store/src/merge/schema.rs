//! The tables of a results file and what refers to what, read from the file itself: a table that is
//! added to the format is merged without a word here.

use rusqlite::{Connection, Result};

/// A table.
pub(super) struct SchemaTable {
    pub(super) name: String,
    pub(super) columns: Vec<String>,
    /// The column that is its key by itself, where there is one.
    pub(super) key: Option<usize>,
    /// Columns that name a row of another table by its key, each with that table.
    pub(super) parents: Vec<(usize, String)>,
}

/// All tables, in the order of the schema, in which no table comes before one that it refers to.
pub(super) fn tables(connection: &Connection) -> Result<Vec<SchemaTable>> {
    let sql = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' \
               ORDER BY rowid";
    let names: Vec<String> =
        connection.prepare(sql)?.query_map([], |row| row.get(0))?.collect::<Result<_>>()?;
    names.into_iter().map(|name| SchemaTable::read(connection, name)).collect()
}

impl SchemaTable {
    fn read(connection: &Connection, name: String) -> Result<SchemaTable> {
        let sql = "SELECT c.name, c.pk, f.\"table\" FROM pragma_table_info(?1) AS c \
                   LEFT JOIN pragma_foreign_key_list(?1) AS f ON f.\"from\" = c.name \
                   ORDER BY c.cid";
        let columns: Vec<(String, bool, Option<String>)> = connection
            .prepare_cached(sql)?
            .query_map([&name], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
            .collect::<Result<_>>()?;
        let keys: Vec<usize> = (0..columns.len()).filter(|place| columns[*place].1).collect();
        let key = (keys.len() == 1).then(|| keys[0]);
        let parents = columns.iter().enumerate();
        let parents = parents.filter_map(|(place, (_, _, of))| Some((place, of.clone()?)));
        let parents = parents.collect();
        let columns = columns.into_iter().map(|(column, ..)| column).collect();
        Ok(SchemaTable { name, columns, key, parents })
    }

    /// The key that SQLite gives to a new row: a column that names no row of another table.
    pub(super) fn own_key(&self) -> Option<usize> {
        self.key.filter(|key| self.parents.iter().all(|(column, _)| column != key))
    }

    pub(super) fn is_child_of(&self, name: &str) -> bool {
        self.parents.iter().any(|(_, parent)| parent == name)
    }
}
