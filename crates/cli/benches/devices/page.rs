//! The page: Markdown, section by section.

use anyhow::{Context, Result, ensure};
use std::fmt::Write;
use std::path::PathBuf;

pub struct Page {
    path: PathBuf,
    head: String,
    /// With their titles, as in the file.
    sections: Vec<String>,
    /// The section that is written, by its place.
    current: usize,
}

/// What a section begins with.
const TITLE: &str = "\n## ";

impl Page {
    /// An empty page, or with what the file has where only parts are measured anew.
    pub fn begin(path: PathBuf, machine: &str, keep: bool) -> Result<Page> {
        let head = format!(
            "# Emulated devices, measured\n\n\
             `make devices` writes this page. The machine: {machine}. What a figure means and \
             what\n\
             is not emulated stands in [emulation.md](emulation.md), how profiles are written in\n\
             [profiles.md](profiles.md).\n"
        );
        let mut sections = Vec::new();
        if keep && path.exists() {
            let shown = path.display();
            let text =
                std::fs::read_to_string(&path).with_context(|| format!("cannot read {shown}"))?;
            let mut parts = text.split(TITLE);
            ensure!(
                parts.next() == Some(&head),
                "{shown} is of another machine; measure all parts, or write another page with \
                 --output"
            );
            sections.extend(parts.map(|part| format!("{TITLE}{part}")));
        }
        Ok(Page { path, head, sections, current: 0 })
    }

    /// Begins a section, in the place of the one that has its title.
    pub fn section(&mut self, title: &str, words: &str) {
        let title = format!("{TITLE}{title}\n");
        let has_title = |section: &String| section.starts_with(&title);
        let place = self.sections.iter().position(has_title);
        self.current = place.unwrap_or(self.sections.len());
        if place.is_none() {
            self.sections.push(String::new());
        }
        *self.text() = format!("{title}\n{words}\n");
    }

    fn text(&mut self) -> &mut String {
        &mut self.sections[self.current]
    }

    pub fn table(&mut self, columns: &[&str], rows: &[Vec<String>]) {
        self.head(columns);
        rows.iter().for_each(|row| self.row(row));
    }

    /// Begins a table.
    pub fn head(&mut self, columns: &[&str]) {
        self.text().push('\n');
        self.row(columns);
        self.row(&vec!["---"; columns.len()]);
    }

    pub fn row<S: AsRef<str>>(&mut self, cells: &[S]) {
        let cells: Vec<&str> = cells.iter().map(AsRef::as_ref).collect();
        // Writing to a String does not fail, here and below.
        let _ = writeln!(self.text(), "| {} |", cells.join(" | "));
    }

    pub fn words(&mut self, words: &str) {
        let _ = write!(self.text(), "\n{words}\n");
    }

    /// Writes what there is so far: a part that fails takes none of the others with it.
    pub fn write(&self) -> Result<()> {
        let path = self.path.display();
        let text = self.head.clone() + &self.sections.concat();
        std::fs::write(&self.path, text).with_context(|| format!("cannot write {path}"))
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
