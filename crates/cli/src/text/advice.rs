//! Findings for people.

use advise::{Finding, Risk, VariableChange};
use base::counted;

const INDENT: &str = "     ";
const COLUMNS: usize = 100;

/// All findings, with what to write where.
pub fn text(findings: &[Finding], version: &str) -> String {
    if findings.is_empty() {
        return format!("no rule has anything to say of this server ({version})\n");
    }
    let mut out = format!(
        "{} for {version}, the greatest expected gain first; an expectation is no proof\n",
        counted(findings.len(), "finding", "findings")
    );
    for (finding, number) in findings.iter().zip(1..) {
        add(&mut out, finding, number);
    }
    // Two rules may want the same.
    let mut lines: Vec<&str> = Vec::new();
    for line in findings.iter().filter(|f| !gives_up_durability(f)).flat_map(|f| &f.option_lines) {
        if !lines.contains(&line.as_str()) {
            lines.push(line);
        }
    }
    if !lines.is_empty() {
        out += &format!("\n[mysqld]\n{}\n", lines.join("\n"));
    }
    out
}

fn gives_up_durability(finding: &Finding) -> bool {
    finding.risks.iter().any(|risk| matches!(risk, Risk::Durability(_)))
}

fn add(out: &mut String, finding: &Finding, number: usize) {
    let Finding { rule, title, gain, .. } = finding;
    *out += &format!("\n{number:>3}. {title} ({rule}; expected gain: {gain})\n");
    for VariableChange { variable, current, proposed } in &finding.changes {
        let current = if current.is_empty() { "(empty)" } else { current };
        *out += &format!("{INDENT}{variable}: {current} -> {proposed}\n");
    }
    let mut say = |name: &str, words: &str| wrap(out, name, words);
    say("seen", &finding.seen);
    say("why", finding.reason);
    say("source", finding.source);
    for risk in &finding.risks {
        let kind = match risk {
            Risk::Durability(_) => "LOSES",
            Risk::Memory(_) => "memory",
            Risk::Other(_) => "mind",
        };
        say(kind, risk.words());
    }
    if let Some(action) = &finding.action {
        say("do", action);
    }
    for statement in &finding.statements {
        say("now", statement);
    }
    if finding.restart_needed {
        say("restart", "needed: write the lines below into the option file");
    }
}

/// `name` and words, which go on below themselves.
fn wrap(out: &mut String, name: &str, words: &str) {
    let head = format!("{INDENT}{name:<8}");
    let mut line = head.clone();
    for word in words.split_whitespace() {
        if line.len() + 1 + word.len() > COLUMNS && line.len() > head.len() {
            *out += &format!("{}\n", line.trim_end());
            line = " ".repeat(head.len());
        }
        line.push_str(word);
        line.push(' ');
    }
    *out += &format!("{}\n", line.trim_end());
}
