//! Why results files do not become one.

use crate::StoreError;
use base::Exit;
use std::path::PathBuf;
use thiserror::Error;

/// Why results files were not merged. All files are as they were.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum MergeError {
    #[error(transparent)]
    Store(#[from] StoreError),

    #[error(
        "no results file {}; name files that `mydyno lab run --results` wrote", input.display()
    )]
    Missing { input: PathBuf },

    #[error("{} and {} are one file; name it once", one.display(), other.display())]
    SameFile { one: PathBuf, other: PathBuf },

    #[error(
        "{} is the output {}, which keeps what it has; name only the files that are to be added",
        input.display(), output.display()
    )]
    IntoItself { input: PathBuf, output: PathBuf },

    #[error(
        "lab {lab} ({name}) of {} is being executed; wait for its end", file.display()
    )]
    Running { file: PathBuf, lab: i64, name: String },

    #[error(
        "lab {lab} ({name}) of {} is being executed on another machine, or was killed there; \
         wait for its end or go on with it, or, if it is dead, run `mydyno lab status --results \
         {}`, which marks it",
        file.display(), file.display()
    )]
    RunningElsewhere { file: PathBuf, lab: i64, name: String },

    #[error(
        "{} has a lab of plan {one_name}, {} one of {}; a merged file has one plan: merge the \
         files of each by themselves",
        one.display(), other.display(), differs(one_name, other_name)
    )]
    OtherPlan { one: PathBuf, one_name: String, other: PathBuf, other_name: String },

    #[error(
        "{} was measured by mydyno {one_version}, {} by {other_version}, and a lab is not mixed \
         of two; measure one of them again",
        one.display(), other.display()
    )]
    OtherVersion { one: PathBuf, one_version: String, other: PathBuf, other_version: String },

    #[error(
        "cell {ordinal} has another {field} in {} ({is}) than in {} ({was}), and a lab is not \
         mixed of two; measure one of them again",
        file.display(), before.display()
    )]
    OtherCell {
        before: PathBuf,
        file: PathBuf,
        ordinal: u32,
        field: &'static str,
        was: String,
        is: String,
    },

    #[error(
        "cell {ordinal}, repeat {repeat} was measured twice: in {} and, with other results, in \
         {}; leave one of the files out",
        before.display(), file.display()
    )]
    MeasuredTwice { before: PathBuf, file: PathBuf, ordinal: u32, repeat: u32 },

    #[error(
        "another `mydyno merge` writes {} at this moment; wait for its end", output.display()
    )]
    MergedByAnother { output: PathBuf },

    #[error(
        "cannot write {} ({cause}); its directory must exist, be writable and have room",
        output.display()
    )]
    Write { output: PathBuf, cause: std::io::Error },
}

/// Another plan, in words.
fn differs(one: &str, other: &str) -> String {
    if one == other { format!("another plan with the name {other}") } else { other.to_owned() }
}

impl MergeError {
    /// The exit code of a program that ends with this error.
    pub fn exit(&self) -> Exit {
        match self {
            MergeError::Store(error) => error.exit(),
            MergeError::Missing { .. }
            | MergeError::SameFile { .. }
            | MergeError::IntoItself { .. } => Exit::Usage,
            MergeError::Running { .. }
            | MergeError::RunningElsewhere { .. }
            | MergeError::MergedByAnother { .. }
            | MergeError::Write { .. } => Exit::Environment,
            MergeError::OtherPlan { .. }
            | MergeError::OtherVersion { .. }
            | MergeError::OtherCell { .. }
            | MergeError::MeasuredTwice { .. } => Exit::Failed,
        }
    }
}
