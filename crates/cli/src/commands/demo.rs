//! `mydyno demo`.

use super::{begin_lab, print_json};
use crate::arguments::DemoArguments;
use crate::commands::report::write_report;
use crate::console::{Console, print, stop_flag};
use crate::failure::Outcome;
use crate::words;
use ::server::Home;
use analyse::Measurement;
use base::Exit;
use lab::{DemoSpec, demo};
use serde::Serialize;
use store::{LabStatus, Results, Summary};

/// The JSON document of the command.
#[derive(Serialize)]
struct Document<'a> {
    report: &'a std::path::Path,
    runs: Vec<Measurement>,
}

/// Runs the command.
pub fn run(arguments: &DemoArguments) -> Outcome {
    let stop = stop_flag();
    let home = Home::from_env()?;
    let results = Results::create_or_open(&arguments.results.results)?;
    let lab = begin_lab(&results, "demo", Some(home.root()))?;
    let mut console = Console::new()?;
    let spec = DemoSpec {
        engine: arguments.engine.clone(),
        ..DemoSpec::default()
    };
    let measured = demo(&home, &results, lab, &spec, &stop, &mut |p| console.show(p));
    console.done();
    let (status, reason) = match &measured {
        Ok(report) if report.exit == Exit::Ok => (LabStatus::Done, None),
        Ok(report) if report.exit == Exit::Interrupted => (LabStatus::Interrupted, None),
        Ok(_) => (LabStatus::Failed, Some("a cell has no result".to_owned())),
        Err(error) if error.exit() == Exit::Interrupted => (LabStatus::Interrupted, None),
        Err(error) => (LabStatus::Failed, Some(error.to_string())),
    };
    results.finish_lab(lab, status, reason.as_deref())?;
    let report = measured?;
    write_report(&results, lab, &arguments.output)?;
    let mut runs = Vec::new();
    for repeat in &report.repeats {
        runs.push(analyse::measurement(&results, *repeat)?);
    }
    if arguments.json {
        print_json(&Document {
            report: &arguments.output,
            runs,
        })?;
    } else {
        for run in &runs {
            print(format_args!("{}\n", words::summary(run)))?;
        }
        let summaries: Vec<&Summary> = runs.iter().map(|run| &run.summary).collect();
        print(words::comparison(&summaries))?;
        print(format_args!("report: {}\n", arguments.output.display()))?;
    }
    Ok(report.exit)
}
