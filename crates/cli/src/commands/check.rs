//! `mydyno check`.

use super::show;
use crate::arguments::database::CheckArguments;
use crate::arguments::measuring::read_place;
use crate::console::{Console, stop_flag};
use crate::failure::{Failure, Outcome};
use crate::text::acid::acid_text;
use base::Exit;
use lab::{
    AcidFinding, AcidLevels, AcidVerdict, CheckSet, Checked, Job, Phenomenon, Subject, start_server,
};
use plan::{CellOptions, Given};
use serde::Serialize;
use spec::{Topology, WorkloadKind, defaults};
use store::StoredCheck;

/// The JSON document of the command.
#[derive(Serialize)]
struct CheckDocument {
    target: String,
    warehouses: u32,
    schemas: u32,
    passed: bool,
    notes: Vec<String>,
    /// `null` without `--acid`.
    acid: Option<Vec<AcidTestDocument>>,
    checks: Vec<StoredCheck>,
}

#[derive(Serialize)]
struct AcidTestDocument {
    name: &'static str,
    title: &'static str,
    clause: &'static str,
    isolation: &'static str,
    verdict: &'static str,
    required: bool,
    phenomenon: Option<&'static str>,
    evidence: Vec<String>,
}

/// The ACID tests that were run, and which of them have to pass.
struct Acid {
    asked: AcidLevels,
    findings: Vec<AcidFinding>,
}

impl Acid {
    /// Has a test failed that had to pass?
    fn has_failed(&self) -> bool {
        self.findings.iter().any(|found| {
            found.verdict == AcidVerdict::Failed && self.asked.requires(found.isolation)
        })
    }

    fn documents(&self) -> Vec<AcidTestDocument> {
        let document = |found: &AcidFinding| AcidTestDocument {
            name: found.test.name,
            title: found.test.title,
            clause: found.test.clause,
            isolation: found.isolation.name(),
            verdict: found.verdict.name(),
            required: self.asked.requires(found.isolation),
            phenomenon: found.phenomenon.map(Phenomenon::name),
            evidence: found.evidence.clone(),
        };
        self.findings.iter().map(document).collect()
    }
}

/// Runs the command.
pub fn run(arguments: &CheckArguments) -> Outcome {
    let set = match arguments.population {
        true => CheckSet::Population,
        false => CheckSet::Consistency,
    };
    if (arguments.population || arguments.acid) && !arguments.workload.is_tpcc() {
        return Err(Failure::new(
            Exit::Usage,
            "--population and --acid are of TPC-C databases; leave them out, or --workload",
        ));
    }
    let stop = stop_flag();
    let mut console = Console::new()?;
    let mut options = CellOptions { target: arguments.target.clone(), ..CellOptions::default() };
    options.database.warehouses = Some(Given(arguments.warehouses));
    let server = options.target_alone(&read_place)?;
    let subject = start_server(&server, &Job::new(&stop, &mut |p| console.show(p)))?;
    let mut acid = None;
    if arguments.acid {
        let asked = arguments.isolation.unwrap_or(AcidLevels::One(defaults::ISOLATION));
        let findings = lab::test_acid(&subject, asked, &Job::new(&stop, &mut |p| console.show(p)))?;
        acid = Some(Acid { asked, findings });
    }
    let asked = (&arguments.workload, set);
    let checked = lab::check_subject(&subject, asked, &Job::new(&stop, &mut |p| console.show(p)))?;
    console.done();
    let found = document(&subject, (&checked, acid.as_ref()), &console.notes);
    show(arguments.json, 1, &found, || {
        let acid = acid.iter().map(|acid| acid_text(acid.asked, &acid.findings));
        let workload = &arguments.workload;
        acid.collect::<String>() + &checks_text(&checked, &subject, workload)
    })?;
    let is_good = checked.unexpected.is_empty() && !acid.is_some_and(|acid| acid.has_failed());
    Ok(if is_good { Exit::Ok } else { Exit::CheckFailed })
}

fn document(
    subject: &Subject,
    (checked, acid): (&Checked, Option<&Acid>),
    notes: &[String],
) -> CheckDocument {
    let checks = checked.checks.clone();
    let passed =
        checks.iter().all(|check| check.passed) && !acid.is_some_and(|acid| acid.has_failed());
    CheckDocument {
        target: subject.dsn(),
        warehouses: checked.warehouses.0,
        schemas: subject.schemas(),
        passed,
        notes: notes.to_vec(),
        acid: acid.map(Acid::documents),
        checks,
    }
}

/// Each check, and how many passed.
fn checks_text(checked: &Checked, subject: &Subject, workload: &WorkloadKind) -> String {
    let checks = &checked.checks;
    let each = checks.iter().map(|check| text(check, checked.unexpected.contains(&check.name)));
    let good = checks.iter().filter(|check| check.passed).count();
    format!(
        "{}{good} of {} checks passed on {}{}\n",
        each.collect::<String>(),
        checks.len(),
        match checked.warehouses.0 {
            0 => format!("a database of {workload}"),
            _ => checked.warehouses.counted(),
        },
        match (subject.topology(), subject.schemas(), subject.instances()) {
            (Topology::Shards, _, shards) => format!(" in {shards} shards"),
            (_, 1, 1) => String::new(),
            (_, 1, servers) => format!(" on each of {servers} {}s", subject.word_for_database()),
            (_, schemas, _) => format!(" in each of {schemas} schemas"),
        }
    )
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
            check.offending_rows,
            check.examples_json()
        ),
        false => String::new(),
    };
    format!("{:<4}{verdict:<7}{} ({})\n{of_failed}", check.name, check.title, check.clause)
}
