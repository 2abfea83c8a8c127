//! Numbers as people read them.

use std::fmt::Display;
use store::ByTransaction;

pub fn optional(value: Option<f64>, decimals: usize) -> String {
    value.map_or_else(|| "NA".to_owned(), |value| format!("{value:.decimals$}"))
}

pub fn count(value: Option<impl Display>) -> String {
    value.map_or_else(|| "NA".to_owned(), |value| value.to_string())
}

/// A share with its sign: `99.12 %`.
pub fn percent(share: f64, decimals: usize) -> String {
    format!("{:.decimals$} %", share * 100.0)
}

pub fn ms(us: Option<f64>) -> String {
    optional(us.map(|us| us / 1e3), 2)
}

/// The width of a column of types of transactions.
pub fn names_width<T>(types: &ByTransaction<T>) -> usize {
    let longest = types.iter().map(|(name, _)| name.len() + 1).max();
    longest.unwrap_or(0).max(13)
}
