//! Conditions of `--fail-if`.

use analyse::JudgedCondition;

/// Each condition with what was measured; nothing where there is none.
pub fn conditions(judged: &[JudgedCondition]) -> String {
    let mut out = String::new();
    for of in judged {
        let verdict = if of.failed { "FAILED" } else { "ok" };
        out += &format!("{verdict:<8}{:<24} {}\n", format!("fail if {of}:"), of.found());
    }
    if out.is_empty() { out } else { format!("\n{out}") }
}
