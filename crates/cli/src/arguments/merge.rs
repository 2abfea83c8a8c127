//! The command line of `mydyno merge`.

use clap::Args;
use std::path::PathBuf;

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
