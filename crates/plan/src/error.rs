//! What is wrong with a plan, and where in its text.

use base::{Exit, line_and_column};
use std::fmt::Display;
use std::ops::Range;

/// A plan that cannot be executed as it stands, printed as `plans/x.toml:12:5: what is wrong; what
/// to do`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}:{line}:{column}: {why}")]
pub struct PlanError {
    /// Of the plan, as it was given.
    pub path: String,
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
    /// What, why, and what to do.
    pub why: String,
}

impl PlanError {
    /// The exit code of a command that ends with this error.
    pub fn exit(&self) -> Exit {
        Exit::PlanInvalid
    }
}

/// Bytes of a plan's text.
pub(crate) type Span = Range<usize>;

/// What is wrong, and which bytes of the text are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PlanProblem {
    pub(crate) span: Span,
    pub(crate) why: String,
}

impl PlanProblem {
    pub(crate) fn new(span: Span, why: impl Into<String>) -> PlanProblem {
        PlanProblem { span, why: why.into() }
    }

    /// # Errors
    /// Where it is so.
    pub(crate) fn when(is_so: bool, span: Span, why: impl Display) -> Result<(), PlanProblem> {
        if is_so { Err(PlanProblem::new(span, why.to_string())) } else { Ok(()) }
    }
}

/// A plan's text, and what it is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PlanText {
    pub(crate) path: String,
    pub(crate) text: String,
}

impl PlanText {
    /// The error with its line and column.
    pub(crate) fn error(&self, problem: PlanProblem) -> PlanError {
        let (line, column) = line_and_column(&self.text, problem.span.start);
        PlanError { path: self.path.clone(), line, column, why: problem.why }
    }
}

#[cfg(test)]
mod tests {
    use super::{PlanProblem, PlanText};

    #[test]
    fn lines_and_columns_count_from_one() {
        let source =
            PlanText { path: "p.toml".to_owned(), text: "a = 1\r\n# é b\nc = 2".to_owned() };
        for (word, line, column) in [("a", 1, 1), ("b", 2, 5), ("2", 3, 5)] {
            let at = source.text.find(word).unwrap();
            let error = source.error(PlanProblem::new(at..at + 1, "why"));
            assert_eq!((error.line, error.column), (line, column), "{word}");
        }
        let past_the_end = source.error(PlanProblem::new(999..999, "it ends too early"));
        assert_eq!(past_the_end.to_string(), "p.toml:3:6: it ends too early");
    }
}
