//! What `mydyno run` tells pipelines: which conditions of `--fail-if` hold, and the file of
//! `--junit`.

use crate::arguments::run::RunArguments;
use crate::console::tell;
use crate::failure::{Failure, Outcome};
use crate::junit::{self, TestCase, TestEnd};
use analyse::{JudgedCondition, RunDocument};
use base::Exit;
use std::time::{Duration, Instant};

/// Why a run failed that did all that was asked for, for programs.
const BEYOND_LIMITS: &str = "fail_if";

/// What is known of a run.
pub struct RunVerdict<'a> {
    arguments: &'a RunArguments,
    begun: Instant,
    run: Option<RunDocument>,
    /// This process is not rank 0 of a fleet, which tells for all.
    is_follower: bool,
}

impl<'a> RunVerdict<'a> {
    /// Before anything is started; the file says so meanwhile, also where the process is killed.
    ///
    /// # Errors
    /// The file cannot be written, or nobody knows which rank this is.
    pub fn begin(arguments: &'a RunArguments) -> Result<RunVerdict<'a>, Failure> {
        let asked = arguments.fleet.asked("run")?;
        let is_follower = asked.is_some_and(|asked| asked.place.rank > 0);
        let verdict = RunVerdict { arguments, begun: Instant::now(), run: None, is_follower };
        verdict.write(Some(("running", "the run has not ended".to_owned())))?;
        Ok(verdict)
    }

    /// What came of the conditions by this measurement.
    pub fn judge(&mut self, run: RunDocument) -> (&RunDocument, Vec<JudgedCondition>) {
        let run = self.run.insert(run);
        (run, judged(self.arguments, Some(run)))
    }

    /// Writes the file, and fails what else went well where a condition holds.
    pub fn end(self, ended: Outcome) -> Outcome {
        let failure = match &ended {
            Ok(Exit::Ok) => None,
            Ok(exit) => Some((exit.word(), exit.meaning().to_owned())),
            Err(of) => Some((of.reason.as_deref().unwrap_or(of.exit.word()), of.message())),
        };
        let written = self.write(failure);
        let ended = ended.and_then(|exit| match (exit, beyond(&self.judged())) {
            (Exit::Ok, Some(words)) => Err(Failure {
                reason: Some(BEYOND_LIMITS.to_owned()),
                ..Failure::new(Exit::Regression, words)
            }),
            _ => Ok(exit),
        });
        match (written, ended) {
            (Err(unwritten), Ok(Exit::Ok)) => Err(unwritten),
            (Err(unwritten), ended) => {
                tell(format_args!("note: {}", unwritten.message()));
                ended
            }
            (Ok(()), ended) => ended,
        }
    }

    fn judged(&self) -> Vec<JudgedCondition> {
        if self.is_follower { Vec::new() } else { judged(self.arguments, self.run.as_ref()) }
    }

    /// `failure` is why the run failed, for programs and for people.
    fn write(&self, failure: Option<(&str, String)>) -> Result<(), Failure> {
        let Some(file) = self.arguments.junit.as_ref().filter(|_| !self.is_follower) else {
            return Ok(());
        };
        let mut cases = vec![TestCase {
            kind: "run",
            name: "run".to_owned(),
            time: self.begun.elapsed(),
            ended: match failure {
                None => TestEnd::Passed,
                Some((reason, words)) => TestEnd::Broken(reason.to_owned(), words),
            },
        }];
        let is_done = self.run.as_ref().is_some_and(|run| run.summary.status == "done");
        let checks = self.run.iter().flat_map(|run| &run.summary.checks);
        cases.extend(checks.map(|check| TestCase {
            kind: "check",
            name: format!("{} {}", check.name, check.title),
            time: Duration::from_nanos(check.duration_ns),
            ended: match check.passed {
                true => TestEnd::Passed,
                // What cannot hold after workload tpcc-mysql does not fail a run.
                false if is_done => TestEnd::Skipped(format!(
                    "{} offending rows, as expected where workload tpcc-mysql has run",
                    check.offending_rows
                )),
                false => TestEnd::Failed(format!("{} offending rows", check.offending_rows)),
            },
        }));
        cases.extend(self.judged().iter().map(|of| TestCase {
            kind: "fail_if",
            name: of.to_string(),
            time: Duration::ZERO,
            ended: if of.failed { TestEnd::Failed(of.found()) } else { TestEnd::Passed },
        }));
        junit::write(file, &cases)
    }
}

fn judged(arguments: &RunArguments, run: Option<&RunDocument>) -> Vec<JudgedCondition> {
    arguments.fail_if.iter().map(|condition| condition.judge(run)).collect()
}

/// Which conditions failed the run, and by which figures; `None` where none did.
fn beyond(judged: &[JudgedCondition]) -> Option<String> {
    let failed: Vec<&JudgedCondition> = judged.iter().filter(|of| of.failed).collect();
    let each = failed.iter().map(|of| format!("{} ({of})", of.found()));
    let words = each.collect::<Vec<_>>().join("; ");
    let count =
        format!("{} of {}", failed.len(), base::counted(judged.len(), "condition", "conditions"));
    (!failed.is_empty()).then(|| format!("{count} of --fail-if: {words}"))
}
