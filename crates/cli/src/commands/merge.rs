//! `mydyno merge`.

use super::print_json;
use crate::arguments::merge::MergeArguments;
use crate::console::print;
use crate::failure::Outcome;
use base::{Exit, counted, document};
use std::path::Path;
use store::{MergeSummary, MergedFile, MergedLab, merge};

document! {
    /// The JSON document of `merge`.
    struct MergeDocument<'a> from (output: &'a Path, summary: &'a MergeSummary);
    {
        schema_version: u32 = 1,
        results_file: &'a Path = output,
        changed: bool = summary.is_changed,
        files: Vec<FileDocument<'a>> = summary.files.iter().map(FileDocument::of).collect(),
        labs: Vec<LabDocument<'a>> = summary.labs.iter().map(LabDocument::of).collect(),
    }
}

document! {
    struct FileDocument<'a> from (of: &'a MergedFile);
    {
        file: &'a Path = &of.path,
        repeats_added: usize = of.repeats.added,
        repeats_there: usize = of.repeats.there,
    }
}

document! {
    struct LabDocument<'a> from (of: &'a MergedLab);
    {
        lab_id: i64 = of.lab.0,
        name: &'a str = &of.name,
        status: &'static str = of.status.as_str(),
        reason: Option<&'a str> = of.reason.as_deref(),
        machines: &'a [String] = &of.machines,
    }
}

/// Runs the command.
pub fn run(arguments: &MergeArguments) -> Outcome {
    let output = &arguments.into;
    let summary = merge(&arguments.files, output)?;
    if arguments.json {
        print_json(&MergeDocument::of(output, &summary))?;
    } else {
        print(words(output, &summary))?;
    }
    Ok(Exit::Ok)
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
