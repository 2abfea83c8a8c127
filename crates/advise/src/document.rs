//! `docs/best-known-methods.md`, made of the rules.

use crate::rule::{Rule, Topic};
use crate::rules;
use analyse::capitalised;

const INTRODUCTION: &str = "\
# Best known methods

Written by `MYDYNO_UPDATE_DOCS=1 cargo test -p advise --lib`, from the rules of `mydyno advise`.

Each is a rule that looks at a server and says whether it applies there; `mydyno advise` prints
those that do, with what was seen. S1 and S2 are Samsung's white papers of 2016 (\"Accelerating OLTP
performance with NVMe SSDs\", \"Best Practices for MySQL with SSDs\"). A rule is an expectation, and
what is best for one device is bad for another: only an experiment tells. The end of this page has
those that were made of the papers' own methods.
";

/// What came of the white papers' methods when they were measured; written by hand.
const EXAMINED: &str = include_str!("examined.md");

/// The whole document.
pub fn best_known_methods() -> String {
    let mut text = INTRODUCTION.to_owned();
    for topic in Topic::ALL {
        text += &format!("\n## {}\n", capitalised(topic.name()));
        for (_, rule) in rules::all().filter(|(of, _)| *of == topic) {
            entry(&mut text, rule);
        }
    }
    text.push_str(EXAMINED);
    text
}

fn entry(text: &mut String, rule: &Rule) {
    *text += &format!("\n### {}\n\n", rule.name);
    wrapped(text, &format!("**{}.** {}", rule.title, rule.reason), "");
    text.push('\n');
    wrapped(text, &format!("- Source: {}.", rule.source), "  ");
    wrapped(text, &format!("- Releases: {}.", rule.releases), "  ");
    if !rule.variables.is_empty() {
        let names: Vec<String> = rule.variables.iter().map(|of| format!("`{}`", of.name)).collect();
        wrapped(text, &format!("- Sets {}.", names.join(", ")), "  ");
    }
}

const COLUMNS: usize = 100;

/// A paragraph, whose lines after the first begin with `indent`.
fn wrapped(text: &mut String, paragraph: &str, indent: &str) {
    let mut column = 0;
    for word in paragraph.split_whitespace() {
        let length = word.chars().count();
        if column > 0 && column + 1 + length > COLUMNS {
            text.push('\n');
            text.push_str(indent);
            column = indent.len();
        } else if column > 0 {
            text.push(' ');
            column += 1;
        }
        text.push_str(word);
        column += length;
    }
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::best_known_methods;
    use crate::rules;
    use std::collections::BTreeSet;
    use std::path::Path;

    #[test]
    fn the_document_is_that_of_the_rules() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/best-known-methods.md");
        let text = best_known_methods();
        if std::env::var_os("MYDYNO_UPDATE_DOCS").is_some() {
            std::fs::write(&path, &text).unwrap();
        }
        let stored = std::fs::read_to_string(path).unwrap();
        assert_eq!(stored, text, "MYDYNO_UPDATE_DOCS=1 cargo test -p advise --lib");
    }

    #[test]
    fn every_rule_is_told_once_and_in_full() {
        let mut names = BTreeSet::new();
        let text = best_known_methods();
        for (_, rule) in rules::all() {
            assert!(names.insert(rule.name), "{} is there twice", rule.name);
            assert!(text.contains(&format!("\n### {}\n", rule.name)));
            for words in [rule.title, rule.reason, rule.source, rule.releases] {
                assert!(!words.is_empty(), "{}", rule.name);
            }
            let has_end = |words: &str| words.ends_with('.');
            assert!(has_end(rule.reason) && !has_end(rule.title), "{}", rule.name);
            assert!(!has_end(rule.source) && !has_end(rule.releases), "{}", rule.name);
        }
    }
}
