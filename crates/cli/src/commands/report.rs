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
    let output = arguments.output.as_deref().unwrap_or(Path::new("report.html"));
    match &arguments.figure {
        Some(name) => write_figure(output, &report::figure(&results, lab, name)?)?,
        None => write_report(&results, lab, output)?,
    }
    print(format_args!("{}\n", output.display()))?;
    Ok(Exit::Ok)
}

/// Writes a chart, as PNG where the file's name ends in that.
fn write_figure(output: &Path, svg: &str) -> Result<(), Failure> {
    let is_png = output.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("png"));
    if is_png { write_file(output, &report::raster(svg)?) } else { write_file(output, svg) }
}

/// Writes the report of a lab to a file.
pub fn write_report(results: &Results, lab: LabId, output: &Path) -> Result<(), Failure> {
    write_file(output, &report::render(results, lab)?)
}

/// Writes a file.
pub fn write_file(output: &Path, content: &(impl AsRef<[u8]> + ?Sized)) -> Result<(), Failure> {
    std::fs::write(output, content).map_err(|error| {
        Failure::new(
            Exit::Environment,
            format!("cannot write {}: {error}; name another place with -o", output.display()),
        )
    })
}
