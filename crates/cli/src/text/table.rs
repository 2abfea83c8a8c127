//! Tables of text: each column is as wide as its longest text.

use std::iter;

/// Rows, and their lines as far as there are columns; the first line has the titles.
pub struct Table<R> {
    rows: Vec<R>,
    lines: Vec<String>,
}

impl<R> Table<R> {
    /// A table of these rows, without columns.
    pub fn of(rows: impl IntoIterator<Item = R>) -> Table<R> {
        let rows: Vec<R> = rows.into_iter().collect();
        let lines = vec![String::new(); rows.len() + 1];
        Table { rows, lines }
    }

    /// Adds a column of words, which begin below each other.
    pub fn words(self, title: &str, show: impl Fn(&R) -> String) -> Table<R> {
        self.column(title, show, |text, width| format!("{text:<width$}"))
    }

    /// Adds a column of numbers, which end below each other.
    pub fn numbers(self, title: &str, show: impl Fn(&R) -> String) -> Table<R> {
        self.column(title, show, |text, width| format!("{text:>width$}"))
    }

    fn column(
        mut self,
        title: &str,
        show: impl Fn(&R) -> String,
        align: fn(&str, usize) -> String,
    ) -> Table<R> {
        let title = iter::once(title.to_owned());
        let texts: Vec<String> = title.chain(self.rows.iter().map(show)).collect();
        let width = texts.iter().map(|text| text.chars().count()).max().unwrap_or(0);
        for (line, text) in self.lines.iter_mut().zip(&texts) {
            if !line.is_empty() {
                line.push_str("  ");
            }
            line.push_str(&align(text, width));
        }
        self
    }

    /// All lines; none ends with spaces.
    pub fn text(&self) -> String {
        self.lines.iter().map(|line| format!("{}\n", line.trim_end())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Table;

    #[test]
    fn columns_are_as_wide_as_their_longest_text() {
        let text = Table::of([("a longer name", 7), ("≥", 1_234_567)])
            .words("name", |(name, _)| (*name).to_owned())
            .numbers("count", |(_, count)| count.to_string())
            .text();
        assert_eq!(
            text,
            "name             count\na longer name        7\n≥              1234567\n"
        );
    }
}
