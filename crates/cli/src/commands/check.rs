//! `mydyno check`.

use super::show;
use crate::arguments::database::CheckArguments;
use crate::arguments::measuring::read_place;
use crate::console::{Console, stop_flag};
use crate::failure::{Failure, Outcome};
use crate::text::acid::acid_text;
use base::{Exit, document};
use lab::{
    AcidFinding, AcidLevels, AcidVerdict, CheckSet, Checked, Job, Phenomenon, Subject, start_server,
};
use plan::{CellOptions, Given};
use spec::{Topology, WorkloadKind, defaults};
use store::StoredCheck;

document! {
    /// The JSON document of the command.
    struct CheckDocument from (
        subject: &Subject,
        checked: &Checked,
        acid: Option<&Acid>,
        told: &[String]
    );
    let acid_failed = acid.is_some_and(Acid::has_failed);
    {
        target: String = subject.dsn(),
        warehouses: u32 = checked.warehouses.0,
        schemas: u32 = subject.schemas(),
        passed: bool = checked.checks.iter().all(|check| check.passed) && !acid_failed,
        notes: Vec<String> = told.to_vec(),
        /// `null` without `--acid`.
        acid: Option<Vec<AcidTestDocument>> = acid.map(Acid::documents),
        checks: Vec<StoredCheck> = checked.checks.clone(),
    }
}

document! {
    struct AcidTestDocument from (found: &AcidFinding, required: bool);
    {
        name: &'static str = found.test.name,
        title: &'static str = found.test.title,
        clause: &'static str = found.test.clause,
        isolation: &'static str = found.isolation.name(),
        verdict: &'static str = found.verdict.name(),
        required: bool = required,
        phenomenon: Option<&'static str> = found.phenomenon.map(Phenomenon::name),
        evidence: Vec<String> = found.evidence.clone(),
    }
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
        let document =
            |found: &AcidFinding| AcidTestDocument::of(found, self.asked.requires(found.isolation));
        self.findings.iter().map(document).collect()
    }
}

/// Runs the command.
pub fn run(arguments: &CheckArguments) -> Outcome {
    let set = if arguments.population { CheckSet::Population } else { CheckSet::Consistency };
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
    let found = CheckDocument::of(&subject, &checked, acid.as_ref(), &console.notes);
    show(arguments.json, 1, &found, || {
        let acid = acid.iter().map(|acid| acid_text(acid.asked, &acid.findings));
        let workload = &arguments.workload;
        acid.collect::<String>() + &checks_text(&checked, &subject, workload)
    })?;
    let is_good = checked.unexpected.is_empty() && !acid.is_some_and(|acid| acid.has_failed());
    Ok(if is_good { Exit::Ok } else { Exit::CheckFailed })
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
        match (subject.topology, subject.schemas(), subject.instances()) {
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
