//! How much slower clocks run, as the command line says it.

use super::target::TargetArguments;
use crate::failure::Failure;
use base::{Dilation, Exit};
use clap::Args;
use spec::{Dilate, parse_dilation};

/// The dilation that is asked for.
#[derive(Args, Clone)]
pub struct DilateArguments {
    /// Run the clocks and emulated devices of the private server K times slower, 1 to 100, and tell
    /// results in its seconds: this machine measures as one with cores K times as fast. All other
    /// times, such as --window, are dilated ones; auto: the least K at which this machine is no
    /// limit
    #[arg(long, value_name = "K", default_value = "1", value_parser = Dilate::parse)]
    pub dilate: Dilate,
    /// The most that --dilate auto chooses [default: 16]
    #[arg(long, value_name = "K", value_parser = parse_dilation)]
    pub dilate_max: Option<Dilation>,
}

impl DilateArguments {
    /// What is asked for.
    pub fn asked(&self) -> Dilate {
        self.dilate.at_most(self.dilate_max)
    }

    /// Refuses what nothing would obey.
    ///
    /// # Errors
    /// For a server that is not private, and a bound of what is fixed.
    pub fn validate(&self, target: &TargetArguments) -> Result<(), Failure> {
        let refuse = |why: &str| Err(Failure::new(Exit::Usage, why));
        if self.dilate != Dilate::NONE && !target.is_private() {
            return refuse(
                "--dilate is for servers that mydyno starts, as the clock of another cannot be \
                 slowed down: use --engine, or `mydyno server start --dilate`",
            );
        }
        if self.dilate_max.is_some() && self.dilate.fixed().is_some() {
            return refuse("--dilate-max bounds --dilate auto; name that, or leave it out");
        }
        Ok(())
    }
}
