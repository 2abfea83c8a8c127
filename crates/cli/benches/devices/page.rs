//! The page: Markdown, section by section.

use anyhow::{Context, Result};
use std::fmt::Write;
use std::path::PathBuf;

pub struct Page {
    path: PathBuf,
    text: String,
}

impl Page {
    pub fn begin(path: PathBuf, machine: &str) -> Page {
        Page {
            path,
            text: format!(
                "# Emulated devices, measured\n\n\
                 `make devices` writes this page. The machine: {machine}. What a figure means and what\n\
                 is not emulated stands in [METHODOLOGY.md](../METHODOLOGY.md#emulated-devices), how profiles are written in\n\
                 [profiles.md](profiles.md).\n"
            ),
        }
    }

    pub fn section(&mut self, title: &str, words: &str) {
        // Writing to a String does not fail, here and below.
        let _ = write!(self.text, "\n## {title}\n\n{words}\n");
    }

    pub fn table(&mut self, columns: &[&str], rows: &[Vec<String>]) {
        self.head(columns);
        rows.iter().for_each(|row| self.row(row));
    }

    /// Begins a table.
    pub fn head(&mut self, columns: &[&str]) {
        self.text.push('\n');
        self.row(columns);
        self.row(&vec!["---"; columns.len()]);
    }

    pub fn row<S: AsRef<str>>(&mut self, cells: &[S]) {
        let cells: Vec<&str> = cells.iter().map(AsRef::as_ref).collect();
        let _ = writeln!(self.text, "| {} |", cells.join(" | "));
    }

    pub fn words(&mut self, words: &str) {
        let _ = write!(self.text, "\n{words}\n");
    }

    /// Writes what there is so far: a part that fails takes none of the others with it.
    pub fn write(&self) -> Result<()> {
        let path = self.path.display();
        std::fs::write(&self.path, &self.text).with_context(|| format!("cannot write {path}"))
    }
}

/// With so many decimals; `-` where there is none.
pub fn number(value: Option<f64>, decimals: usize) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.decimals$}"))
}

/// A share as a percentage.
pub fn percent(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{:.1} %", value * 100.0))
}
