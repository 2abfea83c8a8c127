//! `mydyno export`.

use super::lab_or_last;
use crate::arguments::output::ExportArguments;
use crate::console::print;
use crate::failure::Outcome;
use base::Exit;
use store::Results;

/// Runs the command.
pub fn run(arguments: &ExportArguments) -> Outcome {
    let results = Results::open(&arguments.results.results)?;
    let lab = lab_or_last(&results, arguments.lab)?;
    for file in report::export_csv(&results, lab, &arguments.output)? {
        print(format_args!("{}\n", file.display()))?;
    }
    Ok(Exit::Ok)
}
