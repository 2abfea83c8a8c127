//! Where results go.

use clap::Args;
use std::path::PathBuf;

#[derive(Args)]
pub struct ResultsArguments {
    /// Results file, a SQLite database
    #[arg(long, value_name = "FILE", default_value = "mydyno.db")]
    pub results: PathBuf,
}
