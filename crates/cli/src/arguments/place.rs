//! Where the files of a private server go, as the command line says it.

use super::target::TargetArguments;
use super::values::size;
use crate::failure::Failure;
use base::{Exit, limits};
use clap::Args;
use device::Role;
use spec::{Place, Placement};

const STORAGE: &str = "Storage";

/// Where files go, by what they are for.
#[derive(Args, Clone)]
pub struct PlaceArguments {
    /// Place of the data, and of everything that has no place of its own: an emulated device (a
    /// name of `mydyno device list` or a profile file), whose bytes are in memory or where
    /// PROFILE@DIRECTORY says; or a directory of a real device (with a slash), in which one is
    /// made; `server start` makes DIRECTORY itself the data directory where it does not exist
    #[arg(help_heading = STORAGE, long, value_name = "PLACE", value_parser = storage::parse_place)]
    pub data: Option<Place>,
    /// Place of the redo log
    #[arg(help_heading = STORAGE, long, value_name = "PLACE", value_parser = storage::parse_place)]
    pub redo: Option<Place>,
    /// Place of undo tablespaces, on servers that have them
    #[arg(help_heading = STORAGE, long, value_name = "PLACE", value_parser = storage::parse_place)]
    pub undo: Option<Place>,
    /// Place of the doublewrite buffer
    #[arg(help_heading = STORAGE, long, value_name = "PLACE", value_parser = storage::parse_place)]
    pub doublewrite: Option<Place>,
    /// Place of the binary log, which this turns on
    #[arg(help_heading = STORAGE, long, value_name = "PLACE", value_parser = storage::parse_place)]
    pub binlog: Option<Place>,
    /// Place of temporary files
    #[arg(help_heading = STORAGE, long, value_name = "PLACE", value_parser = storage::parse_place)]
    pub temp: Option<Place>,
    /// Size of the page cache for buffered I/O of emulated devices, such as 512M or 8G [default:
    /// half of the tables; 1G for `server start`, which does not know them]
    #[arg(help_heading = STORAGE, long, value_name = "SIZE", value_parser = page_cache)]
    pub page_cache: Option<u64>,
    /// Count the I/O of real storage by role, too; that of emulated devices is always counted
    #[arg(help_heading = STORAGE, long)]
    pub count_io: bool,
}

impl PlaceArguments {
    fn places(&self) -> [(Role, Option<&Place>); 6] {
        [
            (Role::Data, self.data.as_ref()),
            (Role::Redo, self.redo.as_ref()),
            (Role::Undo, self.undo.as_ref()),
            (Role::Doublewrite, self.doublewrite.as_ref()),
            (Role::Binlog, self.binlog.as_ref()),
            (Role::Temp, self.temp.as_ref()),
        ]
    }

    /// What is asked for.
    pub fn placement(&self) -> Placement {
        let named = self.places().into_iter();
        Placement {
            places: named.filter_map(|(role, place)| Some((role, place?.clone()))).collect(),
            page_cache_bytes: self.page_cache,
            count: self.count_io,
        }
    }

    /// Refuses places that nothing can be put into.
    ///
    /// # Errors
    /// For a server that is not private.
    pub fn validate(&self, target: &TargetArguments) -> Result<(), Failure> {
        let placement = self.placement();
        let is_nothing = placement == Placement::default();
        if is_nothing || target.is_private() {
            return Ok(());
        }
        Err(Failure::new(
            Exit::Usage,
            "places and --count-io are for servers that mydyno starts: use --engine, or give them \
             to `mydyno server start`",
        ))
    }

    /// Refuses a page cache that nothing would use.
    ///
    /// # Errors
    /// Says what to do.
    pub fn validate_page_cache(&self) -> Result<(), Failure> {
        if self.page_cache.is_none() || self.placement().is_emulated() {
            return Ok(());
        }
        let message = "--page-cache is for emulated devices, and real ones have this machine's; \
            name a profile (--data hdd-15k), or leave it out";
        Err(Failure::new(Exit::Usage, message))
    }
}

fn page_cache(text: &str) -> Result<u64, String> {
    let bytes = size(text)?;
    if bytes > limits::PAGE_CACHE_BYTES_MAX {
        return Err("64G is the most: its table of pages is in real memory".to_owned());
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::page_cache;
    use crate::arguments::measuring::MeasuringArguments;
    use crate::arguments::{Arguments, Command};
    use clap::Parser;
    use device::Role;

    fn run(arguments: &[&str]) -> Result<MeasuringArguments, clap::Error> {
        let all = ["mydyno", "run"].iter().chain(arguments);
        match Arguments::try_parse_from(all)?.command {
            Command::Run(run) => Ok(run.measuring),
            _ => panic!("it is `run`"),
        }
    }

    #[test]
    fn sizes_as_servers_take_them() {
        assert_eq!(page_cache("512M"), Ok(512 << 20));
        assert_eq!(page_cache("64G"), Ok(64 << 30));
        assert!(page_cache("65G").is_err());
        for bad in ["", "M", "-1", "1.5G", "99999999999T"] {
            assert!(page_cache(bad).unwrap_err().contains("512M"), "{bad:?}");
        }
    }

    #[test]
    fn places_belong_to_private_servers() {
        let engine = ["--engine", "mysql-5.7"];
        let places = ["--redo", "/mnt/a", "--count-io"];
        let parsed = run(&[&engine[..], &places].concat()).unwrap();
        let placement = parsed.places.placement();
        assert!(placement.count && placement.places.contains_key(&Role::Redo));
        assert!(parsed.places.validate(&parsed.target).is_ok());

        // With nothing named, the target is an option file's.
        let parsed = run(&places).unwrap();
        assert!(parsed.places.validate(&parsed.target).is_err());
        let parsed = run(&["--dsn", "mysql://h/s", "--data", "/mnt"]).unwrap();
        assert!(parsed.places.validate(&parsed.target).is_err());
        let error = run(&["--engine", "mysql-5.7", "--data", "floppy"]).err().unwrap();
        assert!(error.to_string().contains("mydyno device list"), "{error}");
        let useless = ["--redo", "/mnt/a", "--page-cache", "1G"];
        let parsed = run(&[&engine[..], &useless].concat()).unwrap();
        assert!(parsed.places.validate_page_cache().is_err());
    }
}
