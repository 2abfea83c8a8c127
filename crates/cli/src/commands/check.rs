//! `mydyno check`.

use super::print_json;
use crate::arguments::database::CheckArguments;
use crate::console::{Console, print, stop_flag};
use crate::failure::{Failure, Outcome};
use base::{Exit, Warehouses, counted};
use lab::{CheckSet, Checked, Subject, start_server};
use serde::Serialize;
use spec::{PopulationSpec, Topology};
use store::StoredCheck;

/// The JSON document of the command.
#[derive(Serialize)]
struct CheckDocument {
    schema_version: u32,
    target: String,
    warehouses: u32,
    schemas: u32,
    passed: bool,
    notes: Vec<String>,
    checks: Vec<CheckResultDocument>,
}

#[derive(Serialize)]
struct CheckResultDocument {
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
    arguments.target.refuse_private_schemas(arguments.schemas)?;
    let set = match arguments.population {
        true => CheckSet::Population,
        false => CheckSet::Consistency,
    };
    if set == CheckSet::Population && !arguments.workload.is_tpcc() {
        return Err(Failure::new(
            Exit::Usage,
            "--population is of TPC-C databases; leave it out, or --workload",
        ));
    }
    let stop = stop_flag();
    let mut console = Console::new()?;
    let population = PopulationSpec {
        warehouses: Warehouses(arguments.warehouses),
        ..PopulationSpec::default()
    };
    let server = arguments.target.server(population, arguments.schemas)?;
    let subject = start_server(&server, &stop, &mut |p| console.show(p))?;
    let asked = (&arguments.workload, set);
    let checked = lab::check_subject(&subject, asked, &stop, &mut |p| console.show(p))?;
    console.done();
    let checks = &checked.checks;
    if arguments.json {
        print_json(&document(&subject, &checked, &console.notes)?)?;
    } else {
        for check in checks {
            print(text(check, checked.unexpected.contains(&check.name)))?;
        }
        let good = checks.iter().filter(|check| check.passed).count();
        print(format_args!(
            "{good} of {} checks passed on {}{}\n",
            checks.len(),
            match checked.warehouses.0 {
                0 => format!("a database of {}", arguments.workload),
                warehouses => counted(warehouses as usize, "warehouse", "warehouses"),
            },
            match (subject.topology(), subject.schemas(), subject.instances()) {
                (Topology::Shards, _, shards) => format!(" in {shards} shards"),
                (_, 1, 1) => String::new(),
                (_, 1, servers) => {
                    format!(" on each of {servers} {}s", subject.word_for_database())
                }
                (_, schemas, _) => format!(" in each of {schemas} schemas"),
            }
        ))?;
    }
    Ok(if checked.unexpected.is_empty() { Exit::Ok } else { Exit::CheckFailed })
}

fn document(
    subject: &Subject,
    checked: &Checked,
    notes: &[String],
) -> Result<CheckDocument, serde_json::Error> {
    let mut listed = Vec::new();
    for check in &checked.checks {
        listed.push(CheckResultDocument {
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
    Ok(CheckDocument {
        schema_version: 1,
        target: subject.dsn(),
        warehouses: checked.warehouses.0,
        schemas: subject.schemas(),
        passed,
        notes: notes.to_vec(),
        checks: listed,
    })
}

/// `unexpected`: it failed and should not have.
fn text(check: &StoredCheck, unexpected: bool) -> String {
    let verdict = match (check.passed, unexpected) {
        (true, _) => "ok",
        (false, true) => "FAILED",
        (false, false) => "known",
    };
    let of_failed = match unexpected {
        true => format!(
            "           {} offending rows, such as {}\n",
            check.offending_rows, check.examples_json
        ),
        false => String::new(),
    };
    format!("{:<4}{verdict:<7}{} ({})\n{of_failed}", check.name, check.title, check.clause)
}
