//! Tables as text: each column is as wide as its longest text.

pub use analyse::Table;

/// What is shown as text.
pub trait AsText {
    /// All lines, the titles first; none ends with spaces.
    fn text(&self) -> String;
}

impl<R> AsText for Table<R> {
    fn text(&self) -> String {
        let mut lines = vec![String::new(); self.rows().len() + 1];
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
    use super::{AsText, Table};

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
}
