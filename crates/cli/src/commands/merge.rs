//! `mydyno merge`.

use super::show;
use crate::failure::Outcome;
use base::counted;
use clap::Args;
use serde::Serialize;
use std::path::{Path, PathBuf};
use store::{MergeSummary, MergedLab, merge};

#[derive(Args)]
pub struct MergeArguments {
    /// Results files of machines, one or more
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Results file that they are added to
    #[arg(long, value_name = "FILE", required = true)]
    pub into: PathBuf,
    /// Print one JSON document on stdout
    #[arg(long)]
    pub json: bool,
}

/// The JSON document of `merge`.
#[derive(Serialize)]
struct MergeDocument<'a> {
    results_file: &'a Path,
    #[serde(flatten)]
    summary: &'a MergeSummary,
}

/// Runs the command.
pub fn run(arguments: &MergeArguments) -> Outcome {
    let output = &arguments.into;
    let summary = &merge(&arguments.files, output)?;
    let document = MergeDocument { results_file: output, summary };
    show(arguments.json, 1, &document, || words(output, summary))
}

fn words(output: &Path, summary: &MergeSummary) -> String {
    let mut out = String::new();
    for file in &summary.files {
        let added = counted(file.repeats.added, "repeat", "repeats");
        out += &format!("{}: {added} added", file.path.display());
        if file.repeats.there > 0 {
            out += &format!(", {} there already", file.repeats.there);
        }
        out.push('\n');
    }
    if !summary.is_changed {
        out += &format!("{} has all of it, and was left as it is\n", output.display());
    }
    for lab in &summary.labs {
        let machines = match lab.machines.as_slice() {
            [] => String::new(),
            all => format!(", measured on {}", all.join(", ")),
        };
        let reason = lab.reason.iter().map(|reason| format!(", {reason}"));
        let reason: String = reason.collect();
        let MergedLab { lab, name, status, .. } = lab;
        out += &format!("lab {lab} ({name}): {status}{reason}{machines}\n");
    }
    out
}
