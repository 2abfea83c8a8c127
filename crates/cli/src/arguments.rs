//! What the command lines of several subcommands have in common.

use crate::failure::Failure;
use base::limits;
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use fleet::{FleetPlace, Launched, Token};
use lab::{AcidLevels, FleetAsked};
use plan::{CellOptions, DURATION_MAX_MS, Given, Time};
use spec::{Cell, Isolation, Place};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Args)]
pub struct ResultsArguments {
    /// Results file, a SQLite database
    #[arg(long, value_name = "FILE", default_value = "mydyno.db")]
    pub results: PathBuf,
}

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
        let &FleetArguments { tolerate, fleet_wait: wait, .. } = self;
        let all = place.size;
        Failure::usage_if(
            tolerate >= all,
            format_args!("--tolerate {tolerate} is all of {all} ranks; rank 0 cannot be lost"),
        )?;
        Ok(Some(FleetAsked { command, place, token, tolerate, wait }))
    }
}

/// One of a few names.
pub fn one_of<T: Copy + Send + Sync + 'static, const N: usize>(
    all: [T; N],
    name: fn(T) -> &'static str,
) -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(all.map(name)).map(move |given| {
        let found = all.into_iter().find(|one| name(*one) == given);
        found.expect("clap lets only the names of `all` pass")
    })
}

/// An isolation level, or all of them.
pub fn acid_levels() -> impl TypedValueParser<Value = AcidLevels> {
    let name = |levels| match levels {
        AcidLevels::One(level) => level.name(),
        AcidLevels::All => "all",
    };
    let [first, second, third, fourth] = Isolation::ALL.map(AcidLevels::One);
    one_of([first, second, third, fourth, AcidLevels::All], name)
}

pub fn warehouses() -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(1..=i64::from(limits::WAREHOUSES_MAX))
}

pub fn size(text: &str) -> Result<u64, String> {
    base::parse_size(text).ok_or_else(|| "write a size as 512M, 8G or a number of bytes".to_owned())
}

/// `90s`, `2m`, `500ms`, or a bare number of seconds as sysbench and tpcc-mysql take it.
pub fn duration(text: &str) -> Result<Duration, String> {
    text.parse::<Given<Time<0, DURATION_MAX_MS>>>().map(|Given(time)| time)
}

/// With a port that Prometheus can be told.
pub fn listen_address(text: &str) -> Result<SocketAddr, String> {
    match text.parse::<SocketAddr>() {
        Ok(address) if address.port() > 0 => Ok(address),
        _ => Err("an address and a port like 127.0.0.1:9187 or [::1]:9187".to_owned()),
    }
}

/// Of a job of fio: shorter ones measure its start.
pub fn job_duration(text: &str) -> Result<Duration, String> {
    const SHORTEST: Duration = Duration::from_secs(1);
    const LONGEST: Duration = Duration::from_secs(3600);
    match duration(text)? {
        fits if (SHORTEST..=LONGEST).contains(&fits) => Ok(fits),
        _ => Err("from 1 s to 1 h".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_as_people_write_them() {
        assert_eq!(duration("90"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("2m"), Ok(Duration::from_secs(120)));
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        assert!(duration("-1").is_err());
        assert!(duration("60d").is_err());
    }
}
