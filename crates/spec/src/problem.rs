//! Why something cannot be measured.

use std::fmt::Display;

/// Why a cell cannot be measured.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{option}`: {why}")]
pub struct Problem {
    /// The option that is to blame: a key of plans and, with dashes, a flag of the command line.
    pub option: &'static str,
    /// What contradicts what, and what to do.
    pub why: String,
}

impl Problem {
    /// # Errors
    /// Always.
    pub fn of<T>(option: &'static str, why: impl Into<String>) -> Result<T, Problem> {
        Err(Problem { option, why: why.into() })
    }

    /// # Errors
    /// Where it is so.
    pub fn when(is_so: bool, option: &'static str, why: impl Display) -> Result<(), Problem> {
        if is_so { Problem::of(option, why.to_string()) } else { Ok(()) }
    }
}
