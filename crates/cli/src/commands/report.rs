//! `mydyno report`.

use super::lab_or_last;
use crate::arguments::output::ReportArguments;
use crate::console::print;
use crate::failure::{Failure, Outcome};
use base::Exit;
use std::path::Path;
use store::{LabId, Results};

/// Runs the command.
pub fn run(arguments: &ReportArguments) -> Outcome {
    let results = Results::open(&arguments.results.results)?;
    let lab = lab_or_last(&results, arguments.lab)?;
    write_report(&results, lab, &arguments.output)?;
    print(format_args!("{}\n", arguments.output.display()))?;
    Ok(Exit::Ok)
}

/// Writes the report of a lab to a file.
pub fn write_report(results: &Results, lab: LabId, output: &Path) -> Result<(), Failure> {
    let html = report::render(results, lab)?;
    std::fs::write(output, html).map_err(|error| {
        Failure::new(
            Exit::Environment,
            format!("cannot write {}: {error}; name another place with -o", output.display()),
        )
    })
}
