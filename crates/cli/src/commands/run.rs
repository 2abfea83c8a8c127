//! `mydyno run`.

use super::{as_rank, lab_options, measure, show_of};
use crate::arguments::{
    FleetArguments, MeasuringArguments, ResultsArguments, listen_address, one_of,
};
use crate::console::{live_stdout, stop_flag, tell};
use crate::failure::{Failure, Outcome};
use crate::junit::{self, TestCase, TestEnd};
use crate::text;
use crate::tpcc_mysql_format::Asked;
use crate::tpcc_mysql_live::TpccMysqlLive;
use crate::views::{Live, LiveOptions};
use analyse::{FailCondition, JudgedCondition, RunDocument};
use base::{Exit, named};
use clap::Args;
use fleet::Leader;
use lab::{FleetWork, LabRunOptions, Progress, planned_cell};
use serde::Serialize;
use spec::{Cell, WorkloadKind};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};
use store::Results;

#[derive(Args)]
pub struct RunArguments {
    /// Condition under which the run counts as failed (exit code 7): a figure of it, a comparison
    /// (<, <=, > or >=) and a number, such as 'p95_ms>50' or 'nopm<10000'; docs/json.md lists the
    /// figures. May be given again
    #[arg(long, value_name = "CONDITION", value_parser = FailCondition::parse)]
    pub fail_if: Vec<FailCondition>,
    /// File to write as JUnit XML, for pipelines: the run, each check and each condition of
    /// --fail-if is a test
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// Output format: words (a summary for people) or tpcc-mysql (what tpcc_start prints, live, for
    /// scripts that read it)
    #[arg(
        long, default_value = "words", conflicts_with = "json",
        value_parser = one_of(Format::ALL, Format::name)
    )]
    pub format: Format,
    /// Say how long each part of a measurement took: copying, starting, driving, checking, ending
    #[arg(short, long)]
    pub verbose: bool,
    /// Show the run live: a dashboard on a terminal, else a line for each interval; the summary
    /// follows
    #[arg(long, conflicts_with = "json")]
    pub watch: bool,
    /// Address at which Prometheus reads mydyno's own metrics during the run:
    /// http://ADDRESS/metrics; 127.0.0.1:9187 is for this machine only
    #[arg(long, value_name = "ADDRESS", value_parser = listen_address)]
    pub metrics_listen: Option<SocketAddr>,
    #[command(flatten)]
    pub results: ResultsArguments,
    /// Print one JSON document on stdout
    #[arg(long)]
    pub json: bool,
    // Last, as their sections of the help are.
    #[command(flatten)]
    pub fleet: FleetArguments,
    #[command(flatten)]
    pub measuring: MeasuringArguments,
}

named! {
    /// How `mydyno run` prints.
    pub enum Format {
        Words = "words",
        TpccMysql = "tpcc-mysql",
    }
}

/// The JSON document of the command.
#[derive(Serialize)]
struct JudgedRunDocument<'a> {
    #[serde(flatten)]
    measurement: &'a RunDocument,
    conditions: &'a [JudgedCondition],
}

/// Runs the command.
pub fn run(arguments: &RunArguments) -> Outcome {
    let mut verdict = RunVerdict::begin(arguments)?;
    let ended = drive(arguments, &mut verdict);
    verdict.end(ended)
}

fn drive(arguments: &RunArguments, verdict: &mut RunVerdict<'_>) -> Outcome {
    let cell = request(arguments)?;
    let stop = stop_flag();
    let work = FleetWork::Drive(&cell);
    as_rank(&arguments.fleet, ("run", &work), &stop, |fleet| {
        drive_cell((arguments, verdict), &cell, fleet, &stop)
    })
}

