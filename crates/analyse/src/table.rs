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

impl<R> Table<R> {
    /// All lines, the titles first: each column is as wide as its longest text, and no line ends
    /// with spaces.
    pub fn text(&self) -> String {
        let mut lines = vec![String::new(); self.rows.len() + 1];
        for column in &self.columns {
            let title = format!("{} {}", column.title, column.unit);
            let texts =
                || std::iter::once(title.trim_end()).chain(column.cells.iter().map(|c| &**c));
            let width = texts().map(|text| text.chars().count()).max().unwrap_or(0);
            for (line, text) in lines.iter_mut().zip(texts()) {
                if !line.is_empty() {
                    line.push_str("  ");
                }
                *line += &if column.is_number {
                    format!("{text:>width$}")
                } else {
                    format!("{text:<width$}")
                };
            }
        }
        lines.iter().map(|line| format!("{}\n", line.trim_end())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Table;

    #[test]
    fn columns_are_as_wide_as_their_longest_text() {
        let text = Table::of([("a longer name", 7), ("≥", 1_234_567)])
            .words("name", |(name, _)| *name)
            .numbers("count", |(_, count)| count.to_string())
            .text();
        assert_eq!(
            text,
            "name             count\na longer name        7\n≥              1234567\n"
        );
    }

    #[test]
    fn words_begin_below_each_other() {
        let table = Table::of([["dddd", "e", "f"]])
            .words("a", |row| row[0])
            .words("bb", |row| row[1])
            .words("c", |row| row[2]);
        assert_eq!(table.text(), "a     bb  c\ndddd  e   f\n");
    }
}
