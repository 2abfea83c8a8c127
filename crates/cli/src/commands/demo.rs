//! `mydyno demo`.

use super::{begin_lab, print_json};
use crate::arguments::output::DemoArguments;
use crate::commands::report::write_report;
use crate::console::{Console, print, stop_flag};
use crate::failure::Outcome;
use crate::text;
use ::server::Home;
use analyse::Measurement;
use base::Exit;
use lab::{Progress, demo};
use serde::Serialize;
use store::{LabStatus, Results, Summary};

/// The JSON document of the command.
#[derive(Serialize)]
struct DemoDocument<'a> {
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
    let place = (&home, &results, lab);
    let mut repeats = Vec::new();
    let measured = demo(place, &arguments.engine, &stop, &mut |progress| {
        if let Progress::TurnEnds(repeat) = progress {
            repeats.push(repeat);
        }
        console.show(progress);
    });
    console.done();
    let (status, reason) = match &measured {
        Ok(summary) if summary.exit == Exit::Interrupted => (LabStatus::Interrupted, None),
        Ok(summary) if summary.failed > 0 => {
            (LabStatus::Failed, Some("a cell has no result".to_owned()))
        }
        Ok(_) => (LabStatus::Done, None),
        Err(error) if error.exit() == Exit::Interrupted => (LabStatus::Interrupted, None),
        Err(error) => (LabStatus::Failed, Some(error.to_string())),
    };
    results.finish_lab(lab, status, reason.as_deref())?;
    let summary = measured?;
    write_report(&results, lab, &arguments.output)?;
    let mut runs = Vec::new();
    for repeat in repeats {
        runs.push(analyse::measurement(&results, repeat)?);
    }
    if arguments.json {
        print_json(&DemoDocument {
            report: &arguments.output,
            runs,
        })?;
    } else {
        for run in &runs {
            print(format_args!("{}\n", text::summary(run)))?;
        }
        let summaries: Vec<&Summary> = runs.iter().map(|run| &run.summary).collect();
        print(text::comparison(&summaries))?;
        print(format_args!("report: {}\n", arguments.output.display()))?;
    }
    Ok(match summary.exit {
        Exit::Ok if summary.failed > 0 => Exit::Failed,
        exit => exit,
    })
}
