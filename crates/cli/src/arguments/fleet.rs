//! The command line of a fleet: one measurement that several machines drive.

use super::values::duration;
use crate::failure::Failure;
use base::Exit;
use clap::Args;
use fleet::{FleetPlace, Launched, Token};
use lab::FleetAsked;
use std::path::PathBuf;
use std::time::Duration;

const FLEET: &str = "Fleet";

#[derive(Args)]
pub struct FleetArguments {
    /// Drive together with the same command on other machines, which a scheduler starts: Slurm, an
    /// MPI launcher, an Indexed Job of Kubernetes, or a person (--rank, --size, --join). Rank 0
    /// stores and prints the result. All need the same token (MYDYNO_FLEET_TOKEN)
    #[arg(help_heading = FLEET, long)]
    pub fleet: bool,
    /// Number of this process in the fleet, from 0 [default: as the launcher says]
    #[arg(help_heading = FLEET, long, value_name = "N", requires = "fleet")]
    pub rank: Option<u32>,
    /// Number of processes of the fleet [default: as the launcher says, or MYDYNO_FLEET_SIZE]
    #[arg(help_heading = FLEET, long, value_name = "N", requires = "fleet")]
    pub size: Option<u32>,
    /// Where rank 0 listens, for all ranks the same [default: the first node of the launcher's
    /// list]
    #[arg(help_heading = FLEET, long, value_name = "HOST:PORT", requires = "fleet")]
    pub join: Option<String>,
    /// Number of ranks that may be lost while they drive: the result is marked then [default: 0]
    #[arg(help_heading = FLEET, long, value_name = "N", default_value_t = 0,
          hide_default_value = true, requires = "fleet")]
    pub tolerate: u32,
    /// File with the token, instead of MYDYNO_FLEET_TOKEN
    #[arg(help_heading = FLEET, long, value_name = "FILE", requires = "fleet")]
    pub fleet_token_file: Option<PathBuf>,
    /// Time that ranks wait for each other before they give up
    #[arg(help_heading = FLEET, long, value_name = "TIME", default_value = "2m",
          value_parser = duration, requires = "fleet")]
    pub fleet_wait: Duration,
}

impl FleetArguments {
    /// The fleet that is asked for, of ranks that all do `command`.
    ///
    /// # Errors
    /// Where nobody says which rank this is, or what the token is.
    pub fn asked(&self, command: &'static str) -> Result<Option<FleetAsked>, Failure> {
        if !self.fleet {
            return Ok(None);
        }
        let launched = Launched { rank: self.rank, size: self.size, join: self.join.clone() };
        let place = FleetPlace::find(&launched, &|name| std::env::var(name).ok())?;
        let token = Token::find(self.fleet_token_file.as_deref())?;
        if self.tolerate >= place.size {
            let words = format!(
                "--tolerate {} is all of {} ranks; rank 0 cannot be lost",
                self.tolerate, place.size
            );
            return Err(Failure::new(Exit::Usage, words));
        }
        let wait = self.fleet_wait;
        Ok(Some(FleetAsked { command, place, token, tolerate: self.tolerate, wait }))
    }
}
