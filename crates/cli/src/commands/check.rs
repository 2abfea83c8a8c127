//! `mydyno check`.

use super::{print_json, start_private};
use crate::arguments::CheckArguments;
use crate::console::{Console, stop_flag};
use crate::failure::Outcome;
use ::server::Home;
use base::Exit;
use serde::Serialize;
use store::CheckResult;

/// The JSON document of the command.
#[derive(Serialize)]
struct Document {
    schema_version: u32,
    target: String,
    warehouses: u32,
    passed: bool,
    checks: Vec<Check>,
}

#[derive(Serialize)]
struct Check {
    name: String,
    title: String,
    clause: String,
    passed: bool,
    offending_rows: u64,
    examples: serde_json::Value,
    duration_s: f64,
}

/// Runs the command.
pub fn run(arguments: &CheckArguments) -> Outcome {
    let stop = stop_flag();
    let home = Home::from_env()?;
    let mut console = Console::new();
    let subject = match arguments.target.private(arguments.warehouses, 1, true) {
        Some(spec) => start_private(&home, &spec, &stop, &mut console)?.0,
        None => arguments.target.external(&home, &mut console)?,
    };
    let (warehouses, checks) = lab::check_subject(&subject, &stop, &mut |p| console.show(p))?;
    console.done();
    let passed = checks.iter().all(|check| check.passed);
    if arguments.json {
        print_json(&document(subject.dsn(), warehouses.0, &checks)?)?;
    } else {
        for check in &checks {
            print_words(check);
        }
        let good = checks.iter().filter(|check| check.passed).count();
        println!(
            "{good} of {} checks passed on {warehouses} warehouses",
            checks.len()
        );
    }
    Ok(if passed { Exit::Ok } else { Exit::CheckFailed })
}

fn document(
    target: String,
    warehouses: u32,
    checks: &[CheckResult],
) -> Result<Document, serde_json::Error> {
    let mut listed = Vec::new();
    for check in checks {
        listed.push(Check {
            name: check.name.clone(),
            title: check.title.clone(),
            clause: check.clause.clone(),
            passed: check.passed,
            offending_rows: check.offending_rows,
            examples: serde_json::from_str(&check.examples_json)?,
            duration_s: check.duration_ns as f64 / 1e9,
        });
    }
    let passed = listed.iter().all(|check| check.passed);
    Ok(Document {
        schema_version: 1,
        target,
        warehouses,
        passed,
        checks: listed,
    })
}

fn print_words(check: &CheckResult) {
    let verdict = if check.passed { "ok" } else { "FAILED" };
    println!(
        "{:<4}{verdict:<7}{} ({})",
        check.name, check.title, check.clause
    );
    if !check.passed {
        println!(
            "           {} offending rows, such as {}",
            check.offending_rows, check.examples_json
        );
    }
}
