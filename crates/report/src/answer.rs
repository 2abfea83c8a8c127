//! The answer first: what was asked, what is shown, and what cannot be said.

use crate::model::LabView;
use maud::{Markup, html};

/// The sentences at the top of the page.
pub fn answer_section(view: &LabView) -> Markup {
    let answer = view.answer();
    html! {
        section.answer id="answer" {
            h2 { (answer.question) }
            @if answer.shown.is_empty() { p { "Nothing was measured yet." } }
            @else { ul.shown { @for sentence in &answer.shown { li { (sentence) } } } }
            @if !answer.limits.is_empty() {
                h3 { "What this does not tell" }
                ul.limits { @for limit in &answer.limits { li { (in_code(limit)) } } }
            }
        }
    }
}

/// What stands between backquotes is set as code.
fn in_code(text: &str) -> Markup {
    html! {
        @for (at, part) in text.split('`').enumerate() {
            @if at % 2 == 1 { code { (part) } } @else { (part) }
        }
    }
}
