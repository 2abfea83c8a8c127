//! Tables in Markdown, to be pasted.

use std::fmt::Write;

pub struct Table {
    title: String,
    columns: usize,
    text: String,
}

impl Table {
    pub fn new<S: AsRef<str>>(title: &str, columns: &[S]) -> Table {
        let mut table =
            Table { title: title.to_owned(), columns: columns.len(), text: String::new() };
        table.row(columns);
        table.text.push_str(&"|---".repeat(columns.len()));
        table.text.push_str("|\n");
        table
    }

    /// Adds a row; what is missing at its end stays empty.
    pub fn row<S: AsRef<str>>(&mut self, cells: &[S]) {
        for index in 0..self.columns {
            let cell = cells.get(index).map_or("", AsRef::as_ref);
            // Writing to a String does not fail.
            let _ = write!(self.text, "| {} ", cell.replace('|', "\\|"));
        }
        self.text.push_str("|\n");
    }

    pub fn print(&self) {
        println!("\n### {}\n\n{}", self.title, self.text);
    }
}

/// A number with so many decimals and groups of three digits; `n/a` where there is none.
pub fn number(value: Option<f64>, decimals: usize) -> String {
    let Some(value) = value else {
        return "n/a".to_owned();
    };
    let plain = format!("{value:.decimals$}");
    let (whole, fraction) = plain.split_at(plain.find('.').unwrap_or(plain.len()));
    let mut grouped = String::new();
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped + fraction
}
