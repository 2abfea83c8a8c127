//! A run as a JUnit XML file, which pipelines show as tests: the run itself, each check, and each
//! condition of `--fail-if`.

use crate::failure::Failure;
use base::Exit;
use maud::{Markup, PreEscaped, html};
use std::path::Path;
use std::time::Duration;

/// One test.
pub struct TestCase {
    /// What kind it is: `run`, `check` or `fail_if`.
    pub kind: &'static str,
    pub name: String,
    pub time: Duration,
    pub ended: TestEnd,
}

/// How a test ended.
pub enum TestEnd {
    Passed,
    /// It says nothing of this run; why, in words.
    Skipped(String),
    /// It found what it must not; in words.
    Failed(String),
    /// It could not be made: a reason for programs, and words.
    Broken(String, String),
}

/// Writes a file with these tests.
///
/// # Errors
/// The file cannot be written.
pub fn write(file: &Path, cases: &[TestCase]) -> Result<(), Failure> {
    std::fs::write(file, document(cases).into_string()).map_err(|error| {
        let words = format!(
            "cannot write {}: {error}; give --junit a file in a directory that takes files",
            file.display()
        );
        Failure::new(Exit::Environment, words)
    })
}

fn document(cases: &[TestCase]) -> Markup {
    let count =
        |is_meant: fn(&TestEnd) -> bool| cases.iter().filter(|of| is_meant(&of.ended)).count();
    let failures = count(|ended| matches!(ended, TestEnd::Failed(_)));
    let errors = count(|ended| matches!(ended, TestEnd::Broken(..)));
    let skipped = count(|ended| matches!(ended, TestEnd::Skipped(_)));
    let time: Duration = cases.iter().map(|case| case.time).sum();
    html! {
        (PreEscaped("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"))
        testsuites name="mydyno" tests=(cases.len()) failures=(failures) errors=(errors)
            time=(seconds(time)) {
            testsuite name="mydyno run" tests=(cases.len()) failures=(failures) errors=(errors)
                skipped=(skipped) time=(seconds(time)) {
                @for case in cases {
                    testcase classname={ "mydyno." (case.kind) } name=(printable(&case.name))
                        time=(seconds(case.time)) {
                        @match &case.ended {
                            TestEnd::Passed => {}
                            TestEnd::Skipped(words) => skipped message=(printable(words)) {}
                            TestEnd::Failed(words) => failure message=(first_line(words)) {
                                (printable(words))
                            }
                            TestEnd::Broken(reason, words) => error type=(printable(reason))
                                message=(first_line(words)) { (printable(words)) }
                        }
                    }
                }
            }
        }
        "\n"
    }
}

fn seconds(time: Duration) -> String {
    format!("{:.3}", time.as_secs_f64())
}

fn first_line(text: &str) -> String {
    printable(text.lines().next().unwrap_or_default())
}

/// Without the characters that XML cannot hold, in any form.
fn printable(text: &str) -> String {
    let is_held = |letter: &char| match letter {
        '\n' | '\t' => true,
        '\u{fffe}' | '\u{ffff}' => false,
        letter => *letter >= ' ',
    };
    text.chars().filter(is_held).collect()
}

#[cfg(test)]
mod tests {
    use super::{TestCase, TestEnd, document};
    use std::time::Duration;

    #[test]
    fn tests_are_xml() {
        let case = |name: &str, ended| TestCase {
            kind: "fail_if",
            name: name.to_owned(),
            time: Duration::from_millis(1_500),
            ended,
        };
        let cases = [
            case("p95_ms > 50", TestEnd::Passed),
            case("a \"name\"", TestEnd::Failed("one & two\nthe \u{1b}[1mlog\u{0}".to_owned())),
            case("run", TestEnd::Broken("server_died".to_owned(), "it is gone".to_owned())),
        ];
        let expected = [
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n",
            "<testsuites name=\"mydyno\" tests=\"3\" failures=\"1\" errors=\"1\" time=\"4.500\">",
            "<testsuite name=\"mydyno run\" tests=\"3\" failures=\"1\" errors=\"1\" skipped=\"0\" ",
            "time=\"4.500\">",
            "<testcase classname=\"mydyno.fail_if\" name=\"p95_ms &gt; 50\" time=\"1.500\">",
            "</testcase>",
            "<testcase classname=\"mydyno.fail_if\" name=\"a &quot;name&quot;\" time=\"1.500\">",
            "<failure message=\"one &amp; two\">one &amp; two\nthe [1mlog</failure></testcase>",
            "<testcase classname=\"mydyno.fail_if\" name=\"run\" time=\"1.500\">",
            "<error type=\"server_died\" message=\"it is gone\">it is gone</error></testcase>",
            "</testsuite></testsuites>\n",
        ];
        assert_eq!(document(&cases).into_string(), expected.concat());
    }
}
