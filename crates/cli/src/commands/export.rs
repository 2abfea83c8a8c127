//! `mydyno export`.

use super::lab_or_last;
use super::report::write_file;
use crate::arguments::ResultsArguments;
use crate::console::print;
use crate::failure::Outcome;
use base::Exit;
use clap::{Args, ValueEnum};
use report::{export_csv, export_hlog, export_markdown};
use std::path::{Path, PathBuf};
use store::Results;

/// What `mydyno export` writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    Csv,
    Hlog,
    Markdown,
}

#[derive(Args)]
pub struct ExportArguments {
    /// Number of the lab [default: the last one]
    pub lab: Option<i64>,
    /// What to write: csv (all numbers), hlog (response times, interval logs of HdrHistogram) or
    /// markdown (the answer and a table, for a ticket)
    #[arg(long, value_enum, default_value_t = ExportFormat::Csv)]
    pub format: ExportFormat,
    /// Directory for the files [default: mydyno-csv, mydyno-hlog]; of markdown the file [default:
    /// stdout]
    #[arg(long, value_name = "PATH")]
    pub to: Option<PathBuf>,
    #[command(flatten)]
    pub results: ResultsArguments,
}

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
            let Some(file) = &arguments.to else { return print(text) };
            write_file(file, &text)?;
            vec![file.clone()]
        }
    };
    for file in files {
        print(format_args!("{}\n", file.display()))?;
    }
    Ok(Exit::Ok)
}
