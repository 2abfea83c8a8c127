//! `mydyno check`.

use super::show;
use crate::arguments::{acid_levels, read_place, warehouses};
use crate::console::{Console, stop_flag};
use crate::failure::{Failure, Outcome};
use base::{Exit, document};
use clap::Args;
use lab::{
    AcidFinding, AcidLevels, AcidVerdict, CheckSet, Checked, Job, Phenomenon, Subject, start_server,
};
use plan::{CellOptions, Given, TargetOptions};
use spec::{Topology, WorkloadKind, defaults};
use store::StoredCheck;

#[derive(Args)]
pub struct CheckArguments {
    /// Workload of the database, as `--workload` of `mydyno run`; FILE.toml has checks of its own
    #[arg(long, default_value_t = defaults::WORKLOAD)]
    #[arg(conflicts_with_all = ["engine", "server_binary"])]
    pub workload: WorkloadKind,
    /// Check also that the rows are those that TPC-C loads (clause 4.3.3.1), whatever tool has
    /// loaded them; after a run, what a run leaves as it is
    #[arg(long)]
    pub population: bool,
    /// Test atomicity, isolation and durability first (clause 3 of TPC-C). The transactions of the
    /// tests stay in the database, which nobody else may use meanwhile; a private server is killed
    /// under load and started again
    #[arg(long, conflicts_with_all = ["population", "schemas", "topology"])]
    pub acid: bool,
    /// Isolation level of the tests of --acid, or all of them, of which repeatable-read and
    /// serializable have to pass [default: repeatable-read]
    #[arg(long, value_name = "LEVEL", requires = "acid", value_parser = acid_levels())]
    pub isolation: Option<AcidLevels>,
    /// Number of warehouses of the private server's image
    #[arg(
        short, long, default_value_t = defaults::WAREHOUSES.0, value_parser = warehouses(),
        conflicts_with_all = ["dsn", "defaults_file"]
    )]
    pub warehouses: u32,
    /// Print one JSON document on stdout
    #[arg(long)]
    pub json: bool,
    // Last, as its section of the help is.
    #[command(flatten)]
    pub target: TargetOptions,
}

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
    Failure::usage_if(
        (arguments.population || arguments.acid) && !arguments.workload.is_tpcc(),
        "--population and --acid are of TPC-C databases; leave them out, or --workload",
    )?;
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
    let mut text = format!("{:<4}{verdict:<7}{} ({})\n", check.name, check.title, check.clause);
    if unexpected {
        let (rows, examples) = (check.offending_rows, check.examples_json());
        text += &format!("           {rows} offending rows, such as {examples}\n");
    }
    text
}

/// Each level with its tests, their evidence, and how many passed.
fn acid_text(asked: AcidLevels, findings: &[AcidFinding]) -> String {
    let mut text = String::new();
    for found in findings {
        let verdict = match found.verdict {
            AcidVerdict::Passed => "ok",
            AcidVerdict::Failed if asked.requires(found.isolation) => "FAILED",
            AcidVerdict::Failed => "fails",
            AcidVerdict::NotTested => "not tested",
        };
        let phenomenon = found.phenomenon.map(|what| format!(": {}", what.name()));
        text += &format!(
            "{:<4}{verdict:<6} {} ({}), {}{}\n",
            found.test.name,
            found.test.title,
            found.test.clause,
            found.isolation.name(),
            phenomenon.unwrap_or_default()
        );
        for line in &found.evidence {
            text += &format!("           {line}\n");
        }
    }
    for level in asked.levels() {
        let of_level = findings.iter().filter(|found| found.isolation == level);
        let tested: Vec<_> =
            of_level.filter(|found| found.verdict != AcidVerdict::NotTested).collect();
        let failed = tested.iter().filter(|found| found.verdict == AcidVerdict::Failed);
        let named: Vec<String> = failed
            .map(|found| {
                let what = found.phenomenon.map_or("no verdict", Phenomenon::name);
                format!("{} {what}", found.test.name)
            })
            .collect();
        let lost = if named.is_empty() { String::new() } else { format!(": {}", named.join(", ")) };
        let passed = tested.len() - named.len();
        text +=
            &format!("{passed} of {} ACID tests passed at {}{lost}\n", tested.len(), level.name());
    }
    text
}
