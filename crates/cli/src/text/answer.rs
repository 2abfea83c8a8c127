//! What a lab says, in sentences.

use analyse::LabAnswer;

/// The question, what is shown, and what is not.
pub fn answer(answer: &LabAnswer) -> String {
    let list = |sentences: &[String]| -> String {
        sentences.iter().map(|sentence| format!("  - {sentence}\n")).collect()
    };
    let limits = match answer.limits.as_slice() {
        [] => String::new(),
        limits => format!("what this does not tell:\n{}", list(limits)),
    };
    format!("{}\n{}{limits}", answer.question, list(&answer.shown))
}
