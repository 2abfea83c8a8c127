//! What the commands that measure have in common: which cell they measure.

use crate::failure::Failure;
use clap::Args;
use plan::{CellOptions, Given};
use spec::{Cell, Place};

#[derive(Args)]
pub struct MeasuringArguments {
    /// Seed of the transaction inputs; a repeated seed gives the same inputs, whose rows may still
    /// be in the server's memory [default: a new one, which the summary names]
    #[arg(long, default_value_t = lab::new_seed(), hide_default_value = true)]
    pub seed: u64,
    #[command(flatten)]
    pub options: CellOptions,
}

impl MeasuringArguments {
    /// What is measured, with what the command adds to the options.
    ///
    /// # Errors
    /// Options that do not go together, and a cell that contradicts itself.
    pub fn cell(&self, add: impl FnOnce(&mut CellOptions)) -> Result<Cell, Failure> {
        let mut options = self.options.clone();
        add(&mut options);
        if let Some(Given(name)) = &options.server.preset {
            server::preset::find(name)?;
        }
        let cell = options.cell(self.seed, &read_place)?;
        cell.validate()?;
        Ok(cell)
    }
}

/// A place as the command line names it.
///
/// # Errors
/// What is wrong with it.
pub fn read_place(text: &str) -> Result<Place, String> {
    storage::parse_place(text).map_err(|error| error.to_string())
}
