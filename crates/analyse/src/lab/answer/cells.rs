//! Cells of a lab in words: as short as what tells them apart.

use super::evidence::CellEvidence;
use super::words::{listed, some_of};
use crate::lab::cells::{CellOutcome, matrix};
use crate::lab::matrix::{CONNECTIONS, Matrix};
use itertools::Itertools;
use std::collections::BTreeSet;

/// Dimensions of which a cell is called by all of its values.
const DIMENSIONS_NAMED_MAX: usize = 3;
/// What the first cell of others is called.
const FIRST: &str = "the first value of each";

/// All cells, with what they differ in.
pub struct LabCells<'a> {
    pub all: &'a [CellOutcome],
    pub matrix: Matrix,
}

impl<'a> LabCells<'a> {
    pub fn of(all: &'a [CellOutcome]) -> LabCells<'a> {
        LabCells { all, matrix: matrix(all) }
    }

    /// What tells a cell from all others: `nvme-pm1725, 8 connections`.
    pub fn label(&self, at: usize) -> String {
        self.named(at, |_| true)
    }

    /// The same without its connections.
    pub fn line(&self, at: usize) -> String {
        self.named(at, |dimension| dimension != CONNECTIONS)
    }

    /// Of a lab that varies very many things, what is another than in its first cell.
    fn named(&self, at: usize, is_told: impl Fn(&str) -> bool) -> String {
        let is_short = self.matrix.dimensions().len() > DIMENSIONS_NAMED_MAX;
        // The first cell has the first value of each.
        let words = self
            .matrix
            .words(at, |dimension, value| is_told(&dimension.name) && (!is_short || value > 0));
        if is_short && words.is_empty() { FIRST.to_owned() } else { words }
    }

    /// What is known of cells, by their places.
    pub fn evidence<T>(
        &self,
        evidence: &[CellEvidence],
        what: impl Fn(&CellEvidence) -> Option<T>,
    ) -> Vec<(usize, T)> {
        let of = |at: usize| {
            let found = evidence.iter().find(|of| of.ordinal == self.all[at].ordinal)?;
            Some((at, what(found)?))
        };
        (0..self.all.len()).filter_map(of).collect()
    }

    /// Some cells, by their places: `all cells`, `all from 8 connections on`, `all up to 4
    /// connections`, or each line with its connections; nothing where the lab has one cell.
    pub fn words(&self, some: &[usize]) -> String {
        if self.all.len() < 2 {
            return String::new();
        }
        if some.len() == self.all.len() {
            return "all cells".to_owned();
        }
        let lines = self.lines(some);
        // Of one line alone, the line says more.
        let (least, most) = self.range(some);
        if lines.len() > 1 && least == most && self.count(|count| count == least) == some.len() {
            return format!("all with {least} {}", noun(least));
        }
        if lines.len() > 1 && self.count(|connections| connections >= least) == some.len() {
            return format!("all from {least} connections on");
        }
        if lines.len() > 1 && self.count(|connections| connections <= most) == some.len() {
            return format!("all up to {most} {}", noun(most));
        }
        some_of(lines.iter().map(|line| self.in_words(line, some)).collect())
    }

    /// The least and the most connections of these cells.
    fn range(&self, some: &[usize]) -> (u32, u32) {
        let of = || some.iter().map(|at| self.all[*at].connections);
        (of().min().unwrap_or(0), of().max().unwrap_or(0))
    }

    /// How many cells of the lab have such connections.
    fn count(&self, is_meant: impl Fn(u32) -> bool) -> usize {
        self.all.iter().filter(|cell| is_meant(cell.connections)).count()
    }

    /// The lines that these cells are on, in the order of the lab.
    fn lines(&self, some: &[usize]) -> Vec<String> {
        some.iter().map(|at| self.line(*at)).unique().collect()
    }

    /// `nvme-pm1725`, where all cells of the line are meant, else `nvme-pm1725 with 8 and 32
    /// connections`.
    fn in_words(&self, line: &str, some: &[usize]) -> String {
        let of_line: Vec<usize> = (0..self.all.len()).filter(|at| self.line(*at) == line).collect();
        let meant: Vec<&usize> = of_line.iter().filter(|at| some.contains(at)).collect();
        if meant.len() == of_line.len() && !line.is_empty() {
            return line.to_owned();
        }
        let counts: BTreeSet<u32> = meant.iter().map(|at| self.all[**at].connections).collect();
        let words: Vec<String> = counts.iter().map(u32::to_string).collect();
        let most = counts.last().copied().unwrap_or(0);
        let words = format!("{} {}", listed(&words), noun(most));
        if line.is_empty() { words } else { format!("{line} with {words}") }
    }
}

/// Of the largest of several numbers.
fn noun(connections: u32) -> &'static str {
    if connections == 1 { "connection" } else { "connections" }
}
