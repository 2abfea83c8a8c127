//! `mydyno demo`.

use super::{lab_options, measure, show_of};
use crate::arguments::ResultsArguments;
use crate::commands::report::write_report;
use crate::console::stop_flag;
use crate::failure::Outcome;
use crate::text;
use crate::views::{Live, LiveOptions};
use ::server::Home;
use analyse::{LabAnswer, RunDocument, lab_answer, lab_outcome};
use base::{Dilation, Exit};
use clap::Args;
use lab::{Job, Progress, planned_demo};
use serde::Serialize;
use spec::{defaults, parse_dilation};
use std::path::PathBuf;
use store::{Results, ThroughputMetric};

#[derive(Args)]
pub struct DemoArguments {
    /// Engine of the private servers; installed where it is missing
    #[arg(long, default_value = defaults::ENGINE)]
    pub engine: String,
    /// Run clocks and devices K times slower than real ones, 1/32 to 100, so that this machine
    /// measures as one with cores K times as fast; the demo takes as many times as long. Those of
    /// the disk, which leaves cores idle, run a twentieth of that
    #[arg(
        long, value_name = "K", default_value_t = lab::DEMO_DILATION, value_parser = parse_dilation
    )]
    pub dilate: Dilation,
    /// HTML report
    #[arg(short, long, value_name = "FILE", default_value = "report.html")]
    pub output: PathBuf,
    #[command(flatten)]
    pub results: ResultsArguments,
    /// Print one JSON document on stdout
    #[arg(long)]
    pub json: bool,
}

/// The JSON document of the command.
#[derive(Serialize)]
struct DemoDocument<'a> {
    report: &'a std::path::Path,
    answer: LabAnswer,
    runs: Vec<RunDocument>,
}

/// Runs the command.
pub fn run(arguments: &DemoArguments) -> Outcome {
    let stop = stop_flag();
    let home = Home::from_env()?;
    let results = Results::create_or_open(&arguments.results.results)?;
    let mut live = Live::begin(LiveOptions::default(), &stop)?;
    let mut show = |progress: Progress<'_>| live.console.show(progress);
    let job = Job::new(&stop, &mut show);
    let planned = planned_demo(&home, &arguments.engine, arguments.dilate, &job)?;
    let measured = measure((&results, planned), &lab_options(), &mut live, &mut |_, _| false);
    let summary = measured.ended?;
    write_report(&results, summary.lab, &arguments.output)?;
    let runs = measured.repeats.into_iter().map(|repeat| analyse::measurement(&results, repeat));
    let runs = runs.collect::<Result<Vec<_>, _>>()?;
    let lab = lab_outcome(&results, summary.lab)?;
    let answer = lab_answer(&results, &lab)?;
    let found = DemoDocument { report: &arguments.output, answer, runs };
    show_of(ThroughputMetric::Nopm, arguments.json, &found, || {
        let fidelity = found.runs.iter().filter_map(|run| run.summary.fidelity);
        let in_time = fidelity.min_by(f64::total_cmp).map_or_else(String::new, |least| {
            let least = text::format::percent(least, 2);
            format!("fidelity of the emulation: {least} of requests in time, on the worst device\n")
        });
        let (lab, answer) = (text::lab(&lab), text::answer(&found.answer));
        format!("{lab}{in_time}\n{answer}\nreport: {}\n", arguments.output.display())
    })?;
    Ok(match summary.exit {
        Exit::Ok if summary.failed > 0 => Exit::Failed,
        exit => exit,
    })
}