fn drive_cell(
    (arguments, verdict): (&RunArguments, &mut RunVerdict<'_>),
    cell: &Cell,
    fleet: Option<Arc<Leader>>,
    stop: &Arc<AtomicBool>,
) -> Outcome {
    // An address that cannot be had is told before anything is started.
    let RunArguments { watch, metrics_listen, verbose, .. } = *arguments;
    let shown = LiveOptions { watch, metrics_listen, verbose, ..LiveOptions::default() };
    let mut live = Live::begin(shown, stop)?;
    lab::check_meters(&cell.meters, stop)?;
    let results = Results::create_or_open(&arguments.results.results)?;
    let planned = planned_cell("run", cell.clone())?;
    let is_tpcc_mysql = arguments.format == Format::TpccMysql;
    let mut outlet = is_tpcc_mysql.then(live_stdout).transpose()?;
    let mut tpcc_mysql: Option<TpccMysqlLive<'_>> = None;
    let options = LabRunOptions { fleet, ..lab_options() };
    let planned = (&results, planned);
    let measured = measure(planned, &options, &mut live, &mut |progress, _| {
        match (&mut tpcc_mysql, progress) {
            (_, Progress::Reached { subject, .. }) => {
                let (options, connect) = (&arguments.measuring.options, subject.connect.clone());
                let begin = |outlet| TpccMysqlLive::begin(outlet, Asked { options, cell, connect });
                tpcc_mysql = outlet.take().map(begin);
                false
            }
            // A live format takes the place of the bar.
            (
                Some(format),
                Progress::RunStarts { .. } | Progress::Run(_) | Progress::Interval(_),
            ) => {
                format.show(progress);
                true
            }
            _ => false,
        }
    });
    let exit = measured.ended?.exit;
    let Some(repeat) = measured.repeats.first().copied() else { return Ok(exit) };
    let (measurement, conditions) = verdict.judge(analyse::measurement(&results, repeat)?);
    let summary = &measurement.summary;
    if let Some(tpcc_mysql) = &mut tpcc_mysql {
        tpcc_mysql.finish(&results, repeat)?;
    } else {
        let found = JudgedRunDocument { measurement, conditions: &conditions };
        show_of(summary.throughput_metric, arguments.json, &found, || {
            let (run, judged) = (text::summary(measurement), text::conditions(&conditions));
            let file = arguments.results.results.display();
            format!("{run}{judged}\nfull report: mydyno report --results {file}\n")
        })?;
    }
    if let (Some(reason), false) = (&summary.reason, exit == Exit::Ok) {
        let log = results.repeat(repeat)?.log_tail.unwrap_or_default();
        let failure = Failure::new(
            exit,
            match (exit, log.as_str()) {
                (Exit::Interrupted, _) => reason.clone(),
                (_, "") => format!("the run failed: {reason}"),
                _ => format!("the run failed: {reason}; the end of the server's log:\n{log}"),
            },
        );
        return Err(Failure { reason: summary.reason_code.clone(), ..failure });
    }
    Ok(exit)
}

/// What is asked for.
///
/// # Errors
/// What contradicts itself.
pub(super) fn request(arguments: &RunArguments) -> Result<Cell, Failure> {
    let cell = arguments.measuring.cell(|_| ())?;
    if arguments.format == Format::TpccMysql {
        require_fit_for_tpcc_mysql(arguments.watch, &cell)?;
    }
    // Conditions about figures that the workload has.
    let is_tpcc = cell.load.workload.is_tpcc();
    match arguments.fail_if.iter().find_map(|condition| condition.misfit(is_tpcc)) {
        Some(words) => Err(Failure::usage(format!("--fail-if: {words}"))),
        None => Ok(cell),
    }
}

/// Refuses what the output format of tpcc-mysql has no words for.
fn require_fit_for_tpcc_mysql(is_watched: bool, cell: &Cell) -> Result<(), Failure> {
    let Cell { load, lengths, .. } = cell;
    Failure::usage_if(
        is_watched,
        "--watch and --format tpcc-mysql both print while the run goes on; leave one out",
    )?;
    Failure::usage_if(
        load.workload == WorkloadKind::TpccSpec || !load.workload.is_tpcc(),
        "--format tpcc-mysql has no words for terminals and deferred Deliveries, nor for other \
         transactions than TPC-C's; use --workload tpcc or tpcc-mysql, or leave out --format",
    )?;
    Failure::usage_if(
        lengths.warmup.is_auto || lengths.window.is_auto,
        "--format tpcc-mysql tells its times before the run; give --warmup and --window as times",
    )?;
    let times = [lengths.warmup.most, lengths.window.most, lengths.interval];
    Failure::usage_if(
        times.iter().any(|time| time.subsec_nanos() > 0),
        "--format tpcc-mysql knows whole seconds only; give --warmup, --window and --interval in \
         whole seconds",
    )
}

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
                // It did all that was asked for.
                reason: Some("fail_if".to_owned()),
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

#[cfg(test)]
mod tests {
    use super::request;
    use crate::{Arguments, Command};
    use clap::Parser;
    use spec::Lengths;

    /// Why it is refused; empty where it is not.
    fn refused(all: &[&[&str]]) -> String {
        let command =
            Arguments::try_parse_from([&["mydyno", "run"], all.concat().as_slice()].concat());
        let Command::Run(run) = command.unwrap().command else { panic!("it is `run`") };
        let cell = request(&run);
        cell.err().map_or_else(String::new, |failure| format!("{:#}", failure.error))
    }

    #[test]
    fn times_that_nobody_names_are_those_of_the_table() {
        let command = Arguments::try_parse_from(["mydyno", "run", "--dsn", "mysql://h/s"]);
        let Command::Run(run) = command.unwrap().command else { panic!("it is `run`") };
        let asked = request(&run).ok().unwrap();
        assert_eq!(asked.lengths, Lengths::default());
    }

    #[test]
    fn contradictions_are_told() {
        let refused = |arguments: &[&str]| refused(&[&["--dsn", "mysql://h/s"], arguments]);
        for right in [
            &["--workload", "tpcc-mysql", "--format", "tpcc-mysql"][..],
            &["--interval", "500ms", "--style", "batched"],
            &["--warmup", "auto:30s", "--window", "auto"],
        ] {
            assert_eq!(refused(right), "");
        }
        for (arguments, word) in [
            (&["--workload", "tpcc-mysql", "--style", "pipelined"][..], "--style"),
            (&["--workload", "tpcc-mysql", "--home"], "--home"),
            (&["--workload", "tpcc-spec", "--rate", "5"], "--rate"),
            (&["--workload", "tpcc-spec", "--home"], "--home"),
            (&["--workload", "tpcc-spec", "--schemas", "2"], "--schemas"),
            (&["--terminals", "5"], "--terminals"),
            (&["--inactive-warehouses", "1"], "tpcc-spec"),
            (
                &["--workload", "tpcc-spec", "-w", "5", "--inactive-warehouses", "5"],
                "leaves none of the warehouses",
            ),
            (&["--workload", "tpcc-spec", "--format", "tpcc-mysql"], "terminals"),
            (&["--format", "tpcc-mysql", "--interval", "1500ms"], "whole seconds"),
            (&["--format", "tpcc-mysql", "--watch"], "--watch"),
            (&["--format", "tpcc-mysql", "--warmup", "auto"], "as times"),
            (&["--precision", "1%"], "\"auto\""),
            (&["--warmup", "auto:29s"], "30 intervals"),
            (&["--window", "auto:1m", "--interval", "3s"], "30 intervals"),
            (&["--instances", "2"], "mydyno starts"),
            (&["--fail-if", "tpm<1"], "tpm is of other workloads"),
            (&["--workload", "sysbench-oltp", "--fail-if", "nopm<1"], "nopm is of TPC-C"),
        ] {
            let words = refused(arguments);
            assert!(words.contains(word), "{arguments:?}: {words}");
        }
    }

    #[test]
    fn cores_are_of_private_servers() {
        assert_eq!(refused(&[&["--engine", "mysql-5.7", "--cores", "1"]]), "");
        // The server of the option file.
        let words = refused(&[&["--cores", "1"]]);
        assert!(words.contains("--cores: it is for servers that mydyno starts"), "{words}");
        let words = refused(&[&["--cores", "1", "--dsn", "mysql://h/s"]]);
        assert!(words.contains("--cores") && words.contains("there already"), "{words}");
        let all = ["mydyno", "run", "--cores", "0"];
        let error = Arguments::try_parse_from(all).err().unwrap().to_string();
        assert!(error.contains("--cores"), "{error}");
    }

    #[test]
    fn instances_are_private_servers_with_connections() {
        let with = |more: &[&str]| refused(&[&["--engine", "mysql-5.7", "--instances"], more]);
        assert_eq!(with(&["8"]), "");
        assert_eq!(with(&["1", "--workload", "tpcc-spec"]), "");
        for (words, word) in [
            (with(&["9"]), "9 instances cannot share 8 connections"),
            (with(&["2", "-c", "1"]), "cannot share 1"),
            (with(&["2", "--workload", "tpcc-spec"]), "tpcc-spec"),
        ] {
            assert!(words.contains(word), "{words:?}");
        }
    }
}
