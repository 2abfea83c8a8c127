//! A table as data: each column is described once, and shown as text by the terminal and as HTML by
//! the report.

/// Rows with their columns, whose cells are of type `C`.
pub struct Table<R, C = String> {
    rows: Vec<R>,
    /// In their order from the left.
    pub columns: Vec<TableColumn<C>>,
}

/// A column.
pub struct TableColumn<C> {
    pub title: String,
    /// Empty where it has none.
    pub unit: String,
    pub is_number: bool,
    /// One for each row.
    pub cells: Vec<C>,
}

impl<R, C> Table<R, C> {
    /// A table of these rows, without columns.
    pub fn of(rows: impl IntoIterator<Item = R>) -> Table<R, C> {
        Table { rows: rows.into_iter().collect(), columns: Vec::new() }
    }

    /// Adds a column of words, which begin below each other.
    #[must_use]
    pub fn words<S: Into<C>>(self, title: &str, show: impl Fn(&R) -> S) -> Table<R, C> {
        self.column((title, "", false), show)
    }

    /// Adds a column of numbers, which end below each other.
    #[must_use]
    pub fn numbers<S: Into<C>>(self, title: &str, show: impl Fn(&R) -> S) -> Table<R, C> {
        self.column((title, "", true), show)
    }

    /// Adds a column of numbers in a unit.
    #[must_use]
    pub fn numbers_in<S: Into<C>>(
        self,
        (title, unit): (&str, &str),
        show: impl Fn(&R) -> S,
    ) -> Table<R, C> {
        self.column((title, unit, true), show)
    }

    fn column<S: Into<C>>(
        mut self,
        (title, unit, is_number): (&str, &str, bool),
        show: impl Fn(&R) -> S,
    ) -> Table<R, C> {
        let cells = self.rows.iter().map(|row| show(row).into()).collect();
        let (title, unit) = (title.to_owned(), unit.to_owned());
        self.columns.push(TableColumn { title, unit, is_number, cells });
        self
    }

    /// Adds columns where there is something for them to show.
    #[must_use]
    pub fn when(self, is_so: bool, add: impl FnOnce(Table<R, C>) -> Table<R, C>) -> Table<R, C> {
        if is_so { add(self) } else { self }
    }

    pub fn rows(&self) -> &[R] {
        &self.rows
    }
}
