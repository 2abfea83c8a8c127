//! What the server said of itself before and after the window: its variables, and the status
//! counters that rose.

use itertools::Itertools;
use std::collections::BTreeMap;

/// A server variable before and after the window.
pub struct Variable {
    pub name: String,
    pub start: Option<String>,
    pub end: Option<String>,
}

impl Variable {
    /// Did the window end with another value than it began with?
    pub fn changed(&self) -> bool {
        matches!((&self.start, &self.end), (Some(start), Some(end)) if start != end)
    }

    /// The value to show: at the start where it is known.
    pub fn value(&self) -> &str {
        self.start.as_deref().or(self.end.as_deref()).unwrap_or("")
    }
}

/// By name, those that were read at one of the moments or at both.
pub fn variables(start: Vec<(String, String)>, end: Vec<(String, String)>) -> Vec<Variable> {
    let mut merged: BTreeMap<String, (Option<String>, Option<String>)> = BTreeMap::new();
    for (name, value) in start {
        merged.entry(name).or_default().0 = Some(value);
    }
    for (name, value) in end {
        merged.entry(name).or_default().1 = Some(value);
    }
    merged.into_iter().map(|(name, (start, end))| Variable { name, start, end }).collect()
}

/// A counter of `SHOW GLOBAL STATUS` that rose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Risen {
    pub name: String,
    pub start: u64,
    pub end: u64,
}

/// Whole numbers that were higher at the end than at the start, by name. A name that is not in both
/// is left out.
pub fn risen(start: Vec<(String, String)>, end: Vec<(String, String)>) -> Vec<Risen> {
    let start: BTreeMap<String, String> = start.into_iter().collect();
    end.into_iter()
        .filter_map(|(name, end)| {
            let (start, end): (u64, u64) = (start.get(&name)?.parse().ok()?, end.parse().ok()?);
            (end > start).then_some(Risen { name, start, end })
        })
        .sorted_by(|a, b| a.name.cmp(&b.name))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{Risen, risen};

    #[test]
    fn only_whole_numbers_that_rose_are_kept() {
        let pairs = |pairs: &[(&str, &str)]| {
            let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
            pairs.iter().map(owned).collect::<Vec<_>>()
        };
        let start = pairs(&[
            ("Questions", "100"),
            ("Com_commit", "7"),
            ("Threads_running", "9"),
            ("Innodb_buffer_pool_dump_status", "not started"),
            ("Uptime", "3"),
        ]);
        let end = pairs(&[
            ("Uptime", "3"),
            ("Questions", "18446744073709551615"),
            ("Com_commit", "19"),
            ("Threads_running", "2"),
            ("Innodb_buffer_pool_dump_status", "dumped"),
            ("Com_select", "5"),
        ]);
        let counter = |name: &str, start, end| Risen { name: name.to_owned(), start, end };
        assert_eq!(
            risen(start, end),
            [counter("Com_commit", 7, 19), counter("Questions", 100, u64::MAX)]
        );
    }
}
