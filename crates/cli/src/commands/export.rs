//! `mydyno export`.

use super::lab_or_last;
use super::report::write_file;
use crate::arguments::output::{ExportArguments, ExportFormat};
use crate::console::print;
use crate::failure::Outcome;
use base::Exit;
use report::{export_csv, export_hlog, export_markdown};
use std::path::Path;
use store::Results;

/// Runs the command.
pub fn run(arguments: &ExportArguments) -> Outcome {
    let results = Results::open(&arguments.results.results)?;
    let lab = lab_or_last(&results, arguments.lab)?;
    let directory =
        |default: &'static str| arguments.to.as_deref().unwrap_or(Path::new(default)).to_owned();
    let files = match arguments.format {
        ExportFormat::Csv => export_csv(&results, lab, &directory("mydyno-csv"))?,
        ExportFormat::Hlog => export_hlog(&results, lab, &directory("mydyno-hlog"))?,
        ExportFormat::Markdown => {
            let text = export_markdown(&results, lab)?;
            let Some(file) = &arguments.to else {
                return print(text);
            };
            write_file(file, &text)?;
            vec![file.clone()]
        }
    };
    for file in files {
        print(format_args!("{}\n", file.display()))?;
    }
    Ok(Exit::Ok)
}
